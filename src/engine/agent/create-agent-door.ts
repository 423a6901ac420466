// The validator's door for agents: upgrades HTTP requests of any server to agent connections, and bounds how
// many may knock. The limits per address come before any signature is checked, because checking costs more
// than asking. Page: docs/agent-link.md.

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { BoundedMap } from "../../platform/bounded-map.ts";
import { createTokenBucket, type TokenBucket } from "../../platform/token-bucket.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Signer } from "../../protocol/probe/signer.ts";
import { acceptAgent } from "./accept-agent.ts";
import type { AgentBounds } from "./agent-bounds.ts";
import type { AgentConnection, AgentDoor } from "./agent-connection.ts";
import { closeCodes, SOCKET_OPTIONS } from "./agent-socket.ts";

export interface AgentDoorOptions {
	readonly signer: Signer;
	readonly clockUs: () => number;
	readonly randomBytes: (size: number) => Uint8Array;
	/** Throwing AssayError sends a proven provider away. */
	readonly admit?: (providerKey: string) => void;
	readonly onConnection: (connection: AgentConnection) => void;
	/** Somebody came and was not let in, for the log. */
	readonly onRefused?: (error: AssayError, address: string) => void;
	/** The client's address; behind a proxy of your own it is in a header. Default: the socket's. */
	readonly addressOf?: (request: IncomingMessage) => string;
	/** At once, proven or not. Default 64: a site behind one address. */
	readonly perAddress?: number;
	/** Knocks a second and address; each costs a signature. Default 10. */
	readonly knocksPerS?: number;
	/** Not proven yet, of all addresses together. Default 256. */
	readonly unproven?: number;
	readonly bounds?: Partial<AgentBounds>;
}

/** Addresses remembered for their rate; those longest unused go first. */
const ADDRESSES_KEPT = 10_000;

export function createAgentDoor(options: AgentDoorOptions): AgentDoor {
	const server = new WebSocketServer({ noServer: true, clientTracking: false, ...SOCKET_OPTIONS });
	const connections = new Map<string, AgentConnection>();
	const held = new Map<string, number>();
	const knocks = new BoundedMap<string, TokenBucket>(ADDRESSES_KEPT);
	const { perAddress = 64, knocksPerS = 10, unproven = 256 } = options;
	const pending = new Set<WebSocket>();
	let isOpen = true;

	function mayKnock(address: string): boolean {
		const bucket = knocks.get(address) ?? createTokenBucket({ perS: knocksPerS, burst: 2 * knocksPerS });
		knocks.set(address, bucket);
		return bucket.take(options.clockUs() / 1000) && (held.get(address) ?? 0) < perAddress && pending.size < unproven;
	}

	function count(address: string, change: 1 | -1): void {
		const left = (held.get(address) ?? 0) + change;
		if (left > 0) held.set(address, left);
		else held.delete(address);
	}

	function turnAway(socket: Duplex, status: string): void {
		socket.on("error", () => {});
		socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
		setTimeout(() => socket.destroy(), 1000).unref();
	}

	function handleUpgrade(request: IncomingMessage, socket: Duplex, head: Uint8Array): void {
		const address = options.addressOf?.(request) ?? request.socket.remoteAddress ?? "";
		if (!isOpen) {
			turnAway(socket, "503 Service Unavailable");
			return;
		}
		if (!mayKnock(address)) {
			options.onRefused?.(new AssayError("AGENT_CROWDED", "too many agent links from one address"), address);
			turnAway(socket, "429 Too Many Requests");
			return;
		}
		count(address, 1);
		socket.once("close", () => count(address, -1));
		server.handleUpgrade(request, socket, Buffer.from(head), (ws) => {
			pending.add(ws);
			acceptAgent(ws, { ...options, address })
				.finally(() => pending.delete(ws))
				.then(enter, (error: unknown) => {
					if (error instanceof AssayError) options.onRefused?.(error, address);
					else throw error;
				});
		});
	}

	function enter(connection: AgentConnection): void {
		if (!isOpen || connection.isClosed) {
			void connection.close({ closeCode: closeCodes.away });
			return;
		}
		// Whoever proved the key last is the provider: the older link may be one whose end nobody noticed.
		const older = connections.get(connection.providerKey);
		void older?.close({ closeCode: closeCodes.refused, code: "AGENT_REPLACED" });
		connections.set(connection.providerKey, connection);
		void connection.closed.then(() => {
			if (connections.get(connection.providerKey) === connection) connections.delete(connection.providerKey);
		});
		options.onConnection(connection);
	}

	return {
		handleUpgrade,
		connections,
		async close() {
			isOpen = false;
			for (const ws of pending) ws.terminate();
			await Promise.all([...connections.values()].map((c) => c.close({ closeCode: closeCodes.away })));
			server.close();
		},
	};
}
