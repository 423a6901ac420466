// What was sent to the contracts for an epoch: what, by whom, in which block, at what cost.
import type { Chain, ChainTransaction } from "../../src/api/types.ts";
import { formatCount } from "../parts/format.ts";
import { Empty, Panel } from "../parts/small.tsx";
import { type Column, column, PagedTable } from "../parts/windowed-table.tsx";
import { api } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";
import { Account, Amount, ChainTime } from "./chain-parts.tsx";
import { useReloadWith } from "./use-chain.ts";

const WHAT: Readonly<Record<ChainTransaction["what"], string>> = {
	commit: "committed to a report",
	reveal: "revealed its root",
	post: "posted weights",
	wrong: "proven wrong",
	drop: "weights dropped",
	punish: "signer punished",
};

export function ChainTransactions({ chain, number, skewMs }: { chain: Chain; number: number; skewMs: number }) {
	const sent = usePaged(`transactions ${number}`, (page, signal) =>
		api.listChainTransactions({ params: { number }, query: { limit: 50, ...page } }, { signal }),
	);
	useReloadWith(chain, sent.reload);
	return (
		<Panel title="Transactions" aside="to the contracts, newest first">
			<PagedTable
				of={sent}
				what="transactions"
				keepsRows
				empty={<Empty title="Nothing was sent for this epoch yet" />}
				label="Transactions, newest first"
				rowKey={(row) => `${row.hash} ${row.logIndex}`}
				columns={columnsOf(chain.token, skewMs)}
			/>
		</Panel>
	);
}

function columnsOf(token: Chain["token"], skewMs: number): Column<ChainTransaction>[] {
	return [
		column("what", "What", 11, (row) => WHAT[row.what], { narrowRem: 9.5 }),
		column("about", "Who", 8.5, (row) => <Account account={row.about} />, { isMinor: true }),
		column("amount", "Amount", 8, (row) => <Amount amount={row.amount} token={token} />, {
			isNumber: true,
			isMinor: true,
		}),
		column("block", "Block", 4, (row) => formatCount(row.block), { isNumber: true, narrowRem: 3 }),
		column("gas", "Gas", 5, (row) => (row.gasUsed === null ? "–" : formatCount(row.gasUsed)), {
			isNumber: true,
			isMinor: true,
		}),
		column("at", "When", 6, (row) => <ChainTime atMs={row.atMs} skewMs={skewMs} />, {
			isNumber: true,
			narrowRem: 5,
		}),
		column("hash", "Transaction", 8.5, (row) => <Account account={row.hash} />, { isMinor: true }),
	];
}
