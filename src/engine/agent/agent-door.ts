// The validator's door for agents: upgrades HTTP requests of any server to agent connections, and bounds how
// many may knock and wait to be proven. The limits per address come before any signature is checked, because
// checking costs more than asking; whoever has proven its key is counted no more, its owner decides how many
// of those there may be. Page: docs/agent-link.md.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { BoundedMap } from "../../platform/bounded-map.ts";
import { TokenBucket } from "../../platform/token-bucket.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { type AcceptAgentOptions, type AgentConnection, acceptAgent } from "./accept-agent.ts";
import { closeCodes, SOCKET_OPTIONS } from "./agent-socket.ts";

export interface AgentDoorOptions extends Omit<AcceptAgentOptions, "address"> {
	readonly onConnection: (connection: AgentConnection) => void;
	/** Somebody came and was not let in, for the log. */
	readonly onRefused?: (error: AssayError, address: string) => void;
	/** The client's address; behind a proxy of your own it is in a header. Default: the socket's. */
	readonly addressOf?: (request: IncomingMessage) => string;
	/** What counts as one address for the limits. Default: the address itself. */
	readonly groupOf?: (address: string) => string;
	/**
	 * Not proven yet, of one address. Default 128: a site behind one address, whose hosts all dial after an
	 * outage.
	 */
	readonly perAddress?: number;
	/** Knocks of one address, a second and at once; each costs a signature. Default 20 and 128. */
	readonly knocksPerS?: number;
	readonly knocksAtOnce?: number;
	/** Not proven yet, of all addresses together; then those who hold the most give way. Default 256. */
	readonly unproven?: number;
}

/** Addresses remembered for their rate; those longest unused go first. */
const ADDRESSES_KEPT = 10_000;

/** Give it the upgrade requests of `/agent` of any HTTP server. */
export class AgentDoor {
	/** Proven and still connected, by provider key. A newer connection of a key replaces the older. */
	readonly connections = new Map<string, AgentConnection>();
	private readonly options: AgentDoorOptions;
	private readonly server = new WebSocketServer({ noServer: true, clientTracking: false, ...SOCKET_OPTIONS });
	private readonly knocks = new BoundedMap<string, TokenBucket>(ADDRESSES_KEPT);
	/**
	 * Not proven yet, the oldest first, each with what its address counts as; and how many each of those has.
	 */
	private readonly pending = new Map<WebSocket, string>();
	private readonly held = new Map<string, number>();
	private isOpen = true;

	constructor(options: AgentDoorOptions) {
		this.options = options;
	}

	/** For node:http's `upgrade` event. Never throws; a refused one gets an HTTP status or a close code. */
	handleUpgrade(request: IncomingMessage, socket: Duplex, head: Uint8Array): void {
		const { addressOf, onRefused } = this.options;
		const address = addressOf?.(request) ?? request.socket.remoteAddress ?? "";
		if (!this.isOpen) {
			turnAway(socket, "503 Service Unavailable");
			return;
		}
		const group = this.options.groupOf?.(address) ?? address;
		if (!this.mayKnock(group)) {
			onRefused?.(new AssayError("AGENT_CROWDED", "too many agent links from one address"), address);
			turnAway(socket, "429 Too Many Requests");
			return;
		}
		this.server.handleUpgrade(request, socket, Buffer.from(head), (ws) => {
			this.pending.set(ws, group);
			this.count(group, 1);
			acceptAgent(ws, { ...this.options, address })
				.finally(() => this.forget(ws))
				.then(
					(connection) => this.enter(connection),
					(error: unknown) => {
						if (!(error instanceof AssayError)) throw error;
						onRefused?.(error, address);
					},
				);
		});
	}

	/** Ends every connection and lets nobody in any more. */
	async close(): Promise<void> {
		this.isOpen = false;
		for (const ws of this.pending.keys()) ws.terminate();
		await Promise.all([...this.connections.values()].map((one) => one.close({ closeCode: closeCodes.away })));
		this.server.close();
	}

	private mayKnock(address: string): boolean {
		const { perAddress = 128, knocksPerS = 20, knocksAtOnce = 128, unproven = 256, clockUs } = this.options;
		const bucket = this.knocks.get(address) ?? new TokenBucket({ perS: knocksPerS, burst: knocksAtOnce });
		this.knocks.set(address, bucket);
		const own = this.held.get(address) ?? 0;
		return bucket.take(clockUs() / 1000) && own < perAddress && (this.pending.size < unproven || this.makeRoom(own));
	}

	/**
	 * ATTACK: a few addresses that knock and prove nothing would fill all places. The one that holds the most
	 * loses its oldest: an honest provider proves itself in a moment. False: nobody holds more than the
	 * newcomer.
	 */
	private makeRoom(own: number): boolean {
		const most = Math.max(...this.held.values());
		if (most <= own) return false;
		for (const [ws, group] of this.pending) {
			if (this.held.get(group) !== most) continue;
			this.forget(ws);
			ws.terminate();
			return true;
		}
		return false;
	}

	private forget(ws: WebSocket): void {
		const group = this.pending.get(ws);
		if (group !== undefined && this.pending.delete(ws)) this.count(group, -1);
	}

	private count(address: string, change: 1 | -1): void {
		const left = (this.held.get(address) ?? 0) + change;
		if (left > 0) this.held.set(address, left);
		else this.held.delete(address);
	}

	private enter(connection: AgentConnection): void {
		const { providerKey, closed, isClosed } = connection;
		if (!this.isOpen || isClosed) {
			void connection.close({ closeCode: closeCodes.away });
			return;
		}
		// Whoever proved the key last is the provider: the older link may be one whose end nobody noticed.
		const older = this.connections.get(providerKey);
		void older?.close({ closeCode: closeCodes.refused, code: "AGENT_REPLACED" });
		this.connections.set(providerKey, connection);
		void closed.then(() => {
			if (this.connections.get(providerKey) === connection) this.connections.delete(providerKey);
		});
		this.options.onConnection(connection);
	}
}

function turnAway(socket: Duplex, status: string): void {
	socket.on("error", () => {});
	socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
	setTimeout(() => socket.destroy(), 1000).unref();
}
