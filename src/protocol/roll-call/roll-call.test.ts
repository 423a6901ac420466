// The bytes of a roll call against golden data that was made from the page alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToHex } from "../bytes/bytes.ts";
import { endOfRun } from "../probe/countersign.ts";
import { fromHex, vectorRows } from "../vectors.test-kit.ts";
import {
	isRollCall,
	NO_ACCOUNT,
	ROLL_SAMPLES,
	rollAnswerHash,
	rollChallenges,
	rollLeaf,
	rollNonce,
	rollOpenSeed,
	rollPlaces,
	rollSeed,
} from "./roll-call.ts";

type Sizes = Record<"device" | "m" | "n" | "k" | "rounds" | "keep", number>;
type Hexes = Record<"beta0" | "beta2" | "key" | "account" | "roots" | "last" | "seed" | "end" | "nonce", string>;
type Row = Sizes &
	Hexes &
	Record<"leaf" | "secondLeaf" | "answer" | "contract" | "openGemm" | "openStream", string> &
	Record<"chainId" | "call" | "every" | "isCall", number>;

const ROWS = vectorRows<Row>("roll-call");

test("seeds, nonces, leaves, signed hashes and places' seeds are those of the page", () => {
	for (const row of ROWS) {
		const { device, m, n, k, rounds, keep } = row;
		const spec = { device, m, n, k, rounds, keep };
		const host = { key: row.key, account: `0x${row.account}` };
		const beta0 = fromHex(row.beta0);
		const roots = Array.from({ length: rounds }, (_, i) => fromHex(row.roots.slice(64 * i, 64 * i + 64)));
		const seed = rollSeed(beta0, host, spec);
		const end = endOfRun(seed, roots);
		const leaf = rollLeaf(host, { ...spec, end: bytesToHex(end), last: row.last });
		const id = { chainId: row.chainId, contract: `0x${row.contract}`, call: row.call };
		const [answer, openGemm, openStream] = [
			rollAnswerHash(id, beta0, [leaf, fromHex(row.secondLeaf)]),
			rollOpenSeed(fromHex(row.beta2), row.key, device, "gemm"),
			rollOpenSeed(fromHex(row.beta2), row.key, device, "stream"),
		];
		assert.deepEqual([seed, end, rollNonce(end), leaf, answer, openGemm, openStream].map(bytesToHex), [
			row.seed,
			row.end,
			row.nonce,
			row.leaf,
			row.answer,
			row.openGemm,
			row.openStream,
		]);
		assert.equal(isRollCall(beta0, row.every), row.isCall === 1);
	}
	assert.ok(ROWS.some(({ account }) => `0x${account}` === NO_ACCOUNT));
	assert.equal(new Set(ROWS.map(({ isCall }) => isCall)).size, 2);
});

test("one block in so many calls", () => {
	for (const every of [1, 2, 10]) {
		const calls = Array.from({ length: 4000 }, (_, i) => i).filter((i) => {
			const beta = new Uint8Array(32);
			new DataView(beta.buffer).setUint32(0, i);
			return isRollCall(beta, every);
		}).length;
		assert.ok(Math.abs(calls - 4000 / every) < 200, `${calls} of 4000 for ${every}`);
	}
});

test("places lie inside what was computed and kept, as many as are drawn", () => {
	const spec = { device: 0, m: 2048, n: 2048, k: 128, rounds: 9, keep: 4 };
	const places = rollPlaces(new Uint8Array(32).fill(3), "ab".repeat(32), spec);
	for (const list of Object.values(places)) assert.equal(list.length, ROLL_SAMPLES);
	const leaves = (2048 * 2048) / 512;
	assert.ok(places.products.every(({ round, index }) => round < 9 && index < leaves));
	assert.ok(places.digests.every(({ round, index }) => round === 0 && index < (4 * leaves) / 128));
	assert.ok(places.kept.every(({ round, index }) => round >= 5 && round < 9 && index < leaves));
	const { device, ...sizes } = spec;
	assert.deepEqual(rollChallenges(spec), [
		{ kind: "gemm", device, precision: "int8", ...sizes, samples: 8 },
		{ kind: "stream", device, of: 0, newest: 0, passes: 1, samples: 8 },
	]);
});

test("what is no key, account or hash throws: it would be our own mistake", () => {
	const spec = { device: 0, m: 128, n: 512, k: 128, rounds: 1, keep: 1 };
	for (const host of [
		{ key: "ab", account: NO_ACCOUNT },
		{ key: "AB".repeat(32), account: NO_ACCOUNT },
		{ key: "ab".repeat(32), account: "0x12" },
	])
		assert.throws(() => rollSeed(new Uint8Array(32), host, spec), RangeError);
});
