// What is to be done about a job now, from its record and the time alone: docs/jobs.md §8. Who carries it out
// looks at the chain first, where there is one. Pure.
import type { JobPart, JobRecord } from "../../protocol/network/job.ts";
import { methodOf } from "../../verify/methods/methods.ts";
import type { Params } from "../params.ts";
import { isCancelled, type Lapse, lapse, lapsesAtMs } from "./job-rules.ts";

export type JobStep =
	/** Open, and somebody may begin it. `only`: nobody else than this provider, who goes on at its own risk. */
	| { readonly kind: "draw"; readonly part: number; readonly only: string | null }
	/** Its provider was asked; that it heard so is not sure. */
	| { readonly kind: "remind"; readonly part: number }
	| { readonly kind: "reopen"; readonly part: number; readonly why: Lapse }
	/** The method has the word: auditors while it runs, comparisons after the claim. */
	| { readonly kind: "verify"; readonly part: number }
	| { readonly kind: "settle"; readonly part: number }
	/** Nobody can get it any more. */
	| { readonly kind: "refund"; readonly part: number };

/** Who may begin the part: anyone, one, or nobody yet. */
function beginner({ parts }: JobRecord, { part, excluded }: JobPart): "anyone" | "nobody" | { readonly only: string } {
	const before = parts[part - 1];
	if (before === undefined) return "anyone";
	// The chain alone has its claim: what it ended with is not here.
	if (before.claim === null) return "nobody";
	if (before.state === "paid") return "anyone";
	if (before.state !== "claimed" || before.isDisputed) return "nobody";
	if (before.isChecked) return "anyone";
	const { provider } = before;
	return provider === null || excluded.includes(provider) ? "nobody" : { only: provider };
}

interface Now {
	readonly nowMs: number;
	readonly isGivenBack: boolean;
	/** Since when signs of life could reach anybody here. */
	readonly heardSinceMs: number;
}

function stepsOf(job: JobRecord, part: JobPart, { nowMs, isGivenBack, heardSinceMs }: Now, params: Params): JobStep[] {
	const at = part.part;
	if (part.state === "open") {
		if (nowMs > job.terms.startByMs || isGivenBack) return [{ kind: "refund", part: at }];
		const who = beginner(job, part);
		if (who === "nobody") return [];
		return [{ kind: "draw", part: at, only: who === "anyone" ? null : who.only }];
	}
	if (part.state === "assigned" || part.state === "running") {
		const why = lapse(job, at, nowMs, params);
		// Nobody is lost for a silence in which nobody listened.
		const isHeard = nowMs > heardSinceMs + params.jobBeatMs * params.jobBeatMisses;
		if (why !== null && (why !== "lost" || isHeard)) return [{ kind: "reopen", part: at, why }];
		return part.state === "assigned" ? [{ kind: "remind", part: at }] : [{ kind: "verify", part: at }];
	}
	if (part.state !== "claimed") return [];
	// Who disputes a claim does not have it paid. A dispute lapses: others may settle it meanwhile.
	if (part.isDisputed) return [{ kind: "verify", part: at }];
	if (nowMs > part.untilMs) return [{ kind: "settle", part: at }];
	return part.isChecked ? [] : [{ kind: "verify", part: at }];
}

/**
 * Whether all that is left to do now is the hosts': nobody has to be drawn, asked or compared before one of
 * them says something.
 */
export function isAtWork(job: JobRecord): boolean {
	const { method } = job.terms;
	const others = methodOf(method).runners(method.count) - 1;
	return job.parts.every((part) => {
		if (part.state === "open") return beginner(job, part) === "nobody";
		if (part.state === "assigned" || part.state === "claimed") return false;
		if (part.state !== "running") return true;
		return part.audits.length >= others && part.audits.every(({ auditor }) => auditor !== null);
	});
}

/** In the order of the parts: an earlier one is settled before a later one. `heardSinceMs`: see Now. */
export function nextSteps(
	job: JobRecord,
	nowMs: number,
	params: Params,
	heardSinceMs = Number.NEGATIVE_INFINITY,
): JobStep[] {
	const now = { nowMs, isGivenBack: isCancelled(job), heardSinceMs };
	return job.parts.flatMap((part) => stepsOf(job, part, now, params));
}

/** When time alone changes what is to be done; null: never. */
export function nextLookMs(job: JobRecord, params: Params): number | null {
	const moments = job.parts.flatMap((part) => {
		if (part.state === "open") return [job.terms.startByMs];
		if (part.state === "assigned" || part.state === "claimed") return [part.untilMs];
		if (part.state === "running") return [lapsesAtMs(job, part, params)];
		return [];
	});
	return moments.length === 0 ? null : Math.min(...moments) + 1;
}
