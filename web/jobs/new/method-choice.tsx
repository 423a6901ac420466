// How the result is verified: what each way costs, how long it takes, and what it finds, in plain words.
// Prices here are estimates by the rules of src/market/jobs with the parameters that this validator
// publishes and the hosts that it lists; its own price comes with its offer.
import type { JobHostView } from "../../../src/api/types.ts";
import { chanceOfOne, chanceOfSkip } from "../../../src/market/jobs/economics.ts";
import { type JobQuote, quoteJob } from "../../../src/market/jobs/quote.ts";
import type { Params } from "../../../src/market/params.ts";
import { AssayError } from "../../../src/protocol/assay-error.ts";
import { formatPercent, wholeSpan } from "../../../src/protocol/format-number.ts";
import type { JobMethod } from "../../../src/protocol/network/job.ts";
import { formatExactMoney, formatSpan } from "../../parts/format.ts";
import type { BuiltJob } from "../work/job-worker.ts";

export const METHODS: readonly { readonly method: JobMethod; readonly title: string }[] = [
	{ method: { name: "sampled", count: 16 }, title: "Spot checks" },
	{ method: { name: "sampled", count: 4 }, title: "A few spot checks" },
	{ method: { name: "redundant", count: 2 }, title: "Run twice" },
	{ method: { name: "optimistic", count: 0 }, title: "On trust, with audits" },
	{ method: { name: "attested", count: 0 }, title: "Signed by the hardware" },
];

export const methodKey = ({ name, count }: JobMethod): string => (count === 0 ? name : `${name}:${count}`);

function catches(
	method: JobMethod,
	{ spec, work }: Pick<BuiltJob, "spec" | "work">,
	{ jobAuditPpm, jobWindowMs }: Params,
	price: JobQuote | null,
): string {
	const one = chanceOfOne(method, work.perWindow, spec.segments, jobAuditPpm);
	// Where every segment is run again, so is whatever was skipped.
	const tenth = formatPercent(Math.max(one, chanceOfSkip(method, 0.1, jobAuditPpm)));
	if (method.name === "redundant")
		return "A second provider runs all of it. Any difference is found, unless both collude.";
	if (method.name === "optimistic") {
		const bond = price === null ? "its bond" : `its bond of at least ${formatExactMoney(price.bondMicros)}`;
		return `Nothing is checked by default: ${tenth} of the parts are run again at random, and anyone can prove a lie for ${wholeSpan(jobWindowMs)}. Who lied loses ${bond}${price === null || price.parts === 1 ? "" : " for the part"}.`;
	}
	if (method.name === "attested")
		return `Only hosts in a confidential guest that the validator allows: CPU and cards sign at both ends. No owner can change such a guest's work, unless its hardware was broken into; ${tenth} of the parts are run again at random for that.`;
	if (one === 1) return "So small a job is run again whole, window by window. Whatever was skipped or forged is found.";
	return `Others run ${method.count} random windows again, and the first and the last. If a tenth of the work were skipped, the chance to find it is ${tenth}; for a single forged segment it is ${formatPercent(one)}.`;
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
	{ spec, work }: Pick<BuiltJob, "spec" | "work">,
	hosts: readonly JobHostView[],
	params: Params,
): JobQuote | string {
	try {
		return quoteJob(
			{ ...work, segments: spec.segments, method, mostMicros: null, gasMicros: 0, nowMs: Date.now() },
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
			{METHODS.map(({ method, title }) => {
				const key = methodKey(method);
				const { job, hosts, params } = p;
				const price = job === null || hosts === null || params === null ? null : estimate(method, job, hosts, params);
				const quote = typeof price === "string" ? null : price;
				return (
					<label key={key} class="choice">
						<input
							type="radio"
							name="method"
							value={key}
							checked={key === methodKey(p.method)}
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
									{wholeSpan(method.name === "optimistic" ? price.windowMs : price.checkedMs)} after{" "}
									{method.name === "optimistic" ? "the claim" : "the check"}
								</>
							)}
						</span>
						<span class="choice-text dim">
							{job === null || params === null ? null : catches(method, job, params, quote)}{" "}
							{typeof price === "string" ? price : null}
							{quote?.isSimulated ? <Simulated /> : null}
						</span>
					</label>
				);
			})}
			<p class="dim" data-by-proof>
				Paid by proof, <code>zk</code>: whoever orders it commits to its data and first weights with an engine, which a
				browser has not. Download the job file, then <code>assay job submit job.json --method zk</code>. An MLP that is
				trained by <code>exact-sgd</code> can be proven.
			</p>
		</fieldset>
	);
}
