// The ops of one phase as a graph: boxes with shape, interval and share of the work, lines from what is read
// to what reads it. Only what is in view is in the document. By keyboard: arrows go from box to box, Enter
// chooses. What is chosen is told beside it by op-detail.tsx; the same as a list is op-list.tsx.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { OpLine } from "../../src/work/program/describe-program.ts";
import { type Layout, layOutOps, type PlacedOp, stepFrom } from "./lay-out-ops.ts";

/** Where an op is that only one of two programs has. */
export type Mark = "first" | "second";

const [BOX_PX, ROW_PX, BOX_HEIGHT_PX, LEAST_BOX_PX] = [190, 100, 68, 150];
const MOST_COLUMNS = 5;
/** Lines over more rows than these are drawn for the chosen op alone. */
const LONG = 2;
const MARKS = { first: "− ", second: "+ " } as const;
const MARK_WORDS = { first: ", only in the first", second: ", only in the second" } as const;

export const shareText = (share: number): string =>
	share === 0 ? "0 %" : share < 0.001 ? "< 0.1 %" : `${(100 * share).toFixed(1)} %`;

interface View {
	readonly widthPx: number;
	readonly heightPx: number;
	readonly topPx: number;
}

/** What of the box is in view, again when it scrolls or changes. */
function useView() {
	const element = useRef<HTMLDivElement>(null);
	const [view, setView] = useState<View>({ widthPx: 0, heightPx: 600, topPx: 0 });
	useEffect(() => {
		const box = element.current;
		if (box === null) return;
		const look = () => setView({ widthPx: box.clientWidth, heightPx: box.clientHeight, topPx: box.scrollTop });
		look();
		const resized = new ResizeObserver(look);
		resized.observe(box);
		box.addEventListener("scroll", look, { passive: true });
		return () => {
			resized.disconnect();
			box.removeEventListener("scroll", look);
		};
	}, []);
	return { element, view };
}

/** Straight down to the next row; around the boxes between where there are some. */
function pathOf(a: PlacedOp, b: PlacedOp, boxPx: number): string {
	const [x1, y1] = [a.x * boxPx, a.row * ROW_PX + BOX_HEIGHT_PX];
	const [x2, y2] = [b.x * boxPx, b.row * ROW_PX];
	const far = b.row - a.row > 1 ? boxPx * 0.62 : 0;
	const down = Math.min(60, (y2 - y1) / 2);
	return `M${x1} ${y1}C${x1 + far} ${y1 + down} ${x2 + far} ${y2 - down} ${x2} ${y2}`;
}

function Lines(p: { layout: Layout; chosen: number | null; boxPx: number; first: number; last: number }) {
	const { ops, rows } = p.layout;
	const drawn: { key: string; path: string; isChosen: boolean }[] = [];
	const put = (a: PlacedOp, b: PlacedOp, isChosen: boolean) =>
		drawn.push({ key: `${a.op.number} ${b.op.number} ${isChosen}`, path: pathOf(a, b, p.boxPx), isChosen });
	for (const row of rows.slice(Math.max(0, p.first - LONG), p.last))
		for (const n of row)
			for (const to of ops[n]!.to) if (ops[to]!.row - ops[n]!.row <= LONG) put(ops[n]!, ops[to]!, false);
	const at = p.chosen === null ? undefined : ops[p.chosen];
	if (at !== undefined) {
		for (const one of at.from) put(ops[one]!, at, true);
		for (const one of at.to) put(at, ops[one]!, true);
	}
	return (
		<svg aria-hidden="true" width={p.boxPx * MOST_COLUMNS} height={rows.length * ROW_PX}>
			{drawn.map(({ key, path, isChosen }) => (
				<path key={key} d={path} class={isChosen ? "edge is-chosen" : "edge"} />
			))}
		</svg>
	);
}

interface BoxProps {
	readonly placed: PlacedOp;
	readonly boxPx: number;
	readonly share: number;
	readonly mark: Mark | undefined;
	readonly state: "chosen" | "near" | "";
	readonly isReachable: boolean;
	readonly onChoose: () => void;
}

function Box({ placed: { op, row, x }, boxPx, share, mark, state, isReachable, onChoose }: BoxProps) {
	const title = `%${op.number} ${op.operator}(${op.reads.join(", ")})${op.writes === "" ? "" : ` in ${op.writes}`}\n${op.shape}\n${op.interval}`;
	return (
		<button
			type="button"
			class={`op-box is-${op.operator.split(" ")[0]} ${state === "" ? "" : `is-op-${state}`} ${mark === undefined ? "" : `is-in-${mark}`}`}
			data-box={op.number}
			title={title}
			tabIndex={isReachable ? 0 : -1}
			aria-pressed={state === "chosen"}
			style={{ left: `${(x - 0.5) * boxPx + 6}px`, top: `${row * ROW_PX}px`, width: `${boxPx - 12}px` }}
			onClick={onChoose}
		>
			<span class="op-box-head">
				<strong>
					{mark === undefined ? "" : MARKS[mark]}%{op.number} {op.operator}
				</strong>
				<span class="num">{shareText(share)}</span>
			</span>
			<code>
				{op.shape}
				{op.writes === "" ? "" : ` → ${op.writes}`}
			</code>
			<span class="dim">{op.interval}</span>
			<span class="hidden">
				reads {op.reads.join(", ")}
				{mark === undefined ? null : MARK_WORDS[mark]}
			</span>
			<span class="op-share" style={{ width: `${100 * share}%` }} />
		</button>
	);
}

export function OpGraph(p: {
	ops: readonly OpLine[];
	label: string;
	chosen: number | null;
	onChoose: (number: number) => void;
	/** By the op's number. */
	marks?: ReadonlyMap<number, Mark>;
}) {
	const { element, view } = useView();
	const columns = Math.min(MOST_COLUMNS, Math.max(1, Math.floor((view.widthPx || BOX_PX) / LEAST_BOX_PX)));
	const layout = useMemo(() => layOutOps(p.ops, columns), [p.ops, columns]);
	const whole = useMemo(() => p.ops.reduce((sum, { work }) => sum + work, 0), [p.ops]);
	const boxPx = Math.min(BOX_PX * 1.5, (view.widthPx || BOX_PX) / columns);
	const [focused, setFocused] = useState<number | null>(null);
	const wish = useRef(false);
	const { rows, ops } = layout;
	const reachable = focused !== null && ops[focused] !== undefined ? focused : (p.chosen ?? rows[0]?.[0] ?? 0);
	const first = Math.max(0, Math.floor(view.topPx / ROW_PX) - 2);
	const last = Math.min(rows.length, Math.ceil((view.topPx + view.heightPx) / ROW_PX) + 2);
	const shown = new Set(rows.slice(first, last).flat());
	if (ops[reachable] !== undefined) shown.add(reachable);
	const bring = (number: number) => {
		const box = element.current;
		const row = ops[number]?.row;
		if (box === null || row === undefined) return;
		const top = row * ROW_PX;
		if (top < box.scrollTop || top + ROW_PX > box.scrollTop + box.clientHeight)
			box.scrollTop = Math.max(0, top - box.clientHeight / 2 + ROW_PX / 2);
	};
	// Chosen elsewhere: it is brought into view here.
	useEffect(() => {
		if (p.chosen !== null) bring(p.chosen);
	}, [p.chosen, layout]);
	useEffect(() => {
		if (!wish.current || focused === null) return;
		wish.current = false;
		element.current?.querySelector<HTMLElement>(`[data-box="${focused}"]`)?.focus({ preventScroll: true });
	}, [focused]);
	const near = new Set(p.chosen === null ? [] : [...(ops[p.chosen]?.from ?? []), ...(ops[p.chosen]?.to ?? [])]);
	return (
		// biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms.
		<div
			class="op-graph"
			ref={element}
			role="group"
			aria-label={p.label}
			onKeyDown={(event) => {
				if (!/^(Arrow(Up|Down|Left|Right)|Home|End)$/.test(event.key)) return;
				event.preventDefault();
				const next = stepFrom(layout, reachable, event.key);
				wish.current = next !== focused;
				setFocused(next);
				bring(next);
			}}
		>
			<div class="op-graph-ground" style={{ height: `${rows.length * ROW_PX}px`, width: `${columns * boxPx}px` }}>
				<Lines {...{ layout, boxPx, first, last }} chosen={p.chosen} />
				{[...shown].map((n) => (
					<Box
						key={n}
						placed={ops[n]!}
						boxPx={boxPx}
						share={whole === 0 ? 0 : ops[n]!.op.work / whole}
						mark={p.marks?.get(n)}
						state={n === p.chosen ? "chosen" : near.has(n) ? "near" : ""}
						isReachable={n === reachable}
						onChoose={() => {
							setFocused(n);
							p.onChoose(n);
						}}
					/>
				))}
			</div>
		</div>
	);
}
