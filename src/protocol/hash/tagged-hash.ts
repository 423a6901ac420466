// H_tag(x) = SHA256(SHA256(tag) ‖ SHA256(tag) ‖ x), docs/hardware-proof.md §1. The doubled tag fills exactly
// one SHA-256 block, so the state after it is computed once a tag and begun with from then on.
import { sha256 } from "@noble/hashes/sha2.js";
import { type Midstate, type Sha256Program, startSha256Program } from "./sha256-program.ts";

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
	| "assay/attest-begin/1"
	| "assay/attest-set/1"
	| "assay/attest-roots/1"
	| "assay/attest-bind/1"
	| "assay/attest-policy/1"
	| "assay/device-key/1";

type Hash = (parts: readonly Uint8Array[]) => Uint8Array;

/** Null: plain JavaScript, which a page's policy cannot forbid. */
let program: Sha256Program | null = null;
const hashes = new Map<Tag, Hash>();

/**
 * From now on by WebAssembly, where that runs. Whoever calls it knows that no policy forbids it: a refusal
 * would be told as a fault of the page.
 */
export function quickenHashes(): void {
	if (program !== null) return;
	program = startSha256Program();
	hashes.clear();
}

function hashOf(tag: Tag): Hash {
	const known = hashes.get(tag);
	if (known !== undefined) return known;
	const hash = program === null ? plainHash(tag) : programHash(program, tag);
	hashes.set(tag, hash);
	return hash;
}

/** Exported for the test that holds the two together. */
export function plainHash(tag: Tag): Hash {
	const digest = sha256(new TextEncoder().encode(tag));
	const midstate = sha256.create().update(digest).update(digest);
	return (parts) => {
		const state = midstate.clone();
		for (const part of parts) state.update(part);
		return state.digest();
	};
}

function programHash(started: Sha256Program, tag: Tag): Hash {
	const digest = sha256(new TextEncoder().encode(tag));
	const block = new Uint8Array(64);
	block.set(digest);
	block.set(digest, 32);
	const midstate: Midstate = started.midstate(block);
	return (parts) => started.hash(parts, midstate);
}

export function tagged(tag: Tag, ...parts: readonly Uint8Array[]): Uint8Array {
	return hashOf(tag)(parts);
}

export function sha256Of(bytes: Uint8Array): Uint8Array {
	return program?.hash([bytes]) ?? sha256(bytes);
}
