// How a claim is verified, behind one interface: docs/jobs.md §9. A method says what to do next about a part,
// and what its evidence is worth. It decides nothing about money and draws nothing itself. Pure. Not here:
// who is drawn (market/jobs/draw.ts), the re-runs, the referee's questions.
import type { JobAudit, JobMethod, JobPart } from "../../protocol/network/job.ts";
import type { AttestedLevel } from "../../protocol/probe/verdict.ts";

export interface PartView {
	readonly part: JobPart;
	readonly method: JobMethod;
	/** Of this part. */
	readonly segments: number;
	/** Came faster than its provider's proven speed allows. */
	readonly isTooFast: boolean;
	/** What devices signed at both ends of it, as it counts; absent: nothing. */
	readonly attested?: AttestedLevel;
}

/** What the draw gave. Nothing is drawn before the claim that could be foreseen by who makes it. */
export interface Drawn {
	/** Windows that are run again: the first, the last and `count` others. Only after the claim. */
	windows(count: number): readonly { readonly first: number; readonly count: number }[];
	/** Whether this claim is one of those that are audited by chance. Only after the claim. */
	isAudited(): boolean;
}

export type MethodAction =
	/**
	 * Somebody runs these segments again, blind. `by`: "drawn" is another provider; "anyone" may be the
	 * validator where the work is small.
	 */
	| { readonly kind: "audit"; readonly first: number; readonly count: number; readonly by: "drawn" | "anyone" }
	/** Hold audit `at` against the claim. */
	| { readonly kind: "compare"; readonly at: number }
	/** Claim and audit `at` differ: both answer questions until one element separates them. */
	| { readonly kind: "referee"; readonly at: number }
	/** The evidence is whole: sign `Checked`. */
	| { readonly kind: "check" };

/** What the evidence of a method says, in plain words and numbers. */
interface MethodVerdict {
	readonly isChecked: boolean;
	/** Segments that were run again, of all. */
	readonly audited: number;
	readonly segments: number;
	/** Who must be trusted, besides arithmetic. */
	readonly trust: "the draw" | "one honest watcher" | "the vendor" | "arithmetic alone";
}

export interface Method {
	/** Empty: wait, for an answer or for the end of the window. */
	next(view: PartView, drawn: Drawn): readonly MethodAction[];
	judge(view: PartView): MethodVerdict;
}

export const whole = ({ segments }: PartView, by: "drawn" | "anyone"): MethodAction => ({
	kind: "audit",
	first: 0,
	count: segments,
	by,
});

/**
 * What every method does with answers: compare each, fetch the referee where one differs, and give evidence
 * when all agree.
 */
export function settleAudits({ part }: PartView): readonly MethodAction[] {
	if (part.state !== "claimed" || part.isChecked || part.audits.length === 0) return [];
	const actions = part.audits.flatMap((audit: JobAudit, at): MethodAction[] => {
		if (audit.answer === null) return [];
		if (audit.agrees === null) return [{ kind: "compare", at }];
		return audit.agrees ? [] : [{ kind: "referee", at }];
	});
	// Every answer that is there is compared first: who said the truth of a claim that falls is paid for it.
	if (actions.length > 0)
		return actions.toSorted((a, b) => Number(b.kind === "compare") - Number(a.kind === "compare"));
	return part.audits.every(({ agrees }) => agrees === true) ? [{ kind: "check" }] : [];
}

/** Segments that agreeing audits cover, each counted once. */
export function auditedSegments({ part, segments }: PartView): number {
	const seen = new Set<number>();
	for (const { first, count, agrees } of part.audits)
		if (agrees === true) for (let i = first; i < first + count; i++) seen.add(i);
	return Math.min(seen.size, segments);
}
