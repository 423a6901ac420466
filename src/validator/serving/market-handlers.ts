// Routes of epochs, reports, offers and rentals.
import { isReportSigned, reportHash } from "../../api/report-hash.ts";
import type { Caller } from "../../api/route.ts";
import type { Handlers } from "../../api/routes.ts";
import type { Rental as RentalReply } from "../../api/types.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { Rental } from "../../store/store.ts";
import type { RentalKeeper } from "../rentals/rental-keeper.ts";
import type { ValidatorContext } from "../validator-context.ts";
import { actorOf, isAdmin } from "./caller.ts";
import { offerView, wantsToFilter, withoutUndefined } from "./provider-views.ts";

type Names =
	| "listEpochs"
	| "getEpoch"
	| "listEpochScores"
	| "getReport"
	| "sendReport"
	| "listOffers"
	| "rent"
	| "listRentals"
	| "getRental"
	| "extendRental"
	| "releaseRental";

export function marketHandlers(x: ValidatorContext, rentals: RentalKeeper): Pick<Handlers, Names> {
	const { store, env } = x;
	const mustEpoch = async (number: number) => {
		const epoch = await store.epochs.get(number);
		if (epoch === null) throw new AssayError("EPOCH_UNKNOWN", `there is no epoch ${number}`);
		return epoch;
	};
	/** Of others a rental is unknown, not forbidden: its id must tell nothing. */
	const mustRental = async (id: string, caller: Caller): Promise<Rental> => {
		const rental = await store.rentals.get(id);
		if (rental === null || (!isAdmin(caller) && rental.customer !== actorOf(caller)))
			throw new AssayError("RENTAL_UNKNOWN", `there is no rental ${id} of this customer`);
		return rental;
	};

	return {
		async listEpochs({ query }) {
			return store.epochs.list({ limit: query.limit, ...withoutUndefined({ cursor: query.cursor }) });
		},
		async getEpoch({ params }) {
			const epoch = await mustEpoch(params.number);
			const reports = await store.epochs.reports(params.number);
			return {
				...epoch,
				params: epoch.params as never,
				reports: reports.map(({ validator, receivedAtMs, scores, signature }) => ({
					validator,
					receivedAtMs,
					scores: Object.keys(scores).length,
					signature,
				})),
			};
		},
		async listEpochScores({ params, query }) {
			await mustEpoch(params.number);
			return store.epochs.weights(params.number, { limit: query.limit, ...withoutUndefined({ cursor: query.cursor }) });
		},
		async getReport({ params: { number, validator } }) {
			await mustEpoch(number);
			const found = (await store.epochs.reports(number)).find((report) => report.validator === validator);
			if (found === undefined)
				throw new AssayError("REPORT_UNKNOWN", `this validator has not reported in epoch ${number}`);
			return found;
		},
		async sendReport({ body, caller }) {
			if (caller.key !== body.validator)
				throw new AssayError("CALLER_OTHER", "a report is sent by the validator that signed it");
			if (!isReportSigned(body))
				throw new AssayError("REPORT_SIGNATURE", "the report's signature is not of its content");
			await mustEpoch(body.epoch);
			const receivedAtMs = env.nowMs();
			if (!(await store.epochs.putReport({ ...body, receivedAtMs })))
				throw new AssayError("EPOCH_CLOSED", `epoch ${body.epoch} takes no reports any more`);
			const { validator, epoch, scores } = body;
			const sha256 = bytesToHex(reportHash(body));
			return { validator, epoch, scores: Object.keys(scores).length, sha256, receivedAtMs };
		},

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
