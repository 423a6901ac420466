// Brings proven fraud before the chain: evidence with an element that contradicts its seed, and the provider's own receipt for that challenge (docs/chain.md §5). Once a
// probe, however many of its elements are wrong. Works off the notes of probe-receipts.ts; run by the one process that sends (chain-keeper.ts).
// Nothing is sent that the chain would refuse: gas is estimated first, and a refusal there ends the matter.

import { type Contracts, callOf, read } from "../../chain/contracts/contracts.ts";
import { receiptDigest, slashedIn } from "../../chain/contracts/slashing.ts";
import { type IntentJournal, publish } from "../../chain/sending/publish.ts";
import { refusedBecause } from "../../chain/sending/refusal.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { receiptOf } from "../../protocol/chain/probe-receipt.ts";
import type { FraudNote, ProbeReceipts } from "../receipts/probe-receipts.ts";
import { signedFraud } from "../receipts/signed-fraud.ts";

export interface FraudKeeperOptions {
	readonly contracts: Contracts;
	readonly account: ChainAccount;
	readonly journal: IntentJournal;
	readonly receipts: Pick<ProbeReceipts, "notes" | "get" | "dropNote">;
	readonly evidence: (sha256: string) => Promise<Uint8Array>;
	readonly nowMs: () => number;
	readonly tell: (accused: Accused) => void;
	/** Evidence that is left alone, and why. */
	readonly onLeft: (note: FraudNote, why: string) => void;
}

export interface Accused extends FraudNote {
	readonly account: string;
	readonly challenge: number;
	/** Taken from the stake, and what of it came to us; null when somebody else had brought it before. */
	readonly slashed: { readonly amount: bigint; readonly toAccuser: bigint; readonly transaction: string } | null;
}

/** Refusals by the contract itself: the same proof will not do better later. */
const FINAL = [
	"AlreadyPunished",
	"NothingToSlash",
	"SignatureInvalid",
	"SpecInvalid",
	"RoundsInvalid",
	"ChainMismatch",
	"PlaceInvalid",
	"RootMismatch",
	"ElementRight",
];
const GONE = ["EVIDENCE_MISSING", "EVIDENCE_CORRUPT", "RECEIPTS_BAD"];
/** Between tries after any other failure (no money for gas, a node that is away). */
const RETRY_MS = 60_000;

/**
 * A turn sends one proof at most: it is waited for until it is deep in the chain, and whoever shows many frauds at once must not keep this validator from its epoch's
 * commitments meanwhile.
 */
export function createFraudKeeper(o: FraudKeeperOptions): { turn(): Promise<void> } {
	const { client, addresses } = o.contracts;
	const notBeforeMs = new Map<string, number>();

	/** What became of it; null: it was left alone and `onLeft` told why. */
	async function accuse(note: FraudNote): Promise<Accused | null> {
		const left = (why: string) => {
			o.onLeft(note, why);
			return null;
		};
		const file = await o.receipts.get(note.evidence);
		if (file === null) return left("there are no receipts");
		const { chainId, slashing, provider } = file;
		if (chainId !== addresses.chainId || slashing !== addresses.slashing.toLowerCase())
			return left("its receipts are for another chain");
		const found = await signedFraud(await o.evidence(note.evidence), file);
		if (found === null) return left("no wrong element has a receipt");
		const receipt = receiptOf(provider, file.probeId, found.signed);
		const digest = receiptDigest(file, receipt);
		const sent = await publish(client, o.account, o.journal, {
			id: `accuse/${digest}`,
			isDone: () => read(o.contracts, "slashing", "isPunished", digest),
			call: callOf(o.contracts, "slashing", "proveGemm", receipt, found.signed.signature, found.wrong.fraud),
		});
		const slashed = sent === null ? null : slashedIn(o.contracts, sent);
		return {
			...note,
			account: provider,
			challenge: receipt.challenge,
			slashed: slashed && {
				amount: slashed.amount,
				toAccuser: slashed.toAccuser,
				transaction: sent!.transactionHash,
			},
		};
	}

	return {
		async turn() {
			let trouble: unknown = null;
			for (const note of await o.receipts.notes()) {
				let wasSent = false;
				if ((notBeforeMs.get(note.evidence) ?? 0) > o.nowMs()) continue;
				try {
					const accused = await accuse(note);
					if (accused !== null) o.tell(accused);
					wasSent = accused !== null && accused.slashed !== null;
				} catch (error) {
					const why = refusedBecause(error) ?? "";
					const isGone = error instanceof AssayError && GONE.includes(error.code);
					if (!isGone && !FINAL.includes(why)) {
						notBeforeMs.set(note.evidence, o.nowMs() + RETRY_MS);
						trouble ??= error;
						continue;
					}
					o.onLeft(note, isGone ? "its files are gone or spoilt" : `the chain says ${why}`);
				}
				await o.receipts.dropNote(note.evidence);
				notBeforeMs.delete(note.evidence);
				if (wasSent) break;
			}
			if (trouble !== null) throw trouble;
		},
	};
}
