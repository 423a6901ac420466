// Every kind of file that any kind of work delivers: an honest run's are all made again and found equal, and
// one changed bit of each is found. A new kind of work needs a line in WORK. Then what a stranger may put
// into a run's folder: links, folders and huge files in the place of files, and hashes that lead nowhere.
import assert from "node:assert/strict";
import {
	copyFileSync,
	cpSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { deflateSync, inflateSync } from "node:zlib";
import { knownRun } from "../../src/cli/jobs/known-job.ts";
import { proveJob } from "../../src/cli/jobs/prove-job.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { workloadWithData } from "../../src/cli/run-job-file.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { runJob } from "../../src/provider/jobs/run-job.ts";
import { openRunFolder, readRunFolder } from "../../src/store/runs/run-folder.ts";
import { checkFiles, runOutcome } from "../../src/validator/jobs/check-files.ts";
import { checkRun } from "../../src/validator/jobs/check-run.ts";
import { openRun } from "../../src/validator/jobs/open-run.ts";
import { chunk } from "../../src/work/formats/png.test-kit.ts";
import { claimText, readClaim } from "../../src/work/runs/claim-file.ts";
import { headLine, readJournal } from "../../src/work/runs/journal.ts";
import { KINDS } from "../../src/work/workloads/kinds.ts";
import { SIMULATIONS } from "../../src/work/workloads/simulate/simulate-workload.ts";
import { MODELS } from "../../src/work/workloads/train/models.ts";
import { cpuEngine } from "../samples.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-job-files-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
/** Paths in jobs are relative to the samples, and the program lies there for this test alone. */
const samples = join(scratch, "samples");
cpSync(join(import.meta.dirname, "../../samples"), samples, { recursive: true });
writeFileSync(
	join(samples, "sum.txt"),
	"program k 1\nstate x i32[3] -1000..1000\nresult y i32[3] -1000..1000\ninit\n%0 = map() i32[3] -1000..1000 -> x {\n  r0 = const 5\n}\nstep\n%0 = map(x i32[3]) i32[3] -1000..1000 -> y {\n  r0 = load 0 [i0]\n}\n",
);

const TEXT = { text: "pentateuch.txt" };
const ADAMW = { kind: "adamw", rate: 0.01 };
const GPT = { layers: 1, width: 16, heads: 2, context: 8, vocabulary: 256 };
const train = (model: object, more: object = {}) => ({
	...{ workload: "train", model, data: TEXT, optimizer: ADAMW, batch: 2, steps: 2, stepsPerSegment: 1 },
	...more,
});
const grid = (kind: string, more: object) => ({
	...{ workload: "simulate", kind, size: [8, 8], steps: 2, frames: 2 },
	...more,
});
const infer = (output: string, more: object) => ({
	...{ workload: "infer", model: "tiny-llama/", weights: "i8", prompts: { text: "prompts.txt" }, output, batch: 3 },
	...more,
});
const DROPS = { drops: 2, radius: 2 };

/** The smallest job of each kind of work, and the files that it delivers. */
const WORK: Readonly<Record<string, readonly [job: object, ...files: string[]]>> = {
	"train cnn": [
		train({ kind: "cnn", input: [1, 4, 4], layers: [{ conv: 2, size: 3 }, { dense: 3 }] }, { data: { generated: 8 } }),
		...["model.onnx", "weights.safetensors"],
	],
	"train gpt": [train({ kind: "gpt", ...GPT }), "weights.safetensors"],
	"train llama": [train({ kind: "llama", ...GPT, kvHeads: 1, hidden: 16 }), "config.json", "model.safetensors"],
	"train lora": [
		train({ kind: "lora", base: "tiny-llama/", rank: 2, alpha: 4, targets: ["q"], context: 8 }),
		...["adapter_config.json", "adapter_model.safetensors"],
	],
	"train mlp": [train({ kind: "mlp", sizes: [4, 8, 3] }, { data: { generated: 16 } }), "weights.safetensors"],
	program: [{ workload: "program", program: "sum.txt", segments: 2 }, "results/y.npy", "state/x.npy"],
	"simulate gray-scott": [
		grid("gray-scott", { feed: 0.04, kill: 0.06, initial: DROPS }),
		...["frames/0001.png", "frames/0002.png", "picture.png", "u.npy", "v.npy"],
	],
	"simulate heat": [
		grid("heat", { edge: "clamp", rate: 0.2, initial: DROPS }),
		...["frames/0001.png", "frames/0002.png", "heat.npy", "picture.png"],
	],
	"simulate life": [
		grid("life", { rule: "B3/S23", initial: { density: 0.4 } }),
		...["cells.npy", "frames/0001.png", "frames/0002.png", "picture.png"],
	],
	"simulate nbody": [
		grid("nbody", { bodies: 4, timeStep: 0.01, softening: 0.05, frames: 1 }),
		...["frames/0001.png", "picture.png", "places.npy", "velocities.npy"],
	],
	"simulate pricing": [
		{
			...{ workload: "simulate", kind: "pricing", style: "european", side: "call", spot: 100, strike: 105 },
			...{ rate: 0.03, volatility: 0.25, years: 1, paths: 1024, steps: 2 },
		},
		"summary.json",
	],
	"simulate wave": [
		grid("wave", { edge: "zero", speed: 0.5, initial: DROPS }),
		...["before.npy", "frames/0001.png", "frames/0002.png", "height.npy", "picture.png"],
	],
	render: [
		{ workload: "render", scene: "scenes/spheres.json", size: [8, 6], passes: 2, bounces: 2 },
		...["picture.hdr", "picture.png", "results/picture.npy"],
	],
	classify: [
		{ workload: "classify", model: "patterns/model.onnx", data: { images: "patterns/list.json" }, count: 4, batch: 2 },
		...["labels.npy", "logits.npy"],
	],
	"infer text": [infer("text", { new: 2 }), "generation.json", "preview.txt", "text.jsonl", "tokens.npy"],
	"infer logits": [infer("logits", {}), "logits.npy"],
	"infer embeddings": [infer("embeddings", { model: "tiny-bert/" }), "embeddings.npy"],
};

test("the table has every kind of work", () => {
	const kinds = Object.keys(KINDS).flatMap((kind) => {
		if (kind === "train") return Object.keys(MODELS).map((model) => `train ${model}`);
		if (kind === "simulate") return Object.keys(SIMULATIONS).map((one) => `simulate ${one}`);
		return kind === "infer" ? ["infer text", "infer logits", "infer embeddings"] : [kind];
	});
	assert.deepEqual(Object.keys(WORK).sort(), kinds.sort());
});

const pathOf = (name: string): string => join(scratch, name.replace(" ", "-"));
const OWN = ["claim.json", "job.json", "journal.jsonl", "program.bin", "states.bin", "store/"];

async function carryOut(name: string, path: string): Promise<void> {
	const json = { ...WORK[name]![0], seed: `0x${"05".repeat(32)}` };
	const { workload, data } = await workloadWithData(join(samples, "job.json"), json);
	const folder = await openRunFolder(path);
	const { open, close } = await cpuEngine(folder.storePath);
	try {
		const usual = { open, device: 0, diskBytes: 1 << 30, nowMs: () => 0 };
		await runJob({ ...usual, folder, jobText: JSON.stringify(json), workload, data });
	} finally {
		await close();
		await folder.close();
	}
}

function flip(path: string, at: number, bit: number): void {
	const bytes = readFileSync(path);
	bytes[at]! ^= 1 << bit;
	writeFileSync(path, bytes);
}

const none = { engine: undefined, device: undefined, job: undefined, steps: undefined };
const io = (cwd: string) => ({ cwd, env: { ...process.env, ASSAY_HOME: scratch, NO_COLOR: "1" } });

for (const [name, [, ...delivered]] of Object.entries(WORK))
	test(`${name}: all that it delivers is made again; one changed bit of any of it is found`, async () => {
		const path = pathOf(name);
		await carryOut(name, path);
		const folder = readRunFolder(path);
		const { run, ...known } = await knownRun(await openRun(folder), folder, none, io(scratch) as never);
		const { open, close } = await cpuEngine(run.storePath);
		try {
			const metrics = known.workload!.metrics;
			const draw = (below: number) => below - 1;
			const rerun = await checkRun({ run, open, device: 0, segments: 99, draw, metrics });
			assert.deepEqual([rerun.wrong, rerun.checked, rerun.journal.wrong], [null, run.segments, null]);
			assert.deepEqual([rerun.journal.roots, rerun.journal.metrics], [run.segments, run.segments]);
			assert.equal(rerun.caughtShare(0.1), 1);
			const { tensors, wrong, replayed } = await runOutcome(run, { open, device: 0 });
			assert.deepEqual([wrong, replayed], [null, 0]);
			const files = () => checkFiles({ run, folder, ...known, tensors, journal: rerun.journal, isRerun: true });
			const honest = await files();
			assert.deepEqual(
				honest.map((file) => [file.name, file.status]),
				[...OWN, ...delivered].sort().map((file) => [file, "same"]),
			);
			for (const file of delivered) {
				const at = join(path, file);
				const { length } = readFileSync(at);
				for (const [byte, bit] of [[0, 0] as const, [length >> 1, 3] as const, [length - 1, 7] as const]) {
					flip(at, byte, bit);
					const found = (await files()).filter(({ status }) => status !== "same");
					assert.deepEqual(
						found.map((one) => [one.name, one.status]),
						[[file, "different"]],
						`byte ${byte} of ${file}`,
					);
					flip(at, byte, bit);
				}
			}
		} finally {
			await close();
		}
	});

async function check(path: string, interrupted: AbortSignal, ...args: string[]) {
	const said = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ isTTY: false, write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
	const all = { ...io(scratch), out: stream("out"), err: stream("err"), interrupted };
	const code = await runCommand(["job", "check", path, ...args], all);
	return { code, ...said };
}

const never = new AbortController().signal;

interface Said {
	readonly verdict: string;
	readonly code: string | null;
	readonly files: readonly { readonly name: string; readonly status: string; readonly how: string }[];
}

/** A copy of the run that `change` was done to, as the command judges it. */
async function judged(name: string, change: (path: string) => void, ...args: string[]) {
	const path = mkdtempSync(join(scratch, "copy-"));
	cpSync(pathOf(name), path, { recursive: true });
	change(path);
	const said = await check(path, never, "--json", ...args);
	const json: Said | null = said.out === "" ? null : JSON.parse(said.out);
	const of = (file: string) => json?.files.find((one) => one.name === file);
	return { ...said, json, of };
}

test("the command: agrees, false, inconclusive or refused, each with its code and exit", async () => {
	const heat = "simulate heat";
	const text = await check(pathOf(heat), never, "--sample", "99");
	assert.equal(text.code, 0, text.err);
	assert.match(text.out, /^AGREES\n/);
	assert.match(text.out, /every segment was run again: a false one would have been found/);
	for (const file of [...OWN, ...WORK[heat]!.slice(1)]) assert.ok(text.out.includes(String(file)), String(file));
	const cases: readonly [string, number, string | null, string | null, (path: string) => void][] = [
		["a changed bit", 1, "RUN_FILE_FALSE", "different", (path) => flip(join(path, "heat.npy"), 200, 0)],
		["a file that is gone", 2, "RUN_FILE_MISSING", "missing", (path) => rmSync(join(path, "heat.npy"))],
		[
			"a link",
			2,
			"RUN_FILE_UNCOMPARED",
			"uncompared",
			(path) => replaced(path, (at) => symlinkSync("picture.png", at)),
		],
		["a folder", 2, "RUN_FILE_UNCOMPARED", "uncompared", (path) => replaced(path, (at) => mkdirSync(at))],
		["a folder with files", 2, "RUN_FILE_UNCOMPARED", "uncompared", (path) => replaced(path, fullFolder)],
		["a huge file", 1, "RUN_FILE_FALSE", "different", (path) => truncateSync(join(path, "heat.npy"), 2 ** 42)],
		["nothing changed", 0, null, "same", () => {}],
	];
	for (const [what, exit, code, status, change] of cases) {
		const found = await judged(heat, change);
		assert.deepEqual([found.code, found.json?.code], [exit, code], `${what}: ${found.err}`);
		assert.equal(found.of("heat.npy")?.status, status, what);
	}
});

function replaced(path: string, by: (at: string) => void): void {
	rmSync(join(path, "heat.npy"));
	by(join(path, "heat.npy"));
}

function fullFolder(at: string): void {
	mkdirSync(at);
	writeFileSync(join(at, "a"), "");
}

test("files that nobody delivers are named; links lead nowhere", async () => {
	const found = await judged("simulate heat", (path) => {
		writeFileSync(join(path, "READ ME\u001b[2J.txt"), "buy now");
		symlinkSync("/", join(path, "root"));
		mkdirSync(join(path, "a/b/c/d/e/f"), { recursive: true });
	});
	assert.deepEqual([found.code, found.json?.verdict], [0, "agrees"], found.err);
	const unknown = found.json!.files.filter(({ status }) => status === "unknown").map(({ name }) => name);
	assert.deepEqual(unknown, ["READ ME\u001b[2J.txt", "a/b/c/d/e", "root"]);
	const linked = await judged("simulate heat", (path) => {
		rmSync(join(path, "frames"), { recursive: true });
		symlinkSync("/dev", join(path, "frames"));
	});
	assert.deepEqual([linked.code, linked.of("frames/0001.png")?.status], [2, "uncompared"]);
	const own = await judged("simulate heat", (path) => {
		rmSync(join(path, "claim.json"));
		symlinkSync("/dev/zero", join(path, "claim.json"));
	});
	assert.match(own.err, /claim\.json cannot be read: it is a link \[FILE_UNREADABLE\]/);
	const huge = await judged("simulate heat", (path) => truncateSync(join(path, "journal.jsonl"), 2 ** 40));
	assert.match(huge.err, /journal\.jsonl cannot be read: it has \d+ bytes, more than \d+ \[FILE_UNREADABLE\]/);
	assert.equal(huge.code, 66);
});

test("the run's own files: a changed bit leads to no claim, or to another journal", async () => {
	const bit = (file: string, at: number) => (path: string) => flip(join(path, file), at, 0);
	const text = (file: string, from: RegExp, to: string) => (path: string) => {
		const held = readFileSync(join(path, file), "utf8");
		assert.match(held, from);
		writeFileSync(join(path, file), held.replace(from, to));
	};
	const cases: readonly [string, RegExp, (path: string) => void][] = [
		["states.bin", /CLAIM_ROOT/, bit("states.bin", 40)],
		["program.bin", /CLAIM_ROOT|PROGRAM_/, bit("program.bin", 60)],
		["claim.json", /CLAIM_ROOT/, text("claim.json", /"part": 0/, '"part": 1')],
		["the last state", /TENSOR_ROOT/, (path) => flipLast(path)],
		["a journal's state", /RUN_FILE_FALSE/, text("journal.jsonl", /"after":"../, '"after":"00')],
		["a journal's metric", /RUN_FILE_FALSE/, text("journal.jsonl", /"peak":\[1\]/, '"peak":[2]')],
		[
			"a journal's roots",
			/CHECKPOINT_OTHER|RUN_FILE_FALSE/,
			text("journal.jsonl", /("segment":0.*?"state":\[")../, "$100"),
		],
		["another seed in the job", /RUN_FILE_UNCOMPARED/, text("job.json", /0x05/, "0x06")],
	];
	for (const [what, code, change] of cases) {
		const found = await judged("simulate heat", change, "--sample", "99");
		assert.notEqual(found.code, 0, what);
		assert.match(found.json?.code ?? found.err, code, what);
		assert.notEqual(found.json?.verdict, "agrees", what);
	}
});

/** A tensor of the last state. */
function flipLast(path: string): void {
	const lines = readFileSync(join(path, "journal.jsonl"), "utf8").trim().split("\n");
	const { state } = JSON.parse(lines.findLast((line) => line.includes('"after"'))!);
	flip(join(path, "store", state[0]), 3, 0);
}

test("where the last state is gone its window is run again for it; where the job is gone that is said", async () => {
	const stripped = await judged("simulate wave", (path) => {
		const lines = readFileSync(join(path, "journal.jsonl"), "utf8").trim().split("\n");
		const roots = lines.filter((line) => line.includes('"after"')).map((line) => JSON.parse(line).state as string[]);
		const before = new Set(roots.slice(0, -1).flat());
		for (const root of roots.at(-1)!) if (!before.has(root)) rmSync(join(path, "store", root));
	});
	assert.deepEqual([stripped.code, stripped.of("height.npy")?.status], [0, "same"], stripped.err);
	const gone = (path: string) => rmSync(join(path, "data"), { recursive: true });
	const found = await judged("train gpt", gone);
	assert.deepEqual([found.code, found.json?.code], [2, "RUN_FILE_UNCOMPARED"]);
	assert.match(found.of("weights.safetensors")!.how, /no data of the job: pentateuch\.txt/);
	// With the job file it is all there again; with another job's it is refused.
	const job = join(samples, "gpt.json");
	copyFileSync(join(pathOf("train gpt"), "job.json"), job);
	assert.equal((await judged("train gpt", gone, "--job", job)).code, 0);
	const other = await judged("train gpt", gone, "--job", join(samples, "heat.json"));
	assert.match(other.err, /RUN_OTHER/);
	// Files of a program of one's own follow from the program alone.
	const plain = await judged("program", (path) => {
		rmSync(join(path, "job.json"));
		flip(join(path, "state/x.npy"), 130, 0);
	});
	assert.deepEqual([plain.code, plain.of("state/x.npy")?.status], [1, "different"]);
});

test("a claimed result that is not the last state's is false, though all states are true", async () => {
	const found = await judged("program", (path) => {
		const { claim, seed } = readClaim(readFileSync(join(path, "claim.json")), readFileSync(join(path, "states.bin")));
		writeFileSync(join(path, "claim.json"), claimText({ ...claim, resultRoot: new Uint8Array(32) }, seed));
	});
	assert.deepEqual([found.code, found.json?.code], [1, "RUN_FALSE"], found.err);
});

test("a picture that another machine packed is the same; one with another pixel or a surplus chunk is not", async () => {
	const path = join("frames", "0001.png");
	const bytes = readFileSync(join(pathOf("simulate life"), path));
	const data = bytes.subarray(41, 41 + bytes.readUInt32BE(33));
	const packed =
		(rows: Uint8Array, ...more: Uint8Array[]) =>
		(folder: string) =>
			writeFileSync(
				join(folder, path),
				Buffer.concat([
					bytes.subarray(0, 33),
					chunk("IDAT", deflateSync(rows, { level: 0 })),
					...more,
					chunk("IEND", Buffer.alloc(0)),
				]),
			);
	const rows = inflateSync(data);
	const same = await judged("simulate life", packed(rows));
	assert.deepEqual([same.code, same.of(path)?.how], [0, "made again, the same pixels (packed otherwise)"]);
	const other = await judged("simulate life", packed(rows.map((byte, i) => (i === 3 ? byte ^ 1 : byte))));
	assert.deepEqual([other.code, other.of(path)?.status], [1, "different"]);
	const surplus = await judged("simulate life", packed(rows, chunk("tEXt", Buffer.from("Title\0buy now"))));
	assert.deepEqual([surplus.code, surplus.of(path)?.status], [1, "different"]);
});

test("stopped by Ctrl-C, a check says so and not that all agrees", async () => {
	const stopped = await check(pathOf("simulate heat"), AbortSignal.abort(), "--sample", "99");
	assert.deepEqual([stopped.code, /^STOPPED/.test(stopped.out)], [130, true], stopped.out);
});

/** Leaves what a fetched result has: no states but the last, no inputs, a journal of one line. */
function asFetched(path: string): void {
	const file = join(path, "journal.jsonl");
	const { head, segments } = readJournal(readFileSync(file, "utf8"))!;
	const { state, results } = segments.at(-1)!;
	writeFileSync(file, headLine({ ...head, first: head.last + 1, begin: { state, results } }));
	const last = new Set([...state, ...results]);
	for (const root of readdirSync(join(path, "store"))) if (!last.has(root)) rmSync(join(path, "store", root));
}

test("a fetched result: its inputs come from the job, and all of it is run again; without them that is said", async () => {
	for (const [name, file] of [
		["train mlp", "weights.safetensors"],
		["infer text", "text.jsonl"],
	] as const) {
		const honest = await judged(name, asFetched);
		assert.deepEqual([honest.code, honest.json?.verdict], [0, "agrees"], `${name}: ${honest.err}${honest.out}`);
		assert.equal(honest.of(file)?.status, "same");
		const changed = await judged(name, (path) => {
			asFetched(path);
			flip(join(path, file), 20, 0);
		});
		assert.deepEqual([changed.code, changed.json?.code], [1, "RUN_FILE_FALSE"], changed.err);
		const bare = await judged(name, (path) => {
			asFetched(path);
			rmSync(join(path, "job.json"));
		});
		assert.deepEqual([bare.code, bare.json?.code], [2, "RUN_FILE_UNCOMPARED"], bare.err);
		assert.match(bare.out, /"rerun": "none"/);
	}
	const proven = mkdtempSync(join(scratch, "prove-"));
	cpSync(pathOf("train mlp"), proven, { recursive: true });
	asFetched(proven);
	await assert.rejects(proveFetched(proven), (error) => error instanceof AssayError && error.code === "RUN_INCOMPLETE");
});

const proveFetched = (path: string) =>
	proveJob(
		{ ...none, json: true, segments: undefined, wrap: undefined, powers: "dev", out: undefined },
		io(path) as never,
		path,
	);

test("--sample 0 compares files alone, and says that nothing was run again", async () => {
	const found = await judged("render", () => {}, "--sample", "0");
	assert.deepEqual([found.code, found.json?.code], [2, "RUN_NOT_RERUN"]);
	const bad = await judged("render", (path) => flip(join(path, "picture.hdr"), 60, 1), "--sample", "0");
	assert.deepEqual([bad.code, bad.json?.code], [1, "RUN_FILE_FALSE"]);
});

test("generated text is checked by prefill, and its files with it", async () => {
	const honest = await judged("infer text", () => {});
	assert.deepEqual([honest.code, honest.json?.code], [0, null], honest.err);
	const rewritten = await judged("infer text", (path) => writeFileSync(join(path, "text.jsonl"), "BUY NOW\n"));
	assert.deepEqual([rewritten.code, rewritten.json?.code], [1, "RUN_FILE_FALSE"]);
	assert.ok(readdirSync(pathOf("infer text")).includes("text.jsonl"));
});
