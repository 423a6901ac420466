// `assay rent`: a customer's way to a machine: search by proven figures, start, list, extend, release, and
// log in by ssh. Requests are signed with the customer's own key, made on first use. What the provider says
// about itself is checked before ssh sees it.
import type { Offer, Rental } from "../../api/types.ts";
import { formatPercent, formatRate } from "../../protocol/format-number.ts";
import { apiOptions, openApi, withApi } from "../api-connection.ts";
import { type CliIo, command } from "../command.ts";
import { findProvider, findRental } from "../find-by-name.ts";
import { flag, text, usageError, type Values } from "../options.ts";
import { type Paint, paintFor } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { showOrWatch, watchOptions } from "../print/show-or-watch.ts";
import {
	type Column,
	formatAgo,
	formatPrice,
	formatScore,
	provenColumns,
	shortId,
	shown,
	table,
} from "../print/table.ts";
import { filterOptions, given, listQuery, wantsOf } from "../proven-filters.ts";
import { accessLines, readPublicKey, runSsh } from "../rental-access.ts";

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
	{ title: "provider", cell: ({ providerId }) => shortId(providerId) },
	{ title: "name", cell: ({ name }) => shown(name, 24) },
	...provenColumns,
	{
		title: "bandwidth",
		right: true,
		cell: ({ memoryBytesPerS }) => (memoryBytesPerS === null ? "" : formatRate(memoryBytesPerS, "B/s")),
	},
	{ title: "uptime", right: true, cell: ({ uptimePpm }) => formatPercent(uptimePpm / 1e6) },
	{ title: "score", right: true, cell: ({ scorePpm }) => formatScore(scorePpm) },
	{ title: "proven last", right: true, cell: ({ lastValidAtMs }) => formatAgo(lastValidAtMs, Date.now()) },
	{ title: "price/h", right: true, cell: ({ pricePerHourMicros }) => formatPrice(pricePerHourMicros) },
];

const rentalColumns: readonly Column<Rental>[] = [
	{ title: "rental", cell: ({ id }) => shortId(id) },
	{ title: "provider", cell: ({ providerId }) => shortId(providerId) },
	{ title: "state", cell: ({ state, endReason }) => endReason ?? state },
	{ title: "ends", right: true, cell: ({ endedAtMs, untilMs }) => formatAgo(endedAtMs ?? untilMs, Date.now()) },
	{ title: "price/h", right: true, cell: ({ pricePerHourMicros }) => formatPrice(pricePerHourMicros) },
	{
		title: "owed",
		right: true,
		cell: ({ chargedMicros }) => (chargedMicros === null ? "" : formatPrice(chargedMicros)),
	},
	{
		title: "refund",
		right: true,
		cell: ({ refundMicros }) => (refundMicros === null ? "" : formatPrice(refundMicros)),
	},
	{
		title: "",
		cell: ({ state, access, detail }) =>
			state === "active" && access !== null
				? `${shown(access.user)}@${shown(access.host)}:${access.port}`
				: shown(detail ?? "", 60),
	},
];

/** 90m, 2h, 3d. */
export function parseSpan(span: string | undefined): number {
	const found = /^(\d+(?:\.\d+)?)(m|h|d)$/.exec(span ?? "");
	if (found === null)
		throw usageError(`--for takes a time such as 90m, 2h or 3d${span === undefined ? "" : `, not '${span}'`}`);
	const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 }[found[2] as "m" | "h" | "d"];
	return Math.round(Number(found[1]) * unitMs);
}

async function search(values: RentValues, io: CliIo): Promise<number> {
	const query = listQuery<"price" | "score">(values, ["price", "name"]);
	const api = await openApi(values, io);
	return showOrWatch(values, io, async () => {
		const page = await withApi(api, (client) => client.listOffers({ query }));
		const text = (paint: Paint) =>
			page.rows.length === 0 ? "  no matching host can be rented now" : table(offerColumns, page.rows, paint);
		return { json: page, text };
	});
}

async function start(provider: string | undefined, values: RentValues, io: CliIo): Promise<number> {
	const durationMs = parseSpan(values.for);
	const key = readPublicKey(values["ssh-key"], io);
	const { maxPriceMicros, ...want } = wantsOf(values);
	const api = await openApi(values, io, "customer");
	const rental = await withApi(api, async (client) => {
		const whom =
			provider === undefined
				? { want: { ...want, ...given({ maxPriceMicros }) } }
				: { providerId: (await findProvider(client, provider)).id };
		return client.rent({ body: { ...whom, publicKey: key.publicKey, durationMs, ...given({ maxPriceMicros }) } });
	});
	return tell(rental, values, io, key.identityFile);
}

async function list(values: RentValues, io: CliIo): Promise<number> {
	const query = { limit: values.limit, ...given({ state: values.state as "active" | undefined }) };
	const api = await openApi(values, io, values.all ? "owner" : "customer");
	return showOrWatch(values, io, async () => {
		const page = await withApi(api, (client) => client.listRentals({ query }));
		return {
			json: page,
			text: (paint) => (page.rows.length === 0 ? "  no rentals" : table(rentalColumns, page.rows, paint)),
		};
	});
}

async function onOne(
	verb: "extend" | "release" | "ssh",
	values: RentValues,
	io: CliIo,
	subject: string,
	...sshCommand: string[]
): Promise<number> {
	const durationMs = verb === "extend" ? parseSpan(values.for) : 0;
	const api = await openApi(values, io, values.all ? "owner" : "customer");
	const rental = await withApi(api, async (client) => {
		const found = await findRental(client, subject);
		const params = { id: found.id };
		if (verb === "extend") return client.extendRental({ params, body: { durationMs } });
		return verb === "release" ? client.releaseRental({ params }) : found;
	});
	if (verb === "ssh") return runSsh(rental, sshCommand, values["ssh-key"], io);
	return tell(rental, values, io, undefined);
}

function tell(rental: Rental, values: RentValues, io: CliIo, identityFile: string | undefined): number {
	const paint = paintFor(io.out, io.env);
	return printResult(values, io, rental, () =>
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
			run: (values, io, provider) => start(provider, values, io),
		},
		list: { does: "your rentals", run: list },
		extend: {
			takes: "RENTAL",
			needs: "--for TIME",
			does: "let a rental end later",
			run: (values, io, id) => onOne("extend", values, io, id!),
		},
		release: { takes: "RENTAL", does: "end a rental now", run: (values, io, id) => onOne("release", values, io, id!) },
		ssh: {
			takes: "RENTAL [COMMAND…]",
			does: "log in to a rental, or run a command there (after --)",
			run: (values, io, id, ...sshCommand) => onOne("ssh", values, io, id!, ...sshCommand),
		},
	},
});
