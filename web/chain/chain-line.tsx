// The chain in one line, for the overview: where it is, which epoch, what it pays. Nothing where there is no
// chain; where its node is silent, that.
import { formatCount } from "../parts/format.ts";
import type { Loaded } from "../shell/api.ts";
import { PHASES } from "./chain-format.ts";
import { Amount, Countdown } from "./chain-parts.tsx";
import type { FollowedChain } from "./use-chain.ts";

/** A node that misses a block for a moment is an ordinary one. */
const SHOWN_MS = 60_000;

export function ChainLine({ chain: { value, trouble, reload } }: { chain: Loaded<FollowedChain> }) {
	if (value === null)
		return trouble === null ? null : (
			<p class="chain-line is-inconclusive" role="alert">
				<strong>Chain</strong> <span>{trouble.detail}</span> <code>{trouble.code}</code>
				<button type="button" class="small" onClick={reload}>
					Try again
				</button>
			</p>
		);
	const { chain, skewMs } = value;
	if (chain === null) return null;
	const running = chain.inFlight.find(({ phase }) => phase === "open");
	const settling = chain.inFlight.find(({ phase }) => phase !== "open");
	return (
		<p class="chain-line" data-head={chain.head.number}>
			<strong>{chain.isEmbedded ? "Embedded chain" : "Chain"}</strong>
			<span class="num">
				{chain.chainId}, block {formatCount(chain.head.number)}
			</span>
			{running === undefined ? null : (
				<span>
					<a href={`/epochs/${running.number}`}>Epoch {formatCount(running.number)}</a>{" "}
					<span class="dim">
						ends in <Countdown untilMs={running.endsAtMs} skewMs={skewMs} />
					</span>
				</span>
			)}
			{settling === undefined ? null : (
				<span>
					<a href={`/epochs/${settling.number}`}>Epoch {formatCount(settling.number)}</a>{" "}
					<span class="dim">{PHASES[settling.phase].word}</span>
				</span>
			)}
			<span>
				{formatCount(chain.validators)} {chain.validators === 1 ? "validator" : "validators"}
			</span>
			<span>
				pays up to <Amount amount={chain.nextPot} token={chain.token} /> an epoch
			</span>
			<span class="grow" />
			{trouble !== null ? (
				<span class="unsure">⚠ its node does not answer</span>
			) : chain.behindSinceMs !== null && chain.nowMs - chain.behindSinceMs > SHOWN_MS ? (
				<span class="unsure">
					⚠ its node is behind <code>CHAIN_BEHIND</code>
				</span>
			) : (
				<a href="/epochs">All epochs</a>
			)}
		</p>
	);
}
