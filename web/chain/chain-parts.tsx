// Small parts of the chain's pages: amounts, accounts, times on the chain's clock, phases, and an epoch's way
// from open to final.
import type { Chain, ChainPhase } from "../../src/api/types.ts";
import { formatCount } from "../parts/format.ts";
import { Badge, exactTime, Time } from "../parts/small.tsx";
import { countdown, exactAmount, PHASES, shortAccount, shortAmount } from "./chain-format.ts";
import { useChainNow } from "./use-chain.ts";

/** Null: there is none. */
export function Amount({ amount, token }: { amount: string | null; token: Chain["token"] }) {
	if (amount === null) return <span class="dim">–</span>;
	return (
		<span class="amount" title={`${exactAmount(amount, token.decimals)} ${token.symbol}`}>
			{shortAmount(amount, token.decimals)} <span class="unit">{token.symbol}</span>
		</span>
	);
}

/** An account, or any other long hex; null: there is none. */
export function Account({ account }: { account: string | null }) {
	if (account === null) return <span class="dim">–</span>;
	return (
		<code class="id" title={account}>
			{shortAccount(account)}
		</code>
	);
}

/** Relative to the validator's clock: a visitor's may be wrong. */
export const ChainTime = (p: { atMs: number | null; skewMs: number }) => <Time {...p} never="–" />;

export function Countdown({ untilMs, skewMs }: { untilMs: number; skewMs: number }) {
	const nowMs = useChainNow(skewMs);
	return (
		<time class="countdown" dateTime={new Date(untilMs).toISOString()} title={exactTime(untilMs)}>
			{countdown(untilMs - nowMs)}
		</time>
	);
}

export function PhaseBadge({ phase }: { phase: ChainPhase }) {
	const { word, tone, about } = PHASES[phase];
	return (
		<Badge tone={tone} title={about}>
			<span>{word}</span>
		</Badge>
	);
}

type EpochTimes = Chain["inFlight"][number];

const STEPS = ["open", "commit", "reveal", "sign", "challenge", "final"] as const;
const STEP_OF: Readonly<Record<ChainPhase, number>> = {
	open: 0,
	commit: 1,
	reveal: 2,
	sign: 3,
	challenge: 4,
	final: 5,
	lapsed: 5,
};

/** The way of an epoch, step by step; the step of now fills with time. */
export function EpochRail({ epoch, skewMs }: { epoch: EpochTimes; skewMs: number }) {
	const nowMs = useChainNow(skewMs);
	const now = STEP_OF[epoch.phase];
	const { startsAtMs, endsAtMs, revealsAtMs, signsAtMs, signsUntilMs, postedAtMs, finalAtMs } = epoch;
	const begins = [startsAtMs, endsAtMs, revealsAtMs, signsAtMs, postedAtMs];
	const ends = [endsAtMs, revealsAtMs, signsAtMs, signsUntilMs, finalAtMs];
	return (
		<ol class="rail" aria-label={`Epoch ${epoch.number}, step by step`}>
			{STEPS.map((step, i) => {
				const isLast = i === STEPS.length - 1;
				const isNow = i === now && !isLast;
				const isDone = i < now || (isLast && epoch.phase === "final");
				const [from, until] = [begins[i] ?? 0, ends[i] ?? null];
				const share =
					isNow && until !== null && until > from ? Math.min(1, Math.max(0, (nowMs - from) / (until - from))) : 0;
				const state = isDone ? "done" : isNow ? "now" : "next";
				const shown = isLast && epoch.phase === "lapsed" ? "lapsed" : isNow ? epoch.phase : step;
				return (
					<li key={step} class={`rail-step is-${state} is-${shown}`} aria-current={isNow ? "step" : undefined}>
						<span class="rail-bar" aria-hidden="true">
							<span class="rail-fill" style={{ width: `${isDone ? 100 : share * 100}%` }} />
						</span>
						<span class="rail-word" title={PHASES[shown].about}>
							{PHASES[shown].word}
							<span class="hidden">{isDone ? ", done" : isNow ? ", now" : ""}</span>
						</span>
						<span class="rail-time">
							{isNow && until !== null && nowMs < until ? (
								<>
									<Countdown untilMs={until} skewMs={skewMs} /> left
								</>
							) : isNow ? (
								"any moment"
							) : isLast && epoch.phase === "final" ? (
								<ChainTime atMs={epoch.finalAtMs} skewMs={skewMs} />
							) : null}
						</span>
					</li>
				);
			})}
		</ol>
	);
}

/** Epochs on their way, each with its windows. */
export function EpochsInFlight({ epochs, skewMs }: { epochs: readonly EpochTimes[]; skewMs: number }) {
	return (
		<ol class="flight">
			{epochs.map((one) => (
				<li key={one.number}>
					<a class="flight-name" href={`/epochs/${one.number}`}>
						Epoch {formatCount(one.number)}
					</a>
					<EpochRail epoch={one} skewMs={skewMs} />
				</li>
			))}
		</ol>
	);
}
