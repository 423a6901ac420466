// Brings proven fraud before the chain: evidence with an element that contradicts its seed, and the
// provider's own receipt for that challenge (docs/slashing.md). Once a probe, however many of its elements
// are wrong. Works off the notes of probe-receipts.ts; run by the one process that sends (keeper.ts). Nothing
// is sent that the chain would refuse: gas is estimated first, and a refusal there ends the matter. A proof
// is announced a block before it is shown, so that nobody gains by copying it.
import { callOf, read } from "../../chain/contracts/contracts.ts";
import { deedOf, slashedIn } from "../../chain/contracts/slashing.ts";
import { announce, announcementSalt } from "../../chain/sending/announce.ts";
import { publish } from "../../chain/sending/publish.ts";
import { refusedBecause } from "../../chain/sending/refusal.ts";
import { signCall } from "../../chain/sending/sign.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { receiptOf } from "../../protocol/chain/probe-receipt.ts";
import type { FraudNote, ProbeReceipts } from "../receipts/probe-receipts.ts";
import { signedFraud } from "../receipts/signed-fraud.ts";
import type { EpochGameOptions } from "./game-state.ts";

/** `saltSecret`: of announcements' salts. */
export interface FraudKeeperOptions
	extends Pick<EpochGameOptions, "contracts" | "account" | "journal" | "saltSecret" | "nowMs"> {
	readonly receipts: Pick<ProbeReceipts, "notes" | "get" | "dropNote">;
	readonly evidence: (sha256: string) => Promise<Uint8Array>;
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
	"RoundUnknown",
	"PlaceInvalid",
	"RootMismatch",
	"ElementRight",
];
const GONE = ["EVIDENCE_MISSING", "EVIDENCE_CORRUPT", "RECEIPTS_BAD"];
/** Between tries after any other failure (no money for gas, a node that is away). */
const RETRY_MS = 60_000;

/** ATTACK: many frauds at once must not keep this validator from its commitments: one proof a turn. */
export function createFraudKeeper(options: FraudKeeperOptions) {
	const { receipts, nowMs } = options;
	const notBeforeMs = new Map<string, number>();
	return {
		async turn(): Promise<void> {
			let trouble: unknown = null;
			for (const note of await receipts.notes()) {
				let wasSent = false;
				if ((notBeforeMs.get(note.evidence) ?? 0) > nowMs()) continue;
				try {
					const accused = await accuse(options, note);
					if (accused !== null) options.tell(accused);
					wasSent = accused !== null && accused.slashed !== null;
				} catch (error) {
					const why = refusedBecause(error) ?? "";
					const isGone = error instanceof AssayError && GONE.includes(error.code);
					if (!isGone && !FINAL.includes(why)) {
						notBeforeMs.set(note.evidence, nowMs() + RETRY_MS);
						trouble ??= error;
						continue;
					}
					options.onLeft(note, isGone ? "its files are gone or spoilt" : `the chain says ${why}`);
				}
				await receipts.dropNote(note.evidence);
				notBeforeMs.delete(note.evidence);
				if (wasSent) break;
			}
			if (trouble !== null) throw trouble;
		},
	};
}

/** What became of it; null: it was left alone and `onLeft` told why. */
async function accuse(options: FraudKeeperOptions, note: FraudNote): Promise<Accused | null> {
	const { contracts, account, journal } = options;
	const { client, addresses } = contracts;
	const left = (why: string) => {
		options.onLeft(note, why);
		return null;
	};
	const file = await options.receipts.get(note.evidence);
	if (file === null) return left("there are no receipts");
	const { chainId, slashing, provider } = file;
	if (chainId !== addresses.chainId || slashing !== addresses.slashing.toLowerCase())
		return left("its receipts are for another chain");
	const found = await signedFraud(await options.evidence(note.evidence), file);
	if (found === null) return left("no wrong element has a receipt");
	const { signed, wrong } = found;
	const receipt = receiptOf(provider, file.probeId, signed);
	const deed = deedOf(receipt);
	const secret = options.saltSecret;
	const salt = announcementSalt(secret, deed);
	const call = callOf(contracts, "slashing", "proveGemm", receipt, signed.signature, wrong.fraud, salt);
	const isDone = () => read(contracts, "slashing", "isPunished", provider, receipt.probeId);
	const id = `accuse/${deed}`;
	// An earlier process may have sent the proof: then it was announced.
	if ((await journal.get(id)) === null && !(await isDone())) {
		// What the contract would refuse is not announced either.
		await signCall(client, account, call);
		await announce(contracts, account, journal, { judge: "slashing", deed, secret });
	}
	const sent = await publish(client, account, journal, { id, isDone, call });
	const taken = sent === null ? null : slashedIn(contracts, sent);
	const { challenge } = receipt;
	if (sent === null || taken === null) return { ...note, account: provider, challenge, slashed: null };
	const { amount, toAccuser } = taken;
	const transaction = sent.transactionHash;
	return { ...note, account: provider, challenge, slashed: { amount, toAccuser, transaction } };
}
