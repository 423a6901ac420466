// Toys of the methods: an honest part whose evidence is whole, and a tamper list, a change of each thing that
// the method goes by, after which it must not be checked. One file a method in its folder.
import type { JobAudit, JobMethod, JobPart } from "../../protocol/network/job.ts";
import type { PartView } from "./method.ts";

export const CLAIMED: JobPart = {
	...{ part: 0, attempt: 1, state: "claimed", provider: "a", base: 0, isAlone: false, untilMs: 9, lastBeatMs: 0 },
	...{ done: 100, lastProgressMs: 0, claim: "ab".repeat(32), claimedAtMs: 1, assignedAtMs: 0 },
	...{ isChecked: false, isDisputed: false, audits: [], excluded: [] },
};

export const viewOf = (method: JobMethod, more: Partial<JobPart> = {}, isTooFast = false): PartView => ({
	...{ part: { ...CLAIMED, ...more }, method, segments: 100, isTooFast },
});

export const audit = (first: number, count: number, agrees: boolean | null = true): JobAudit => ({
	...{ auditor: "b", first, count, untilMs: 0, tried: [], answer: "cd".repeat(32), agrees },
});

export interface MethodToy {
	/** Its evidence is there. */
	readonly honest: PartView;
	/** Who proves on chain is not judged by `next`: the chain has decided. */
	readonly isDecided?: true;
	/** What is changed, by name, and the view after it. */
	readonly tampered: { readonly [what: string]: PartView };
}

/** The tamper list of evidence that is audits: each of them differs, is open, or is not there. */
export function tamperedAudits(honest: PartView, least = honest.part.audits.length): MethodToy["tampered"] {
	const { audits } = honest.part;
	const withAudits = (changed: readonly JobAudit[]): PartView => ({
		...honest,
		part: { ...honest.part, audits: changed },
	});
	const each = audits.flatMap((one, at) => [
		[`audit ${at} differs`, withAudits(audits.with(at, { ...one, agrees: false }))] as const,
		[`audit ${at} was not compared`, withAudits(audits.with(at, { ...one, agrees: null }))] as const,
		[`audit ${at} has no answer`, withAudits(audits.with(at, { ...one, answer: null, agrees: null }))] as const,
	]);
	return {
		...Object.fromEntries(each),
		"too few audits": withAudits(audits.slice(0, least - 1)),
		"no claim": { ...honest, part: { ...honest.part, state: "running" } },
	};
}
