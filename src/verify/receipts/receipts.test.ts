// Receipts of zkVMs: the vendors' constants fit each other, our own Groth16 proofs under our own keys, and
// every case over real receipts, also changed ones.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { bn254 } from "@noble/curves/bn254.js";
import { fc, scaled } from "../../../tests/fuzz.test-kit.ts";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { bytesOf, type G1, type G2, g1Of, g2Of, R } from "../../protocol/maths/bn254.ts";
import { HERMEZ_CEREMONY } from "../../protocol/maths/hermez.ts";
import { verifyGroth16 } from "./groth16.ts";
import { structDigest } from "./risc0.ts";
import { RISC0_KEY, RISC0_RELEASES } from "./risc0-releases.ts";
import { SP1_GROTH16 } from "./sp1-groth16-keys.ts";
import { IGNITION, SP1_PLONK } from "./sp1-plonk-keys.ts";
import { verifyReceipt } from "./verify-receipt.ts";

const beside = fileURLToPath(new URL("../../../../shared", import.meta.url));
const CASES = join(process.env.ASSAY_SHARED ?? beside, "zkvm-receipts/cases.json");
const missing = existsSync(CASES) ? false : `real receipts are not at ${CASES}; our own proofs run without them`;

interface RealCase {
	readonly id: string;
	readonly system: string;
	readonly expect: { readonly status: string; readonly code?: string };
	readonly [member: string]: unknown;
}
const realCases = (): readonly RealCase[] => (missing === false ? JSON.parse(readFileSync(CASES, "utf8")) : []);
const fileOf = ({ expect: _, id: __, ...members }: RealCase) => utf8ToBytes(JSON.stringify(members));

describe("the vendors' constants", () => {
	test("RISC Zero's key is of Hermez's ceremony, as ours will be", () =>
		assert.deepEqual(RISC0_KEY.slice(0, 6), [...HERMEZ_CEREMONY]));
	const words = (key: readonly string[]) => key.map((word) => BigInt(`0x${word}`));
	const areOnes = (list: readonly bigint[]) => {
		for (let i = 0; i < list.length; i += 2) assert.equal(typeof g1Of(list[i]!, list[i + 1]!), "object");
	};
	const areTwos = (list: readonly bigint[]) => {
		for (let i = 0; i < list.length; i += 4)
			assert.equal(typeof g2Of(list[i]!, list[i + 1]!, list[i + 2]!, list[i + 3]!), "object");
	};

	test("all points of all keys are on their curves and in their subgroups", () => {
		for (const key of [RISC0_KEY, ...SP1_GROTH16.map((one) => one.key)]) {
			const list = words(key);
			areOnes([...list.slice(0, 2), ...list.slice(14)]);
			areTwos(list.slice(2, 14));
		}
		for (const { key } of SP1_PLONK) areOnes(words(key));
		areTwos(words(IGNITION).slice(0, 4));
		areOnes(words(IGNITION).slice(4));
	});

	test("every selector of RISC Zero follows from its control root, its control id and the key's digest", () => {
		const keyDigest = hexToBytes("21c5fdd9b4d576b17581f50b755482ba7a2134a3b5186e8e454acfa1f69511ab", 32)!;
		for (const [selector, { controlRoot, controlId }] of Object.entries(RISC0_RELEASES)) {
			const below = [hexToBytes(controlRoot, 32)!, hexToBytes(controlId, 32)!.toReversed(), keyDigest];
			const digest = structDigest("risc0.Groth16ReceiptVerifierParameters", below);
			assert.equal(bytesToHex(digest.subarray(0, 4)), selector);
		}
	});
});

describe("Groth16 under a key of our own", () => {
	const { G1: One, G2: Two } = bn254;
	const ones = (point: G1): bigint[] => [point.toAffine().x, point.toAffine().y];
	const twos = (point: G2): bigint[] => {
		const { x, y } = point.toAffine();
		return [x.c1, x.c0, y.c1, y.c0];
	};
	const hex = (value: bigint) => bytesToHex(bytesOf(value));
	const inverse = (value: bigint) => bn254.fields.Fr.inv(value);
	const [alpha, beta, gamma, delta] = [3n, 5n, 7n, 11n] as const;
	const IC = [13n, 17n, 19n] as const;
	const KEY = [
		...ones(One.Point.BASE.multiply(alpha)),
		...[beta, gamma, delta].flatMap((one) => twos(Two.Point.BASE.multiply(one))),
		...IC.flatMap((one) => ones(One.Point.BASE.multiply(one))),
	].map(hex);
	/** Whoever knows the key's secrets proves anything: that is how these are made. */
	function proofOf(inputs: readonly bigint[], [a, b]: readonly [bigint, bigint] = [23n, 29n]): Uint8Array {
		const sum = IC[0] + IC[1] * inputs[0]! + IC[2] * inputs[1]!;
		const c = ((((a * b - alpha * beta - sum * gamma) % R) + R) * inverse(delta)) % R;
		const words = [
			...ones(One.Point.BASE.multiply(a)),
			...twos(Two.Point.BASE.multiply(b)),
			...ones(One.Point.BASE.multiply(c)),
		];
		return concatBytes(...words.map(bytesOf));
	}
	const INPUTS = [31n, R - 1n];

	test("a true proof is true, also anew; for other inputs it is false", () => {
		assert.equal(verifyGroth16(KEY, proofOf(INPUTS), INPUTS), "true");
		assert.equal(verifyGroth16(KEY, proofOf(INPUTS, [37n, 41n]), INPUTS), "true");
		assert.equal(verifyGroth16(KEY, proofOf(INPUTS), [31n, R - 2n]), "false");
		assert.equal(verifyGroth16(KEY, proofOf(INPUTS), [32n, R - 1n]), "false");
	});

	test("an input that is not below the order is refused: it would be another spelling of one that is", () => {
		assert.equal(verifyGroth16(KEY, proofOf(INPUTS), [31n + R, R - 1n]), "spelling");
		assert.equal(verifyGroth16(KEY, proofOf(INPUTS), [31n, -1n]), "spelling");
	});

	test("points elsewhere, at infinity, spelt twice or in no subgroup are refused", () => {
		const proof = proofOf(INPUTS);
		const withWord = (at: number, value: bigint) => {
			const changed = proof.slice();
			changed.set(bytesOf(value), 32 * at);
			return changed;
		};
		const wordAt = (at: number) => BigInt(`0x${bytesToHex(proof.subarray(32 * at, 32 * at + 32))}`);
		for (let at = 0; at < 8; at++) {
			const plus = wordAt(at) + bn254.fields.Fp.ORDER;
			if (plus < 2n ** 256n) assert.equal(verifyGroth16(KEY, withWord(at, plus), INPUTS), "spelling");
			assert.equal(verifyGroth16(KEY, withWord(at, wordAt(at) ^ 1n), INPUTS), "nowhere");
		}
		assert.equal(verifyGroth16(KEY, new Uint8Array(256), INPUTS), "nowhere");
		assert.equal(verifyGroth16(KEY, proof.subarray(32), INPUTS), "spelling");
		assert.equal(verifyGroth16(KEY, concatBytes(proof, new Uint8Array(32)), INPUTS), "spelling");
		// On the twist, but not in the subgroup: x = 1 has a root there.
		const { Fp2 } = bn254.fields;
		const b = Fp2.div(Fp2.create({ c0: 3n, c1: 0n }), Fp2.create({ c0: 9n, c1: 1n }));
		let stray: readonly bigint[] | null = null;
		for (let x = 1n; stray === null; x++) {
			const at = Fp2.create({ c0: x, c1: 0n });
			try {
				const y = Fp2.sqrt(Fp2.add(Fp2.mul(Fp2.sqr(at), at), b));
				stray = [0n, x, y.c1, y.c0];
			} catch {
				// No point has this x.
			}
		}
		const changed = proof.slice();
		changed.set(concatBytes(...stray.map(bytesOf)), 64);
		assert.equal(verifyGroth16(KEY, changed, INPUTS), "nowhere");
	});
});

describe("real receipts", { skip: missing }, () => {
	for (const one of realCases())
		test(one.id, () => {
			const verdict = verifyReceipt(fileOf(one));
			assert.deepEqual(
				[verdict.status, verdict.status === "invalid" ? verdict.code : undefined],
				[...[one.expect.status, one.expect.code]],
			);
		});

	test("retired releases are found, current ones are not", () => {
		const found = (id: string) => {
			const verdict = verifyReceipt(fileOf(realCases().find((one) => one.id === id)!));
			return verdict.status === "valid" ? verdict.findings.map(({ code }) => code) : null;
		};
		assert.deepEqual(found("risc0-9f39696c"), ["RELEASE_RETIRED"]);
		assert.deepEqual(found("sp1-groth16-v6.0.0"), ["RELEASE_RETIRED"]);
		assert.deepEqual(found("risc0-8875b7f3"), ["RELEASE_UNRELEASED"]);
		assert.deepEqual(found("risc0-73c457ba"), []);
		assert.deepEqual(found("sp1-groth16-v6.1.0"), []);
	});

	test("one changed bit anywhere: never valid, never an exception", () => {
		const valid = realCases().filter((one) => one.expect.status === "valid");
		const place = fc.tuple(fc.nat(valid.length - 1), fc.constantFrom(0, 1, 2), fc.nat(2 ** 20));
		fc.assert(
			fc.property(place, ([at, which, bit]) => {
				const one = valid[at]!;
				const names = one.seal === undefined ? ["proof", "vkey", "publicValues"] : ["seal", "imageId", "journal"];
				const name = names[which]!;
				const bytes = hexToBytes(one[name] as string)!;
				bytes[(bit >> 3) % bytes.length]! ^= 1 << (bit & 7);
				const verdict = verifyReceipt(fileOf({ ...one, [name]: bytesToHex(bytes) }));
				assert.equal(verdict.status, "invalid");
			}),
			{ numRuns: scaled(12) },
		);
	});
});

test("what is no receipt says so, and another program is another program", () => {
	const { RECEIPT_SHAPE, RECEIPT_PROGRAM } = { RECEIPT_SHAPE: "RECEIPT_SHAPE", RECEIPT_PROGRAM: "RECEIPT_PROGRAM" };
	const program = "ab".repeat(32);
	const good = { seal: "00".repeat(260), imageId: program, journal: "" };
	const codeOf = (value: unknown, expect = {}) => {
		const verdict = verifyReceipt(utf8ToBytes(typeof value === "string" ? value : JSON.stringify(value)), expect);
		return verdict.status === "invalid" && verdict.code;
	};
	for (const bad of [
		...["", "[]", "{}", "null", '{"seal":1}', JSON.stringify(good).replace("{", '{"seal":"00",')],
		...[
			{ ...good, imageId: "ab" },
			{ ...good, journal: "0" },
			{ ...good, journal: "zz" },
			{ ...good, version: 3 },
		],
		...[
			{ ...good, system: "sp1-plonk" },
			{ ...good, system: "other" },
			{ proof: "00", vkey: program },
		],
	])
		assert.equal(codeOf(bad), RECEIPT_SHAPE, JSON.stringify(bad).slice(0, 60));
	assert.equal(codeOf(good, { program: "cd".repeat(32) }), RECEIPT_PROGRAM);
	assert.equal(codeOf(good, { program }), "VERIFIER_UNKNOWN");
});

test("SP1: a proof of another length, of another version, of a program that failed or under other keys is refused as that", () => {
	const current = SP1_GROTH16.find((one) => one.vkRoot !== null)!;
	const other = SP1_GROTH16.find((one) => one.version !== current.version)!;
	const word = (value: string) => value.padStart(64, "0");
	const codeOf = (head: readonly string[], version = current.version) => {
		const proof = `${current.verifierHash.slice(0, 8)}${head.join("")}${"00".repeat(256)}`;
		const verdict = verifyReceipt(
			utf8ToBytes(JSON.stringify({ proof, vkey: "0b".repeat(32), publicValues: "", version })),
		);
		return verdict.status === "invalid" && verdict.code;
	};
	const head = [word("0"), word(current.vkRoot!), word("0")];
	assert.equal(codeOf(head.slice(1)), "PROOF_FORM");
	assert.equal(codeOf(head, other.version), "VERIFIER_OTHER");
	assert.equal(codeOf(head.with(0, word("1"))), "PROOF_EXIT");
	assert.equal(codeOf(head.with(1, word("1"))), "PROOF_WRONG");
	assert.equal(codeOf(head), "PROOF_WRONG", "no point is at zero");
});
