// What the client makes of an engine that does not keep to the page: FRAMES.md, "Programs". Every lie about
// order, number or size ends the link.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mlpSample } from "../../work/builder/samples.test-kit.ts";
import { encodeProgram } from "../../work/program/encode.ts";
import { createToyLink, type ToyPeer } from "../links/toy-link.test-kit.ts";
import { ERROR_CODE, type Reply, type Request } from "../wire/frame-table.ts";
import { createEngineClient } from "./create-engine-client.ts";
import type { WorkSession } from "./work-session.ts";

const { program } = mlpSample();
const LOSS = program.tensors.findIndex(({ name }) => name === "loss");
const PLAN = { kind: "plan", peakBytes: 1, stateBytes: 1, initOps: 2, stepOps: 3 } as const;
const bytes = (size: number, fill = 0) => new Uint8Array(size).fill(fill);
const done = (count: number, cancelled = false): Reply => ({ kind: "done", count, cancelled });
const metric = (segment: number, step: number, o: { tensor?: number; size?: number } = {}): Reply => ({
	kind: "metric",
	...{ segment, step, tensor: o.tensor ?? LOSS, bytes: bytes(o.size ?? 8) },
});
const segment = (number: number, size = 64): Reply => ({
	kind: "segment",
	segment: number,
	saved: false,
	roots: bytes(size),
});
const root = (index: number): Reply => ({ kind: "root", index, root: bytes(32) });
const opening = (round: number, index: number, leaf = 1024): Reply => ({
	kind: "opening",
	...{ round, index, leaf: bytes(leaf), path: bytes(64) },
});

/** A session of an engine that answers PROGRAM well and everything else with these frames. */
async function meet(replies: readonly Reply[], plan: Reply = PLAN): Promise<{ session: WorkSession; peer: ToyPeer }> {
	const onRequest = (peer: ToyPeer, id: number, request: Request) => {
		for (const reply of request.kind === "program" ? [plan] : replies) peer.reply(id, reply);
	};
	const { link, peer } = createToyLink(onRequest);
	peer.reply(0, { kind: "ready", version: 3, engineVersion: "toy" });
	const options = {
		clockUs: () => 0,
		readyDeadlineMs: 600_000,
		randomBytes: (size: number) => bytes(size),
		keepAliveMs: 0,
	};
	const client = await createEngineClient(link, options);
	return { session: await client.openWork({ device: 0, program: encodeProgram(program), seed: bytes(32) }), peer };
}

type Act = (session: WorkSession) => Promise<unknown>;
const run: Act = (session) => session.run({ first: 1, count: 2 });
const ask: Act = (session) =>
	session.ask({ segment: 1, step: 0, op: 0 }, [
		{ of: 0, leaf: 0 },
		{ of: "output", leaf: 0 },
	]);
const trace: Act = (session) => session.trace(0, () => {});
const whole = [metric(1, 0), metric(1, 1), segment(1), metric(2, 0), metric(2, 1), segment(2)];

const HONEST: readonly (readonly [string, Act, readonly Reply[]])[] = [
	["run", run, [...whole, done(2)]],
	["trace of init", trace, [root(0), root(1), done(2)]],
	["ask", ask, [opening(0, 0), opening(255, 0), done(2)]],
	["fetch", (session) => session.fetch(0, 0, 5), [{ kind: "bytes", bytes: bytes(5) }, done(1)]],
	["hash", (session) => session.root(0), [root(0), done(1)]],
	["save", (session) => session.save(), [root(0), root(1), done(2)]],
	["write", (session) => session.write(0, bytes(5)), [done(0)]],
];
for (const [name, act, replies] of HONEST)
	test(`${name}: what the page says is taken, and one frame more or less is not`, async () => {
		await act((await meet(replies)).session);
		const first = replies[0]!;
		const isFlood = name !== "write";
		const cases: (readonly Reply[])[] = [
			[
				...replies.slice(0, -1),
				{ ...(replies.at(-1) as { kind: "done"; count: number; cancelled: boolean }), count: 77 },
			],
			[...replies.slice(0, -1), done(replies.length - 1, true)],
			[{ kind: "pong", payload: bytes(0) }],
		];
		if (isFlood) cases.push([...replies.slice(0, -1), first, ...replies.slice(-1)], [done(0)]);
		for (const lie of cases) {
			const { session, peer } = await meet(lie);
			await assert.rejects(act(session), { code: /^(REPLY_WRONG|LINK_FLOOD)$/ }, JSON.stringify(lie.at(-1)));
			assert.ok(peer.closed, "the link is closed");
		}
	});

const LIES: readonly (readonly [string, Act, readonly Reply[]])[] = [
	["a metric of another segment", run, [metric(2, 0)]],
	["a metric of another step", run, [metric(1, 1)]],
	["a metric of another tensor", run, [metric(1, 0, { tensor: 0 })]],
	["a metric of another size", run, [metric(1, 0, { size: 16 })]],
	["a third step", run, [metric(1, 0), metric(1, 1), metric(1, 2)]],
	["a segment before its metrics", run, [metric(1, 0), segment(1)]],
	["another segment", run, [metric(1, 0), metric(1, 1), segment(2)]],
	["a root too few", run, [metric(1, 0), metric(1, 1), segment(1, 32)]],
	["a root that is cut", run, [metric(1, 0), metric(1, 1), segment(1, 63)]],
	["a segment too many", run, [...whole, metric(3, 0)]],
	["a run that ends early", run, [...whole.slice(0, 3), done(1)]],
	["a metric of init", (session) => session.run({ first: 0, count: 1 }), [metric(0, 0)]],
	["roots out of order", trace, [root(1)]],
	["a leaf of another operand", ask, [opening(1, 0)]],
	["another leaf", ask, [opening(0, 1)]],
	["a leaf that is cut", ask, [opening(0, 0, 1023)]],
	["fewer bytes than asked for", (session) => session.fetch(0, 0, 5), [{ kind: "bytes", bytes: bytes(4) }]],
	["a first piece that is short", (session) => session.fetch(0, 0, 2 ** 20 + 5), [{ kind: "bytes", bytes: bytes(5) }]],
	["more bytes than asked for", (session) => session.fetch(0, 0, 5), [{ kind: "bytes", bytes: bytes(6) }]],
];
for (const [name, act, replies] of LIES)
	test(`${name} ends the link`, async () => {
		const { session, peer } = await meet(replies);
		await assert.rejects(act(session), { code: /^(REPLY_WRONG|LINK_FLOOD)$/ });
		assert.ok(peer.closed);
	});

test("every refusal has its code; a word of the engine's own is no code", async () => {
	const refusal = (code: number, message: string): Reply => ({ kind: "error", code, message });
	for (const [reply, code, message] of [
		[
			refusal(ERROR_CODE.bad_program, "PROGRAM_OVERFLOW step op 3, instruction 7: 2^70"),
			"PROGRAM_OVERFLOW",
			/^step op 3, instruction 7: 2\^70$/,
		],
		[refusal(ERROR_CODE.bad_program, "PROGRAM_NONSENSE x"), "ENGINE_REFUSED", /NONSENSE/],
		[refusal(ERROR_CODE.bad_program, "FILE_UNWRITABLE x"), "ENGINE_REFUSED", /UNWRITABLE/],
		[refusal(ERROR_CODE.no_memory, "no"), "DEVICE_NO_ROOM", /no/],
		[refusal(ERROR_CODE.unsupported, "no"), "ENGINE_REFUSED", /no/],
		[refusal(60_000, "no"), "ENGINE_REFUSED", /no/],
	] as const)
		await assert.rejects(meet([], reply), { code, message });
	for (const [name, code] of [
		["tensor_size", "TENSOR_SIZE"],
		["tensor_range", "TENSOR_RANGE"],
		["tensor_root", "TENSOR_ROOT"],
		["blob_missing", "BLOB_MISSING"],
		["blob_cut", "BLOB_CUT"],
		["disk_full", "BLOB_DISK_FULL"],
		["disk_failed", "BLOB_DISK_FAILED"],
		["busy", "ENGINE_REFUSED"],
	] as const) {
		const { session, peer } = await meet([refusal(ERROR_CODE[name], "so")]);
		await assert.rejects(session.run({ first: 0, count: 1 }), { code });
		assert.equal(peer.closed, false);
	}
});
