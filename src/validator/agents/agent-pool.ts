// Providers that dial in: lets them in or not, registers new ones, keeps the store's picture of who is
// connected where, passes on what they say has changed. The protocol itself is engine/agent; whether a change
// makes a provider due is market's rule.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { createProxies } from "../../api/server/proxied-address.ts";
import { addressGroup } from "../../api/server/rate-limit.ts";
import type { AgentConnection } from "../../engine/agent/accept-agent.ts";
import { AgentDoor, type AgentDoorOptions } from "../../engine/agent/agent-door.ts";
import { createKeyedMutex } from "../../platform/keyed-mutex.ts";
import { createSemaphore } from "../../platform/semaphore.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import { failure, type ValidatorContext } from "../validator-context.ts";
import { createNewcomers, type NewcomerBounds, type Newcomers } from "./newcomers.ts";
import { createNewestOnly } from "./newest-only.ts";

export interface AgentPoolOptions
	extends Pick<AgentDoorOptions, "bounds" | "perAddress" | "knocksPerS" | "knocksAtOnce" | "unproven"> {
	/** The claim before and now; null: none was known. */
	readonly onClaim: (providerId: string, before: HostClaim | null, after: HostClaim) => Promise<void>;
	/** After the store knows of the connection of one that is due: it can be probed here. */
	readonly onConnected: (providerId: string) => void;
	readonly newcomers?: Partial<NewcomerBounds>;
}

const SEND_AWAY_EVENT = "provider.removed";
const VERDICT_EVENT = "probe.verdict";

/** Between two changed claims of one agent: hosts change by hand. */
const CHANGED_REST_MS = 1000;
/** Of the store's ten connections. */
const ENTERED_AT_ONCE = 4;

/** Whether a provider of this key may join at all. */
export function mayJoin(join: "open" | readonly string[], key: string): boolean {
	return join === "open" || join.includes(key);
}

export class AgentPool {
	private readonly context: Omit<ValidatorContext, "agents">;
	private readonly options: AgentPoolOptions;
	private readonly door: AgentDoor;
	/** Of this process; others count their own. */
	readonly newcomers: Newcomers;
	/** Entered in the store. */
	private readonly entered = new Map<string, AgentConnection>();
	/** One change of one provider at a time: a quick reconnect must not end up as "disconnected". */
	private readonly mutex = createKeyedMutex();
	/** After a restart thousands dial in at once, and probes and API need the database too. */
	private readonly entering = createSemaphore(ENTERED_AT_ONCE);
	private readonly unlisten: () => void;

	constructor(context: Omit<ValidatorContext, "agents">, options: AgentPoolOptions) {
		const { env, config, hub, log, metrics, signer } = context;
		const { onClaim: _, onConnected: __, newcomers, ...door } = options;
		this.context = context;
		this.options = options;
		this.newcomers = createNewcomers(() => env.ratesClockUs() / 1000, newcomers);
		this.door = new AgentDoor({
			signer,
			clockUs: env.ratesClockUs,
			groupOf: addressGroup,
			randomBytes: env.randomBytes,
			admit(key) {
				if (!mayJoin(config.join, key))
					throw new AssayError(
						"AGENT_REFUSED",
						"this validator takes providers from a list, and this key is not on it",
					);
			},
			onConnection: (connection) => this.onConnection(connection),
			onRefused(error, address) {
				metrics.agentsRefused.inc({ code: error.code });
				log.warn({ code: error.code, address }, "agent refused");
			},
			addressOf: createProxies(config.api.trustProxy ?? []).addressOf,
			...door,
		});
		// Removed at another process: whoever holds the link ends it.
		this.unlisten = hub.listen(({ kind, providerId, detail }) => {
			if (providerId === null) return;
			if (kind === SEND_AWAY_EVENT) void this.sendAway(providerId);
			if (kind === VERDICT_EVENT && (detail as { verdict?: unknown } | null)?.verdict === "valid")
				this.newcomers.proven(providerId);
		});
	}

	get agents(): ReadonlyMap<string, AgentConnection> {
		return this.entered;
	}

	handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
		this.door.handleUpgrade(request, socket, head);
	}

	/** Ends the link if it is held here; the provider may not come back while it is removed. */
	async sendAway(providerId: string): Promise<void> {
		await this.door.connections.get(providerId)?.close({ closeCode: 4003, code: "PROVIDER_UNKNOWN" });
	}

	async close(): Promise<void> {
		this.unlisten();
		await this.door.close();
		await this.mutex.idle();
	}

	private onConnection(connection: AgentConnection): void {
		const { log } = this.context;
		const { providerKey: provider, address } = connection;
		log.info({ provider, address }, "agent connected");
		void this.inTurn(provider, () => this.enterInTurn(connection));
		// Made at the first change: few hosts ever change, and thousands are connected.
		let take: ((claim: HostClaim) => void) | null = null;
		connection.onChanged((claim) => {
			take ??= this.takeChanges(connection);
			take(claim);
		});
		void connection.closed.then(({ code, detail }) => {
			this.leftAsNewcomer(provider);
			log.info({ provider, code, detail }, "agent gone");
			void this.inTurn(provider, () => this.leave(connection));
		});
	}

	private inTurn(provider: string, act: () => Promise<void>): Promise<void> {
		return this.mutex.run(provider, act).catch(failure(this.context, "agents"));
	}

	/** What is done with each claim that it says has changed. */
	private takeChanges({ providerKey: provider, closed }: AgentConnection): (claim: HostClaim) => void {
		const { store, env } = this.context;
		const gone = new AbortController();
		void closed.then(() => gone.abort());
		return createNewestOnly({ restMs: CHANGED_REST_MS, after: env.after, signal: gone.signal }, (claim) =>
			this.inTurn(provider, async () => {
				if (!gone.signal.aborted) await this.options.onClaim(provider, await store.providers.claim(provider), claim);
			}),
		);
	}

	/**
	 * One that cannot be entered is sent away, for it dials again; a link that nobody knows of would stay, and
	 * its provider never be probed.
	 */
	private async enterInTurn(connection: AgentConnection): Promise<void> {
		const release = await this.entering.acquire();
		try {
			await this.enter(connection);
		} catch (error) {
			await connection.close({ closeCode: 1001, code: error instanceof AssayError ? error.code : "AGENT_CLOSED" });
			throw error;
		} finally {
			if (connection.isClosed) this.leftAsNewcomer(connection.providerKey);
			release();
		}
	}

	private async enter(connection: AgentConnection): Promise<void> {
		const { store, env, metrics } = this.context;
		const { providerKey: id, offer, claim, address } = connection;
		if (connection.isClosed) return;
		const [before, claimBefore] = await Promise.all([store.providers.get(id), store.providers.claim(id)]);
		if (before?.state === "removed") return connection.close({ closeCode: 4003, code: "PROVIDER_UNKNOWN" });
		const group = addressGroup(address);
		const isNewcomer = before === null || before.lastValidAtMs === null;
		const { newcomers } = this;
		if ((before === null && !newcomers.mayRegister(group, id)) || (isNewcomer && !newcomers.connected(group, id))) {
			metrics.agentsRefused.inc({ code: "AGENT_CROWDED" });
			return connection.close({ closeCode: 4003, code: "AGENT_CROWDED" });
		}
		const nowMs = env.nowMs();
		const { name, pricePerHourMicros, rentable, ssh, jobs } = offer;
		const { created, provider } = await store.providers.register(
			{ id, link: "agent", target: "", name, pricePerHourMicros, rentable, ssh: ssh !== null, claim },
			{ nowMs, actor: id },
		);
		await store.connections.connect(id, { nowMs, jobs: jobs && { address, offer: jobs } });
		if (connection.isClosed) {
			await store.connections.disconnect(id, { nowMs: env.nowMs() });
			return;
		}
		this.entered.set(id, connection);
		metrics.agents.set(this.entered.size);
		if (created) this.tell("provider.added", id);
		this.tell("provider.connected", id);
		// The engine or the devices may be others than at the last proof.
		if (!created) await this.options.onClaim(id, claimBefore, claim);
		// Of ten thousand that come back after a restart few are due: the others need not make anybody look.
		if (provider.nextProbeAtMs <= env.nowMs()) this.options.onConnected(id);
	}

	private async leave(connection: AgentConnection): Promise<void> {
		const { store, env, metrics } = this.context;
		const id = connection.providerKey;
		if (this.entered.get(id) !== connection) return;
		this.entered.delete(id);
		metrics.agents.set(this.entered.size);
		await store.connections.disconnect(id, { nowMs: env.nowMs() });
		this.tell("provider.disconnected", id);
	}

	/** Unless a newer link of this key is counted in its place. */
	private leftAsNewcomer(id: string): void {
		if (!this.door.connections.has(id)) this.newcomers.left(id);
	}

	private tell(kind: string, id: string): void {
		this.context.hub.tell({ kind, subject: id, providerId: id, detail: {} });
	}
}
