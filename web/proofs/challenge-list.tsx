// Challenges as they run and are checked: roots as they arrive, then each opened place, right or wrong. The
// same list for a probe that runs at the validator and for a file that is verified here. Shows what it is
// told and judges nothing.
import { memo } from "preact/compat";
import { formatRate, rateUnit } from "../../src/protocol/format-number.ts";
import { formatCount } from "../parts/format.ts";
import type { LiveChallenge } from "./probe-events.ts";

export type ShownChallenge = Omit<LiveChallenge, "end">;

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
	wrong: Place | null;
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
					wrong={p.wrong?.challenge === one.challenge ? p.wrong.opening : -1}
					onPlace={p.onPlace}
				/>
			))}
		</ol>
	);
}

const ChallengeRow = memo(function ChallengeRow(p: {
	one: ShownChallenge;
	stage: string;
	wrong: number;
	onPlace: ((place: Place) => void) | undefined;
}) {
	const { one, wrong } = p;
	const { challenge, done, of, openings, checked } = one;
	const unit = { stream: "B/s", copy: "B/s", chase: "hops/s" }[one.what as string] ?? rateUnit(one.precision);
	const state =
		wrong >= 0
			? "wrong"
			: openings === null
				? done > 0
					? "running"
					: "asked"
				: checked === openings
					? "checked"
					: "opened";
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
			{openings === null ? null : (
				<div class="challenge-openings">
					<Cells challenge={challenge} of={openings} right={checked} wrong={wrong} onPlace={p.onPlace} />
					<p class="num">
						{wrong >= 0 ? (
							<span class="differs">
								✕ place {wrong + 1} of {openings} is wrong
							</span>
						) : checked === openings ? (
							<span class="agrees">
								✓ {formatCount(openings)} {openings === 1 ? "opening" : "openings"} checked
							</span>
						) : (
							`${checked === 0 ? "" : `${formatCount(checked)} of `}${formatCount(openings)} places opened`
						)}
					</p>
				</div>
			)}
		</li>
	);
});

/** More than any plan asks of one challenge: a file that says so gets no million squares. */
const MAX_CELLS = 512;

function Cells(p: {
	challenge: number;
	of: number;
	right: number;
	wrong: number;
	onPlace: ((place: Place) => void) | undefined;
}) {
	const cells = Math.min(p.of, MAX_CELLS);
	return (
		// biome-ignore lint/a11y/useKeyWithClickEvents: a short cut for the mouse; the two lists above the drawing choose the same places by keyboard.
		<div
			class={p.onPlace === undefined ? "cells" : "cells is-open"}
			role="img"
			aria-label={`${p.right} of ${p.of} openings of challenge ${p.challenge} found right${p.wrong >= 0 ? `, number ${p.wrong + 1} wrong` : ""}`}
			onClick={(event) => {
				const at = [...event.currentTarget.children].indexOf(event.target as Element);
				if (at >= 0) p.onPlace?.({ challenge: p.challenge, opening: at });
			}}
		>
			{Array.from({ length: cells }, (_, i) => (
				<i key={i} class={i === p.wrong ? "is-wrong" : i < p.right ? "is-right" : ""} />
			))}
		</div>
	);
}
