// H_tag(x) = SHA256(SHA256(tag) ‖ SHA256(tag) ‖ x), docs/hardware-proof.md §1.
// The doubled tag fills exactly one SHA-256 block, so the state after it is computed once a tag and cloned from then on.
import { sha256 } from "@noble/hashes/sha2.js";

export type Tag =
	| "assay/leaf/1"
	| "assay/node/1"
	| "assay/seed/1"
	| "assay/nonce/1"
	| "assay/chase/1"
	| "assay/challenge/1"
	| "assay/open/1"
	| "assay/sample/1"
	| "assay/evidence/1"
	| "assay/request/1"
	| "assay/report/1"
	| "assay/agent/1"
	| "assay/provider/1"
	| "assay/chain-key/2"
	| "assay/device/1"
	| "assay/stage-nonce/1"
	| "assay/countersign/1"
	| "assay/roll-seed/1"
	| "assay/roll-nonce/1"
	| "assay/roll-answer/1"
	| "assay/roll-open/1"
	| "assay/roll-turn/1"
	| "assay/rental/1"
	| "assay/job-list/1"
	| "assay/job-secret/1"
	| "assay/job-draw/1"
	| "assay/job-pick/1"
	| "assay/job-offer/1"
	| "assay/job-spec/1"
	| "assay/job-terms/1"
	| "assay/job-drawn/1"
	| "assay/collateral/1"
	| "assay/attest-set/1"
	| "assay/attest-roots/1"
	| "assay/attest-bind/1"
	| "assay/device-key/1";

type Sha256 = ReturnType<typeof sha256.create>;

const midstates = new Map<Tag, Sha256>();

function midstate(tag: Tag): Sha256 {
	let state = midstates.get(tag);
	if (state === undefined) {
		const digest = sha256(new TextEncoder().encode(tag));
		state = sha256.create().update(digest).update(digest);
		midstates.set(tag, state);
	}
	return state;
}

export function tagged(tag: Tag, ...parts: readonly Uint8Array[]): Uint8Array {
	const state = midstate(tag).clone();
	for (const part of parts) state.update(part);
	return state.digest();
}

export function sha256Of(bytes: Uint8Array): Uint8Array {
	return sha256(bytes);
}
