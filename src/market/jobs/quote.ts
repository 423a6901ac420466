// What a job will cost and how long it will take, before anybody is asked: docs/jobs.md §9. From the work
// (the engine's PLAN and the model of docs/workloads.md §8), the hosts that proved enough, and the method.
// Everything that may be spent is in it: what is not spent goes back. Pure.
import { AssayError } from "../../protocol/assay-error.ts";
import { codes } from "../../protocol/codes.ts";
import type { JobMethod, JobTerms } from "../../protocol/network/job.ts";
import { methodOf } from "../../verify/methods/methods.ts";
import { PROVEN_H200, type ProgramTime, timeOfInt8 } from "../../work/cost/work-time.ts";
import { perWindowOf } from "../../work/program/job-work.ts";
import type { Params } from "../params.ts";
import { auditMicros, bondMicros, chanceOfSkip, feeMicros, provingMicros } from "./economics.ts";
import {
	costMicros,
	createFirsts,
	fittingHosts,
	hoursMicros,
	type JobHost,
	type JobLimits,
	type Miss,
	missOf,
	modelledMs,
	nearestMiss,
	type PartWork,
	partWork,
} from "./fitting-hosts.ts";
import { type AbsentHost, absentText, missText, tokensText } from "./miss-text.ts";
import { partCount, partLengthMs } from "./part-length.ts";

export interface QuoteInput {
	/** Of the whole job, segment 0 counted. */
	readonly segments: number;
	readonly time: ProgramTime;
	readonly peakBytes: number;
	/** State and results, which go from part to part. */
	readonly stateBytes: number;
	/** Constants and inputs. */
	readonly givenBytes: number;
	readonly method: JobMethod;
	/** The customer's: null, no limit. */
	readonly mostMicros: number | null;
	/** What the customer pays for an hour of this work as an H200 does it; absent: what hosts ask. */
	readonly hourMicros?: number | undefined;
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
	/** The modelled time of one part on the slowest host that may be drawn. */
	readonly estimatedMs: number;
	/** The same on an H200: what is paid for, whoever does it and however slowly. */
	readonly referenceMs: number;
	/** Segments between two kept states of a part: the least that is run again. */
	readonly perWindow: number;
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
	price: "Pay more an hour of work with --price-per-hour, or leave it out: then the price is what hosts ask.",
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
		.map((host) => ({ host, cost: costMicros(work, host, params) }))
		.sort((a, b) => a.cost - b.cost)
		.map(({ host }) => host)
		.filter(isFirst);
}

/**
 * What enough hosts do the part for: the dearest of the cheaper half, and at least three of them, so that
 * there are enough to draw from, and nobody alone sets the price.
 *
 * ATTACK: a host that holds back when it is probed seems to need longer, and would raise the price that it is
 * paid. So a part counts on nobody as longer than on the middle host, and a tenth for what differs from probe
 * to probe. Who needs longer takes part at a lower price an hour, or not. But as many as the method needs do.
 */
function guideMicros(able: readonly JobHost[], work: PartWork, needed: number, params: Params): number {
	const times = able.map((host) => modelledMs(work, host)).sort((a, b) => a - b);
	const middle = times[(times.length - 1) >> 1]!;
	const mostMs = Math.max(params.jobLeastPaidMs, middle + Math.ceil(middle / FIGURES_DIFFER));
	const offered = able.slice(0, Math.max(needed, MIN_OFFERED, Math.ceil(able.length / 2)));
	const asked = offered.map((host) =>
		Math.min(costMicros(work, host, params), hoursMicros(mostMs, host.pricePerHourMicros)),
	);
	return Math.max(1, ...asked, ...offered.slice(0, needed).map((host) => costMicros(work, host, params)));
}

/** How a host's proven figures differ from one probe to the next: by one part of so many. */
const FIGURES_DIFFER = 10;
const MIN_OFFERED = 3;

/** How many parts hosts that may be drawn should do it in. */
function partsOf(input: QuoteInput, hosts: readonly JobHost[], params: Params): number {
	const { segments, time, stateBytes, givenBytes } = input;
	const msOf = ({ time: of }: Pick<PartWork, "time">): readonly number[] =>
		hosts.map((host) => modelledMs({ time: of }, host)).sort((a, b) => a - b);
	const whole = msOf(partWork(input, segments));
	const [slowestMs, middleMs] = [whole.at(-1)!, whole[(whole.length - 1) >> 1]!];
	const initMs = Math.max(0, msOf({ time: time.init }).at(-1)! - msOf({ time: time.segment }).at(-1)!);
	const costs = { initMs, spread: slowestMs / Math.max(1, middleMs) };
	return partCount(segments, slowestMs, partLengthMs({ stateBytes, givenBytes, ...costs }, params));
}

/** `hosts` at work count as free: the job waits for them. Throws JOB_NO_PROVIDER, JOB_PRICE. */
export function quoteJob(input: QuoteInput, hosts: readonly JobHost[], params: Params): JobQuote {
	const { segments, method, mostMicros, nowMs } = input;
	const whole = partWork(input, segments);
	const { audited, needsHosted, runners: runnersOf, windows } = methodOf(method);
	const needed = runnersOf(method.count);
	const open = {
		...{ workMs: null, priceMicros: null, bondMicros: 0, excluded: new Set<string>(), method: method.name },
		isHosted: needsHosted,
	};
	const able = cheapestOfEach(hosts, whole, open, params);
	mustFit(method, able.length, needed, () => nearestMiss(hosts, whole, open, params), input.absent);
	const hour = input.hourMicros;
	/** For a part of so much work. */
	const priceOf = (work: PartWork): number =>
		hour === undefined
			? guideMicros(able, work, needed, params)
			: Math.max(1, costMicros(work, { ...PROVEN_H200, pricePerHourMicros: hour }, params));
	const taking = (work: PartWork) => {
		const limits = { ...open, priceMicros: priceOf(work) };
		return { limits, hosts: able.filter((host) => missOf(host, work, limits, params) === null) };
	};
	const all = taking(whole);
	mustFit(method, all.hosts.length, needed, () => nearestMiss(hosts, whole, all.limits, params), input.absent);
	const each = Math.ceil(segments / partsOf(input, all.hosts, params));
	const perWindow = perWindowOf(each, input.stateBytes);
	const work = partWork(input, each);
	const offered = taking(work).hosts;
	mustFit(method, offered.length, needed, () => nearestMiss(hosts, work, taking(work).limits, params), input.absent);
	const estimatedMs = Math.max(...offered.map((host) => modelledMs(work, host)));
	const priceMicros = priceOf(work);
	const { proving } = input;
	const proof = { time: timeOfInt8(proving?.ops ?? 0) };
	const proofMicros = (host: JobHost): number => hoursMicros(modelledMs(proof, host), host.pricePerHourMicros);
	const audit =
		proving === undefined
			? auditMicros(priceMicros, audited(method.count, each, perWindow), each, params)
			: provingMicros(Math.max(...offered.map(proofMicros)), each, input.gasMicros, params);
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
		...{ referenceMs: modelledMs(work, PROVEN_H200), perWindow },
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
