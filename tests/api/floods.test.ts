// Floods at the gate and at the database's door, without times: what is bounded, whose turn comes next, and
// that closing waits for nobody. What they cost in milliseconds: bench/floods.ts. Readers that do not read:
// slow-readers.test.ts.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startToyApi, type ToyApi } from "./toy-api.test-kit.ts";
import { toyHandlers } from "./toy-handlers.test-kit.ts";

const opened: ToyApi[] = [];
after(async () => {
	for (const api of opened) await api.server.close();
});
async function start(...given: Parameters<typeof startToyApi>): Promise<ToyApi> {
	const api = await startToyApi(...given);
	opened.push(api);
	return api;
}

/** From any address of loopback; what came is in `said`. */
async function dial(api: ToyApi, localAddress = "127.0.0.1"): Promise<{ socket: Socket; said: () => string }> {
	const { hostname, port } = new URL(api.url);
	const socket = connect({ host: hostname, port: Number(port), localAddress });
	let said = "";
	socket.on("error", () => {}).on("data", (text) => (said += text));
	await once(socket, "connect");
	return { socket, said: () => said };
}
const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
const statuses = (said: string) => [...said.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status);
const closed = (socket: Socket) => socket.closed || once(socket, "close");
async function until(isSo: () => boolean): Promise<void> {
	while (!isSo()) await sleep(2);
}

test("N13: an address has so many connections and no more; another gets in; closed ones are given back", {
	timeout: 300_000,
}, async () => {
	const api = await start({ limits: { connectionsPerAddress: 3 } });
	const held = [];
	for (let n = 0; n < 3; n++) held.push(await dial(api, "127.0.0.9"));
	await until(() => api.server.connections("127.0.0.9") === 3);
	await closed((await dial(api, "127.0.0.9")).socket);
	const other = await dial(api, "127.0.0.10");
	other.socket.write(get("/v1/health"));
	await until(() => statuses(other.said()).length === 1);
	held[0]!.socket.destroy();
	await until(() => api.server.connections("127.0.0.9") === 2);
	const again = await dial(api, "127.0.0.9");
	again.socket.write(get("/v1/health"));
	await until(() => statuses(again.said())[0] === "200");
});

test("N13: when all places are taken the longest idle connection goes, and a newcomer is answered; busy ones stay", {
	timeout: 300_000,
}, async () => {
	const { promise: made, resolve: make } = Promise.withResolvers<void>();
	const network = async () => {
		await made;
		return (toyHandlers.network as () => never)();
	};
	const api = await start({ handlers: { ...toyHandlers, network }, limits: { connections: 3 } });
	const busy = await dial(api, "127.0.0.8");
	busy.socket.write(get("/v1/network"));
	await until(() => api.calls.length === 1);
	const [first, second] = [await dial(api, "127.0.0.9"), await dial(api, "127.0.0.10")];
	await until(() => api.server.connections("127.0.0.10") === 1);
	// The first one is used: now the second has been idle for longer.
	first.socket.write(get("/v1/health"));
	await until(() => statuses(first.said()).length === 1);
	const third = await dial(api, "127.0.0.11");
	third.socket.write(get("/v1/health"));
	await until(() => statuses(third.said())[0] === "200");
	await closed(second.socket);
	assert.deepEqual([first.socket.closed, busy.socket.closed], [false, false]);
	for (const one of [first, third]) one.socket.write(get("/v1/network"));
	await until(() => api.calls.length === 3);
	await closed((await dial(api, "127.0.0.12")).socket);
	make();
	await until(() => [busy, first, third].every(({ said }) => statuses(said()).at(-1) === "200"));
});

test("N13: so many new connections of an address, then a pace; our own proxies have none", {
	timeout: 300_000,
}, async () => {
	const limits = { connectionsPerAddress: 2, dialsPerS: 1e-9 };
	const come = async (api: ToyApi) => {
		const { socket, said } = await dial(api);
		socket.write(get("/v1/health"));
		await until(() => socket.closed || said() !== "");
		socket.destroy();
		return said() !== "";
	};
	const api = await start({ limits });
	assert.deepEqual([await come(api), await come(api), await come(api), await come(api)], [true, true, true, true]);
	assert.equal(await come(api), false);
	const behind = await start({ limits, trustProxy: ["127.0.0.1"] });
	for (let n = 0; n < 6; n++) assert.equal(await come(behind), true);
});

test("N2: who asks too often is told, and then not read; who sends more behind that is cut off", {
	timeout: 300_000,
}, async () => {
	const api = await start({ limits: { readsPerS: 1, refusedHoldMs: 1e9 } });
	const calm = await dial(api);
	calm.socket.write(get("/v1/health"));
	await until(() => statuses(calm.said()).length === 1);
	calm.socket.write(get("/v1/health"));
	await until(() => statuses(calm.said()).length === 2);
	assert.deepEqual(statuses(calm.said()), ["200", "429"]);
	assert.match(calm.said(), /RATE_LIMITED/);
	api.clock.nowMs += 60_000;
	calm.socket.write(get("/v1/health"));
	// Another connection is served in between: what the first one sent lies in the kernel.
	const other = await dial(api);
	other.socket.write(get("/v1/health"));
	await until(() => statuses(other.said()).length === 1);
	assert.deepEqual(statuses(calm.said()), ["200", "429"]);
	const hasty = await dial(api);
	hasty.socket.write(get("/v1/health").repeat(10));
	await closed(hasty.socket);
	assert.ok(statuses(hasty.said()).length <= 2);
});

test("requests of one connection are answered one after the other, and few may wait", {
	timeout: 300_000,
}, async () => {
	let running = 0;
	let most = 0;
	const network = async () => {
		most = Math.max(most, ++running);
		await sleep(2);
		running -= 1;
		return (toyHandlers.network as () => never)();
	};
	const api = await start({ handlers: { ...toyHandlers, network } });
	const five = await dial(api);
	five.socket.write(get("/v1/network").repeat(5));
	await until(() => statuses(five.said()).length === 5);
	assert.equal(most, 1);
	const many = await dial(api);
	many.socket.write(get("/v1/network").repeat(40));
	await closed(many.socket);
});

test("N21: HTTP/0.9 is not answered, HTTP/1.0 is", { timeout: 300_000 }, async () => {
	const api = await start();
	for (const line of ["GET /v1/health\r\n\r\n", "GET /v1/health HTTP/0.9\r\n\r\n"]) {
		const { socket, said } = await dial(api);
		socket.write(line);
		await closed(socket);
		assert.doesNotMatch(said(), /200|ok/, line);
	}
	const { socket, said } = await dial(api);
	socket.write("GET /v1/health HTTP/1.0\r\n\r\n");
	await closed(socket);
	assert.deepEqual(statuses(said()), ["200"]);
});

test("N1: who hangs up before the answer is made leaves nothing counted", { timeout: 300_000 }, async () => {
	const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
	const { promise: made, resolve: make } = Promise.withResolvers<void>();
	const network = async () => {
		isAsked();
		await made;
		return (toyHandlers.network as () => never)();
	};
	const api = await start({ handlers: { ...toyHandlers, network } });
	const { socket } = await dial(api);
	socket.write(get("/v1/network"));
	await asked;
	socket.destroy();
	await until(() => api.server.connections("127.0.0.1") === 0);
	make();
	await sleep(20);
	assert.equal(api.server.unreadBytes(), 0);
});

/** A database that answers when it is told to, one request at a time. */
async function slowStore(limits: object) {
	const turns: { readonly id: string; readonly answer: () => void }[] = [];
	const getProvider = ({ params: { id } }: { readonly params: { readonly id: string } }) =>
		new Promise((resolve) => {
			turns.push({ id, answer: () => resolve((toyHandlers.getProvider as () => unknown)()) });
		});
	const handlers = { ...toyHandlers, getProvider } as unknown as typeof toyHandlers;
	const api = await start({ handlers, limits: { storeAtOnce: 1, ...limits } });
	const ask = async (digit: string, address: string) => {
		const one = await dial(api, address);
		one.socket.write(get(`/v1/providers/${digit.repeat(64)}`));
		return one;
	};
	return { api, turns, ask };
}

test("N2: an address that floods waits behind itself; another's request is next, and health waits for nobody", {
	timeout: 300_000,
}, async () => {
	const { api, turns, ask } = await slowStore({ turnsPerAddress: 5 });
	const flood: Awaited<ReturnType<typeof dial>>[] = [];
	for (let n = 0; n < 12; n++) flood.push(await ask("a", "127.0.0.9"));
	// One is at work, five wait, the others are told to come again.
	await until(() => flood.filter(({ said }) => statuses(said())[0] === "429").length === 6);
	assert.deepEqual([turns.length, api.server.waiting()], [1, 5]);
	await ask("b", "127.0.0.10");
	await until(() => api.server.waiting() === 6);
	assert.equal((await fetch(`${api.url}/v1/health`)).status, 200);
	turns[0]!.answer();
	await until(() => turns.length === 2);
	turns[1]!.answer();
	await until(() => turns.length === 3);
	assert.deepEqual(
		turns.map(({ id }) => id[0]),
		["a", "a", "b"],
	);
	for (let n = 2; n < 7; n++) {
		await until(() => turns.length > n);
		turns[n]!.answer();
	}
});

test("N3: closing refuses what waits, and cuts off what does not end", { timeout: 300_000 }, async () => {
	const { api, turns, ask } = await slowStore({ closeGraceMs: 50 });
	const all = [];
	for (let n = 0; n < 20; n++) all.push(await ask("a", "127.0.0.9"));
	const idle = await dial(api);
	const half = await dial(api);
	half.socket.write("GET /v1/health HTTP/1.1\r\n");
	await until(() => api.server.waiting() === 19);
	await api.server.close();
	assert.deepEqual([api.server.waiting(), turns.length], [0, 1]);
	for (const { socket } of [...all, idle, half]) await closed(socket);
	assert.equal(all.filter(({ said }) => statuses(said())[0] === "503").length, 19);
});
