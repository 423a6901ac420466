// `assay providers`: who is in the network and what each has proven; an admin also adds, pauses, resumes,
// removes and probes them.
import type { ApiClient } from "../../api/create-client.ts";
import type { Provider, ProviderSummary } from "../../api/types.ts";
import { parseTarget, targetToText } from "../../engine/links/parse-target.ts";
import { formatBytes, formatPercent, formatRate } from "../../protocol/format-number.ts";
import { apiOptions, askApi } from "../api-connection.ts";
import { type CliIo, command } from "../command.ts";
import { findProvider } from "../find-by-name.ts";
import { flag, group, number, text, usageError, type Values } from "../options.ts";
import { attestedWord, countedAttestationLines } from "../print/attestation-lines.ts";
import { figureLines } from "../print/figures.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { showOrWatch, watchOptions } from "../print/show-or-watch.ts";
import {
	type Column,
	formatAgo,
	formatPrice,
	formatScore,
	left,
	provenColumns,
	right,
	shortId,
	shown,
	table,
	verdictStyle,
} from "../print/table.ts";
import { filterOptions, given, listQuery } from "../proven-filters.ts";

type Sort =
	| "score"
	| "price"
	| "memory"
	| "fp16"
	| "bandwidth"
	| "uptime"
	| "name"
	| "registered"
	| "lastProbe"
	| "nextProbe";

const options = {
	name: text("NAME", "add: how the host is listed"),
	price: number("AMOUNT", "add: price of an hour of the whole host", [0, 1e9]),
	why: text("TEXT", "probe: reason, for the journal"),
	...watchOptions,
	...filterOptions,
	sort: {
		...filterOptions.sort,
		help: "score, price, gpuPrice, memory, fp16, bandwidth, uptime, name, registered, lastProbe, nextProbe",
	},
	...group("filters", {
		rented: flag("only rented providers"),
		free: flag("only providers that are not rented"),
		connected: flag("only connected providers"),
		link: text("KIND", "agent, ssh or local"),
		state: text("WORD", "active, paused or removed"),
	}),
	...apiOptions,
};

type ProvidersValues = Values<typeof options>;

export const providersCommand = command({
	name: "providers",
	about: `PROVIDER is an id, the beginning of one, or a name. Changes need an admin token: that of the local network, or
ASSAY_TOKEN.`,
	options,
	exits: { 67: "no such provider", 69: "no answer", 75: "not now", 77: "refused" },
	verbs: {
		"": { run: list },
		show: { takes: "PROVIDER", does: "what one provider claims and has proven", run: show },
		add: { takes: "TARGET", does: "add a host: ssh://user@host[:port] or local", run: add },
		pause: { takes: "PROVIDER", does: "stop probing it", run: act((id, values) => change(id, true, values)) },
		resume: { takes: "PROVIDER", does: "probe it again", run: act((id, values) => change(id, false, values)) },
		remove: {
			takes: "PROVIDER",
			does: "remove it; its history stays",
			run: act((id) => (client) => client.removeProvider({ params: { id } })),
		},
		probe: {
			takes: "PROVIDER",
			does: "make its next probe due now",
			run: act(
				(id, { why }) =>
					(client) =>
						client.askProbe({ params: { id }, body: given({ why }) }),
			),
		},
	},
});

async function list(values: ProvidersValues, io: CliIo): Promise<number> {
	if (values.rented && values.free) throw usageError("--rented and --free exclude each other");
	const query = {
		...listQuery<Sort>(values, ["price", "gpuPrice", "name", "nextProbe"]),
		...given({
			rented: values.rented ? true : values.free ? false : undefined,
			connected: values.connected ? true : undefined,
			link: values.link as "agent" | undefined,
			state: values.state as "active" | undefined,
		}),
	};
	return showOrWatch(values, io, async (client) => {
		const page = await client.listProviders({ query });
		return { json: page, text: (paint) => listText(page.rows, page.cursor !== null, Date.now(), paint) };
	});
}

function columns(nowMs: number, rows: readonly ProviderSummary[]): readonly Column<ProviderSummary>[] {
	const attested = left<ProviderSummary>("attested", ({ attestation }) => attestedWord(attestation));
	return [
		left("id", ({ id }) => shortId(id)),
		left("name", ({ name }) => shown(name, 24)),
		...provenColumns,
		...(rows.some(({ attestation }) => attestedWord(attestation) !== null) ? [attested] : []),
		left(
			"verdict",
			({ lastVerdict, lastCode }) => (lastVerdict === null ? "–" : (lastCode ?? lastVerdict)),
			({ lastVerdict }, paint) => verdictStyle(lastVerdict, paint),
		),
		right("probed", ({ lastProbeAtMs }) => formatAgo(lastProbeAtMs, nowMs)),
		right("next", ({ nextProbeAtMs: atMs }) => (atMs !== null && atMs <= nowMs ? "due" : formatAgo(atMs, nowMs))),
		right("score", ({ scorePpm }) => formatScore(scorePpm)),
		right("uptime", ({ uptimePpm }) => formatPercent(uptimePpm / 1e6)),
		right("price/h", ({ pricePerHourMicros, rentable }) => (rentable ? formatPrice(pricePerHourMicros) : null)),
		left("", stateOf),
	];
}

function stateOf({ state, rented, connected, link }: ProviderSummary): string {
	if (state !== "active") return state;
	return [rented ? "rented" : "", connected ? "" : "away", link === "agent" ? "" : link].filter(Boolean).join(", ");
}

function listText(rows: readonly ProviderSummary[], isCut: boolean, nowMs: number, paint: Paint): string {
	const text = table(columns(nowMs, rows), rows, paint, "no provider matches");
	return isCut ? `${text}\n${paint.dim(`  the first ${rows.length}; --limit shows more`)}` : text;
}

function show(values: ProvidersValues, io: CliIo, subject: string): Promise<number> {
	return showOrWatch(values, io, async (client) => {
		const provider = await client.getProvider({ params: { id: (await findProvider(client, subject)).id } });
		return { json: provider, text: (paint) => providerText(provider, Date.now(), paint) };
	});
}

function providerText(provider: Provider, nowMs: number, paint: Paint): string {
	const claimed = (provider.claim?.devices ?? []).map(
		({ kind, name, memoryBytes }) => `            ${kind}  ${shown(name)} (${formatBytes(memoryBytes)})`,
	);
	const [first] = provider.figures;
	const target = provider.target === null || provider.target === "" ? "" : ` ${shown(provider.target, 200)}`;
	const price = provider.rentable ? `${formatPrice(provider.pricePerHourMicros)} an hour` : "not for rent";
	const figures = provider.figures.map((one) => ({ ...one, challenge: 0 }));
	return [
		`${paint.strong(shown(provider.name))}  ${provider.id}`,
		`  ${provider.link}${target}, ${stateOf(provider) || "active"}; registered ${formatAgo(provider.registeredAtMs, nowMs)}`,
		`  score ${formatScore(provider.scorePpm)}, reliability ${formatPercent(provider.reliabilityPpm / 1e6)}, uptime ${formatPercent(provider.uptimePpm / 1e6)}, probes answered ${formatPercent(provider.answeredPpm / 1e6)}, ${price}`,
		`  last verdict ${provider.lastCode ?? provider.lastVerdict ?? "none"} ${formatAgo(provider.lastProbeAtMs, nowMs)}; next probe ${formatAgo(provider.nextProbeAtMs, nowMs)}`,
		...(provider.suspicion === null ? [] : [paint.unsure(`  suspected: ${shown(provider.suspicion)}`)]),
		...(claimed.length === 0 ? [] : ["  claims", ...claimed]),
		...(first === undefined ? [] : [`  proven ${formatAgo(first.atMs, nowMs)}, evidence ${first.evidenceSha256}`]),
		...figureLines({ devices: provider.devices, figures }, paint),
		...countedAttestationLines(provider.attestation, paint),
		...provider.holdings.map(
			({ model, count, figures: held }) =>
				`  holds ${count} × ${shown(model)}: fp16 ${formatRate(held["gemm.fp16"] ?? 0, "FLOPS")} each`,
		),
	].join("\n");
}

const offerOf = ({ name, price }: ProvidersValues) =>
	given({ name, pricePerHourMicros: price === undefined ? undefined : Math.round(price * 1e6) });

async function add(values: ProvidersValues, io: CliIo, typed: string): Promise<number> {
	const target = targetToText(parseTarget(typed));
	const offer = offerOf(values);
	const body = target === "local" ? { link: "local" as const, ...offer } : { link: "ssh" as const, target, ...offer };
	return tell(await askApi(values, io, (client) => client.registerProvider({ body })), values, io);
}

type Changed = ProviderSummary | { readonly providerId: string; readonly dueAtMs: number };
type Act = (id: string, values: ProvidersValues) => (client: ApiClient) => Promise<Changed>;

const change = (id: string, paused: boolean, values: ProvidersValues) => (client: ApiClient) =>
	client.changeProvider({ params: { id }, body: { ...offerOf(values), paused } });

function act(how: Act) {
	return async (values: ProvidersValues, io: CliIo, subject: string): Promise<number> => {
		const done = await askApi(values, io, async (client) =>
			how((await findProvider(client, subject)).id, values)(client),
		);
		return tell(done, values, io);
	};
}

function tell(done: Changed, values: ProvidersValues, io: CliIo): number {
	return printResult(values, io, done, (paint) =>
		"dueAtMs" in done ? `${shortId(done.providerId)} is due now\n` : `${listText([done], false, Date.now(), paint)}\n`,
	);
}
