// Routes of providers: list, show, register, change, remove, ask for a probe.
import type { Caller } from "../../api/route.ts";
import type { Handlers } from "../../api/routes.ts";
import { parseTarget, targetToText } from "../../engine/links/parse-target.ts";
import { uptimeOf } from "../../market/scores/uptime.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { tagged } from "../../protocol/hash/tagged-hash.ts";
import type { Store } from "../../store/open-store.ts";
import type { Offer, Provider } from "../../store/providers.ts";
import { mayJoin } from "../agents/agent-pool.ts";
import type { ValidatorContext } from "../validator-context.ts";
import { actorOf, isAdmin, requireOwner } from "./caller.ts";
import { wantedCards } from "./wanted-cards.ts";

interface ProviderActs {
	readonly scoreAgain: (providerId: string) => Promise<void>;
	/** Ends the agent link, wherever it is held. */
	readonly sendAway: (providerId: string) => Promise<void>;
	/** Whether this address may bring one more host that nobody has proven. */
	readonly mayRegister: (address: string, key: string) => boolean;
}

export function providerHandlers(context: ValidatorContext, acts: ProviderActs) {
	return { ...readHandlers(context), ...changeHandlers(context, acts) };
}

function readHandlers({ store, env }: ValidatorContext) {
	return {
		async listProviders({ query }) {
			const page = await store.providers.list(wantedCards(query));
			return { ...page, rows: page.rows.map((row) => summaryOf(row, env.nowMs())) };
		},
		getProvider: ({ params, caller }) => show({ store, env }, params.id, caller),
		async listProviderProbes({ params, query }) {
			await mustFind(store, params.id);
			return store.probes.list({ ...query, providerId: params.id });
		},
		async listProviderFigures({ params, query }) {
			await mustFind(store, params.id);
			return { rows: await store.probes.figureHistory({ providerId: params.id, ...query }) };
		},
		async getProviderScore({ params }) {
			await mustFind(store, params.id);
			const score = await store.scores.get(params.id);
			if (score === null) throw new AssayError("SCORE_UNKNOWN", "nothing was scored yet");
			return score as never;
		},
	} satisfies Partial<Handlers>;
}

function changeHandlers(context: ValidatorContext, acts: ProviderActs) {
	const { store, config, env, hub } = context;
	const by = (caller: Caller) => ({ nowMs: env.nowMs(), actor: actorOf(caller) });
	const tell = (kind: string, providerId: string) => hub.tell({ kind, subject: providerId, providerId, detail: {} });

	/** What an admin paused or removed stays so until an admin says otherwise. Throws CALLER_OTHER. */
	async function mustBeFree({ id, state }: Provider, caller: Caller): Promise<void> {
		if (state === "active" || isAdmin(caller)) return;
		const { rows } = await store.journal.list({ subject: id, kind: `provider.${state}`, limit: 1 });
		if (rows[0] === undefined || rows[0].actor === id) return;
		throw new AssayError("CALLER_OTHER", `an admin has ${state} this provider`, {
			hint: "Ask the validator's operator.",
		});
	}

	return {
		async registerProvider({ body, caller, address }) {
			const isAgent = body.link === "agent";
			if (isAgent) {
				requireOwner(caller, body.key);
				if (!isAdmin(caller) && !mayJoin(config.join, body.key))
					throw new AssayError("CALLER_OTHER", "this validator takes providers from a list, and the key is not on it");
			}
			const target = isAgent ? "" : targetToText(parseTarget(body.link === "local" ? "local" : body.target));
			const id = isAgent ? body.key : targetToProviderId(target);
			const before = await store.providers.get(id);
			if (before !== null && before.state !== "removed")
				throw new AssayError("PROVIDER_KNOWN", `the provider ${id} is registered already`);
			if (before !== null) await mustBeFree(before, caller);
			else if (!isAdmin(caller) && !acts.mayRegister(address, id))
				throw new AssayError("RATE_LIMITED", "this address has brought too many hosts that are not proven", {
					hint: "Connect those that are registered; proven ones do not count.",
				});
			const { link, name = isAgent ? id.slice(0, 12) : target, pricePerHourMicros = 0 } = body;
			// Only agents can make environments for customers.
			const rentable = isAgent && (body.rentable ?? false);
			const row = { id, link, target, name, pricePerHourMicros, rentable, ssh: false, claim: null };
			await store.providers.register(row, by(caller));
			tell("provider.added", id);
			return show({ store, env }, id, caller);
		},
		async changeProvider({ params: { id }, body, caller }) {
			const before = await mustFind(store, id);
			requireOwner(caller, id);
			const { paused, ...offer } = body;
			if (paused !== undefined) await mustBeFree(before, caller);
			// A body is JSON: a field that is there is not undefined.
			if (Object.keys(offer).length > 0) await store.providers.setOffer(id, offer as Partial<Offer>, by(caller));
			const state = paused === undefined ? before.state : paused ? "paused" : "active";
			if (before.state !== "removed" && state !== before.state) {
				await store.providers.setState(id, state, by(caller));
				await acts.scoreAgain(id);
			}
			tell("provider.changed", id);
			return show({ store, env }, id, caller);
		},
		async removeProvider({ params: { id }, caller }) {
			const before = await mustFind(store, id);
			requireOwner(caller, id);
			if (before.rentalId !== null)
				throw new AssayError("PROVIDER_RENTED", "a rented provider cannot be removed; wait for the end of the rental");
			// Else it would come back by itself, and active.
			await mustBeFree(before, caller);
			await store.providers.setState(id, "removed", by(caller));
			await acts.scoreAgain(id);
			await acts.sendAway(id);
			tell("provider.removed", id);
			return show({ store, env }, id, caller);
		},
		async askProbe({ params: { id }, body, caller }) {
			const provider = await mustFind(store, id);
			if (provider.rentalId !== null) throw new AssayError("PROVIDER_RENTED", "a rented provider is not probed");
			if (provider.state !== "active")
				throw new AssayError("PROVIDER_UNKNOWN", `the provider is ${provider.state}: it is never due`);
			if (provider.probedBy !== null) throw new AssayError("PROBE_RUNNING", "a probe of it is running already");
			const { nowMs: dueAtMs, actor } = by(caller);
			await store.providers.requestProbe(id, { atMs: dueAtMs });
			const detail = { why: body.why };
			await store.journal.append({ actor, kind: "probe.asked", subject: id, detail }, { nowMs: dueAtMs });
			return { providerId: id, dueAtMs };
		},
	} satisfies Partial<Handlers>;
}

/** A host without a key of its own is named by how it is reached, docs/network.md §1. */
function targetToProviderId(target: string): string {
	return bytesToHex(tagged("assay/provider/1", utf8ToBytes(target)));
}

const unknown = (id: string) => new AssayError("PROVIDER_UNKNOWN", `there is no provider ${id}`);

async function mustFind(store: Store, id: string): Promise<Provider> {
	const provider = await store.providers.get(id);
	if (provider === null) throw unknown(id);
	return provider;
}

/** What the store knows, in the words of the API; the reply's schema leaves out what is not public. */
function summaryOf(row: Provider, nowMs: number) {
	const rented = row.rentalId !== null;
	return {
		...row,
		uptimePpm: uptimeOf(row, nowMs),
		connected: row.link !== "agent" || row.connectedTo !== null,
		rented,
		nextProbeAtMs: row.state === "active" && !rented ? row.nextProbeAtMs : null,
	};
}

async function show({ store, env }: Pick<ValidatorContext, "store" | "env">, id: string, caller: Caller) {
	const [provider, claim, devices, holdings, figures] = await Promise.all([
		store.providers.recall(id),
		store.providers.claim(id),
		store.devices.ofProvider(id),
		store.providers.holdings(id),
		store.providers.figures(id),
	]);
	if (provider === null) throw unknown(id);
	return {
		...summaryOf(provider, env.nowMs()),
		target: isAdmin(caller) ? provider.target : null,
		claim,
		suspicion: provider.memory.suspicion?.kind ?? null,
		devices,
		holdings,
		figures,
	};
}
