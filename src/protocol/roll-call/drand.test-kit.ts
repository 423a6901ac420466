// A network of drand with one key, ours.
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { bytesToHex } from "../bytes/bytes.ts";
import { roundPoint } from "./drand.ts";
import type { DrandNetwork, DrandRound } from "./roll-file.ts";

const { shortSignatures: bls } = bls12_381;
const SECRET = new Uint8Array(32).fill(5);

export const TOY_DRAND: DrandNetwork = {
	publicKey: bytesToHex(bls.getPublicKey(SECRET).toBytes()),
	genesisS: 1_800_000_000,
	periodS: 3,
	scheme: "bls-unchained-g1-rfc9380",
};

export const signedRound = (round: number): DrandRound => ({
	round,
	signature: bytesToHex(bls.sign(roundPoint(round), SECRET).toBytes()),
});
