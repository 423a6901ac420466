// Routes of providers: list, show, register, change, remove, ask for a probe.
import type { Handlers } from "../../api/routes.ts";
import type { Provider as ProviderReply } from "../../api/types.ts";
import { parseTarget, targetToText } from "../../engine/links/parse-target.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { tagged } from "../../protocol/hash/tagged-hash.ts";
import type { Provider } from "../../store/providers.ts";
import { mayJoin } from "../agents/agent-pool.ts";
import type { ValidatorContext } from "../validator-context.ts";
import { actorOf, isAdmin, requireOwner } from "./caller.ts";
import { providerSummary, wantsToFilter, withoutUndefined } from "./provider-views.ts";

type Names =
	| "listProviders"
	| "getProvider"
	| "registerProvider"
	| "changeProvider"
	| "removeProvider"
	| "listProviderProbes"
	| "listProviderFigures"
	| "getProviderScore"
	| "askProbe";

/** A host without a key of its own is named by how it is reached, docs/network.md §1. */
function targetToProviderId(target: string): string {
	return bytesToHex(tagged("assay/provider/1", utf8ToBytes(target)));
}

export function providerHandlers(
	x: ValidatorContext,
	act: {
		readonly scoreAgain: (providerId: string) => Promise<void>;
		/** Ends the agent link, wherever it is held. */
		readonly sendAway: (providerId: string) => Promise<void>;
	},
): Pick<Handlers, Names> {
	const { store, config, env } = x;
	const unknown = (id: string) => new AssayError("PROVIDER_UNKNOWN", `there is no provider ${id}`);
	const must = async (id: string): Promise<Provider> => {
		const provider = await store.providers.get(id);
		if (provider === null) throw unknown(id);
		return provider;
	};
	const show = async (id: string, forAdmin: boolean): Promise<ProviderReply> => {
		const [provider, claim, devices, holdings, figures] = await Promise.all([
			store.providers.recall(id),
			store.providers.claim(id),
			store.devices.ofProvider(id),
			store.providers.holdings(id),
			store.providers.figures(id),
		]);
		if (provider === null) throw unknown(id);
		return {
			...providerSummary(provider),
			target: forAdmin ? provider.target : null,
			claim: claim as ProviderReply["claim"],
			suspicion: provider.memory.suspicion?.kind ?? null,
			devices: devices.map(({ device, kind, claimedName, uuid, memoryBytes, profile, identity }) => ({
				device,
				kind,
				claimedName,
				uuid,
				memoryBytes,
				profile,
				identity,
			})),
			holdings: holdings.map(({ model, count, figures }) => ({ model, count, figures: { ...figures } })),
			figures: [...figures],
		};
	};
	const tell = (kind: string, providerId: string) => x.hub.tell({ kind, subject: providerId, providerId, detail: {} });

	return {
		async listProviders({ query }) {
			const { q, sort, descending, limit, cursor, rented, connected, link, state, ...wants } = query;
			const filter = { ...wantsToFilter(wants), ...withoutUndefined({ rented, connected, link, state, text: q }) };
			const page = await store.providers.list({
				filter,
				sort,
				limit,
				...withoutUndefined({ descending, cursor }),
			});
			return { rows: page.rows.map(providerSummary), cursor: page.cursor };
		},
		async getProvider({ params, caller }) {
			return show(params.id, isAdmin(caller));
		},
		async registerProvider({ body, caller }) {
			if (body.link === "agent") {
				requireOwner(caller, body.key);
				if (!isAdmin(caller) && !mayJoin(config.join, body.key))
					throw new AssayError("CALLER_OTHER", "this validator takes providers from a list, and the key is not on it");
			}
			const target =
				body.link === "agent" ? "" : targetToText(parseTarget(body.link === "local" ? "local" : body.target));
			const id = body.link === "agent" ? body.key : targetToProviderId(target);
			const before = await store.providers.get(id);
			if (before !== null && before.state !== "removed")
				throw new AssayError("PROVIDER_KNOWN", `the provider ${id} is registered already`);
			await store.providers.register(
				{
					id,
					link: body.link,
					target,
					name: body.name ?? (target === "" ? id.slice(0, 12) : target),
					pricePerHourMicros: body.pricePerHourMicros ?? 0,
					// Only agents can make environments for customers.
					rentable: body.link === "agent" && (body.rentable ?? false),
					ssh: false,
					claim: null,
				},
				{ nowMs: env.nowMs(), actor: actorOf(caller) },
			);
			tell("provider.added", id);
			return show(id, isAdmin(caller));
		},
		async changeProvider({ params, body, caller }) {
			const before = await must(params.id);
			requireOwner(caller, params.id);
			const { paused, ...offer } = body;
			const by = { nowMs: env.nowMs(), actor: actorOf(caller) };
			const wanted = withoutUndefined(offer);
			if (Object.keys(wanted).length > 0) await store.providers.setOffer(params.id, wanted, by);
			const state = paused === undefined ? before.state : paused ? "paused" : "active";
			if (before.state !== "removed" && state !== before.state) {
				await store.providers.setState(params.id, state, by);
				await act.scoreAgain(params.id);
			}
			tell("provider.changed", params.id);
			return show(params.id, isAdmin(caller));
		},
		async removeProvider({ params, caller }) {
			const before = await must(params.id);
			requireOwner(caller, params.id);
			if (before.rentalId !== null)
				throw new AssayError("PROVIDER_RENTED", "a rented provider cannot be removed; wait for the end of the rental");
			await store.providers.setState(params.id, "removed", { nowMs: env.nowMs(), actor: actorOf(caller) });
			await act.scoreAgain(params.id);
			await act.sendAway(params.id);
			tell("provider.removed", params.id);
			return show(params.id, isAdmin(caller));
		},
		async listProviderProbes({ params, query }) {
			await must(params.id);
			const { limit, cursor, ...filter } = query;
			return store.probes.list({
				limit,
				...withoutUndefined({ cursor }),
				filter: { providerId: params.id, ...withoutUndefined(filter) },
			});
		},
		async listProviderFigures({ params, query }) {
			await must(params.id);
			const rows = await store.probes.figureHistory({ providerId: params.id, ...query });
			return { rows };
		},
		async getProviderScore({ params }) {
			await must(params.id);
			const score = await store.scores.get(params.id);
			if (score === null) throw new AssayError("SCORE_UNKNOWN", "nothing was scored yet");
			return score as never;
		},
		async askProbe({ params, body, caller }) {
			const provider = await must(params.id);
			if (provider.rentalId !== null) throw new AssayError("PROVIDER_RENTED", "a rented provider is not probed");
			if (provider.state !== "active")
				throw new AssayError("PROVIDER_UNKNOWN", `the provider is ${provider.state}: it is never due`);
			if (provider.probedBy !== null) throw new AssayError("PROBE_RUNNING", "a probe of it is running already");
			const dueAtMs = env.nowMs();
			await store.providers.requestProbe(params.id, { atMs: dueAtMs });
			await store.journal.append(
				{ actor: actorOf(caller), kind: "probe.asked", subject: params.id, detail: { why: body.why } },
				{ nowMs: dueAtMs },
			);
			return { providerId: params.id, dueAtMs };
		},
	};
}
