// Every sample on this machine's CPU ends with the claim that samples/claims.json has: the same on every machine. A new sample needs a line
// there (`node tests/samples.test-kit.ts` writes it).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { toyWork } from "../src/engine/client/toy-work-session.test-kit.ts";
import { isDeep } from "./fuzz.test-kit.ts";
import { claimOn, cpuEngine, sampleClaims, sampleNames, sampleWorkload } from "./samples.test-kit.ts";

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
		test(`${name}${known.steps === undefined ? "" : `, ${known.steps} long`}: its claim`, async () => {
			assert.equal(await claimOn(engine.open, await sampleWorkload(name, known.steps)), known.claim);
		});

test("another seed or length is another claim", async () => {
	const work = await sampleWorkload("pricing.json", 1);
	const claim = await claimOn(engine.open, work);
	assert.notEqual(await claimOn(engine.open, { ...work, seed: new Uint8Array(32) }), claim);
	assert.notEqual(claim, claims["pricing.json"]!.claim);
	assert.equal(await claimOn(engine.open, work), claim);
});

if (isDeep)
	test("the plain TypeScript machine ends the first segment of every sample as the engine does", async () => {
		for (const [name, known] of Object.entries(claims)) {
			if (known === null) continue;
			const work = await sampleWorkload(name, known.steps);
			assert.equal(await claimOn(toyWork({}), work, 1), await claimOn(engine.open, work, 1), name);
		}
	});
