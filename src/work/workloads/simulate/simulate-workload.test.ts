// Simulations as jobs: fields, defaults, files that come out; every refusal with its code and field.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../../protocol/assay-error.ts";
import { npyBytes } from "../../formats/arrays.test-kit.ts";
import { readNpy } from "../../formats/npy.ts";
import { Trial } from "../../models/training.test-kit.ts";
import { encodeProgram } from "../../program/encode.ts";
import { LIMITS } from "../../program/shapes.ts";
import { buildWorkload } from "../build-workload.ts";
import { readJob } from "../read-job.ts";
import type { Workload } from "../workload.ts";

const SEED = `0x${"02".repeat(32)}`;
const job = (kind: string, more: object) => ({ workload: "simulate", kind, steps: 8, seed: SEED, ...more });
const GRID = { size: [6, 8] };
const OPTION = { spot: 100, strike: 105, volatility: 0.25, years: 1, paths: 1024 };
const floats = (dims: readonly number[], values: readonly number[]) =>
	npyBytes("<f8", dims, new Uint8Array(Float64Array.from(values).buffer));

const build = (json: object, bytes: Uint8Array = new Uint8Array()): Promise<Workload> =>
	Promise.resolve().then(() => buildWorkload(readJob(json), () => bytes));

/** Runs it and makes its files. */
async function outcome(work: Workload): Promise<Map<string, Uint8Array>> {
	const trial = new Trial(work, work.seed);
	for (let i = 0; i < work.segments; i++) trial.machine.runSegment();
	const files = new Map<string, Uint8Array>();
	for (const { name, tensors, make } of work.files)
		files.set(
			name,
			await make((tensor) => {
				assert.ok(tensors.includes(tensor));
				return trial.tensor(tensor);
			}),
		);
	return files;
}

const isPng = (bytes: Uint8Array | undefined) => bytes !== undefined && bytes[0] === 0x89 && bytes[1] === 0x50;

test("every kind runs from a short job file and leaves its files", async () => {
	const kinds: readonly [string, object, readonly string[]][] = [
		["heat", { ...GRID, frames: 2 }, ["heat.npy", "picture.png", "frames/0001.png", "frames/0002.png"]],
		["wave", GRID, ["height.npy", "before.npy", "picture.png"]],
		["gray-scott", GRID, ["u.npy", "v.npy", "picture.png"]],
		["life", { ...GRID, frames: 1 }, ["cells.npy", "picture.png", "frames/0001.png"]],
		["nbody", { bodies: 3, size: [8, 8] }, ["places.npy", "velocities.npy", "picture.png"]],
		["pricing", OPTION, ["summary.json"]],
	];
	for (const [kind, fields, names] of kinds) {
		const work = await build(job(kind, fields));
		const files = await outcome(work);
		assert.deepEqual([...files.keys()], names, kind);
		for (const [name, bytes] of files) {
			if (name.endsWith(".png")) assert.ok(isPng(bytes), name);
			if (name.endsWith(".npy")) assert.ok(readNpy(bytes, name).values.length > 0);
		}
		assert.deepEqual(
			work.files.filter(({ isPreview }) => isPreview).map(({ name }) => name),
			names.includes("picture.png") ? ["picture.png"] : [],
		);
	}
	const { price, paths } = JSON.parse(
		new TextDecoder().decode((await outcome(await build(job("pricing", OPTION)))).get("summary.json")!),
	);
	assert.ok(price > 5 && price < 15 && paths === 8192);
});

test("a first field from a file is the field at step 0; the last frame is the picture", async () => {
	const values = Array.from({ length: 48 }, (_, i) => (i % 7) / 8 - 0.25);
	const still = await outcome(
		await build(job("heat", { ...GRID, rate: 0, frames: 2, initial: { file: "u.npy" } }), floats([6, 8], values)),
	);
	assert.deepEqual([...readNpy(still.get("heat.npy")!, "").values], values);
	assert.deepEqual(still.get("frames/0002.png"), still.get("picture.png"));
	const life = Array.from({ length: 48 }, (_, i) => (i >= 18 && i <= 20 ? 1 : 0));
	const blinked = await outcome(
		await build({ ...job("life", { ...GRID, initial: { file: "x" } }), steps: 2 }, floats([6, 8], life)),
	);
	assert.deepEqual([...readNpy(blinked.get("cells.npy")!, "").values], life);
});

test("a program of the longest steps stays far below its limit of bytes", async () => {
	for (const [kind, fields] of [
		["gray-scott", GRID],
		["nbody", { bodies: 2, size: [8, 8] }],
	] as const) {
		const work = await build({ ...job(kind, fields), steps: 128 });
		assert.equal(work.program.k * work.segments, 1);
		assert.ok(encodeProgram(work.program).length < LIMITS.bytes / 2);
	}
});

const REFUSED: readonly [what: string, json: object, message: RegExp, code?: string, file?: Uint8Array][] = [
	["no kind", { workload: "simulate", steps: 8, seed: SEED }, /^kind must be one of heat, wave/],
	["an unknown kind", job("weather", GRID), /^kind must be one of/],
	["no size", job("heat", {}), /^size is missing/],
	["a size of one", job("heat", { size: [8] }), /^size must have two/],
	["a size of two cells", job("heat", { size: [2, 8] }), /^size\[0\]/],
	["a grid that no card holds", job("heat", { size: [16_384, 16_384] }), /^size must have at most/],
	["a rate that is not stable", job("heat", { ...GRID, rate: 0.26 }), /^rate/],
	["a wave faster than its grid", job("wave", { ...GRID, speed: 0.8 }), /^speed/],
	["a field of another kind", job("heat", { ...GRID, feed: 0.1 }), /^the job has a field/],
	["an unknown edge", job("heat", { ...GRID, edge: "open" }), /^edge/],
	["a range upside down", job("heat", { ...GRID, range: [1, 0] }), /^range/],
	["frames that do not fit", job("heat", { ...GRID, frames: 3 }), /^frames must divide/],
	["frames of a price", job("pricing", { ...OPTION, frames: 2 }), /^frames is for/],
	["too many frames", { ...job("heat", { size: [1024, 1024], frames: 1024 }), steps: 1024 }, /^frames times/],
	["segments that do not fit", job("heat", { ...GRID, stepsPerSegment: 3 }), /^stepsPerSegment/],
	["a rule of no game", job("life", { ...GRID, rule: "B9/S2" }), /^rule/],
	["a file and drops", job("heat", { ...GRID, initial: { file: "x", drops: 2 } }), /^initial/],
	["a spread that is not stable", job("gray-scott", { ...GRID, spread: [0.3, 0.1] }), /^spread/],
	["no bodies", job("nbody", {}), /^bodies/],
	["bodies twice", job("nbody", { bodies: 3, initial: { file: "x" } }), /^bodies/],
	["a pull too strong", job("nbody", { bodies: 3, gravity: 100, timeStep: 0.1 }), /^gravity/],
	["dates of a European option", job("pricing", { ...OPTION, dates: 4 }), /^dates/],
	["paths in odd numbers", job("pricing", { ...OPTION, paths: 1500 }), /^paths/],
	["a strike out of sight", job("pricing", { ...OPTION, strike: 900 }), /^strike/],
	["a volatility beyond the tables", job("pricing", { ...OPTION, years: 30 }), /^volatility/],
	["no spot", job("pricing", { ...OPTION, spot: undefined }), /^spot/],
	[
		"a field of another size",
		job("heat", { ...GRID, initial: { file: "x" } }),
		/dims/,
		"DATA_FORMAT",
		floats([8, 6], Array(48).fill(0)),
	],
	["no array", job("heat", { ...GRID, initial: { file: "x" } }), /no .npy/, "DATA_FORMAT", new Uint8Array(9)],
	[
		"NaN",
		job("heat", { ...GRID, initial: { file: "x" } }),
		/finite/,
		"DATA_FORMAT",
		floats([6, 8], Array(48).fill(Number.NaN)),
	],
	[
		"heat without measure",
		job("heat", { ...GRID, initial: { file: "x" } }),
		/outside/,
		"DATA_RANGE",
		floats([6, 8], Array(48).fill(65)),
	],
	[
		"half a cell",
		job("life", { ...GRID, initial: { file: "x" } }),
		/neither/,
		"DATA_RANGE",
		floats([6, 8], Array(48).fill(0.5)),
	],
	[
		"one field of two",
		job("gray-scott", { ...GRID, initial: { file: "x" } }),
		/dims/,
		"DATA_FORMAT",
		floats([6, 8], Array(48).fill(0)),
	],
	[
		"bodies of six numbers",
		job("nbody", { initial: { file: "x" } }),
		/rows of x/,
		"DATA_FORMAT",
		floats([1, 6], Array(6).fill(0)),
	],
	[
		"a body of no mass",
		job("nbody", { initial: { file: "x" } }),
		/mass/,
		"DATA_RANGE",
		floats([1, 7], Array(7).fill(0)),
	],
	[
		"a body far away",
		job("nbody", { initial: { file: "x" } }),
		/outside/,
		"DATA_RANGE",
		floats([1, 7], [33, 0, 0, 0, 0, 0, 1]),
	],
	[
		"a body too fast",
		job("nbody", { initial: { file: "x" } }),
		/moves more/,
		"DATA_RANGE",
		floats([1, 7], [0, 0, 0, 30, 0, 0, 1]),
	],
];

for (const [what, json, message, code = "JOB_FIELD", file] of REFUSED)
	test(`refused: ${what}`, async () => {
		await assert.rejects(build(json, file), (error) => {
			assert.ok(error instanceof AssayError);
			assert.deepEqual(
				[error.code, message.test(error.message), error.hint.length > 0],
				[code, true, true],
				error.message,
			);
			return true;
		});
	});
