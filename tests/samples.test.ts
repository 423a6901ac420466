// Every sample on this machine's CPU ends with the claim that samples/claims.json has: the same on every
// machine. A new sample needs a line there (`node tests/samples.test-kit.ts` writes it).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { toyWork } from "../src/engine/client/toy-work-session.test-kit.ts";
import { jobSpec } from "../src/protocol/network/job-spec.ts";
import { peakBytes as countedBytes } from "../src/work/program/peak-bytes.ts";
import { specOfWorkload } from "../src/work/workloads/spec-of-workload.ts";
import { isDeep } from "./fuzz.test-kit.ts";
import { cpuEngine, runOn, sampleClaims, sampleNames, sampleWorkload } from "./samples.test-kit.ts";

const claims = sampleClaims();
let engine: Awaited<ReturnType<typeof cpuEngine>>;
before(async () => {
	engine = await cpuEngine();
});
after(() => engine.close());

test("claims.json knows every sample, and no other", () => {
	assert.deepEqual(Object.keys(claims).sort(), sampleNames());
});

for (const [name, known] of Object.entries(claims))
	if (known !== null)
		test(`${name}${known.steps === undefined ? "" : `, ${known.steps} long`}: its claim; the engine plans the memory that is counted without it`, async () => {
			const work = await sampleWorkload(name, known.steps);
			const { claim, peakBytes } = await runOn(engine.open, work);
			assert.equal(claim, known.claim);
			// For products a device takes room of its own.
			const room = peakBytes - countedBytes(work.program);
			const hasProducts = work.program.step.some(({ operator }) => operator === "matmul");
			assert.ok(hasProducts ? room > 0 && room < peakBytes / 2 : room === 0, `${room} of ${peakBytes}`);
		});

test("every sample can be handed to strangers: its spec is one", async () => {
	for (const name of sampleNames()) {
		const work = await sampleWorkload(name, claims[name]?.steps);
		const of = { title: name, kind: "sample", method: { name: "optimistic", count: 0 } } as const;
		const { spec } = await specOfWorkload(work, { ...of, rootOf: async () => new Uint8Array(32) });
		assert.equal(jobSpec(spec, ""), null, name);
	}
});

test("another seed or length is another claim", async () => {
	const work = await sampleWorkload("pricing.json", 1);
	const { claim } = await runOn(engine.open, work);
	const other = await runOn(engine.open, { ...work, seed: new Uint8Array(32) });
	assert.notEqual(other.claim, claim);
	assert.notEqual(claim, claims["pricing.json"]!.claim);
	assert.equal((await runOn(engine.open, work)).claim, claim);
});

if (isDeep)
	test("the plain TypeScript machine ends the first segment of every sample as the engine does", async () => {
		for (const [name, known] of Object.entries(claims)) {
			if (known === null) continue;
			const work = await sampleWorkload(name, known.steps);
			const [plain, real] = [await runOn(toyWork({}), work, 1), await runOn(engine.open, work, 1)];
			assert.equal(plain.claim, real.claim, name);
		}
	});
