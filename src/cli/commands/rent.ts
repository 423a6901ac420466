// `assay rent`: a customer's way to a machine: search by proven figures, start, list, extend, release, and
// log in by ssh. Requests are signed with the customer's own key, made on first use. What the provider says
// about itself is checked before ssh sees it.
import type { ApiClient } from "../../api/create-client.ts";
import type { Offer, Rental } from "../../api/types.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { formatPercent, formatRate } from "../../protocol/format-number.ts";
import { apiOptions, askApi, openApi } from "../api-connection.ts";
import { keyOptions, nodeOptions } from "../chain/chain-options.ts";
import { type CliIo, command } from "../command.ts";
import { findProvider, findRental } from "../find-by-name.ts";
import { flag, group, text, usageError, type Values } from "../options.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { showOrWatch, watchOptions } from "../print/show-or-watch.ts";
import {
	type Column,
	formatAgo,
	formatPrice,
	formatScore,
	left,
	orNull,
	provenColumns,
	right,
	shortId,
	shown,
	table,
} from "../print/table.ts";
import { formatTokens } from "../print/tokens.ts";
import { filterOptions, given, listQuery, wantsOf } from "../proven-filters.ts";
import { accessLines, keepKey, readPublicKey, runSsh } from "../rental-access.ts";

const options = {
	for: text("TIME", "length of the rental: 90m, 2h, 3d"),
	"ssh-key": text(
		"FILE",
		"your public key for the machine (default: id_ed25519.pub, id_ecdsa.pub or id_rsa.pub in ~/.ssh)",
	),
	state: text("WORD", "list: reserved, active, ended or refused"),
	all: flag("rentals of all customers, with an admin token"),
	...watchOptions,
	...filterOptions,
	"min-gpus": {
		...filterOptions["min-gpus"],
		help: "at least N equal cards; 0: hosts without a GPU, too (default 1, unless a host is named)",
	},
	...group("payment on chain", { ...keyOptions, ...nodeOptions }),
	...apiOptions,
	key: {
		...apiOptions.key,
		help:
			"the key that signs your requests, created on first use (default: customer.key in ASSAY_HOME or ~/.config/assay);" +
			" with ASSAY_TOKEN set the token is used instead",
	},
};

type RentValues = Values<typeof options>;

const offerColumns: readonly Column<Offer>[] = [
	left("provider", ({ providerId }) => shortId(providerId)),
	left("name", ({ name }) => shown(name, 24)),
	...provenColumns,
	right("bandwidth", ({ memoryBytesPerS }) => orNull(memoryBytesPerS, (value) => formatRate(value, "B/s"))),
	right("uptime", ({ uptimePpm }) => formatPercent(uptimePpm / 1e6)),
	right("score", ({ scorePpm }) => formatScore(scorePpm)),
	right("proven last", ({ lastValidAtMs }) => formatAgo(lastValidAtMs, Date.now())),
	right("price/h", ({ pricePerHourMicros }) => formatPrice(pricePerHourMicros)),
];

const rentalColumns: readonly Column<Rental>[] = [
	left("rental", ({ id }) => shortId(id)),
	left("provider", ({ providerId }) => shortId(providerId)),
	left("state", ({ state, endReason }) => endReason ?? state),
	right("ends", ({ endedAtMs, untilMs }) => formatAgo(endedAtMs ?? untilMs, Date.now())),
	right("price/h", ({ pricePerHourMicros }) => formatPrice(pricePerHourMicros)),
	right("owed", ({ chargedMicros }) => orNull(chargedMicros, formatPrice)),
	right("refund", ({ refundMicros }) => orNull(refundMicros, formatPrice)),
	left("", ({ state, access, detail }) =>
		state === "active" && access !== null
			? `${shown(access.user)}@${shown(access.host)}:${access.port}`
			: shown(detail ?? "", 60),
	),
];

/** 90m, 2h, 3d. */
/** Of the API; an owner may allow less. */
const MOST_DAYS = 30;

export function parseSpan(span: string | undefined): number {
	const found = /^(\d+(?:\.\d+)?)(m|h|d)$/.exec(span ?? "");
	if (found === null)
		throw usageError(`--for takes a time such as 90m, 2h or 3d${span === undefined ? "" : `, not '${span}'`}`);
	const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 }[found[2] as "m" | "h" | "d"];
	const ms = Math.round(Number(found[1]) * unitMs);
	if (ms < 60_000 || ms > MOST_DAYS * 86_400_000)
		throw usageError(`--for takes a minute to ${MOST_DAYS} days, not '${span}'`);
	return ms;
}

async function search(values: RentValues, io: CliIo): Promise<number> {
	const query = listQuery<"price" | "score">(values, ["price", "gpuPrice", "name"]);
	return showOrWatch(values, io, async (client) => {
		const page = await client.listOffers({ query });
		const none = "no matching host can be rented now";
		return { json: page, text: (paint) => table(offerColumns, page.rows, paint, none) };
	});
}

async function start(values: RentValues, io: CliIo, provider?: string): Promise<number> {
	const durationMs = parseSpan(values.for);
	const key = readPublicKey(values["ssh-key"], io);
	const { maxPriceMicros, ...want } = wantsOf(values);
	const api = await openApi(values, io, "customer");
	const ask = async (client: ApiClient) => {
		const body = { publicKey: key.publicKey, durationMs, ...given({ maxPriceMicros }) };
		const id = provider === undefined ? undefined : (await findProvider(client, provider)).id;
		const payer = await loadPayer(values, io, client);
		if (payer === null) {
			const whom = id === undefined ? { want: { ...want, ...given({ maxPriceMicros }) } } : { providerId: id };
			return client.rent({ body: { ...whom, ...body } });
		}
		// A deposit names who is paid: the cheapest is chosen here.
		const wanted = listQuery<"price" | "score">(values, ["price", "gpuPrice", "name"]);
		const query = id === undefined ? wanted : { q: id, minDevices: 0 };
		const { rows } = await client.listOffers({ query });
		const offer = rows.find(({ providerId }) => id === undefined || providerId === id);
		if (offer === undefined) throw new AssayError("OFFER_NONE", "nothing that fits can be rented now");
		return payer.rent(offer, body, api.key);
	};
	const rental = await api.ask(ask);
	keepKey(rental, key, io);
	return tell(rental, values, io, key.identityFile);
}

/** Who pays on chain; null: nobody named a key, and nothing is paid there. */
async function loadPayer(values: RentValues, io: CliIo, client: ApiClient) {
	if (values["key-file"] === undefined && !io.env.ASSAY_CHAIN_KEY) return null;
	return (await import("../chain/pay-rental.ts")).openPayer(values, io, client);
}

async function withdraw(values: RentValues, io: CliIo): Promise<number> {
	const ask = async (client: ApiClient) => {
		const payer = await loadPayer(values, io, client);
		if (payer === null) throw usageError("withdraw needs the key of the account: --key-file FILE");
		return payer.takeBack(await payer.overdue());
	};
	const paid = await askApi(values, io, ask, "customer");
	return printResult(values, io, { paid: String(paid) }, () => `${formatTokens(paid)} tokens were paid out\n`);
}

async function list(values: RentValues, io: CliIo): Promise<number> {
	const query = { limit: values.limit, ...given({ state: values.state as "active" | undefined }) };
	const read = async (client: ApiClient) => {
		const page = await client.listRentals({ query });
		return { json: page, text: (paint: Paint) => table(rentalColumns, page.rows, paint, "no rentals") };
	};
	return showOrWatch(values, io, read, callerOf(values));
}

/** Whose rentals: the caller's own, or with --all everybody's. */
const callerOf = ({ all }: RentValues) => (all ? "owner" : "customer");

function onOne(verb: "extend" | "release" | "ssh") {
	return async (values: RentValues, io: CliIo, subject: string, ...sshCommand: string[]): Promise<number> => {
		const durationMs = verb === "extend" ? parseSpan(values.for) : 0;
		const ask = async (client: ApiClient) => {
			const found = await findRental(client, subject);
			const params = { id: found.id };
			if (verb === "ssh") return found;
			const payer = found.escrow === null ? null : await loadPayer(values, io, client);
			if (found.escrow !== null && payer === null)
				io.err.write(
					"this rental is paid on chain: --key-file FILE of the account that pays is needed to change that\n",
				);
			if (verb === "extend") {
				await payer?.extend(found.escrow!, durationMs);
				return client.extendRental({ params, body: { durationMs } });
			}
			// One that has ended, by its host's failure or by itself, may still have a deposit.
			const isOpen = found.state === "reserved" || found.state === "active";
			const released = isOpen || payer === null ? await client.releaseRental({ params }) : found;
			await payer?.takeBack([found.escrow!]);
			return released;
		};
		const rental = await askApi(values, io, ask, callerOf(values));
		return verb === "ssh" ? runSsh(rental, sshCommand, values["ssh-key"], io) : tell(rental, values, io, undefined);
	};
}

function tell(rental: Rental, values: RentValues, io: CliIo, identityFile: string | undefined): number {
	return printResult(values, io, rental, (paint) =>
		[table(rentalColumns, [rental], paint), ...accessLines(rental, identityFile, paint), ""].join("\n"),
	);
}

export const rentCommand = command({
	name: "rent",
	about: "PROVIDER and RENTAL are ids, or the beginning of one; a provider may also be named.",
	options,
	exits: {
		67: "no matching host or no such rental",
		69: "no answer",
		75: "not now",
		77: "refused; ssh ends with ssh's own code",
	},
	verbs: {
		search: { does: "hosts that can be rented, by what they have proven", run: search },
		start: {
			takes: "[PROVIDER]",
			needs: "--for TIME",
			does: "rent this provider, or the cheapest that matches the filters",
			run: start,
		},
		list: { does: "your rentals", run: list },
		extend: { takes: "RENTAL", needs: "--for TIME", does: "let a rental end later", run: onOne("extend") },
		release: { takes: "RENTAL", does: "end a rental now", run: onOne("release") },
		withdraw: {
			needs: "--key-file FILE",
			does: "close rentals of this account whose time is over, and be paid what they owe it, as customer or provider",
			run: withdraw,
		},
		ssh: {
			takes: "RENTAL [COMMAND…]",
			does: "log in to a rental, or run a command there (after --)",
			run: onOne("ssh"),
		},
	},
});
