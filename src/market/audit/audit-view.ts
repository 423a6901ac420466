// What an audit of an epoch is about: the chain's word, the public files, and what whoever asks wants done
// besides.
import type { RewardLeaf, ScoreLeaf, Seat, Weights, WeightsSignature } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { SignedWeights } from "../../protocol/chain/statements-file.ts";
import type { WeightsDomain } from "../../protocol/chain/weights-statement.ts";
import type { ReportReasons } from "../epochs/reasons-file.ts";
import type { WeightRules } from "../epochs/weights.ts";
import type { Params } from "../params.ts";
import type { Explanation } from "../scores/explanation.ts";
import type { AuditDifference } from "./audit-scores.ts";

export interface PostedWeights {
	readonly id: Hex;
	readonly weights: Weights;
	/** Bit i: seat i has signed. */
	readonly signers: bigint;
	/** As they were posted; null: the node no longer tells. */
	readonly signatures: readonly WeightsSignature[] | null;
	/** What all accounts have earned with them. */
	readonly total: bigint;
}

/** What the chain says of an epoch. Accounts in lower case. */
export interface AuditView {
	readonly epoch: number;
	readonly domain: WeightsDomain;
	readonly rules: WeightRules & { readonly signerSlashPpm: number; readonly emissionPerEpoch: bigint };
	readonly seats: readonly Seat[];
	/** All voting stake, and all that was funded, the second before the epoch's end. */
	readonly totalStake: bigint;
	readonly funded: bigint;
	/** Null: none are. */
	readonly posted: PostedWeights | null;
	/**
	 * What the posted ones continue, or would; `total` is what all accounts have earned with them. Null: there
	 * are none before.
	 */
	readonly base: { readonly id: Hex; readonly weights: Weights; readonly total: bigint } | null;
	/** What accounts were paid in all, before the next weights were posted. */
	readonly payments: readonly { readonly account: Hex; readonly amount: bigint }[];
	/** What somebody shows of the leaves; empty: nobody does. */
	readonly shown: readonly Pick<RewardLeaf, "account" | "weightPpm" | "earned" | "total">[];
}

/**
 * Where files come from: a data folder, the validators' servers. Hostile, all of it. Null: it cannot be had.
 */
export interface EpochFiles {
	report(validator: Hex): Promise<readonly ScoreLeaf[] | "unreadable" | null>;
	/** Leaves of weights. */
	rewards(epoch: number, id: Hex): Promise<readonly RewardLeaf[] | "unreadable" | null>;
	reasons(validator: Hex): Promise<ReportReasons | null>;
	/** Whatever validators have signed, posted or not. */
	statements(): Promise<readonly SignedWeights[]>;
}

export interface EvidenceSteps {
	/** Which leaves' evidence is looked at. */
	choose(leaves: readonly ScoreLeaf[]): readonly ScoreLeaf[];
	check(one: {
		readonly validator: Hex;
		readonly chosen: readonly ScoreLeaf[];
		readonly reasons: ReadonlyMap<Hex, Explanation>;
		/** The validator's own; null when it states none that can be used. */
		readonly params: Params | null;
	}): Promise<readonly AuditDifference[]>;
}

export interface AuditSteps {
	/** Before whatever may take a while. */
	readonly onStep: (title: string) => void | Promise<void>;
	/** Null: evidence is not looked at. */
	readonly evidence: EvidenceSteps | null;
}
