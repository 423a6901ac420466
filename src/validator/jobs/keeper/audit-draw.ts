// Who audits a part: drawn like its provider, of those that could run it, and neither its provider nor of its owner or network.
import { fittingHosts } from "../../../market/jobs/fitting-hosts.ts";
import { partRange } from "../../../market/jobs/job-rules.ts";
import type { JobPart } from "../../../protocol/network/job.ts";
import { goOnDrawing } from "./draw-part.ts";
import type { Job, JobContext } from "./job-context.ts";
import type { KnownHost } from "./job-hosts.ts";

/** Hosts that may run the part, free or not as `limits` says. */
export async function hostsFor(
	{ hosts, works, config }: JobContext,
	job: Job,
	number: number,
	{ excluded, bondMicros }: { readonly excluded: ReadonlySet<string>; readonly bondMicros: number },
	known?: readonly KnownHost[],
): Promise<KnownHost[]> {
	const { terms } = job.offer;
	const { count } = partRange(terms, number);
	const { ops, bytes, peakBytes } = await works.ofJob(job);
	const all = (known ?? (await hosts.all())).filter((host) => hosts.allows(host, terms.method, terms.workMs));
	const limits = { workMs: terms.workMs, priceMicros: terms.priceMicros, bondMicros, excluded };
	const work = { peakBytes, ops: ops * count, bytes: bytes * count };
	return fittingHosts(all, work, limits, config.params) as KnownHost[];
}

/** The first that was drawn and is not taken; null: nobody is left; "wait": not drawn yet. */
export async function nextAuditor(
	context: JobContext,
	job: Job,
	part: JobPart,
	taken: readonly string[],
): Promise<string | null | "wait"> {
	const place = { part: part.part, attempt: part.attempt, role: 1 } as const;
	const drawn = await goOnDrawing(context, job, place, {
		list: async () => {
			const all = await context.hosts.all();
			const own = all.find(({ provider }) => provider === part.provider);
			const others = all.filter(
				({ owner, network, provider }) =>
					provider !== part.provider && owner !== own?.owner && network !== own?.network,
			);
			return hostsFor(context, job, part.part, { excluded: new Set(part.excluded), bondMicros: 0 }, others);
		},
	});
	if (drawn === null) return "wait";
	if (drawn === "nobody") return null;
	return drawn.drawn.find((one) => !taken.includes(one)) ?? null;
}
