// Each check of the verifier of segments, removed alone, lets a cheater pass that is honest in all else; with it, the cheater is refused. The list has every claim about a column,
// every term of the first sum, both other sums, the joined claim and the opening: a check that nothing here needs would be missing from the list of lines below.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { isDeep } from "../../../tests/fuzz.test-kit.ts";
import { inverse, mod, R } from "../../../vectors/naive-bn254.ts";
import { leftRange, type Run, runSegment, type Shape, type Start } from "../../../vectors/naive-plan.ts";
import type { SegmentCheat } from "../../../vectors/naive-segment.ts";
import { drawnStart, prove, shapeOf, startOf } from "./segment.test-kit.ts";
import { verifySegment } from "./verify-segment.ts";

type Verify = typeof verifySegment;

/** A line of the verifier, and what stands there without the check. */
interface Removed {
	readonly file: "check-lookups" | "check-products" | "statement" | "verify-segment";
	readonly line: string;
	readonly instead: string;
}

const removals: Removed[] = [];
registerHooks({
	resolve(specifier, context, next) {
		const found = next(specifier, context);
		const removed = /\?removed=(\d+)$/.exec(context.parentURL ?? "");
		return removed && found.url.includes("/verify/zk/") ? { ...found, url: `${found.url}${removed[0]}` } : found;
	},
	load(url, context, next) {
		const removed = /\/([a-z-]+)\.ts\?removed=(\d+)$/.exec(url);
		if (removed === null) return next(url, context);
		const source = readFileSync(fileURLToPath(url.replace(/\?.*/, "")), "utf8");
		const { file, line, instead } = removals[Number(removed[2])]!;
		if (file !== removed[1]) return { format: "module-typescript", source, shortCircuit: true };
		assert.equal(source.split(line).length, 2, `${line} stands once in ${file}`);
		return { format: "module-typescript", source: source.replace(line, instead), shortCircuit: true };
	},
});

async function verifierWithout(removed: Removed): Promise<Verify> {
	removals.push(removed);
	return (await import(`./verify-segment.ts?removed=${removals.length - 1}`)).verifySegment as Verify;
}

const SHAPE = shapeOf();
const START = startOf(SHAPE, "segment");

interface Cheater extends SegmentCheat {
	readonly shape?: Shape;
	readonly start?: Start;
}

async function needs(removed: Removed, { shape, start, ...cheat }: Cheater, code: string): Promise<void> {
	const { plan, statement, proof } = prove(shape ?? SHAPE, start ?? START, cheat);
	const verdict = verifySegment(plan, statement, proof, { isDevAllowed: true });
	assert.equal(verdict.status === "invalid" && verdict.code, code);
	const without = (await verifierWithout(removed))(plan, statement, proof, { isDevAllowed: true });
	assert.equal(without.status === "invalid" ? without.code : "valid", "valid");
}

const columns = (...changes: readonly [string, (list: bigint[]) => bigint[]][]): SegmentCheat => ({
	columns: ({ columns: all }: Run) => {
		for (const [name, to] of changes) all.set(name, to(all.get(name)!));
	},
});
/** Somebody's helper is made to fit, so that the sum over all helpers is right. */
const fitted =
	(name: string): NonNullable<SegmentCheat["helpers"]> =>
	(all) => {
		const sum = (start: string) => {
			const lists = [...all].filter(([one]) => one.startsWith(start)).map(([, list]) => list);
			return lists.flat().reduce((a, b) => a + b, 0n);
		};
		const gap = mod(sum("tableHelper") - sum("helper") - sum("biasHelper") - sum("weightHelper"));
		const own = all.get(name)!;
		all.set(name, own.with(0, mod(own[0]! + (name.startsWith("table") ? -gap : gap))));
	};
/** A value that lies in no table. */
const NOWHERE = columns(["low 0", (list) => list.with(0, inverse(2n))]);
/** Claims of the first sum about a column. */
const ofLookups = (column: string) => (name: string) => name.startsWith(`${column} `) && name.endsWith(" of lookups");
/** A column is used as it must be, and zeros are committed. */
const uncommitted = (column: string, isUnclaimed = ofLookups(column)): SegmentCheat => ({
	isUnclaimed,
	committed: (all) => {
		for (const [name, list] of all)
			if (name.startsWith(`${column} `))
				all.set(
					name,
					list.map(() => 0n),
				);
	},
});
const lookup = (line: string, instead: string): Removed => ({ file: "check-lookups", line, instead });
const product = (line: string, instead: string): Removed => ({ file: "check-products", line, instead });
const whole = (line: string, instead: string): Removed => ({ file: "verify-segment", line, instead });
const minus = (list: readonly bigint[]) => list.map((one) => -one);

const dropped = (term: string, part: number): SegmentCheat => ({
	isDropped: (name, number) => name.startsWith(term) && number === part,
});
/** The first value of a column that can have `by` less, so that what is above it has one more and stays in its table. */
const shifted =
	(name: string, by: bigint, wholeOf: (run: Run, i: number) => bigint): NonNullable<SegmentCheat["columns"]> =>
	(run) => {
		const list = run.columns.get(name)!;
		const i = list.findIndex((_, k) => (wholeOf(run, k) / by) % 4n < 3n);
		run.columns.set(name, list.with(i, list[i]! - by));
	};
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
		lookup("fault: fractionFault(helper, forth)", "fault: 0n"),
		{ ...NOWHERE, helpers: fitted("helper 0"), without: ["forth 0", "forth 1"] },
		"PROOF_LOOKUPS",
	],
	"rounding back": [
		lookup("fault: fractionFault(helperBack, back)", "fault: 0n"),
		{ ...NOWHERE, helpers: fitted("helperBack 0"), without: ["back 0", "back 1"] },
		"PROOF_LOOKUPS",
	],
	"biased units": [
		lookup("fault: fractionFault(biasHelper, [entering])", "fault: 0n"),
		{ ...NOWHERE, helpers: fitted("biasHelper 0"), without: ["bias 0"] },
		"PROOF_LOOKUPS",
	],
	"weights at the end": [
		lookup("fault: fractionFault(weightHelper, limbs)", "fault: 0n"),
		{ ...NOWHERE, helpers: fitted("weightHelper 0"), without: ["weight 0", "weight 1"] },
		"PROOF_LOOKUPS",
	],
	"rows of tables": [
		lookup("helper * lookups.part(of, tableAt(table, point)) - multiplicity", "0n"),
		{ ...NOWHERE, helpers: fitted("tableHelper 0"), without: Array.from({ length: 9 }, (_, i) => `table ${i}`) },
		"PROOF_LOOKUPS",
	],
	"the sum of helpers": [
		lookup("gammas[terms.length]! * helper)", "0n * helper)"),
		{ ...NOWHERE, without: ["helpers"] },
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
		lookup("scale - lowBits, high), value]", "scale - lowBits, high)]"),
		{ run: { relu: (h) => ({ a: h, m: h > 0n ? 1n : 0n }) }, ...dropped("forth", 2) },
		"PROOF_LOOKUPS",
	],
	"the range of d": [
		lookup("[lookups.signed(plan.d, d)]", "[] as bigint[]"),
		{ ...dropped("back", 0), shape: shapeOf({ d: 3 }) },
		"PROOF_LOOKUPS",
	],
	"the lower part back": [
		lookup("back.push(lookups.range(lowBits, lowBack), ", "back.push("),
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
		lookup(", lookups.range(scale - lowBits, highBack));", ");"),
		{ run: { round: (sum, scale, use) => (use === "q" ? sum : sum + 8n) >> scale }, ...dropped("back", 2) },
		"PROOF_LOOKUPS",
	],
	"biased units in their range": [
		lookup("fractionFault(biasHelper, [entering])", "fractionFault(biasHelper, [])"),
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
	...Object.fromEntries(
		["h", "m", "low", "lowBack", "helper", "helperBack"].map((column) => [
			`the column ${column}`,
			[lookup(`claimed("${column}", point)`, "next()"), uncommitted(column), "PROOF_CLAIMS"] as const,
		]),
	),
	"the column biasHelper": [
		lookup('claimed("biasHelper", there)', "next()"),
		uncommitted("biasHelper"),
		"PROOF_CLAIMS",
	],
	...Object.fromEntries(
		["after", "limb0", "limb1"].map((column) => [
			`the column ${column}`,
			[
				lookup("claimed(name, weightPoint)", `(name === "${column}" ? next() : claimed(name, weightPoint))`),
				...[uncommitted(column), "PROOF_CLAIMS"],
			] as unknown as readonly [Removed, Cheater, string],
		]),
	),
	"the column weightHelper": [
		lookup('claimed("weightHelper", weightPoint)', "next()"),
		uncommitted("weightHelper"),
		"PROOF_CLAIMS",
	],
	"the counts": [
		lookup('run.claim("multiplicity", of, point, multiplicity);', ""),
		uncommitted("multiplicity"),
		"PROOF_CLAIMS",
	],
	"the tables' helpers": [
		lookup('run.claim("tableHelper", of, point, helper);', ""),
		uncommitted("tableHelper"),
		"PROOF_CLAIMS",
	],
	"units after relu are those that are committed": [
		lookup('claimed("a", point)', "next()"),
		{
			run: { relu: (h) => ({ a: h, m: h > 0n ? 1n : 0n }) },
			seen: (name, list) => (name === "a 0" ? list.map((one) => (one > 0n ? one : 0n)) : list),
			isUnclaimed: ofLookups("a"),
		},
		"PROOF_CLAIMS",
	],
	"gradients in their range are those that are committed": [
		lookup('claimed("d", point)', "next()"),
		{
			run: { gradient: (d) => d + 1n },
			seen: (name, list) => (name === "d 0" ? list.map((one) => one - 1n) : list),
			isUnclaimed: ofLookups("d"),
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
	"biased units are those that are committed": [
		lookup('claimed("a", [...there, ...cornerOf(outputs - 1, outputBits)])', "next()"),
		{
			start: startWhere(/^what enters/),
			seen: (name, list) => (name === "last 0" ? list.map(() => 0n) : list),
			isUnclaimed: (name) => name === "a 0 of bias",
		},
		"PROOF_CLAIMS",
	],
	"the loss": [
		lookup("run.claimClasses(point.slice(0, places), point.slice(places), y);", ""),
		{ run: { loss: (h) => h << 1n }, isUnclaimed: (name) => name.endsWith(" of loss") },
		"PROOF_CLAIMS",
	],
	"products forth": [
		product("return sum === claim ? uses : null;", "return uses;"),
		{ run: { sum: (use, sum) => (use === "z 0" ? sum + 16n : sum) } },
		"PROOF_PRODUCTS",
	],
	"what enters a product": [
		product("else run.claimEntering(link, place, inner, operand);", ""),
		{
			run: { operand: (use, list) => (use === "z 0" ? list.with(0, list[0]! + 1n) : list) },
			isUnclaimed: (name) => /^(features|a) \d of z/.test(name),
		},
		"PROOF_CLAIMS",
	],
	"what comes back to a product": [
		product('if (isBack) run.claim("d", link, [...place, ...inner], operand);\n\t\telse', "if (!isBack)"),
		{
			run: { operand: (use, list) => (use === "q 0" ? minus(list) : list) },
			isUnclaimed: (name) => /^d \d of q \d$/.test(name),
		},
		"PROOF_CLAIMS",
	],
	"what steps take away": [
		product("return sum === claim;", "return true;"),
		{ run: { taken: () => 0n } },
		"PROOF_WEIGHTS",
	],
	"weights at the start": [
		product('run.claim("before", link, [...output, ...input], starts[i]!);', ""),
		uncommitted("before", (name) => name.includes(" of start of ")),
		"PROOF_CLAIMS",
	],
	"what enters a change": [
		product("run.claimEntering(link, point, input, entering);", ""),
		{
			run: { changed: (_, entering, d) => ({ entering: entering.map(() => 0n), d }) },
			isUnclaimed: (name) => /^(features|a) \d of change/.test(name),
		},
		"PROOF_CLAIMS",
	],
	"the gradients of a change": [
		product('run.claim("d", link, [...point, ...output], d);', ""),
		{
			run: { changed: (_, entering, d) => ({ entering, d: d.map(() => 0n) }) },
			isUnclaimed: (name) => /^d \d of change/.test(name),
		},
		"PROOF_CLAIMS",
	],
	"what is said of the bytes": [
		whole("run.claims.push({", "void ({"),
		{
			sent: (kind, list) => (kind === 10 ? list.map((one) => mod(one + 1n)) : list),
			isUnclaimed: (name) => name.endsWith(" of bytes"),
		},
		"PROOF_CLAIMS",
	],
	"all claims at once": [
		whole("if (mod(kernel * value) !== claim) return null;", ""),
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
	const lines = sources.flatMap((source) => source.split("\n")).filter((line) => !/^\s*(\/\/|\*|\/\*\*)/.test(line));
	const checks = lines.filter((line) =>
		/\bclaimed\("|run\.claim\w*\(|claims\.push|fractionFault\(\w+, |sum === claim|!== claim/.test(line),
	);
	const removed = Object.values(CASES).flatMap(([{ line }]) => line.split("\n"));
	const missing = checks.filter(
		(line) => !removed.some((one) => line.includes(one.trim()) || one.includes(line.trim())),
	);
	// What all claims go through, and the whole of the first sum, of which each term is on the list.
	assert.deepEqual(missing, ["\treturn sum === claim ? ends : null;", "\t\trun.claim(column, link, at, value);"]);
});

// Every third one, unless there is time.
for (const [i, [name, [removed, cheat, code]]] of Object.entries(CASES).entries())
	if (isDeep || i % 3 === 0) test(name, () => needs(removed, cheat, code));
