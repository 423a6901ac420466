// `assay history PROVIDER`: its probes with their verdicts, and each proven figure over time as a small curve.
import type { ApiClient } from "../../api/create-client.ts";
import type { FigurePoint, ProbeSummary, ProviderSummary } from "../../api/types.ts";
import { formatPercent } from "../../protocol/format-number.ts";
import { apiOptions, openApi, withApi } from "../api-connection.ts";
import { command } from "../command.ts";
import { findProvider } from "../find-by-name.ts";
import { whole } from "../options.ts";
import { figureLabel } from "../print/figures.ts";
import { formatFigure } from "../print/format.ts";
import type { Paint } from "../print/paint.ts";
import { showOrWatch, watchOptions } from "../print/show-or-watch.ts";
import { sparkline } from "../print/sparkline.ts";
import { plural, shown, table } from "../print/table.ts";
import { probeColumns } from "./probes.ts";

/** One request each: more would be a burst that the API's limits refuse. */
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
				cell: ({ name, points: [now] }) =>
					now === undefined ? "" : formatFigure({ name, value: now.value, unit: shown(now.unit) }),
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
		`  of the last ${plural(probes.length, "probe")} ${tally("valid")} valid, ${tally("invalid")} invalid, ${tally("inconclusive")} inconclusive; ` +
			`reliability ${formatPercent(provider.reliabilityPpm / 1e6)}, uptime ${formatPercent(provider.uptimePpm / 1e6)}`,
		"",
		probes.length === 0 ? "  no probes yet" : table(probeColumns(Date.now(), false), probes, paint),
		...(curves.length === 0 ? [] : ["", curveText(curves, paint)]),
	].join("\n");
}

export const historyCommand = command({
	name: "history",
	about: "PROVIDER is an id, the beginning of one, or a name.",
	takes: "PROVIDER",
	options: {
		limit: whole("N", "probes, and points of each curve, at most 500", [1, 500], 20),
		device: whole("N", "only the figures of this device", [0, 63]),
		...watchOptions,
		...apiOptions,
	},
	exits: { 67: "no such provider", 69: "no answer" },

	async run(values, io, subject) {
		const { limit, device } = values;
		const api = await openApi(values, io);
		return showOrWatch(values, io, async () => {
			const found = await withApi(api, async (client) => {
				const provider = await findProvider(client, subject!);
				const params = { id: provider.id };
				const { rows } = await client.listProviderProbes({ params, query: { limit } });
				return { provider, probes: rows, figures: await curvesOf(client, provider.id, limit, device) };
			});
			return { json: found, text: (paint) => historyText(found.provider, found.probes, found.figures, paint) };
		});
	},
});
