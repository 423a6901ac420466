// What each validator said of each provider beside the median, the weight on chain, what it earned, what it
// has earned so far and what of that is paid.
import { useMemo, useState } from "preact/hooks";
import type { Chain, ChainEpoch, ChainWeight } from "../../src/api/types.ts";
import { formatScore, shortId } from "../parts/format.ts";
import { Empty, Panel } from "../parts/small.tsx";
import { type Column, column, PagedTable } from "../parts/windowed-table.tsx";
import { AttestedBadge } from "../proofs/attested.tsx";
import { api } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";
import { shortAccount } from "./chain-format.ts";
import { Account, Amount } from "./chain-parts.tsx";

export function ChainWeights({ chain, epoch }: { chain: Chain; epoch: ChainEpoch }) {
	const [validators, setValidators] = useState<readonly string[]>([]);
	// Whatever changes what stands in the table.
	const key = `${epoch.number} ${epoch.reports} ${epoch.posted?.id ?? ""} ${chain.claimed} ${epoch.phase}`;
	const weights = usePaged(key, async (page, signal) => {
		const asked = { params: { number: epoch.number }, query: { limit: 200, ...page } };
		const found = await api.listChainWeights(asked, { signal });
		setValidators(found.validators);
		return found;
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
		<Panel title="Weights and rewards" aside="each validator’s score, the stake-weighted median, and what each earns">
			<PagedTable
				of={weights}
				what="weights"
				keepsRows
				empty={
					<Empty title="No weights yet">
						{epoch.reports === 0
							? "They are there when validators have revealed what they saw."
							: "Nobody has a score above 0, or the leaves are not here."}
					</Empty>
				}
				label="Weights and rewards of all accounts"
				rowKey={(row) => row.account}
				columns={columns}
			/>
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
	const none = <span class="dim">–</span>;
	const score = (value: number | null) => (value === null ? none : formatScore(value));
	const minor = { isNumber: true, isMinor: true };
	return [
		column("provider", "Account", 14, providerCell, { narrowRem: 4.2 }),
		...validators.map((validator, i) =>
			column<ChainWeight>(
				validator,
				validator === own ? "This validator" : shortAccount(validator),
				7,
				(row) => score(row.scores[i] ?? null),
				minor,
			),
		),
		column("median", "Median", 4.5, (row) => score(row.isValidator ? null : row.medianPpm), minor),
		column(
			"weight",
			"Weight",
			9,
			(row) =>
				row.weightPpm === null || row.isValidator ? (
					none
				) : (
					<span class="weight">
						<meter min={0} max={greatest} value={row.weightPpm} aria-hidden="true" />
						<span>{formatScore(row.weightPpm)}</span>
					</span>
				),
			{ isNumber: true, narrowRem: 3.4 },
		),
		column("earned", "Earned", 8, (row) => <Amount amount={row.earned} token={token} />, {
			isNumber: true,
			narrowRem: 5.4,
		}),
		column("total", "So far", 8, (row) => <Amount amount={row.total} token={token} />, minor),
		column("claimed", "Paid", 5.5, (row) => <Paid row={row} isFinal={isFinal} />, { narrowRem: 4.9 }),
	];
}

const providerCell = ({ providerId, name, account, isValidator, attestation }: ChainWeight) => (
	<>
		{isValidator ? <span class="dim">validator </span> : null}
		{providerId === null ? null : <a href={`/providers/${providerId}`}>{name || shortId(providerId)}</a>}{" "}
		<AttestedBadge of={attestation} />{" "}
		<span class={providerId === null ? "" : "dim minor"}>
			<Account account={account} />
		</span>
	</>
);

function Paid({ row: { claimed, total }, isFinal }: { row: ChainWeight; isFinal: boolean }) {
	if (total === null || total === "0") return <span class="dim">–</span>;
	if (BigInt(claimed) >= BigInt(total)) return <span class="agrees">✓ all paid</span>;
	return <span class="dim">{!isFinal ? "when final" : claimed === "0" ? "not yet" : "part of it"}</span>;
}
