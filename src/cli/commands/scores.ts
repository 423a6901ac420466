// `assay scores`: who has which score; of one provider every term of it down to the evidence; of an epoch of
// the chain the weights and shares.
import type { ApiClient } from "../../api/create-client.ts";
import type { ChainWeight, ProviderSummary } from "../../api/types.ts";
import { formatPercent } from "../../protocol/format-number.ts";
import { apiOptions } from "../api-connection.ts";
import { command } from "../command.ts";
import { findProvider } from "../find-by-name.ts";
import { readNumber, text, whole } from "../options.ts";
import { scoreLine, scoreTree } from "../print/score-lines.ts";
import { type Shown, showOrWatch, watchOptions } from "../print/show-or-watch.ts";
import {
	type Column,
	cardsColumn,
	formatAgo,
	formatScore,
	left,
	plural,
	right,
	shortId,
	shown,
	table,
} from "../print/table.ts";
import { formatTokens } from "../print/tokens.ts";

const scoreColumns: readonly Column<ProviderSummary>[] = [
	left("id", ({ id }) => shortId(id)),
	left("name", ({ name }) => shown(name, 24)),
	right("score", ({ scorePpm }) => formatScore(scorePpm)),
	cardsColumn,
	right("reliability", ({ reliabilityPpm }) => formatPercent(reliabilityPpm / 1e6)),
	right("proven last", ({ lastValidAtMs }) => formatAgo(lastValidAtMs, Date.now())),
	left("", ({ state, rented }) => (state !== "active" ? state : rented ? "rented" : null)),
];

const weightColumns: readonly Column<ChainWeight>[] = [
	left("provider", ({ providerId, account }) => shortId(providerId ?? account)),
	right("weight", ({ weightPpm }) => formatScore(weightPpm)),
	right("earned", ({ earned }) => (earned === null ? "–" : formatTokens(BigInt(earned)))),
];

const isFinal = ({ phase }: { readonly phase: string }) => phase === "final";

export const scoresCommand = command({
	name: "scores",
	about: `Without a provider: all of them, best first. With one (id, its beginning, or name): every term of its score and where it
came from. Anyone with the evidence can recompute it: docs/scores.md.`,
	takes: "[PROVIDER]",
	options: {
		epoch: text("N", "weights of that epoch of the chain and what each account earned; last: the newest final epoch"),
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
		const read =
			values.epoch !== undefined
				? (client: ApiClient) => ofEpoch(client, wanted, subject, limit)
				: (client: ApiClient) => (subject === undefined ? ofAll(client, limit) : ofOne(client, subject));
		return showOrWatch(values, io, read);
	},
});

/** `wanted` null: the newest that is final. */
async function ofEpoch(
	client: ApiClient,
	wanted: number | null,
	subject: string | undefined,
	limit: number,
): Promise<Shown> {
	const number = wanted ?? (await client.listChainEpochs({ query: { limit: 20 } })).rows.find(isFinal)?.number;
	if (number === undefined) return { json: { rows: [], cursor: null }, text: () => "  no epoch is final yet" };
	const epoch = await client.getChainEpoch({ params: { number } });
	const page = await client.listChainWeights({ params: { number }, query: { limit } });
	const provider = subject === undefined ? null : await findProvider(client, subject);
	const rows = provider === null ? page.rows : page.rows.filter(({ providerId }) => providerId === provider.id);
	const [earned, pot] = [epoch.earned ?? "0", epoch.pot].map((amount) => formatTokens(BigInt(amount)));
	const head = `epoch ${number}, ${epoch.phase}; ${plural(epoch.reports, "report")}; earned ${earned} of at most ${pot}`;
	return {
		json: { epoch, ...page, rows },
		text: (paint) => `${head}\n${table(weightColumns, rows, paint, "no weights")}`,
	};
}

async function ofOne(client: ApiClient, subject: string): Promise<Shown> {
	const provider = await findProvider(client, subject);
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
}

async function ofAll(client: ApiClient, limit: number): Promise<Shown> {
	const page = await client.listProviders({ query: { sort: "score", limit } });
	return { json: page, text: (paint) => table(scoreColumns, page.rows, paint, "no providers") };
}
