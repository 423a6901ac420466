// What a provider that works on a chain does there: locks a bond with the assignment, claims, signs answers.
// An interface only, so that a provider without a chain loads nothing of it; open-job-chain.ts makes one.
// Each act is looked up before it is sent: done again it is nothing. docs/chain.md §11.
import type { Hex } from "../../protocol/chain/hex.ts";
import type { EscrowTermsText } from "../../protocol/network/job-offer.ts";
import type { DisputeChain } from "../proofs/hybrid/dispute-chain.ts";
import type { ProofChain } from "../proofs/proof-chain.ts";
import type { OwnChain } from "./check-offer.ts";
import type { PartOffer } from "./job-desk.ts";

/** A part as the chain has it. */
interface ChainPart {
	/** 0x and lower case. */
	readonly provider: string;
	readonly attempt: number;
	readonly state: "untouched" | "open" | "assigned" | "claimed" | "settled" | "refunded";
}

/** A claim as the contract wants it shown, hex with 0x. */
export interface ClaimShown {
	readonly segmentRoot: Hex;
	readonly resultRoot: Hex;
	readonly first: Hex;
	readonly firstPath: readonly Hex[];
	readonly lastStates: Hex;
	readonly lastPath: readonly Hex[];
	readonly previous: Hex;
}

/** A question in somebody's game against a claim, docs/chain.md §12. Silence convicts. */
interface ChainAsked {
	readonly accuser: Hex;
	/** src/protocol/network/chain-question.ts reads it. */
	readonly question: Hex;
	/** Last second to answer. */
	readonly deadlineS: number;
	/** The chain takes its answer no more. */
	readonly isLate: boolean;
}

export interface ChainReply extends Pick<ChainAsked, "accuser" | "question"> {
	readonly answer: Hex;
}

export interface JobChain extends OwnChain {
	/** For jobs that are paid by proof; absent: it takes none. */
	readonly zk?: ProofChain;
	/** For games that a proof ends; absent: none are. */
	readonly disputes?: DisputeChain;
	/** 130 hex digits: the account works for this provider. */
	readonly consent: string;
	freeBondMicros(): Promise<number>;
	/** How long an answer on chain with a segment's trace may take. */
	traceMs(): Promise<number>;
	/** `isLasting`: as it is deep enough to stay. */
	part(job: string, part: number, isLasting?: boolean): Promise<ChainPart>;
	/**
	 * False: another claim stands for the part before, so that a claim which begins at `start` would not be
	 * taken.
	 */
	isEndOfPartBefore(job: string, part: number, previous: string, start: string): Promise<boolean>;
	/** Locks the bond. Throws CHAIN_REFUSED. */
	assign(terms: EscrowTermsText, assignment: NonNullable<PartOffer["assignment"]>): Promise<void>;
	/** Hands a part back that this account has and has not claimed; frees its bond. */
	release(terms: EscrowTermsText, part: number, attempt: number): Promise<void>;
	claim(terms: EscrowTermsText, part: number, claim: ClaimShown, signatures: readonly string[]): Promise<void>;
	/**
	 * What is asked on chain about one of this account's claims and waits for its answer; `attempt` is the
	 * escrow's.
	 */
	questions(job: string, part: number, attempt: number): Promise<readonly ChainAsked[]>;
	/** In one transaction; the gas that it took. Throws CHAIN_…. */
	answer(job: string, part: number, attempt: number, replies: readonly ChainReply[]): Promise<number>;
	/**
	 * Has the escrow pay this account's claim, where its window has been over for `afterS` seconds on the
	 * chain's clock and nobody else did. False: not yet, or it stands no more.
	 */
	settle(terms: EscrowTermsText, part: number, attempt: number, afterS: number): Promise<boolean>;
	/** Deposits of questions about a claim that is paid: they are the provider's. */
	collectDeposits(job: string, part: number, attempt: number): Promise<void>;
	/** The word of the account on an answer about a claim. */
	signAnswer(claim: Hex, answer: { readonly question: Hex; readonly answerHash: Hex }): Promise<Hex>;
}
