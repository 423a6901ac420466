// Rounds of drand, a public source of random values that many parties sign together (https://drand.love): is
// this the signature of that round? Checked offline with the network's public key. One scheme: BLS12-381,
// signatures on G1, keys on G2, rounds that do not name one another.
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { hexToBytes } from "../bytes/bytes.ts";
import { sha256Of } from "../hash/tagged-hash.ts";
import type { DrandNetwork, DrandRound } from "./roll-file.ts";

/** drand's network of one round in three seconds. */
export const QUICKNET: DrandNetwork = {
	publicKey:
		"83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d106451" +
		"0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a",
	genesisS: 1_692_803_367,
	periodS: 3,
	scheme: "bls-unchained-g1-rfc9380",
};

const DST = "BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_";
const { shortSignatures: bls } = bls12_381;

/** What is signed: a point for the round's number. */
export function roundPoint(round: number): ReturnType<typeof bls.hash> {
	const number = new Uint8Array(8);
	new DataView(number.buffer).setBigUint64(0, BigInt(round));
	return bls.hash(sha256Of(number), DST);
}

/**
 * A pairing takes 0.1 s, and all answers to a call name the same two rounds: the last ones are remembered.
 */
const remembered = new Map<string, boolean>();
const MOST_REMEMBERED = 64;

export function isDrandRound({ publicKey }: DrandNetwork, { round, signature }: DrandRound): boolean {
	const name = `${publicKey} ${round} ${signature}`;
	const known = remembered.get(name);
	if (known !== undefined) return known;
	const isRight = isSigned(publicKey, round, signature);
	if (remembered.size >= MOST_REMEMBERED) remembered.clear();
	remembered.set(name, isRight);
	return isRight;
}

function isSigned(publicKey: string, round: number, signature: string): boolean {
	try {
		return bls.verify(hexToBytes(signature, 48)!, roundPoint(round), hexToBytes(publicKey, 96)!);
	} catch {
		return false; // the library throws on encodings that are no points
	}
}
