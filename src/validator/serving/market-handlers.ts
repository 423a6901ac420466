// Routes of offers and rentals.
import type { Caller } from "../../api/route.ts";
import type { Handlers } from "../../api/routes.ts";
import { uptimeOf } from "../../market/scores/uptime.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Rental } from "../../protocol/network/rental.ts";
import type { Rentals } from "../rentals/rentals.ts";
import type { ValidatorContext } from "../validator-context.ts";
import { actorOf, isAdmin } from "./caller.ts";
import { wantedCards } from "./wanted-cards.ts";

export function marketHandlers(context: ValidatorContext, rentals: Rentals) {
	const { store, env } = context;
	/** Of others a rental is unknown, not forbidden: its id must tell nothing. */
	const mustRental = async (id: string, caller: Caller): Promise<Rental> => {
		const rental = await store.rentals.get(id);
		if (rental === null || (!isAdmin(caller) && rental.customer !== actorOf(caller)))
			throw new AssayError("RENTAL_UNKNOWN", `there is no rental ${id} of this customer`);
		return rental;
	};

	return {
		async listOffers({ query }) {
			const page = await store.providers.list({ ...wantedCards(query), ...rentals.offerFilter() });
			const holdings = await Promise.all(page.rows.map(({ id }) => store.providers.holdings(id)));
			const offers = page.rows.map(({ id, lastValidAtMs, ...row }, i) => ({
				...row,
				uptimePpm: uptimeOf(row, env.nowMs()),
				providerId: id,
				lastValidAtMs: lastValidAtMs ?? 0,
				holdings: holdings[i]!,
			}));
			return { ...page, rows: offers };
		},
		rent: ({ body, caller }) =>
			rentals.rent({
				customer: actorOf(caller),
				actor: actorOf(caller),
				providerId: body.providerId ?? null,
				want: body.want ? wantedCards(body.want) : null,
				publicKey: body.publicKey,
				durationMs: body.durationMs,
				maxPriceMicros: body.maxPriceMicros ?? null,
				escrow: body.escrow ?? null,
			}),
		listRentals: ({ query, caller }) =>
			store.rentals.list(isAdmin(caller) ? query : { ...query, customer: actorOf(caller) }),
		getRental: ({ params, caller }) => mustRental(params.id, caller),
		async extendRental({ params, body, caller }) {
			await mustRental(params.id, caller);
			return rentals.extend(params.id, { addedMs: body.durationMs, actor: actorOf(caller) });
		},
		async releaseRental({ params, caller }) {
			await mustRental(params.id, caller);
			return rentals.release(params.id, { actor: actorOf(caller) });
		},
	} satisfies Partial<Handlers>;
}
