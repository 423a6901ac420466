// The chain's epochs: those on their way to final as they go, and all of them in a table.
import type { Chain } from "../../src/api/types.ts";
import { formatCount } from "../parts/format.ts";
import { Empty, Failed, Loading, PageTitle, Panel } from "../parts/small.tsx";
import { WindowedTable } from "../parts/windowed-table.tsx";
import { api } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";
import { Amount, ChainTime, EpochsInFlight, PhaseBadge } from "./chain-parts.tsx";
import { ChainTiles } from "./chain-tiles.tsx";
import { useReloadWith } from "./use-chain.ts";

export interface ChainProps {
	readonly chain: Chain;
	readonly skewMs: number;
	/** The node does not answer: what is shown is what was. */
	readonly isStale: boolean;
}

export function StaleNote() {
	return (
		<p class="unsure" role="status">
			⚠ The chain’s node does not answer: this is what it said last.
		</p>
	);
}

export default function ChainEpochList({ chain, skewMs, isStale }: ChainProps) {
	const epochs = usePaged("chain epochs", (cursor, signal) =>
		api.listChainEpochs({ query: cursor === undefined ? { limit: 100 } : { limit: 100, cursor } }, { signal }),
	);
	useReloadWith(chain, epochs.reload);
	const { token } = chain;
	return (
		<>
			<PageTitle sub="In each epoch every validator commits to its scores on the chain, then reveals them. The weight of a provider is the stake-weighted median; rewards follow the weights.">
				Epochs
			</PageTitle>
			{isStale ? <StaleNote /> : null}
			<ChainTiles chain={chain} skewMs={skewMs} />
			<Panel title="On their way" aside="each window ends by the chain’s clock">
				<EpochsInFlight epochs={chain.inFlight} skewMs={skewMs} />
			</Panel>
			{epochs.trouble !== null && epochs.rows.length === 0 ? (
				<Failed trouble={epochs.trouble} again={epochs.reload} />
			) : epochs.isFirst ? (
				<Loading what="epochs" />
			) : epochs.rows.length === 0 ? (
				<Empty title="No epoch yet">The first one begins soon.</Empty>
			) : (
				<WindowedTable
					label="Epochs"
					rows={epochs.rows}
					rowKey={(row) => String(row.number)}
					hasMore={epochs.hasMore}
					onNearEnd={epochs.more}
					columns={[
						{
							key: "number",
							widthRem: 5,
							narrowRem: 2.6,
							title: "Epoch",
							cell: (row) => <a href={`/epochs/${row.number}`}>{formatCount(row.number)}</a>,
						},
						{
							key: "phase",
							widthRem: 8,
							narrowRem: 5.8,
							title: "Phase",
							cell: (row) => <PhaseBadge phase={row.phase} />,
						},
						{
							key: "ends",
							widthRem: 6,
							narrowRem: 5.3,
							title: "Ends",
							isNumber: true,
							cell: (row) => <ChainTime atMs={row.endsAtMs} skewMs={skewMs} />,
						},
						{
							key: "reports",
							widthRem: 5,
							title: "Reports",
							isNumber: true,
							isMinor: true,
							cell: (row) => formatCount(row.reports),
						},
						{
							key: "providers",
							widthRem: 5,
							title: "Providers",
							isNumber: true,
							isMinor: true,
							cell: (row) => (row.providers === null ? "–" : formatCount(row.providers)),
						},
						{
							key: "pot",
							widthRem: 9,
							narrowRem: 5.6,
							title: "Rewards",
							isNumber: true,
							cell: (row) => (row.pot === null ? "–" : <Amount amount={row.pot} token={token} />),
						},
						{
							key: "claims",
							widthRem: 9,
							isMinor: true,
							title: "Claimed",
							isNumber: true,
							cell: (row) => (row.pot === null ? "–" : <Paid pot={row.pot} paid={row.paid} claims={row.claims} />),
						},
					]}
				/>
			)}
		</>
	);
}

export const paidPercent = (pot: string, paid: string): number =>
	BigInt(pot) === 0n ? 0 : Number((BigInt(paid) * 1000n) / BigInt(pot)) / 10;

function Paid({ pot, paid, claims }: { pot: string; paid: string; claims: number }) {
	const percent = paidPercent(pot, paid);
	return (
		<span class="paid">
			<meter min={0} max={100} value={percent} aria-label="Share of the rewards that is claimed" />
			<span title={`${claims} claims`}>{percent === 100 ? "all" : `${percent.toFixed(percent === 0 ? 0 : 1)} %`}</span>
		</span>
	);
}
