// The player alone: acts at the same time, one for each lane; what fails is left alone for longer and longer;
// transactions wait for nobody and happen once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createChainClient } from "../../chain/node/chain-client.ts";
import { createToyNode, TREASURER } from "../../chain/node/toy-node.test-kit.ts";
import { memoryIntents } from "../../chain/sending/publish.ts";
import { type Act, createPlayer, type LocalAct } from "./player.ts";

const node = await createToyNode();
const client = await createChainClient(node.rpc, { confirmations: 1, sleep: async () => {} });

function stage(most?: number) {
	let nowMs = 0;
	const errors: string[] = [];
	const player = createPlayer({
		client,
		account: TREASURER,
		journal: memoryIntents(),
		nowMs: () => nowMs,
		onError: (id) => errors.push(id),
		...(most === undefined ? {} : { most }),
	});
	const gates = new Map<string, PromiseWithResolvers<void>>();
	/** Runs until it is let go. */
	const held = (id: string, lane = id): LocalAct => ({
		kind: "local",
		id,
		lane,
		run: () => {
			const gate = Promise.withResolvers<void>();
			gates.set(id, gate);
			return gate.promise;
		},
	});
	return { player, errors, gates, held, pass: (ms: number) => (nowMs += ms) };
}

test("what hangs keeps its own lane and nothing else; no more than so many run", async () => {
	const { player, gates, held } = stage(3);
	assert.equal(player.play([held("a1", "a"), held("a2", "a"), held("b1", "b")]), true);
	assert.deepEqual([...gates.keys()], ["a1", "b1"]);
	assert.equal(player.play([held("a1", "a"), held("a2", "a"), held("b1", "b")]), false, "the same again");
	assert.equal(player.play([held("c1"), held("d1")]), true);
	assert.deepEqual([...gates.keys()], ["a1", "b1", "c1"], "three at a time");
	gates.get("b1")!.resolve();
	await player.next();
	assert.equal(player.play([held("b2", "b")]), true);
	for (const gate of gates.values()) gate.resolve();
	await player.idle();
});

test("what fails waits, twice as long each time; what works again is forgiven", async () => {
	const { player, errors, pass } = stage();
	let works = false;
	let runs = 0;
	const act: Act = {
		kind: "local",
		id: "x",
		lane: "x",
		async run() {
			runs++;
			if (!works) throw new Error("no");
		},
	};
	const play = async () => {
		const isStarted = player.play([act]);
		await player.idle();
		return isStarted;
	};
	assert.deepEqual([await play(), await play()], [true, false]);
	assert.deepEqual([pass(999), await play(), pass(1), await play()], [999, false, 1000, true]);
	assert.deepEqual([pass(1999) > 0, await play(), pass(1) > 0, await play()], [true, false, true, true]);
	works = true;
	pass(4000);
	assert.deepEqual([await play(), await play(), errors.length, runs], [true, true, 3, 5]);
});

test("transactions go out at the same time, each once, and what is done already is not sent", async () => {
	const { player, errors } = stage();
	const to = `0x${"ab".repeat(20)}` as const;
	const done: string[] = [];
	const send = (id: string, isDone = false): Act => ({
		kind: "send",
		id,
		intent: async () => ({ call: { to, data: "0x", value: 1n }, isDone: async () => isDone }),
		done: () => done.push(id),
	});
	const nothing: Act = { kind: "send", id: "none", intent: async () => null };
	player.play([send("one"), send("two"), send("two"), send("three", true), nothing]);
	await player.idle();
	assert.deepEqual([done.sort(), errors], [["one", "two"], []]);
	assert.equal(await client.viem.getBalance({ address: to }), 2n);
	// Whoever wants to know why it failed is told: some failures make another try needless.
	const told: unknown[] = [];
	const refused = new Error("no");
	const intent = async () => Promise.reject(refused);
	player.play([
		{ kind: "send", id: "four", intent, failed: (error) => told.push(error), done: () => told.push("done") },
	]);
	await player.idle();
	assert.deepEqual([told, errors], [[refused], ["four"]]);
});

test("once it is stopped nothing begins, and who listens is told", async () => {
	const { player, errors, held } = stage();
	let isAborted = false;
	const listening: LocalAct = {
		kind: "local",
		id: "fetch",
		lane: "fetch",
		run: (signal) =>
			new Promise((_, reject) =>
				signal.addEventListener("abort", () => {
					isAborted = true;
					reject(signal.reason);
				}),
			),
	};
	player.play([listening]);
	await player.stop();
	assert.deepEqual([isAborted, player.play([held("late")]), errors], [true, false, []]);
});
