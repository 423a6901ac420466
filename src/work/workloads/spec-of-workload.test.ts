// The order in a job file, and the spec that strangers get: what it names is what runs, and nothing of the
// job file else.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { parseMethod, readOrder } from "../../market/jobs/read-order.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { jobSpec } from "../../protocol/network/job-spec.ts";
import { generateProgram } from "../inference/generate-program.ts";
import { readGeneration } from "../inference/generation-file.ts";
import { bytesToElements } from "../operators/tensor-type.ts";
import { openProgram, programRoot } from "../program/open-program.ts";
import { tensorRoot } from "../trace/tensor-tree.ts";
import { buildWorkload } from "./build-workload.ts";
import { readJob, workOfJob } from "./read-job.ts";
import { specOfWorkload } from "./spec-of-workload.ts";

const SAMPLES = new URL("../../../samples/", import.meta.url);
const rootOf = async (bytes: Uint8Array) => tensorRoot(bytesToElements(bytes, "i8", bytes.length)!);
function readSample(file: string): Uint8Array {
	const at = new URL(file, SAMPLES);
	if (!existsSync(at)) throw new AssayError("FILE_UNREADABLE", file);
	return readFileSync(at);
}
const sample = async (name: string, change: object = {}) => {
	const json = JSON.parse(readFileSync(new URL(name, SAMPLES), "utf8")) as { readonly workload: string };
	const workload = await buildWorkload(readJob({ ...json, ...change }), readSample);
	const made = await specOfWorkload(workload, {
		...{ title: name, kind: json.workload, method: parseMethod("sampled:3"), rootOf },
	});
	return { workload, ...made };
};

test("an order has defaults, is read, and changes nothing of the work", () => {
	const job = JSON.parse(readFileSync(new URL("gpt-mini.json", SAMPLES), "utf8"));
	const none = { method: { name: "sampled", count: 16 }, mostMicros: null, mostMs: null, hourMicros: null };
	assert.deepEqual(readOrder(job), none);
	assert.deepEqual(workOfJob(job), job);
	const asked = { ...job, method: "redundant", mostPrice: 1.84, mostMinutes: 41, pricePerHour: 2.5 };
	const order = {
		...{ method: { name: "redundant", count: 2 }, mostMicros: 1_840_000, mostMs: 41 * 60_000 },
		hourMicros: 2_500_000,
	};
	assert.deepEqual(readOrder(asked), order);
	assert.deepEqual(workOfJob(asked), job);
	assert.deepEqual(readJob(asked), readJob(job));
	for (const json of [null, 7, [1], "job"]) {
		assert.deepEqual(readOrder(json), none);
		assert.deepEqual(workOfJob(json), json);
	}
});

test("methods are read, and others are refused by name", () => {
	assert.deepEqual(parseMethod("optimistic"), { name: "optimistic", count: 0 });
	assert.deepEqual(parseMethod("attested"), { name: "attested", count: 0 });
	assert.deepEqual(parseMethod("sampled:64"), { name: "sampled", count: 64 });
	assert.deepEqual(parseMethod("redundant:5"), { name: "redundant", count: 5 });
	const wrong = [
		"",
		"zkp",
		"redundant:1",
		"redundant:6",
		"sampled:0",
		"sampled:65",
		"optimistic:1",
		"attested:1",
		"sampled:-1",
	];
	for (const method of wrong)
		assert.throws(() => parseMethod(method), {
			code: "JOB_FIELD",
			message: /^method must be redundant:2 \(to 5\), sampled:16 \(1 to 64\), optimistic, attested or zk, not '/,
		});
	for (const change of [{ method: 2 }, { mostPrice: 0 }, { mostPrice: "1" }, { mostMinutes: -1 }, { mostMinutes: 1e7 }])
		assert.throws(() => readOrder(change), { code: "JOB_FIELD", message: new RegExp(`^${Object.keys(change)[0]} `) });
});

test("of generated text, and of nothing else, a spec names what its program was made of", async () => {
	const { spec, blobs, workload } = await sample("generate.json");
	assert.equal(jobSpec(spec, ""), null);
	const named = blobs.find(({ root }) => root === spec.generation!.root)!;
	assert.equal(named.size, spec.generation!.size);
	const { program } = generateProgram(readGeneration(named.bytes()));
	assert.deepEqual(programRoot(program), programRoot(workload.program));
	assert.equal(jobSpec({ ...spec, generation: { ...spec.generation, more: 1 } }, "")?.where, "generation");
	assert.ok(!("generation" in (await sample("embed.json")).spec));
});

test("a spec names the program and everything that it is given, by the roots that the engine knows", async () => {
	const { workload, spec, blobs } = await sample("gpt-mini.json");
	assert.equal(jobSpec(spec, ""), null);
	assert.equal(spec.segments, workload.segments + 1);
	assert.equal(spec.seed, bytesToHex(workload.seed));
	const bytes = new Map(blobs.map((blob) => [`${blob.root}/${blob.size}`, blob.bytes()]));
	assert.equal(bytes.size, blobs.length);
	const opened = openProgram(bytes.get(`${spec.program.root}/${spec.program.size}`)!);
	assert.ok(opened.ok);
	const { tensors } = opened.value.program;
	const wanted = tensors.flatMap(({ kind }, i) => (kind === "constant" || kind === "input" ? [i] : []));
	assert.deepEqual(
		spec.given.map(({ tensor }) => tensor),
		wanted,
	);
	for (const { tensor, root, size } of spec.given) {
		assert.equal(root, bytesToHex(tensorRoot(workload.given[tensors[tensor]!.name]!)));
		assert.equal(bytes.get(`${root}/${size}`)!.length, size);
	}
});

test("metrics of one number travel as a factor; others are not told of; previews are named", async () => {
	const gpt = await sample("gpt-mini.json");
	const [loss] = gpt.spec.metrics;
	assert.equal(loss!.label, "loss");
	const read = gpt.workload.metrics[0]!.read(BigInt64Array.of(123456n));
	assert.ok(Math.abs(read - 123456 * Number(loss!.scale)) < 1e-12 * read);
	assert.deepEqual((await sample("pricing.json")).spec.metrics, []);
	const render = await sample("render-cornell.json");
	const { tensors } = render.workload.program;
	assert.deepEqual(
		render.spec.previews.map((i) => [tensors[i]!.name, tensors[i]!.kind]),
		[["picture", "result"]],
	);
	assert.deepEqual(gpt.spec.previews, []);
});
