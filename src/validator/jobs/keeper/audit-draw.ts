// Who audits a part: drawn like its provider, of those that could run it, and neither its provider nor of its
// owner or network. And what decides whether it is run again whole: how fast it came, and how often that is
// done by chance, by what its provider was when it was drawn.
import { auditChancePpm, isTooFast } from "../../../market/jobs/economics.ts";
import {
	type FittingHost,
	fittingHosts,
	type JobLimits,
	leastMs,
	oneOfEach,
	partWork,
} from "../../../market/jobs/fitting-hosts.ts";
import { partRange } from "../../../market/jobs/job-rules.ts";
import type { JobAudit, JobPart } from "../../../protocol/network/job.ts";
import { methodOf } from "../../../verify/methods/methods.ts";
import { type DrawSource, drawnHost, goOnDrawing, idleDevice } from "./draw-part.ts";
import type { Job, JobContext } from "./job-context.ts";
import type { KnownHost } from "./job-hosts.ts";

type HostSource = Pick<JobContext, "hosts" | "works" | "config">;

/** Hosts that may run the part, each with the devices that may. */
export async function hostsFor(
	{ hosts, works, config }: HostSource,
	job: Job,
	number: number,
	{ excluded, bondMicros, isHosted = false }: Pick<JobLimits, "excluded" | "bondMicros" | "isHosted">,
	known?: readonly KnownHost[],
): Promise<FittingHost<KnownHost>[]> {
	const { terms } = job.offer;
	const { count } = partRange(terms, number);
	const all = known ?? (await hosts.all());
	const limits = {
		...{ workMs: terms.workMs, priceMicros: terms.priceMicros, bondMicros, excluded, isHosted },
		method: terms.method.name,
	};
	return fittingHosts(all, partWork(await works.ofJob(job), count), limits, config.params);
}

/** Who audits, and on which of its devices. */
export interface ChosenAuditor {
	readonly auditor: string;
	readonly device: number;
}

/**
 * The first that was drawn and audits nothing else of the part; whoever is at work only where nobody else
 * is left. Where windows outnumber hosts one gets several, all for one of its devices; runs of the whole
 * part are of different hosts. Nobody is asked again that was silent or lied. Null: nobody is left; "wait":
 * not drawn yet.
 */
export async function nextAuditor(
	context: HostSource & Parameters<typeof goOnDrawing>[0],
	job: Job,
	part: JobPart,
	audits: readonly JobAudit[],
): Promise<ChosenAuditor | null | "wait"> {
	const place = { part: part.part, attempt: part.attempt, role: 1 } as const;
	const drawn = await goOnDrawing(context, job, place, async () => {
		const own = await drawnHost(context, job, part);
		// The list is for as long as the part is verified: whoever is at work now comes free.
		const all = await context.hosts.known();
		const others = all.filter(
			({ owner, network, provider }) => provider !== part.provider && owner !== own?.owner && network !== own?.network,
		);
		return oneOfEach(
			await hostsFor(context, job, part.part, { excluded: new Set(part.excluded), bondMicros: 0 }, others),
		);
	});
	if (drawn === null) return "wait";
	if (drawn === "nobody") return null;
	const tried = new Set(audits.flatMap((audit) => audit.tried));
	const times = (one: string): number => audits.filter(({ auditor }) => auditor === one).length;
	// Who is away, or disputed or convicted since the draw, is passed over.
	const there = await context.hosts.there();
	const able = drawn.drawn.filter((one) => !tried.has(one) && there.has(one));
	const atWork = await context.store.jobs.devicesAtWork();
	const idle = (one: string): number | null => idleDevice(atWork, one, drawn.hosts[one]!);
	const least = able.toSorted(
		(one, other) => times(one) - times(other) || Number(idle(one) === null) - Number(idle(other) === null),
	)[0];
	const isShared = methodOf(job.offer.terms.method).drawsWindows;
	if (least === undefined || (times(least) > 0 && !isShared)) return null;
	const own = audits.find(({ auditor }) => auditor === least)?.device;
	return { auditor: least, device: own ?? idle(least) ?? drawn.hosts[least]!.devices[0]!.device };
}

/** Whether a claim came quicker than its provider's proven speed allows: then it is run again whole. */
export async function cameTooFast(
	context: DrawSource & Pick<JobContext, "works" | "config">,
	job: Job,
	part: JobPart,
): Promise<boolean> {
	const host = await drawnHost(context, job, part);
	if (host === null) return false;
	const { ops, bytes, peakBytes } = await context.works.ofJob(job);
	const { count } = partRange(job.offer.terms, part.part);
	const least = leastMs({ peakBytes, ops: ops * count, bytes: bytes * count }, host);
	return isTooFast(part.claimedAtMs - part.assignedAtMs, least, context.config.params);
}

/** In ppm. `gasMicros`: what a conviction costs its accuser. */
export async function chanceOfAudit(
	context: DrawSource & Pick<JobContext, "config">,
	job: Job,
	part: JobPart,
	gasMicros: number,
): Promise<number> {
	const { priceMicros: rewardMicros, bondMicros } = job.offer.terms;
	const { checkedInARow = 0 } = (await drawnHost(context, job, part)) ?? {};
	return auditChancePpm(checkedInARow, { rewardMicros, bondMicros, gasMicros }, context.config.params);
}
