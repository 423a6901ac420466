// The provider's word on the stages of one probe, as the probe asks for it: after a stage's roots and before
// its openings. A word that is not right counts as none; then the probe ends, and nothing is opened. Rules:
// src/protocol/probe/countersign.ts.
import type { Countersigner } from "../../engine/links/link.ts";
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { endOfRun, type StageOf, wrongInWord } from "../../protocol/probe/countersign.ts";
import type { Countersign } from "../../protocol/probe/evidence.ts";

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
