// Proofs of segments by a prover that knows nothing of this verifier: honest ones of random shapes are valid,
// cheating ones are refused with the code of the check that finds them. Each cheater is honest in all else.
// Numbers are small, so that tables are; the plan of a whole program is in tests/zk.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fc, scaled } from "../../../tests/fuzz.test-kit.ts";
import { inverse, mod, R, word } from "../../../vectors/naive-bn254.ts";
import { valueAt } from "../../../vectors/naive-opening.ts";
import type { Shape } from "../../../vectors/naive-plan.ts";
import { statementHash as naiveHash, type SegmentCheat } from "../../../vectors/naive-segment.ts";
import { numbers } from "../../../vectors/rows.ts";
import { equalBytes } from "../../protocol/bytes/bytes.ts";
import { planHash, planOf } from "../../work/plan/compile-plan.ts";
import { type Proven, planFor, prove, shapeOf, startOf } from "./segment.test-kit.ts";
import { ignitionId } from "./srs.ts";
import { gapBetween, gapInRun, type SegmentStatement, statementHash } from "./statement.ts";
import { proofSizes, verifySegment } from "./verify-segment.ts";

const DEV = { isDevAllowed: true } as const;
const SHAPE = shapeOf();
const START = startOf(SHAPE, "segment");
const HONEST = prove(SHAPE, START);

const verdict = (
	{ plan, statement, proof }: Proven,
	change: { statement?: Partial<SegmentStatement>; proof?: Uint8Array } = {},
) => verifySegment(plan, { ...statement, ...change.statement }, change.proof ?? proof, DEV);
const codeOf = (proven: Proven, change = {}) => {
	const found = verdict(proven, change);
	return found.status === "valid" ? "valid" : found.code;
};
const cheated = (cheat: SegmentCheat, start = START, shape: Shape = SHAPE) => codeOf(prove(shape, start, cheat));

test("honest segments of random shapes are valid, and as long as the plan says", () => {
	const draw = numbers("shapes");
	for (let i = 0; i < scaled(4); i++) {
		const sizes = Array.from({ length: 2 + (i % 3) }, () => 1 + draw(4));
		const [batch, steps] = [2 ** draw(2), 2 ** draw(2)];
		const shape = shapeOf({ sizes, batch, steps, rows: 8, scale: 4 + draw(2), chunkBits: [6, 8][i % 2]! });
		const start = startOf(shape, `shape ${i}`, steps * draw(16 / (batch * steps)));
		if (i === 0) assert.equal(sizes.length, 2, "one link");
		const proven = prove(shape, start);
		assert.deepEqual(Buffer.from(planHash(proven.plan)).toString("hex"), proven.statement.plan);
		assert.deepEqual(Buffer.from(statementHash(proven.statement)), Buffer.from(naiveHash(proven.statement)));
		assert.equal(proven.proof.length, proofSizes(proven.plan).bytes);
		assert.equal(codeOf(proven), "valid", JSON.stringify({ sizes, batch, steps }));
	}
});

test("a proof of 11 links of 1,024 with 2,048 rows has less than 12 kB", () => {
	const mlp = {
		sizes: new Array<number>(12).fill(1024),
		batch: 64,
		steps: 32,
		rows: 2 ** 16,
		epochs: 1,
		scale: 27,
	} as const;
	const exact = { ...mlp, weightBits: 64 } as const;
	const widths = { h: 12, d: 14, activation: 8, gradient: 12, limbs: [13, 13, 13] } as const;
	assert.deepEqual(proofSizes(planOf(exact, "00".repeat(32), widths)), { points: 14, scalars: 325, bytes: 11_584 });
});

test("what is said of the bytes is about one group alone, also where it has no power of two of chunks", () => {
	const shape = shapeOf({ sizes: [8, 4, 4], batch: 1, steps: 1, chunkBits: 4 });
	const proven = prove(shape, startOf(shape, "uneven"));
	assert.equal(proven.plan.groups[2]!.chunks, 3);
	const found = verdict(proven);
	assert.equal(found.status, "valid");
	if (found.status !== "valid") return;
	for (const [i, name] of [[2, "before"] as const, [3, "after"] as const]) {
		const list = [...proven.prover.columns.get(`${name} 0`)!, ...proven.prover.columns.get(`${name} 1`)!];
		const padded = [...list.map((one) => mod(one)), ...new Array<bigint>(64 - list.length).fill(0n)];
		assert.equal(found.bytes.values[i], valueAt(padded, found.bytes.point.slice(-6)), name);
	}
});

test("test parameters prove nothing unless they are asked for, nor do powers that nobody knows", () => {
	const { plan, statement, proof } = HONEST;
	const found = verifySegment(plan, statement, proof, { isDevAllowed: false });
	assert.deepEqual([found.status, found.status !== "valid" && found.code], ["inconclusive", "SRS_DEV"]);
	const unknown = verifySegment(plan, { ...statement, srs: "00".repeat(32) }, proof, { isDevAllowed: true });
	assert.deepEqual([unknown.status, unknown.status !== "valid" && unknown.code], ["inconclusive", "SRS_UNKNOWN"]);
	assert.equal(codeOf(HONEST, { statement: { srs: ignitionId(2 ** 14)! } }), "PROOF_STATEMENT");
});

describe("runs that are not the program's", () => {
	const cases: Readonly<Record<string, readonly [SegmentCheat, string]>> = {
		"a rate that is twice the program's": [{ run: { taken: (one) => 2n * one } }, "PROOF_WEIGHTS"],
		"nothing is learnt": [{ run: { taken: () => 0n } }, "PROOF_WEIGHTS"],
		"steps that see the weights of the step before": [{ run: { isStale: true } }, "PROOF_WEIGHTS"],
		"sums that are rounded down": [{ run: { round: (sum, scale) => sum >> scale } }, "PROOF_CLAIMS"],
		"sums that lose one bit more": [
			{ run: { round: (sum, scale) => (sum + (1n << scale)) >> (scale + 1n) } },
			"PROOF_CLAIMS",
		],
		"made-up sums": [{ run: { sum: (use, sum) => (use === "z 0" ? sum + 16n : sum) } }, "PROOF_PRODUCTS"],
		"made-up sums that come back": [
			{ run: { sum: (use, sum) => (use === "q 0" ? sum + 16n : sum) } },
			"PROOF_PRODUCTS",
		],
		"units below 0 that go on": [{ run: { relu: (h) => ({ a: h, m: 1n }) } }, "PROOF_CLAIMS"],
		"gradients through units below 0": [{ run: { relu: (h) => ({ a: h > 0n ? h : 0n, m: 1n }) } }, "PROOF_CLAIMS"],
		"no bias": [{ run: { bias: 0n } }, "PROOF_CLAIMS"],
		"another loss": [{ run: { loss: (h) => h << 1n } }, "PROOF_CLAIMS"],
		"rows in another order": [{ run: { row: (row) => row ^ 1 } }, "PROOF_CLAIMS"],
		"gradients of other rows come back": [
			{ run: { operand: (use, column) => (use === "q 0" ? column.map((one) => -one) : column) } },
			"PROOF_CLAIMS",
		],
		"other units enter the second link": [
			{ run: { operand: (use, column) => (use === "z 1" ? column.with(0, column[0]! + 1n) : column) } },
			"PROOF_CLAIMS",
		],
		"a link learns from other gradients": [
			{ run: { changed: (link, entering, d) => ({ entering, d: link === 0 ? d.map((one) => -one) : d }) } },
			"PROOF_CLAIMS",
		],
	};
	for (const [name, [cheat, code]] of Object.entries(cases)) test(name, () => assert.equal(cheated(cheat), code));

	test("rows of another epoch or place, and of another seed", () => {
		assert.equal(cheated({ statement: { firstStep: 0 } }), "PROOF_CLAIMS");
		assert.equal(cheated({ statement: { firstStep: 4 } }), "PROOF_CLAIMS");
		assert.equal(cheated({ statement: { seed: "08".repeat(32) } }), "PROOF_CLAIMS");
	});

	test("classes as features", () => {
		const shape = shapeOf({ sizes: [2, 3, 2] });
		const swapped = {
			committed: (columns: Map<string, bigint[]>) => {
				columns.set("features 0", columns.get("labels 0")!);
			},
		};
		assert.equal(cheated(swapped, startOf(shape, "classes"), shape), "PROOF_CLAIMS");
	});
});

describe("values that leave their ranges", () => {
	const change = (name: string, to: (list: bigint[]) => bigint[]): SegmentCheat => ({
		columns: ({ columns }) => columns.set(name, to(columns.get(name)!)),
	});
	test("units, gradients, weights and biased units that a clamp would have met", () => {
		const large = (weights: typeof START.weights, by: bigint) => ({
			...START,
			weights: weights.map((m) => m.map((r) => r.map((w) => w * by))),
		});
		assert.equal(cheated({}, large(START.weights, 5n)), "PROOF_CLAIMS");
		const narrow = shapeOf({ limbs: [2, 1, 1] });
		assert.equal(cheated({}, START, narrow), "PROOF_CLAIMS");
		const short = shapeOf({ d: 3 });
		assert.equal(cheated({}, START, short), "PROOF_CLAIMS");
	});
	test("parts of a number that are no whole numbers, or too large", () => {
		const half = inverse(2n);
		assert.equal(cheated(change("low 0", (list) => list.with(0, half))), "PROOF_CLAIMS");
		assert.equal(cheated(change("low 0", (list) => list.with(0, list[0]! + 4n))), "PROOF_CLAIMS");
		assert.equal(cheated(change("low 0", (list) => list.with(0, list[0]! - 4n))), "PROOF_CLAIMS");
		assert.equal(cheated(change("lowBack 0", (list) => list.with(0, list[0]! + 4n))), "PROOF_CLAIMS");
		assert.equal(cheated(change("limb0 0", (list) => list.with(0, list[0]! + 16n))), "PROOF_CLAIMS");
		assert.equal(cheated(change("limb1 1", (list) => list.with(0, half))), "PROOF_CLAIMS");
	});
	test("a unit whose multiple wraps around the field", () => {
		// 16·h is as much as the sum less 1/16 of the order.
		assert.equal(cheated(change("h 0", (list) => list.with(0, mod(list[0]! + inverse(16n))))), "PROOF_CLAIMS");
	});
	test("counts that wrap, or are of another table", () => {
		const counts = (to: (list: bigint[]) => bigint[]): SegmentCheat => ({
			counts: (columns) => columns.set("multiplicity 0", to(columns.get("multiplicity 0")!)),
		});
		assert.equal(cheated(counts((list) => list.map((one) => one + (1n << 32n)))), "PROOF_CLAIMS");
		assert.equal(cheated(counts((list) => list.with(0, list[0]! - 1n))), "PROOF_CLAIMS");
		assert.equal(cheated(counts((list) => list.toReversed())), "PROOF_CLAIMS");
		const swap: SegmentCheat = {
			counts: (columns) => {
				const n = HONEST.plan.tables.findIndex(({ kind }) => kind === "relu");
				const [relu, signed] = [columns.get(`multiplicity ${n}`)!, columns.get(`multiplicity ${n + 1}`)!];
				columns.set(`multiplicity ${n}`, signed).set(`multiplicity ${n + 1}`, relu);
			},
		};
		assert.equal(cheated(swap), "PROOF_CLAIMS");
	});
	test("helpers that make a false sum fit", () => {
		const cheat = (name: string): SegmentCheat => ({
			...change("low 0", (list) => list.with(0, inverse(2n))),
			helpers: (columns) => {
				const sum = (list: string) =>
					mod(
						[...columns]
							.filter(([one]) => one.startsWith(list))
							.flatMap(([, all]) => all)
							.reduce((a, b) => a + b, 0n),
					);
				const gap = mod(sum("tableHelper") - sum("helper") - sum("biasHelper") - sum("weightHelper"));
				const own = columns.get(name)!;
				columns.set(name, own.with(0, mod(own[0]! + (name.startsWith("table") ? -gap : gap))));
			},
		});
		for (const name of ["tableHelper 0", "helper 0", "helperBack 0", "biasHelper 0", "weightHelper 1"])
			assert.equal(cheated(cheat(name)), "PROOF_LOOKUPS", name);
	});
});

test("whatever the prover leaves out of the transcript, the proof is refused", () => {
	for (let kind = 1; kind <= 12; kind++)
		assert.notEqual(cheated({ isUnheard: (one) => one === kind }), "valid", `message ${kind}`);
});

test("each field of the statement is heard, and none can be changed afterwards", () => {
	const other: SegmentStatement = {
		...{ version: 1, chainId: "6", job: "7", program: "08".repeat(32), plan: "08".repeat(32), srs: "dev" },
		...{ seed: "08".repeat(32), firstStep: 4, steps: 2, features: "12".repeat(32), labels: "23".repeat(32) },
		...{ stateBefore: "34".repeat(32), stateAfter: "45".repeat(32) },
		...{ featurePoints: HONEST.statement.labelPoints, labelPoints: HONEST.statement.featurePoints },
		...{ pointsBefore: HONEST.statement.pointsAfter, pointsAfter: HONEST.statement.pointsBefore },
	};
	for (const name of Object.keys(other) as (keyof SegmentStatement)[]) {
		if (name === "version" || name === "srs" || name === "steps") continue;
		assert.notEqual(codeOf(HONEST, { statement: { [name]: other[name] } }), "valid", name);
		assert.notDeepEqual(
			statementHash({ ...HONEST.statement, [name]: other[name] }),
			statementHash(HONEST.statement),
			name,
		);
	}
});

test("every scalar that is sent counts", () => {
	const codes: Readonly<Record<number, string>> = {
		3: "PROOF_LOOKUPS",
		4: "PROOF_LOOKUPS",
		5: "PROOF_PRODUCTS",
		6: "PROOF_PRODUCTS",
		7: "PROOF_WEIGHTS",
		8: "PROOF_WEIGHTS",
		9: "PROOF_WEIGHTS",
		10: "PROOF_CLAIMS",
		11: "PROOF_CLAIMS",
		12: "PROOF_CLAIMS",
	};
	const { plan, proof } = HONEST;
	const sizes = proofSizes(plan);
	// By bytes: what follows is drawn anew, so a later sum may be the first that fails.
	for (let i = 0; i < sizes.scalars; i += 11) {
		const at = 64 * sizes.points + 32 * i + 31;
		const changed = proof.slice();
		changed[at]! ^= 1;
		assert.notEqual(codeOf(HONEST, { proof: changed }), "valid", `scalar ${i}`);
	}
	// By a prover that goes on honestly.
	for (const [kind, code] of Object.entries(codes)) {
		let isDone = false;
		const sent = (one: number, list: readonly bigint[]) => {
			if (one !== Number(kind) || isDone) return list;
			isDone = true;
			return list.with(-1, mod(list.at(-1)! + 1n));
		};
		assert.equal(cheated({ sent }), code, `message ${kind}`);
	}
});

/** One bit; one number for another; two exchanged; one more. */
function mutated(proof: Uint8Array, how: number, bit: number, other: number): Uint8Array {
	const changed = Uint8Array.from(proof);
	const words = proof.length / 32;
	const [at, from] = [32 * (Math.floor(bit / 256) % words), 32 * (other % words)];
	if (how === 0) changed[bit >> 3]! ^= 1 << (bit & 7);
	if (how === 1 || how === 2) changed.set(proof.subarray(from, from + 32), at);
	if (how === 2) changed.set(proof.subarray(at, at + 32), from);
	if (how === 3) {
		const number = BigInt(`0x${Buffer.from(proof.subarray(at, at + 32)).toString("hex")}`);
		changed.set(word((number + 1n) % 2n ** 256n), at);
	}
	return changed;
}

test("one change anywhere: never valid, never an exception", () => {
	const { proof } = HONEST;
	fc.assert(
		fc.property(fc.nat(3), fc.nat(8 * proof.length - 1), fc.nat(), (how, bit, other) => {
			const changed = mutated(proof, how, bit, other);
			if (!equalBytes(changed, proof)) assert.notEqual(codeOf(HONEST, { proof: changed }), "valid");
		}),
		{ numRuns: scaled(20) },
	);
});

test("another length or spelling is refused as that", () => {
	const { proof, plan } = HONEST;
	const form = (bytes: Uint8Array) => assert.equal(codeOf(HONEST, { proof: bytes }), "PROOF_FORM");
	form(proof.subarray(1));
	form(Buffer.concat([proof, new Uint8Array(1)]));
	form(new Uint8Array(0));
	const points = 64 * proofSizes(plan).points;
	const put = (at: number, bytes: Uint8Array) => {
		const changed = Uint8Array.from(proof);
		changed.set(bytes, at);
		return changed;
	};
	const scalar = BigInt(`0x${Buffer.from(proof.subarray(points, points + 32)).toString("hex")}`);
	form(put(points, word(scalar + R)));
	form(put(points, new Uint8Array(32).fill(255)));
	form(put(0, word(1n)));
	form(put(0, new Uint8Array(32).fill(255)));
	assert.notEqual(codeOf(HONEST, { proof: put(0, new Uint8Array(points)) }), "valid", "all at infinity");
	assert.notEqual(codeOf(HONEST, { proof: new Uint8Array(proof.length) }), "valid");
	const off = { featurePoints: [`${"00".repeat(31)}01${"00".repeat(32)}`] };
	assert.equal(codeOf(HONEST, { statement: off }), "PROOF_FORM");
});

test("a statement that is no segment of the plan is refused", () => {
	const misfits: Partial<SegmentStatement>[] = [
		...[
			{ program: "08".repeat(32) },
			{ plan: "08".repeat(32) },
			{ steps: 4 },
			{ firstStep: 1 },
			{ firstStep: 8 },
			{ firstStep: 2 ** 32 },
		],
		...[{ pointsAfter: [] }, { featurePoints: [...HONEST.statement.featurePoints, ...HONEST.statement.featurePoints] }],
	];
	for (const statement of misfits)
		assert.equal(codeOf(HONEST, { statement }), "PROOF_STATEMENT", JSON.stringify(statement));
	const other = planFor(shapeOf({ scale: 5 }));
	const found = verifySegment(other, HONEST.statement, HONEST.proof, DEV);
	assert.equal(found.status === "invalid" && found.code, "PROOF_STATEMENT");
});

test("segments follow each other, and nothing else does", () => {
	const weights = (name: string) =>
		SHAPE.sizes.slice(1).map((n, l) => {
			const flat = HONEST.prover.columns.get(`${name} ${l}`)!;
			const width = 2 ** Math.ceil(Math.log2(SHAPE.sizes[l]!));
			return Array.from({ length: n }, (_, i) => flat.slice(i * width, i * width + SHAPE.sizes[l]!));
		});
	const told = { statement: { stateBefore: HONEST.statement.stateAfter, stateAfter: "55".repeat(32) } };
	const next = prove(SHAPE, { ...START, weights: weights("after"), firstStep: 4 }, told);
	assert.equal(codeOf(next), "valid");
	assert.equal(gapBetween(HONEST.statement, next.statement), null);
	assert.match(gapBetween(next.statement, HONEST.statement)!.detail, /comes next/);
	assert.match(gapBetween(HONEST.statement, HONEST.statement)!.detail, /comes next/);
	// Of a proof by another prover nothing else differs; one proof of both has one job.
	const changes: Readonly<Record<string, Partial<SegmentStatement>[]>> = {
		none: [{ chainId: "1" }, { job: "1" }],
		PROOF_GAP: [
			...[{ program: "00" }, { plan: "00" }, { srs: "00" }, { seed: "00" }, { steps: 1 }],
			...[{ features: "00" }, { labels: "00" }, { firstStep: 6 }],
		],
		PROOF_CHAIN: [{ featurePoints: [] }, { labelPoints: [] }, { stateBefore: "00" }, { pointsBefore: [] }],
	};
	assert.equal(gapInRun(HONEST.statement, next.statement), null);
	for (const [code, list] of Object.entries(changes))
		for (const change of list) {
			const other = { ...next.statement, ...change };
			assert.equal(gapBetween(HONEST.statement, other)?.code ?? "none", code, JSON.stringify(change));
			assert.notEqual(gapInRun(HONEST.statement, other), null);
		}
	// A proof under another segment's statement.
	assert.notEqual(codeOf({ ...HONEST, statement: next.statement }), "valid");
	assert.notEqual(codeOf({ ...next, statement: HONEST.statement }), "valid");
});
