// The attackers, one function a flood, in a process of their own: started by startChild, told which flood,
// and killed at the end. Loopback has sixteen million addresses: each attacker takes those it says. What the
// service answered is counted by status.
import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { routeRows } from "../../src/api/routes.ts";
import { dialAgent, parseValidatorUrl } from "../../src/engine/agent/dial-agent.ts";
import { createNodeSigner } from "../../src/platform/node-ed25519.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { answerParent } from "../../tests/network/child-program.ts";
import { claimOf, kindNamed } from "../../tests/network/simulated-kinds.ts";
import type { Known } from "./service.ts";
import { sendSigned } from "./signed-request.ts";

export interface FloodTarget {
	readonly url: string;
	/** The validator's. */
	readonly key: string;
	readonly known: Known;
}

type Counts = Record<string, number>;
type Flood = (target: FloodTarget, counts: Counts) => Promise<void>;

const ONE = "127.0.0.9";
const SLOW_READERS = 2000;
const PER_ROUTE_PER_S = 100;
const TICK_MS = 50;

const more = (counts: Counts, what: string) => {
	counts[what] = (counts[what] ?? 0) + 1;
};

/** A connection from that address; what comes is counted by the status of its first line. */
function dial({ url }: FloodTarget, localAddress: string, counts: Counts): Socket {
	const { hostname, port } = new URL(url);
	const socket = connect({ host: hostname, port: Number(port), localAddress });
	socket.on("connect", () => more(counts, "connected"));
	socket.on("error", (error: NodeJS.ErrnoException) => more(counts, error.code ?? "error"));
	return socket;
}

/** Without reading the bodies: the flooder's own work must not be the service's lateness. */
function countStatuses(bytes: Buffer, counts: Counts): void {
	for (let at = bytes.indexOf(LINE); at >= 0; at = bytes.indexOf(LINE, at + LINE.length))
		more(counts, bytes.toString("latin1", at + LINE.length, at + LINE.length + 3));
}
const LINE = "HTTP/1.1 ";

const head = (path: string, method = "GET", rest = "") =>
	`${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${rest}\r\n`;

/** Asks for evidence and never reads; dials again when it is thrown out. */
async function slowReader(target: FloodTarget, address: string, counts: Counts): Promise<never> {
	for (;;) {
		const socket = dial(target, address, counts).pause();
		socket.write(head(`/v1/evidence/${target.known.evidence}`));
		await new Promise((resolve) => socket.once("close", resolve));
		more(counts, "closed");
		await sleep(500);
	}
}

/** Says nothing; dials again when it is thrown out. */
async function holdIdle(target: FloodTarget, address: string, counts: Counts): Promise<never> {
	for (;;) {
		const socket = dial(target, address, counts).resume();
		await new Promise((resolve) => socket.once("close", resolve));
		more(counts, "closed");
		await sleep(1000);
	}
}

/**
 * As a client sends them: one connection a route, as many requests as it says, without waiting for answers.
 */
async function floodRoute(target: FloodTarget, request: string, counts: Counts, address = ONE): Promise<never> {
	for (;;) {
		const socket = dial(target, address, counts);
		let isOpen = true;
		socket.on("data", (text) => {
			countStatuses(text, counts);
		});
		socket.once("close", () => {
			isOpen = false;
		});
		const each = Math.round((PER_ROUTE_PER_S * TICK_MS) / 1000);
		while (isOpen) {
			if (socket.writableLength < 1 << 20) socket.write(request.repeat(each));
			await sleep(TICK_MS);
		}
	}
}

function requestsOf({ known }: FloodTarget): string[] {
	const filled = (path: string) =>
		path.replace(/:(\w+)/g, (_, name: string) => {
			if (name === "sha256") return known.evidence;
			if (name === "number" || name === "call") return "1";
			if (name === "account") return `0x${"11".repeat(20)}`;
			return path.includes("/probes/:id") ? known.probeId : known.providerIds[0]!;
		});
	return routeRows.map(([, { method, path }]) => {
		if (method === "GET") return head(filled(path));
		return `${head(filled(path), method, "content-type: application/json\r\ncontent-length: 2\r\n")}{}`;
	});
}

async function dialProven(target: FloodTarget, counts: Counts) {
	const signer = createNodeSigner(new Uint8Array(randomBytes(32)));
	const claim = () => ({ ...claimOf(kindNamed("honest").host, signer.key) });
	const connection = await dialAgent({
		url: parseValidatorUrl(target.url),
		signer,
		trust: () => {},
		claim,
		offer: { name: "flood", pricePerHourMicros: 1, rentable: false, ssh: null, jobs: null },
		handlers: {
			open: async () => {
				throw new AssayError("PROVIDER_BUSY", "a flooder has no engine");
			},
		},
		clockUs: () => performance.now() * 1000,
		randomBytes: (size) => new Uint8Array(randomBytes(size)),
	});
	more(counts, "proven");
	return { connection, claim };
}

export const floods = {
	/** N1, N2: what the issue asks for: everything at once, from one address. */
	async readersAndRoutes(target, counts) {
		await Promise.all([floods.slowReaders(target, counts), floods.everyRoute(target, counts)]);
	},
	async slowReaders(target, counts) {
		await Promise.all(Array.from({ length: SLOW_READERS }, () => slowReader(target, ONE, counts)));
	},
	async everyRoute(target, counts) {
		await Promise.all(requestsOf(target).map((request) => floodRoute(target, request, counts)));
	},
	/** The same from fifty addresses, each within its rights: 100 a second. */
	async manyAddresses(target, counts) {
		const requests = requestsOf(target).filter((request) => request.startsWith("GET"));
		await Promise.all(
			Array.from({ length: 20 }, (_, n) =>
				floodRoute(target, requests[n % requests.length]!, counts, `127.0.9.${n + 1}`),
			),
		);
	},
	/** A new connection for each request, as fast as it goes. */
	async newConnections(target, counts) {
		const one = async () => {
			for (;;) {
				const socket = dial(target, ONE, counts).resume();
				socket.write(head("/v1/health"));
				await new Promise((resolve) => setTimeout(resolve, 20));
				socket.destroy();
			}
		};
		await Promise.all(Array.from({ length: 40 }, one));
	},
	/** N13: sockets that say nothing, from a hundred addresses; whoever is closed dials again. */
	async idleConnections(target, counts) {
		for (let n = 0; n < 12_000; n++) {
			void holdIdle(target, `127.0.10.${(n % 100) + 1}`, counts);
			if (n % 200 === 0) await sleep(20);
		}
		await new Promise(() => {});
	},
	/** N13: more than a process of 1,024 descriptors can hold. */
	async fewIdle(target, counts) {
		await Promise.all(Array.from({ length: 1500 }, (_, n) => holdIdle(target, `127.0.13.${(n % 100) + 1}`, counts)));
	},
	/** N12: honest agents that are busy with something else. */
	async busyAgents(target, counts) {
		await Promise.all(Array.from({ length: 10 }, () => dialProven(target, counts)));
	},
	/** Heads that never end, from one address. */
	async slowHeads(target, counts) {
		const trickle = async () => {
			for (;;) {
				const socket = dial(target, ONE, counts).resume();
				socket.write("GET /v1/health HTTP/1.1\r\n");
				let isOpen = true;
				socket.once("close", () => {
					isOpen = false;
				});
				while (isOpen) {
					socket.write("x-a: b\r\n");
					await sleep(2000);
				}
				more(counts, "closed");
			}
		};
		await Promise.all(Array.from({ length: SLOW_READERS }, trickle));
	},
	/** Event streams that nobody reads. */
	async eventStreams(target, counts) {
		const listen = async (n: number) => {
			for (;;) {
				const socket = dial(target, `127.0.11.${(n % 20) + 1}`, counts).pause();
				socket.write(head("/v1/events"));
				await new Promise((resolve) => socket.once("close", resolve));
				more(counts, "closed");
				await sleep(500);
			}
		};
		await Promise.all(Array.from({ length: 1000 }, (_, n) => listen(n)));
	},
	/** N3: proven agents that say `changed` as often as they may, each time of another host. */
	async changedAgents(target, counts) {
		const agent = async () => {
			for (;;) {
				try {
					const { connection, claim } = await dialProven(target, counts);
					let isOpen = true;
					void connection.closed.then(({ code }) => {
						isOpen = false;
						more(counts, code);
					});
					for (let n = 0; isOpen; n++) {
						const { host, ...rest } = claim();
						connection.sendChanged({ ...rest, host: { ...host, cores: 1 + (n % 900) } });
						more(counts, "changed");
						await sleep(1000 / 45);
					}
				} catch (error) {
					more(counts, error instanceof AssayError ? error.code : "error");
				}
				await sleep(500);
			}
		};
		await Promise.all(Array.from({ length: 20 }, agent));
	},
	/** N18: five addresses that hold as many connections at the agents' door as they may, and prove nothing. */
	async squattedDoor(target, counts) {
		const upgrade = head(
			"/agent",
			"GET",
			"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n",
		);
		const squat = async (address: string) => {
			for (;;) {
				const socket = dial(target, address, counts);
				socket.on("data", (text) => {
					countStatuses(text, counts);
				});
				socket.write(upgrade);
				await new Promise((resolve) => socket.once("close", resolve));
				await sleep(100);
			}
		};
		await Promise.all(Array.from({ length: 320 }, (_, n) => squat(`127.0.12.${(n % 5) + 1}`)));
	},
	/** N10: a new provider a request, signed by a fresh key, from one address. */
	async newProviders(target, counts) {
		for (;;) {
			const started = performance.now();
			const signer = createNodeSigner(new Uint8Array(randomBytes(32)));
			const body = JSON.stringify({ link: "agent", key: signer.key, name: "one of many" });
			const asked = { target, signer, method: "POST", path: "/v1/providers", from: ONE, body };
			await sendSigned(asked).then(({ status }) => more(counts, status));
			await sleep(Math.max(0, 90 - (performance.now() - started)));
		}
	},
} satisfies Record<string, Flood>;

export type FloodName = keyof typeof floods;

const counts: Counts = {};
answerParent({
	start({ name, target }: { readonly name: FloodName; readonly target: FloodTarget }) {
		floods[name](target, counts).catch((error) => console.error(error));
	},
	counts: () => counts,
});
