// A provider's receipt for one gemm challenge of a probe, docs/chain.md §5: what was asked and the one hash that binds every seed and every root of the answer.
// With the provider's signature the chain can punish a wrong element. The shapes and the file that keeps a probe's receipts; the EIP-712 signature is
// made and checked in src/chain/contracts/slashing.ts.
import { AssayError } from "../assay-error.ts";
import { bytesToHex } from "../bytes/bytes.ts";
import { hex, int, list, object, oneOf, type Shape } from "../bytes/shape.ts";
import { PRECISION_NUMBER } from "../maths/precision.ts";
import { nextSeed } from "../probe/challenge-seed.ts";
import type { GemmSpec } from "../probe/evidence.ts";
import { MAX_CHALLENGES } from "../probe/evidence-shape.ts";

export type Hex = `0x${string}`;

/** Everything of a receipt that follows from the challenge and its answer. */
export interface ReceiptFacts {
	/** Its place in the evidence's list; on the wire its session is one more. */
	readonly challenge: number;
	/** 0 int8, 1 fp8, 2 fp16, 3 bf16, 4 tf32. */
	readonly precision: number;
	readonly m: number;
	readonly n: number;
	readonly k: number;
	/** Roots that came. */
	readonly rounds: number;
	readonly seed: Hex;
	/** The seed that would follow the last round. */
	readonly end: Hex;
}

/** As the contract has it. */
export interface ProbeReceipt extends ReceiptFacts {
	/** The provider's account. */
	readonly provider: Hex;
	readonly probeId: Hex;
}

export interface SignedFacts extends ReceiptFacts {
	/** 65 bytes. */
	readonly signature: Hex;
}

/** For which contract on which chain a receipt is signed; it means nothing elsewhere. */
export interface ReceiptDomain {
	readonly chainId: number;
	readonly slashing: Hex;
}

/** Why a committed challenge has no receipt: nobody answered, the answer left it out, or the signature is not the account's over these facts. */
export type MissingWhy = "silent" | "refused" | "wrong";

/** The receipts of one probe, beside its evidence file: public, so that anyone can bring the proof. */
export interface ReceiptFile extends ReceiptDomain {
	readonly format: "assay-receipts";
	readonly version: 1;
	/** SHA-256 of the evidence file, 64 hex digits. */
	readonly evidence: string;
	/** 32 hex digits. */
	readonly probeId: string;
	readonly provider: Hex;
	readonly receipts: readonly SignedFacts[];
	readonly missing: readonly { readonly challenge: number; readonly why: MissingWhy }[];
}

/** A probe's id has 16 bytes, the contract's word 32: zeros follow. */
const probeIdWord = (probeId: string): Hex => `0x${probeId}${"0".repeat(32)}`;

export function receiptOf(provider: Hex, probeId: string, facts: ReceiptFacts): ProbeReceipt {
	const { challenge, precision, m, n, k, rounds, seed, end } = facts;
	return { provider, probeId: probeIdWord(probeId), challenge, precision, m, n, k, rounds, seed, end };
}

/** What a receipt for these roots must say. */
export function factsOfGemm(
	challenge: number,
	spec: Pick<GemmSpec, "precision" | "m" | "n" | "k">,
	seed: Uint8Array,
	roots: readonly Uint8Array[],
): ReceiptFacts {
	const { m, n, k } = spec;
	const end = roots.reduce(nextSeed, seed);
	return {
		challenge,
		precision: PRECISION_NUMBER[spec.precision],
		m,
		n,
		k,
		rounds: roots.length,
		seed: `0x${bytesToHex(seed)}`,
		end: `0x${bytesToHex(end)}`,
	};
}

const U32 = 0xffff_ffff;
const prefixed = (bytes: number): Shape => {
	const digits = hex(bytes);
	return (value, where) =>
		typeof value === "string" && value.startsWith("0x") && digits(value.slice(2), where) === null
			? null
			: { where, detail: `must be 0x and ${2 * bytes} lower-case hex digits` };
};
const challenge = int(0, MAX_CHALLENGES - 1);
const fileShape = object({
	format: oneOf("assay-receipts"),
	version: oneOf(1),
	evidence: hex(32),
	probeId: hex(16),
	chainId: int(1),
	slashing: prefixed(20),
	provider: prefixed(20),
	receipts: list(
		object({
			challenge,
			precision: int(0, 4),
			m: int(0, U32),
			n: int(0, U32),
			k: int(0, U32),
			rounds: int(0, U32),
			seed: prefixed(32),
			end: prefixed(32),
			signature: prefixed(65),
		}),
		MAX_CHALLENGES,
	),
	missing: list(object({ challenge, why: oneOf("silent", "refused", "wrong") }), MAX_CHALLENGES),
});

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
