// One epoch of the chain: its steps, who reported what and who signed, the weights beside the median, what
// was earned, what was proven wrong, every transaction, and an audit.
import type { Chain, ChainEpoch } from "../../src/api/types.ts";
import { formatCount } from "../parts/format.ts";
import { Badge, Empty, Fact, PageTitle, Panel, Shown, Table, Tile } from "../parts/small.tsx";
import { api, useLoaded } from "../shell/api.ts";
import { ChainAuditPanel } from "./chain-audit-panel.tsx";
import { type ChainProps, StaleNote } from "./chain-epochs.tsx";
import { PHASES } from "./chain-format.ts";
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
	const { posted } = epoch;
	const isOver = epoch.phase !== "open";
	return (
		<>
			<Panel title="From open to final" aside={PHASES[epoch.phase].about}>
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
					note={isOver ? `${share(epoch.reportedStake, epoch.totalStake)} of the stake` : "after its end"}
				/>
				<Tile
					name="Signed by"
					value={posted === null ? "–" : share(posted.signedStake, epoch.totalStake)}
					note={`of the stake; ${percentOf(chain.params.quorumPpm)} are needed`}
				/>
				<Tile
					name="Earned"
					value={<Amount amount={epoch.earned} token={token} />}
					note={
						<>
							of at most <Amount amount={epoch.pot} token={token} />
						</>
					}
				/>
			</dl>
			<Reports epoch={epoch} token={token} />
			{posted === null ? null : <Posted chain={chain} epoch={epoch} posted={posted} skewMs={skewMs} />}
			{epoch.wrong.length + epoch.dropped.length === 0 ? null : <Wrong epoch={epoch} token={token} />}
			<ChainWeights chain={chain} epoch={epoch} />
			<ChainAuditPanel chain={chain} epoch={epoch} />
			<ChainTransactions chain={chain} number={epoch.number} skewMs={skewMs} />
		</>
	);
}

function share(part: string, whole: string): string {
	const total = BigInt(whole);
	return total === 0n ? "none" : `${(Number((BigInt(part) * 1000n) / total) / 10).toFixed(1)} %`;
}
const percentOf = (ppm: number): string => `${(ppm / 10_000).toFixed(1)} %`;

const REPORT = {
	none: ["nothing yet", "none"],
	committed: ["committed", "running"],
	revealed: ["revealed", "valid"],
} as const;
/** Once the reveals are over. */
const MISSED = { none: "none", committed: "not revealed", revealed: "revealed" } as const;
const LEAVES = {
	none: <span class="dim">not here</span>,
	right: <span class="agrees">✓ give the root</span>,
	wrong: <span class="differs">✕ give another root</span>,
};

function Reports({ epoch, token }: { epoch: ChainEpoch; token: Chain["token"] }) {
	const isLate = !["open", "commit", "reveal"].includes(epoch.phase);
	return (
		<Panel
			title="Reports"
			aside={
				epoch.phase === "open" ? "after the epoch’s end" : epoch.hasQuorum ? "✓ a quorum of the stake" : "no quorum yet"
			}
		>
			{epoch.reportsOf.length === 0 ? (
				<Empty title="No validator has stake">
					<code>assay stake</code> gives one a voice.
				</Empty>
			) : (
				<Table
					label="Reports of all validators"
					head={[["Seat", "num"], "Validator", ["Stake", "num"], "Report", "Counts", "Signed", "Root", "Leaves"]}
				>
					{epoch.reportsOf.map((one) => (
						<tr key={one.account}>
							<td class="num">{one.seat ?? <span class="dim">–</span>}</td>
							<td>
								<Account account={one.account} /> {one.isSelf ? <span class="dim">this one</span> : null}
							</td>
							<td class="num">
								<Amount amount={one.stake} token={token} />
							</td>
							<td>
								<Badge tone={REPORT[one.state][1]}>{isLate ? MISSED[one.state] : REPORT[one.state][0]}</Badge>
							</td>
							<td>
								<Mark is={one.isCounted} yes="in the set" no="left out" />
							</td>
							<td>
								<Mark is={one.hasSigned} yes="signed" no="did not" />
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
				</Table>
			)}
		</Panel>
	);
}

/** Null: there are no weights yet. */
function Mark({ is, yes, no }: { is: boolean | null; yes: string; no: string }) {
	if (is === null) return <span class="dim">–</span>;
	return is ? <span class="agrees">✓ {yes}</span> : <span class="dim">{no}</span>;
}

function Posted(p: { chain: Chain; epoch: ChainEpoch; posted: NonNullable<ChainEpoch["posted"]>; skewMs: number }) {
	const { chain, epoch, posted, skewMs } = p;
	const { weights } = posted;
	const isFinal = epoch.phase === "final";
	return (
		<Panel title="Weights" aside={isFinal ? "✓ final" : "posted; anyone may prove them wrong"}>
			<dl class="facts">
				<Fact name="Signed by">{share(posted.signedStake, epoch.totalStake)} of the stake</Fact>
				<Fact name="From reports of">{share(posted.setStake, epoch.totalStake)} of the stake</Fact>
				<Fact name="Posted">
					<ChainTime atMs={epoch.postedAtMs} skewMs={skewMs} /> by <Account account={posted.sender} />
				</Fact>
				<Fact name={isFinal ? "Final since" : "Final in"}>
					<ChainTime atMs={posted.finalAtMs} skewMs={skewMs} />
				</Fact>
				<Fact name="Accounts">{formatCount(weights.count)}</Fact>
				<Fact name="Continue">
					{epoch.base === null ? (
						"the first weights"
					) : (
						<a href={`/epochs/${epoch.base.weights.epoch}`}>Epoch {formatCount(epoch.base.weights.epoch)}</a>
					)}
				</Fact>
				<Fact name="Earned by all so far">
					<Amount amount={posted.total} token={chain.token} />
				</Fact>
				<Fact name="Id of what was signed" isWide>
					<span class="root">{posted.id}</span>
				</Fact>
				<Fact name="Root of all weights" isWide>
					<span class="root">{weights.root}</span>
				</Fact>
			</dl>
		</Panel>
	);
}

const REASON: Readonly<Record<string, string>> = {
	weight: "a weight is not the median",
	shape: "order or sums are wrong",
	earned: "a reward is not what it should be",
	total: "a total does not follow from the last one",
	set: "the set of reports is wrong",
};

function Wrong({ epoch, token }: { epoch: ChainEpoch; token: Chain["token"] }) {
	return (
		<Panel title="Proven wrong" aside="who signs wrong weights loses stake">
			<ul class="chain-list">
				{epoch.wrong.map(({ id, reason, isPosted, by, punished, at }) => (
					<li key={id}>
						<span class="differs">
							✕ <Account account={id} />
							{isPosted ? "" : ", signed and not posted"}
						</span>
						<span>
							{REASON[reason] ?? "proven wrong"}, shown by <Account account={by} />
							{punished.map(({ account, amount }) => (
								<span key={account}>
									; <Account account={account} /> lost <Amount amount={amount} token={token} />
								</span>
							))}
						</span>
						<span class="dim">block {formatCount(at.block)}</span>
					</li>
				))}
				{epoch.dropped
					.filter(({ id }) => !epoch.wrong.some((one) => one.id === id))
					.map(({ id, at }) => (
						<li key={id}>
							<span class="differs">
								✕ <Account account={id} />
							</span>
							<span>dropped: it continued weights that were proven wrong</span>
							<span class="dim">block {formatCount(at.block)}</span>
						</li>
					))}
			</ul>
		</Panel>
	);
}
