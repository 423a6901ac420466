// Providers that say nothing, trickle, or stall once they have seen the draw: each costs one place for a
// bounded time, and nobody else waits for it.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type After, realAfter } from "../../src/platform/abortable.ts";
import { CHEATS } from "../toy/cheats.ts";
import type { Cheat } from "../toy/toy-engine.ts";
import {
	eventually,
	makeDataDir,
	signerOf,
	startToyAgent,
	startToyValidator,
	type ToyValidator,
} from "./toy-agent.test-kit.ts";

const data = makeDataDir();
let validator: ToyValidator;
after(async () => {
	await validator?.stop();
	await data.remove();
});

/** The deadline of a whole probe comes when it is called, everything else in its time. */
const TOTAL_MS = 123_456;
const deadlines: (() => void)[] = [];
const called: After = (ms, run) => {
	if (ms !== TOTAL_MS) return realAfter(ms, run);
	deadlines.push(run);
	return () => {};
};

const probesOf = async (id: string) => (await validator.store.probes.list({ providerId: id })).rows;
const lastOf = async (id: string) => (await probesOf(id))[0];

test("with one place to work and four silent hosts, an honest one is probed; stopping gives the silent ones up", async () => {
	// The toys' deadlines are ten minutes: if the honest one had to wait for any of them, this test would not
	// end well.
	validator = await startToyValidator({ dataDir: data.path, concurrency: 1, waiting: 6 });
	const cheats = ["silence", "trickle", "silence", "silence"];
	const hostile = [];
	for (const [i, cheat] of cheats.entries())
		hostile.push(await startToyAgent({ url: validator.url, signer: signerOf(110 + i), cheat }));
	for (const { id } of hostile) await eventually(async () => (await lastOf(id))?.state === "running");
	const honest = await startToyAgent({ url: validator.url, signer: signerOf(120) });
	const done = await eventually(async () => {
		const probe = await lastOf(honest.id);
		return probe?.state === "done" && probe;
	});
	assert.equal(done.verdict, "valid");
	for (const { id } of hostile) assert.equal((await lastOf(id))?.state, "running");

	await validator.stop();
	for (const agent of [...hostile, honest]) await agent.connection.closed;
	validator = await startToyValidator({ dataDir: data.path, probe: { totalMs: TOTAL_MS } }, { after: called });
	for (const { id } of hostile) {
		const [probe, ...more] = await probesOf(id);
		assert.deepEqual([probe?.state, probe?.verdict, more.length], ["abandoned", null, 0]);
		const provider = await validator.client.getProvider({ params: { id } });
		assert.ok(provider.nextProbeAtMs! <= Date.now(), "due at once");
		assert.deepEqual([provider.failures, provider.lastVerdict], [0, null]);
	}
});

test("who stalls after the draw is judged at the probe's deadline, not let go", async () => {
	// Its openings may take two minutes; the whole probe may not. What it committed to and did not open is
	// withheld.
	const { promise: isDrawn, resolve: drawn } = Promise.withResolvers<void>();
	const stalling: Cheat = {
		request(toy, id, request) {
			if (request.kind === "open") drawn();
			return CHEATS["silent-on-draw"]!.request!(toy, id, request);
		},
	};
	const agent = await startToyAgent({ url: validator.url, signer: signerOf(121), cheat: stalling });
	const twin = await startToyAgent({ url: validator.url, signer: signerOf(122), cheat: "silence" });
	try {
		// Of its first probe: the next one may have begun.
		const ended = (id: string) =>
			eventually(async () => {
				const probe = (await probesOf(id)).at(-1);
				return probe?.state === "done" && probe;
			});
		await isDrawn;
		await eventually(async () => deadlines.length === 2);
		for (const run of deadlines) run();
		const stalled = await ended(agent.id);
		assert.deepEqual([stalled.verdict, stalled.code], ["invalid", "OPENING_WITHHELD"]);
		assert.notEqual(stalled.evidenceSha256, null);
		// Before a commitment there is nothing to withhold.
		const silent = await ended(twin.id);
		assert.deepEqual([silent.verdict, silent.evidenceSha256], ["inconclusive", null]);
	} finally {
		await agent.close();
		await twin.close();
	}
});
