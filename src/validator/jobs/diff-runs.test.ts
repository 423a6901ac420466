// Cheaters against their own words: a run in which one element of one op was changed is found out and
// convicted by a fraud file, for every op of every sample; liars who answer otherwise are convicted too, or
// their answer is none.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isDeep } from "../../../tests/fuzz.test-kit.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, equalBytes } from "../../protocol/bytes/bytes.ts";
import { TOY_SAMPLES, type ToyRun, toyOpener, toyRun } from "../../provider/jobs/toy-run.test-kit.ts";
import { readRunFolder } from "../../store/runs/run-folder.ts";
import type { Answers } from "../../verify/optimistic/answers.ts";
import { verifyFraud } from "../../verify/optimistic/fraud/judge-fraud.ts";
import { narrow } from "../../verify/optimistic/next-question.ts";
import { mlpSample, numbersFrom, type Sample } from "../../work/builder/samples.test-kit.ts";
import { elementCount } from "../../work/operators/tensor-type.ts";
import { buildWorkload } from "../../work/workloads/build-workload.ts";
import { readJob } from "../../work/workloads/read-job.ts";
import { checkRun, drawWindows, windowsOf } from "./check-run.ts";
import { diffRuns, type Side } from "./diff-runs.ts";
import { answersOf, openRun, replayOf } from "./open-run.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-diff-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
let folders = 0;

type Cheat = NonNullable<ToyRun["cheat"]>;
const SEGMENTS = 3;
const MOST_BYTES = 16 * 1024;

async function sideOf(sample: Sample, cheat?: Cheat, segments = SEGMENTS): Promise<Side> {
	const path = join(scratch, `run${folders++}`);
	await toyRun(path, { sample, segments, ...(cheat && { cheat }) });
	const folder = readRunFolder(path);
	return { run: await openRun(folder), open: toyOpener(folder.storePath, cheat) };
}
const answersFor = (side: Side) => answersOf(side.run, replayOf(side.run, side.open, 0), "journal");

const honest = new Map<string, Side>();
before(async () => {
	for (const [name, make] of Object.entries(TOY_SAMPLES)) honest.set(name, await sideOf(make()));
});

for (const [name, make] of Object.entries(TOY_SAMPLES))
	test(`${name}: one changed element in any op is found, of every third op outside the deep tier, and the file convicts its run alone`, async () => {
		const sample = make();
		const draw = numbersFrom(5);
		const a = honest.get(name)!;
		const places = (["init", "step"] as const).flatMap((phase) =>
			sample.program[phase].map(({ output }, op) => {
				const step = phase === "init" ? 0 : draw(sample.program.k);
				return { segment: phase === "init" ? 0 : 2, step, op, element: draw(elementCount(output.dims)) };
			}),
		);
		let unseen = 0;
		const tried = isDeep ? places : places.filter((_, i) => i % 3 === name.length % 3);
		for (const cheat of tried) {
			const b = await sideOf(sample, cheat);
			let file: Uint8Array | null;
			if (equalBytes(a.run.hash, b.run.hash)) {
				// What no state and no result depends on: only the trace of the segment tells.
				unseen += 1;
				file = await narrow(b.run, answersFor(a), answersFor(b), cheat.segment);
			} else {
				const { segment, accused } = await diffRuns({ a, b, device: 0 });
				assert.equal(segment, cheat.segment);
				assert.deepEqual(
					accused.map(({ side }) => side),
					["b"],
				);
				assert.equal(accused[0]!.why, "");
				file = accused[0]!.file;
			}
			assert.ok(file !== null);
			assert.ok(file.length <= MOST_BYTES, `${file.length}`);
			const verdict = verifyFraud(file, { claim: bytesToHex(b.run.hash) });
			assert.ok(verdict.status === "valid", JSON.stringify(verdict));
			const { kind, segment, step, op, element } = verdict;
			assert.deepEqual({ kind, segment, step, op, element }, { kind: "element", ...cheat });
		}
		assert.ok(tried.length > 0 && unseen < tried.length);
	});

const TEXT = new TextEncoder().encode("In the beginning was the word, and then came many more of them. ".repeat(9));
const TRAINED = {
	"a GPT": {
		...{ model: { kind: "gpt", layers: 1, width: 16, heads: 2, context: 8, vocabulary: 256 }, data: { text: "text" } },
		optimizer: { kind: "adamw" },
	},
	"an MLP": { model: { kind: "mlp", sizes: [8, 16, 4] }, data: { generated: 32 }, optimizer: { kind: "adamw" } },
	"an MLP with momentum": {
		...{ model: { kind: "mlp", sizes: [8, 12, 4] }, data: { generated: 32 } },
		optimizer: { kind: "momentum" },
	},
	"an MLP by exact SGD": {
		...{ model: { kind: "mlp", sizes: [8, 16, 4] }, data: { generated: 32 }, order: "cube" },
		optimizer: { kind: "exact-sgd" },
	},
	"a CNN": {
		model: { kind: "cnn", input: [1, 8, 8], layers: [{ conv: 4, size: 3 }, { pool: "max", size: 2 }, { dense: 4 }] },
		...{ data: { generated: 32 }, optimizer: { kind: "sgd" } },
	},
};

/**
 * One element of each of these ops is changed, one after the other; every time that very element is found.
 */
async function everyLieConvicts(
	sample: Sample,
	ops: readonly number[],
	draw: (below: number) => number,
): Promise<void> {
	const { program } = sample;
	const a = await sideOf(sample, undefined, 1);
	for (const op of ops) {
		const element = draw(elementCount(program.step[op]!.output.dims));
		const cheat = { segment: 1, step: draw(program.k), op, element };
		const b = await sideOf(sample, cheat, 1);
		const file = await narrow(b.run, answersFor(a), answersFor(b), 1);
		assert.ok(file !== null && file.length <= MOST_BYTES, `${op}: ${file?.length}`);
		const verdict = verifyFraud(file);
		assert.ok(verdict.status === "valid" && verdict.op === op && verdict.element === element, `${op}`);
	}
}

for (const [name, trained] of Object.entries(TRAINED))
	test(`training ${name}: one changed element in drawn ops, in all of them in the deep tier`, async () => {
		const job = { workload: "train", ...trained, batch: 2, steps: 2, seed: `0x${"07".repeat(32)}` };
		const sample = await buildWorkload(readJob(job), () => TEXT);
		const draw = numbersFrom(17);
		const all = sample.program.step;
		await everyLieConvicts(sample, isDeep ? [...all.keys()] : Array.from({ length: 3 }, () => draw(all.length)), draw);
	});

test("rendering: one changed element of a walk over spheres or triangles, of a bend, of the picture; of every op in the deep tier", async () => {
	const scene = {
		camera: { position: [0, 1, 4], target: [0, 0.5, 0] },
		background: { below: [0.2, 0.2, 0.2], above: [1, 1, 1] },
		materials: { a: { kind: "diffuse" }, b: { kind: "glass" } },
		spheres: [
			{ center: [0, 0.5, 0], radius: 0.5, material: "b" },
			{ center: [1, 0.4, -1], radius: 0.4, material: "a" },
		],
		meshes: [{ material: "a", polygons: [[-2, 2, 2, -2].map((x, i) => [x, 0, i < 2 ? 2 : -2])] }],
	};
	const job = { workload: "render", scene: "s", size: [6, 4], passes: 1, bounces: 1, seed: `0x${"07".repeat(32)}` };
	const sample = await buildWorkload(readJob(job), () => new TextEncoder().encode(JSON.stringify(scene)));
	const { step } = sample.program;
	const walks = [...step.keys()].filter((i) => {
		const op = step[i]!;
		return op.operator === "map" && op.code.turns > 0;
	});
	assert.equal(walks.length, 4);
	// After a walk come light, share of light, point, normal, bend.
	const picture = step.findIndex(({ target }) => target !== null && sample.program.tensors[target]!.name === "picture");
	await everyLieConvicts(
		sample,
		isDeep ? [...step.keys()] : [...walks.slice(0, 2), walks[1]! + 5, picture],
		numbersFrom(3),
	);
});

test("two folders and an honest engine: the op, the leaf and the element whose state is false; by the segment's end where the state is not kept", async () => {
	const a = honest.get("mlp")!;
	const { program } = mlpSample();
	const last = program.step.length - 1;
	const cheat = { segment: 2, step: program.k - 1, op: last, element: 3 };
	const liarB = await sideOf(mlpSample(), cheat);
	// The accused's machine is right again: its trace is, its state is not.
	const b = { ...liarB, open: toyOpener(liarB.run.storePath) };
	const convicted = async (side: Side) => {
		const { segment, accused } = await diffRuns({ a, b: side, device: 0 });
		assert.deepEqual([segment, accused.map((one) => one.side)], [2, ["b"]]);
		const { verdict, file, why } = accused[0]!;
		assert.ok(verdict !== null && file !== null, why);
		assert.equal(verifyFraud(file, { claim: bytesToHex(b.run.hash) }).status, "valid");
		return verdict;
	};
	const { kind, segment, step, op, element, shows } = await convicted(b);
	assert.deepEqual({ kind, segment, step, op, element, shows }, { kind: "element", ...cheat, shows: "value" });
	const without = { ...b, run: { ...b.run, kept: b.run.kept.filter((before) => before !== 3) } };
	const end = await convicted(without);
	assert.deepEqual([end.kind, end.segment, end.shows], ["end", 2, "op"]);
	// The same where the store's file is not what its name says.
	const damaged = { ...b, run: { ...b.run, readBlob: async () => new Uint8Array(8) } };
	assert.equal((await convicted(damaged)).kind, "end");
	// A lie before it: the first op whose tensor in the state is false, and its first false element.
	const early = await sideOf(mlpSample(), { ...cheat, step: 0, op: 0 });
	const found = await convictedElement(a, { ...early, open: toyOpener(early.run.storePath) });
	assert.ok(program.step[found.op!]!.target !== null && found.step === program.k - 1);
	assert.notEqual(found.said, found.right);
});

async function convictedElement(a: Side, b: Side) {
	const { accused } = await diffRuns({ a, b, device: 0 });
	const verdict = accused[0]?.verdict;
	assert.ok(verdict?.kind === "element", accused[0]?.why);
	return verdict;
}

test("the accused is whoever is wrong, not whoever comes second", async () => {
	const a = honest.get("mlp")!;
	const b = await sideOf(mlpSample(), { segment: 2, step: 1, op: mlpSample().program.step.length - 1, element: 1 });
	const { accused } = await diffRuns({ a: b, b: a, device: 0 });
	// The engine that decides is the asker's own, which here is the liar's: it cannot convict the honest run.
	assert.ok(accused.every(({ file, side }) => file === null || side === "a"));
	const own = toyOpener(b.run.storePath);
	const judged = await diffRuns({ a: { ...b, open: own, answers: answersFor(b) }, b: a, device: 0 });
	assert.deepEqual(
		judged.accused.map(({ side, file }) => [side, file !== null]),
		[["a", true]],
	);
});

/** An accused whose answers are changed on the way. */
function liar(side: Side, lies: Partial<Answers>): Answers {
	return { ...answersFor(side), ...lies };
}
const flipped = (bytes: Uint8Array, at = 0): Uint8Array => bytes.map((byte, i) => (i === at ? byte ^ 1 : byte));

test("answers that do not fit what was committed to are none", async () => {
	const a = honest.get("mixed")!;
	const { program } = a.run;
	const b = await sideOf(TOY_SAMPLES.mixed!(), { segment: 2, step: 1, op: 0, element: 3 });
	const said = answersFor(b);
	const lies: readonly [string, Partial<Answers>][] = [
		[
			"nodes that do not fold",
			{ traceNodes: async (...of) => (await said.traceNodes(...of)).map((one, i) => (i === 1 ? flipped(one) : one)) },
		],
		["one node less", { traceNodes: async (...of) => (await said.traceNodes(...of)).slice(1) }],
		["short nodes", { traceNodes: async (...of) => (await said.traceNodes(...of)).map((one) => one.subarray(1)) }],
		["no trace", { traceRoot: async () => new Uint8Array(0) }],
		[
			"a leaf with another root",
			{ traceLeaf: async (place) => ({ ...(await said.traceLeaf(place)), output: new Uint8Array(32) }) },
		],
		["a leaf with fewer inputs", { traceLeaf: async (place) => ({ ...(await said.traceLeaf(place)), inputs: [] }) }],
		[
			"a tensor leaf that is not in its tree",
			{ leaf: async (...of) => ({ ...(await said.leaf(...of)), bytes: new Uint8Array(1024) }) },
		],
		[
			"a path of another length",
			{ leaf: async (...of) => ({ ...(await said.leaf(...of)), path: [new Uint8Array(32)] }) },
		],
		["half a transcript", { transcript: async (...of) => (await said.transcript(...of)).slice(1) }],
	];
	for (const [what, lie] of lies) {
		const own = answersFor(a);
		await assert.rejects(
			narrow(b.run, own, liar(b, lie)),
			(error) => error instanceof AssayError && error.code === "NO_ANSWER",
			what,
		);
	}
	const roots = { stateRoots: async () => ({ state: [], results: [] }) };
	const end = await sideOf(TOY_SAMPLES.mixed!(), { segment: 2, step: 1, op: program.step.length - 1, element: 3 });
	const late = answersOf(end.run, replayOf(end.run, toyOpener(end.run.storePath), 0), "journal");
	await assert.rejects(narrow(end.run, answersFor(a), { ...late, ...roots }), /0 bytes came for roots/);
});

test("whoever explains a false output away contradicts itself: a false wire, a false transcript, a false start, another result", async () => {
	const a = honest.get("mixed")!;
	const own = answersFor(a);
	const kinds = new Set<string>();
	const convict = async (accused: Answers, what: string) => {
		const file = await narrow(a.run, own, accused);
		assert.ok(file !== null && file.length <= MOST_BYTES, what);
		const verdict = verifyFraud(file);
		assert.ok(verdict.status === "valid", `${what}: ${JSON.stringify(verdict)}`);
		kinds.add(`${verdict.kind} ${verdict.shows}`);
	};
	const { forgedAnswers } = await import("./forged-answers.test-kit.ts");
	for (const [what, accused] of forgedAnswers(a.run, own)) await convict(await accused(), what);
	for (const kind of [
		"wire op",
		"wire constant",
		"wire input",
		"wire state",
		"wire zero",
		"end state",
		"end op",
		"start zero",
		"result state",
	])
		assert.ok(kinds.has(kind), `${kind} of ${[...kinds]}`);
});

test("a spot check finds what it draws, costs what it checks, and says what it would have caught", async () => {
	const sample = mlpSample();
	const good = await sideOf(sample, undefined, 199);
	const windows = windowsOf(good.run);
	assert.equal(windows.length, 100);
	assert.deepEqual(
		[windows[0], windows.at(-1)],
		[
			{ from: 0, to: 2 },
			{ from: 198, to: 200 },
		],
	);
	const draw = numbersFrom(3);
	const checked = await checkRun({ ...good, device: 0, segments: 4, draw });
	assert.equal(checked.wrong, null);
	// 2 % of the segments by 2 % of the run.
	assert.deepEqual([checked.checked, checked.segments], [4, 200]);
	const bad = await sideOf(sample, { segment: 101, step: 0, op: 3, element: 0 }, 199);
	let caught = 0;
	for (let i = 0; i < 15; i++) {
		const found = await checkRun({ run: bad.run, open: toyOpener(bad.run.storePath), device: 0, segments: 40, draw });
		if (found.wrong !== null) {
			caught += 1;
			assert.equal(found.wrong.segment, 101);
		}
	}
	assert.ok(caught > 0 && caught < 15, `${caught}`);
	const all = await checkRun({ run: bad.run, open: toyOpener(bad.run.storePath), device: 0, segments: 200, draw });
	assert.equal(all.wrong?.segment, 101);
	assert.equal(drawWindows(windows, 1000, draw).length, windows.length);
});

test("a run's folder that is cut, unfinished, of another program or with states of another run is refused with its code", async () => {
	const { run } = await sideOf(mlpSample());
	const other = honest.get("mixed")!.run;
	const copy = (file: string, change: (bytes: Uint8Array) => Uint8Array | null) => ({
		...readRunFolder(run.path),
		read: async (name: string) =>
			name === file ? change(readFileSync(join(run.path, name))) : readFileSync(join(run.path, name)),
	});
	const text = (change: (text: string) => string) => (bytes: Uint8Array) =>
		Buffer.from(change(Buffer.from(bytes).toString()));
	const cases: readonly [string, string, (bytes: Uint8Array) => Uint8Array | null][] = [
		["RUN_UNFINISHED", "claim.json", () => null],
		["CLAIM_MALFORMED", "claim.json", (bytes) => bytes.subarray(0, 100)],
		["CLAIM_MALFORMED", "claim.json", text((all) => all.replace("assay-claim", "assay-clam"))],
		["CLAIM_MALFORMED", "states.bin", (bytes) => bytes.subarray(0, 64)],
		["CLAIM_ROOT", "states.bin", (bytes) => flipped(bytes, 40)],
		["CLAIM_ROOT", "claim.json", text((all) => all.replace(/"part": 0/, '"part": 1'))],
		["CLAIM_ROOT", "program.bin", () => readFileSync(join(other.path, "program.bin"))],
		["PROGRAM_MALFORMED", "program.bin", (bytes) => bytes.subarray(0, 50)],
		["CLAIM_ROOT", "journal.jsonl", text((all) => all.replace(/"inputRoots":\["../, '"inputRoots":["00'))],
		["CHECKPOINT_OTHER", "journal.jsonl", text((all) => swapRoots(all))],
		["RUN_DAMAGED", "journal.jsonl", text((all) => all.replace('{"segment":2,', '{"segment":9,'))],
	];
	for (const [code, file, change] of cases)
		await assert.rejects(
			openRun(copy(file, change)),
			(error) => error instanceof AssayError && error.code === code,
			`${code} ${file}`,
		);
	// A tensor in the store that is not what its name says.
	const root = run.journal.segments[1]!.state[0]!;
	writeFileSync(join(run.storePath, root), new Uint8Array(16 * 12 * 4));
	const check = checkRun({ run, open: toyOpener(run.storePath), device: 0, segments: 100, draw: () => 0 });
	await assert.rejects(
		check,
		(error) => error instanceof AssayError && ["TENSOR_ROOT", "BLOB_CUT"].includes(error.code),
	);
	await assert.rejects(
		diffRuns({ a: honest.get("mlp")!, b: honest.get("mixed")!, device: 0 }),
		(error) => error instanceof AssayError && error.code === "RUN_OTHER",
	);
});

/** The roots of one segment stand in the line of another. */
function swapRoots(journal: string): string {
	const lines = journal.split("\n");
	const [one, two] = [JSON.parse(lines[1]!), JSON.parse(lines[3]!)];
	lines[1] = JSON.stringify({ ...one, state: two.state });
	return lines.join("\n");
}
