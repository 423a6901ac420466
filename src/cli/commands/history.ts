// `assay history PROVIDER`: its probes with their verdicts, and each proven figure over time as a small curve.
import type { ApiClient } from "../../api/create-client.ts";
import type { FigurePoint, ProbeSummary, ProviderSummary } from "../../api/types.ts";
import { apiOptions, openApi, withApi } from "../api-connection.ts";
import type { Command } from "../command.ts";
import { findProvider } from "../find-by-name.ts";
import { numberOption, parseOptions } from "../parse-options.ts";
import { formatFigure, formatPercent } from "../print/format.ts";
import { showOrWatch, watchOptions } from "../print/show-or-watch.ts";
import { shown, sparkline, table } from "../print/table.ts";
import { figureLabel, type Paint } from "../print/verdict-table.ts";
import { probeColumns } from "./probes.ts";

/** One request each: more would be a page of its own, and a burst that the API's limits are made against. */
const MAX_CURVES = 24;

interface Curve {
	readonly device: number;
	readonly name: string;
	/** Newest first. */
	readonly points: readonly FigurePoint[];
}

async function curvesOf(client: ApiClient, id: string, limit: number, device: number | undefined): Promise<Curve[]> {
	const { figures } = await client.getProvider({ params: { id } });
	const wanted = figures.filter(
		(one) => (device === undefined || one.device === device) && !one.name.startsWith("peer."),
	);
	const names = [...new Map(wanted.map((one) => [`${one.device} ${one.name}`, one])).values()].slice(0, MAX_CURVES);
	const curves: Curve[] = [];
	for (const { device, name } of names) {
		const { rows } = await client.listProviderFigures({ params: { id }, query: { name, device, limit } });
		curves.push({ device, name, points: rows });
	}
	return curves;
}

function curveText(curves: readonly Curve[], paint: Paint): string {
	return table<Curve>(
		[
			{ title: "device", cell: ({ device }) => String(device), right: true },
			{ title: "figure", cell: ({ name }) => shown(figureLabel(name)) },
			{
				title: "now",
				right: true,
				cell: ({ points: [now] }) => (now === undefined ? "" : formatFigure(now.value, shown(now.unit))),
			},
			{ title: "oldest to newest", cell: ({ points }) => sparkline(points.map(({ value }) => value).reverse()) },
			{
				title: "lowest ÷ highest",
				right: true,
				cell: ({ points }) => {
					const values = points.map(({ value }) => value);
					return values.length < 2 ? "" : formatPercent(Math.min(...values) / Math.max(1, ...values));
				},
			},
		],
		curves,
		paint,
	);
}

function historyText(
	provider: ProviderSummary,
	probes: readonly ProbeSummary[],
	curves: readonly Curve[],
	paint: Paint,
): string {
	const tally = (verdict: string) => probes.filter((one) => one.verdict === verdict).length;
	return [
		`${paint.strong(shown(provider.name))}  ${provider.id}`,
		`  of the last ${probes.length} probes ${tally("valid")} valid, ${tally("invalid")} invalid, ${tally("inconclusive")} inconclusive; ` +
			`reliability ${formatPercent(provider.reliabilityPpm / 1e6)}, uptime ${formatPercent(provider.uptimePpm / 1e6)}`,
		"",
		probes.length === 0 ? "  no probes yet" : table(probeColumns(Date.now(), false), probes, paint),
		...(curves.length === 0 ? [] : ["", curveText(curves, paint)]),
	].join("\n");
}

export const historyCommand: Command = {
	name: "history",
	summary: "a provider's probes, verdicts and figures over time",
	help: `usage: assay history PROVIDER [OPTIONS]

A PROVIDER is named by its id, the beginning of it, or its name.

  --limit N         probes and points of each curve, at most 500 (default 20)
  --device N        only the figures of this device
${watchOptions.help}
${apiOptions.help}

exit codes: done 0, usage 64, no such provider 67, nobody answers 69`,

	async run(args, io) {
		const { values, positionals } = parseOptions(
			"history",
			args,
			{ ...apiOptions.options, ...watchOptions.options, limit: { type: "string" }, device: { type: "string" } },
			{ min: 1, max: 1 },
		);
		const limit = values.limit === undefined ? 20 : Math.floor(numberOption("history", "limit", values.limit, 1, 500));
		const device =
			values.device === undefined ? undefined : Math.floor(numberOption("history", "device", values.device, 0, 63));
		const api = await openApi("history", values, io);
		return showOrWatch("history", values, io, async () => {
			const found = await withApi(api, async (client) => {
				const provider = await findProvider(client, positionals[0]!);
				const params = { id: provider.id };
				const { rows } = await client.listProviderProbes({ params, query: { limit } });
				return { provider, probes: rows, figures: await curvesOf(client, provider.id, limit, device) };
			});
			return { json: found, text: (paint) => historyText(found.provider, found.probes, found.figures, paint) };
		});
	},
};
