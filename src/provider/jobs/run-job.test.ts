// Runs in folders: the claim is that of the reference machine; killed at any moment a run ends with the same
// claim; what is wrong with a folder has its code; a machine that computes other bits the second time is not
// believed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
	appendFileSync,
	existsSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { isDeep } from "../../../tests/fuzz.test-kit.ts";
import type { OpenWorkSession, WorkSession } from "../../engine/client/work-session.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import { openRunFolder } from "../../store/runs/run-folder.ts";
import { mixedSample, mlpSample, numbersFrom } from "../../work/builder/samples.test-kit.ts";
import { orThrow } from "../../work/program/fault.ts";
import { sealProgram } from "../../work/program/open-program.ts";
import { createMachine } from "../../work/program/run-program.ts";
import { readClaim } from "../../work/runs/claim-file.ts";
import { readJournal } from "../../work/runs/journal.ts";
import { machineInputs, machineResult, machineState } from "../../work/trace/run-trace.ts";
import { collectStates, mostStates, windowSegments } from "./checkpoints.ts";
import { runJob } from "./run-job.ts";
import { TOY_SEED, toyOpener, toyRun, toyWorkload } from "./toy-run.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-run-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
let folders = 0;
const newFolder = (): string => join(scratch, `run${folders++}`);
const claimOf = (path: string) =>
	readClaim(readFileSync(join(path, "claim.json")), readFileSync(join(path, "states.bin")));
const rejects = (run: Promise<unknown>, code: string) =>
	assert.rejects(run, (error) => error instanceof AssayError && error.code === code && error.hint !== "");

for (const [name, sample] of [
	["mlp", mlpSample()],
	["mixed", mixedSample(3)],
] as const)
	test(`${name}: claim, states and journal are those of the reference`, async () => {
		const path = newFolder();
		const events: string[] = [];
		const end = await toyRun(path, { sample, segments: 5, onEvent: ({ kind }) => events.push(kind) });
		const machine = createMachine(orThrow(sealProgram(sample.program)), TOY_SEED, sample.given);
		const states = [machineState(machine)];
		for (let i = 0; i <= 5; i++) {
			machine.runSegment();
			states.push(machineState(machine));
		}
		const found = claimOf(path);
		assert.deepEqual(found.states, states);
		assert.deepEqual(found.claim, end.claim);
		assert.deepEqual(found.claim.inputs, machineInputs(machine));
		assert.deepEqual(found.claim.resultRoot, machineResult(machine));
		assert.equal(events.filter((kind) => kind === "metrics").length, 5 * sample.program.k);
		const journal = readJournal(readFileSync(join(path, "journal.jsonl"), "utf8"))!;
		assert.deepEqual(
			journal.segments.map(({ after: one }) => one),
			states.slice(1).map(bytesToHex),
		);
		assert.ok(journal.segments.at(-1)!.metrics[name === "mlp" ? "loss" : "small"]!.length === sample.program.k);
	});

test("killed at random moments, twenty times in the deep tier, a run ends with the claim of one that was not", async () => {
	const whole = newFolder();
	const rounds = isDeep ? 20 : 6;
	// More than the kills let through.
	const segments = 40 * rounds;
	await toyRun(whole, { sample: mlpSample(), segments });
	const draw = numbersFrom(20);
	const program = join(import.meta.dirname, "toy-run.test-kit.ts");
	let path = newFolder();
	for (let kills = 0; kills < rounds; ) {
		const child = spawn(process.execPath, [program, path, String(segments)], { stdio: "ignore" });
		const ended = once(child, "exit");
		// The moment is by what it has written, and a little after: the journal grows by some 350 bytes a
		// segment.
		const journal = join(path, "journal.jsonl");
		const sizeNow = () => (existsSync(journal) ? readFileSync(journal).length : 0);
		const until = sizeNow() + draw(6000);
		while (child.exitCode === null && sizeNow() < until) await new Promise((resolve) => setTimeout(resolve, 1));
		child.kill("SIGKILL");
		await ended;
		if (child.signalCode === "SIGKILL") kills += 1;
		// It was done before we looked: there is nothing left to be killed at.
		else path = newFolder();
	}
	await toyRun(path, { sample: mlpSample(), segments });
	for (const file of ["claim.json", "states.bin"])
		assert.deepEqual(readFileSync(join(path, file)), readFileSync(join(whole, file)));
});

test("stopped, it saves where it stands and goes on from there", async () => {
	const path = newFolder();
	const stop = new AbortController();
	const sample = mlpSample();
	const first = await toyRun(path, {
		sample,
		segments: 20,
		signal: stop.signal,
		onEvent: (event) => {
			if (event.kind === "segment" && event.segment === 7) stop.abort();
		},
	});
	assert.deepEqual([first.claim, first.done], [null, 8]);
	const seen: number[] = [];
	const end = await toyRun(path, {
		sample,
		segments: 20,
		onEvent: (event) => event.kind === "segment" && seen.push(event.segment),
	});
	assert.equal(seen[0], 8);
	const straight = await toyRun(newFolder(), { sample, segments: 20 });
	assert.deepEqual(end.claimHash, straight.claimHash);
});

/** A folder with 12 of 20 segments done. */
async function begun(): Promise<string> {
	const path = newFolder();
	const stop = new AbortController();
	const onEvent = (event: { kind: string; segment?: number }) => event.segment === 11 && stop.abort();
	await toyRun(path, { sample: mlpSample(), segments: 20, signal: stop.signal, onEvent });
	return path;
}
const goOn = (path: string) => toyRun(path, { sample: mlpSample(), segments: 20 });

test("a torn last line is dropped; a line of nonsense before it is not", async () => {
	const straight = await toyRun(newFolder(), { sample: mlpSample(), segments: 20 });
	const torn = await begun();
	appendFileSync(join(torn, "journal.jsonl"), '{"segment":12,"aft');
	assert.deepEqual((await goOn(torn)).claimHash, straight.claimHash);
	const short = await begun();
	truncateSync(join(short, "journal.jsonl"), 900);
	assert.deepEqual((await goOn(short)).claimHash, straight.claimHash);
	const nonsense = await begun();
	appendFileSync(join(nonsense, "journal.jsonl"), "nonsense\n");
	await rejects(goOn(nonsense), "RUN_DAMAGED");
	const skipped = await begun();
	appendFileSync(
		join(skipped, "journal.jsonl"),
		`{"segment":14,"after":"${"0".repeat(64)}","state":[],"results":[],"metrics":{}}\n`,
	);
	await rejects(goOn(skipped), "RUN_DAMAGED");
});

test("a folder of another job, of other data, in use", async () => {
	const path = await begun();
	await rejects(toyRun(path, { sample: mixedSample(3), segments: 20 }), "RUN_OTHER");
	await rejects(toyRun(path, { sample: mlpSample(), segments: 21 }), "RUN_OTHER");
	const { program, given } = mlpSample();
	const data = given.data!.slice() as Int8Array;
	data[3]! ^= 1;
	await rejects(toyRun(path, { sample: { program, given: { ...given, data } }, segments: 20 }), "RUN_OTHER");
	const taken = await openRunFolder(path);
	await rejects(goOn(path), "RUN_BUSY");
	await taken.close();
	await goOn(path);
});

test("a state that was cut, lost or swapped is not gone on from; one that the journal did not commit to is refused", async () => {
	const straight = await toyRun(newFolder(), { sample: mlpSample(), segments: 20 });
	const roots = (path: string) =>
		readJournal(readFileSync(join(path, "journal.jsonl"), "utf8"))!.segments.at(-1)!.state;
	const cut = await begun();
	truncateSync(join(cut, "store", roots(cut)[0]!), 100);
	assert.deepEqual((await goOn(cut)).claimHash, straight.claimHash);
	const swapped = await begun();
	const [a, b] = roots(swapped);
	writeFileSync(join(swapped, "store", a!), readFileSync(join(swapped, "store", b!)));
	assert.deepEqual((await goOn(swapped)).claimHash, straight.claimHash);
	const lost = await begun();
	rmSync(join(lost, "store"), { recursive: true });
	assert.deepEqual((await goOn(lost)).claimHash, straight.claimHash);
	const other = await begun();
	const journal = readFileSync(join(other, "journal.jsonl"), "utf8");
	// The roots of another segment: they are there, but do not fold to S_12.
	const { segments } = readJournal(journal)!;
	const swappedIn = { ...segments[11]!, state: segments[9]!.state };
	const text = journal.replace(JSON.stringify(segments[11]), JSON.stringify(swappedIn));
	writeFileSync(join(other, "journal.jsonl"), text);
	await rejects(goOn(other), "CHECKPOINT_OTHER");
});

test("a disk that fills while a state is saved ends the run with its code; with room again it goes on. A device without room too", async () => {
	const straight = await toyRun(newFolder(), { sample: mlpSample(), segments: 20 });
	const path = newFolder();
	const run = async (spoil: (session: WorkSession) => WorkSession) => {
		const folder = await openRunFolder(path);
		try {
			const open: OpenWorkSession = async (work) => spoil(await toyOpener(folder.storePath)(work));
			const workload = toyWorkload(mlpSample(), 20);
			return await runJob({ folder, jobText: "{}", workload, open, device: 0, diskBytes: 1e9, nowMs: () => 0 });
		} finally {
			await folder.close();
		}
	};
	const full = (code: "BLOB_DISK_FULL" | "DEVICE_NO_ROOM") => new AssayError(code, "full", { hint: codes[code].hint });
	let saves = 0;
	const filling = (session: WorkSession): WorkSession =>
		new Proxy(session, {
			get: (of, name) => {
				if (name === "save" && ++saves > 5) throw full("BLOB_DISK_FULL");
				const found = Reflect.get(of, name) as unknown;
				return typeof found === "function" ? found.bind(of) : found;
			},
		});
	await rejects(run(filling), "BLOB_DISK_FULL");
	await rejects(
		run(() => {
			throw full("DEVICE_NO_ROOM");
		}),
		"DEVICE_NO_ROOM",
	);
	assert.deepEqual((await run((session) => session)).claimHash, straight.claimHash);
});

test("a machine that gives other bits the second time is not believed", async () => {
	const path = await begun();
	rmSync(join(path, "store"), { recursive: true });
	const cheat = { segment: 4, step: 1, op: 3, element: 5 };
	await rejects(toyRun(path, { sample: mlpSample(), segments: 20, cheat }), "RUN_UNSTEADY");
});

test("states are kept within the disk's share, the newest always; what nobody names is removed", async () => {
	const keeping = { segments: 1000, stateBytes: 100, diskBytes: 1000 };
	assert.equal(mostStates(keeping), 9);
	assert.equal(windowSegments(keeping, null), 112);
	assert.equal(windowSegments({ ...keeping, diskBytes: 1e9 }, null), 10);
	const room = { ...keeping, diskBytes: 1e9 };
	assert.equal(windowSegments(room, { segmentMs: 60_000, saveMs: 1 }), 2);
	assert.equal(windowSegments(room, { segmentMs: 100, saveMs: 120 }), 12);
	// 2 % of the run at most, however long saving takes.
	assert.equal(windowSegments(room, { segmentMs: 100, saveMs: 9000 }), 20);
	assert.equal(windowSegments({ ...keeping, segments: 3 }, { segmentMs: 1e9, saveMs: 1 }), 1);
	assert.deepEqual(collectStates([1, 2, 3], keeping), []);
	assert.deepEqual(collectStates([1, 2, 3, 4, 5, 6, 7, 8, 9], keeping), [2, 4, 6, 8]);
	const path = newFolder();
	const sample = mlpSample();
	const stateBytes = 4 * (16 * 12 + 4 * 16);
	const folder = await openRunFolder(path);
	await folder.putBlob("a".repeat(64), Uint8Array.of(1));
	await folder.close();
	await toyRun(path, { sample, segments: 60, diskBytes: 8 * stateBytes });
	const bytes = readdirSync(join(path, "store")).reduce(
		(sum, name) => sum + readFileSync(join(path, "store", name)).length,
		0,
	);
	assert.ok(bytes <= 8 * stateBytes + 640, `${bytes}`);
	assert.ok(!existsSync(join(path, "store", "a".repeat(64))));
});
