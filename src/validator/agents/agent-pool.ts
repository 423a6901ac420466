// Providers that dial in: lets them in or not, registers new ones, keeps the store's picture of who is connected where, passes on what they say
// has changed. The protocol itself is engine/agent; whether a change makes a provider due is market's rule.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { addressGroup } from "../../api/server/rate-limit.ts";
import type { AgentBounds } from "../../engine/agent/agent-bounds.ts";
import type { AgentConnection, AgentDoor } from "../../engine/agent/agent-connection.ts";
import { createAgentDoor } from "../../engine/agent/create-agent-door.ts";
import { createKeyedMutex } from "../../platform/keyed-mutex.ts";
import { createSemaphore } from "../../platform/semaphore.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import { failure, type ValidatorContext } from "../validator-context.ts";
import { createAddressOf } from "./proxied-address.ts";

export interface AgentPool {
	readonly agents: ReadonlyMap<string, AgentConnection>;
	handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
	/** Ends the link if it is held here; the provider may not come back while it is removed. */
	sendAway(providerId: string): Promise<void>;
	close(): Promise<void>;
}

const SEND_AWAY_EVENT = "provider.removed";

const HOUR_MS = 3_600_000;
/** Of the store's ten connections. */
const ENTERED_AT_ONCE = 4;
/** Of the connections that one address may have: hosts are set up anew now and then, but not all of them ten times an hour. */
const NEW_PER_CONNECTION = 10;

/** Whether a provider of this key may join at all. */
export function mayJoin(join: "open" | readonly string[], key: string): boolean {
	return join === "open" || join.includes(key);
}

export function createAgentPool(
	x: Omit<ValidatorContext, "agents">,
	o: {
		/** The claim before and now; null: none was known. */
		readonly onClaim: (providerId: string, before: HostClaim | null, after: HostClaim) => Promise<void>;
		/** After the store knows of the connection of one that is due: it can be probed here. */
		readonly onConnected: (providerId: string) => void;
		readonly bounds?: Partial<AgentBounds>;
		readonly perAddress?: number;
		readonly knocksPerS?: number;
		/** New providers an hour and address: a row is for ever, and keys cost nothing. */
		readonly newPerHour?: number;
	},
): AgentPool {
	const { store, env, config, hub, log, metrics } = x;
	/** Entered in the store. */
	const agents = new Map<string, AgentConnection>();
	/** One change of one provider after the other: a quick reconnect must not end up as "disconnected". */
	const mutex = createKeyedMutex();
	const inTurn = (providerId: string, run: () => Promise<void>) =>
		void mutex.run(providerId, run).catch(failure(x, "agents"));

	const newPerHour = o.newPerHour ?? NEW_PER_CONNECTION * (o.perAddress ?? 64);
	const fresh = new Map<string, number>();
	let freshSinceMs = env.nowMs();
	function mayBeNew(address: string, nowMs: number): boolean {
		if (Math.abs(nowMs - freshSinceMs) > HOUR_MS) {
			fresh.clear();
			freshSinceMs = nowMs;
		}
		const count = (fresh.get(address) ?? 0) + 1;
		fresh.set(address, count);
		return count <= newPerHour;
	}

	async function enter(connection: AgentConnection): Promise<void> {
		const { providerKey: id, offer, claim } = connection;
		if (connection.isClosed) return;
		const [before, claimBefore] = await Promise.all([store.providers.get(id), store.providers.claim(id)]);
		if (before?.state === "removed") {
			await connection.close({ closeCode: 4003, code: "PROVIDER_UNKNOWN" });
			return;
		}
		const nowMs = env.nowMs();
		if (before === null && !mayBeNew(addressGroup(connection.address), nowMs)) {
			metrics.agentsRefused.inc({ code: "AGENT_CROWDED" });
			await connection.close({ closeCode: 4003, code: "AGENT_CROWDED" });
			return;
		}
		const { name, pricePerHourMicros, rentable, ssh } = offer;
		const { created, provider } = await store.providers.register(
			{ id, link: "agent", target: "", name, pricePerHourMicros, rentable, ssh: ssh !== null, claim },
			{ nowMs, actor: id },
		);
		await store.providers.connect(id, { nowMs });
		if (connection.isClosed) {
			await store.providers.disconnect(id, { nowMs: env.nowMs() });
			return;
		}
		agents.set(id, connection);
		metrics.agents.set(agents.size);
		if (created) hub.tell({ kind: "provider.added", subject: id, providerId: id, detail: {} });
		hub.tell({ kind: "provider.connected", subject: id, providerId: id, detail: {} });
		// The engine or the devices may be others than at the last proof.
		if (!created) await o.onClaim(id, claimBefore, claim);
		// Of ten thousand that come back after a restart few are due: the others need not make anybody look.
		if (provider.nextProbeAtMs <= env.nowMs()) o.onConnected(id);
	}

	/**
	 * After a restart thousands dial in at once: so many are entered at a time, that probes and API find a free connection to the database. One that
	 * cannot be entered is sent away, for it dials again; a link that nobody knows of would stay, and its provider never be probed.
	 */
	const entering = createSemaphore(ENTERED_AT_ONCE);
	async function enterInSlot(connection: AgentConnection): Promise<void> {
		const leaveSlot = await entering.acquire();
		try {
			await enter(connection);
		} catch (error) {
			await connection.close({ closeCode: 1001, code: error instanceof AssayError ? error.code : "AGENT_CLOSED" });
			throw error;
		} finally {
			leaveSlot();
		}
	}

	async function leave(connection: AgentConnection): Promise<void> {
		const id = connection.providerKey;
		if (agents.get(id) !== connection) return;
		agents.delete(id);
		metrics.agents.set(agents.size);
		await store.providers.disconnect(id, { nowMs: env.nowMs() });
		hub.tell({ kind: "provider.disconnected", subject: id, providerId: id, detail: {} });
	}

	const door: AgentDoor = createAgentDoor({
		signer: x.signer,
		clockUs: env.ratesClockUs,
		randomBytes: env.randomBytes,
		admit(key) {
			if (!mayJoin(config.join, key))
				throw new AssayError("AGENT_REFUSED", "this validator takes providers from a list, and this key is not on it");
		},
		onConnection(connection) {
			const { providerKey: id } = connection;
			log.info({ provider: id, address: connection.address }, "agent connected");
			inTurn(id, () => enterInSlot(connection));
			connection.onChanged((claim) => inTurn(id, async () => o.onClaim(id, await store.providers.claim(id), claim)));
			void connection.closed.then((end) => {
				log.info({ provider: id, code: end.code, detail: end.detail }, "agent gone");
				inTurn(id, () => leave(connection));
			});
		},
		onRefused(error, address) {
			metrics.agentsRefused.inc({ code: error.code });
			log.warn({ code: error.code, address }, "agent refused");
		},
		...(config.api.trustProxy !== null && { addressOf: createAddressOf(config.api.trustProxy) }),
		...(o.bounds && { bounds: o.bounds }),
		...(o.perAddress !== undefined && { perAddress: o.perAddress }),
		...(o.knocksPerS !== undefined && { knocksPerS: o.knocksPerS }),
	});

	const sendAway = async (providerId: string) => {
		await door.connections.get(providerId)?.close({ closeCode: 4003, code: "PROVIDER_UNKNOWN" });
	};
	// Removed at another process: whoever holds the link ends it.
	const unlisten = hub.listen(({ kind, providerId }) => {
		if (kind === SEND_AWAY_EVENT && providerId !== null) void sendAway(providerId);
	});

	return {
		agents,
		handleUpgrade: (request, socket, head) => door.handleUpgrade(request, socket, head),
		sendAway,
		async close() {
			unlisten();
			await door.close();
			await mutex.idle();
		},
	};
}
