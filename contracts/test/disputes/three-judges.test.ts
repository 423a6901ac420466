// Three implementations of docs/work.md, one number: the engine runs a program, src/work runs it too, and the
// chain judges elements of it. For every op of every step the engine's root is that of src/work, so all
// elements are; and the chain finds in a lie about one of them the number that was said and the right one,
// and nothing in honest words. Then leaves, paths and transcripts are changed: the chain convicts by what
// convicts here, and by nothing else. ASSAY_FUZZ multiplies the counts; a deep run tries 100,000 of each.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findEngine, hostPlatform } from "../../../src/engine/builds.ts";
import { createEngineClient, type EngineClient } from "../../../src/engine/client/create-engine-client.ts";
import { createLocalLink } from "../../../src/engine/links/create-local-link.ts";
import { bytesToHex } from "../../../src/protocol/bytes/bytes.ts";
import { elementsToBytes } from "../../../src/work/operators/tensor-type.ts";
import { encodeProgram } from "../../../src/work/program/encode.ts";
import { isDeep, scaled, seed as testSeed } from "../../../tests/fuzz.test-kit.ts";
import { type Draw, quickNumbers, seedOf } from "../../../vectors/work-programs.ts";
import { openTestNetwork, type TestNetwork } from "../network.test-kit.ts";
import { type JudgeCall, type JudgeFound, openBatchJudge } from "./judge-batch.test-kit.ts";
import {
	type AnyProgram,
	anyProgram,
	type Case,
	callOf,
	changed,
	judgedHere,
	lieAbout,
	otherBytes,
	type RanOp,
	ranOps,
} from "./random-elements.test-kit.ts";

const SEED = seedOf("three judges");
const ELEMENTS = scaled(isDeep ? 4000 : 300);
const CHANGES = scaled(isDeep ? 4000 : 1000);
/** Elements of one program. */
const A_PROGRAM = isDeep ? 40 : 25;
const CHANGES_A_CASE = 5;
const drawing = (text: string): Draw => quickNumbers(isDeep ? `${text} ${testSeed}` : text);

let network: TestNetwork;
let judgeAll: (calls: readonly JudgeCall[]) => Promise<JudgeFound[]>;
let engine: EngineClient;
before(async () => {
	network = await openTestNetwork(1);
	judgeAll = await openBatchJudge(network);
	const link = await createLocalLink({
		command: (await findEngine(hostPlatform())).path,
		// A deep run on a busy machine may leave it alone for longer than the two minutes after which it would
		// go.
		args: ["--no-disk", "--work", "--threads", "1", "--idle-s", "86400"],
		env: process.env,
	});
	engine = await createEngineClient(link, {
		clockUs: () => Math.round(performance.now() * 1000),
		readyDeadlineMs: 600_000,
		randomBytes: (size) => new Uint8Array(size),
	});
});
after(async () => {
	await engine?.close();
	await network?.close();
});

/** Roots of all op outputs by the engine, in the order in which the ops ran. */
async function engineRoots({ checked: { program }, given }: AnyProgram, segments: number): Promise<string[]> {
	const { devices } = await engine.hello({ deadlineMs: 600_000 });
	const device = devices.findIndex(({ kind }) => kind === "cpu");
	const session = await engine.openWork({ device, program: encodeProgram(program), seed: SEED });
	for (const [i, { name }] of program.tensors.entries())
		if (given[name] !== undefined) await session.write(i, elementsToBytes(given[name]));
	const found: string[] = [];
	for (let segment = 0; segment < segments; segment++)
		await session.trace(segment, (step, op, root) => {
			found.push(`${segment} ${step} ${op} ${bytesToHex(root)}`);
		});
	await session.release();
	return found;
}

interface Drawn {
	readonly label: string;
	readonly draw: Draw;
	readonly any: AnyProgram;
	readonly ops: readonly RanOp[];
}

function drawnProgram(of: string, number: number): Drawn {
	const label = `${of} ${number}`;
	const draw = drawing(label);
	const any = anyProgram(number, draw, SEED);
	return { label, draw, any, ops: ranOps(any, SEED) };
}

const text = (found: JudgeFound): string => ("refused" in found ? found.refused : `${found.said} ${found.right}`);
const convicts = (found: JudgeFound): boolean => "said" in found;

test("elements of random programs: engine, src/work and the chain's judge know the same number", async () => {
	const kinds = new Map<string, number>();
	let elements = 0;
	for (let i = 0; elements < ELEMENTS; i++) {
		const { label, draw, any, ops } = drawnProgram("element", i);
		const here = ops.map(({ segment, step, number, output }) => `${segment} ${step} ${number} ${bytesToHex(output)}`);
		assert.deepEqual(await engineRoots(any, 3), here, `${label}, ASSAY_SEED=${testSeed}`);
		const cases: Case[] = [];
		for (let one = 0; one < A_PROGRAM && ops.length > 0; one++) cases.push(...lieAbout(ops[draw(ops.length)]!, draw));
		const there = await judgeAll(cases.map(callOf));
		for (const [at, one] of cases.entries()) {
			const wanted = judgedHere(one);
			const isHonest = one.what.endsWith("honest");
			const what = `${label}, ${one.what}, element ${one.asked.element}, ASSAY_SEED=${testSeed}`;
			assert.equal(convicts(wanted), !isHonest, `${what}: ${text(wanted)}`);
			assert.equal(text(there[at]!), isHonest ? "NothingShown" : text(wanted), what);
			if (isHonest) continue;
			elements += 1;
			kinds.set(one.what, (kinds.get(one.what) ?? 0) + 1);
			// What is right of the last number is the element that the engine has, too.
			if (one.shown.kind === "end" && "right" in wanted)
				assert.equal(wanted.right, BigInt((one.asked as RanOp).result[one.asked.element]!), what);
		}
	}
	if (isDeep) console.log(`${elements} elements:`, Object.fromEntries([...kinds].sort()));
	for (const kind of [
		"matmul chunk",
		"reduce sum chunk",
		"scatter_add chunk",
		"map end",
		"map turn",
		"map instruction before load",
	])
		assert.ok(kinds.has(kind), `${kind}: ${[...kinds.keys()]}`);
});

/** Changed where no judge looks for another reading: bytes that a root, a path or a count no longer fits. */
function unfitting(
	{ accused, fault }: JudgeCall,
	draw: Draw,
): { readonly how: string; readonly call: JudgeCall } | null {
	const bytes = (hex: string) =>
		`0x${bytesToHex(otherBytes(draw, new Uint8Array(Buffer.from(hex.slice(2), "hex"))))}` as const;
	const path = (nodes: readonly `0x${string}`[]) =>
		nodes.length === 0 || draw(2) === 0
			? [...nodes, `0x${"11".repeat(32)}` as const]
			: nodes.map((node, i) => (i === nodes.length - 1 ? (`0x${"22".repeat(32)}` as const) : node));
	const { op, leaf, words, shown } = fault;
	const kind = draw(6);
	if (kind === 0)
		return { how: "op leaf", call: { accused, fault: { ...fault, op: { ...op, leaf: bytes(op.leaf) } } } };
	if (kind === 1) return { how: "op path", call: { accused, fault: { ...fault, op: { ...op, path: path(op.path) } } } };
	if (kind === 2)
		return { how: "trace path", call: { accused, fault: { ...fault, leaf: { ...leaf, path: path(leaf.path) } } } };
	if (kind === 3)
		return { how: "step", call: { accused, fault: { ...fault, leaf: { ...leaf, step: leaf.step + 1 } } } };
	if (kind === 4 && words.transcripts.length > 0) {
		const at = draw(words.transcripts.length);
		const transcripts = words.transcripts.map((own, i) => (i === at ? (`${own}00` as const) : own));
		return {
			how: "transcript of odd length",
			call: { accused, fault: { ...fault, words: { ...words, transcripts } } },
		};
	}
	if (shown.leaves.length === 0) return null;
	return { how: "no leaves", call: { accused, fault: { ...fault, shown: { ...shown, leaves: [], paths: [] } } } };
}

test("changed op leaves, paths and transcripts: the chain convicts by what convicts here, and by nothing else", async () => {
	const seen = new Map<string, number>();
	let tried = 0;
	const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
	for (let i = 0; tried < CHANGES; i++) {
		const { label, draw, ops } = drawnProgram("changed", i);
		const cases: Case[] = [];
		const broken: { readonly how: string; readonly call: JudgeCall }[] = [];
		for (let one = 0; one < A_PROGRAM && ops.length > 0; one++)
			for (const base of lieAbout(ops[draw(ops.length)]!, draw))
				for (let again = 0; again < CHANGES_A_CASE; again++) {
					cases.push(changed(base, draw));
					const other = again === 0 ? unfitting(callOf(base), draw) : null;
					if (other !== null) broken.push(other);
				}
		const there = await judgeAll([...cases.map(callOf), ...broken.map(({ call }) => call)]);
		for (const [at, one] of cases.entries()) {
			const [here, found] = [judgedHere(one), there[at]!];
			const what = `${label}, ${one.what}, element ${one.asked.element}, ASSAY_SEED=${testSeed}`;
			assert.notEqual(text(found), "Panic", what);
			// Of a program that no checker takes the chain reads the judged instruction alone: what it finds there
			// is what stood there before.
			const isElsewhere = text(here) === "op" && (convicts(found) || text(found) === "NothingShown");
			if (isElsewhere) {
				const before = judgedHere({ ...one, asked: { ...one.asked, opLeaf: undefined } });
				assert.equal(text(found), convicts(before) ? text(before) : "NothingShown", what);
				assert.equal(one.shown.kind === "chunk", false, what);
				count("malformed elsewhere");
				continue;
			}
			if (convicts(here)) assert.equal(text(found), text(here), what);
			else assert.ok(!convicts(found), `${what}: ${text(found)}, here ${text(here)}`);
			if (!convicts(here))
				assert.equal(text(found) === "NothingShown", text(here) === "agrees", `${what}: ${text(found)}, ${text(here)}`);
			assert.ok(!text(found).startsWith("nothing known"), `${what}: ${text(found)}`);
			count(`${one.what.split(", ").at(-1)}: ${convicts(found) ? "convicts" : text(found)}`);
		}
		for (const [at, { how }] of broken.entries()) {
			const found = there[cases.length + at]!;
			assert.ok(!convicts(found) && text(found) !== "NothingShown", `${label}, ${how}: ${text(found)}`);
			count(`${how} alone: ${text(found)}`);
		}
		tried += cases.length + broken.length;
	}
	if (isDeep) console.log(`${tried} changes:`, Object.fromEntries([...seen].sort()));
	for (const wanted of [
		"other op leaf: OpMalformed",
		"other path: LeafMismatch",
		"other transcript: WordsInvalid",
		"other transcript: convicts",
	])
		assert.ok(seen.has(wanted), `${wanted}: ${[...seen.keys()]}`);
});
