// One job as it is kept, docs/jobs.md. Shapes only: the rules are in market/jobs. Money is integer
// micro-units; amounts of the record and of the escrow are the same numbers.

/** How a claim is verified, by name, and the number that each has in the escrow's terms. docs/jobs.md §9. */
export const METHOD_NUMBERS = { redundant: 1, sampled: 2, optimistic: 3, attested: 4, zk: 5 } as const;
export type MethodName = keyof typeof METHOD_NUMBERS;
export const METHOD_NAMES = Object.keys(METHOD_NUMBERS) as readonly MethodName[] as readonly [
	MethodName,
	...MethodName[],
];

export interface JobMethod {
	readonly name: MethodName;
	/**
	 * redundant: providers in all, 2 to 5. sampled: windows that are run again, the first and the last among
	 * them. Others: 0.
	 */
	readonly count: number;
}

/** What customer and validator agreed on, before anybody works. */
export interface JobTerms {
	readonly customer: string;
	/** Roots, 64 hex digits: docs/work.md §6, §7. */
	readonly program: string;
	readonly inputs: string;
	readonly method: JobMethod;
	/**
	 * Of all parts together, segment 0 counted. Part p has ⌈segments / parts⌉ of them, the last one the rest.
	 */
	readonly segments: number;
	readonly parts: number;
	/** Each for one part: to the provider, to the validators, at most to auditors. */
	readonly priceMicros: number;
	readonly feeMicros: number;
	readonly auditMicros: number;
	readonly bondMicros: number;
	readonly startByMs: number;
	readonly workMs: number;
	/** From the claim to the payment; with the method's evidence, from there. */
	readonly windowMs: number;
	readonly checkedMs: number;
}

export type PartState = "open" | "assigned" | "running" | "claimed" | "paid" | "refunded";

/** Somebody runs segments of a claim again, blind. */
export interface JobAudit {
	/** A provider's id; null: the validator itself. */
	readonly auditor: string | null;
	/** The device of the auditor's host that it was given; absent where no host audits. */
	readonly device?: number | undefined;
	readonly first: number;
	readonly count: number;
	/** When another is asked instead; 0: never. */
	readonly untilMs: number;
	/** Auditors that were asked before and were silent, would not, or lied. */
	readonly tried: readonly string[];
	/** Root of the list of states that it computed, as a blob; null: not yet. */
	readonly answer: string | null;
	/** When it came. */
	readonly answeredAtMs?: number | undefined;
	/** Null until both claim and answer are there. */
	readonly agrees: boolean | null;
	/**
	 * A segment of the part of whose inside the two say different things, or the claimant says nothing, though
	 * all their states agree.
	 */
	readonly inside?: number | undefined;
}

export interface JobPart {
	readonly part: number;
	/** How often it was assigned. */
	readonly attempt: number;
	readonly state: PartState;
	readonly provider: string | null;
	/** The device of that host that runs it; absent: nobody has it, or only the chain knows who. */
	readonly device?: number | undefined;
	/** Attempt of the part before, whose end this one begins with; 0 in part 0. */
	readonly base: number;
	/** Began at the end of a part that another provider made: paid whatever becomes of that one. */
	readonly isAlone: boolean;
	/** assigned: to answer; running: to claim; claimed: when it is paid. */
	readonly untilMs: number;
	readonly lastBeatMs: number;
	/** Segments done, as its provider says. */
	readonly done: number;
	/** When `done` last grew, or the part began to run. */
	readonly lastProgressMs: number;
	/** The claim's hash, 64 hex digits. Null of a part that is claimed or paid: the chain alone has it. */
	readonly claim: string | null;
	readonly claimedAtMs: number;
	readonly assignedAtMs: number;
	readonly isChecked: boolean;
	/** Of a zk job: its segments that are proven and paid. */
	readonly proven?: number | undefined;
	/**
	 * Found false, or its claimant fell silent, and no chain has decided: it is neither checked nor settled by
	 * this validator, and its provider gets no work as long as that stands.
	 */
	readonly isDisputed: boolean;
	/** When that was found; it stays when the dispute lapses, since nobody audits the claim any more. */
	readonly disputedAtMs?: number | undefined;
	readonly audits: readonly JobAudit[];
	/** Providers that had it and lost or lied. */
	readonly excluded: readonly string[];
}

export interface JobRecord {
	readonly id: string;
	readonly terms: JobTerms;
	readonly parts: readonly JobPart[];
}
