// `assay scores`: who has which score; of one provider every term of it down to the evidence; of an epoch of
// the chain the weights and shares.

import type { ChainWeight, ProviderSummary } from "../../api/types.ts";
import { formatPercent } from "../../protocol/format-number.ts";
import { apiOptions, openApi, withApi } from "../api-connection.ts";
import { command } from "../command.ts";
import { findProvider } from "../find-by-name.ts";
import { readNumber, text, whole } from "../options.ts";
import { scoreLine, scoreTree } from "../print/score-lines.ts";
import { type Shown, showOrWatch, watchOptions } from "../print/show-or-watch.ts";
import { type Column, formatAgo, formatScore, plural, shortId, shown, table } from "../print/table.ts";
import { formatTokens } from "../print/tokens.ts";

const scoreColumns: readonly Column<ProviderSummary>[] = [
	{ title: "id", cell: ({ id }) => shortId(id) },
	{ title: "name", cell: ({ name }) => shown(name, 24) },
	{ title: "score", right: true, cell: ({ scorePpm }) => formatScore(scorePpm) },
	{
		title: "proven",
		cell: ({ model, gpuCount }) => (gpuCount === 0 ? "no GPU" : `${gpuCount} × ${shown(model ?? "?", 24)}`),
	},
	{ title: "reliability", right: true, cell: ({ reliabilityPpm }) => formatPercent(reliabilityPpm / 1e6) },
	{ title: "proven last", right: true, cell: ({ lastValidAtMs }) => formatAgo(lastValidAtMs, Date.now()) },
	{ title: "", cell: ({ state, rented }) => (state !== "active" ? state : rented ? "rented" : "") },
];

const weightColumns: readonly Column<ChainWeight>[] = [
	{ title: "provider", cell: ({ providerId, account }) => shortId(providerId ?? account) },
	{ title: "weight", right: true, cell: ({ weightPpm }) => formatScore(weightPpm) },
	{ title: "share", right: true, cell: ({ share }) => (share === null ? "–" : formatTokens(BigInt(share))) },
];

const isFinal = ({ phase }: { readonly phase: string }) => phase === "final";

export const scoresCommand = command({
	name: "scores",
	about: `Without a provider: all of them, best first. With one (id, its beginning, or name): every term of its score and where it
came from. Anyone with the evidence can recompute it: docs/scores.md.`,
	takes: "[PROVIDER]",
	options: {
		epoch: text("N", "weights of that epoch of the chain and each provider's share; last: the newest final epoch"),
		limit: whole("N", "rows, at most 500", [1, 500], 50),
		...watchOptions,
		...apiOptions,
	},
	exits: { 67: "no such provider, score or epoch", 69: "no answer" },

	async run(values, io, subject) {
		const { limit } = values;
		const wanted =
			values.epoch === undefined || values.epoch === "last"
				? null
				: Math.floor(readNumber("--epoch", values.epoch, 0, 0xffff_ffff));
		const api = await openApi(values, io);

		const ofEpoch = (): Promise<Shown> =>
			withApi(api, async (client) => {
				const number = wanted ?? (await client.listChainEpochs({ query: { limit: 20 } })).rows.find(isFinal)?.number;
				if (number === undefined) return { json: { rows: [], cursor: null }, text: () => "  no epoch is final yet" };
				const epoch = await client.getChainEpoch({ params: { number } });
				const page = await client.listChainWeights({ params: { number }, query: { limit } });
				const provider = subject === undefined ? null : await findProvider(client, subject);
				const rows = provider === null ? page.rows : page.rows.filter(({ providerId }) => providerId === provider.id);
				return {
					json: { epoch, ...page, rows },
					text: (paint) =>
						[
							`epoch ${number}, ${epoch.phase}; ${plural(epoch.reports, "report")}; pays ${formatTokens(BigInt(epoch.pot ?? 0))}`,
							rows.length === 0 ? "  no weights" : table(weightColumns, rows, paint),
						].join("\n"),
				};
			});
		const ofOne = (): Promise<Shown> =>
			withApi(api, async (client) => {
				const provider = await findProvider(client, subject!);
				const score = await client.getProviderScore({ params: { id: provider.id } });
				return {
					json: score,
					text: (paint) =>
						[
							`${paint.strong(shown(provider.name))}  ${provider.id}`,
							`  ${scoreLine(score)}`,
							`  ${shown(score.mode)}, ${formatAgo(score.atMs, Date.now())}, evidence ${score.terms.evidence ?? "none"}`,
							"",
							...scoreTree(score, paint),
						].join("\n"),
				};
			});
		const ofAll = async (): Promise<Shown> => {
			const page = await withApi(api, (client) => client.listProviders({ query: { sort: "score", limit } }));
			return {
				json: page,
				text: (paint) => (page.rows.length === 0 ? "  no providers" : table(scoreColumns, page.rows, paint)),
			};
		};
		return showOrWatch(values, io, values.epoch !== undefined ? ofEpoch : subject === undefined ? ofAll : ofOne);
	},
});
