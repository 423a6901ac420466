// The evidence file of a probe, docs/hardware-proof.md §8, in the container of container.ts. Every byte is
// signed, hashed by something signed, or fixed. Whether the signature is right and the content true is for
// verify/hardware.
import { bytesToHex, utf8ToBytes } from "../bytes/bytes.ts";
import { encodeCanonicalJson } from "../bytes/canonical-json.ts";
import { tagged } from "../hash/tagged-hash.ts";
import { type AttachmentEntry, type DecodeResult, decodeContainer, encodeContainer, entriesOf } from "./container.ts";
import {
	type ChallengeRecord,
	type ChallengeSpec,
	type End,
	type Envelope,
	type Evidence,
	type EvidenceBody,
	envelopeShape,
	type OpenedWhat,
} from "./evidence.ts";
import { encodeOpenings, encodeRoots, type OpeningRecord, type RootRecord } from "./records.ts";
import type { Signer } from "./signer.ts";

/** One challenge as the probe holds it in memory. */
export interface AnsweredChallenge {
	readonly spec: ChallengeSpec;
	readonly stage: number;
	readonly attempt: number;
	readonly sentAtUs: number;
	readonly roots: readonly RootRecord[];
	readonly end: End;
	readonly opens: readonly {
		readonly what: OpenedWhat;
		readonly sentAtUs: number;
		readonly receivedAtUs: number;
		readonly records: readonly OpeningRecord[];
		readonly end: End;
	}[];
}

/**
 * Numbers the attachments in the one order that a file may have: for each challenge its roots, then its
 * opens.
 */
export function packChallenges(answered: readonly AnsweredChallenge[]): {
	challenges: ChallengeRecord[];
	attachments: Uint8Array[];
} {
	const attachments: Uint8Array[] = [];
	const challenges = answered.map(({ spec, stage, attempt, sentAtUs, roots, end, opens }): ChallengeRecord => {
		const rootsAt = attachments.push(encodeRoots(roots)) - 1;
		return {
			spec,
			stage,
			attempt,
			sentAtUs,
			roots: rootsAt,
			end,
			opens: opens.map((open) => ({
				what: open.what,
				sentAtUs: open.sentAtUs,
				receivedAtUs: open.receivedAtUs,
				attachment: attachments.push(encodeOpenings(open.records)) - 1,
				end: open.end,
			})),
		};
	});
	return { challenges, attachments };
}

/** What the verifier signs. */
export function signedHash(attachments: readonly AttachmentEntry[], body: EvidenceBody): Uint8Array {
	return tagged("assay/evidence/1", utf8ToBytes(encodeCanonicalJson({ attachments, body })));
}

/** The whole file, signed. Throws on values that canonical JSON cannot say: they would be our own mistake. */
export function encodeEvidence(body: EvidenceBody, attachments: readonly Uint8Array[], signer: Signer): Uint8Array {
	const entries = entriesOf(attachments);
	const signature = { key: signer.key, value: bytesToHex(signer.sign(signedHash(entries, body))) };
	return writeFile({ attachments: entries, body, signature }, attachments);
}

/** The container alone, around an envelope that is already signed. */
export const writeFile = (envelope: Envelope, attachments: readonly Uint8Array[]): Uint8Array =>
	encodeContainer(envelope, attachments);

export const decodeEvidence = (file: Uint8Array): DecodeResult<Evidence> => decodeContainer(file, envelopeShape);
