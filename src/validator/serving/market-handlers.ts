// Routes of offers and rentals.
import type { Caller } from "../../api/route.ts";
import type { Handlers } from "../../api/routes.ts";
import type { Rental as RentalReply } from "../../api/types.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Rental } from "../../protocol/network/rental.ts";
import type { Rentals } from "../rentals/rentals.ts";
import type { ValidatorContext } from "../validator-context.ts";
import { actorOf, isAdmin } from "./caller.ts";
import { offerView, wantsToFilter, withoutUndefined } from "./provider-views.ts";

type Names = "listOffers" | "rent" | "listRentals" | "getRental" | "extendRental" | "releaseRental";

export function marketHandlers(context: ValidatorContext, rentals: Rentals): Pick<Handlers, Names> {
	const { store } = context;
	/** Of others a rental is unknown, not forbidden: its id must tell nothing. */
	const mustRental = async (id: string, caller: Caller): Promise<Rental> => {
		const rental = await store.rentals.get(id);
		if (rental === null || (!isAdmin(caller) && rental.customer !== actorOf(caller)))
			throw new AssayError("RENTAL_UNKNOWN", `there is no rental ${id} of this customer`);
		return rental;
	};

	return {
		async listOffers({ query }) {
			const { q, sort, descending, limit, cursor, ...wants } = query;
			const page = await store.providers.list({
				filter: { ...wantsToFilter(wants), ...withoutUndefined({ text: q }), ...rentals.offerFilter() },
				sort,
				limit,
				...withoutUndefined({ descending, cursor }),
			});
			const holdings = await Promise.all(page.rows.map(({ id }) => store.providers.holdings(id)));
			return { rows: page.rows.map((row, i) => offerView(row, holdings[i]!)), cursor: page.cursor };
		},
		async rent({ body, caller }) {
			const rental = await rentals.rent({
				customer: actorOf(caller),
				actor: actorOf(caller),
				providerId: body.providerId ?? null,
				want: body.want === undefined ? null : wantsToFilter(body.want),
				publicKey: body.publicKey,
				durationMs: body.durationMs,
				maxPriceMicros: body.maxPriceMicros ?? null,
			});
			return rentalView(rental);
		},
		async listRentals({ query, caller }) {
			const { limit, cursor, ...filter } = query;
			const page = await store.rentals.list({
				limit,
				...withoutUndefined({ cursor }),
				filter: { ...withoutUndefined(filter), ...(isAdmin(caller) ? {} : { customer: actorOf(caller) }) },
			});
			return { rows: page.rows.map(rentalView), cursor: page.cursor };
		},
		async getRental({ params, caller }) {
			return rentalView(await mustRental(params.id, caller));
		},
		async extendRental({ params, body, caller }) {
			await mustRental(params.id, caller);
			return rentalView(await rentals.extend(params.id, { addedMs: body.durationMs, actor: actorOf(caller) }));
		},
		async releaseRental({ params, caller }) {
			await mustRental(params.id, caller);
			return rentalView(await rentals.release(params.id, { actor: actorOf(caller) }));
		},
	};
}

function rentalView(rental: Rental): RentalReply {
	const { misses: _, devices, access, ...shown } = rental;
	return { ...shown, devices: [...devices], access: access === null ? null : { ...access } };
}
