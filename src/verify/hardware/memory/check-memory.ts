// What shows that the bytes which a GPU answered for were not in its memory. Only what no honest card does,
// however slow, capped or shared in time: both rules compare the card with itself. What is merely slow
// accuses nobody and does not count: counted-figures.ts.
import { INTERVAL_HOPS } from "../../../protocol/hash/chase.ts";
import { coveredBytes } from "../../../protocol/probe/challenge-shape.ts";
import type { ChaseSpec, EvidenceBody } from "../../../protocol/probe/evidence.ts";
import { type Answered, isCommitted } from "../answers.ts";
import { figuresOf, residencyOf } from "../derive-figures.ts";
import { type Fault, fault } from "../fault.ts";
import { POLICY } from "../policy.ts";
import { isReach } from "../reach.ts";
import { readerOf } from "../reader-of.ts";

/**
 * Reading is 10 to 160 times as fast as making on every card of docs/profiles.md, and whatever slows a card
 * slows both. So a device that took about as long to read its bytes as making them takes did not read them;
 * in every stream that was asked of it, for a network can stand still during one.
 */
export function checkNotRemade(answers: readonly Answered[], claim: EvidenceBody["claim"]): Fault | null {
	const figures = figuresOf(answers, claim);
	const specs = answers.map(({ record }) => record.spec);
	for (const [device, { kind }] of claim.devices.entries()) {
		if (kind !== "gpu") continue;
		const read = answers.flatMap((answer) => {
			const { spec } = answer.record;
			if (spec.kind !== "stream" || spec.device !== device || !isCommitted(answer)) return [];
			if (readerOf(spec, specs, claim.devices) !== "own") return [];
			return [{ answer, residency: residencyOf(answer, spec, answers, claim, figures) }];
		});
		const [first] = read;
		if (first === undefined || !read.every(({ residency }) => residency?.asLongAsMaking)) continue;
		return fault(
			"STREAM_LATE",
			first.answer.where,
			`read at ${first.residency!.bytesPerS} B/s, little faster than this device makes such bytes`,
		);
	}
	return null;
}

/**
 * A hop over all bytes against a hop over a part of the same bytes, on the same device. A later chase over
 * the newest rounds alone is such a part; the fastest of all over the whole counts, and the slowest over a
 * part. A network can stand still during one run: files with fewer than three over the whole accuse nobody.
 */
export function checkOneMemory(answers: readonly Answered[], claim: EvidenceBody["claim"]): Fault | null {
	const specs = answers.map(({ record }) => record.spec);
	for (const answer of answers) {
		const { spec } = answer.record;
		if (spec.kind !== "chase" || claim.devices[spec.device]?.kind !== "gpu" || isReach(answer.index, specs)) continue;
		const { wholes, parts } = hopsOver(answer, spec, answers);
		const whole = Math.min(...wholes);
		const part = Math.max(0, ...parts);
		if (wholes.length < POLICY.minSlowRuns || part === 0) continue;
		if (whole > POLICY.maxHopPs && whole >= POLICY.apartFactor * part)
			return fault(
				"MEMORY_APART",
				answer.where,
				`${whole} ps a hop over all bytes of device ${spec.device}, ${part} ps over a part of them`,
			);
	}
	return null;
}

/**
 * Picoseconds a hop of every chase over the bytes of this one, as long as it at least, and of those over
 * parts.
 */
export function hopsOver(
	first: Answered,
	{ of, newest, intervals }: ChaseSpec,
	answers: readonly Answered[],
): { readonly wholes: readonly number[]; readonly parts: readonly number[] } {
	const wholes: number[] = [];
	const parts: number[] = [];
	const gemm = answers[of];
	if (gemm?.record.spec.kind !== "gemm") return { wholes, parts };
	const { spec: product } = gemm.record;
	const bytes = (rounds: number) => coveredBytes(product, gemm.roots.length, rounds);
	for (const answer of answers.slice(first.index)) {
		const { spec } = answer.record;
		if (spec.kind !== "chase" || spec.of !== of || !isCommitted(answer) || answer.ownUs === 0) continue;
		const share = bytes(spec.newest) / bytes(newest);
		const hopPs = Math.ceil((1e6 * answer.ownUs) / (INTERVAL_HOPS * spec.intervals));
		if (share >= 1 && spec.intervals >= intervals) wholes.push(hopPs);
		else if (share < 1 && share >= POLICY.minPartShare) parts.push(hopPs);
	}
	return { wholes, parts };
}
