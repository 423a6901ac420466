// Convolutions and softmax, docs/zk.md §14: honest segments are valid; each check of theirs, removed alone,
// lets a cheater pass that is honest in all else and refused with it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { isDeep } from "../../../tests/fuzz.test-kit.ts";
import { inverse, mod } from "../../../vectors/naive-bn254.ts";
import {
	addSoftmaxRest,
	leftRange,
	type Run,
	type RunCheat,
	runSegment,
	type Shape,
	type Start,
	softmaxBits,
} from "../../../vectors/naive-plan.ts";
import type { SegmentCheat } from "../../../vectors/naive-segment.ts";
import { planHash } from "../../work/plan/compile-plan.ts";
import {
	type Cheater,
	columns,
	dropped,
	fitted,
	NOWHERE,
	needsOf,
	ofLookups,
	turned,
	uncommitted,
} from "./cheaters.test-kit.ts";
import type { Removed } from "./removed.test-kit.ts";
import { drawnStart, prove, shapeOf, startOf } from "./segment.test-kit.ts";
import { proofSizes, verifySegment } from "./verify-segment.ts";

const plain = { channels: 1, height: 3, width: 3, size: 2, stride: 1, pad: 0 };
/** Padded, by two, of two channels: nine places, some with zeros around the picture. */
const padded = { channels: 2, height: 2, width: 2, size: 2, stride: 1, pad: 1 };
const wide = { limbs: [4, 4, 4], d: 6 } as const;
/** Two convolutions, then a plain link. */
const CNN = shapeOf({ sizes: [9, 8, 18, 2], windows: [plain, padded, null], ...wide });
/** Three classes of four units. */
const SOFTMAX = shapeOf({ sizes: [3, 3, 3], quotient: 6 });
const SHORT = { ...SOFTMAX, steps: 1 };
const BOTH = shapeOf({ sizes: [9, 8, 3], windows: [plain, null], quotient: 7, ...wide });
const STRIDE = { channels: 1, height: 5, width: 4, size: 3, stride: 2, pad: 1 };
const STRIDED = shapeOf({ sizes: [20, 12, 2], windows: [STRIDE, null], ...wide });
const starts = new Map([CNN, SOFTMAX, BOTH, STRIDED].map((shape, i) => [shape, startOf(shape, `wide ${i}`)]));
const startFor = (shape: Shape) => starts.get(shape)!;

test("honest segments with convolutions, softmax and both are valid, and as long as the plan says", () => {
	for (const [i, shape] of [BOTH, CNN, SOFTMAX, STRIDED].entries()) {
		if (i > 1 && !isDeep) continue;
		const { plan, statement, proof } = prove(shape, startFor(shape));
		assert.equal(Buffer.from(planHash(plan)).toString("hex"), statement.plan);
		assert.equal(proof.length, proofSizes(plan).bytes);
		assert.equal(verifySegment(plan, statement, proof, { isDevAllowed: true }).status, "valid");
	}
});

const product = (line: string, instead: string): Removed => ({ file: "check-products", line, instead });
const softmax = (line: string, instead: string): Removed => ({ file: "check-softmax", line, instead });
const claimed = (column: string, at: string): Removed =>
	softmax(`values.claimed("${column}", of, ${at})`, "values.next(of)");
const swapped = (pixel: number) => (pixel < 0 ? pixel : pixel ^ 1);
const nothing = (column: bigint[]) => column.map(() => 0n);

/** Rows of so many units, the last of which are padding: each begins with its second class. */
const rotated = (list: bigint[]): bigint[] =>
	list.map((_, i) => (i % 4 === 3 ? list[i]! : list[4 * Math.floor(i / 4) + ((i + 1) % 4 === 3 ? 0 : (i % 4) + 1)]!));
/** Only rows of classes, not padding. */
const classes = (to: (one: bigint) => bigint) => (list: readonly bigint[]) =>
	list.map((one, i) => (i % 4 === 3 ? one : to(one)));
/** Somebody sees a column in another way than it is. */
const seeing =
	(name: string, to: (list: readonly bigint[]) => readonly bigint[]): NonNullable<SegmentCheat["seen"]> =>
	(own, list) =>
		own === name ? to(list) : list;
const LOST = 1n << BigInt(SOFTMAX.quotient! - SOFTMAX.gradient);
const MOST = 2n ** BigInt(softmaxBits(SOFTMAX).sum.reduce((a, b) => a + b));
const QUOTIENT = 1n << BigInt(SOFTMAX.quotient!);
/** One more than the quotient, where the rest still fits its table; one less, where the remainder does. */
const oneMore = (whole: bigint, sum: bigint): bigint =>
	2n * sum - 1n - (QUOTIENT - whole * sum) < MOST ? whole + 1n : whole;
const oneLess = (whole: bigint, sum: bigint): bigint => (QUOTIENT - whole * sum + sum < MOST ? whole - 1n : whole);
/** No whole number, but each e of the row times it is one. */
const broken = (whole: bigint, sum: bigint, row: readonly bigint[]): bigint => {
	for (let left = 0n; left < sum; left++) {
		const isWhole = row.every((e) => ((QUOTIENT - left) * e) % sum === 0n);
		if (isWhole && (QUOTIENT - left) % sum !== 0n) return mod((QUOTIENT - left) * inverse(sum));
	}
	return whole;
};
/** A run in which this acts in some row. */
function startWith(inverted: (whole: bigint, sum: bigint, row: readonly bigint[]) => bigint) {
	for (let i = 0; i < 1000; i++) {
		const start = startOf(SOFTMAX, `rows ${i}`);
		let acts = false;
		runSegment(SOFTMAX, start, {
			inverse: (whole, sum, row) => {
				acts ||= inverted(whole, sum, row) !== whole;
				return whole;
			},
		});
		if (acts) return start;
	}
	throw new Error("no such run");
}
const quotient = (inverted: typeof broken, ...more: readonly SegmentCheat[]): Cheater =>
	Object.assign({ start: startWith(inverted), run: { inverse: inverted } }, ...more);
/** The lower part is all of the number, so that the higher one is 0. */
const allLow =
	(name: string, whole: (run: Run, p: number) => bigint): NonNullable<SegmentCheat["columns"]> =>
	(run) => {
		const list = run.columns.get(name)!;
		const bits = BigInt(softmaxBits(SOFTMAX)[name.startsWith("inverse") ? "inverse" : "sum"][0]);
		run.columns.set(
			name,
			list.map((low, p) => (whole(run, p) >= 0n && whole(run, p) < 1n << (2n * bits) ? low : whole(run, p))),
		);
	};
const sumOf = ({ columns: all }: Run, p: number): bigint =>
	all
		.get("exp 1")!
		.slice(4 * p, 4 * p + 4)
		.reduce((a, b) => a + b, 0n);
const leftOf = (run: Run, p: number): bigint => QUOTIENT - sumOf(run, p) * run.columns.get("inverse 1")![p]!;

/** d follows from a quotient that is one more; what stands in the column is the right one. */
const rightQuotient: SegmentCheat = {
	run: { inverse: (whole) => whole + 1n },
	columns: (run) => {
		const low = run.columns.get("lowScore 1")!;
		run.columns.set(
			"inverse 1",
			run.columns.get("inverse 1")!.map((one) => one - 1n),
		);
		addSoftmaxRest(SOFTMAX, run);
		run.columns.set("lowScore 1", low);
	},
};

const CASES: Readonly<Record<string, readonly [Removed, Cheater, string]>> = {
	"patches that enter a convolution": [
		product("terms.push(run.entering(", "if (own.window === undefined) terms.push(run.entering("),
		{
			shape: CNN,
			run: { operand: (use, column) => (use === "z 0" || use === "z 1" ? nothing(column) : column) },
			isUnclaimed: (name) => /^(features 0|a 0) of z [01]$/.test(name),
		},
		"PROOF_CLAIMS",
	],
	"gradients that come back from a convolution": [
		product('terms.push(run.over("d", link', 'if (link < 0) terms.push(run.over("d", link'),
		{
			shape: CNN,
			run: { operand: (use, column) => (use === "q 0" ? nothing(column) : column) },
			isUnclaimed: (name) => name === "d 1 of q 0",
		},
		"PROOF_CLAIMS",
	],
	"patches that a convolution learns from": [
		product(
			"const entered = uses.map(({ link, input }, i) =>",
			"const entered = uses.flatMap(({ link, input }, i) => plan.links[link]!.window ? [] :",
		),
		{
			shape: CNN,
			run: { changed: (link, entering, d) => ({ entering: link < 2 ? nothing(entering) : entering, d }) },
			isUnclaimed: (name) => /^(features 0|a 0) of change of /.test(name),
		},
		"PROOF_CLAIMS",
	],
	"the bias of a convolution": [
		{
			file: "segment-run",
			line: "return { ...term, more: field.times(factor, bias) };",
			instead: "return { ...term, more: field.scaled(bias, 0n) };",
		},
		{ shape: STRIDED, run: { patchBias: 0n } },
		"PROOF_CLAIMS",
	],
	"numbers of a picture count where patches have them": [
		{
			file: "window-kernel",
			line: "if (pixel !== null) lists[pixel]!.push(",
			instead: "if (pixel !== null) lists[pixel ^ 1]!.push(",
		},
		{ shape: BOTH, run: { pixels: (_, list) => list.map((one) => one.map(swapped)) } },
		"PROOF_CLAIMS",
	],
	"scores in their tables": [
		softmax("fractionFault(field, scoreHelper, parts)", "field.of(0n)"),
		{ ...NOWHERE, helpers: fitted("scoreHelper 1"), without: ["score 1"] },
		"PROOF_LOOKUPS",
	],
	"the lower part of what a score loses": [
		softmax("[lookups.range(bits[0], lowScore), ", "["),
		{
			run: { score: (one) => one + 1n },
			...columns(["lowScore 1", (list) => [...classes((one) => one - LOST)(list)]]),
			...dropped("score", 0),
		},
		"PROOF_LOOKUPS",
	],
	"the higher part of what a score loses": [
		softmax("lookups.range(bits[1], high), ", ""),
		{ run: { score: (one) => one + 1n }, ...dropped("score", 1) },
		"PROOF_LOOKUPS",
	],
	"the table of exponentials": [
		softmax(", exact]", "]"),
		{ run: { exp: () => 2n }, ...dropped("score", 2) },
		"PROOF_LOOKUPS",
	],
	"e of padding is 0": [
		softmax("lookups.part(table, [distance, looked])", "lookups.part(table, [distance, exp])"),
		{
			shape: SHORT,
			run: { isPaddingUsed: true },
			seen: seeing("isPadding 1", (list) => list.map(() => 0n)),
		},
		"PROOF_LOOKUPS",
	],
	"the largest of a row is at no distance": [
		softmax("field.times(top, field.sum([distance, isPadding]))", "field.of(0n)"),
		{ run: { peak: (one) => one + 1n }, without: ["top 1"] },
		"PROOF_LOOKUPS",
	],
	"padding is not the largest of a row": [
		softmax("field.sum([distance, isPadding])", "distance"),
		{
			run: { peak: (one) => one + 1n },
			...columns(["top 1", (list) => list.map((_, i) => (i % 4 === 3 ? 1n : 0n))]),
			seen: seeing("noTop 1", (list) => list.map(() => 0n)),
		},
		"PROOF_LOOKUPS",
	],
	"a row has a largest": [
		softmax("run.claim(field.of(1n), [run.at(", "[].push(...[run.at("),
		{
			run: { peak: (one) => one + 1n },
			...columns(["top 1", nothing]),
			isUnclaimed: (name) => name.endsWith(" of one"),
		},
		"PROOF_CLAIMS",
	],
	"distances are those of units": [
		softmax("run.claim(distance, [fromPeak, ", "[].push(...[fromPeak, "),
		{
			run: { exp: () => 1n << BigInt(SOFTMAX.gradient) },
			seen: seeing("distance 1", (list) => list.map(() => 0n)),
			isUnclaimed: (name) => name.endsWith(" of distance"),
		},
		"PROOF_CLAIMS",
	],
	"gradients are scores less classes": [
		softmax('run.claim(score, [run.at("d"', '[].push(...[run.at("d"'),
		{
			run: { score: (one) => one + 1n },
			seen: seeing(
				"score 1",
				classes((one) => mod(one - 1n)),
			),
			isUnclaimed: (name) => name.endsWith(" of score"),
		},
		"PROOF_CLAIMS",
	],
	"the sum of a row": [
		softmax('run.claim(sum, [run.at("exp"', '[].push(...[run.at("exp"'),
		{
			run: { inverse: (_, sum) => QUOTIENT / (sum + 1n) },
			columns: ({ columns: all }) => {
				// As if it were one more.
				const [low, sums] = [BigInt(softmaxBits(SOFTMAX).sum[0]), all.get("exp 1")!];
				const whole = all.get("inverse 1")!.map((_, p) => sumOf({ columns: all } as Run, p) + 1n);
				const left = whole.map((sum, p) => QUOTIENT - sum * all.get("inverse 1")![p]!);
				const lower = (list: bigint[]) => list.map((one) => one & ((1n << low) - 1n));
				all.set("remainder0 1", lower(left)).set("rest0 1", lower(left.map((one, p) => whole[p]! - 1n - one)));
				assert.ok(sums.length > 0);
			},
			seen: seeing("sum 1", (list) => list.map((one) => one + 1n)),
			isUnclaimed: (name) => name.endsWith(" of total"),
		},
		"PROOF_CLAIMS",
	],
	"a quotient is a whole number": [
		softmax("fractionFault(field, inverseHelper, parts(bits.inverse, inverse, inverse0))", "field.of(0n)"),
		quotient(broken, { helpers: fitted("inverseHelper 1"), without: ["inverse 1"] }),
		"PROOF_LOOKUPS",
	],
	"what a quotient leaves is not below 0": [
		softmax("fractionFault(field, remainderHelper, parts(bits.sum, remainder, remainder0))", "field.of(0n)"),
		quotient(oneMore, { helpers: fitted("remainderHelper 1"), without: ["remainder 1"] }),
		"PROOF_LOOKUPS",
	],
	"what a quotient leaves is below the sum": [
		softmax("fractionFault(field, restHelper, parts(bits.sum, left, rest0))", "field.of(0n)"),
		quotient(oneLess, { helpers: fitted("restHelper 1"), without: ["rest 1"] }),
		"PROOF_LOOKUPS",
	],
	"lower parts of quotients": [
		softmax("return [lookups.range(lowBits, low), ", "return ["),
		quotient(oneMore, {
			columns: allLow("remainder0 1", leftOf),
			isDropped: (name, part) => /^(inverse|remainder|rest) /.test(name) && part === 0,
		}),
		"PROOF_LOOKUPS",
	],
	"higher parts of quotients": [
		softmax(", lookups.range(highBits, high)];", "];"),
		quotient(oneMore, { isDropped: (name, part) => /^(inverse|remainder|rest) /.test(name) && part === 1 }),
		"PROOF_LOOKUPS",
	],
	"the quotient that scores are made of": [
		claimed("inverse", "() => place"),
		{
			...rightQuotient,
			seen: seeing("inverseWide 1", (list) => list.map((one) => one + 1n)),
			isUnclaimed: (name) => name.endsWith(" of rounding"),
		},
		"PROOF_CLAIMS",
	],
	"the quotient that leaves little": [
		claimed("inverse", "row"),
		{
			...rightQuotient,
			columns: (run) => {
				rightQuotient.columns!(run);
				const right = run.columns.get("inverse 1")!;
				run.columns.set(
					"inverse 1",
					right.map((one) => one + 1n),
				);
			},
			seen: seeing("inverse 1", (list) => list.map((one) => one - 1n)),
			isUnclaimed: ofLookups("inverse"),
		},
		"PROOF_CLAIMS",
	],
	...Object.fromEntries(
		["lowScore", "inverse0", "remainder0", "rest0"].map((column) => [
			`${column} is committed`,
			[claimed(column, column === "lowScore" ? "() => unit" : "row"), uncommitted(column), "PROOF_CLAIMS"] as const,
		]),
	),
	...Object.fromEntries(
		["scoreHelper", "inverseHelper", "remainderHelper", "restHelper"].map((column) => [
			`${column} is committed`,
			[claimed(column, column === "scoreHelper" ? "() => unit" : "row"), turned(column), "PROOF_CLAIMS"] as const,
		]),
	),
	...Object.fromEntries(
		["exp", "top"].map((column) => [
			`${column} is committed`,
			[claimed(column, "() => unit"), uncommitted(column, ofLookups(column), rotated), "PROOF_CLAIMS"] as const,
		]),
	),
};

test("every claim and every term of softmax is on the list", () => {
	const source = readFileSync(fileURLToPath(new URL("./check-softmax.ts", import.meta.url)), "utf8");
	const checks = source.split("\n").filter((line) => /\bclaimed\("|run\.claim\(|fractionFault\(field, /.test(line));
	const removed = Object.values(CASES).map(([{ line }]) => line);
	assert.deepEqual(
		checks.filter((line) => !removed.some((one) => line.includes(one))),
		[],
	);
});

/** A start of which the cheated run stays in its ranges too. */
function startIn(shape: Shape, run: RunCheat | undefined): Start {
	for (let i = 0; i < 1000; i++) {
		const start = drawnStart(shape, `cheated ${i}`, 14);
		if (leftRange(shape, runSegment(shape, start, run)) === null) return start;
	}
	throw new Error("no such run");
}

const needs = needsOf(SOFTMAX, startFor(SOFTMAX));
// Every fourth one, unless there is time.
for (const [i, [name, [removed, cheat, code]]] of Object.entries(CASES).entries())
	if (isDeep || i % 4 === 0)
		test(name, () => needs(removed, { start: startIn(cheat.shape ?? SOFTMAX, cheat.run), ...cheat }, code));
