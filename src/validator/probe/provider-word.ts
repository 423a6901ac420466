// The provider's word on the stages of one probe, as the probe asks for it: after a stage's roots and before
// its openings. A word that is not right counts as none; then the probe ends, and nothing is opened. Rules:
// src/protocol/probe/countersign.ts.
import type { Countersigner } from "../../engine/links/link.ts";
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { endOfRun, type StageOf, wrongInWord } from "../../protocol/probe/countersign.ts";
import type { ChallengeSpec, Countersign, GemmSpec } from "../../protocol/probe/evidence.ts";

interface StageRun {
	readonly first: Uint8Array;
	readonly roots: readonly Uint8Array[];
	readonly tookUs: number;
}
export type StageReceipts = readonly { readonly challenge: number; readonly signature: string }[];

export interface ProviderWord {
	/** As the evidence has it. */
	readonly countersign: Countersign;
	/**
	 * The nonce of the newest stage; null: no word, or a wrong one. Receipts come as the provider gave them.
	 */
	ask(
		runs: readonly StageRun[],
		challenges: readonly number[],
	): Promise<{ readonly nonce: Uint8Array | null; readonly receipts: StageReceipts | null }>;
}

export function createProviderWord(countersigner: Countersigner, probe: Omit<StageOf, "stage">): ProviderWord {
	const { key, commitment } = countersigner;
	const stages: Countersign["stages"][number][] = [];
	let previous = hexToBytes(commitment, 32)!;
	return {
		countersign: { key, commitment, stages },
		async ask(runs, challenges) {
			const stage = stages.length;
			const firsts = runs.map(({ first }) => bytesToHex(first));
			const answer = await countersigner.sign({ stage, runs: firsts, challenges });
			const receipts = answer?.receipts ?? null;
			const word = answer?.word ?? null;
			const ended = runs.map(({ first, roots, tookUs }) => ({ end: endOfRun(first, roots), tookUs }));
			if (word === null || wrongInWord(word, { key, previous, of: { ...probe, stage }, runs: ended }) !== null)
				return { nonce: null, receipts };
			stages.push(word);
			previous = hexToBytes(word.nonce, 32)!;
			return { nonce: previous, receipts };
		},
	};
}

/** A challenge whose roots are all there; nothing of it has been opened. */
interface Committed<Spec> {
	readonly challenge: number;
	readonly spec: Spec;
	readonly seed: Uint8Array;
	readonly roots: readonly Uint8Array[];
}
export type CommittedRun = Committed<ChallengeSpec> & { readonly tookUs: number };
export type CommittedGemm = Committed<GemmSpec>;

/**
 * Told of a stage's gemms after all their roots, before any place to open is, with the host's receipts; null:
 * it gave no answer.
 */
export type OnCommitted = (committed: readonly CommittedGemm[], receipts: StageReceipts | null) => void;

/**
 * The provider's nonce for a stage, null where it gives none at all; "none" when it owed one: then nothing is
 * opened.
 */
export async function askWord(
	word: ProviderWord | null,
	onCommitted: OnCommitted | undefined,
	committed: readonly CommittedRun[],
): Promise<Uint8Array | null | "none"> {
	if (committed.length === 0) return null;
	const isGemm = (one: CommittedRun): one is CommittedRun & CommittedGemm => one.spec.kind === "gemm";
	const gemms = onCommitted === undefined ? [] : committed.filter(isGemm);
	if (word === null) {
		onCommitted?.(gemms, null);
		return null;
	}
	const runs = committed.map(({ seed, roots, tookUs }) => ({ first: seed, roots, tookUs }));
	const asked = gemms.map(({ challenge }) => challenge);
	const { nonce, receipts } = await word.ask(runs, asked);
	onCommitted?.(gemms, receipts);
	return nonce ?? "none";
}
