// What each validator said of each provider beside the median, the weight on chain, the reward and whether it is claimed.
import { useMemo, useState } from "preact/hooks";
import type { Chain, ChainEpoch, ChainWeight } from "../../src/api/types.ts";
import { formatScore, shortId } from "../parts/format.ts";
import { Empty, Failed, Loading, Panel } from "../parts/small.tsx";
import { type Column, WindowedTable } from "../parts/windowed-table.tsx";
import { api } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";
import { shortAccount } from "./chain-format.ts";
import { Account, Amount } from "./chain-parts.tsx";

export function ChainWeights({ chain, epoch }: { chain: Chain; epoch: ChainEpoch }) {
	const [validators, setValidators] = useState<readonly string[]>([]);
	// Whatever changes what stands in the table.
	const key = `${epoch.number} ${epoch.reports} ${epoch.proposal?.digest ?? ""} ${epoch.claims} ${epoch.phase}`;
	const weights = usePaged(key, async (cursor, signal) => {
		const page = await api.listChainWeights(
			{ params: { number: epoch.number }, query: cursor === undefined ? { limit: 200 } : { limit: 200, cursor } },
			{ signal },
		);
		setValidators(page.validators);
		return page;
	});
	const isFinal = epoch.phase === "final";
	// The first row: they are sorted by weight.
	const greatest = weights.rows[0]?.weightPpm || 1;
	const { token, validator } = chain;
	const columns = useMemo(
		() => columnsOf({ validators, token, own: validator.account, isFinal, greatest }),
		[validators, token, validator.account, isFinal, greatest],
	);
	return (
		<Panel title="Weights and rewards" aside="each validator’s score, the stake-weighted median, and what it earns">
			{weights.trouble !== null && weights.rows.length === 0 ? (
				<Failed trouble={weights.trouble} again={weights.reload} />
			) : weights.isFirst ? (
				<Loading what="weights" />
			) : weights.rows.length === 0 ? (
				<Empty title="No weights yet">
					{epoch.reports === 0
						? "They are there when validators have revealed what they saw."
						: "Nobody has a score above 0, or the leaves are not here."}
				</Empty>
			) : (
				<WindowedTable
					label="Weights and rewards of all providers"
					rows={weights.rows}
					rowKey={(row) => row.account}
					hasMore={weights.hasMore}
					onNearEnd={weights.more}
					columns={columns}
				/>
			)}
		</Panel>
	);
}

function columnsOf({
	validators,
	token,
	own,
	isFinal,
	greatest,
}: {
	validators: readonly string[];
	token: Chain["token"];
	own: string;
	isFinal: boolean;
	greatest: number;
}): Column<ChainWeight>[] {
	const score = (value: number | null) => (value === null ? <span class="dim">–</span> : formatScore(value));
	return [
		{
			key: "provider",
			widthRem: 14,
			narrowRem: 4.2,
			title: "Provider",
			cell: (row) => (
				<>
					{row.providerId === null ? null : (
						<>
							<a href={`/providers/${row.providerId}`}>{row.name || shortId(row.providerId)}</a>{" "}
						</>
					)}
					<span class={row.providerId === null ? "" : "dim minor"}>
						<Account account={row.account} />
					</span>
				</>
			),
		},
		...validators.map((validator, i) => ({
			key: validator,
			widthRem: 7,
			title: validator === own ? "This validator" : shortAccount(validator),
			isNumber: true,
			isMinor: true,
			cell: (row: ChainWeight) => score(row.scores[i] ?? null),
		})),
		{
			key: "median",
			widthRem: 4.5,
			title: "Median",
			isNumber: true,
			isMinor: true,
			cell: (row) => score(row.medianPpm),
		},
		{
			key: "weight",
			widthRem: 9,
			narrowRem: 3.4,
			title: "Weight",
			isNumber: true,
			cell: (row) =>
				row.weightPpm === null ? (
					<span class="dim">–</span>
				) : (
					<span class="weight">
						<meter min={0} max={greatest} value={row.weightPpm} aria-hidden="true" />
						<span>{formatScore(row.weightPpm)}</span>
					</span>
				),
		},
		{
			key: "share",
			widthRem: 8,
			narrowRem: 5.4,
			title: "Reward",
			isNumber: true,
			cell: (row) => (row.share === null ? <span class="dim">–</span> : <Amount amount={row.share} token={token} />),
		},
		{
			key: "claimed",
			widthRem: 5.5,
			narrowRem: 4.9,
			title: "Claimed",
			cell: (row) =>
				row.claimed !== null ? (
					<span class="agrees" title={`block ${row.claimed.block}`}>
						✓ claimed
					</span>
				) : row.share === null || row.share === "0" ? (
					<span class="dim">–</span>
				) : (
					<span class="dim">{isFinal ? "not yet" : "when final"}</span>
				),
		},
	];
}
