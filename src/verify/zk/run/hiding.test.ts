// What a wrapped run publishes says nothing of its witness, docs/zk.md §13: two witnesses with one statement,
// which only who knows τ can make, give openings of one distribution; and whoever guesses a witness finds
// none of the published values by it. Without mask, blinders or nonce it does: so each of them is needed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { scaled } from "../../../../tests/fuzz.test-kit.ts";
import { DEV_TAU, inverse, mod, power } from "../../../../vectors/naive-bn254.ts";
import type { Poly } from "../../../../vectors/naive-opening.ts";
import { leftRange, runSegment, type Start } from "../../../../vectors/naive-plan.ts";
import { drawnHiding, proveRun, type RunHiding } from "../../../../vectors/naive-run.ts";
import { bigOf, wordsOf } from "../../../protocol/maths/bn254.ts";
import { devCommit, drawnStart, planFor, shapeOf, TOLD } from "../segment.test-kit.ts";
import { claimOf, type ReadRun, readRun, verifyRun } from "./verify-run.ts";

const SHAPE = shapeOf({ sizes: [2, 2], batch: 1, steps: 1, rows: 2, chunkBits: 6 });
const PLAN = planFor(SHAPE);
const CHUNKS = PLAN.groups.map((one) => one.chunks);
const TOLD_CHUNKS = CHUNKS.slice(0, 4).reduce((sum, one) => sum + one, 0);

const startOf = (label: string): Start => {
	for (let i = 0; ; i++) {
		const start = { ...drawnStart(SHAPE, `${label} ${i}`, 14), firstStep: 0 };
		if (leftRange(SHAPE, runSegment(SHAPE, start)) === null) return start;
	}
};
const [ONE, TWO] = [startOf("one"), startOf("two")];

const tauOf = (poly: Poly): bigint => poly.reduceRight((sum, one) => mod(sum * DEV_TAU + one), 0n);

/** A proof, and every list that was committed on the way, in its order: first those of the statement. */
function proven(start: Start, hiding: RunHiding) {
	const committed: Poly[] = [];
	const commit = (poly: Poly) => {
		committed.push(poly);
		return devCommit(poly);
	};
	const { statements, proof } = proveRun(SHAPE, [start], [TOLD], commit, {}, hiding);
	const read = readRun(PLAN, statements, proof) as ReadRun;
	return { statements, proof, read, claim: claimOf(PLAN, read)!, committed };
}

const group = (at: number): readonly [number, number] => {
	const first = CHUNKS.findIndex((_, i) => CHUNKS.slice(0, i + 1).reduce((sum, one) => sum + one, 0) > at);
	return [first, at - CHUNKS.slice(0, first).reduce((sum, one) => sum + one, 0)];
};
const NOTHING: RunHiding = {
	segments: [{ nonce: 0n, blinder: () => 0n }],
	mask: new Array<bigint>(2 ** SHAPE.chunkBits + 1).fill(0n),
};

/** Blinders for the statement of another witness: who knows τ has them for any. */
function sameStatement(start: Start, as: readonly bigint[]): (which: number, chunk: number) => bigint {
	const own = proven(start, NOTHING).committed.slice(0, TOLD_CHUNKS).map(tauOf);
	const share = inverse(power(DEV_TAU, BigInt(2 ** SHAPE.chunkBits)));
	const blinders = new Map(own.map((one, i) => [group(i).join(), mod((as[i]! - one) * share)]));
	return (which, chunk) => blinders.get(`${which},${chunk}`)!;
}

const STATEMENT = proven(ONE, drawnHiding("statement", SHAPE, 1))
	.committed.slice(0, TOLD_CHUNKS)
	.map(tauOf);
const WITNESSES = [ONE, TWO].map((start) => ({ start, blinder: sameStatement(start, STATEMENT) }));

/** All that hides drawn anew, but for the statement's blinders. */
function hidden(which: number, label: string) {
	const { start, blinder } = WITNESSES[which]!;
	const { segments, mask } = drawnHiding(label, SHAPE, 1);
	const [own] = segments as [RunHiding["segments"][number]];
	const both = (of: number, chunk: number) => (of < 4 ? blinder(of, chunk) : own.blinder(of, chunk));
	return proven(start, { segments: [{ ...own, blinder: both }], mask });
}

/** Everything that a wrapped proof shows besides Groth16's, as numbers. */
const shown = ({ read, claim }: ReturnType<typeof proven>): bigint[] => [
	...read.proven.flatMap((bytes) => wordsOf(bytes)),
	...[...wordsOf(read.mask), ...wordsOf(read.cross)],
	...claim.weights.flat(),
	...[claim.eta, claim.t, claim.a, claim.b, claim.digest],
	...wordsOf(read.opening),
];

test("two witnesses with one statement: every published value has one distribution", () => {
	const [count, bins] = [scaled(24), 4];
	const samples = [0, 1].map((which) =>
		Array.from({ length: count }, (_, i) => {
			const one = hidden(which, `sample ${which} ${i}`);
			if (i === 0) assert.equal(verifyRun(PLAN, one.statements, one.proof, { isDevAllowed: true }).status, "valid");
			return one;
		}),
	);
	const statements = new Set(samples.flat().map(({ statements: [one] }) => JSON.stringify(one)));
	assert.equal(statements.size, 1);
	const lists = samples.map((list) => list.map(shown));
	const length = lists[0]![0]!.length;
	// By the highest two bits: two samples of each value beside each other, and all values together beside what
	// numbers that were drawn would give.
	let [together, places] = [0, 0];
	for (let at = 0; at < length; at++) {
		const counts = lists.map((list) => {
			const bin = new Array<number>(bins).fill(0);
			for (const one of list) bin[Number((one[at]! * BigInt(bins)) / 2n ** 254n)]! += 1;
			return bin;
		}) as [number[], number[]];
		let chi = 0;
		for (let i = 0; i < bins; i++) {
			const [a, b] = [counts[0][i]!, counts[1][i]!];
			if (a + b > 0) chi += (a - b) ** 2 / (a + b);
		}
		// Three degrees of freedom, some two hundred values: 30 is a chance of 10^-6 each.
		assert.ok(chi < 30, `value ${at}: ${counts}`);
		together += chi;
		places += 1;
	}
	// Mean 3 a value, and of so many values together within a third of that.
	assert.ok(together / places < 4, `${together / places}`);
});

/**
 * What somebody finds in a proof by a witness that it guesses: commitments, how often they count, or the line
 * that is opened.
 */
function foundBy(start: Start, published: ReturnType<typeof proven>, hiding: RunHiding): string[] {
	const guess = proven(start, hiding);
	const found: string[] = [];
	if (
		guess.read.proven.some((one, i) => bigOf(one.subarray(0, 32)) === bigOf(published.read.proven[i]!.subarray(0, 32)))
	)
		found.push("commitments");
	// The first segment's follow from its commitments and what its sums say, not from the mask.
	if (guess.claim.weights[0]!.join() === published.claim.weights[0]!.join()) found.push("counts");
	if (guess.claim.a === published.claim.a || guess.claim.b === published.claim.b) found.push("line");
	return found;
}

test("whoever guesses the witness finds nothing by it; without blinders, mask or nonce it does", () => {
	const published = hidden(0, "published");
	const { blinder } = WITNESSES[0]!;
	const known = { nonce: 0n, blinder: (of: number, chunk: number) => (of < 4 ? blinder(of, chunk) : 0n) };
	assert.deepEqual(foundBy(ONE, published, { ...NOTHING, segments: [known] }), []);
	const drawn = drawnHiding("published", SHAPE, 1);
	const own = drawn.segments[0]!;
	const all = (of: number, chunk: number) => (of < 4 ? blinder(of, chunk) : own.blinder(of, chunk));
	// Without blinders of values and helpers.
	const bare = proven(ONE, { ...drawn, segments: [{ nonce: own.nonce, blinder: known.blinder }] });
	assert.ok(foundBy(ONE, bare, { ...NOTHING, segments: [known] }).includes("commitments"));
	// Without a nonce: the published commitments and a guess make the same transcript, whatever the blinders
	// are. The mask still hides what is opened.
	const plain = { segments: [{ nonce: 0n, blinder: all }] };
	const masked = proven(ONE, { ...plain, mask: drawn.mask });
	assert.deepEqual(foundBy(ONE, masked, { ...plain, mask: NOTHING.mask }), ["commitments", "counts"]);
	// Without a mask that is found too by whoever has the challenges.
	const unmasked = proven(ONE, { ...plain, mask: NOTHING.mask });
	assert.deepEqual(foundBy(ONE, unmasked, { ...plain, mask: NOTHING.mask }), ["commitments", "counts", "line"]);
	// With a nonce that was drawn nobody has them.
	const alone = proven(ONE, { segments: [{ nonce: own.nonce, blinder: all }], mask: NOTHING.mask });
	assert.deepEqual(foundBy(ONE, alone, { ...plain, mask: NOTHING.mask }), ["commitments"]);
});
