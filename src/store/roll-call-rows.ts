// Shapes and columns of the tables of roll calls.
import type { Figure } from "../protocol/probe/evidence.ts";
import type { RollAnswer, RollCallId } from "../protocol/roll-call/roll-call.ts";
import { address, integer } from "./check-input.ts";

/**
 * `opening`: in the tree of a call that is committed to, and not opened yet. `uncalled`: the provider answers
 * no calls, as its owner wants; for its score that is as if it were absent.
 */
export const ROLL_ANSWER_STATES = ["opening", "answered", "late", "absent", "wrong", "excused", "uncalled"] as const;
export type RollAnswerState = (typeof ROLL_ANSWER_STATES)[number];
type RollCallState = "open" | "committed" | "done" | "void";

export interface RollCallRow extends RollCallId {
	/** Hex. */
	readonly beta0: string;
	readonly state: RollCallState;
	/** Why it is void; null otherwise. */
	readonly code: string | null;
	/** When this validator saw the block. */
	readonly calledAtMs: number;
	readonly deadlineMs: number;
	/** Seconds of the blocks' own times. */
	readonly b0AtS: number;
	readonly b1: number | null;
	readonly b1AtS: number | null;
	readonly b2: number | null;
	readonly b2AtS: number | null;
	readonly beta2: string | null;
	readonly root: string | null;
	/** How many the tree has. */
	readonly leaves: number | null;
	readonly transaction: string | null;
	readonly endedAtMs: number | null;
	/**
	 * Hosts and devices that answered in time and right, with their work and what they held. In 10⁹ and 10⁶: a
	 * large network passes 2⁵³.
	 */
	readonly hosts: number;
	readonly devices: number;
	readonly gigaOps: number;
	readonly megaBytes: number;
	/** Hosts that were to answer, whether they did or not; excused and uncalled ones are left out. */
	readonly counted: number;
}

/** What a host said, as the tree has it. */
export interface KeptReply {
	/** 0x and 40 hex digits. */
	readonly account: string;
	readonly answers: readonly RollAnswer[];
	readonly signature: string;
	readonly accountSignatures: readonly string[] | null;
}

export interface RollAnswerRow {
	readonly providerId: string;
	readonly state: RollAnswerState;
	readonly code: string | null;
	/** Of one that was excused because it was rented through the escrow; null otherwise. */
	readonly paidPpm: number | null;
	readonly ms: number | null;
	readonly leaf: number | null;
	readonly reply: KeptReply | null;
	/** One public file a device. */
	readonly files: readonly { readonly device: number; readonly sha256: string; readonly bytes: number }[];
	readonly megaOps: number;
	readonly bytes: number;
}

/** A host that a call expects to answer, with what it has proven. */
export interface RollCallHost {
	readonly id: string;
	/** The process that holds its link; null: none does. */
	readonly connectedTo: string | null;
	readonly rentalId: string | null;
	/** A probe of this validator runs there. */
	readonly isProbed: boolean;
	/** It has answered no call yet, and none has counted for it since its proof. */
	readonly isNew: boolean;
	/** It has said, since it dialled in, that it answers no calls. */
	readonly isUncalled: boolean;
	/** When the proof behind the figures was made. */
	readonly provenAtMs: number;
	readonly devices: readonly { readonly device: number; readonly kind: "gpu" | "cpu" | "disk" }[];
	readonly figures: readonly Figure[];
	readonly evidence: string;
}

export const ID = "chain_id, contract, call";
export const ROW = `${ID}, beta0, state, code, called_at_ms, deadline_ms, b0_at_s, b1, b1_at_s, b2, b2_at_s, beta2, root, leaves, transaction,
	ended_at_ms, hosts, devices, giga_ops, mega_bytes, counted`;
export const ANSWER = "provider_id, state, code, paid_ppm, ms, leaf, reply, files, mega_ops, bytes";
export const keyOf = ({ chainId, contract, call }: RollCallId) =>
	[integer("a chain's id", chainId), address(contract), integer("a call", call)] as const;
