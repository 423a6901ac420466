// Roll calls in the store: a call's life, what presence is made of, pages, and what is forgotten.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { AssayError } from "../protocol/assay-error.ts";
import type { Store } from "./open-store.ts";
import { onBothServers } from "./postgres/servers.test-kit.ts";
import type { RollAnswerRow } from "./roll-calls.ts";
import { cardFigures, figure, gpu, probeByHand, register } from "./sample-rows.test-kit.ts";

const code = (expected: string) => (error: unknown) => (error as AssayError).code === expected;
const ID = { chainId: 7, contract: `0x${"ab".repeat(20)}` };
const HASH = "cd".repeat(32);
const opened = (call: number, calledAtMs = 1000 * call) => ({
	...{ ...ID, call, beta0: HASH, calledAtMs, deadlineMs: 5000, b0AtS: call },
});
const COMMITTED = { b1: 9, b1AtS: 9, root: HASH, leaves: 1, transaction: "0x01" };
const answer = (
	providerId: string,
	state: RollAnswerRow["state"],
	over: Partial<RollAnswerRow> = {},
): RollAnswerRow => ({
	...{
		providerId,
		state,
		code: null,
		paidPpm: null,
		ms: null,
		leaf: null,
		reply: null,
		files: [],
		megaOps: 0,
		bytes: 0,
	},
	...over,
});

onBothServers((server) => {
	let store: Store;
	const ids: string[] = [];
	before(async () => {
		store = await server.open();
		for (const name of ["a", "b", "c"]) ids.push(await register(store, name, { link: "agent", target: "" }));
	});
	const statesOf = async (id: string, limit: number) =>
		(await store.rollCalls.outcomes(id, limit)).map(({ state }) => state);
	const inOrder = (rows: readonly RollAnswerRow[]) =>
		rows.toSorted((a, b) => ids.indexOf(a.providerId) - ids.indexOf(b.providerId));
	async function done(call: number, answers: readonly RollAnswerRow[]): Promise<void> {
		await store.rollCalls.open(opened(call));
		await store.rollCalls.commit({ ...ID, call }, COMMITTED);
		const end = { b2: 12, b2AtS: 12, beta2: HASH, nowMs: 1000 * call + 500 };
		await store.rollCalls.finish({ ...ID, call }, { ...end, answers });
	}

	test("a call is opened once, committed, and done with all its answers", async () => {
		assert.equal(await store.rollCalls.open(opened(1)), true);
		assert.equal(await store.rollCalls.open(opened(1)), false);
		assert.equal(await store.rollCalls.isOpen({ sinceMs: 0 }), true);
		assert.equal(await store.rollCalls.isOpen({ sinceMs: 5000 }), false);
		const end = { b2: 12, b2AtS: 12, beta2: HASH, nowMs: 1500 };
		// Not before it is committed.
		await assert.rejects(store.rollCalls.finish({ ...ID, call: 1 }, { ...end, answers: [] }), code("STORE_NOT_FOUND"));
		await store.rollCalls.commit({ ...ID, call: 1 }, COMMITTED);
		const reply = { account: ID.contract, answers: [], signature: "aa", accountSignatures: null };
		const files = [{ device: 0, sha256: HASH, bytes: 5 }];
		const right = answer(ids[0]!, "answered", { ms: 12, leaf: 0, reply, files, megaOps: 2 ** 40, bytes: 2 ** 37 });
		const answers = [right, answer(ids[1]!, "absent", { code: "AGENT_CLOSED" }), answer(ids[2]!, "excused")];
		await store.rollCalls.finish({ ...ID, call: 1 }, { ...end, answers });
		const row = await store.rollCalls.get(1);
		const { state, hosts, devices, gigaOps, megaBytes, counted, root } = row!;
		assert.deepEqual(
			{ state, hosts, devices, gigaOps, megaBytes, counted, root },
			{ state: "done", hosts: 1, devices: 1, gigaOps: 1_099_511_627, megaBytes: 137_438, counted: 2, root: HASH },
		);
		assert.equal(await store.rollCalls.isOpen({ sinceMs: 0 }), false);
		const { rows } = await store.rollCalls.answers({ ...ID, call: 1 });
		assert.deepEqual(
			rows.map(({ name, ...one }) => [name, one]).sort(),
			answers.map((one, i) => ["abc"[i], { ...one, attestation: null }]).sort(),
		);
		assert.deepEqual(await store.rollCalls.leaves({ ...ID, call: 1 }), [{ providerId: ids[0], leaf: 0, reply }]);
		// A second end changes nothing.
		await assert.rejects(store.rollCalls.finish({ ...ID, call: 1 }, { ...end, answers: [] }), code("STORE_NOT_FOUND"));
	});

	test("calls that a restart cut short are void and count for nobody; one that is committed to can be taken up", async () => {
		await store.rollCalls.open(opened(2));
		await store.rollCalls.open(opened(3));
		const reply = { account: ID.contract, answers: [], signature: "aa", accountSignatures: null };
		const waiting = answer(ids[0]!, "opening", { ms: 7, leaf: 0, reply, megaOps: 5, bytes: 6 });
		const answers = [waiting, answer(ids[1]!, "absent", { code: "AGENT_SILENT" })];
		await store.rollCalls.commit({ ...ID, call: 3 }, COMMITTED, { answers, nowMs: 3500 });
		assert.equal(await store.rollCalls.void(null, { code: "ROLL_CALL_CUT", nowMs: 4000 }), 1);
		const voided = async () =>
			(await store.rollCalls.list({ state: "void" })).rows.map(({ call, code }) => [call, code]);
		assert.deepEqual(await voided(), [[2, "ROLL_CALL_CUT"]]);
		assert.deepEqual(
			(await store.rollCalls.unfinished()).map(({ call, root }) => [call, root]),
			[[3, HASH]],
		);
		const known = async () => inOrder(await store.rollCalls.known({ ...ID, call: 3 }));
		assert.deepEqual(await known(), answers);
		// Others see what was opened so far; presence sees nothing of it.
		const files = [{ device: 0, sha256: HASH, bytes: 5 }];
		await store.rollCalls.opened({ ...ID, call: 3 }, ids[0]!, { state: "answered", code: null, files });
		await store.rollCalls.opened({ ...ID, call: 3 }, ids[0]!, { state: "wrong", code: "X", files: [] });
		assert.deepEqual((await store.rollCalls.answers({ ...ID, call: 3 }, { state: "answered" })).rows.length, 1);
		assert.deepEqual((await known())[0], { ...waiting, state: "answered", files }, "once, and the first counts");
		assert.deepEqual(
			(await store.rollCalls.history(ids[0]!)).rows.map(({ call }) => call),
			[1],
		);
		assert.deepEqual(await statesOf(ids[0]!, 24), ["answered"]);
		// Given up after all: nothing stays.
		assert.equal(await store.rollCalls.void({ ...ID, call: 3 }, { code: "ROLL_CALL_CUT", nowMs: 4000 }), 1);
		assert.deepEqual([await known(), await store.rollCalls.unfinished()], [[], []]);
		assert.deepEqual(await voided(), [
			[3, "ROLL_CALL_CUT"],
			[2, "ROLL_CALL_CUT"],
		]);
	});

	test("presence: the newest that are not excused, newest first", async () => {
		await done(4, [answer(ids[0]!, "wrong"), answer(ids[2]!, "late")]);
		await done(5, [answer(ids[0]!, "excused"), answer(ids[1]!, "excused", { paidPpm: 7 })]);
		await done(6, [answer(ids[0]!, "answered")]);
		assert.deepEqual(await statesOf(ids[0]!, 24), ["answered", "wrong", "answered"]);
		assert.deepEqual(await statesOf(ids[0]!, 2), ["answered", "wrong"]);
		// It was not called in 6 and 5, whether it was paused or not yet there: missed all the same.
		assert.deepEqual(await statesOf(ids[2]!, 24), ["absent", "absent", "late"]);
		assert.deepEqual((await store.rollCalls.outcomes(ids[1]!, 2))[1], { state: "excused", paidPpm: 7 });
		assert.deepEqual(
			(await store.rollCalls.counted(ids[1]!, 24)).map(({ state }) => state),
			["absent", "absent", "absent"],
			"excused ones left out",
		);
		const [newest, ...older] = await store.rollCalls.counted(ids[1]!, 24);
		assert.deepEqual(await store.rollCalls.counted(ids[1]!, 24, older[0]!.calledAtMs), [newest], "those after a time");
		const { rows, cursor } = await store.rollCalls.history(ids[0]!, { limit: 2 });
		assert.deepEqual(
			[...rows, ...(await store.rollCalls.history(ids[0]!, { cursor })).rows].map(({ call }) => call),
			[6, 5, 4, 1],
		);
	});

	test("the roster has active hosts on agent links with what they have proven, and who is being probed", async () => {
		assert.deepEqual(await store.rollCalls.roster(), []);
		const figures = [...cardFigures(0), figure(0, "gemm.int8", 1e15)];
		const id = await register(store, "proven", { link: "agent", target: "" });
		await probeByHand(store, id, `${server.name} roll`, { devices: [gpu(0)], figures, startedAtMs: 5000 });
		const overSsh = await register(store, "ssh host");
		await probeByHand(store, overSsh, `${server.name} roll ssh`, { devices: [gpu(0)], figures, startedAtMs: 5000 });
		const [host, ...others] = await store.rollCalls.roster();
		assert.equal(others.length, 0);
		assert.equal(host?.id, id);
		assert.equal(host.isProbed, false);
		assert.equal(host.isNew, true);
		await done(7, [answer(id, "absent")]);
		const isNew = async () => (await store.rollCalls.roster())[0]?.isNew;
		assert.equal(await isNew(), false);
		// Probed again, it may be in time for the next one; who has been once is new no more.
		const again = { devices: [gpu(0)], figures, startedAtMs: 7000, finishedAtMs: 7500 };
		await probeByHand(store, id, `${server.name} roll again`, again);
		assert.equal(await isNew(), true);
		await done(8, [answer(id, "answered")]);
		await probeByHand(store, id, `${server.name} roll once more`, { ...again, startedAtMs: 8500, finishedAtMs: 9000 });
		assert.equal(await isNew(), false);
		assert.deepEqual(host.devices, [{ device: 0, kind: "gpu" }]);
		assert.deepEqual(host.figures.map(({ name, value }) => [name, value]).sort(), [
			["gemm.int8", 1e15],
			["memory.resident", 143_800_000_000],
		]);
		await store.providers.setState(id, "paused", { nowMs: 1, actor: "admin" });
		assert.deepEqual(await store.rollCalls.roster(), []);
	});

	test("old calls are forgotten with the names of their files, the newest ones never", async () => {
		const before = (await store.rollCalls.list()).rows.map(({ call }) => call);
		assert.deepEqual(before, [8, 7, 6, 5, 4, 3, 2, 1]);
		assert.deepEqual(await store.rollCalls.prune({ beforeMs: 5000, keep: 6 }), []);
		assert.deepEqual(await store.rollCalls.prune({ beforeMs: 5000, keep: 4 }), [HASH]);
		assert.deepEqual(
			(await store.rollCalls.list()).rows.map(({ call }) => call),
			[8, 7, 6, 5],
		);
		assert.deepEqual(await statesOf(ids[0]!, 24), ["absent", "absent", "answered"]);
	});

	test("what was known at the commitment is written over at the end", async () => {
		await store.rollCalls.open(opened(31, 31_000));
		const before = [answer(ids[0]!, "opening", { leaf: 0 }), answer(ids[1]!, "absent", { code: "AGENT_SILENT" })];
		await store.rollCalls.commit({ ...ID, call: 31 }, COMMITTED, { answers: before, nowMs: 31_500 });
		const end = { b2: 12, b2AtS: 12, beta2: HASH, nowMs: 31_600 };
		const after = [answer(ids[0]!, "wrong", { code: "X", leaf: 0 }), answer(ids[1]!, "late", { ms: 9000 })];
		await store.rollCalls.finish({ ...ID, call: 31 }, { ...end, answers: after });
		assert.deepEqual(inOrder(await store.rollCalls.known({ ...ID, call: 31 })), after);
	});

	test("a host that answers no calls is listed, not counted, missed for its score, and known until it dials in again", async () => {
		const figures = [...cardFigures(0), figure(0, "gemm.int8", 1e15)];
		const id = await register(store, "uncalled", { link: "agent", target: "" });
		await probeByHand(store, id, `${server.name} uncalled`, { devices: [gpu(0)], figures, startedAtMs: 32_000 });
		await store.connections.connect(id, { nowMs: 32_500 });
		const known = async () => (await store.rollCalls.roster()).map(({ isNew, isUncalled }) => [isNew, isUncalled]);
		assert.deepEqual(await known(), [[true, false]]);
		await done(40, [answer(id, "uncalled", { code: "ROLL_CALL_OFF" }), answer(ids[0]!, "absent")]);
		assert.deepEqual([(await store.rollCalls.get(40))!.counted, await known()], [1, [[false, true]]]);
		assert.deepEqual((await statesOf(id, 24)).slice(0, 2), ["uncalled", "absent"]);
		await store.connections.connect(id, { nowMs: 41_000 });
		assert.deepEqual(await known(), [[false, false]]);
		await store.providers.setState(id, "paused", { nowMs: 42_000, actor: "admin" });
	});

	test("a file of a roll call is kept by its hash, and can be removed", async () => {
		const sha256 = await store.evidence.keep(new TextEncoder().encode(`of ${server.name}`));
		assert.equal((await store.evidence.get(sha256)).length, 3 + server.name.length);
		await store.evidence.remove(sha256);
		assert.equal(await store.evidence.has(sha256), false);
	});
});
