// Proofs of segments by the prover that is for reading (vectors/naive-segment.ts), honest ones and one
// cheater for each check of the contract, with what it must say. Written to contracts/vectors/zk.json, which
// ZkVerifier.t.sol reads. Over powers of a known τ.
//   node contracts/test/zk-vectors.test-kit.ts
import { writeFileSync } from "node:fs";
import { encodeFunctionData, type Hex, toFunctionSelector } from "viem";
import { zkVerifierAbi } from "../../src/chain/abi/zk-verifier-abi.ts";
import type { G2 } from "../../src/protocol/maths/bn254.ts";
import { OPENING_BYTES } from "../../src/verify/zk/opening.ts";
import { drawnStart, planFor, prove, shapeOf } from "../../src/verify/zk/segment.test-kit.ts";
import { tauOf } from "../../src/verify/zk/srs.ts";
import type { SegmentStatement } from "../../src/verify/zk/statement.ts";
import { planWords } from "../../src/work/plan/compile-plan.ts";
import { inverse, mod, R } from "../../vectors/naive-bn254.ts";
import { leftRange, runSegment, type Shape, type Start } from "../../vectors/naive-plan.ts";
import type { SegmentCheat } from "../../vectors/naive-segment.ts";

const hex = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString("hex")}`;

/** τ of the powers `dev` in the second group, as the contract takes it. */
export function devTau() {
	const { x, y } = (tauOf("dev", { isDevAllowed: true }) as G2).toAffine();
	return { xi: x.c1, xr: x.c0, yi: y.c1, yr: y.c0 };
}

/** Powers of a known τ have no id: zeros stand for it in a statement. */
export const DEV_BITS = [4n, 6n, 8n, 10n, 12n, 14n, 16n, 18n, 20n, 22n, 24n];
export const NO_ID: Hex = `0x${"00".repeat(32)}`;

/** What the contract is asked: `mustHold`. `more`: hex behind the commitments. */
export function heldCall(statement: SegmentStatement, proof: Uint8Array, more = ""): Hex {
	const { job, seed, firstStep, features, labels, stateBefore, stateAfter } = statement;
	const roots = { seed, features, labels, stateBefore, stateAfter };
	const words = Object.fromEntries(Object.entries(roots).map(([name, text]) => [name, `0x${text}`])) as {
		[Name in keyof typeof roots]: Hex;
	};
	const said = { job: BigInt(job), firstStep: BigInt(firstStep), ...words };
	const args = [`0x${statement.plan}`, said, `${pointsOf(statement)}${more}` as Hex, hex(proof)] as const;
	return encodeFunctionData({ abi: zkVerifierAbi, functionName: "mustHold", args });
}

/** Commitments of the statement, in the order of their groups. */
const pointsOf = ({ featurePoints, labelPoints, pointsBefore, pointsAfter }: SegmentStatement): Hex =>
	`0x${[featurePoints, labelPoints, pointsBefore, pointsAfter].flat().join("")}`;

interface ZkRow {
	readonly name: string;
	readonly plan: Hex;
	readonly call: Hex;
	/** Null: it holds. */
	readonly wanted: string | null;
}

/** A run from this step in which no value leaves its range. */
export function startAt(shape: Shape, label: string, firstStep: number): Start {
	for (let i = 0; i < 10_000; i++) {
		const start = { ...drawnStart(shape, `${label} ${i}`, 14), firstStep };
		if (leftRange(shape, runSegment(shape, start)) === null) return start;
	}
	throw new Error("no run of this shape stays in its ranges");
}

function row(
	name: string,
	wanted: string | null,
	change: Partial<Shape>,
	cheat: SegmentCheat = {},
	firstStep?: number,
): ZkRow {
	const shape = shapeOf(change);
	const start = startAt(shape, `contract ${name}`, firstStep ?? shape.steps);
	const { statement, proof } = prove(shape, start, cheat);
	return { name, plan: hex(planWords(planFor(shape))), call: heldCall(statement, proof), wanted };
}

/** True ones with bytes more than the plan says, which nothing else would look at. */
function longer(): readonly ZkRow[] {
	const shape = shapeOf();
	const start = startAt(shape, "contract longer", shape.steps);
	const { statement, proof } = prove(shape, start);
	const inside = Buffer.concat([proof.subarray(0, -OPENING_BYTES), new Uint8Array(32), proof.subarray(-OPENING_BYTES)]);
	const known = { plan: hex(planWords(planFor(shape))), wanted: "ProofLength(uint256,uint256)" };
	return [
		{ ...known, name: "a byte behind the commitments", call: heldCall(statement, proof, "00") },
		{ ...known, name: "a word before the opening", call: heldCall(statement, inside) },
	];
}

/** Used as it must be, and zeros are committed. */
const UNCOMMITTED: SegmentCheat = {
	committed: (all) => {
		const list = all.get("h 0")!;
		all.set(
			"h 0",
			list.map(() => 0n),
		);
	},
};

const NOWHERE: SegmentCheat = {
	columns: ({ columns }) => {
		columns.set("low 0", columns.get("low 0")!.with(0, inverse(2n)));
	},
};

/** The sum of all helpers is made right by one of them. */
function fitted(all: Map<string, bigint[]>): void {
	const sum = (start: string) =>
		[...all].flatMap(([name, list]) => (name.startsWith(start) ? list : [])).reduce((a, b) => a + b, 0n);
	const own = all.get("helper 0")!;
	const gap = sum("tableHelper") - sum("helper") - sum("biasHelper") - sum("weightHelper");
	all.set("helper 0", own.with(0, mod(own[0]! + gap)));
}

export const zkRows = (): readonly ZkRow[] => [
	row("two links", null, {}),
	row("one link", null, { sizes: [3, 2] }),
	row("links of different sizes", null, { sizes: [5, 4, 3, 2], chunkBits: 10 }),
	row("many chunks", null, { sizes: [8, 4, 4], batch: 1, steps: 1, chunkBits: 4 }),
	row("four steps of one row", null, { batch: 1, steps: 4 }),
	row(
		"a value in no table, which no helper counts",
		"ClaimsFalse",
		{},
		{ ...NOWHERE, isUnclaimed: (name) => name.endsWith(" of sum") },
	),
	row("a value in no table, and a helper that fits it", "LookupsFalse", {}, { ...NOWHERE, helpers: fitted }),
	row(
		"a sum that is no product",
		"ProductsFalse",
		{},
		{ run: { sum: (use, sum) => (use === "z 0" ? sum + 16n : sum) } },
	),
	row("steps that take nothing away", "WeightsFalse", {}, { run: { taken: () => 0n } }),
	row("zeros instead of what is used", "ClaimsFalse", {}, UNCOMMITTED),
	row("zeros instead of what is opened", "OpeningFalse", {}, { ...UNCOMMITTED, isOpenedAsUsed: true }),
	row(
		"other values of the bytes",
		"ClaimsFalse",
		{},
		{
			sent: (kind, list) => (kind === 10 ? list.map((one) => mod(one + 1n)) : list),
			isUnclaimed: (name) => name.endsWith(" of bytes"),
		},
	),
	row(
		"labels that are not those of the rows",
		"ClaimsFalse",
		{},
		{
			run: { loss: (h) => h << 1n },
			isUnclaimed: (name) => name.endsWith(" of loss"),
		},
	),
	row(
		"another spelling of a scalar",
		"NumberTooLarge",
		{},
		{
			sent: (kind, list) => (kind === 4 ? list.with(0, list[0]! + R) : list),
		},
	),
	row("a segment that begins between two", "SegmentInvalid", {}, { statement: { firstStep: 3 } }),
	row("a segment after the last epoch", "SegmentInvalid", {}, {}, 8),
	...longer(),
];

/** Lists run in parallel, so that Solidity can parse them. */
export function zkVectors(): string {
	const rows = zkRows();
	const selector = (error: string | null) =>
		error === null ? 0 : Number(toFunctionSelector(error.includes("(") ? error : `${error}()`));
	const { xi, xr, yi, yr } = devTau();
	return `${JSON.stringify({
		tau: [xi, xr, yi, yr].map((one) => `0x${one.toString(16)}`),
		names: rows.map(({ name }) => name),
		plans: rows.map(({ plan }) => plan),
		calls: rows.map(({ call }) => call),
		wanted: rows.map(({ wanted }) => selector(wanted)),
	})}\n`;
}

if (import.meta.main) writeFileSync(new URL("../vectors/zk.json", import.meta.url), zkVectors());
