// `assay rent`: a customer's way to a machine: search by proven figures, start, list, extend, release, and log in by ssh.
// Requests are signed with the customer's own key, made on first use. What the provider says about itself is checked before ssh sees it.
import type { Offer, Rental } from "../../api/types.ts";
import { type ApiConnection, apiOptions, openApi, withApi } from "../api-connection.ts";
import type { CliIo, Command } from "../command.ts";
import { findProvider, findRental } from "../find-by-name.ts";
import { numberOption, parseOptions, usageError } from "../parse-options.ts";
import { formatBytes, formatPercent, formatRate } from "../print/format.ts";
import { showOrWatch, watchOptions } from "../print/show-or-watch.ts";
import { type Column, formatAgo, formatPrice, formatScore, shortId, shown, table } from "../print/table.ts";
import { type Paint, paintFor } from "../print/verdict-table.ts";
import { filterOptions, given, listQuery, wantsOf } from "../proven-filters.ts";
import { accessLines, readPublicKey, runSsh } from "../rental-access.ts";

const options = {
	...apiOptions.options,
	...filterOptions.options,
	...watchOptions.options,
	for: { type: "string" },
	"ssh-key": { type: "string" },
	state: { type: "string" },
	all: { type: "boolean", default: false },
} as const;

type Values = ReturnType<typeof parseOptions<typeof options>>["values"];

const offerColumns: readonly Column<Offer>[] = [
	{ title: "provider", cell: ({ providerId }) => shortId(providerId) },
	{ title: "name", cell: ({ name }) => shown(name, 24) },
	{
		title: "proven",
		cell: ({ model, gpuCount }) => (gpuCount === 0 ? "no GPU" : `${gpuCount} × ${shown(model ?? "?", 24)}`),
	},
	{ title: "memory", right: true, cell: ({ memoryBytes }) => (memoryBytes === null ? "" : formatBytes(memoryBytes)) },
	{
		title: "fp16",
		right: true,
		cell: ({ fp16OpsPerS }) => (fp16OpsPerS === null ? "" : formatRate(fp16OpsPerS, "op/s")),
	},
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
export function parseSpan(text: string | undefined): number {
	const found = /^(\d+(?:\.\d+)?)(m|h|d)$/.exec(text ?? "");
	if (found === null)
		throw usageError(`--for takes a time such as 90m, 2h or 3d${text === undefined ? "" : `, not '${text}'`}`, "rent");
	const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 }[found[2] as "m" | "h" | "d"];
	return Math.round(Number(found[1]) * unitMs);
}

async function search(values: Values, io: CliIo): Promise<number> {
	const query = listQuery<"price" | "score">("rent", values, ["price", "name"]);
	const api = await openApi("rent", values, io);
	return showOrWatch("rent", values, io, async () => {
		const page = await withApi(api, (client) => client.listOffers({ query }));
		const text = (paint: Paint) =>
			page.rows.length === 0 ? "  nothing that fits can be rented now" : table(offerColumns, page.rows, paint);
		return { json: page, text };
	});
}

async function start(provider: string | undefined, values: Values, io: CliIo): Promise<number> {
	const durationMs = parseSpan(values.for);
	const key = readPublicKey(values["ssh-key"], io);
	const { maxPriceMicros, ...want } = wantsOf("rent", values);
	const api = await openApi("rent", values, io, "customer");
	const rental = await withApi(api, async (client) => {
		const whom =
			provider === undefined
				? { want: { ...want, ...given({ maxPriceMicros }) } }
				: { providerId: (await findProvider(client, provider)).id };
		return client.rent({ body: { ...whom, publicKey: key.publicKey, durationMs, ...given({ maxPriceMicros }) } });
	});
	return tell(rental, values, io, key.identityFile);
}

async function list(values: Values, io: CliIo): Promise<number> {
	const limit = values.limit === undefined ? 50 : Math.floor(numberOption("rent", "limit", values.limit, 1, 500));
	const query = { limit, ...given({ state: values.state as "active" | undefined }) };
	const api = await openApi("rent", values, io, values.all ? "owner" : "customer");
	return showOrWatch("rent", values, io, async () => {
		const page = await withApi(api, (client) => client.listRentals({ query }));
		return {
			json: page,
			text: (paint) => (page.rows.length === 0 ? "  no rentals" : table(rentalColumns, page.rows, paint)),
		};
	});
}

async function onOne(
	verb: string,
	subject: string,
	rest: readonly string[],
	values: Values,
	io: CliIo,
): Promise<number> {
	const durationMs = verb === "extend" ? parseSpan(values.for) : 0;
	const api: ApiConnection = await openApi("rent", values, io, values.all ? "owner" : "customer");
	const rental = await withApi(api, async (client) => {
		const found = await findRental(client, subject);
		const params = { id: found.id };
		if (verb === "extend") return client.extendRental({ params, body: { durationMs } });
		return verb === "release" ? client.releaseRental({ params }) : found;
	});
	if (verb === "ssh") return runSsh(rental, rest, values["ssh-key"], io);
	return tell(rental, values, io, undefined);
}

function tell(rental: Rental, values: Values, io: CliIo, identityFile: string | undefined): number {
	const paint = paintFor(io.out, io.env);
	const text = () => [table(rentalColumns, [rental], paint), ...accessLines(rental, identityFile, paint)].join("\n");
	io.out.write(values.json ? `${JSON.stringify(rental, null, 2)}\n` : `${text()}\n`);
	return 0;
}

export const rentCommand: Command = {
	name: "rent",
	summary: "rents proven machines: search, start, list, extend, release, ssh",
	help: `usage: assay rent search [FILTERS]
       assay rent start [PROVIDER | FILTERS] --for TIME [--ssh-key FILE.pub] [--max-price AMOUNT]
       assay rent list | extend RENTAL --for TIME | release RENTAL | ssh RENTAL [-- COMMAND]

Offers are found by what was proven. Without a provider the cheapest that fits is taken. Providers and rentals are named by their id or the beginning of it.

  --for TIME        90m, 2h, 3d
  --ssh-key FILE    your public key for the machine (default: id_ed25519.pub, id_ecdsa.pub or id_rsa.pub in ~/.ssh)
  --key FILE        the key that signs your requests, made on first use (default: customer.key in ASSAY_HOME or ~/.config/assay);
                    with ASSAY_TOKEN set the token is used instead
  --state WORD      reserved, active, ended or refused; --all: of all customers, with an admin's token
${filterOptions.help}
  --sort WORD       price, score, memory, fp16, bandwidth, uptime, name; --reverse turns it round
${watchOptions.help}
${apiOptions.help}

exit codes: done 0, usage 64, nothing that fits or no such rental 67, nobody answers 69, not now 75, refused 77; ssh: those of ssh`,

	async run(args, io) {
		const { values, positionals } = parseOptions("rent", args, options, { min: 1, max: 100 });
		const [verb, subject, ...rest] = positionals;
		if (rest.length > 0 && verb !== "ssh") throw usageError(`too many arguments: ${rest.join(" ")}`, "rent");
		switch (verb) {
			case "search":
			case "list":
				if (subject !== undefined) throw usageError(`too many arguments: ${subject}`, "rent");
				return verb === "search" ? search(values, io) : list(values, io);
			case "start":
				return start(subject, values, io);
			case "extend":
			case "release":
			case "ssh":
				if (subject === undefined) throw usageError(`rent ${verb} needs a rental`, "rent");
				return onOne(verb, subject, rest, values, io);
			default:
				throw usageError(`rent knows search, start, list, extend, release and ssh, not '${verb}'`, "rent");
		}
	},
};
