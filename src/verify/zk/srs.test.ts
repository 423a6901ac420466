// Powers of tau: real ones are read and have their id, changed ones are refused, and those of a known τ are
// refused unless they are asked for.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isDeep } from "../../../tests/fuzz.test-kit.ts";
import { bytesToHex, concatBytes } from "../../protocol/bytes/bytes.ts";
import { keccak, keccakLeaf, keccakTree } from "../../protocol/hash/keccak-tree.ts";
import { bigOf, bytesOf, type G1, G1_ONE, type G2, G2_ONE, g1Of, isOne, wordsOf } from "../../protocol/maths/bn254.ts";
import { DEV_ROOTS, DEV_TAU_G2 } from "../../protocol/maths/dev-powers.ts";
import { IGNITION_IDS } from "../../protocol/maths/ignition.ts";
import { commitTo, DEV_POWERS, ignitionPowers, type ProverPowers, powerOf, tauOf } from "./srs.ts";
import { pointBytes } from "./twin-tree.ts";

const beside = fileURLToPath(new URL("../../../../shared", import.meta.url));
const FILE = join(process.env.ASSAY_SHARED ?? beside, "srs/ignition-bn254-2p15.bin");
const missing = existsSync(FILE) ? false : `no powers at ${FILE}; those of a known τ are tested without them`;
const file = () => new Uint8Array(readFileSync(FILE));
const codeOf = (found: object) => ("code" in found ? found.code : null);

test("what is written down of powers of a known τ is what they are", () => {
	const { x, y } = (tauOf("dev", { isDevAllowed: true }) as G2).toAffine();
	assert.deepEqual([x.c1, x.c0, y.c1, y.c0], [...DEV_TAU_G2]);
	const power = powerOf(DEV_POWERS);
	const counts = [...DEV_ROOTS.keys()].filter((count) => isDeep || count <= 2 ** 6);
	const leaves = Array.from({ length: Math.max(...counts) }, (_, i) => keccakLeaf(pointBytes(power(i))));
	for (const count of counts)
		assert.equal(bytesToHex(keccakTree(leaves.slice(0, count)).root), DEV_ROOTS.get(count), `${count} powers`);
});

test("powers of a known τ are refused unless asked for, unknown ones always", () => {
	assert.equal(codeOf(tauOf("dev", { isDevAllowed: false })), "SRS_DEV");
	assert.equal(codeOf(tauOf("dev", { isDevAllowed: true })), null);
	for (const id of ["", "DEV", "dev ", "00".repeat(32)])
		assert.equal(codeOf(tauOf(id, { isDevAllowed: true })), "SRS_UNKNOWN");
});

describe("Ignition's powers", { skip: missing }, () => {
	// All even sizes up to the largest that the file has.
	for (const count of isDeep ? IGNITION_IDS.keys() : [64])
		test(`the first ${count} and one more are powers of Ignition's τ, and their id is the known one`, () => {
			const { id, points, next } = ignitionPowers(file(), count) as ProverPowers;
			const leaves = Array.from({ length: count }, (_, i) => keccakLeaf(points!.subarray(64 * i, 64 * (i + 1))));
			assert.equal(bytesToHex(keccakTree(leaves).root), id);
			// All steps at once.
			const all = { id, points: concatBytes(points!, next!), next: null };
			const sumOf = (factors: readonly bigint[]) =>
				g1Of(...(wordsOf(commitTo(all, factors)) as [bigint, bigint])) as G1;
			assert.ok(sumOf([1n]).equals(G1_ONE));
			const factors = Array.from({ length: count }, (_, i) => bigOf(keccak(points!, bytesOf(BigInt(i)))) >> 128n);
			const tau = tauOf(id, { isDevAllowed: false }) as G2;
			const steps = (by: G2) =>
				isOne([
					{ g1: sumOf([0n, ...factors]), g2: G2_ONE },
					{ g1: sumOf(factors).negate(), g2: by },
				]);
			assert.ok(steps(tau));
			assert.ok(!steps(tau.double()));
		});

	test("one changed byte makes another file", () => {
		const changed = file();
		changed[200_000]! ^= 1;
		assert.equal(codeOf(ignitionPowers(changed, 64)), "SRS_UNKNOWN");
	});

	test("there are no other numbers of them", () => {
		for (const count of [0, 1, 63, 40_000, 2.5]) assert.equal(codeOf(ignitionPowers(file(), count)), "SRS_UNKNOWN");
	});
});
