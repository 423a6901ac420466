// Openings of committed polynomials: the golden ones of vectors/, whose prover knows nothing of this
// verifier; every part of them changed; and a proof over the real powers of a ceremony where they lie beside
// the checkout.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { bn254 } from "@noble/curves/bn254.js";
import { fc, scaled } from "../../../tests/fuzz.test-kit.ts";
import { Transcript } from "../../../vectors/naive-bn254.ts";
import { type Poly, proveOpening, valueAt } from "../../../vectors/naive-opening.ts";
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import { bytesOf, type G2, R, wordsOf } from "../../protocol/maths/bn254.ts";
import { fromHex, vectorRows } from "../../protocol/vectors.test-kit.ts";
import { OPENING_BYTES, type OpeningClaim, verifyOpening } from "./opening.ts";
import { commitTo, ignitionPowers, type ProverPowers, tauOf } from "./srs.ts";
import { createTranscript } from "./transcript.ts";

interface OpeningRow {
	readonly name: string;
	readonly statement: string;
	readonly commitment: string;
	readonly point: string;
	readonly value: string;
	readonly proof: string;
	readonly isTrue: number;
}

const ROWS = vectorRows<OpeningRow>("zk-opening");
const DEV = tauOf("dev", { isDevAllowed: true }) as G2;
const claimOf = (row: OpeningRow): OpeningClaim => ({
	commitment: fromHex(row.commitment),
	point: wordsOf(fromHex(row.point)),
	value: wordsOf(fromHex(row.value))[0]!,
});
const verified = (
	row: OpeningRow,
	change: { claim?: Partial<OpeningClaim>; statement?: string; proof?: Uint8Array } = {},
) =>
	verifyOpening(
		createTranscript(fromHex(change.statement ?? row.statement)),
		DEV,
		{ ...claimOf(row), ...change.claim },
		change.proof ?? fromHex(row.proof),
	);
const rowOf = (name: string): OpeningRow => ROWS.find((one) => one.name === name)!;

describe("golden openings", () => {
	for (const row of ROWS)
		test(row.name, () => {
			assert.equal(verified(row), row.isTrue === 1 ? "true" : "false");
		});
});

describe("an opening in another place", () => {
	const row = rowOf("2^4");
	const claim = claimOf(row);
	const proof = fromHex(row.proof);

	test("of another statement, value, point or commitment is false", () => {
		assert.equal(verified(row, { statement: "00" }), "false");
		assert.equal(verified(row, { claim: { value: (claim.value + 1n) % R } }), "false");
		for (const [i, one] of claim.point.entries())
			assert.equal(verified(row, { claim: { point: claim.point.with(i, (one + 1n) % R) } }), "false");
		assert.equal(verified(row, { claim: { point: claim.point.toReversed() } }), "false");
		assert.equal(verified(row, { claim: { commitment: fromHex(rowOf("2^6").commitment) } }), "false");
		assert.equal(verified(row, { claim: { commitment: new Uint8Array(64) } }), "false");
		assert.equal(verified(rowOf("2^6"), { proof }), "false");
	});

	test("over other powers is false", () => {
		const other = verifyOpening(
			createTranscript(fromHex(row.statement)),
			bn254.G2.Point.BASE.multiply(3n),
			claim,
			proof,
		);
		assert.equal(other, "false");
	});

	test("numbers from the order on, points on no curve and other lengths are refused as that", () => {
		assert.equal(verified(row, { claim: { value: claim.value + R } }), "spelling");
		assert.equal(verified(row, { claim: { point: claim.point.with(0, claim.point[0]! + R) } }), "spelling");
		assert.equal(verified(row, { claim: { commitment: claim.commitment.subarray(1) } }), "spelling");
		assert.equal(verified(row, { proof: proof.subarray(0, -1) }), "spelling");
		assert.equal(verified(row, { proof: concatBytes(proof, new Uint8Array(1)) }), "spelling");
		const words = wordsOf(proof);
		for (const [i, word] of words.entries()) {
			const isScalar = i >= 2 && i < 5;
			const changed = (value: bigint) => {
				const bytes = proof.slice();
				bytes.set(bytesOf(value), 32 * i);
				return verified(row, { proof: bytes });
			};
			assert.equal(changed(word + (isScalar ? R : bn254.fields.Fp.ORDER)), "spelling", `word ${i}`);
			assert.equal(changed(word ^ 1n), isScalar ? "false" : "nowhere", `word ${i}`);
		}
		assert.equal(words.length, OPENING_BYTES / 32);
	});

	test("each point in turn at infinity, or elsewhere on the curve, is false", () => {
		const another = fromHex(rowOf("2^6").commitment);
		for (const at of [0, 160, 224])
			for (const point of [new Uint8Array(64), another]) {
				const bytes = proof.slice();
				bytes.set(point, at);
				assert.equal(verified(row, { proof: bytes }), "false", `point at ${at}`);
			}
		assert.equal(verified(row, { proof: new Uint8Array(OPENING_BYTES) }), "false");
	});

	test("lists of no length that a plan has are an error of the caller", () => {
		for (const point of [[], [1n], [1n, 2n, 3n]]) assert.throws(() => verified(row, { claim: { point } }));
	});

	test("one changed bit anywhere: never true, never an exception", () => {
		fc.assert(
			fc.property(fc.nat(8 * OPENING_BYTES - 1), (bit) => {
				const bytes = proof.slice();
				bytes[bit >> 3]! ^= 1 << (bit & 7);
				assert.notEqual(verified(row, { proof: bytes }), "true");
			}),
			{ numRuns: scaled(8) },
		);
	});
});

const beside = fileURLToPath(new URL("../../../../shared", import.meta.url));
const FILE = join(process.env.ASSAY_SHARED ?? beside, "srs/ignition-bn254-2p15.bin");

test("an opening over Ignition's powers", { skip: existsSync(FILE) ? false : `no powers at ${FILE}` }, () => {
	const powers = ignitionPowers(new Uint8Array(readFileSync(FILE)), 16) as ProverPowers;
	const commit = (poly: Poly) => {
		const [x, y] = wordsOf(commitTo(powers, poly)) as [bigint, bigint];
		return x === 0n && y === 0n ? null : ([x, y] as const);
	};
	const poly = Array.from({ length: 16 }, (_, i) => BigInt(i * i + 1));
	const point = [3n, 5n, 7n, R - 1n];
	const value = valueAt(poly, point);
	const proof = proveOpening(new Transcript(new Uint8Array(1)), commit, { poly, point, value });
	const [x, y] = commit(poly)!;
	const claim = { commitment: concatBytes(bytesOf(x), bytesOf(y)), point, value };
	const tau = tauOf(powers.id, { isDevAllowed: false }) as G2;
	assert.equal(verifyOpening(createTranscript(new Uint8Array(1)), tau, claim, proof), "true");
	assert.equal(verifyOpening(createTranscript(new Uint8Array(1)), DEV, claim, proof), "false");
	assert.equal(
		verifyOpening(createTranscript(new Uint8Array(1)), tau, { ...claim, value: value + 1n }, proof),
		"false",
	);
});
