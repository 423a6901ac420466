// What a job will cost and how long it will take, before anybody is asked: docs/jobs.md §9. From the work
// (the engine's PLAN and the program's cost), the hosts that proved enough, and the method. Everything that
// may be spent is in it: what is not spent goes back. Pure.
import { AssayError } from "../../protocol/assay-error.ts";
import { codes } from "../../protocol/codes.ts";
import type { JobMethod, JobTerms } from "../../protocol/network/job.ts";
import { methodOf } from "../../verify/methods/methods.ts";
import type { Params } from "../params.ts";
import { auditMicros, bondMicros, chanceOfSkip, feeMicros, provingMicros } from "./economics.ts";
import {
	costMicros,
	createFirsts,
	fittingHosts,
	type JobHost,
	type JobLimits,
	leastMs,
	type Miss,
	missOf,
	nearestMiss,
	type PartWork,
} from "./fitting-hosts.ts";
import { type AbsentHost, absentText, missText, tokensText } from "./miss-text.ts";

export interface QuoteInput {
	/** Of the whole job, segment 0 counted. */
	readonly segments: number;
	/** A segment. */
	readonly ops: number;
	readonly bytes: number;
	readonly peakBytes: number;
	/** Segments between two kept states: the least that is run again. */
	readonly perWindow: number;
	readonly method: JobMethod;
	/** The customer's: null, no limit. */
	readonly mostMicros: number | null;
	readonly gasMicros: number;
	readonly nowMs: number;
	/**
	 * Of a zk job: int8 operations that the proof of a segment is worth, and the shortest window that its
	 * contracts take.
	 */
	readonly proving?: { readonly ops: number; readonly leastWindowMs: number };
	/** Beside the hosts: those that are there and cannot be drawn yet. */
	readonly absent?: readonly AbsentHost[];
}

export type JobQuote = Omit<JobTerms, "customer" | "program" | "inputs"> & {
	readonly totalMicros: number;
	/**
	 * The least time of one part by the proven speed of the slowest host that may be drawn. The price follows
	 * it; real work takes up to some 35 times as long, and `workMs` allows for that.
	 */
	readonly estimatedMs: number;
	/** How many may be drawn. */
	readonly hosts: number;
	/** Chance, from 0 to 1, that a provider which skips a tenth is found. */
	readonly tenthFound: number;
	/** It rests on devices that signed under roots which anybody can sign under. */
	readonly isSimulated: boolean;
};

/** `fit`: how many do. */
function nobody(
	{ name, count }: JobMethod,
	fit: number,
	found: ReturnType<typeof nearestMiss>,
	absent: readonly AbsentHost[] = [],
): AssayError {
	const start = fit === 0 ? "no provider fits" : `${name}:${count} needs ${count} providers, and ${fit} fit`;
	const detail =
		found !== null
			? `the nearest ${fit === 0 ? "one" : "other"}, ${found.provider.slice(0, 12)}, ${missText(found, name)}`
			: fit === 0
				? ["the network has no provider that takes jobs and proved its speed", absentText(absent)]
						.filter((one) => one !== null)
						.join("; ")
				: (absentText(absent, " others") ?? "there are no others, or they are of the same owners or networks");
	const hint = found === null ? HINTS.none : HINTS[found.why];
	return new AssayError("JOB_NO_PROVIDER", `${start}: ${detail}`, { hint: hint ?? codes.JOB_NO_PROVIDER.hint });
}

const HINTS: Readonly<Partial<Record<Miss["why"] | "none", string>>> = {
	none: "Try later: a provider is proven some minutes after it came.",
	method: "Choose another --method.",
	attested:
		"Choose another --method. Attested jobs need hosts in a confidential guest that this validator allows (docs/attestation.md).",
	memory:
		"Make the job smaller (batch, model), or try later: a host that was busy when it was probed proves more next time.",
	speed: "Try later: it is probed again.",
	minutes: "Make the job shorter, or choose another time.",
	bond: "Choose another --method (sampled asks for the smallest bond), or make the job shorter.",
	reliability: "Try later: reliability grows with every valid probe.",
};

function mustFit(
	method: JobMethod,
	fit: number,
	needed: number,
	miss: () => ReturnType<typeof nearestMiss>,
	absent?: readonly AbsentHost[],
): void {
	if (fit < needed) throw nobody(method, fit, miss(), absent);
}

/** Those that fit, cheapest first; of one owner, and of one network, the cheapest alone. */
function cheapestOfEach(
	hosts: readonly JobHost[],
	work: PartWork,
	limits: JobLimits,
	params: Params,
): readonly JobHost[] {
	const isFirst = createFirsts();
	return hosts
		.filter((host) => missOf(host, work, limits, params) === null)
		.map((host) => ({ host, cost: costMicros(work, host) }))
		.sort((a, b) => a.cost - b.cost)
		.map(({ host }) => host)
		.filter(isFirst);
}

/** `hosts` at work count as free: the job waits for them. Throws JOB_NO_PROVIDER, JOB_PRICE. */
export function quoteJob(input: QuoteInput, hosts: readonly JobHost[], params: Params): JobQuote {
	const { segments, method, mostMicros, nowMs } = input;
	const whole: PartWork = { peakBytes: input.peakBytes, ops: input.ops * segments, bytes: input.bytes * segments };
	const { audited, needsHosted, runners: runnersOf, windows } = methodOf(method);
	const needed = runnersOf(method.count);
	const open = {
		...{ workMs: null, priceMicros: null, bondMicros: 0, excluded: new Set<string>(), method: method.name },
		isHosted: needsHosted,
	};
	const able = cheapestOfEach(hosts, whole, open, params);
	mustFit(method, able.length, needed, () => nearestMiss(hosts, whole, open, params), input.absent);
	// By the dearest of the cheaper half, and at least three of them: enough to draw from, and nobody alone
	// sets the price.
	const offered = able.slice(0, Math.max(needed, 3, Math.ceil(able.length / 2)));
	const slowestMs = Math.max(...offered.map((host) => leastMs(whole, host)));
	const parts = Math.max(1, Math.min(segments, Math.ceil(slowestMs / params.jobPartMs)));
	const each = Math.ceil(segments / parts);
	const work: PartWork = { peakBytes: input.peakBytes, ops: input.ops * each, bytes: input.bytes * each };
	const estimatedMs = Math.max(...offered.map((host) => leastMs(work, host)));
	const priceMicros = Math.max(1, ...offered.map((host) => costMicros(work, host)));
	const { proving } = input;
	const proof = { peakBytes: 0, ops: proving?.ops ?? 0, bytes: 0 };
	const audit =
		proving === undefined
			? auditMicros(priceMicros, audited(method.count, each, input.perWindow), each, params)
			: provingMicros(Math.max(...offered.map((host) => costMicros(proof, host))), each, input.gasMicros, params);
	const fee = feeMicros(priceMicros, params);
	// ⌈segments / parts⌉ a part may need fewer parts than were asked for.
	const count = Math.ceil(segments / each);
	const totalMicros = count * (priceMicros + fee + audit);
	if (mostMicros !== null && totalMicros > mostMicros)
		throw new AssayError(
			"JOB_PRICE",
			`the job would cost ${tokensText(totalMicros)}, ${tokensText(mostMicros)} are allowed: ${tokensText(totalMicros - mostMicros)} more`,
			{
				hint: codes.JOB_PRICE.hint,
			},
		);
	const workMs = Math.max(params.jobLeastWorkMs, Math.ceil((estimatedMs * 1_000_000) / params.jobTimePpm));
	const bond = bondMicros(
		method,
		{ rewardMicros: priceMicros, auditMicros: audit, gasMicros: input.gasMicros, convictions: 0 },
		params,
	);
	// As the draw will look for them. Whoever runs it a second time locks nothing.
	const limits = { ...open, workMs, priceMicros, bondMicros: bond };
	const drawn = fittingHosts(hosts, work, limits, params);
	mustFit(method, drawn.length, 1, () => nearestMiss(hosts, work, limits, params));
	const runners = { ...limits, bondMicros: 0 };
	mustFit(method, fittingHosts(hosts, work, runners, params).length, needed, () =>
		nearestMiss(hosts, work, runners, params),
	);
	return {
		...{ method, segments, parts: count, priceMicros, feeMicros: fee, auditMicros: audit, totalMicros, estimatedMs },
		bondMicros: bond,
		startByMs: nowMs + Math.min(MAX_WAIT_MS, params.jobStartMs + (2 * count - 1) * workMs),
		workMs,
		...windows(params, proving?.leastWindowMs ?? 0),
		hosts: drawn.length,
		isSimulated: limits.isHosted && drawn.some((host) => host.isSimulated === true),
		tenthFound: chanceOfSkip(method, 0.1, params.jobAuditPpm),
	};
}

/**
 * The escrow assigns no part after `startBy`. Each part may need its time twice, since somebody may fail; the
 * last one is begun in time for that. The escrow waits a year at most (JobTerms.sol).
 */
const MAX_WAIT_MS = 360 * 86_400_000;
