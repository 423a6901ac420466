// Challenges as they run and are checked: roots as they arrive, then each spot check, right or wrong. The
// same list for a probe that runs at the validator and for a file that is verified here. Shows what it is
// told and judges nothing.
import { memo } from "preact/compat";
import { formatRate, rateUnit } from "../../src/protocol/format-number.ts";
import { formatCount } from "../parts/format.ts";
import { type ChallengeState, challengeState, type LiveChallenge, type WrongCheck } from "./probe-events.ts";

export type ShownChallenge = Omit<LiveChallenge, "end">;

/** An opened place of a challenge. */
export interface Place {
	readonly challenge: number;
	readonly opening: number;
}

const WORDS: Readonly<Record<string, string>> = {
	gemm: "matrix products",
	fma: "scalar chains",
	stream: "stream of kept products",
	copy: "copy of kept products",
};

function challengeTitle({ what, precision }: Pick<ShownChallenge, "what" | "precision">): string {
	return `${precision} ${WORDS[what] ?? what}`.trim();
}

export function ChallengeList(p: {
	challenges: readonly ShownChallenge[];
	/** By the number of the stage. */
	stageNames?: ReadonlyMap<number, string>;
	/** Its status; null: there is none yet. */
	verdict: string | null;
	wrong: WrongCheck | null;
	/** An opened place was clicked; those who use the keyboard have the lists under the drawing. */
	onPlace?: (place: Place) => void;
}) {
	return (
		<ol class="challenges" aria-label="Challenges">
			{p.challenges.map((one, i) => (
				<ChallengeRow
					key={one.challenge}
					one={one}
					stage={one.stage === p.challenges[i - 1]?.stage ? "" : (p.stageNames?.get(one.stage) ?? "")}
					verdict={p.verdict}
					wrong={p.wrong?.challenge === one.challenge ? p.wrong : null}
					onPlace={p.onPlace}
				/>
			))}
		</ol>
	);
}

const ChallengeRow = memo(function ChallengeRow(p: {
	one: ShownChallenge;
	stage: string;
	verdict: string | null;
	wrong: WrongCheck | null;
	onPlace: ((place: Place) => void) | undefined;
}) {
	const { one } = p;
	const { challenge, done, of, openings, checks, checked } = one;
	const unit = { stream: "B/s", copy: "B/s", chase: "hops/s" }[one.what as string] ?? rateUnit(one.precision);
	const state = challengeState(one, p.verdict, p.wrong);
	const wrong = p.wrong?.check ?? -1;
	return (
		<li class={`challenge is-${state}`} data-challenge={challenge} data-state={state}>
			{p.stage === "" ? null : <p class="challenge-stage">{p.stage}</p>}
			<p class="challenge-name">
				<span class="challenge-number">{challenge}</span> {challengeTitle(one)}{" "}
				<span class="dim">on device {one.device}</span>
			</p>
			<p class="challenge-told">
				<progress
					aria-label={`Roots of challenge ${challenge}`}
					max={Math.max(1, of)}
					value={of === 0 ? (openings === null ? 0 : 1) : Math.min(done, of)}
				/>
				<span class="num">
					{formatCount(done)}
					{of === 0 ? "" : ` of ${formatCount(of)}`} {of === 1 || (of === 0 && done === 1) ? "root" : "roots"}
				</span>
				<span class="num dim">{one.perS > 0 ? formatRate(one.perS, unit) : ""}</span>
			</p>
			{openings === null && state !== "wrong" ? null : (
				<div class="challenge-openings">
					{checks === null ? null : (
						<Cells
							challenge={challenge}
							of={checks}
							right={state === "checked" ? checks : checked}
							wrong={wrong}
							perCheck={(openings ?? checks) / Math.max(1, checks)}
							onPlace={p.onPlace}
						/>
					)}
					<p class="num">
						<ToldOf one={one} state={state} wrong={wrong} isOver={p.verdict !== null} />
					</p>
				</div>
			)}
		</li>
	);
});

const counted = (count: number, one: string) => `${formatCount(count)} ${one}${count === 1 ? "" : "s"}`;

/** How far the spot checks have come, in words. */
function ToldOf(p: { one: ShownChallenge; state: ChallengeState; wrong: number; isOver: boolean }) {
	const { openings, checks, checked } = p.one;
	if (p.state === "wrong")
		return (
			<span class="differs">
				{p.wrong < 0 || checks === null
					? "✕ this challenge is wrong"
					: `✕ spot check ${formatCount(p.wrong + 1)} of ${formatCount(checks)} is wrong`}
			</span>
		);
	if (p.state === "checked")
		return (
			<span class="agrees">
				✓ {checks === null ? `${counted(openings ?? 0, "place")} opened, all` : counted(checks, "spot check")} right
			</span>
		);
	if (checks !== null && checked > 0) return <>{`${formatCount(checked)} of ${counted(checks, "spot check")} right`}</>;
	return <>{`${counted(openings ?? 0, "place")} opened${p.isOver ? ", not checked" : ""}`}</>;
}

/** More than any plan asks of one challenge: a file that says so gets no million squares. */
const MAX_CELLS = 512;

function Cells(p: {
	challenge: number;
	of: number;
	right: number;
	wrong: number;
	/** Opened places of one spot check, in the first opening. */
	perCheck: number;
	onPlace: ((place: Place) => void) | undefined;
}) {
	const cells = Math.min(p.of, MAX_CELLS);
	return (
		// biome-ignore lint/a11y/useKeyWithClickEvents: a short cut for the mouse; the two lists above the drawing choose the same places by keyboard.
		<div
			class={p.onPlace === undefined ? "cells" : "cells is-open"}
			role="img"
			aria-label={`${p.right} of ${p.of} spot checks of challenge ${p.challenge} found right${p.wrong >= 0 ? `, number ${p.wrong + 1} wrong` : ""}`}
			onClick={(event) => {
				const at = [...event.currentTarget.children].indexOf(event.target as Element);
				if (at >= 0) p.onPlace?.({ challenge: p.challenge, opening: Math.floor(at * p.perCheck) });
			}}
		>
			{Array.from({ length: cells }, (_, i) => (
				<i key={i} class={i === p.wrong ? "is-wrong" : i < p.right ? "is-right" : ""} />
			))}
		</div>
	);
}
