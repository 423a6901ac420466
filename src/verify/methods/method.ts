// How a job's claim is verified, as one record a method: docs/jobs.md §9. The record says what an order may
// ask for, what may be spent, how long is waited, what to do next about a part, what its evidence is worth,
// and how all of that is said in words. Everybody asks the record of a job (methods.ts), nobody asks for a
// method's name. It decides nothing about money and draws nothing itself. Pure. Not here: who is drawn
// (market/jobs/draw.ts), the re-runs, the referee's questions.
import { wholeSpan } from "../../protocol/format-number.ts";
import type { JobAudit, JobMethod, JobPart } from "../../protocol/network/job.ts";
import type { AttestedLevel } from "../../protocol/probe/verdict.ts";

export interface PartView {
	readonly part: JobPart;
	readonly method: JobMethod;
	/** Number of segments in this part. */
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

/** How long is waited before a part is paid. */
interface Windows {
	/** From the claim. */
	readonly windowMs: number;
	/** From the method's evidence. */
	readonly checkedMs: number;
}

/** What a page says of a method before it is ordered. Percentages and amounts are texts. */
interface Prospects {
	readonly count: number;
	/** Chance that one false segment is found, from 0 to 1, and that a skipped tenth is. */
	readonly one: number;
	readonly tenth: string;
	readonly windowMs: number;
	/** "its bond of at least 3 tokens" */
	readonly bond: string;
}

interface Words {
	/** What is bought beside the work. */
	readonly extra: "checks" | "proofs";
	/** When a part is paid, as a rule and in every case: what follows "paid". */
	usuallyPaid(windows: Windows): string;
	paid(windows: Windows): string;
	/** `percent`: the chance that a provider which skips a tenth is found. */
	found(percent: string): string;
	/** What a paid part went through. */
	readonly stood: string;
	/** What a page offers, and how it explains it. */
	readonly choices: readonly { readonly count: number; readonly title: string }[];
	explained(prospects: Prospects): string;
	/** What a page says of a method that it cannot order; null: it can, by `choices`. */
	readonly elsewhere: { readonly title: string; readonly why: string; readonly fits: string } | null;
}

export interface Method {
	/** What an order may count; all 0: nothing. `usual`: where it does not say. */
	readonly counts: { readonly usual: number; readonly least: number; readonly most: number };
	/** What is ordered where nothing is said; true of one method. */
	readonly isDefault: boolean;
	/** "audits": by the steps that `next` gives. "proofs": by proofs of its segments on chain, docs/zk.md. */
	readonly driver: "audits" | "proofs";
	/** Windows of a part are drawn and run again, several by one auditor. Else parts are run again whole. */
	readonly drawsWindows: boolean;
	/** What is skipped is found by its size: the reward alone makes honesty best, the bond pays for harm. */
	readonly isFoundBySize: boolean;
	/** Only hosts whose allowed guest named its devices: level hosted. */
	readonly needsHosted: boolean;
	/** Anyone may check it: once a part is claimed, its inputs and claims are for everybody with a key. */
	readonly isOpen: boolean;
	/** Its disputes can be settled by zk proofs: docs/zk.md §15. */
	readonly isProvable: boolean;
	/** Providers that run the same part at once, its claimant among them. */
	runners(count: number): number;
	/** Segments of a part that auditors run again, at most. `perWindow`: the least that is run again. */
	audited(count: number, segments: number, perWindow: number): number;
	/** Chance, from 0 to 1, that a skipped share is found. `audited`: chance that a part is run again. */
	chanceOfSkip(count: number, skipped: number, audited: number): number;
	/** The same of one false segment in the middle. */
	chanceOfOne(count: number, perWindow: number, segments: number, audited: number): number;
	/** `leastMs`: the shortest window that contracts take. */
	windows(params: { readonly jobWindowMs: number; readonly jobCheckedMs: number }, leastMs: number): Windows;
	/** Windows after a claim until it is over: one more where it has to be proven meanwhile. */
	readonly windowsToClaim: number;
	/** Empty: wait, for an answer or for the end of the window. */
	next(view: PartView, drawn: Drawn): readonly MethodAction[];
	judge(view: PartView): MethodVerdict;
	readonly words: Words;
}

/** A method that has parts run again whole by chance, but for what it says itself. */
export const createMethod = ({
	words,
	...own
}: Pick<Method, "next"> & Partial<Omit<Method, "words">> & { readonly words?: Partial<Words> }): Method => ({
	...{ counts: { usual: 0, least: 0, most: 0 }, driver: "audits", windowsToClaim: 1, drawsWindows: false },
	...{ isDefault: false, isFoundBySize: false, needsHosted: false, isOpen: false, isProvable: false },
	runners: () => 1,
	// A random audit takes the whole part; its price is held back for every part, and most of it goes back.
	audited: (_, segments) => segments,
	chanceOfSkip: (_, _skipped, audited) => audited,
	chanceOfOne: (_, _perWindow, _segments, audited) => audited,
	windows: ({ jobWindowMs, jobCheckedMs }) => ({
		...{ windowMs: Math.max(jobCheckedMs, jobWindowMs), checkedMs: jobCheckedMs },
	}),
	judge: (view) => judgeAudits(view, "the draw"),
	...own,
	words: {
		extra: "checks",
		usuallyPaid: ({ checkedMs }) => `${wholeSpan(checkedMs)} after the check`,
		paid: ({ checkedMs, windowMs }) =>
			`${wholeSpan(checkedMs)} after the check, without one ${wholeSpan(windowMs)} after the claim`,
		found: (percent) => `a skipped tenth is found with ${percent}`,
		stood: "stood through its window",
		choices: [],
		explained: ({ tenth }) => `${tenth} of the parts are run again at random.`,
		elsewhere: null,
		...words,
	},
});

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

/** Evidence is that so many audits are there, and that all agree. */
export const judgeAudits = (view: PartView, trust: MethodVerdict["trust"], least = 1): MethodVerdict => ({
	isChecked: view.part.audits.length >= least && view.part.audits.every(({ agrees }) => agrees === true),
	...{ audited: auditedSegments(view), segments: view.segments, trust },
});

/** Segments that agreeing audits cover, each counted once. */
function auditedSegments({ part, segments }: PartView): number {
	const seen = new Set<number>();
	for (const { first, count, agrees } of part.audits)
		if (agrees === true) for (let i = first; i < first + count; i++) seen.add(i);
	return Math.min(seen.size, segments);
}
