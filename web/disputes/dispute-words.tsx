// Both sides' words in a dispute: what was asked, by which road, and what came back; and the games on the
// chain with their clocks, deposits and gas. Questions on the chain are anybody's bytes: what cannot be read
// is said to be so.
import type { Dispute } from "../../src/api/types.ts";
import { shortAmount } from "../chain/chain-format.ts";
import { formatCount, formatLeft } from "../parts/format.ts";
import { Badge, Empty, IdCell, Panel, Table, Time } from "../parts/small.tsx";
import { useNow } from "../shell/api.ts";
import { type AskedPlace, chainPlace, placeText, relayedPlace } from "./dispute-way.ts";

type OnChain = NonNullable<Dispute["chain"]>;
type Game = OnChain["games"][number];

interface Word {
	readonly atMs: number | null;
	readonly road: "relay" | "chain";
	readonly place: AskedPlace | null;
	/** Null: none came yet, or never. */
	readonly bytes: number | null;
	/** Of both transactions. */
	readonly gas: number | null;
}

/**
 * In the order in which they were asked; those on the chain come after, since what is answered by relay is
 * not asked there.
 */
export function wordsOf({ relayed, chain }: Pick<Dispute, "relayed" | "chain">): Word[] {
	const off = relayed.map(
		({ atMs, question, bytes }): Word => ({ atMs, road: "relay", place: relayedPlace(question), bytes, gas: null }),
	);
	const on = (chain?.games ?? []).flatMap(({ rounds }) =>
		rounds.map(({ question, answer, askedIn, answeredIn }): Word => {
			const used = (one: string | null) => (one === null ? 0 : (chain?.gas[one] ?? 0));
			return {
				...{ atMs: null, road: "chain", place: chainPlace(question) },
				...{ bytes: answer === null ? null : answer.length / 2 - 1, gas: used(askedIn) + used(answeredIn) },
			};
		}),
	);
	return [...off, ...on];
}

export function WordsPanel({ words }: { words: readonly Word[] }) {
	const head = ["Asked", "Answered", "By", ["Gas", "num"], ["When", "num"]] as const;
	return (
		<Panel
			title="Both sides’ words"
			aside="what the accused says to a first question binds it; of those by relay, what came since the validator last started"
		>
			{words.length === 0 ? (
				<Empty title="Nobody has asked anything yet">Questions appear here as they are asked.</Empty>
			) : (
				<Table label="Questions and answers" head={head}>
					{words.map(({ atMs, road, place, bytes, gas }, i) => (
						<tr key={i}>
							<td>{place === null ? <span class="dim">not a question that can be read</span> : placeText(place)}</td>
							<td>{bytes === null ? <Badge tone="inconclusive">no answer</Badge> : `${formatCount(bytes)} bytes`}</td>
							<td>{road === "relay" ? "relay" : "chain"}</td>
							<td class="num">{gas === null ? "–" : formatCount(gas)}</td>
							<td class="num">{atMs === null ? "–" : <Time atMs={atMs} />}</td>
						</tr>
					))}
				</Table>
			)}
		</Panel>
	);
}

/** Coins and tokens have 18 places. */
export const formatUnits = (decimal: string): string => shortAmount(decimal, 18);

function Clock({ game, skewS, isOver }: { game: Game; skewS: number; isOver: boolean }) {
	const nowS = useNow(1000) / 1000 + skewS;
	if (isOver || game.isClosed) return <Badge tone="abandoned">over</Badge>;
	const { deadlineS, untilS } = game;
	const endS = deadlineS ?? untilS;
	const left = formatLeft(1000 * (endS - nowS));
	return (
		<>
			<Badge tone={deadlineS === null ? "running" : "inconclusive"}>
				{deadlineS === null ? "the accuser’s turn" : "the accused’s turn"}
			</Badge>{" "}
			<span class="num" role="timer">
				{endS < nowS ? "past its clock" : `${left} left`}
			</span>
		</>
	);
}

export function GamesPanel({ chain }: { chain: OnChain }) {
	const { games, gas, clocks, nowS, conviction } = chain;
	const skewS = nowS - Date.now() / 1000;
	const head = ["Accuser", "Turn", ["Questions", "num"], ["Deposits, coins", "num"], ["Gas", "num"]] as const;
	return (
		<Panel
			title="Games on the chain"
			aside={`a question has ${formatLeft(1000 * clocks.questionSeconds)}, a trace ${formatLeft(1000 * clocks.traceSeconds)}, a game ${formatLeft(1000 * clocks.gameSeconds)}`}
		>
			{games.length === 0 ? (
				<Empty title="No game was needed">Whoever answers by the relay is not asked on the chain.</Empty>
			) : (
				<Table label="Games on the chain" head={head}>
					{games.map((game) => (
						<tr key={game.accuser}>
							<IdCell id={game.accuser} />
							<td>
								<Clock game={game} skewS={skewS} isOver={conviction !== null} />
							</td>
							<td class="num">
								{game.rounds.filter(({ answer }) => answer !== null).length} of {game.rounds.length} answered
							</td>
							<td class="num">{formatUnits(game.deposits)}</td>
							<td class="num">{formatCount(gasOf(game, gas))}</td>
						</tr>
					))}
				</Table>
			)}
		</Panel>
	);
}

const gasOf = ({ rounds }: Game, gas: OnChain["gas"]): number =>
	rounds.reduce(
		(sum, { askedIn, answeredIn }) => sum + (gas[askedIn] ?? 0) + (answeredIn === null ? 0 : (gas[answeredIn] ?? 0)),
		0,
	);

export const gasOfAll = ({ gas }: Pick<OnChain, "gas">): number =>
	Object.values(gas).reduce((sum, one) => sum + one, 0);
