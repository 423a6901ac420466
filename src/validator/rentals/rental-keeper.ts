// The life of rentals: reserve and have the environment made, extend, release, watch health, expire. The rules are market's, every change is
// guarded by the store; what is open is read from the store each round, so expiry and health go on after any restart. One process watches at
// a time (a lease); all can reserve.
import {
	activate,
	expire,
	extend,
	isExpired,
	onHealth,
	refuse,
	release,
	reserve,
} from "../../market/rentals/rental-rules.ts";
import { repeat } from "../../platform/repeat.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { Rental } from "../../protocol/network/rental.ts";
import type { ProviderFilter } from "../../store/provider-query.ts";
import type { Provider } from "../../store/providers.ts";
import type { RentalChange } from "../../store/rentals.ts";
import type { AgentAsker } from "../agents/ask-agent.ts";
import type { ScoreKeeper } from "../scoring/score-keeper.ts";
import { failure, type ValidatorContext } from "../validator-context.ts";

interface RentWish {
	readonly customer: string;
	readonly actor: string;
	readonly providerId: string | null;
	readonly want: ProviderFilter | null;
	readonly publicKey: string;
	readonly durationMs: number;
	/** Per hour. */
	readonly maxPriceMicros: number | null;
}

export interface RentalKeeper {
	/** What can be rented now, beside the customer's own wishes. */
	offerFilter(): ProviderFilter;
	rent(wish: RentWish): Promise<Rental>;
	extend(id: string, o: { readonly addedMs: number; readonly actor: string }): Promise<Rental>;
	release(id: string, o: { readonly actor: string }): Promise<Rental>;
	/** One round of the watch, for tests and the loop. */
	watch(): Promise<void>;
	stop(): Promise<void>;
}

const WATCH_LEASE = "rentals";
const WATCH_EVERY_MS = 1000;
/** Candidates tried for one wish: each may be taken by another customer, or be probed, at this very moment. */
const MAX_CANDIDATES = 10;

export function startRentalKeeper(
	x: ValidatorContext & {
		readonly asker: AgentAsker;
		readonly scores: ScoreKeeper;
		/** A provider has come free: it is due at once. */
		readonly onFree: () => void;
		readonly watchEveryMs?: number;
	},
): RentalKeeper {
	const { store, env, config, asker, metrics } = x;
	const { params } = config;
	/** When each open rental was last asked for its health. */
	const checkedAtMs = new Map<string, number>();
	const checking = new Set<string>();

	const offerFilter = (): ProviderFilter => ({
		state: "active",
		link: "agent",
		connected: true,
		rented: false,
		rentable: true,
		// Caught or unreachable at the last look: not for customers, whatever was proven before.
		lastVerdict: "valid",
		provenSinceMs: Math.max(0, env.nowMs() - params.maxAgeMs),
	});

	/** The store's guarded step to what market decided; null: somebody else was quicker. */
	async function carryOut(before: Rental, after: Rental, actor: string, more: Partial<RentalChange> = {}) {
		const ends = after.state === "ended" || after.state === "refused";
		const changed = await store.rentals.change({
			id: before.id,
			from: before.state,
			to: after.state,
			atMs: after.endedAtMs ?? (before.state !== after.state ? (after.startedAtMs ?? env.nowMs()) : env.nowMs()),
			actor,
			...(after.untilMs !== before.untilMs && { untilMs: after.untilMs }),
			...(after.endReason !== null && { endReason: after.endReason }),
			...(after.chargedMicros !== null && { chargedMicros: after.chargedMicros }),
			...(after.refundMicros !== null && { refundMicros: after.refundMicros }),
			...(after.misses !== before.misses && { misses: after.misses }),
			...(after.lastHealthyAtMs !== null &&
				after.lastHealthyAtMs !== before.lastHealthyAtMs && { lastHealthyAtMs: after.lastHealthyAtMs }),
			...(after.detail !== null && { detail: after.detail }),
			...more,
		});
		if (changed === null) return null;
		if (before.state !== changed.state) metrics.rentals.inc({ to: changed.endReason ?? changed.state });
		if (before.state !== changed.state || before.untilMs !== changed.untilMs) tell(changed);
		if (ends) await afterEnd(changed);
		return changed;
	}

	/** Public: neither the customer nor the access. */
	function tell({ id, providerId, state, endReason }: Rental): void {
		x.hub.tell({ kind: "rental.changed", subject: id, providerId, detail: { state, endReason } });
	}

	async function afterEnd(rental: Rental): Promise<void> {
		checkedAtMs.delete(rental.id);
		const { providerId, reservedAtMs, endedAtMs } = rental;
		// First of all, so that the probe that is due now finds it under way and waits. The provider ends the rental by itself at the latest at its
		// time; asking only makes it sooner. Not waited for here: it may never answer.
		void asker.ask(providerId, "unrent", { rental: rental.id }).catch((error) => {
			x.log.info({ rental: rental.id, err: error }, "the provider could not be told of the end of a rental");
		});
		// Time in which nobody could probe it does not age its proof.
		await x.mutex.run(providerId, async () => {
			const memory = (await store.providers.recall(providerId))?.memory;
			if (!memory?.proof) return;
			const rentedMs = Math.max(0, (endedAtMs ?? env.nowMs()) - Math.max(reservedAtMs, memory.proof.provenAtMs));
			const proof = { ...memory.proof, rentedMs: memory.proof.rentedMs + rentedMs };
			await store.providers.remember(providerId, { ...memory, why: "rental-ended", proof });
		});
		await x.scores.score(providerId).catch(failure(x, "score"));
		x.onFree();
	}

	async function reserveAt(provider: Provider, wish: RentWish): Promise<Rental> {
		const { maxPriceMicros: most } = wish;
		if (most !== null && provider.pricePerHourMicros > most)
			throw new AssayError("OFFER_DEARER", `it costs ${provider.pricePerHourMicros} micro-units an hour`);
		const terms = {
			id: bytesToHex(env.randomBytes(16)),
			providerId: provider.id,
			customer: wish.customer,
			pricePerHourMicros: provider.pricePerHourMicros,
			durationMs: wish.durationMs,
		};
		const { reservedAtMs, untilMs, ...record } = reserve(terms, env.nowMs(), params);
		const rental = await store.rentals.reserve(
			{ ...record, reservedAtMs, untilMs, publicKey: wish.publicKey, devices: [] },
			{ actor: wish.actor },
		);
		tell(rental);
		return rental;
	}

	/** Reserved: the environment is asked for, and the answer becomes `active` or `refused`. */
	async function begin(rental: Rental): Promise<Rental> {
		const { id, providerId, publicKey, untilMs } = rental;
		const actor = x.signer.key;
		try {
			const { ssh: access } = await asker.ask(providerId, "rent", { rental: id, publicKey, untilMs, devices: [] });
			const active = await carryOut(rental, activate(rental, env.nowMs(), params), actor, { access });
			if (active !== null) {
				checkedAtMs.set(id, env.nowMs());
				await x.scores.score(providerId).catch(failure(x, "score"));
				return active;
			}
			// Released or expired while the environment was made: it must not stay.
			await asker.ask(providerId, "unrent", { rental: id }).catch(() => {});
		} catch (error) {
			if (!(error instanceof AssayError)) throw error;
			const refused = await carryOut(rental, refuse(rental, env.nowMs(), `${error.code}: ${error.message}`), actor);
			if (refused !== null) return refused;
		}
		return mustFind(id);
	}

	async function mustFind(id: string): Promise<Rental> {
		const rental = await store.rentals.get(id);
		if (rental === null) throw new AssayError("RENTAL_UNKNOWN", `there is no rental ${id}`);
		return rental;
	}

	async function watchOne(rental: Rental): Promise<void> {
		const nowMs = env.nowMs();
		const actor = x.signer.key;
		if (isExpired(rental, nowMs, params)) {
			// An extension at this very moment makes `untilMs` another: then it is not over.
			await carryOut(rental, expire(rental, nowMs, params), actor, { ifUntilMs: rental.untilMs });
			return;
		}
		if (rental.state !== "active" || checking.has(rental.id)) return;
		if (nowMs - (checkedAtMs.get(rental.id) ?? rental.lastHealthyAtMs ?? 0) < params.healthEveryMs) return;
		checkedAtMs.set(rental.id, nowMs);
		checking.add(rental.id);
		// Not awaited by the round: a provider that never answers must not keep the others' rentals from being watched.
		void checkHealth(rental, actor)
			.catch(failure(x, "rentals"))
			.finally(() => checking.delete(rental.id));
	}

	async function checkHealth(rental: Rental, actor: string): Promise<void> {
		let isHealthy = false;
		try {
			isHealthy = (await asker.ask(rental.providerId, "check", { rental: rental.id })).healthy;
		} catch (error) {
			if (!(error instanceof AssayError)) throw error;
		}
		const now = await store.rentals.get(rental.id);
		if (now?.state !== "active") return;
		await carryOut(now, onHealth(now, isHealthy, env.nowMs(), params), actor, { ifUntilMs: now.untilMs });
	}

	const watch = async (): Promise<void> => {
		if (!(await store.leases.acquire(WATCH_LEASE))) return;
		for (const rental of await store.rentals.open()) await watchOne(rental);
	};
	const watching = repeat(
		{ everyMs: x.watchEveryMs ?? WATCH_EVERY_MS, after: env.after, onError: failure(x, "rentals") },
		watch,
	);

	return {
		offerFilter,
		watch,
		async rent(wish) {
			if (wish.providerId !== null) {
				const provider = await store.providers.get(wish.providerId);
				if (provider === null) throw new AssayError("PROVIDER_UNKNOWN", `there is no provider ${wish.providerId}`);
				if (provider.rentalId !== null) throw new AssayError("PROVIDER_RENTED", "it is rented already");
				const page = await store.providers.list({ filter: { ...offerFilter(), text: wish.providerId }, limit: 1 });
				if (page.rows[0]?.id !== wish.providerId)
					throw new AssayError("OFFER_NONE", "this provider is not for rent now", {
						hint: "It must be connected, rentable and freshly proven.",
					});
				return begin(await reserveAt(provider, wish));
			}
			const filter = { ...wish.want, ...offerFilter() };
			const { rows } = await store.providers.list({ filter, sort: "price", limit: MAX_CANDIDATES });
			for (const provider of rows) {
				try {
					return await begin(await reserveAt(provider, wish));
				} catch (error) {
					if (!(error instanceof AssayError && error.code === "RENTAL_CONFLICT")) throw error;
				}
			}
			throw new AssayError("OFFER_NONE", "nothing that fits can be rented now");
		},
		async extend(id, { addedMs, actor }) {
			const rental = await mustFind(id);
			const longer = extend(rental, addedMs, env.nowMs(), params);
			// The provider first: a customer must not be charged for time that the host does not grant.
			await asker.ask(rental.providerId, "extend", { rental: id, untilMs: longer.untilMs });
			const changed = await carryOut(rental, longer, actor, { ifUntilMs: rental.untilMs });
			if (changed === null) throw new AssayError("RENTAL_STATE", "the rental was changed or ended at this very moment");
			return changed;
		},
		async release(id, { actor }) {
			const rental = await mustFind(id);
			const changed = await carryOut(rental, release(rental, env.nowMs(), params), actor);
			if (changed === null) throw new AssayError("RENTAL_STATE", "the rental was changed or ended at this very moment");
			return changed;
		},
		async stop() {
			await watching.stop();
			await store.leases.release(WATCH_LEASE).catch(() => {});
		},
	};
}
