// Powers of tau: real ones are read and have their id, changed ones are refused, and those of a known τ are
// refused unless they are asked for.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { bn254 } from "@noble/curves/bn254.js";
import { isDeep } from "../../../tests/fuzz.test-kit.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { keccakLeaf, keccakTree } from "../../protocol/hash/keccak-tree.ts";
import { bytesOf, G1_ONE, type G2, G2_ONE } from "../../protocol/maths/bn254.ts";
import { DEV_ROOTS, DEV_TAU_G2 } from "../../protocol/maths/dev-powers.ts";
import { arePowers, DEV_POWERS, powerOf, readArkworks, readIgnition, tauOf } from "./srs.ts";
import { pointBytes } from "./twin-tree.ts";

const beside = fileURLToPath(new URL("../../../../shared", import.meta.url));
const FILE = join(process.env.ASSAY_SHARED ?? beside, "srs/ignition-bn254-2p15.bin");
const missing = existsSync(FILE) ? false : `no powers at ${FILE}; those of a known τ are tested without them`;
const file = () => new Uint8Array(readFileSync(FILE));
const codeOf = (found: object) => ("code" in found ? found.code : null);

test("points are powers when each is τ times the one before, the first the generator", () => {
	const tau = 12345n;
	const points = Array.from({ length: 8 }, (_, i) => G1_ONE.multiply(tau ** BigInt(i)));
	const tauG2 = G2_ONE.multiply(tau);
	assert.ok(arePowers(points, tauG2));
	assert.ok(!arePowers(points, G2_ONE.multiply(tau + 1n)));
	assert.ok(!arePowers(points.slice(1), tauG2));
	assert.ok(!arePowers(points.slice(0, 1), tauG2));
	for (const i of points.keys()) {
		assert.ok(!arePowers(points.with(i, points[i]!.double()), tauG2), `power ${i}`);
		assert.ok(!arePowers(points.with(i, bn254.G1.Point.ZERO), tauG2), `power ${i}`);
	}
	// Steps of another τ from some power on.
	const turned = points.map((one, i) => (i < 4 ? one : G1_ONE.multiply(tau ** 3n * 7n ** BigInt(i - 3))));
	assert.ok(!arePowers(turned, tauG2));
	assert.ok(
		!arePowers(
			points.map(() => G1_ONE),
			bn254.G2.Point.ZERO,
		),
	);
});

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
	test("the first 64 are read, and their id is a known one", () => {
		const found = readIgnition(file(), 64);
		assert.ok("points" in found && found.points.length === 64);
		const tau = tauOf(found.id, { isDevAllowed: false });
		assert.ok("equals" in tau && tau.equals(found.tauG2));
		// All even sizes up to the largest that the file has.
		if (isDeep)
			for (const c of [4, 8, 10, 12, 14]) {
				const more = readIgnition(file(), 2 ** c);
				assert.equal(codeOf("id" in more ? tauOf(more.id, { isDevAllowed: false }) : more), null, `2^${c}`);
			}
	});

	test("one changed byte makes another file", () => {
		const changed = file();
		changed[200_000]! ^= 1;
		assert.equal(codeOf(readIgnition(changed, 64)), "SRS_UNKNOWN");
	});

	test("whatever is wrong in a file whose hash nobody asks for is found", () => {
		const with_ = (at: number, bytes: Uint8Array) => {
			const changed = file();
			changed.set(bytes, at);
			return codeOf(readArkworks(changed, 8));
		};
		const end = 8 + 64 * 32_769;
		const littleOf = (value: bigint) => bytesOf(value).toReversed();
		assert.equal(codeOf(readArkworks(file(), 8)), null);
		assert.equal(with_(0, Uint8Array.of(2)), "SRS_FORM", "another count");
		assert.equal(with_(8 + 64 * 3, Uint8Array.of(1, 2, 3)), "SRS_WRONG", "on no curve");
		assert.equal(with_(8 + 64 * 3, littleOf(bn254.fields.Fp.ORDER)), "SRS_FORM", "x from the order on");
		// The sign that is written beside y must be y's.
		const y = file()
			.subarray(8 + 64 * 3 + 32, 8 + 64 * 3 + 64)
			.slice();
		y[31]! ^= 0x80;
		assert.equal(with_(8 + 64 * 3 + 32, y), "SRS_FORM", "the sign of y");
		assert.equal(with_(8 + 64 * 3, file().subarray(8 + 64 * 4, 8 + 64 * 5)), "SRS_WRONG", "a power twice");
		assert.equal(with_(end + 8, file().subarray(end + 136, end + 264)), "SRS_WRONG", "another generator");
		assert.equal(with_(end + 136, file().subarray(end + 8, end + 136)), "SRS_WRONG", "another τ");
		assert.equal(with_(end + 136, new Uint8Array(128).fill(1)), "SRS_FORM", "no point");
		assert.equal(codeOf(readArkworks(file().subarray(0, -1), 8)), "SRS_FORM");
		assert.equal(codeOf(readArkworks(new Uint8Array(3), 8)), "SRS_FORM");
		for (const count of [0, 1, 40_000, 2.5]) assert.equal(codeOf(readArkworks(file(), count)), "SRS_FORM");
	});
});
