// The chain at a glance: where it is, which epoch, whose stake, what is paid next. On the overview and above
// the epochs.
import type { Chain } from "../../src/api/types.ts";
import { formatCount } from "../parts/format.ts";
import { Tile } from "../parts/small.tsx";
import { PHASES } from "./chain-format.ts";
import { Account, Amount, ChainTime, Countdown } from "./chain-parts.tsx";

export function ChainTiles({ chain, skewMs }: { chain: Chain; skewMs: number }) {
	const running = chain.inFlight.find(({ phase }) => phase === "open");
	const settling = chain.inFlight.filter(({ phase }) => phase !== "open");
	const oldest = settling.at(-1);
	return (
		<dl class="tiles by-four" data-head={chain.head.number}>
			<Tile
				name={chain.isEmbedded ? "Embedded chain" : "Chain"}
				value={<span class="num chain-id">{chain.chainId}</span>}
				note={
					<>
						block {formatCount(chain.head.number)}, <ChainTime atMs={chain.head.atMs} skewMs={skewMs} />
					</>
				}
			/>
			<Tile
				name="Epoch on chain"
				value={
					chain.epoch === null ? (
						"–"
					) : (
						<>
							<a href={`/epochs/${chain.epoch}`}>{formatCount(chain.epoch)}</a>{" "}
							{running === undefined ? null : (
								<span class="unit">
									<Countdown untilMs={running.endsAtMs} skewMs={skewMs} /> left
								</span>
							)}
						</>
					)
				}
				note={
					oldest === undefined ? (
						PHASES.open.about
					) : (
						<>
							epoch {formatCount(oldest.number)}: {PHASES[oldest.phase].word}
							{oldest.nextAtMs === null ? null : (
								<>
									, <Countdown untilMs={oldest.nextAtMs} skewMs={skewMs} /> left
								</>
							)}
						</>
					)
				}
			/>
			<Tile
				name="Stake of this validator"
				value={<Amount amount={chain.validator.stake} token={chain.token} />}
				note={
					chain.validator.isValidator ? (
						<>
							<Account account={chain.validator.account} />, {stakeShare(chain)} of all
						</>
					) : (
						<span class="unsure">not staked: its scores do not count</span>
					)
				}
			/>
			<Tile
				name="This epoch pays"
				value={<Amount amount={chain.nextPot} token={chain.token} />}
				note={
					<>
						at most; <Amount amount={chain.reserve} token={chain.token} /> in reserve
					</>
				}
			/>
		</dl>
	);
}

function stakeShare({ validator, totalStake }: Chain): string {
	const total = BigInt(totalStake);
	return total === 0n ? "–" : `${Number((BigInt(validator.stake) * 1000n) / total) / 10} %`;
}
