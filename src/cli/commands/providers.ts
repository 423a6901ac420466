// `assay providers`: who is in the network, what each proved, and what an admin does about it: add by ssh, pause, resume, remove, probe now.
import type { ProviderSummary } from "../../api/types.ts";
import { apiOptions, openApi, withApi } from "../api-connection.ts";
import type { CliIo, Command } from "../command.ts";
import { findProvider } from "../find-by-name.ts";
import { numberOption, parseOptions, usageError } from "../parse-options.ts";
import { formatBytes, formatFigure, formatPercent, formatRate } from "../print/format.ts";
import { showOrWatch, watchOptions } from "../print/show-or-watch.ts";
import {
	type Column,
	formatAgo,
	formatPrice,
	formatScore,
	shortId,
	shown,
	table,
	verdictStyle,
} from "../print/table.ts";
import { type Paint, paintFor } from "../print/verdict-table.ts";
import { filterOptions, given, listQuery } from "../proven-filters.ts";
import { figureLines } from "../up/up-report.ts";

const SORTS = [
	"score",
	"price",
	"memory",
	"fp16",
	"bandwidth",
	"uptime",
	"name",
	"registered",
	"lastProbe",
	"nextProbe",
] as const;

const options = {
	...apiOptions.options,
	...filterOptions.options,
	...watchOptions.options,
	rented: { type: "boolean" },
	free: { type: "boolean" },
	connected: { type: "boolean" },
	link: { type: "string" },
	state: { type: "string" },
	name: { type: "string" },
	price: { type: "string" },
	why: { type: "string" },
} as const;

type Values = ReturnType<typeof parseOptions<typeof options>>["values"];

export const providersCommand: Command = {
	name: "providers",
	summary: "lists providers by what they proved; adds, pauses and removes them",
	help: `usage: assay providers [FILTERS] [OPTIONS]
       assay providers show PROVIDER
       assay providers add ssh://user@host[:port] | local   [--name NAME] [--price AMOUNT]
       assay providers pause | resume | remove | probe PROVIDER

A PROVIDER is named by its id, the beginning of it, or its name. Changes need an admin's token: the local network's own, or ASSAY_TOKEN.

${filterOptions.help}
  --sort WORD       ${SORTS.join(", ")}; --reverse turns it round
  --rented, --free, --connected, --link agent|ssh|local, --state active|paused|removed
${watchOptions.help}
${apiOptions.help}

exit codes: done 0, usage 64, no such provider 67, nobody answers 69, not now 75, refused 77`,

	async run(args, io) {
		const { values, positionals } = parseOptions("providers", args, options, { min: 0, max: 2 });
		const [verb, subject] = positionals;
		if (verb === undefined) return list(values, io);
		if (!["show", "add", "pause", "resume", "remove", "probe"].includes(verb))
			throw usageError(`providers knows show, add, pause, resume, remove and probe, not '${verb}'`, "providers");
		if (subject === undefined)
			throw usageError(`providers ${verb} needs ${verb === "add" ? "a target" : "a provider"}`, "providers");
		return verb === "show" ? show(subject, values, io) : act(verb, subject, values, io);
	},
};

async function list(values: Values, io: CliIo): Promise<number> {
	if (values.rented === true && values.free === true)
		throw usageError("--rented and --free exclude each other", "providers");
	const query = {
		...listQuery<(typeof SORTS)[number]>("providers", values, ["price", "name", "nextProbe"]),
		...given({
			rented: values.rented === true ? true : values.free === true ? false : undefined,
			connected: values.connected === true ? true : undefined,
			link: values.link as "agent" | undefined,
			state: values.state as "active" | undefined,
		}),
	};
	const api = await openApi("providers", values, io);
	return showOrWatch("providers", values, io, async () => {
		const page = await withApi(api, (client) => client.listProviders({ query }));
		return { json: page, text: (paint) => listText(page.rows, page.cursor !== null, Date.now(), paint) };
	});
}

function columns(nowMs: number): readonly Column<ProviderSummary>[] {
	return [
		{ title: "id", cell: ({ id }) => shortId(id) },
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
			title: "verdict",
			cell: ({ lastVerdict, lastCode }) => (lastVerdict === null ? "–" : (lastCode ?? lastVerdict)),
			style: ({ lastVerdict }, paint) => verdictStyle(lastVerdict, paint),
		},
		{ title: "probed", right: true, cell: ({ lastProbeAtMs }) => formatAgo(lastProbeAtMs, nowMs) },
		{
			title: "next",
			right: true,
			cell: ({ nextProbeAtMs }) =>
				nextProbeAtMs !== null && nextProbeAtMs <= nowMs ? "due" : formatAgo(nextProbeAtMs, nowMs),
		},
		{ title: "score", right: true, cell: ({ scorePpm }) => formatScore(scorePpm) },
		{ title: "uptime", right: true, cell: ({ uptimePpm }) => formatPercent(uptimePpm / 1e6) },
		{
			title: "price/h",
			right: true,
			cell: ({ pricePerHourMicros, rentable }) => (rentable ? formatPrice(pricePerHourMicros) : ""),
		},
		{ title: "", cell: stateOf },
	];
}

function stateOf({ state, rented, connected, link }: ProviderSummary): string {
	if (state !== "active") return state;
	return [rented ? "rented" : "", connected ? "" : "away", link === "agent" ? "" : link].filter(Boolean).join(", ");
}

function listText(rows: readonly ProviderSummary[], isCut: boolean, nowMs: number, paint: Paint): string {
	if (rows.length === 0) return "  no provider fits";
	const text = table(columns(nowMs), rows, paint);
	return isCut ? `${text}\n${paint.dim(`  the first ${rows.length}; --limit shows more`)}` : text;
}

async function show(subject: string, values: Values, io: CliIo): Promise<number> {
	const api = await openApi("providers", values, io);
	return showOrWatch("providers", values, io, async () => {
		const provider = await withApi(api, async (client) =>
			client.getProvider({ params: { id: (await findProvider(client, subject)).id } }),
		);
		const nowMs = Date.now();
		const text = (paint: Paint) => {
			const claimed = (provider.claim?.devices ?? []).map(
				({ kind, name, memoryBytes }) => `            ${kind}  ${shown(name)} (${formatBytes(memoryBytes)})`,
			);
			const [first] = provider.figures;
			return [
				`${paint.strong(shown(provider.name))}  ${provider.id}`,
				`  ${provider.link}${provider.target === null || provider.target === "" ? "" : ` ${shown(provider.target, 200)}`}, ${stateOf(provider) || "active"}; registered ${formatAgo(provider.registeredAtMs, nowMs)}`,
				`  score ${formatScore(provider.scorePpm)}, reliability ${formatPercent(provider.reliabilityPpm / 1e6)}, uptime ${formatPercent(provider.uptimePpm / 1e6)}, ` +
					(provider.rentable ? `${formatPrice(provider.pricePerHourMicros)} an hour` : "not for rent"),
				`  last verdict ${provider.lastCode ?? provider.lastVerdict ?? "none"} ${formatAgo(provider.lastProbeAtMs, nowMs)}; next probe ${formatAgo(provider.nextProbeAtMs, nowMs)}`,
				...(provider.suspicion === null ? [] : [paint.unsure(`  suspected: ${shown(provider.suspicion)}`)]),
				...(claimed.length === 0 ? [] : ["  claims", ...claimed]),
				...(first === undefined ? [] : [`  proven ${formatAgo(first.atMs, nowMs)}, evidence ${first.evidenceSha256}`]),
				...figureLines(
					{ devices: provider.devices, figures: provider.figures.map((one) => ({ ...one, challenge: 0 })) },
					paint,
				),
				...provider.holdings.map(
					({ model, count, figures }) =>
						`  holds ${count} × ${shown(model)}: fp16 ${formatFigure(figures["gemm.fp16"] ?? 0, "op/s")} each`,
				),
			].join("\n");
		};
		return { json: provider, text };
	});
}

async function act(verb: string, subject: string, values: Values, io: CliIo): Promise<number> {
	const pricePerHourMicros =
		values.price === undefined ? undefined : Math.round(numberOption("providers", "price", values.price, 0, 1e9) * 1e6);
	const offer = given({ name: values.name, pricePerHourMicros });
	const api = await openApi("providers", values, io);
	const done = await withApi(api, async (client) => {
		if (verb === "add") {
			if (subject !== "local" && !subject.startsWith("ssh://"))
				throw usageError(`providers add takes ssh://user@host[:port] or local, not '${subject}'`, "providers");
			const body =
				subject === "local"
					? { link: "local" as const, ...offer }
					: { link: "ssh" as const, target: subject, ...offer };
			return client.registerProvider({ body });
		}
		const { id } = await findProvider(client, subject);
		if (verb === "probe") return client.askProbe({ params: { id }, body: given({ why: values.why }) });
		if (verb === "remove") return client.removeProvider({ params: { id } });
		return client.changeProvider({ params: { id }, body: { ...offer, paused: verb === "pause" } });
	});
	const paint = paintFor(io.out, io.env);
	io.out.write(
		values.json
			? `${JSON.stringify(done, null, 2)}\n`
			: "dueAtMs" in done
				? `${shortId(done.providerId)} is due now\n`
				: `${listText([done], false, Date.now(), paint)}\n`,
	);
	return 0;
}
