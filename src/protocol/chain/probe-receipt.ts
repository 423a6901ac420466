// A provider's receipt for one gemm challenge of a probe, docs/slashing.md: what was asked and the root of a
// tree over every seed and every root of the answer. With the provider's signature the chain can punish a
// wrong element. The shapes and the file that keeps a probe's receipts; the EIP-712 signature is made and
// checked in src/chain/contracts/slashing.ts.
import { AssayError } from "../assay-error.ts";
import { concatBytes } from "../bytes/bytes.ts";
import { hex, int, list, object, oneOf, type Shape, type Typed, type TypedFields } from "../bytes/shape.ts";
import { type KeccakTree, keccakLeaf, keccakTree } from "../hash/keccak-tree.ts";
import { GEMM_PRECISIONS, PRECISION_NUMBER } from "../maths/precision.ts";
import { nextSeed } from "../probe/challenge-seed.ts";
import { type GemmSpec, MAX_CHALLENGES } from "../probe/evidence.ts";
import { type Hex, toHex } from "./hex.ts";

const U32 = 0xffff_ffff;
const prefixed = (bytes: number): Shape<Hex> => {
	const digits = hex(bytes);
	return (value, where) =>
		typeof value === "string" && value.startsWith("0x") && digits(value.slice(2), where) === null
			? null
			: { where, detail: `must be 0x and ${2 * bytes} lower-case hex digits` };
};
const challenge = int(0, MAX_CHALLENGES - 1);

const facts = {
	/** Its place in the evidence's list; on the wire its session is one more. */
	challenge,
	/** A number of PRECISION_NUMBER. */
	precision: int(0, GEMM_PRECISIONS.length - 1),
	m: int(0, U32),
	n: int(0, U32),
	k: int(0, U32),
	/** Roots that came. */
	rounds: int(0, U32),
	/** Root of roundTree. */
	tree: prefixed(32),
};
/** Everything of a receipt that follows from the challenge and its answer. */
export interface ReceiptFacts extends TypedFields<typeof facts> {}

/** As the contract has it. */
export interface ProbeReceipt extends ReceiptFacts {
	/** The provider's account. */
	readonly provider: Hex;
	readonly probeId: Hex;
}

const signedFacts = object({ ...facts, signature: prefixed(65) });
export interface SignedFacts extends Typed<typeof signedFacts> {}

const domain = { chainId: int(1), slashing: prefixed(20) };
/** For which contract on which chain a receipt is signed; it means nothing elsewhere. */
export interface ReceiptDomain extends TypedFields<typeof domain> {}

/**
 * Why a committed challenge has no receipt: no answer, left out of the answer, or a signature that is not the
 * account's over these facts.
 */
const missingWhy = oneOf("silent", "refused", "wrong");
export type MissingWhy = Typed<typeof missingWhy>;

const fileShape = object({
	format: oneOf("assay-receipts"),
	version: oneOf(2),
	/** SHA-256 of the evidence file. */
	evidence: hex(32),
	probeId: hex(16),
	...domain,
	provider: prefixed(20),
	receipts: list(signedFacts as Shape<SignedFacts>, MAX_CHALLENGES),
	missing: list(object({ challenge, why: missingWhy }), MAX_CHALLENGES),
});
/** The receipts of one probe, beside its evidence file: public, so that anyone can bring the proof. */
export interface ReceiptFile extends Typed<typeof fileShape> {}

/** A probe's id has 16 bytes, the contract's word 32: zeros follow. */
const probeIdWord = (probeId: string): Hex => `0x${probeId}${"0".repeat(32)}`;

export function receiptOf(provider: Hex, probeId: string, facts: ReceiptFacts): ProbeReceipt {
	const { challenge, precision, m, n, k, rounds, tree } = facts;
	return { provider, probeId: probeIdWord(probeId), challenge, precision, m, n, k, rounds, tree };
}

/** Leaf of one round: what was asked and what came. */
export const roundLeaf = (seed: Uint8Array, root: Uint8Array): Uint8Array => keccakLeaf(concatBytes(seed, root));

/**
 * Over every round, each with the seed that follows from the one before: fraud in any of them is one path.
 */
export function roundTree(seed: Uint8Array, roots: readonly Uint8Array[]): KeccakTree {
	let next = seed;
	return keccakTree(
		roots.map((root) => {
			const leaf = roundLeaf(next, root);
			next = nextSeed(next, root);
			return leaf;
		}),
	);
}

/** What a receipt for these roots must say. */
export function factsOfGemm(
	challenge: number,
	spec: Pick<GemmSpec, "precision" | "m" | "n" | "k">,
	seed: Uint8Array,
	roots: readonly Uint8Array[],
): ReceiptFacts {
	const { m, n, k } = spec;
	const tree = toHex(roundTree(seed, roots).root);
	return { challenge, precision: PRECISION_NUMBER[spec.precision], m, n, k, rounds: roots.length, tree };
}

/** Throws AssayError RECEIPTS_BAD. Whether the signatures are right is not looked at here. */
export function parseReceiptFile(json: string): ReceiptFile {
	const bad = (detail: string) =>
		new AssayError("RECEIPTS_BAD", `this is no file of receipts: ${detail}`, {
			hint: "Ask a validator for /v1/probes/PROBE/receipts.",
		});
	let value: unknown;
	try {
		value = JSON.parse(json);
	} catch {
		throw bad("not JSON");
	}
	const fault = fileShape(value, "");
	if (fault !== null) throw bad(`${fault.where} ${fault.detail}`);
	return value as ReceiptFile;
}
