// What a job will cost and how long it will take, before anybody is asked: docs/jobs.md §9. From the work (the engine's PLAN and the program's
// cost), the hosts that proved enough, and the method. Everything that may be spent is in it: what is not spent goes back. Pure.
import { AssayError } from "../../protocol/assay-error.ts";
import type { JobMethod, JobTerms } from "../../protocol/network/job.ts";
import type { Params } from "../params.ts";
import { auditMicros, bondMicros, chanceOfSkip, feeMicros } from "./economics.ts";
import { costMicros, type JobHost, leastMs, type Miss, nearestMiss, type PartWork } from "./fitting-hosts.ts";

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
}

export type JobQuote = Omit<JobTerms, "customer" | "program" | "inputs"> & {
	readonly totalMicros: number;
	/** Of one part on the slowest host that may be drawn. */
	readonly estimatedMs: number;
	/** How many may be drawn. */
	readonly hosts: number;
	/** Chance, from 0 to 1, that a provider which skips a tenth is found. */
	readonly tenthFound: number;
};

const NAMES: Readonly<Record<Miss["why"], string>> = {
	...{ memory: "bytes of proven memory", time: "ms at its proven speed", price: "micro-units for a part" },
	...{ reliability: "ppm of reliability", bond: "micro-units of free deposit" },
	...{ busy: "free hosts", excluded: "", owner: "" },
};

function nobody(found: (Miss & { readonly provider: string }) | null): AssayError {
	const detail =
		found === null
			? "the network has no provider that proved anything"
			: `the nearest one has ${found.has} ${NAMES[found.why]}, the job wants ${found.wants}`;
	return new AssayError("JOB_NO_PROVIDER", `no provider fits: ${detail}`, {
		hint: "Ask for less memory or more time, allow a higher price, or try later.",
	});
}

/** Segments that auditors run again of a part, at most. */
function auditedSegments({ name, count }: JobMethod, segments: number, perWindow: number): number {
	// One more than run it anyhow: the random audit.
	if (name === "redundant") return count * segments;
	// A random audit takes the whole part; its price is held back for every part, and most of it goes back.
	if (name === "optimistic") return segments;
	// One more than the windows: a short last one is run with the one before it.
	return Math.min(segments, (count + 2) * perWindow + 1);
}

/** Throws JOB_NO_PROVIDER, JOB_PRICE. */
export function quoteJob(input: QuoteInput, hosts: readonly JobHost[], params: Params): JobQuote {
	const { segments, method, mostMicros, nowMs } = input;
	const whole: PartWork = { peakBytes: input.peakBytes, ops: input.ops * segments, bytes: input.bytes * segments };
	const able = hosts.filter(
		({ memoryBytes, reliabilityPpm }) => memoryBytes >= input.peakBytes && reliabilityPpm >= params.jobReliabilityPpm,
	);
	const noLimit = {
		workMs: Number.MAX_SAFE_INTEGER,
		priceMicros: Number.MAX_SAFE_INTEGER,
		bondMicros: 0,
		excluded: new Set<string>(),
	};
	const needed = method.name === "redundant" ? method.count : 1;
	if (able.length < needed)
		throw nobody(
			nearestMiss(
				hosts.filter((host) => !able.includes(host)),
				whole,
				noLimit,
				params,
			),
		);
	// By the dearest of the cheaper half, and at least three of them: enough to draw from, and nobody alone sets the price.
	const byCost = [...able].sort((a, b) => costMicros(whole, a) - costMicros(whole, b));
	const offered = byCost.slice(0, Math.min(able.length, Math.max(needed, 3, Math.ceil(able.length / 2))));
	const slowestMs = Math.max(...offered.map((host) => leastMs(whole, host)));
	const parts = Math.max(1, Math.min(segments, Math.ceil(slowestMs / params.jobPartMs)));
	const each = Math.ceil(segments / parts);
	const work: PartWork = { peakBytes: input.peakBytes, ops: input.ops * each, bytes: input.bytes * each };
	const estimatedMs = Math.max(...offered.map((host) => leastMs(work, host)));
	const priceMicros = Math.max(1, ...offered.map((host) => costMicros(work, host)));
	const audit = auditMicros(priceMicros, auditedSegments(method, each, input.perWindow), each, params);
	const fee = feeMicros(priceMicros, params);
	// ⌈segments / parts⌉ a part may need fewer parts than were asked for.
	const count = Math.ceil(segments / each);
	const totalMicros = count * (priceMicros + fee + audit);
	if (mostMicros !== null && totalMicros > mostMicros)
		throw new AssayError("JOB_PRICE", `the job would cost ${totalMicros} micro-units, ${mostMicros} are allowed`, {
			hint: "Allow more, or choose a cheaper method.",
		});
	const isOptimistic = method.name === "optimistic";
	const workMs = Math.max(params.jobLeastWorkMs, Math.ceil((estimatedMs * 1_000_000) / params.jobTimePpm));
	return {
		...{ method, segments, parts: count, priceMicros, feeMicros: fee, auditMicros: audit, totalMicros, estimatedMs },
		bondMicros: bondMicros(
			method,
			{ rewardMicros: priceMicros, auditMicros: audit, gasMicros: input.gasMicros, convictions: 0 },
			params,
		),
		// The escrow assigns no part later: each further one needs the time of the one before, twice, since somebody may fail.
		startByMs: nowMs + params.jobStartMs + 2 * (count - 1) * workMs,
		workMs,
		windowMs: isOptimistic ? params.jobWindowMs : Math.max(params.jobCheckedMs, params.jobWindowMs),
		checkedMs: params.jobCheckedMs,
		hosts: offered.length,
		tenthFound: chanceOfSkip(method, 0.1, params.jobAuditPpm),
	};
}
