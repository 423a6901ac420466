// Roll calls from drand instead of block hashes, where a network prefers it: nobody who makes blocks has a
// say then (docs/roll-call.md §8). Rounds are asked of a relay by HTTP, which can withhold one but not make
// one up: every round is checked under the network's key.

import { fetchBounded } from "../../platform/bounded-fetch.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import { isDrandRound } from "../../protocol/roll-call/drand.ts";
import { isRollCall } from "../../protocol/roll-call/roll-call.ts";
import {
	type DrandNetwork,
	type DrandRound,
	roundAt,
	roundAtS,
	type StatedBlock,
} from "../../protocol/roll-call/roll-file.ts";
import type { Beacon } from "./block-beacon.ts";

export interface DrandOptions {
	/** A relay with drand's HTTP interface; rounds are below it at /public/N. Null: not configured. */
	readonly url: string | null;
	readonly network: DrandNetwork;
	readonly nowMs: () => number;
	readonly clockUs: () => number;
}

/**
 * Later than this after its time a round was not seen as it came: a call that was missed counts for nobody.
 */
const FRESH_S = 5;
const MOST_BYTES = 4096;
const WITHIN_MS = 5000;
/** The two rounds of a call are named in its files. */
const ROUNDS_KEPT = 1024;

export function createDrandBeacon(
	{ url, network, nowMs, clockUs }: DrandOptions,
	{ every, windowSeconds }: { readonly every: number; readonly windowSeconds: number },
): Beacon {
	if (url === null)
		throw new AssayError("CONFIG_BAD", "this network draws its roll calls from drand, and no relay is named", {
			hint: "Name one with --drand, such as https://api.drand.sh and the hash of the network's chain.",
		});
	const base = url.replace(/\/+$/, "");
	const rounds = new BoundedMap<number, DrandRound>(ROUNDS_KEPT);
	let seen = 0;

	/** Null: the relay does not have it yet. Throws DRAND_WRONG. */
	async function roundOf(round: number): Promise<DrandRound | null> {
		const known = rounds.get(round);
		if (known !== undefined) return known;
		const body = await fetchBounded(new URL(`${base}/public/${round}`), { mostBytes: MOST_BYTES, withinMs: WITHIN_MS });
		if (body === null) return null;
		const found = { round, signature: signatureIn(body) };
		if (!isDrandRound(network, found)) throw new AssayError("DRAND_WRONG", `the relay's round ${round} is not signed`);
		rounds.set(round, found);
		return found;
	}

	const momentOf = ({ round, signature }: DrandRound): StatedBlock => ({
		number: round,
		hash: bytesToHex(sha256Of(hexToBytes(signature, 48)!)),
		atS: roundAtS(network, round),
	});

	return {
		async look() {
			const newest = roundAt(network, Math.floor(nowMs() / 1000) + 1) - 1;
			if (newest <= seen) return null;
			const found = await roundOf(newest);
			if (found === null) return null;
			seen = newest;
			const block = momentOf(found);
			const beta0 = hexToBytes(block.hash, 32)!;
			if (nowMs() / 1000 - block.atS > FRESH_S || !isRollCall(beta0, every)) return null;
			return { call: newest, beta0, atS: block.atS, seenAtUs: clockUs(), block };
		},

		async drawn({ call, atS }) {
			const round = roundAt(network, atS + windowSeconds);
			if (1000 * roundAtS(network, round) > nowMs()) return null;
			const [called, found] = [await roundOf(call), await roundOf(round)];
			if (called === null || found === null) return null;
			const { publicKey, genesisS, periodS, scheme } = network;
			const stated = { kind: "drand", publicKey, genesisS, periodS, scheme, called, drawn: found } as const;
			return { block: momentOf(found), blocks: [], stated };
		},

		stands: async () => true,
		isLate: (committed, { block }) => committed.atS >= block.atS,
	};
}

function signatureIn(body: Buffer): string {
	try {
		const { signature } = JSON.parse(body.toString("utf8")) as { readonly signature?: unknown };
		return typeof signature === "string" && /^[0-9a-f]{96}$/.test(signature) ? signature : "";
	} catch {
		return "";
	}
}
