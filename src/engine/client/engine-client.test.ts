// The client against engines inside this process: an honest one, and one for each way to break
// engine/FRAMES.md. Misbehaviour during a request must come back as a value with its code, and memory must
// stay bounded.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Link } from "../links/link.ts";
import { createToyLink, type ToyPeer } from "../links/toy-link.test-kit.ts";
import { KIND, type Request } from "../wire/frame-table.ts";
import { encodeFrame, encodeReply } from "../wire/frames.ts";
import type { EngineClient } from "./create-engine-client.ts";
import { createEngineClient } from "./create-engine-client.ts";
import type { Answer } from "./engine-answers.ts";

const clockUs = () => Math.round(performance.now() * 1000);
const options = {
	clockUs,
	readyDeadlineMs: 600_000,
	randomBytes: (n: number) => new Uint8Array(n).fill(n),
	keepAliveMs: 0,
};
const ready = encodeReply(0, { kind: "ready", version: 3, engineVersion: "0.1.0" });
const root = (fill: number) => new Uint8Array(32).fill(fill);
const gemm = {
	session: 1,
	device: 0,
	precision: "int8",
	m: 128,
	n: 512,
	k: 128,
	rounds: 2,
	keep: 1,
	seed: root(1),
} as const;
/** For what never comes. */
const soon = { deadlineMs: 150 };
const enough = { deadlineMs: 600_000 };
const claim = {
	engine: { version: "0.1.0", arch: "aarch64", cuda: false },
	host: { os: "Linux", cpu: "toy", cores: 2, ramBytes: 1, ramFreeBytes: 1 },
	driver: null,
	why: "no driver",
	devices: [
		{
			...{ kind: "cpu", name: "toy", uuid: "", memoryBytes: 1, freeBytes: 1, units: 2, clockMHz: 0, compute: "" },
			...{ pcieGen: 0, pcieWidth: 0, powerLimitW: 0, powerDefaultW: 0, temperatureC: 0, precisions: ["int8"] },
		},
	],
};

type OnRequest = (peer: ToyPeer, id: number, request: Request) => void;

async function meet(onRequest: OnRequest): Promise<{ client: EngineClient; peer: ToyPeer; link: Link }> {
	const { link, peer } = createToyLink(onRequest);
	peer.send(ready);
	return { client: await createEngineClient(link, options), peer, link };
}

function runHonestly(peer: ToyPeer, id: number, count: number): void {
	for (let i = 0; i < count; i++) {
		peer.reply(id, { kind: "progress", done: i, total: count });
		peer.reply(id, { kind: "root", index: i, root: root(i) });
	}
	peer.reply(id, { kind: "done", count, cancelled: false });
}

const honest: OnRequest = (peer, id, request) => {
	switch (request.kind) {
		case "hello":
			return void peer.reply(id, { kind: "claim", json: JSON.stringify(claim) });
		case "ping":
			return void peer.reply(id, { kind: "pong", payload: request.payload });
		case "gemm":
		case "fma":
			return runHonestly(peer, id, request.rounds);
		case "stream":
			return runHonestly(peer, id, request.passes);
		case "copy":
		case "chase":
			return runHonestly(peer, id, 1);
		case "read": {
			if (request.device === 2) return void peer.reply(id, { kind: "error", code: 3, message: "no such device" });
			const said = { coreMHz: 1980, memoryMHz: 3201, powerMw: 650_000, temperatureC: 60, throttle: 4 };
			const nothing = { coreMHz: 0, memoryMHz: 0, powerMw: 0, temperatureC: 0, throttle: 0 };
			return void peer.reply(id, { kind: "reading", ...(request.device === 0 ? said : nothing) });
		}
		case "open":
			for (const { round, index } of request.places) {
				peer.reply(id, { kind: "opening", round, index, leaf: new Uint8Array(1024), path: root(9) });
			}
			return void peer.reply(id, { kind: "done", count: request.places.length, cancelled: false });
		default:
			return void peer.reply(id, { kind: "done", count: 0, cancelled: false });
	}
};

/**
 * Runs one gemm against a peer that answers it with `act`. The link must be closed afterwards if the ending
 * is not a clean one.
 */
async function ask(act: (peer: ToyPeer, id: number) => void, { deadlineMs } = enough): Promise<Answer> {
	const { client, peer } = await meet((p, id, request) => {
		if (request.kind === "gemm") act(p, id);
	});
	const answer = await client.gemm(gemm, { deadlineMs });
	assert.equal(peer.closed, ["garbage", "silent", "cut"].includes(answer.end));
	await client.close();
	return answer;
}

function assertEnd(answer: { end: string; code: string | null }, end: string, code: string | null): void {
	assert.deepEqual({ end: answer.end, code: answer.code }, { end, code });
}

test("an honest engine answers everything", async () => {
	const { client, peer } = await meet(honest);
	assert.equal(client.version, "0.1.0");
	assert.deepEqual(await client.hello(enough), claim);
	assert.ok((await client.ping(enough)) >= 0);
	const seen: number[] = [];
	const progress: number[] = [];
	const answer = await client.gemm(gemm, {
		...enough,
		onRoot: (r) => seen.push(r.index),
		onProgress: (d) => progress.push(d),
	});
	assertEnd(answer, "complete", null);
	assert.deepEqual(seen, [0, 1]);
	assert.deepEqual(progress, [0, 1]);
	assert.deepEqual(
		answer.roots.map((r) => r.root),
		[root(0), root(1)],
	);
	assert.ok(answer.roots.every((r) => r.atUs >= answer.sentAtUs && r.atUs <= answer.endedAtUs));
	const fma = { session: 2, device: 0, precision: "fp32", lanes: 256, steps: 512, rounds: 3, seed: root(2) } as const;
	assert.equal((await client.fma(fma, enough)).roots.length, 3);
	assert.equal(
		(await client.stream({ session: 1, reader: 0, newest: 0, passes: 4, nonce: root(3) }, enough)).roots.length,
		4,
	);
	const places = [
		{ round: 1, index: 5 },
		{ round: 0, index: 5 },
	];
	const opened = await client.open({ session: 1, what: "leaves", places }, enough);
	assert.deepEqual(
		opened.openings.map(({ round, index }) => ({ round, index })),
		places,
	);
	const copied = await client.copy({ session: 1, device: 2, newest: 1, nonce: root(3) }, enough);
	assertEnd(copied, "complete", null);
	assert.equal(copied.roots.length, 1);
	const chased = await client.chase({ session: 1, newest: 0, intervals: 16, nonce: root(4) }, enough);
	assertEnd(chased, "complete", null);
	assert.equal(chased.roots.length, 1);
	const said = { coreMHz: 1980, memoryMHz: 3201, powerMw: 650_000, temperatureC: 60, throttle: 4 };
	const reading = await client.read(0, enough);
	assert.ok(reading && reading.atUs >= 0);
	assert.deepEqual(reading, { device: 0, atUs: reading.atUs, ...said });
	assert.equal(await client.read(1, enough), null, "all 0 says nothing");
	assert.equal(await client.read(2, enough), null, "a refusal says nothing");
	assertEnd(await client.release(1, enough), "complete", null);
	await client.close();
	assert.equal(peer.closed, true);
	assertEnd(await client.gemm(gemm, enough), "silent", "LINK_CLOSED");
});

test("requests on one link run side by side, and each gets its own replies", async () => {
	const waiting: number[] = [];
	const { client } = await meet((peer, id) => {
		waiting.push(id);
		if (waiting.length < 3) return;
		for (let round = 0; round < 2; round++) {
			for (const other of waiting.toReversed()) peer.reply(other, { kind: "root", index: round, root: root(other) });
		}
		for (const other of waiting) peer.reply(other, { kind: "done", count: 2, cancelled: false });
	});
	const answers = await Promise.all(
		[0, 1, 2].map((device) => client.gemm({ ...gemm, session: device, device }, enough)),
	);
	answers.forEach((answer, i) => {
		assertEnd(answer, "complete", null);
		assert.deepEqual(
			answer.roots.map((r) => r.root[0]),
			[waiting[i], waiting[i]],
		);
	});
	await client.close();
});

test("a frame is stamped when the chunk that completes it is read", async () => {
	let nowUs = 0;
	const { link, peer } = createToyLink((p, id) => {
		const [first, second] = [0, 1].map((index) => encodeReply(id, { kind: "root", index, root: root(index) }));
		const done = encodeReply(id, { kind: "done", count: 2, cancelled: false });
		// Half a frame now; its end with the whole of the next one later; DONE byte by byte.
		const chunks = [
			first!.subarray(0, 20),
			Buffer.concat([first!.subarray(20), second!]),
			done.subarray(0, 1),
			done.subarray(1),
		];
		const step = () => {
			nowUs += 1000;
			const chunk = chunks.shift();
			if (chunk) p.send(chunk);
			if (chunk) setImmediate(step);
		};
		step();
	});
	peer.send(ready);
	const client = await createEngineClient(link, { ...options, clockUs: () => nowUs });
	const answer = await client.gemm(gemm, enough);
	assert.equal(answer.sentAtUs, 0);
	assert.deepEqual(
		answer.roots.map((r) => r.atUs),
		[2000, 2000],
	);
	assert.equal(answer.endedAtUs, 4000);
	await client.close();
});

test("a refusal ends its request only", async () => {
	const { client } = await meet((peer, id, request) => {
		if (request.kind === "gemm") peer.reply(id, { kind: "error", code: 4, message: "no \u001b[31mroom" });
		else honest(peer, id, request);
	});
	const answer = await client.gemm(gemm, enough);
	assertEnd(answer, "refused", "ENGINE_REFUSED");
	assert.deepEqual(answer.engineError, { code: 4, message: "no [31mroom" });
	assertEnd(await client.release(1, enough), "complete", null);
	await client.close();
});

test("roots are recorded as they came, for verify/ to judge", async () => {
	const answer = await ask((peer, id) => {
		for (const index of [1, 1, 0, 77]) peer.reply(id, { kind: "root", index, root: root(index) });
		peer.reply(id, { kind: "done", count: 4, cancelled: false });
	});
	assertEnd(answer, "complete", null);
	assert.deepEqual(
		answer.roots.map((r) => r.index),
		[1, 1, 0, 77],
	);
	assertEnd(await ask((peer, id) => peer.reply(id, { kind: "done", count: 0, cancelled: false })), "complete", null);
});

test("silence and trickling end at the deadline, each by its name", async () => {
	assertEnd(await ask(() => {}, soon), "silent", "LINK_SILENT");
	assertEnd(
		await ask((peer, id) => peer.reply(id, { kind: "root", index: 0, root: root(0) }), soon),
		"silent",
		"LINK_DEADLINE",
	);
	const trickled = await ask((peer, id) => {
		const bytes = encodeReply(id, { kind: "root", index: 0, root: root(0) });
		let at = 0;
		const timer = setInterval(() => (peer.closed ? clearInterval(timer) : peer.send(bytes.subarray(at, ++at))), 10);
	}, soon);
	assertEnd(trickled, "silent", "LINK_DEADLINE");
	assert.equal(trickled.roots.length, 0);
});

test("the silence of one request closes the link for the others", async () => {
	const { client } = await meet(() => {});
	const [short, long] = await Promise.all([client.gemm(gemm, soon), client.gemm({ ...gemm, session: 2 }, enough)]);
	assertEnd(short, "silent", "LINK_SILENT");
	assertEnd(long, "silent", "LINK_CLOSED");
});

test("an engine that exits ends its requests, with its last words", async () => {
	const answer = await ask((peer) => peer.exit({ code: 137, stderrTail: "out of memory" }));
	assertEnd(answer, "cut", "LINK_CLOSED");
	assert.match(answer.detail, /exit code 137.*out of memory/);
	const cut = await ask((peer, id) => {
		peer.send(encodeReply(id, { kind: "root", index: 0, root: root(0) }).subarray(0, 20));
		peer.exit({ code: null, signal: "SIGKILL" });
	});
	assertEnd(cut, "cut", "LINK_CLOSED");
	assert.match(cut.detail, /middle of a frame.*SIGKILL/);
});

test("whatever breaks the page poisons the link", async () => {
	const broken: Record<string, [(peer: ToyPeer, id: number) => void, string]> = {
		"1 GiB": [(peer) => peer.send(Uint8Array.of(0, 0, 0, 0x40)), "FRAME_TOO_LARGE"],
		"length 0": [(peer) => peer.send(new Uint8Array(9)), "FRAME_BAD"],
		"text on stdout": [(peer) => peer.send(Buffer.from("Welcome to the machine\n")), "FRAME_TOO_LARGE"],
		"unknown kind": [(peer, id) => peer.send(encodeFrame(0x99, id, new Uint8Array(3))), "FRAME_BAD"],
		"a request as reply": [(peer, id) => peer.send(encodeFrame(KIND.release, id, new Uint8Array(4))), "FRAME_BAD"],
		"root too short": [(peer, id) => peer.send(encodeFrame(KIND.root, id, new Uint8Array(35))), "FRAME_BAD"],
		"unknown id": [(peer, id) => peer.reply(id + 1, { kind: "root", index: 0, root: root(0) }), "REPLY_UNASKED"],
		"READY twice": [(peer) => peer.send(ready), "REPLY_UNASKED"],
		"error to nothing": [(peer) => peer.reply(0, { kind: "error", code: 1, message: "what?" }), "ENGINE_LOST"],
		"wrong kind": [(peer, id) => peer.reply(id, { kind: "pong", payload: root(0) }), "REPLY_WRONG"],
		"opening to gemm": [
			(peer, id) => peer.reply(id, { kind: "opening", round: 0, index: 0, leaf: root(0), path: root(0) }),
			"REPLY_WRONG",
		],
		"count that lies": [(peer, id) => peer.reply(id, { kind: "done", count: 2, cancelled: false }), "REPLY_WRONG"],
		"cancelled by nobody": [(peer, id) => peer.reply(id, { kind: "done", count: 0, cancelled: true }), "REPLY_WRONG"],
	};
	for (const [name, [act, code]] of Object.entries(broken)) {
		const answer = await ask(act);
		assert.deepEqual({ name, end: answer.end, code: answer.code }, { name, end: "garbage", code });
	}
});

test("a reply after DONE poisons what runs beside it", async () => {
	const { client } = await meet((peer, id, request) => {
		if (request.kind !== "gemm" || request.session !== 1) return;
		peer.reply(id, { kind: "done", count: 0, cancelled: false });
		peer.reply(id, { kind: "root", index: 0, root: root(0) });
	});
	const other = client.gemm({ ...gemm, session: 2 }, enough);
	assertEnd(await client.gemm(gemm, enough), "complete", null);
	assertEnd(await other, "garbage", "REPLY_UNASKED");
	assertEnd(await client.release(1, enough), "garbage", "REPLY_UNASKED");
	await assert.rejects(client.ping(enough), { code: "REPLY_UNASKED" });
	await assert.rejects(client.hello(enough), { code: "REPLY_UNASKED" });
});

test("floods are cut off: roots, openings, progress, bytes", async () => {
	const forever = (peer: ToyPeer, bytes: Uint8Array) => {
		const pump = () => {
			for (let i = 0; i < 200 && !peer.closed; i++) peer.send(bytes);
			if (!peer.closed) setImmediate(pump);
		};
		pump();
	};
	const roots = await ask((peer, id) => forever(peer, encodeReply(id, { kind: "root", index: 0, root: root(0) })));
	assertEnd(roots, "garbage", "LINK_FLOOD");
	assert.equal(roots.roots.length, gemm.rounds + 16);
	assertEnd(
		await ask((peer, id) => forever(peer, encodeReply(id, { kind: "progress", done: 0, total: 1 }))),
		"garbage",
		"LINK_FLOOD",
	);

	for (const [what, places, leaf, path] of [
		["leaves", 1, 1024, 0],
		["hops", 1, 1024, 0],
		["leaves", 4096, 65535, 65535 * 32],
	] as const) {
		let sent = 0;
		const { client } = await meet((peer, id) => {
			const bytes = encodeReply(id, {
				kind: "opening",
				round: 0,
				index: 0,
				leaf: new Uint8Array(leaf),
				path: new Uint8Array(path),
			});
			const pump = () => {
				if (peer.closed) return;
				sent += bytes.length;
				peer.send(bytes);
				setImmediate(pump);
			};
			pump();
		});
		const list = Array.from({ length: places }, (_, index) => ({ round: 0, index }));
		const flooded = await client.open({ session: 1, what, places: list }, enough);
		assertEnd(flooded, "garbage", "LINK_FLOOD");
		if (path === 0) assert.equal(flooded.openings.length, (what === "hops" ? 64 : 1) + 16);
		assert.ok(sent < 40e6, `cut off after ${sent} bytes`);
	}
});

test("progress at the allowed pace is no flood", async () => {
	const { link, peer } = createToyLink((p, id) => {
		for (let i = 0; i < 1000; i++) {
			nowUs += 100_000;
			p.reply(id, { kind: "progress", done: i, total: 1000 });
		}
		p.reply(id, { kind: "done", count: 0, cancelled: false });
	});
	let nowUs = 0;
	peer.send(ready);
	// Ten a second by a clock that the test turns: the chunks are read one by one, in step with it.
	const client = await createEngineClient(link, { ...options, clockUs: () => (nowUs += 100_000) });
	assertEnd(await client.gemm(gemm, enough), "complete", null);
	await client.close();
});

test("an engine that never reads does not fill our memory", async () => {
	const { link, peer } = createToyLink();
	peer.send(ready);
	const client = await createEngineClient(link, options);
	const places = Array.from({ length: 4096 }, (_, index) => ({ round: 0, index }));
	const answers = await Promise.all(
		Array.from({ length: 200 }, () => client.open({ session: 1, what: "leaves", places }, enough)),
	);
	assert.ok(answers.every((a) => a.end === "silent"));
	assert.ok(link.input.writableLength < 6 << 20, `${link.input.writableLength} bytes waiting`);
});

test("stop sends CANCEL and keeps what came", async () => {
	const stop = new AbortController();
	let running = 0;
	const { client } = await meet((peer, id, request) => {
		if (request.kind === "gemm") {
			running = id;
			peer.reply(id, { kind: "root", index: 0, root: root(0) });
		} else if (request.kind === "cancel") {
			assert.equal(request.target, running);
			peer.reply(id, { kind: "done", count: 0, cancelled: false });
			peer.reply(running, { kind: "root", index: 1, root: root(1) });
			peer.reply(running, { kind: "done", count: 2, cancelled: true });
		} else honest(peer, id, request);
	});
	const answer = await client.gemm(gemm, { ...enough, stop: stop.signal, onRoot: () => stop.abort() });
	assertEnd(answer, "stopped", null);
	assert.equal(answer.roots.length, 2);
	assertEnd(await client.gemm({ ...gemm, session: 2 }, { ...enough, stop: stop.signal }), "stopped", null);
	assertEnd(await client.release(1, enough), "complete", null);
	await client.close();
});

test("an engine that ignores CANCEL is given up after the grace", async () => {
	const { client } = await meet((peer, id, request) => {
		if (request.kind === "gemm") peer.reply(id, { kind: "root", index: 0, root: root(0) });
	});
	const stop = AbortSignal.timeout(20);
	const answer = await client.gemm(gemm, { deadlineMs: 600_000, stop, graceMs: 100 });
	assert.equal(answer.end, "silent");
	assert.equal(answer.roots.length, 1);
});

test("a callback that throws fails its own request and no other", async () => {
	const { client } = await meet(honest);
	const onRoot = () => {
		throw new Error("ours");
	};
	await assert.rejects(client.gemm(gemm, { ...enough, onRoot }), /ours/);
	assertEnd(await client.gemm(gemm, enough), "complete", null);
	await client.close();
});

test("without READY there is no client", async () => {
	const cases: [string, (peer: ToyPeer) => void, string][] = [
		["silence", () => {}, "LINK_SILENT"],
		["text", (peer) => peer.send(Buffer.from("Last login: today\n")), "FRAME_TOO_LARGE"],
		["exit", (peer) => peer.exit({ code: 127 }), "LINK_CLOSED"],
		["another frame", (peer) => peer.reply(0, { kind: "progress", done: 0, total: 0 }), "REPLY_WRONG"],
		["another id", (peer) => peer.reply(1, { kind: "ready", version: 3, engineVersion: "x" }), "REPLY_UNASKED"],
		["another version", (peer) => peer.reply(0, { kind: "ready", version: 1, engineVersion: "x" }), "ENGINE_VERSION"],
	];
	for (const [name, act, code] of cases) {
		const { link, peer } = createToyLink(() => {});
		act(peer);
		await assert.rejects(
			createEngineClient(link, { ...options, readyDeadlineMs: 150 }),
			{ name: "AssayError", code },
			name,
		);
		assert.equal(peer.closed, true, name);
	}
});

test("hello and ping throw when the engine lies", async () => {
	const lies: [OnRequest, string][] = [
		[(peer, id) => peer.reply(id, { kind: "claim", json: "{" }), "CLAIM_BAD"],
		[(peer, id) => peer.reply(id, { kind: "claim", json: "[]" }), "CLAIM_BAD"],
		[(peer, id) => peer.reply(id, { kind: "claim", json: JSON.stringify({ ...claim, devices: [] }) }), "CLAIM_BAD"],
		[
			(peer, id) => peer.reply(id, { kind: "claim", json: JSON.stringify({ ...claim, why: "x".repeat(300) }) }),
			"CLAIM_BAD",
		],
		[(peer, id) => peer.reply(id, { kind: "error", code: 10, message: "version" }), "ENGINE_REFUSED"],
		[(peer, id) => peer.reply(id, { kind: "done", count: 0, cancelled: false }), "REPLY_WRONG"],
		[() => {}, "LINK_SILENT"],
	];
	for (const [act, code] of lies) {
		const { client } = await meet(act);
		await assert.rejects(client.hello(code === "LINK_SILENT" ? soon : enough), { name: "AssayError", code });
		await client.close();
	}
	const { client } = await meet((peer, id) => peer.reply(id, { kind: "pong", payload: new Uint8Array(16) }));
	await assert.rejects(client.ping(enough), { name: "AssayError", code: "REPLY_WRONG" });
});

test("a claim's texts are made harmless", async () => {
	const odd = JSON.stringify({ ...claim, more: 1, why: "a\u001b[2Jb" }).replace('"cores":2', '"cores":-0');
	const { client } = await meet((peer, id) => peer.reply(id, { kind: "claim", json: odd }));
	const read = await client.hello(enough);
	assert.equal(read.why, "a\uFFFD[2Jb");
	assert.ok(Object.is(read.host.cores, 0));
	assert.equal("more" in read, false);
	await client.close();
});

test("keep-alive pings while nobody asks", async () => {
	let pings = 0;
	const { promise: pinged, resolve } = Promise.withResolvers<void>();
	const { link, peer } = createToyLink((p, id, request) => {
		honest(p, id, request);
		if (request.kind === "ping" && ++pings === 3) resolve();
	});
	peer.send(ready);
	const client = await createEngineClient(link, { ...options, keepAliveMs: 10 });
	const stayAwake = setTimeout(() => {}, 60_000);
	await pinged;
	clearTimeout(stayAwake);
	await client.close();
});
