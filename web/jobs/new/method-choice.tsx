// How the result is verified: what each way costs, how long it takes, and what it finds, in plain words.
// Prices here are estimates by the rules of src/market/jobs with the parameters that this validator
// publishes and the hosts that it lists; its own price comes with its offer.
import type { JobHostView } from "../../../src/api/types.ts";
import { chanceOfOne, chanceOfSkip } from "../../../src/market/jobs/economics.ts";
import { type JobQuote, quoteJob } from "../../../src/market/jobs/quote.ts";
import type { Params } from "../../../src/market/params.ts";
import { AssayError } from "../../../src/protocol/assay-error.ts";
import { formatPercent } from "../../../src/protocol/format-number.ts";
import { type JobMethod, METHOD_NAMES, type MethodName } from "../../../src/protocol/network/job.ts";
import { DEFAULT_METHOD, methodOf, methodText } from "../../../src/verify/methods/methods.ts";
import { perWindowOf } from "../../../src/work/program/job-work.ts";
import { formatExactMoney, formatSpan } from "../../parts/format.ts";
import type { BuiltJob } from "../work/job-worker.ts";

const offered = (name: MethodName) =>
	methodOf({ name }).words.choices.map(({ count, title }) => ({ method: { name, count }, title }));
/** The usual one first. */
export const CHOICES: readonly { readonly method: JobMethod; readonly title: string }[] = [
	...offered(DEFAULT_METHOD.name),
	...METHOD_NAMES.filter((name) => name !== DEFAULT_METHOD.name).flatMap(offered),
];

function explained(
	method: JobMethod,
	{ spec, work }: Pick<BuiltJob, "spec" | "work">,
	{ jobAuditPpm, jobWindowMs }: Params,
	price: JobQuote | null,
): string {
	const each = Math.ceil(spec.segments / (price?.parts ?? 1));
	const one = chanceOfOne(method, price?.perWindow ?? perWindowOf(each, work.stateBytes), each, jobAuditPpm);
	// Where every segment is run again, so is whatever was skipped.
	const tenth = formatPercent(Math.max(one, chanceOfSkip(method, 0.1, jobAuditPpm)));
	const ofPart = price === null || price.parts === 1 ? "" : " for the part";
	const bond = price === null ? "its bond" : `its bond of at least ${formatExactMoney(price.bondMicros)}${ofPart}`;
	return methodOf(method).words.explained({ count: method.count, one, tenth, windowMs: jobWindowMs, bond });
}

/** For whoever would pay for such signatures. */
export function Simulated() {
	return (
		<strong class="unsure" data-simulated>
			{" "}
			Simulated here: these hosts sign under roots that anybody can sign under. It shows nothing.
		</strong>
	);
}

/** A text where nobody fits: why. */
function estimate(
	method: JobMethod,
	{ spec, work, order }: Pick<BuiltJob, "spec" | "work" | "order">,
	hosts: readonly JobHostView[],
	params: Params,
): JobQuote | string {
	try {
		return quoteJob(
			{
				...work,
				segments: spec.segments,
				method,
				mostMicros: null,
				gasMicros: 0,
				nowMs: Date.now(),
				hourMicros: order.hourMicros ?? undefined,
			},
			hosts.map((host) => ({ ...host, isFree: true, owner: host.provider, network: host.provider })),
			params,
		);
	} catch (error) {
		if (error instanceof AssayError) return error.message;
		throw error;
	}
}

export function MethodChoice(p: {
	job: BuiltJob | null;
	hosts: readonly JobHostView[] | null;
	/** Of this network. */
	params: Params | null;
	method: JobMethod;
	isLocked: boolean;
	onChoose: (method: JobMethod) => void;
}) {
	return (
		<fieldset class="methods" disabled={p.isLocked}>
			<legend class="hidden">How the result is verified</legend>
			{CHOICES.map(({ method, title }) => {
				const key = methodText(method);
				const { job, hosts, params } = p;
				const price = job === null || hosts === null || params === null ? null : estimate(method, job, hosts, params);
				const quote = typeof price === "string" ? null : price;
				return (
					<label key={key} class="choice">
						<input
							type="radio"
							name="method"
							value={key}
							checked={key === methodText(p.method)}
							onChange={() => p.onChoose(method)}
						/>
						<span class="choice-title">
							{title} <code class="dim">{key}</code>
						</span>
						<span class="choice-price">
							{price === null ? (
								<span class="dim">
									{job === null ? "price after the job is built" : "the validator's price comes in the next step"}
								</span>
							) : typeof price === "string" ? (
								<span class="unsure">nobody fits now</span>
							) : (
								<>
									about <strong>{formatExactMoney(price.totalMicros)}</strong>,{" "}
									{formatSpan(price.parts * price.estimatedMs)} of work; paid{" "}
									{methodOf(method).words.usuallyPaid(price)}
								</>
							)}
						</span>
						<span class="choice-text dim">
							{job === null || params === null ? null : explained(method, job, params, quote)}{" "}
							{typeof price === "string" ? price : null}
							{quote?.isSimulated ? <Simulated /> : null}
						</span>
					</label>
				);
			})}
			{METHOD_NAMES.map((name) => ({ name, words: methodOf({ name }).words.elsewhere })).map(({ name, words }) =>
				words === null ? null : (
					<p key={name} class="dim" data-elsewhere={name}>
						{words.title}, <code>{name}</code>: {words.why} Download the job file, then{" "}
						<code>assay job submit job.json --method {name}</code>. {words.fits}
					</p>
				),
			)}
		</fieldset>
	);
}
