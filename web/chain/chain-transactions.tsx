// What was sent to the contracts for an epoch: what, by whom, in which block, at what cost.
import type { Chain, ChainTransaction } from "../../src/api/types.ts";
import { formatCount } from "../parts/format.ts";
import { Empty, Failed, Loading, Panel } from "../parts/small.tsx";
import { WindowedTable } from "../parts/windowed-table.tsx";
import { api } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";
import { Account, Amount, ChainTime } from "./chain-parts.tsx";
import { useReloadWith } from "./use-chain.ts";

const WHAT: Readonly<Record<ChainTransaction["what"], string>> = {
	commit: "committed to a report",
	reveal: "revealed its root",
	vote: "voted: withheld",
	void: "report voided",
	propose: "proposed weights",
	reject: "proposal rejected",
	claim: "claimed a reward",
	"carry-over": "carried over",
	fraud: "two reports proven",
};

export function ChainTransactions({ chain, number, skewMs }: { chain: Chain; number: number; skewMs: number }) {
	const sent = usePaged(`transactions ${number}`, (cursor, signal) =>
		api.listChainTransactions(
			{ params: { number }, query: cursor === undefined ? { limit: 50 } : { limit: 50, cursor } },
			{ signal },
		),
	);
	useReloadWith(chain, sent.reload);
	return (
		<Panel title="Transactions" aside="to the contracts, newest first">
			{sent.trouble !== null && sent.rows.length === 0 ? (
				<Failed trouble={sent.trouble} again={sent.reload} />
			) : sent.isFirst ? (
				<Loading what="transactions" />
			) : sent.rows.length === 0 ? (
				<Empty title="Nothing was sent for this epoch yet" />
			) : (
				<WindowedTable
					label="Transactions, newest first"
					rows={sent.rows}
					rowKey={(row) => `${row.hash} ${row.logIndex}`}
					hasMore={sent.hasMore}
					onNearEnd={sent.more}
					columns={[
						{
							key: "what",
							widthRem: 11,
							narrowRem: 9.5,
							title: "What",
							cell: (row) => (row.isPaid ? "claimed, collected" : WHAT[row.what]),
						},
						{
							key: "about",
							widthRem: 8.5,
							isMinor: true,
							title: "Who",
							cell: (row) => (row.about === null ? <span class="dim">–</span> : <Account account={row.about} />),
						},
						{
							key: "amount",
							widthRem: 8,
							title: "Amount",
							isNumber: true,
							isMinor: true,
							cell: (row) =>
								row.amount === null ? <span class="dim">–</span> : <Amount amount={row.amount} token={chain.token} />,
						},
						{
							key: "block",
							widthRem: 4,
							narrowRem: 3,
							title: "Block",
							isNumber: true,
							cell: (row) => formatCount(row.block),
						},
						{
							key: "gas",
							widthRem: 5,
							title: "Gas",
							isNumber: true,
							isMinor: true,
							cell: (row) => (row.gasUsed === null ? "–" : formatCount(row.gasUsed)),
						},
						{
							key: "at",
							widthRem: 6,
							narrowRem: 5,
							title: "When",
							isNumber: true,
							cell: (row) => <ChainTime atMs={row.atMs} skewMs={skewMs} />,
						},
						{
							key: "hash",
							widthRem: 8.5,
							title: "Transaction",
							isMinor: true,
							cell: (row) => <Account account={row.hash} />,
						},
					]}
				/>
			)}
		</Panel>
	);
}
