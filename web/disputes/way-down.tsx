// The way from a whole run to one number, as strips that narrow: of each only the marked slice is looked
// into, by the next. Beside each its words, so that nothing rests on the drawing.
import type { WayStop } from "../../src/verify/optimistic/fraud/explain-fraud.ts";
import { formatCount } from "../parts/format.ts";

const NAMES: Readonly<Record<WayStop["name"], string>> = {
	segment: "Segment",
	step: "Step",
	operator: "Operator",
	leaf: "Leaf",
	element: "Element",
	operand: "Operand",
	tensor: "Tensor",
};
/** Those that every dispute about an element goes through. */
const USUAL: readonly WayStop["name"][] = ["segment", "step", "operator", "leaf", "element"];
const WIDTH = 400;
const [TOP, DEEP] = [14, 34];
/** Narrower slices could not be seen. */
const LEAST = 7;

/** Where the slice lies; in the middle where nobody knows of how many. */
function sliceOf({ at, of, first }: WayStop): readonly [from: number, to: number] {
	if (of === null || of < 1) return [WIDTH * 0.44, WIDTH * 0.56];
	const size = Math.max(LEAST, WIDTH / of);
	const from = Math.min(WIDTH - size, Math.max(0, ((at - first + 0.5) / of) * WIDTH - size / 2));
	return [from, from + size];
}

function Strip({ stop, isLast, isFound }: { stop: WayStop | null; isLast: boolean; isFound: boolean }) {
	const slice = stop === null ? null : sliceOf(stop);
	return (
		<svg class="way-strip" viewBox={`0 0 ${WIDTH} ${DEEP}`} preserveAspectRatio="none" aria-hidden="true">
			<rect x="0" y="0" width={WIDTH} height={TOP} class={slice === null ? "strip is-unknown" : "strip"} />
			{slice === null ? null : (
				<>
					<rect
						x={slice[0]}
						y="0"
						width={slice[1] - slice[0]}
						height={TOP}
						class={isLast && isFound ? "slice is-last" : "slice"}
					/>
					{isLast ? null : (
						<path d={`M${slice[0]} ${TOP}L${slice[1]} ${TOP}L${WIDTH} ${DEEP}L0 ${DEEP}Z`} class="beam" />
					)}
				</>
			)}
		</svg>
	);
}

function StopText({ stop }: { stop: WayStop }) {
	const { name, at, of, first, what } = stop;
	// Everything is counted from 0, as `assay verify` and the files do.
	const range =
		of === null || of < 1 ? "" : of === 1 ? "the only one" : `in ${formatCount(first)}–${formatCount(first + of - 1)}`;
	return (
		<>
			<strong class="num">{formatCount(at)}</strong>
			{range === "" ? null : <span class="dim"> {range}</span>}
			{what === "" || (name === "segment" && what === "step") ? null : <span class="way-what"> {what}</span>}
		</>
	);
}

/** `isOver`: no further stop will come. */
export function WayDown({ way, isOver }: { way: readonly WayStop[]; isOver: boolean }) {
	const waiting = isOver ? [] : USUAL.filter((name) => !way.some((stop) => stop.name === name));
	return (
		<ol class="way" aria-label="The way down">
			{way.map((stop, i) => (
				<li key={stop.name} data-stop={stop.name} data-at={stop.at}>
					<span class="way-name">{NAMES[stop.name]}</span>
					<Strip stop={stop} isLast={i === way.length - 1} isFound={isOver} />
					<span class="way-text">
						<StopText stop={stop} />
					</span>
				</li>
			))}
			{waiting.map((name) => (
				<li key={name} class="is-waiting">
					<span class="way-name">{NAMES[name]}</span>
					<Strip stop={null} isLast isFound={false} />
					<span class="way-text dim">not asked yet</span>
				</li>
			))}
		</ol>
	);
}
