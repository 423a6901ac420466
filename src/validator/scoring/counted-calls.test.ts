// The calls of a provider's presence over a long rental, on a real store.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { createParams } from "../../market/params.ts";
import { createKeyedMutex } from "../../platform/keyed-mutex.ts";
import type { Store } from "../../store/open-store.ts";
import { onBothServers } from "../../store/postgres/servers.test-kit.ts";
import { register } from "../../store/sample-rows.test-kit.ts";
import type { ValidatorConfig } from "../validator-config.ts";
import { countedCalls, keepCalls } from "./counted-calls.ts";

const ID = { chainId: 7, contract: `0x${"ab".repeat(20)}` };
const HASH = "cd".repeat(32);
const params = createParams({ rollCallWindow: 4 });
const config = { params, chain: {}, rollCalls: { isOn: true } } as unknown as ValidatorConfig;

onBothServers((server) => {
	let store: Store;
	let id = "";
	before(async () => {
		store = await server.open();
		id = await register(store, "rented", { link: "agent", target: "" });
	});
	async function called(call: number, state: "answered" | "absent" | "excused"): Promise<void> {
		const opened = { ...ID, call, beta0: HASH, calledAtMs: 1000 * call, deadlineMs: 5000, b0AtS: call };
		await store.rollCalls.open(opened);
		await store.rollCalls.commit({ ...ID, call }, { b1: 9, b1AtS: 9, root: HASH, leaves: 1, transaction: "0x01" });
		const nothing = { code: null, ms: null, leaf: null, reply: null, files: [], megaOps: 0, bytes: 0 };
		const answer = { ...nothing, providerId: id, state, paidPpm: state === "excused" ? 1_000_000 : null };
		const end = { b2: 12, b2AtS: 12, beta2: HASH, nowMs: 1000 * call + 500 };
		await store.rollCalls.finish({ ...ID, call }, { ...end, answers: [answer] });
	}
	const context = () => ({ store, config, mutex: createKeyedMutex() });
	const answered = async () =>
		(await countedCalls(context(), (await store.providers.recall(id))!)).map((call) => call.answered);

	test("M4: presence stands still through a rental that outlives the calls before it", async () => {
		for (const call of [1, 2, 3, 4, 5]) await called(call, call === 3 ? "absent" : "answered");
		const before = [true, true, false, true];
		assert.deepEqual(await answered(), before);
		await keepCalls(context(), id);
		for (const call of [6, 7, 8]) await called(call, "excused");
		assert.deepEqual(await answered(), before, "nothing counts twice");
		await store.rollCalls.prune({ beforeMs: 1e9, keep: 1 });
		assert.deepEqual(await answered(), before, "forgotten calls are remembered for it");
		// The end: calls count again, and push the old ones out.
		await called(9, "absent");
		assert.deepEqual(await answered(), [false, true, true, false]);
		// Rented again.
		await keepCalls(context(), id);
		await store.rollCalls.prune({ beforeMs: 1e9, keep: 0 });
		assert.deepEqual(await answered(), [false, true, true, false]);
		for (const call of [10, 11, 12, 13]) await called(call, "answered");
		assert.deepEqual(await answered(), [true, true, true, true]);
	});

	test("the twin: who was never rented has what the store has", async () => {
		const other = await register(store, "free", { link: "agent", target: "" });
		await keepCalls({ ...context(), config: { ...config, chain: null } }, other);
		const recalled = (await store.providers.recall(other))!;
		assert.equal(recalled.memory.callsBeforeRental, null);
		const counted = async () => (await countedCalls(context(), recalled)).length;
		assert.equal(await counted(), 4, "calls that it was not there for");
		await store.rollCalls.prune({ beforeMs: 1e9, keep: 1 });
		assert.equal(await counted(), 1);
	});
});
