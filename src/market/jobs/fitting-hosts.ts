// Who may be drawn for a part: by figures that were proven, never by what a host says. docs/jobs.md §10. And,
// where nobody may, which limit was in the way and by how much. Pure.
import type { JobMethod } from "../../protocol/network/job.ts";
import { ATTESTED_LEVELS, type AttestedLevel } from "../../protocol/probe/verdict.ts";
import { nsOn, PROVEN_H200, sumOfTimes, type WorkTime } from "../../work/cost/work-time.ts";
import type { SegmentWork } from "../../work/program/job-work.ts";
import type { Params } from "../params.ts";

/**
 * One device of a host, as the network knows it. Speeds and bytes are proven figures of that device; a host
 * of several devices stands here several times.
 */
export interface JobHost {
	readonly provider: string;
	/** As its host numbers them. */
	readonly device: number;
	/** The account that is paid. */
	readonly owner: string;
	/** The network that its address lies in: /24, or /48. */
	readonly network: string;
	readonly isFree: boolean;
	/** It works at something, whether that counts here or not; absent: no. */
	readonly isAtWork?: boolean;
	readonly pricePerHourMicros: number;
	readonly reliabilityPpm: number;
	readonly freeBondMicros: number;
	readonly memoryBytes: number;
	readonly int8OpsPerS: number;
	readonly bytesPerS: number;
	/** 0, absent: none was proven. */
	readonly int32OpsPerS?: number;
	/** Its owner's limits; absent: none. */
	readonly mostWorkMs?: number;
	readonly methods?: readonly JobMethod["name"][];
	/**
	 * What its devices signed in its last valid probe, as it counts here; absent: nothing. docs/attestation.md.
	 */
	readonly attested?: AttestedLevel;
	/** Under roots that anybody can sign under. */
	readonly isSimulated?: boolean;
}

/** What no host does without. */
export interface LeastWork {
	readonly peakBytes: number;
	/** int8 operations, two for each product of two bytes. */
	readonly ops: number;
	/** Read and written. */
	readonly bytes: number;
}

/** What a part takes: from the engine's PLAN and the model of the work. */
export interface PartWork {
	readonly peakBytes: number;
	readonly time: WorkTime;
}

export interface JobLimits {
	/** Null, here and below: not known yet, so nobody misses it. */
	readonly workMs: number | null;
	/** For a part. */
	readonly priceMicros: number | null;
	readonly bondMicros: number;
	/** Absent: whichever. */
	readonly method?: JobMethod["name"];
	/** Only a host whose allowed guest named its devices: level hosted. */
	readonly isHosted?: boolean;
	readonly excluded: ReadonlySet<string>;
}

type Speed = Pick<JobHost, "int8OpsPerS" | "bytesPerS" | "int32OpsPerS">;

/**
 * By its proven speed and nothing in its way; no host is faster than that. For what comes too fast: work
 * takes up to 35 times as long, so neither price nor time limit is made of it.
 */
export function leastMs({ ops, bytes }: LeastWork, { int8OpsPerS, bytesPerS }: Speed): number {
	return Math.ceil(1000 * Math.max(ops / Math.max(1, int8OpsPerS), bytes / Math.max(1, bytesPerS)));
}

/**
 * So many segments of a job. All parts of a job have one price and one time limit, so each counts as the
 * longest: with the init phase, where that takes longer than a segment.
 */
export function partWork({ peakBytes, time }: Pick<SegmentWork, "peakBytes" | "time">, count: number): PartWork {
	const { init, segment } = time;
	const first = nsOn(init, PROVEN_H200) > nsOn(segment, PROVEN_H200) ? init : segment;
	return { peakBytes, time: sumOfTimes([1, first], [Math.max(0, count - 1), segment]) };
}

const clamped = (value: bigint): number =>
	value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);

/** How long the part takes a host of that speed, by the model of the work. */
export function modelledMs({ time }: Pick<PartWork, "time">, speed: Speed): number {
	return clamped((nsOn(time, speed) + 999_999n) / 1_000_000n);
}

/** What so much time costs, at a price an hour. */
export const hoursMicros = (ms: number, pricePerHourMicros: number): number =>
	clamped((BigInt(ms) * BigInt(pricePerHourMicros) + 3_599_999n) / 3_600_000n);

/** What the part costs there: its modelled time, and the least time that is paid, at the host's own price. */
export function costMicros(
	work: Pick<PartWork, "time">,
	host: Speed & Pick<JobHost, "pricePerHourMicros">,
	{ jobLeastPaidMs }: Pick<Params, "jobLeastPaidMs">,
): number {
	return hoursMicros(Math.max(jobLeastPaidMs, modelledMs(work, host)), host.pricePerHourMicros);
}

type FitParams = Pick<Params, "jobTimePpm" | "jobReliabilityPpm" | "jobLeastPaidMs">;

type Limit = "method" | "attested" | "memory" | "speed" | "minutes" | "time" | "price" | "reliability" | "bond";
type Unfit = "busy" | "excluded" | Limit;

/** The limit that a host misses, and what it has of what is wanted; null: it fits. */
export interface Miss {
	readonly why: Unfit;
	readonly has: number;
	readonly wants: number;
}

/** As misses count levels. */
const levelNumber = (level: AttestedLevel = "none"): number => ATTESTED_LEVELS.indexOf(level);

const miss = (why: Unfit, has: number, wants: number): Miss => ({ why, has, wants });

export function missOf(
	host: JobHost,
	work: PartWork,
	{ workMs, priceMicros, bondMicros, excluded, method, isHosted }: JobLimits,
	params: FitParams,
): Miss | null {
	const { mostWorkMs = Number.MAX_SAFE_INTEGER, methods } = host;
	if (excluded.has(host.provider)) return miss("excluded", 1, 0);
	if (method !== undefined && methods?.includes(method) === false) return miss("method", 0, 1);
	if (isHosted && host.attested !== "hosted")
		return miss("attested", levelNumber(host.attested), levelNumber("hosted"));
	if (host.memoryBytes < work.peakBytes) return miss("memory", host.memoryBytes, work.peakBytes);
	if (host.int8OpsPerS <= 0 || host.bytesPerS <= 0) return miss("speed", 0, 1);
	if (workMs !== null && workMs > mostWorkMs) return miss("minutes", mostWorkMs, workMs);
	const most = workMs === null ? Number.MAX_SAFE_INTEGER : Math.floor((workMs * params.jobTimePpm) / 1_000_000);
	const takes = modelledMs(work, host);
	if (takes > most) return miss("time", takes, most);
	const cost = costMicros(work, host, params);
	if (priceMicros !== null && cost > priceMicros) return miss("price", cost, priceMicros);
	if (host.reliabilityPpm < params.jobReliabilityPpm)
		return miss("reliability", host.reliabilityPpm, params.jobReliabilityPpm);
	if (host.freeBondMicros < bondMicros) return miss("bond", host.freeBondMicros, bondMicros);
	return host.isFree ? null : miss("busy", 0, 1);
}

/** Says of each host in turn whether it is the first of its owner and of its network. */
export function createFirsts(): (host: Pick<JobHost, "owner" | "network">) => boolean {
	const [owners, networks] = [new Set<string>(), new Set<string>()];
	return ({ owner, network }) => {
		if (owners.has(owner) || networks.has(network)) return false;
		owners.add(owner);
		networks.add(network);
		return true;
	};
}

/** A host by one of its devices, an idle one where there is, with all of them that fit. */
export type FittingHost<Host extends JobHost> = Host & { readonly devices: readonly Host[] };

const byName = (a: Pick<JobHost, "provider">, b: Pick<JobHost, "provider">): number =>
	a.provider === b.provider ? 0 : a.provider < b.provider ? -1 : 1;

/** Those that fit, ascending by name; their devices by their speed, the fastest first. */
export function fittingHosts<Host extends JobHost>(
	hosts: readonly Host[],
	work: PartWork,
	limits: JobLimits,
	params: FitParams,
): FittingHost<Host>[] {
	const fitting = hosts
		.filter((host) => missOf(host, work, limits, params) === null)
		.map((host) => ({ host, ms: modelledMs(work, host) }))
		.sort((a, b) => a.ms - b.ms || a.host.device - b.host.device);
	const devicesOf = new Map<string, Host[]>();
	for (const { host } of fitting) {
		const known = devicesOf.get(host.provider);
		if (known === undefined) devicesOf.set(host.provider, [host]);
		else known.push(host);
	}
	return [...devicesOf.values()]
		.map((devices) => ({ ...(devices.find(({ isAtWork }) => !isAtWork) ?? devices[0]!), devices }))
		.sort(byName);
}

/**
 * Those that may run one part beside each other: of one owner, and of one network, one alone, and who is idle
 * before who is at work. Ascending by name.
 */
export function oneOfEach<Host extends Pick<JobHost, "provider" | "owner" | "network" | "isAtWork">>(
	hosts: readonly Host[],
): Host[] {
	const isFirst = createFirsts();
	return hosts
		.toSorted((a, b) => Number(a.isAtWork ?? false) - Number(b.isAtWork ?? false) || byName(a, b))
		.filter(isFirst)
		.sort(byName);
}

/**
 * All may be drawn for a part that one of them gets. Those of one owner, and those of one network, weigh
 * together no more than one: whoever comes under many names is not drawn more often.
 */
export function sharedWeights<Host extends Pick<JobHost, "owner" | "network"> & { readonly weightPpm: number }>(
	hosts: readonly Host[],
): Host[] {
	const [owners, networks] = [new Map<string, number>(), new Map<string, number>()];
	for (const { owner, network } of hosts) {
		owners.set(owner, (owners.get(owner) ?? 0) + 1);
		networks.set(network, (networks.get(network) ?? 0) + 1);
	}
	return hosts.map((host) => {
		const share = Math.max(owners.get(host.owner)!, networks.get(host.network)!);
		return { ...host, weightPpm: Math.max(1, Math.floor(host.weightPpm / share)) };
	});
}

/**
 * Where nobody fits: the miss that is smallest by its share, of the host that comes nearest; null without
 * hosts.
 */
export function nearestMiss(
	hosts: readonly JobHost[],
	work: PartWork,
	limits: JobLimits,
	params: FitParams,
): (Miss & { readonly provider: string }) | null {
	const gap = ({ has, wants }: Miss): number => Math.abs(has - wants) / Math.max(1, has, wants);
	const misses = hosts
		.map((host) => ({ provider: host.provider, found: missOf(host, work, limits, params) }))
		.flatMap(({ provider, found }) => (found === null ? [] : [{ provider, ...found }]))
		// The price is made of what the others ask: whoever is merely dearer tells a customer nothing.
		.sort((a, b) => Number(a.why === "price") - Number(b.why === "price") || gap(a) - gap(b));
	return misses[0] ?? null;
}
