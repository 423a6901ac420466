// What customers can do with rentals: find what is for rent, reserve it and have its environment made, extend
// it, give it back. The rules are market's; every change is guarded by the store, so any process can do it.

import { checkCustomer, type HeldRentals, LOOK_BACK_MS } from "../../market/rentals/customer-limits.ts";
import { depositRefused } from "../../market/rentals/paid-rental.ts";
import { activate, extend, refuse, release, reserve } from "../../market/rentals/rental-rules.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { Rental } from "../../protocol/network/rental.ts";
import type { ProviderQuery } from "../../store/provider-query.ts";
import type { Provider } from "../../store/providers.ts";
import { keepCalls } from "../scoring/counted-calls.ts";
import { failure } from "../validator-context.ts";
import { askUntilFree, carryOut, type RentalContext, tellRental } from "./carry-out-rental.ts";
import type { NamedEscrow, PaidRentals } from "./paid-rentals.ts";

interface RentWish {
	readonly customer: string;
	readonly actor: string;
	readonly providerId: string | null;
	readonly want: ProviderQuery | null;
	readonly publicKey: string;
	readonly durationMs: number;
	/** Per hour. */
	readonly maxPriceMicros: number | null;
	/** What pays for it on chain. */
	readonly escrow: NamedEscrow | null;
}

/** Candidates tried for one wish: each may be taken, or be probed, at this very moment. */
const MAX_CANDIDATES = 10;

export class Rentals {
	private readonly context: RentalContext;

	constructor(context: RentalContext) {
		this.context = context;
	}

	/** What can be rented now, beside the customer's own wishes. */
	offerFilter(): ProviderQuery {
		const { env, config } = this.context;
		return {
			state: "active",
			link: "agent",
			connected: true,
			rented: false,
			rentable: true,
			// Caught or unreachable at the last look: not for customers, whatever was proven before.
			lastVerdict: "valid",
			provenSinceMs: Math.max(0, env.nowMs() - config.params.maxAgeMs),
		};
	}

	async rent(wish: RentWish): Promise<Rental> {
		const { store } = this.context;
		if (wish.providerId !== null) return this.begin(await this.reserveAt(await this.mustOffer(wish.providerId), wish));
		const wanted = { ...wish.want, ...this.offerFilter() };
		const { rows } = await store.providers.list({ ...wanted, sort: "price", limit: MAX_CANDIDATES });
		for (const provider of rows) {
			try {
				return await this.begin(await this.reserveAt(provider, wish));
			} catch (error) {
				if (!(error instanceof AssayError && error.code === "RENTAL_CONFLICT")) throw error;
			}
		}
		throw new AssayError("OFFER_NONE", "nothing that fits can be rented now");
	}

	async extend(id: string, { addedMs, actor }: { readonly addedMs: number; readonly actor: string }): Promise<Rental> {
		const { env, config } = this.context;
		const rental = await this.mustFind(id);
		const paidMs = await this.paidUntilMs(rental.escrow);
		if (paidMs <= rental.untilMs) throw depositRefused("it pays for no more time: extend it first");
		const longer = extend(rental, Math.min(addedMs, paidMs - rental.untilMs), env.nowMs(), config.params);
		const { sinceMs, check } = this.customerLimit(longer, rental);
		check(await this.context.store.rentals.held(rental.customer, { sinceMs }));
		// The provider first: a customer must not be charged for time that the host does not grant.
		await askUntilFree(this.context, rental.providerId, "extend", { rental: id, untilMs: longer.untilMs });
		return mustChange(await carryOut(this.context, rental, longer, { actor, ifUntilMs: rental.untilMs }));
	}

	async release(id: string, { actor }: { readonly actor: string }): Promise<Rental> {
		const { env, config } = this.context;
		const rental = await this.mustFind(id);
		return mustChange(await carryOut(this.context, rental, release(rental, env.nowMs(), config.params), { actor }));
	}

	private async mustOffer(id: string): Promise<Provider> {
		const { store } = this.context;
		const provider = await store.providers.get(id);
		if (provider === null) throw new AssayError("PROVIDER_UNKNOWN", `there is no provider ${id}`);
		if (provider.rentalId !== null) throw new AssayError("PROVIDER_RENTED", "it is rented already");
		const { rows } = await store.providers.list({ ...this.offerFilter(), q: id, limit: 1 });
		if (rows[0]?.id !== id)
			throw new AssayError("OFFER_NONE", "this provider is not for rent now", {
				hint: "It must be connected, rentable and freshly proven.",
			});
		return provider;
	}

	private async reserveAt({ id: providerId, pricePerHourMicros }: Provider, wish: RentWish): Promise<Rental> {
		const { store, env, config } = this.context;
		const { customer, actor, publicKey, durationMs, maxPriceMicros } = wish;
		if (maxPriceMicros !== null && pricePerHourMicros > maxPriceMicros)
			throw new AssayError("OFFER_DEARER", `it costs ${pricePerHourMicros} micro-units an hour`);
		const deposit = wish.escrow && (await this.mustPay(wish.escrow, { customer, providerId, pricePerHourMicros }));
		const nowMs = env.nowMs();
		// The deposit's time runs already: what it pays for is what can be had.
		const ms = deposit === null ? durationMs : Math.min(durationMs, deposit.endsAtMs - nowMs);
		const terms = {
			...{ id: bytesToHex(env.randomBytes(16)), providerId, customer, pricePerHourMicros },
			durationMs: ms,
		};
		const record = reserve(terms, nowMs, config.params);
		const row = { ...record, publicKey, devices: [], escrow: deposit?.id ?? null };
		const rental = await store.rentals.reserve(row, { actor, allow: this.customerLimit(row) });
		tellRental(this.context, rental);
		return rental;
	}

	/** What its customer may hold beside it; `before`: it is that one, with more time. */
	private customerLimit(
		rental: Pick<Rental, "escrow" | "reservedAtMs" | "untilMs">,
		before?: Rental,
	): { readonly sinceMs: number; readonly check: (held: HeldRentals) => void } {
		const { env, config } = this.context;
		const { escrow, reservedAtMs, untilMs } = rental;
		const isNew = before === undefined;
		const addedMs = untilMs - (before?.untilMs ?? reservedAtMs);
		const wish = { isPaid: escrow !== null, durationMs: untilMs - reservedAtMs, addedMs, isNew };
		const sinceMs = Math.max(0, env.nowMs() - LOOK_BACK_MS);
		return { sinceMs, check: (held) => checkCustomer(held, wish, config.params) };
	}

	private async mustPay(named: NamedEscrow, rental: Parameters<PaidRentals["mustPay"]>[1]) {
		if (this.context.paid === null) throw depositRefused("this validator has no chain");
		return this.context.paid.mustPay(named, rental);
	}

	/** Without a deposit time costs nothing. */
	private async paidUntilMs(escrow: string | null): Promise<number> {
		if (escrow === null) return Number.POSITIVE_INFINITY;
		const found = (await this.context.paid?.read(escrow)) ?? null;
		return found === null || found.isClosed ? 0 : 1000 * found.endsAt;
	}

	/** Reserved: the environment is asked for, and the answer becomes `active` or `refused`. */
	private async begin(rental: Rental): Promise<Rental> {
		const { env, config, scores, signer } = this.context;
		const { id, providerId, publicKey, untilMs } = rental;
		const actor = signer.key;
		try {
			const wanted = { rental: id, publicKey, untilMs, devices: [] };
			const { ssh: access } = await askUntilFree(this.context, providerId, "rent", wanted);
			const active = activate(rental, env.nowMs(), config.params);
			const changed = await carryOut(this.context, rental, active, { actor, access });
			if (changed !== null) {
				if (changed.escrow !== null) await keepCalls(this.context, providerId).catch(failure(this.context, "score"));
				await scores.score(providerId).catch(failure(this.context, "score"));
				return changed;
			}
			// Released or expired while the environment was made: it must not stay.
			await askUntilFree(this.context, providerId, "unrent", { rental: id }).catch(() => {});
		} catch (error) {
			if (!(error instanceof AssayError)) throw error;
			const refused = refuse(rental, env.nowMs(), `${error.code}: ${error.message}`);
			const changed = await carryOut(this.context, rental, refused, { actor });
			if (changed !== null) return changed;
		}
		return this.mustFind(id);
	}

	private async mustFind(id: string): Promise<Rental> {
		const rental = await this.context.store.rentals.get(id);
		if (rental === null) throw new AssayError("RENTAL_UNKNOWN", `there is no rental ${id}`);
		return rental;
	}
}

function mustChange(changed: Rental | null): Rental {
	if (changed === null) throw new AssayError("RENTAL_STATE", "the rental was changed or ended at this very moment");
	return changed;
}
