// A fraud file before the chain, docs/chain.md §12: announced in one block, proven in a later one, so that
// whoever copies the proof from the pool earns nothing. Told twice it is done once: the salt follows from the
// file.
import {
	type AccusedCase,
	announcementOf,
	announceProofCall,
	isProofAnnounced,
	proveCall,
	proveTwoWordsCall,
	proveWireCall,
} from "../../../chain/contracts/disputes.ts";
import { type JobTerms, jobIdOf, readJobPart } from "../../../chain/contracts/job-escrow.ts";
import { announcementSalt } from "../../../chain/sending/announce.ts";
import type { Call } from "../../../chain/sending/sign.ts";
import { type Hex, toHex } from "../../../protocol/chain/hex.ts";
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import { elementProof, twoWordsProof } from "../../../verify/optimistic/fraud/fraud-proof.ts";
import { wireProof } from "../../../verify/optimistic/fraud/wire-proof.ts";
import type { ClaimAtHand, EvidenceChain } from "./claim-at-hand.ts";
import { isProvable } from "./signed-file.ts";

/** The transaction that convicts; null for a file that the chain does not judge. */
function proofOf(
	{ contracts }: EvidenceChain,
	at: ClaimAtHand,
	terms: JobTerms,
	salt: Hex,
	file: Uint8Array,
	spoken: readonly Hex[] | null,
) {
	const last = toHex(at.states.at(-1)!);
	const element = elementProof(file);
	if (element !== null) {
		const [traceSignature, ...signatures] = spoken ?? [element.traceSignature, ...element.signatures];
		const accused: AccusedCase = { ...element.accused, terms, last, traceSignature: traceSignature ?? "0x" };
		return proveCall(contracts, salt, accused, { ...element.fault, signatures });
	}
	const wire = wireProof(file);
	if (wire !== null) return proveWireCall(contracts, salt, { ...wire.accused, terms, last }, wire.fault);
	const words = twoWordsProof(file);
	return words && proveTwoWordsCall(contracts, salt, { ...words.accused, terms, last }, words);
}

async function isClaimed({ contracts }: EvidenceChain, at: ClaimAtHand, terms: JobTerms): Promise<boolean> {
	const { state, provider } = await readJobPart(contracts, jobIdOf(terms), at.part);
	return state === "claimed" && provider === at.account?.toLowerCase();
}

/**
 * Null: nothing was sent, since the chain does not judge such a file, or the claim stands no more. Throws
 * CHAIN_….
 */
export async function proveFraud(
	chain: EvidenceChain | null,
	at: ClaimAtHand,
	file: Uint8Array,
	/** What binds its words, where that is not its own signatures: spoken-words.ts. */
	spoken: readonly Hex[] | null = null,
): Promise<{ readonly transaction: Hex } | null> {
	const terms = at.escrow;
	if (chain === null || terms === null || (spoken === null && !isProvable(file))) return null;
	const salt = announcementSalt(chain.secret, toHex(keccak(file)));
	const proof: Call | null = proofOf(chain, at, terms, salt, file, spoken);
	if (proof === null || !(await isClaimed(chain, at, terms))) return null;
	const hash = announcementOf(chain.account, proof, salt);
	if (!(await isProofAnnounced(chain.contracts, hash))) await chain.send(announceProofCall(chain.contracts, hash));
	return { transaction: await chain.send(proof) };
}
