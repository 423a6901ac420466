// A job in parts: each begins with the state that the one before ended with, and together they are the whole
// run; killed or stopped, a part ends with the same claim; a part that begins elsewhere is found out.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Cheat } from "../../engine/client/toy-work-session.test-kit.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { openRunFolder } from "../../store/runs/run-folder.ts";
import { mixedSample, mlpSample, type Sample } from "../../work/builder/samples.test-kit.ts";
import { elementsToBytes } from "../../work/operators/tensor-type.ts";
import { readClaim } from "../../work/runs/claim-file.ts";
import { readJournal } from "../../work/runs/journal.ts";
import { segmentTree } from "../../work/trace/commitments.ts";
import { type KeptRoots, numbersOf, type RunEnd, type RunPart, runPart } from "./run-part.ts";
import { TOY_SEED, toyOpener, toyRun } from "./toy-run.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-part-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
let folders = 0;
const newFolder = (): string => join(scratch, `part${folders++}`);
const claimOf = (path: string) =>
	readClaim(readFileSync(join(path, "claim.json")), readFileSync(join(path, "states.bin")));
const journalOf = (path: string) => readJournal(readFileSync(join(path, "journal.jsonl"), "utf8"))!;

interface ToyPart {
	readonly sample: Sample;
	readonly first: number;
	readonly count: number;
	/** The folder of the part before. */
	readonly before?: string;
	readonly cheat?: Cheat;
	readonly more?: Partial<RunPart>;
}

async function toyPart(path: string, { sample, first, count, before, cheat, more }: ToyPart): Promise<RunEnd> {
	const folder = await openRunFolder(path);
	const { program, given } = sample;
	try {
		const begin: KeptRoots | null = before === undefined ? null : journalOf(before).segments.at(-1)!;
		for (const root of begin === null ? [] : [...begin.state, ...begin.results])
			await copyFile(join(before!, "store", root), join(folder.storePath, root));
		return await runPart({
			...{ folder, program, seed: TOY_SEED, first, count, open: toyOpener(folder.storePath, cheat), device: 0 },
			...{ of: { chainId: 7n, escrow: new Uint8Array(20).fill(9), job: 11n, part: 3 }, metrics: [] },
			begin: begin && { state: begin.state, results: begin.results },
			async give(session) {
				const roots = new Map<number, Uint8Array>();
				for (const i of numbersOf(program, "constant", "input")) {
					await session.write(i, elementsToBytes(given[program.tensors[i]!.name]!));
					roots.set(i, await session.root(i));
				}
				return roots;
			},
			...{ diskBytes: 1 << 30, nowMs: () => 0, ...more },
		});
	} finally {
		await folder.close();
	}
}

for (const [name, sample] of [
	["mlp", mlpSample()],
	["mixed", mixedSample(3)],
] as const)
	test(`${name}: parts one after the other are the whole run`, async () => {
		const whole = newFolder();
		await toyRun(whole, { sample, segments: 20 });
		const { states, claim } = claimOf(whole);
		let before: string | undefined;
		for (const [first, count] of [
			[0, 8],
			[8, 8],
			[16, 5],
		] as const) {
			const path = newFolder();
			const end = await toyPart(path, { sample, first, count, ...(before !== undefined && { before }) });
			const found = claimOf(path);
			assert.deepEqual(found.states, states.slice(first, first + count + 1));
			const named = { chainId: 7n, job: 11n, part: 3, first, segments: count };
			assert.deepEqual(found.claim, {
				...{ ...claim, ...named, escrow: new Uint8Array(20).fill(9) },
				...{ segmentRoot: segmentTree(found.states).root, resultRoot: found.claim.resultRoot },
			});
			assert.deepEqual([end.isDone, end.done, end.segments], [true, count, count]);
			before = path;
		}
		assert.deepEqual(claimOf(before!).claim.resultRoot, claim.resultRoot);
	});

test("stopped and begun again, a later part goes on where it stood, and keeps the state at its start", async () => {
	const sample = mlpSample();
	const [zero, path, straight] = [newFolder(), newFolder(), newFolder()];
	await toyPart(zero, { sample, first: 0, count: 5 });
	const part = { sample, first: 5, count: 30, before: zero };
	await toyPart(straight, part);
	// A disk for few states: old ones are collected, the one at the start never.
	for (const [from, stopAt] of [
		[5, 5],
		[6, 17],
		[18, 29],
	]) {
		const stop = new AbortController();
		const seen: number[] = [];
		const end = await toyPart(path, {
			...part,
			more: {
				diskBytes: 1,
				signal: stop.signal,
				onEvent(event) {
					if (event.kind !== "segment") return;
					seen.push(event.segment);
					if (event.segment === stopAt) stop.abort();
				},
			},
		});
		assert.deepEqual([seen[0], end.isDone, end.claim, end.done], [from, false, null, stopAt! - 4]);
	}
	const begin = journalOf(path).head.begin!;
	for (const root of [...begin.state, ...begin.results]) readFileSync(join(path, "store", root));
	await toyPart(path, part);
	assert.deepEqual(claimOf(path), claimOf(straight));
});

test("nothing is run before ready, and what it throws ends the run; a folder of another part is refused", async () => {
	const sample = mlpSample();
	const path = newFolder();
	const no = new AssayError("JOB_DECLINED", "no");
	const more = { ready: () => Promise.reject(no), onEvent: () => assert.fail("ran") };
	await assert.rejects(toyPart(path, { sample, first: 0, count: 3, more }), no);
	await toyPart(path, { sample, first: 0, count: 3 });
	const isOther = (error: unknown) => error instanceof AssayError && error.code === "RUN_OTHER";
	await assert.rejects(toyPart(path, { sample, first: 0, count: 4 }), isOther);
	await assert.rejects(toyPart(path, { sample, first: 3, count: 3, before: path }), isOther);
});

test("a state at the start whose bytes are others is not begun with", async () => {
	const sample = mlpSample();
	const [zero, path] = [newFolder(), newFolder()];
	await toyPart(zero, { sample, first: 0, count: 5 });
	const root = journalOf(zero).segments.at(-1)!.state[0]!;
	const file = join(zero, "store", root);
	const bytes = readFileSync(file);
	bytes[0]! ^= 1;
	writeFileSync(file, bytes);
	await assert.rejects(
		toyPart(path, { sample, first: 5, count: 5, before: zero }),
		(error) => error instanceof AssayError && error.code === "BLOB_CUT",
	);
});

test("an audit leaves its states and no claim", async () => {
	const path = newFolder();
	const end = await toyPart(path, { sample: mlpSample(), first: 0, count: 3, more: { of: null } });
	assert.deepEqual([end.isDone, end.claim], [true, null]);
	assert.throws(() => readFileSync(join(path, "claim.json")), /ENOENT/);
	assert.equal(readFileSync(join(path, "states.bin")).length, 32 * 4);
});
