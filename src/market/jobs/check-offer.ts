// A validator's offer, looked at before any money moves: it must be about this very job, at a price and in a
// time that the customer allows, and what is funded on chain must be what was shown. A validator is hostile:
// what it computed is computed again. Pure: the command line and pages ask the same.
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { escrowJobId } from "../../protocol/chain/job-escrow-calls.ts";
import { wholeSpan } from "../../protocol/format-number.ts";
import { METHOD_NUMBERS } from "../../protocol/network/job.ts";
import { type EscrowTermsText, type JobOffer, jobSpecHash } from "../../protocol/network/job-offer.ts";
import type { JobSpec } from "../../protocol/network/job-spec.ts";
import { PROVEN_H200 } from "../../work/cost/work-time.ts";
import { segmentWork } from "../../work/program/job-work.ts";
import { programRoot } from "../../work/program/open-program.ts";
import type { Program } from "../../work/program/shapes.ts";
import { firstState, inputsHashOf } from "../../work/trace/commitments.ts";
import { DEFAULT_PARAMS, type ParamOverrides, publishedParams } from "../params.ts";
import { costMicros, partWork } from "./fitting-hosts.ts";
import { tokensText } from "./miss-text.ts";
import type { JobOrder } from "./read-order.ts";

/** Of the token's smallest unit. */
const MICRO = 10n ** 12n;

/** What the customer asked for. */
export interface AskedJob {
	readonly workload: { readonly program: Program; readonly seed: Uint8Array };
	readonly spec: JobSpec;
	readonly order: Pick<JobOrder, "mostMicros" | "mostMs"> & Partial<Pick<JobOrder, "hourMicros">>;
}

/** Who funds it on a chain. */
interface Payer {
	readonly account: string;
	readonly salt: string;
}

function otherOffer(what: string): AssayError {
	return new AssayError("JOB_OFFER", `the validator offers another job: ${what}`, {
		hint: "Do not fund it; ask again, or ask another validator.",
	});
}

export const totalMicros = ({ parts, priceMicros, feeMicros, auditMicros }: JobOffer["terms"]): number =>
	parts * (priceMicros + feeMicros + auditMicros);

/**
 * `leastPaidMs`: as the network publishes it (`leastPaidOf`). Throws JOB_OFFER, JOB_PRICE, JOB_TIME. Gives
 * the escrow's terms; null: nothing is paid on a chain.
 */
export function checkOffer(
	offer: JobOffer,
	{ workload, spec, order }: AskedJob,
	payer: Payer | null,
	leastPaidMs: number = DEFAULT_PARAMS.jobLeastPaidMs,
): EscrowTermsText | null {
	const { terms } = offer;
	const { program, seed } = workload;
	const inputs = spec.given
		.filter(({ tensor }) => program.tensors[tensor]!.kind === "input")
		.map(({ root }) => hexToBytes(root, 32)!);
	const ours = {
		program: bytesToHex(programRoot(program)),
		inputs: bytesToHex(inputsHashOf(program, seed, inputs)),
		segments: spec.segments,
	};
	for (const [name, value] of Object.entries(ours))
		if (terms[name as keyof typeof ours] !== value) throw otherOffer(`its ${name}`);
	if (terms.method.name !== spec.method.name || terms.method.count !== spec.method.count)
		throw otherOffer("its method");
	const total = totalMicros(terms);
	if (order.mostMicros !== null && total > order.mostMicros)
		throw new AssayError("JOB_PRICE", `${tokensText(total)}; ${tokensText(order.mostMicros)} are allowed`, {
			hint: "Allow more with --most-price, or choose a cheaper --method.",
		});
	mustBeHourly(offer, workload.program, order.hourMicros ?? null, leastPaidMs);
	const most = terms.parts * terms.workMs;
	if (order.mostMs !== null && most > order.mostMs)
		throw new AssayError("JOB_TIME", `it may take ${wholeSpan(most)}; ${wholeSpan(order.mostMs)} are allowed`, {
			hint: "Allow more with --most-minutes, or make the job shorter.",
		});
	return offer.escrow === null ? null : checkEscrow(offer, { workload, spec }, ours, payer);
}

/** Longer than that no network pays for a part that takes less: the least time limit that a part has. */
const MAX_LEAST_PAID_MS = DEFAULT_PARAMS.jobLeastWorkMs;

/**
 * The time that a part is paid for at least, as a validator publishes it (GET /v1/params).
 *
 * ATTACK: a validator that publishes a day could charge a day for a second's work, and the customer's price
 * an hour would bound nothing. Throws JOB_PRICE, PARAMS_BAD.
 */
export function leastPaidOf(published: ParamOverrides): number {
	const { jobLeastPaidMs } = publishedParams(published);
	if (jobLeastPaidMs > MAX_LEAST_PAID_MS)
		throw new AssayError(
			"JOB_PRICE",
			`here each part is paid as ${wholeSpan(jobLeastPaidMs)} at least, however short it is; ${wholeSpan(MAX_LEAST_PAID_MS)} are allowed with a price an hour`,
			{ hint: "Leave --price-per-hour out and limit the whole with --most-price, or ask another validator." },
		);
	return jobLeastPaidMs;
}

/** For a part no more is paid than its work is worth to the customer, by the model. Throws JOB_PRICE. */
function mustBeHourly(
	{ terms }: JobOffer,
	program: Program,
	pricePerHourMicros: number | null,
	jobLeastPaidMs: number,
): void {
	if (pricePerHourMicros === null) return;
	const part = partWork(segmentWork(program), Math.ceil(terms.segments / terms.parts));
	const worth = costMicros(part, { ...PROVEN_H200, pricePerHourMicros }, { jobLeastPaidMs });
	if (terms.priceMicros > worth)
		throw new AssayError(
			"JOB_PRICE",
			`${tokensText(terms.priceMicros)} for a part; ${tokensText(worth)} are what it is worth at ${tokensText(pricePerHourMicros)} an hour, a part being paid as ${wholeSpan(jobLeastPaidMs)} at least`,
			{ hint: "Do not fund it; ask again, or ask another validator." },
		);
}

function checkEscrow(
	{ id, terms, escrow, secretCommitment }: JobOffer,
	{ workload, spec }: Pick<AskedJob, "workload" | "spec">,
	ours: { readonly program: string; readonly inputs: string },
	payer: Payer | null,
): EscrowTermsText {
	const onChain = escrow!.terms;
	const wanted: Partial<Record<keyof EscrowTermsText, unknown>> = {
		...{ program: `0x${ours.program}`, inputs: `0x${ours.inputs}`, seed: `0x${spec.seed}`, parts: terms.parts },
		spec: `0x${bytesToHex(jobSpecHash(spec, secretCommitment))}`,
		start: `0x${bytesToHex(firstState(workload.program))}`,
		segments: String(spec.segments),
		...{ price: String(BigInt(terms.priceMicros) * MICRO), fee: String(BigInt(terms.feeMicros) * MICRO) },
		...{ audit: String(BigInt(terms.auditMicros) * MICRO), bond: String(BigInt(terms.bondMicros) * MICRO) },
		...{ startBy: String(terms.startByMs / 1000), workSeconds: terms.workMs / 1000 },
		...{ windowSeconds: terms.windowMs / 1000, checkedSeconds: terms.checkedMs / 1000 },
		method: METHOD_NUMBERS[terms.method.name],
		...(payer && { customer: payer.account.toLowerCase(), salt: `0x${payer.salt}` }),
	};
	for (const [name, value] of Object.entries(wanted)) {
		const found = onChain[name as keyof EscrowTermsText];
		if ((typeof found === "string" ? found.toLowerCase() : found) !== value) throw otherOffer(`${name} on chain`);
	}
	if (escrowJobId(onChain) !== id) throw otherOffer("its number");
	return onChain;
}
