// The chain's epochs: those on their way to final as they go, and all of them in a table.
import type { Chain, ChainEpochSummary } from "../../src/api/types.ts";
import { formatCount } from "../parts/format.ts";
import { Empty, PageTitle, Panel } from "../parts/small.tsx";
import { type Column, column, PagedTable } from "../parts/windowed-table.tsx";
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
	const epochs = usePaged("chain epochs", (page, signal) =>
		api.listChainEpochs({ query: { limit: 100, ...page } }, { signal }),
	);
	useReloadWith(chain, epochs.reload);
	const { token } = chain;
	return (
		<>
			<PageTitle sub="In each epoch every validator commits to its scores on the chain, then reveals them. The weight of a provider is the stake-weighted median. Weights count once validators with two thirds of the stake have signed them; rewards follow.">
				Epochs
			</PageTitle>
			{isStale ? <StaleNote /> : null}
			<ChainTiles chain={chain} skewMs={skewMs} />
			<Panel title="On their way" aside="each window ends by the chain’s clock">
				<EpochsInFlight epochs={chain.inFlight} skewMs={skewMs} />
			</Panel>
			<PagedTable
				of={epochs}
				what="epochs"
				keepsRows
				empty={<Empty title="No epoch yet">The first one begins soon.</Empty>}
				label="Epochs"
				rowKey={(row) => String(row.number)}
				columns={columnsOf(token, skewMs)}
			/>
		</>
	);
}

function columnsOf(token: Chain["token"], skewMs: number): Column<ChainEpochSummary>[] {
	return [
		column("number", "Epoch", 5, (row) => <a href={`/epochs/${row.number}`}>{formatCount(row.number)}</a>, {
			narrowRem: 2.6,
		}),
		column("phase", "Phase", 8, (row) => <PhaseBadge phase={row.phase} />, { narrowRem: 5.8 }),
		column("ends", "Ends", 6, (row) => <ChainTime atMs={row.endsAtMs} skewMs={skewMs} />, {
			isNumber: true,
			narrowRem: 5.3,
		}),
		column("reports", "Reports", 5, (row) => formatCount(row.reports), { isNumber: true, isMinor: true }),
		column("accounts", "Accounts", 5, (row) => (row.accounts === null ? "–" : formatCount(row.accounts)), {
			isNumber: true,
			isMinor: true,
		}),
		column("earned", "Earned", 9, (row) => <Amount amount={row.earned} token={token} />, {
			isNumber: true,
			narrowRem: 5.6,
		}),
	];
}
