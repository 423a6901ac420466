// Each check of the verifier of segments, removed alone, lets a cheater pass that is honest in all else; with
// it, the cheater is refused. The list has every claim about a column, every term of the first sum, both
// other sums, the joined claim and the opening: a check that nothing here needs would be missing from the
// list of lines below.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { isDeep } from "../../../tests/fuzz.test-kit.ts";
import { inverse, mod, R } from "../../../vectors/naive-bn254.ts";
import { leftRange, type Run, runSegment, type Start, tablesOf } from "../../../vectors/naive-plan.ts";
import type { SegmentCheat } from "../../../vectors/naive-segment.ts";
import {
	type Cheater,
	dropped,
	fitted,
	gapOf,
	NOWHERE,
	needsOf,
	ofLookups,
	turned,
	uncommitted,
} from "./cheaters.test-kit.ts";
import type { Removed } from "./removed.test-kit.ts";
import { drawnStart, shapeOf, startOf } from "./segment.test-kit.ts";

const SHAPE = shapeOf();
const START = startOf(SHAPE, "segment");

const needs = needsOf(SHAPE, START);
const lookup = (line: string, instead: string): Removed => ({ file: "check-lookups", line, instead });
const product = (line: string, instead: string): Removed => ({ file: "check-products", line, instead });
const whole = (line: string, instead: string): Removed => ({ file: "verify-segment", line, instead });
/** A value is read, and nothing is claimed of its columns. */
const claimedAs = (column: string, of: string): Removed =>
	lookup(`values.claimed("${column}", ${of})`, `values.next(${of.slice(0, of.indexOf(", "))})`);

/**
 * The first value of a column that can have `by` less, so that what is above it has one more and stays in its
 * table.
 */
const shifted =
	(name: string, by: bigint, wholeOf: (run: Run, i: number) => bigint): NonNullable<SegmentCheat["columns"]> =>
	(run) => {
		const list = run.columns.get(name)!;
		const i = list.findIndex((_, k) => (wholeOf(run, k) / by) % 4n < 3n);
		run.columns.set(name, list.with(i, list[i]! - by));
	};
/** A run in which gradients of this column alone leave their range. */
function leaving(column: string): { readonly start: Start } {
	const leaves = (run: Run, name: string) =>
		run.columns.get(name)!.some((one) => one * one >= 4n ** BigInt(SHAPE.d - 1));
	for (let i = 0; i < 10_000; i++) {
		const start = drawnStart(SHAPE, `leaving ${i}`, 20);
		const run = runSegment(SHAPE, start);
		if (["d 0", "d 1"].some((name) => leaves(run, name) !== (name === column))) continue;
		if (leftRange({ ...SHAPE, d: 20 }, run) === null) return { start };
	}
	throw new Error("no such run");
}
/** A run in which this, and nothing before it, leaves its range; null: nothing does. */
function startWhere(left: RegExp | null, firstStep = 2): Start {
	for (let i = 0; i < 10_000; i++) {
		const start = { ...drawnStart(SHAPE, `start ${i}`, 14), firstStep };
		const found = leftRange(SHAPE, runSegment(SHAPE, start));
		if (left === null ? found === null : found !== null && left.test(found)) return start;
	}
	throw new Error("no such run");
}

const CASES: Readonly<Record<string, readonly [Removed, Cheater, string]>> = {
	"rounding forth": [
		lookup("is: fractionFault(field, helper, forth)", "is: field.of(0n)"),
		{ ...NOWHERE, helpers: fitted("helper 0"), without: ["forth 0", "forth 1"] },
		"PROOF_LOOKUPS",
	],
	"rounding back": [
		lookup("is: fractionFault(field, helperBack, back)", "is: field.of(0n)"),
		{ ...NOWHERE, helpers: fitted("helperBack 0"), without: ["back 0"] },
		"PROOF_LOOKUPS",
	],
	"gradients of the last link": [
		lookup("is: fractionFault(field, lossHelper, [lookups.signed(plan.d, lossD)])", "is: field.of(0n)"),
		{ ...NOWHERE, helpers: fitted("helperBack 1"), without: ["loss 1"] },
		"PROOF_LOOKUPS",
	],
	"biased units": [
		lookup("is: fractionFault(field, biasHelper, [entering])", "is: field.of(0n)"),
		{ ...NOWHERE, helpers: fitted("biasHelper 0"), without: ["bias 0"] },
		"PROOF_LOOKUPS",
	],
	"weights at the end": [
		lookup("is: fractionFault(field, weightHelper, limbs)", "is: field.of(0n)"),
		{ ...NOWHERE, helpers: fitted("weightHelper 0"), without: ["weight 0", "weight 1"] },
		"PROOF_LOOKUPS",
	],
	"rows of tables": [
		lookup("is: field.less(field.times(tableHelper, row), multiplicity)", "is: field.of(0n)"),
		{ ...NOWHERE, helpers: fitted("tableHelper 0"), without: Array.from({ length: 9 }, (_, i) => `table ${i}`) },
		"PROOF_LOOKUPS",
	],
	"the sum of helpers": [
		lookup("claimHelperSum(run);", ""),
		{ ...NOWHERE, isUnclaimed: (name) => name.endsWith(" of sum") },
		"PROOF_CLAIMS",
	],
	"faults of links and kinds count apart": [
		lookup("const gamma = dialogue.challenge();", "const gamma = dialogue.challenge() && field.of(1n);"),
		{
			...NOWHERE,
			drawn: (name, one) => (name === "gamma" ? 1n : one),
			// What helpers have more, so that their sum fits, others have less, so that the faults do: those of a
			// place, and of two that begin with another bit.
			helpers: (all, alpha, beta) => {
				const { length } = tablesOf(SHAPE);
				const part = (table: number, value: bigint) => mod(alpha - BigInt(table + 1) - beta * value);
				const d = all.get("d 1")!;
				const [first, second] = [part(length - 1, d[0]!), part(length - 1, d[4]!)].map((one) => inverse(one)) as [
					bigint,
					bigint,
				];
				const third = inverse(part(length - 2, all.get("a 0")![2]! + 2n));
				const by = mod(gapOf(all) * inverse(mod(first + second - third)));
				const [loss, bias] = [all.get("helperBack 1")!, all.get("biasHelper 0")!];
				const more = (list: bigint[], i: number, one: bigint) => list.with(i, mod(list[i]! + by * one));
				all.set("helperBack 1", more(more(loss, 0, first), 4, second)).set("biasHelper 0", more(bias, 0, -third));
			},
		},
		"PROOF_LOOKUPS",
	],
	"the lower part forth": [
		lookup("[lookups.range(lowBits, low), ", "["),
		{
			columns: shifted("low 0", 4n, (run, i) => run.z[0]![i]! + 8n - (run.columns.get("h 0")![i]! << 4n)),
			...dropped("forth", 0),
		},
		"PROOF_LOOKUPS",
	],
	"the higher part forth": [
		lookup("lookups.range(scale - lowBits, high), ", ""),
		{ run: { round: (sum, scale, use) => (use === "z" ? sum : sum + 8n) >> scale }, ...dropped("forth", 1) },
		"PROOF_LOOKUPS",
	],
	"relu, and the range of h": [
		lookup(", lookups.part(tag, [h, a, m])]", "]"),
		{ run: { relu: (h) => ({ a: h, m: h > 0n ? 1n : 0n }) }, ...dropped("forth", 2) },
		"PROOF_LOOKUPS",
	],
	"the range of d": [
		lookup("[lookups.signed(plan.d, d), ", "["),
		{ ...dropped("back", 0), ...leaving("d 0") },
		"PROOF_LOOKUPS",
	],
	"the range of the last link's d": [
		lookup("[lookups.signed(plan.d, lossD)]", "[]"),
		{ ...dropped("loss", 0), ...leaving("d 1") },
		"PROOF_LOOKUPS",
	],
	"the lower part back": [
		lookup("lookups.range(lowBits, lowBack), ", ""),
		{
			columns: shifted("lowBack 0", 4n, (run, i) => {
				const [m, d] = [run.columns.get("m 0")![i]!, run.columns.get("d 0")![i]!];
				return m * (run.q[0]![i]! + 8n) - (d << 4n);
			}),
			...dropped("back", 1),
		},
		"PROOF_LOOKUPS",
	],
	"the higher part back": [
		lookup(", lookups.range(scale - lowBits, highBack)]", "]"),
		{ run: { round: (sum, scale, use) => (use === "q" ? sum : sum + 8n) >> scale }, ...dropped("back", 2) },
		"PROOF_LOOKUPS",
	],
	"biased units in their range": [
		lookup("fractionFault(field, biasHelper, [entering])", "fractionFault(field, biasHelper, [])"),
		{ ...dropped("bias", 0), start: startWhere(/^what enters/) },
		"PROOF_LOOKUPS",
	],
	"the first limb": [
		lookup("[lookups.range(bits0, limb0), ", "["),
		{
			columns: ({ columns: all }) => {
				const [limb0, limb1] = [all.get("limb0 0")!, all.get("limb1 0")!];
				const i = limb1.findIndex((one) => one < 7n);
				all.set("limb0 0", limb0.with(i, limb0[i]! - 16n)).set("limb1 0", limb1.with(i, limb1[i]! + 1n));
			},
			...dropped("weight", 0),
		},
		"PROOF_LOOKUPS",
	],
	"the second limb": [
		lookup("lookups.range(bits1, limb1), ", ""),
		{
			columns: shifted("limb1 0", 8n, (run, i) => (run.columns.get("after 0")![i]! + 512n) >> 4n),
			...dropped("weight", 1),
		},
		"PROOF_LOOKUPS",
	],
	"the third limb": [
		lookup(", lookups.range(bits2, limb2)]", "]"),
		{ ...dropped("weight", 2), shape: shapeOf({ limbs: [2, 1, 1] }) },
		"PROOF_LOOKUPS",
	],
	// The last link's is the loss's matter too.
	"the column h": [claimedAs("h", "all, unit"), { ...uncommitted("h 0"), isUnclaimed: ofLookups("h") }, "PROOF_CLAIMS"],
	"the column m": [claimedAs("m", "inner, unit"), uncommitted("m"), "PROOF_CLAIMS"],
	"the column low": [claimedAs("low", "all, unit"), uncommitted("low"), "PROOF_CLAIMS"],
	"the column lowBack": [claimedAs("lowBack", "inner, unit"), uncommitted("lowBack"), "PROOF_CLAIMS"],
	"the column after": [claimedAs("after", "all, weight"), uncommitted("after"), "PROOF_CLAIMS"],
	"the column limb0": [claimedAs("limb0", "all, weight"), uncommitted("limb0"), "PROOF_CLAIMS"],
	"the column limb1": [claimedAs("limb1", "all, weight"), uncommitted("limb1"), "PROOF_CLAIMS"],
	"the counts": [claimedAs("multiplicity", "all, own"), uncommitted("multiplicity"), "PROOF_CLAIMS"],
	"the column helper": [claimedAs("helper", "all, unit"), turned("helper"), "PROOF_CLAIMS"],
	"the column helperBack": [claimedAs("helperBack", "inner, unit"), turned("helperBack 0"), "PROOF_CLAIMS"],
	"the last link's helperBack": [claimedAs("helperBack", "[last], unit"), turned("helperBack 1"), "PROOF_CLAIMS"],
	"the column biasHelper": [claimedAs("biasHelper", "inner, () => places"), turned("biasHelper"), "PROOF_CLAIMS"],
	"the column weightHelper": [claimedAs("weightHelper", "all, weight"), turned("weightHelper"), "PROOF_CLAIMS"],
	"the tables' helpers": [claimedAs("tableHelper", "all, own"), turned("tableHelper"), "PROOF_CLAIMS"],
	"units after relu are those that are committed": [
		claimedAs("a", "inner, unit"),
		{
			run: { relu: (h) => ({ a: h, m: h > 0n ? 1n : 0n }) },
			seen: (name, list) => (name === "a 0" ? list.map((one) => (one > 0n ? one : 0n)) : list),
			isUnclaimed: ofLookups("a"),
		},
		"PROOF_CLAIMS",
	],
	"gradients in their range are those that are committed": [
		claimedAs("d", "inner, unit"),
		{
			run: { gradient: (d) => d + 1n },
			seen: (name, list) => (name === "d 0" ? list.map((one) => one - 1n) : list),
			isUnclaimed: (name) => name === "d 0 of lookups",
			columns: ({ columns: all, q }) => {
				const rest = q[0]!.map((sum, i) => all.get("m 0")![i]! * (sum + 8n) - ((all.get("d 0")![i]! - 1n) << 4n));
				all.set(
					"lowBack 0",
					rest.map((one) => one & 3n),
				);
			},
		},
		"PROOF_CLAIMS",
	],
	"the last link's gradients are those that are committed": [
		claimedAs("d", "[last], unit"),
		{
			...leaving("d 1"),
			seen: (name, list) => (name === "d 1" ? list.map(() => 0n) : list),
			isUnclaimed: (name) => name === "d 1 of lookups",
		},
		"PROOF_CLAIMS",
	],
	"biased units are those that are committed": [
		claimedAs("a", "inner, corner"),
		{
			start: startWhere(/^what enters/),
			seen: (name, list) => (name === "last 0" ? list.map(() => 0n) : list),
			isUnclaimed: (name) => name === "a 0 of bias",
		},
		"PROOF_CLAIMS",
	],
	"the loss": [
		lookup("if (!plan.isSoftmax) claimLoss(run, units[last]!);", ""),
		{ run: { loss: (h) => h << 1n }, isUnclaimed: (name) => name.endsWith(" of loss") },
		"PROOF_CLAIMS",
	],
	"z and q count apart": [
		product("const mu = dialogue.challenge();", "const mu = dialogue.challenge() && field.of(1n);"),
		{
			drawn: (name, one) => (name === "mu" ? 1n : one),
			run: { sum: (use, sum, at) => (at > 0 || use === "z 1" ? sum : use === "z 0" ? sum + 16n : sum - 16n) },
		},
		"PROOF_PRODUCTS",
	],
	products: [
		product("field.areSame(there, claim) ? {", "there !== claim || true ? {"),
		{ run: { sum: (use, sum) => (use === "z 0" ? sum + 16n : sum) } },
		"PROOF_PRODUCTS",
	],
	"what enters a product": [
		product("terms.push(run.entering(link, at, spot, inner, among[i]!));", ""),
		{
			run: { operand: (use, list) => (use.startsWith("z") ? list.map(() => 0n) : list) },
			isUnclaimed: (name) => /^(features|a) \d of z/.test(name),
		},
		"PROOF_CLAIMS",
	],
	"what enters products, and comes back": [
		product("run.claim(operand, terms);", ""),
		{
			run: { operand: (use, list) => (use === "z 0" ? list.with(0, list[0]! + 1n) : list) },
			isUnclaimed: (name) => / of [zq] \d$/.test(name) && !name.includes("start") && !name.includes("change"),
		},
		"PROOF_CLAIMS",
	],
	"what comes back to a product": [
		product('terms.push(run.at("d", link, [...at, ...inner], among[i]!));', ""),
		{
			run: { operand: (use, list) => (use === "q 0" ? list.map(() => 0n) : list) },
			isUnclaimed: (name) => /^d \d of q \d$/.test(name),
		},
		"PROOF_CLAIMS",
	],
	"what steps take away": [
		product(
			"return field.areSame(field.times(innerProduct(field, kernels, among), field.times(entering, d)), claim);",
			"return claim !== undefined;",
		),
		{ run: { taken: () => 0n } },
		"PROOF_WEIGHTS",
	],
	"weights at the start": [
		product("run.claim(start, starts);", ""),
		uncommitted("before", (name) => name.includes(" of start of ")),
		"PROOF_CLAIMS",
	],
	"what enters a change": [
		product("run.claim(entering, entered);", ""),
		{
			run: { changed: (_, entering, d) => ({ entering: entering.map(() => 0n), d }) },
			isUnclaimed: (name) => /^(features|a) \d of change/.test(name),
		},
		"PROOF_CLAIMS",
	],
	"the gradients of a change": [
		product("run.claim(d, gradients);", ""),
		{
			run: { changed: (_, entering, d) => ({ entering, d: d.map(() => 0n) }) },
			isUnclaimed: (name) => /^d \d of change/.test(name),
		},
		"PROOF_CLAIMS",
	],
	"what is said of the bytes": [
		whole("run.claim(values[i]!, [", "void ([values[i]!, "),
		{
			sent: (kind, list) => (kind === 10 ? list.map((one) => mod(one + 1n)) : list),
			isUnclaimed: (name) => name.endsWith(" of bytes"),
		},
		"PROOF_CLAIMS",
	],
	"claims count apart": [
		whole(
			"powers(field, dialogue.challenge(), claims.length)",
			"powers(field, dialogue.challenge() && field.of(1n), claims.length)",
		),
		{
			drawn: (name, one) => (name === "eta" ? 1n : one),
			committed: (all) => {
				const [m, low] = [all.get("m 0")!, all.get("low 0")!];
				all.set("m 0", m.with(0, m[0]! + 1n)).set("low 0", low.with(0, low[0]! - 1n));
			},
		},
		"PROOF_CLAIMS",
	],
	"all claims at once": [
		whole("if (!field.areSame(field.times(innerProduct(field, kernels, etas), value), claim)) return null;", ""),
		{ ...uncommitted("h"), isUnclaimed: () => false },
		"PROOF_CLAIMS",
	],
	"the opening": [
		whole('if (opened === "false") return', 'if (opened === ("never" as string)) return'),
		{ ...uncommitted("h"), isUnclaimed: () => false, isOpenedAsUsed: true },
		"PROOF_OPENING",
	],
	"scalars below the order": [
		whole("if (scalars.some((one) => one >= R))", "if (scalars.length === 0)"),
		{ sent: (kind, list) => (kind === 4 ? list.with(0, list[0]! + R) : list) },
		"PROOF_FORM",
	],
	...Object.fromEntries(
		(
			[
				["the program", "statement.program !== plan.programRoot", { program: "08".repeat(32) }],
				["the plan", "!fits(planHash(plan), statement.plan)", { plan: "08".repeat(32) }],
				["the number of steps", "steps !== plan.steps", { steps: 1 }],
				["where a segment begins", "firstStep % plan.steps !== 0", { firstStep: 3 }],
			] as const
		).map(([name, condition, statement]) => [
			name,
			[
				{ file: "statement", line: `if (${condition})`, instead: "if (false)" },
				{ statement },
				"PROOF_STATEMENT",
			] as const,
		]),
	),
	"the last epoch": [
		{ file: "statement", line: "if ((firstStep + steps) * plan.batch >", instead: "if (0 >" },
		{ start: startWhere(null, 8) },
		"PROOF_STATEMENT",
	],
};

/** Rows of each list that the verifier has, by what it does with them: none may be missing above. */
test("every claim and every term of the verifier is on the list", () => {
	const sources = ["check-lookups", "check-products", "verify-segment"].map((name) =>
		readFileSync(fileURLToPath(new URL(`./${name}.ts`, import.meta.url)), "utf8"),
	);
	const lines = sources
		.flatMap((source) => source.split("\n"))
		.filter((line) => !/^\s*(\/\/|\*|\/\*\*|function )/.test(line));
	const checks = lines.filter((line) =>
		/\bclaimed\("|\bclaim\w*\(run|run\.claim\(|claims\.push|fractionFault\(field, |areSame\(/.test(line),
	);
	const removed = Object.values(CASES).flatMap(([{ line }]) => line.split("\n"));
	const missing = checks.filter(
		(line) => !removed.some((one) => line.includes(one.trim()) || one.includes(line.trim())),
	);
	// What claims go through, and the whole of the first sum, of which each term is on the list.
	assert.deepEqual(missing, [
		"\treturn field.areSame(field.sum(shares), claim) ? { among, units, weights, z, q, after } : null;",
		"\trun.claim(of(0n), [",
	]);
});

// Every third one, unless there is time.
for (const [i, [name, [removed, cheat, code]]] of Object.entries(CASES).entries())
	if (isDeep || i % 3 === 0) test(name, () => needs(removed, cheat, code));
