// Who works, who audits, and what is run again: drawn so that everybody can draw it once more, docs/jobs.md
// §10. The list of who may be drawn is hashed and published first; the seed then holds a secret that the
// validator committed to before, and a block that came after. Whoever could choose one of them did not know
// the others. Without a chain the block is 32 zeros: then the secret alone stands, and the record says so.
// Pure.
import { bytesToHex, concatBytes, hexToBytes, u32, writeU32 } from "../../protocol/bytes/bytes.ts";
import { tagged } from "../../protocol/hash/tagged-hash.ts";

/** One that may be drawn, with what its reputation gives it: 1,000,000 is plain. */
export interface Candidate {
	/** 64 hex digits. */
	readonly provider: string;
	readonly weightPpm: number;
}

/**
 * What is being drawn for. `attempt` begins at 1; `role` 0 draws the provider, 1 auditors, 2 the windows that
 * are run again.
 */
export interface DrawFor {
	/** 64 hex digits. */
	readonly job: string;
	readonly part: number;
	readonly attempt: number;
	readonly role: 0 | 1 | 2;
}

export const NO_BLOCK = "0".repeat(64);

const bytes32 = (hex: string): Uint8Array => {
	const bytes = hexToBytes(hex, 32);
	if (bytes === null) throw new RangeError("a draw takes names and hashes of 64 hex digits");
	return bytes;
};

/** What a validator publishes before the epoch whose draws it decides. */
export const secretCommitment = (secret: string): string => bytesToHex(tagged("assay/job-secret/1", bytes32(secret)));

export function listHash(list: readonly Candidate[]): string {
	// Lists have thousands, and each job has two.
	const leaves = new Uint8Array(36 * list.length);
	for (const [i, { provider, weightPpm }] of list.entries()) {
		leaves.set(bytes32(provider), 36 * i);
		writeU32(leaves, 36 * i + 32, weightPpm);
	}
	return bytesToHex(tagged("assay/job-list/1", u32(list.length), leaves));
}

export function drawSeed(of: DrawFor, list: string, secret: string, block: string): Uint8Array {
	const place = concatBytes(bytes32(of.job), u32(of.part), u32(of.attempt), u32(of.role));
	return tagged("assay/job-draw/1", place, bytes32(list), bytes32(secret), bytes32(block));
}

/**
 * A number below `most`, of 64 bits of the seed: for every `most` below 2³¹ each has its share to one part in
 * 2³³.
 */
function below(seed: Uint8Array, turn: number, most: number): number {
	const word = tagged("assay/job-pick/1", seed, u32(turn)).subarray(0, 8);
	return Number(word.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n) % BigInt(most));
}

/** Without replacement, by weight; fewer where the list is shorter. */
export function drawFrom(list: readonly Candidate[], seed: Uint8Array, count: number): string[] {
	// Lists have thousands: what is left is a weight that is not 0, and no list is made anew.
	const weights = Float64Array.from(list, ({ weightPpm }) => weightPpm);
	let all = weights.reduce((sum, weight) => sum + weight, 0);
	const drawn: string[] = [];
	while (drawn.length < Math.min(count, list.length)) {
		let at = below(seed, drawn.length, all);
		let i = 0;
		while (at >= weights[i]!) at -= weights[i++]!;
		drawn.push(list[i]!.provider);
		all -= weights[i]!;
		weights[i] = 0;
	}
	return drawn;
}

/** Whether a claim is one of those that are run again by chance. The turn is one that no window has. */
export const isAuditedByChance = (seed: Uint8Array, chancePpm: number): boolean =>
	below(seed, 0xffff_ffff, 1_000_000) < chancePpm;

/** Segments `first`…`first + count − 1` of a part. */
export interface Window {
	readonly first: number;
	readonly count: number;
}

/**
 * Windows of a part that are run again: the first, the last, and `count` others, drawn after the claim. So
 * who skips a share f of the others is found with at least 1 − (1 − f)^count. `perWindow`: segments from one
 * kept state to the next.
 *
 * ATTACK: the chain tells everybody the last state of a claim. Whoever is given the state before a last
 * window of one segment would have nothing to run: so that one is run with the window before it.
 */
export function drawWindows(seed: Uint8Array, segments: number, perWindow: number, count: number): Window[] {
	const all = Math.ceil(segments / perWindow);
	const isLastShort = all > 1 && segments - (all - 1) * perWindow === 1;
	const windows = isLastShort ? all - 1 : all;
	const chosen = new Set([0, windows - 1]);
	const middle = Array.from({ length: Math.max(0, windows - 2) }, (_, i) => i + 1);
	for (let turn = 0; turn < count && middle.length > 0; turn++)
		chosen.add(middle.splice(below(seed, turn, middle.length), 1)[0]!);
	return [...chosen]
		.sort((a, b) => a - b)
		.map((i) => i * perWindow)
		.map((first, at, { length }) => ({ first, count: at === length - 1 ? segments - first : perWindow }));
}
