// Draws that anyone draws again: the same every time, by weight, without two of one. Changed ones are named
// by audit-draws.ts.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { u32 } from "../../protocol/bytes/bytes.ts";
import { tagged } from "../../protocol/hash/tagged-hash.ts";
import {
	type Candidate,
	type DrawFor,
	drawFrom,
	drawSeed,
	drawWindows,
	isAuditedByChance,
	listHash,
	NO_BLOCK,
	secretCommitment,
} from "./draw.ts";

const hex = (n: number) => n.toString(16).padStart(64, "0");
const LIST: readonly Candidate[] = Array.from({ length: 12 }, (_, i) => ({
	provider: hex(i + 1),
	weightPpm: 1_000_000,
}));
const FOR = { job: hex(77), part: 3, attempt: 1, role: 0 } as const;
const SECRET = hex(0xabc);
const BLOCK = hex(0xb10c);
const seedOf = (n: number) => tagged("assay/job-draw/1", u32(n));

const drawnFor = (of: DrawFor, secret: string, block: string, count: number) =>
	drawFrom(LIST, drawSeed(of, listHash(LIST), secret, block), count);

test("a draw is the same for everybody, and another for another part, attempt, role, block or secret", () => {
	const drawn = drawnFor(FOR, SECRET, BLOCK, 3);
	assert.deepEqual(drawn, drawnFor(FOR, SECRET, BLOCK, 3));
	assert.equal(new Set(drawn).size, 3);
	const others = [
		drawnFor({ ...FOR, part: 4 }, SECRET, BLOCK, 12),
		drawnFor({ ...FOR, attempt: 2 }, SECRET, BLOCK, 12),
		drawnFor({ ...FOR, role: 1 }, SECRET, BLOCK, 12),
		drawnFor({ ...FOR, job: hex(78) }, SECRET, BLOCK, 12),
		drawnFor(FOR, hex(1), BLOCK, 12),
		drawnFor(FOR, SECRET, NO_BLOCK, 12),
		drawnFor(FOR, SECRET, BLOCK, 12),
	];
	assert.equal(new Set(others.map((one) => one.join())).size, others.length);
	assert.deepEqual(
		[...others[0]!].sort(),
		LIST.map(({ provider }) => provider),
	);
	assert.deepEqual(drawFrom([], seedOf(1), 2), []);
});

/** docs/jobs.md §10 once more, by other means. */
const h = (tag: string, ...parts: readonly Uint8Array[]): Buffer => {
	const name = createHash("sha256").update(tag).digest();
	return createHash("sha256")
		.update(Buffer.concat([name, name, ...parts]))
		.digest();
};
const bytes = (name: string) => Buffer.from(name, "hex");
const pickOf = (seed: Uint8Array, turn: number, most: number): number =>
	Number(h("assay/job-pick/1", seed, u32(turn)).readBigUInt64BE() % BigInt(most));

test("list, seed and picks are the bytes that the page says", () => {
	const list = LIST.map((one, i) => ({ ...one, weightPpm: 1_000_000 + i }));
	const leaves = list.map(({ provider, weightPpm }) => Buffer.concat([bytes(provider), u32(weightPpm)]));
	const hash = h("assay/job-list/1", u32(list.length), ...leaves).toString("hex");
	assert.equal(listHash(list), hash);
	const place = [bytes(FOR.job), u32(FOR.part), u32(FOR.attempt), u32(FOR.role)];
	const seed = h("assay/job-draw/1", ...place, bytes(hash), bytes(SECRET), bytes(BLOCK));
	assert.deepEqual(Buffer.from(drawSeed(FOR, hash, SECRET, BLOCK)), seed);
	const left = [...list];
	const drawn = drawFrom(list, seed, list.length).map((one, turn) => {
		let at = pickOf(
			seed,
			turn,
			left.reduce((sum, { weightPpm }) => sum + weightPpm, 0),
		);
		const i = left.findIndex(({ weightPpm }) => {
			at -= weightPpm;
			return at < 0;
		});
		assert.equal(one, left.splice(i, 1)[0]!.provider, `pick ${turn}`);
		return one;
	});
	assert.equal(drawn.length, list.length);
	// The turn that no window has, and a chance in ppm: never at 0, always at a million, and below the number
	// that was drawn.
	const chance = pickOf(seed, 0xffff_ffff, 1_000_000);
	for (const [ppm, isAudited] of [
		[0, false],
		[chance, false],
		[chance + 1, true],
		[1_000_000, true],
	] as const)
		assert.equal(isAuditedByChance(seed, ppm), isAudited);
	assert.equal(secretCommitment(SECRET), h("assay/job-secret/1", bytes(SECRET)).toString("hex"));
});

test("each is drawn by its weight", () => {
	const list = [
		{ provider: hex(1), weightPpm: 1_200_000 },
		{ provider: hex(2), weightPpm: 800_000 },
		{ provider: hex(3), weightPpm: 1_000_000 },
	];
	const counts = new Map<string, number>();
	const draws = 3000;
	for (let i = 0; i < draws; i++) {
		const [one] = drawFrom(list, seedOf(i), 1);
		counts.set(one!, (counts.get(one!) ?? 0) + 1);
	}
	for (const { provider, weightPpm } of list) {
		const share = weightPpm / 3_000_000;
		assert.ok(Math.abs(counts.get(provider)! - draws * share) < 4 * Math.sqrt(draws * share * (1 - share)));
	}
});

test("the smallest weights too: each of two is drawn first by some seed, and none is passed over", () => {
	const list = [1, 2].map((n) => ({ provider: hex(n), weightPpm: 1 }));
	const first = new Set(Array.from({ length: 40 }, (_, i) => drawFrom(list, seedOf(i), 1)[0]));
	assert.equal(first.size, 2);
});

test("a list is of names: what is none has no hash", () => {
	assert.throws(() => listHash([{ provider: "ab", weightPpm: 1 }]), RangeError);
});

test("windows: the first and the last always, others without two of one, the last one never of one segment", () => {
	for (const [segments, perWindow, count, windows] of [
		[100, 10, 3, 5],
		[101, 10, 3, 5],
		[100, 10, 50, 10],
		[10, 10, 3, 1],
		[5, 10, 3, 1],
		[11, 10, 3, 1],
		[12, 10, 3, 2],
		[8, 1, 3, 5],
		[2, 1, 3, 1],
		[1, 1, 3, 1],
	] as const) {
		const drawn = drawWindows(seedOf(segments), segments, perWindow, count);
		assert.equal(drawn.length, windows);
		assert.equal(drawn[0]!.first, 0);
		assert.equal(drawn.at(-1)!.first + drawn.at(-1)!.count, segments);
		assert.equal(new Set(drawn.map(({ first }) => first)).size, windows);
		assert.ok(drawn.every(({ first }) => first % perWindow === 0));
		assert.ok(drawn.slice(0, -1).every(({ count: one }) => one === perWindow));
		const last = drawn.at(-1)!.count;
		assert.ok(last <= perWindow + 1 && (last > 1 || segments === 1), "the chain tells the last state itself");
	}
});

test("who skips a tenth of the windows between first and last is found at least as often as the formula says", () => {
	const [tries, count, windows] = [2000, 8, 102];
	// The tenth that it skips is the same every time: a draw is what it cannot foresee.
	const isSkipped = (first: number) => first >= 40 && first < 50;
	let found = 0;
	for (let i = 0; i < tries; i++)
		if (drawWindows(seedOf(i), windows, 1, count).some(({ first }) => isSkipped(first))) found += 1;
	const least = 1 - 0.9 ** count;
	assert.ok(found / tries > least - 3 * Math.sqrt((least * (1 - least)) / tries), `${found / tries} of ${least}`);
});
