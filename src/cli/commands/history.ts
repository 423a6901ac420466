// `assay history PROVIDER`: its probes with their verdicts, and each proven figure over time as a small
// curve.
import type { ApiClient } from "../../api/create-client.ts";
import type { FigurePoint, ProbeSummary, ProviderSummary } from "../../api/types.ts";
import { formatPercent } from "../../protocol/format-number.ts";
import { apiOptions } from "../api-connection.ts";
import { command } from "../command.ts";
import { findProvider } from "../find-by-name.ts";
import { whole } from "../options.ts";
import { figureLabel } from "../print/figures.ts";
import { formatFigure } from "../print/format.ts";
import type { Paint } from "../print/paint.ts";
import { showOrWatch, watchOptions } from "../print/show-or-watch.ts";
import { sparkline } from "../print/sparkline.ts";
import { type Column, left, plural, right, shown, table } from "../print/table.ts";
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

const curveColumns: readonly Column<Curve>[] = [
	right("device", ({ device }) => String(device)),
	left("figure", ({ name }) => shown(figureLabel(name))),
	right("now", ({ name, points: [now] }) =>
		now === undefined ? null : formatFigure({ name, value: now.value, unit: shown(now.unit) }),
	),
	left("oldest to newest", ({ points }) => sparkline(points.map(({ value }) => value).reverse())),
	right("lowest ÷ highest", ({ points }) => {
		const values = points.map(({ value }) => value);
		return values.length < 2 ? null : formatPercent(Math.min(...values) / Math.max(1, ...values));
	}),
];

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
			`reliability ${formatPercent(provider.reliabilityPpm / 1e6)}, uptime ${formatPercent(provider.uptimePpm / 1e6)}, probes answered ${formatPercent(provider.answeredPpm / 1e6)}`,
		"",
		table(probeColumns(Date.now(), probes, false), probes, paint, "no probes yet"),
		...(curves.length === 0 ? [] : ["", table(curveColumns, curves, paint)]),
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
		return showOrWatch(values, io, async (client) => {
			const provider = await findProvider(client, subject!);
			const { rows: probes } = await client.listProviderProbes({ params: { id: provider.id }, query: { limit } });
			const figures = await curvesOf(client, provider.id, limit, device);
			return {
				json: { provider, probes, figures },
				text: (paint) => historyText(provider, probes, figures, paint),
			};
		});
	},
});
