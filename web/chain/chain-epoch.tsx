// One epoch of the chain: its steps, who reported what, the weights beside the median, rewards and who has claimed them, every transaction, and an audit.
import type { Chain, ChainEpoch } from "../../src/api/types.ts";
import { formatCount } from "../parts/format.ts";
import { Badge, Empty, Fact, PageTitle, Panel, Shown, Table, Tile } from "../parts/small.tsx";
import { api, useLoaded } from "../shell/api.ts";
import { ChainAuditPanel } from "./chain-audit-panel.tsx";
import { type ChainProps, paidPercent, StaleNote } from "./chain-epochs.tsx";
import { PHASES, some } from "./chain-format.ts";
import { Account, Amount, ChainTime, Countdown, EpochRail, PhaseBadge } from "./chain-parts.tsx";
import { ChainTransactions } from "./chain-transactions.tsx";
import { ChainWeights } from "./chain-weights.tsx";
import { useReloadWith } from "./use-chain.ts";

export default function ChainEpochPage({ chain, skewMs, isStale, number }: ChainProps & { readonly number: number }) {
	const epoch = useLoaded(`chain epoch ${number}`, (signal) => api.getChainEpoch({ params: { number } }, { signal }));
	useReloadWith(chain, epoch.reload);
	return (
		<>
			<PageTitle
				sub={
					<>
						<a href="/epochs">All epochs</a>
						{number > 0 ? (
							<>
								{" · "}
								<a href={`/epochs/${number - 1}`}>Epoch {formatCount(number - 1)}</a>
							</>
						) : null}
						{number < (chain.epoch ?? 0) ? (
							<>
								{" · "}
								<a href={`/epochs/${number + 1}`}>Epoch {formatCount(number + 1)}</a>
							</>
						) : null}
					</>
				}
			>
				Epoch {formatCount(number)}
			</PageTitle>
			{isStale ? <StaleNote /> : null}
			<Shown of={epoch} what="the epoch">
				{(value) => <EpochView chain={chain} epoch={value} skewMs={skewMs} />}
			</Shown>
		</>
	);
}

function EpochView({ chain, epoch, skewMs }: { chain: Chain; epoch: ChainEpoch; skewMs: number }) {
	const { token } = chain;
	const isOver = epoch.phase !== "running";
	return (
		<>
			<Panel title="From running to final" aside={PHASES[epoch.phase].about}>
				<EpochRail epoch={epoch} skewMs={skewMs} />
			</Panel>
			<dl class="tiles">
				<Tile
					name="Phase"
					value={<PhaseBadge phase={epoch.phase} />}
					note={
						epoch.nextAtMs === null ? (
							<>
								ended <ChainTime atMs={epoch.endsAtMs} skewMs={skewMs} />
							</>
						) : (
							<>
								<Countdown untilMs={epoch.nextAtMs} skewMs={skewMs} /> left
							</>
						)
					}
				/>
				<Tile
					name="Reports"
					value={`${epoch.reports} of ${epoch.reportsOf.length}`}
					note={isOver ? `${stakeShare(epoch)} of the stake` : "after its end"}
				/>
				<Tile
					name="Rewards"
					value={<Amount amount={epoch.pot ?? chain.nextPot} token={token} />}
					note={epoch.pot === null ? "foreseen" : `to ${some(epoch.providers ?? 0, "provider")}`}
				/>
				<Tile
					name="Claimed"
					value={epoch.pot === null ? "–" : `${paidPercent(epoch.pot, epoch.paid).toFixed(1)} %`}
					note={
						epoch.pot === null ? (
							"nothing to claim yet"
						) : (
							<>
								<Amount amount={epoch.paid} token={token} /> in {some(epoch.claims, "claim")}
							</>
						)
					}
				/>
			</dl>
			<Reports epoch={epoch} token={token} />
			{epoch.proposal === null ? null : <Proposal epoch={epoch} proposal={epoch.proposal} skewMs={skewMs} />}
			{epoch.rejected.length === 0 ? null : <Rejected epoch={epoch} token={token} />}
			<ChainWeights chain={chain} epoch={epoch} />
			<ChainAuditPanel chain={chain} epoch={epoch} />
			<ChainTransactions chain={chain} number={epoch.number} skewMs={skewMs} />
		</>
	);
}

function stakeShare({ countedStake, totalStake }: ChainEpoch): string {
	const total = BigInt(totalStake);
	return total === 0n ? "none" : `${(Number((BigInt(countedStake) * 1000n) / total) / 10).toFixed(1)} %`;
}

const REPORT = {
	none: ["nothing yet", "none"],
	committed: ["committed", "running"],
	revealed: ["revealed", "valid"],
	voided: ["voided", "invalid"],
} as const;
const LEAVES = {
	none: <span class="dim">not here</span>,
	right: <span class="agrees">✓ give the root</span>,
	wrong: <span class="differs">✕ give another root</span>,
};

function Reports({ epoch, token }: { epoch: ChainEpoch; token: Chain["token"] }) {
	return (
		<Panel
			title="Reports"
			aside={
				epoch.phase === "running"
					? "after the epoch’s end"
					: epoch.hasQuorum
						? "✓ a quorum of the stake"
						: "no quorum yet"
			}
		>
			{epoch.reportsOf.length === 0 ? (
				<Empty title="No validator has stake">
					<code>assay stake</code> gives one a voice.
				</Empty>
			) : (
				<Table label="Reports of all validators" head={["Validator", ["Stake", "num"], "Report", "Root", "Leaves"]}>
					<tbody>
						{epoch.reportsOf.map((one) => (
							<tr key={one.account}>
								<td>
									<Account account={one.account} /> {one.isSelf ? <span class="dim">this one</span> : null}
								</td>
								<td class="num">
									<Amount amount={one.stake} token={token} />
								</td>
								<td>
									<Badge tone={REPORT[one.state][1]}>{REPORT[one.state][0]}</Badge>
								</td>
								<td>
									<Account account={one.root} />
								</td>
								<td>
									{one.root === null ? (
										<span class="dim">–</span>
									) : (
										<>
											{one.leavesPath === null || one.leaves === "none" ? null : (
												<a href={one.leavesPath} download={`epoch-${epoch.number}-report-${one.account}.json`}>
													{formatCount(one.scores ?? 0)}
												</a>
											)}{" "}
											{LEAVES[one.leaves]}
										</>
									)}
								</td>
							</tr>
						))}
					</tbody>
				</Table>
			)}
		</Panel>
	);
}

function Proposal(p: { epoch: ChainEpoch; proposal: NonNullable<ChainEpoch["proposal"]>; skewMs: number }) {
	const { epoch, proposal, skewMs } = p;
	return (
		<Panel title="Proposal" aside={epoch.phase === "final" ? "✓ final" : "open to challenge"}>
			<dl class="facts">
				<Fact name="Proposed by">
					<Account account={proposal.proposer} />
				</Fact>
				<Fact name="Providers">{formatCount(proposal.count)}</Fact>
				<Fact name={epoch.phase === "final" ? "Final since" : "Final in"}>
					<ChainTime atMs={proposal.finalAtMs} skewMs={skewMs} />
				</Fact>
				<Fact name="Claims until">
					<ChainTime atMs={epoch.claimsUntilMs} skewMs={skewMs} />
					{epoch.isSwept ? ", swept" : ""}
				</Fact>
				<Fact name="Root of all weights" isWide>
					<span class="root">{proposal.root}</span>
				</Fact>
			</dl>
		</Panel>
	);
}

function Rejected({ epoch, token }: { epoch: ChainEpoch; token: Chain["token"] }) {
	return (
		<Panel title="Rejected proposals" aside="wrong weights cost their proposer its stake">
			<ul class="chain-list">
				{epoch.rejected.map(({ proposer, digest, by, slashed, at }) => (
					<li key={digest}>
						<span class="differs">
							✕ <Account account={proposer} />
						</span>
						<span>
							shown wrong by <Account account={by} />
							{slashed === "0" ? "" : ", slashed by "}
							{slashed === "0" ? null : <Amount amount={slashed} token={token} />}
						</span>
						<span class="dim">block {formatCount(at.block)}</span>
					</li>
				))}
			</ul>
		</Panel>
	);
}
