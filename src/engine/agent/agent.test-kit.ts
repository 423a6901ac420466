// Both ends of an agent link on loopback, over real WebSockets, for tests: a door on a free port, providers
// that dial it, and raw WebSockets for those who do not keep to the page.
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { WebSocket, WebSocketServer } from "ws";
import { atEnd } from "../../../tests/at-end.test-kit.ts";
import type { AssayError } from "../../protocol/assay-error.ts";
import { AssayError as Failure } from "../../protocol/assay-error.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import { createSigner, type Signer } from "../../protocol/probe/signer.ts";
import type { AgentConnection } from "./accept-agent.ts";
import type { AgentBounds } from "./agent-bounds.ts";
import { AgentDoor } from "./agent-door.ts";
import { type AgentParties, createNonce, sealingKey, signProof } from "./agent-handshake.ts";
import { AGENT_VERSION, type AgentOffer } from "./agent-messages.ts";
import { createSealer, createUnsealer } from "./agent-seal.ts";
import type { AgentHandlers, DialAgentOptions } from "./dial-agent.ts";

export const clockUs = () => performance.now() * 1000;
export const random = (size: number) => new Uint8Array(randomBytes(size));
export const makeSigner = () => createSigner(random(32));

export const OFFER: AgentOffer = {
	...{ name: "a host", pricePerHourMicros: 1_500_000, rentable: false, ssh: null, jobs: null },
};

export const CLAIM: HostClaim = {
	engine: { version: "0.1.0", arch: "aarch64", cuda: false },
	host: { os: "Linux 6.1", cpu: "a cpu", cores: 2, ramBytes: 8e9, ramFreeBytes: 4e9 },
	driver: null,
	why: "no driver",
	devices: [
		{
			kind: "cpu",
			name: "a cpu",
			uuid: "",
			memoryBytes: 8e9,
			freeBytes: 4e9,
			units: 2,
			clockMHz: 0,
			compute: "",
			pcieGen: 0,
			pcieWidth: 0,
			powerLimitW: 0,
			powerDefaultW: 0,
			temperatureC: 0,
			precisions: ["int8", "fp32"],
		},
	],
} as HostClaim;

const no = (): never => {
	throw new Failure("AGENT_REFUSED", "this toy does not do that");
};

export const NO_HANDLERS: AgentHandlers = { open: no };

export interface TestDoor {
	readonly url: string;
	readonly signer: Signer;
	readonly door: AgentDoor;
	/** Why callers were not let in, as they come. */
	readonly refused: AssayError[];
	/** The next connection, also one that has come already. */
	next(): Promise<AgentConnection>;
	/** The next refusal. */
	nextRefusal(): Promise<AssayError>;
	stop(): Promise<void>;
}

/** A list that can be waited for. */
function createInbox<T>(): { put(item: T): void; next(): Promise<T> } {
	const items: T[] = [];
	const waiting: ((item: T) => void)[] = [];
	return {
		put(item) {
			const first = waiting.shift();
			if (first) first(item);
			else items.push(item);
		},
		next: () => (items.length > 0 ? Promise.resolve(items.shift()!) : new Promise((resolve) => waiting.push(resolve))),
	};
}

export async function startDoor(
	o: {
		bounds?: Partial<AgentBounds>;
		admit?: (key: string) => void;
		signer?: Signer;
		port?: number;
		perAddress?: number;
		addressOf?: (request: IncomingMessage) => string;
		groupOf?: (address: string) => string;
		knocksPerS?: number;
		knocksAtOnce?: number;
		unproven?: number;
		clockUs?: () => number;
	} = {},
): Promise<TestDoor> {
	const signer = o.signer ?? makeSigner();
	const connections = createInbox<AgentConnection>();
	const refusals = createInbox<AssayError>();
	const refused: AssayError[] = [];
	const door = new AgentDoor({
		knocksPerS: 1000,
		clockUs,
		...o,
		signer,
		randomBytes: random,
		onConnection: connections.put,
		onRefused: (error) => {
			refused.push(error);
			refusals.put(error);
		},
	});
	const server = createServer();
	server.on("upgrade", (request, socket, head) => door.handleUpgrade(request, socket, head));
	await new Promise<void>((resolve) => server.listen(o.port ?? 0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	return {
		url: `ws://127.0.0.1:${port}/agent`,
		signer,
		door,
		refused,
		next: connections.next,
		nextRefusal: refusals.next,
		async stop() {
			await door.close();
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

/** One that ends with its test. */
export async function openDoor(t: TestContext, o: Parameters<typeof startDoor>[0] = {}): Promise<TestDoor> {
	const door = await startDoor(o);
	atEnd(t, () => door.stop());
	return door;
}

export function dialOptions(url: string, more: Partial<DialAgentOptions> = {}): DialAgentOptions {
	return {
		url,
		signer: makeSigner(),
		trust: () => {},
		claim: () => CLAIM,
		offer: OFFER,
		handlers: NO_HANDLERS,
		clockUs,
		randomBytes: random,
		...more,
	};
}

/** A WebSocket that says whatever the test wants, and remembers what came and how it ended. */
export interface RawSocket {
	readonly ws: WebSocket;
	next(): Promise<{ data: Buffer; isBinary: boolean }>;
	readonly closed: Promise<{ closeCode: number; reason: string }>;
}

export async function openRaw(url: string, options: object = {}): Promise<RawSocket> {
	const ws = new WebSocket(url, { perMessageDeflate: false, ...options });
	const raw = wrapRaw(ws);
	await new Promise<void>((resolve, reject) => {
		ws.once("open", () => resolve());
		ws.once("error", reject);
	});
	return raw;
}

export function wrapRaw(ws: WebSocket): RawSocket {
	const messages = createInbox<{ data: Buffer; isBinary: boolean }>();
	ws.on("message", (data, isBinary) => messages.put({ data: data as Buffer, isBinary }));
	ws.on("error", () => {});
	const closed = new Promise<{ closeCode: number; reason: string }>((resolve) =>
		ws.once("close", (closeCode, reason) => resolve({ closeCode, reason: reason.toString() })),
	);
	return { ws, next: messages.next, closed };
}

/** A provider made by hand: honest up to the point where the test takes over. */
export interface RawProvider extends RawSocket {
	readonly signer: Signer;
	send(message: object): void;
	sendData(channel: number, bytes: Uint8Array): void;
	/** The next control message of the validator, opened. */
	receive(): Promise<Record<string, unknown> & { type: string }>;
}

export async function dialRaw(
	url: string,
	o: { proof?: object; until?: "proof" | "welcome"; signer?: Signer } = {},
): Promise<RawProvider> {
	const signer = o.signer ?? makeSigner();
	const own = createNonce(random(32));
	const raw = await openRaw(url);
	raw.ws.send(JSON.stringify({ type: "hello", version: AGENT_VERSION, key: signer.key, nonce: own.nonce }));
	const prove = JSON.parse((await raw.next()).data.toString()) as { key: string; nonce: string };
	const parties: AgentParties = {
		providerNonce: own.nonce,
		validatorNonce: prove.nonce,
		providerKey: signer.key,
		validatorKey: prove.key,
	};
	const shared = own.agree(prove.nonce);
	const sealer = createSealer(sealingKey("provider", shared, parties));
	const unseal = createUnsealer(sealingKey("validator", shared, parties));
	const provider: RawProvider = {
		...raw,
		signer,
		send: (message) => raw.ws.send(sealer.control(JSON.stringify(message))),
		sendData: (channel, bytes) => raw.ws.send(sealer.data(channel, bytes)),
		async receive() {
			const opened = unseal((await raw.next()).data);
			return opened.kind === "control" ? JSON.parse(opened.json) : { type: "data" };
		},
	};
	if (o.until === "proof") return provider;
	provider.send({
		type: "proof",
		signature: signProof("provider", parties, signer),
		claim: CLAIM,
		offer: OFFER,
		...o.proof,
	});
	if (o.until !== "welcome") await provider.receive();
	return provider;
}

/** A validator made by hand, on a port of its own; `onCaller` is the whole of it. */
export async function startRawValidator(onCaller: (raw: RawValidatorCall) => void | Promise<void>): Promise<{
	url: string;
	stop(): Promise<void>;
}> {
	const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
	server.on("connection", (ws) => {
		const raw = wrapRaw(ws);
		void onCaller({ ...raw, greet: (o = {}) => greet(raw, o) });
	});
	await new Promise<void>((resolve) => server.once("listening", () => resolve()));
	return {
		url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/agent`,
		async stop() {
			for (const ws of server.clients) ws.terminate();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

export interface RawValidatorCall extends RawSocket {
	/** Answers hello, and welcomes whoever proves its key. */
	greet(o?: { signer?: Signer; prove?: object; welcome?: object | null }): Promise<RawGreeted>;
}

export interface RawGreeted {
	readonly proof: Record<string, unknown>;
	send(message: object): void;
	sendData(channel: number, bytes: Uint8Array): void;
	receive(): Promise<Record<string, unknown> & { type: string }>;
}

async function greet(
	raw: RawSocket,
	o: { signer?: Signer; prove?: object; welcome?: object | null },
): Promise<RawGreeted> {
	const signer = o.signer ?? makeSigner();
	const own = createNonce(random(32));
	const hello = JSON.parse((await raw.next()).data.toString()) as { key: string; nonce: string };
	const parties: AgentParties = {
		providerNonce: hello.nonce,
		validatorNonce: own.nonce,
		providerKey: hello.key,
		validatorKey: signer.key,
	};
	const signature = signProof("validator", parties, signer);
	raw.ws.send(JSON.stringify({ type: "prove", key: signer.key, nonce: own.nonce, signature, ...o.prove }));
	const shared = own.agree(hello.nonce);
	const sealer = createSealer(sealingKey("validator", shared, parties));
	const unseal = createUnsealer(sealingKey("provider", shared, parties));
	const receive = async () => {
		const opened = unseal((await raw.next()).data);
		return opened.kind === "control" ? JSON.parse(opened.json) : { type: "data", bytes: opened.bytes };
	};
	const send = (message: object) => raw.ws.send(sealer.control(JSON.stringify(message)));
	const proof = await receive();
	if (o.welcome !== null) send({ type: "welcome", providerId: hello.key, ...o.welcome });
	return { proof, send, sendData: (channel, bytes) => raw.ws.send(sealer.data(channel, bytes)), receive };
}

/** In the middle: E, whom the provider dialled, stands between it and the honest V. */
export interface Middle {
	readonly url: string;
	/** To each side, as the relay can: whole messages, sealed by others. */
	toProvider(data: Buffer, isBinary: boolean): void;
	toValidator(data: Buffer, isBinary: boolean): void;
	readonly fromProvider: Buffer[];
	readonly fromValidator: Buffer[];
	stop(): Promise<void>;
}

export async function startMiddle(upstreamUrl: string): Promise<Middle> {
	const fromProvider: Buffer[] = [];
	const fromValidator: Buffer[] = [];
	let down: RawValidatorCall | null = null;
	let up: RawSocket | null = null;
	const server = await startRawValidator(async (call) => {
		down = call;
		const early: [Buffer, boolean][] = [];
		const pass = (data: Buffer, isBinary: boolean) => {
			fromProvider.push(data);
			if (up) up.ws.send(data, { binary: isBinary });
			else early.push([data, isBinary]);
		};
		call.ws.on("message", (data, isBinary) => pass(data as Buffer, isBinary));
		up = await openRaw(upstreamUrl);
		for (const [data, isBinary] of early) up.ws.send(data, { binary: isBinary });
		up.ws.on("message", (data, isBinary) => {
			fromValidator.push(data as Buffer);
			call.ws.send(data as Buffer, { binary: isBinary });
		});
		up.ws.on("close", () => call.ws.close());
		call.ws.on("close", () => up?.ws.close());
	});
	return {
		url: server.url,
		toProvider: (data, isBinary) => down!.ws.send(data, { binary: isBinary }),
		toValidator: (data, isBinary) => up!.ws.send(data, { binary: isBinary }),
		fromProvider,
		fromValidator,
		stop: server.stop,
	};
}
