// A line over time as an SVG: axes with units, a dot at each point, the same numbers as a table for who
// cannot see it. Drawn in the pixels it has, so that its text is as large on a phone as anywhere. No
// interaction but titles.
import { useEffect, useRef, useState } from "preact/hooks";
import { Table } from "./small.tsx";

export interface ChartPoint {
	readonly x: number;
	readonly y: number;
	/** Shown on hover. */
	readonly title: string;
}

const [HEIGHT, BOTTOM, TOP, RIGHT] = [190, 26, 12, 14];
/** Of a character of 12 px in the fonts we ask for, widest case. */
const CHARACTER_PX = 6.9;
/** More points than these get no dot of their own. */
const MAX_DOTS = 60;
const STEPS = [1, 2, 2.5, 5, 10];

/** Round numbers from 0 to at least `most`. */
function ticksUpTo(most: number, wanted = 4): number[] {
	if (!(most > 0)) return [0];
	const raw = most / wanted;
	const scale = 10 ** Math.floor(Math.log10(raw));
	const step = scale * STEPS.find((one) => one * scale >= raw)!;
	const count = Math.ceil(most / step - 1e-9);
	return Array.from({ length: count + 1 }, (_, i) => i * step);
}

/** The width that the element has, again when it changes. */
function useWidth() {
	const element = useRef<HTMLElement>(null);
	const [width, setWidth] = useState(560);
	useEffect(() => {
		if (element.current === null) return;
		const look = () => setWidth(Math.max(240, Math.floor(element.current?.clientWidth ?? 560)));
		look();
		const resized = new ResizeObserver(look);
		resized.observe(element.current);
		return () => resized.disconnect();
	}, []);
	return { element, width };
}

export function LineChart(p: {
	label: string;
	points: readonly ChartPoint[];
	xFormat: (x: number) => string;
	yFormat: (y: number) => string;
	/** From 0, so that a dip looks as deep as it is. */
	most?: number;
}) {
	const { element, width } = useWidth();
	const { points } = p;
	if (points.length === 0) return null;
	const xs = points.map(({ x }) => x);
	const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
	const ticks = ticksUpTo(Math.max(p.most ?? 0, ...points.map(({ y }) => y)));
	const top = ticks.at(-1) || 1;
	const left = 10 + CHARACTER_PX * Math.max(...ticks.map((tick) => p.yFormat(tick).length));
	const px = (x: number) => left + (x1 === x0 ? 0.5 : (x - x0) / (x1 - x0)) * (width - left - RIGHT);
	const py = (y: number) => HEIGHT - BOTTOM - (y / top) * (HEIGHT - BOTTOM - TOP);
	const line = points.map(({ x, y }, i) => `${i === 0 ? "M" : "L"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join("");
	const below = py(0).toFixed(1);
	const marks = x1 === x0 ? [x0] : width < 420 ? [x0, x1] : [x0, (x0 + x1) / 2, x1];
	/** Half way to the neighbours: a wide place to hover over. */
	const edge = (i: number) =>
		i <= 0 ? left : i >= points.length ? width - RIGHT : (px(points[i - 1]!.x) + px(points[i]!.x)) / 2;
	return (
		<figure class="chart" ref={element}>
			<svg
				width={width}
				height={HEIGHT}
				viewBox={`0 0 ${width} ${HEIGHT}`}
				role="img"
				aria-label={`${p.label}: ${points.length} ${points.length === 1 ? "point" : "points"}, last ${p.yFormat(points.at(-1)!.y)}`}
			>
				{ticks.map((tick) => (
					<g key={tick}>
						<line x1={left} x2={width - RIGHT} y1={py(tick)} y2={py(tick)} class="grid" />
						<text x={left - 8} y={py(tick) + 4} text-anchor="end">
							{p.yFormat(tick)}
						</text>
					</g>
				))}
				{marks.map((x, i) => (
					<text
						key={x}
						x={px(x)}
						y={HEIGHT - 7}
						text-anchor={marks.length === 1 ? "middle" : i === 0 ? "start" : i === marks.length - 1 ? "end" : "middle"}
					>
						{p.xFormat(x)}
					</text>
				))}
				<path
					d={`${line}L${px(points.at(-1)!.x).toFixed(1)} ${below}L${px(points[0]!.x).toFixed(1)} ${below}Z`}
					class="area"
				/>
				<path d={line} class="line" />
				{points.map((point, i) => (
					<g key={i} class="point">
						{points.length > MAX_DOTS ? null : <circle cx={px(point.x)} cy={py(point.y)} r={3} />}
						<rect x={edge(i)} y={0} width={Math.max(1, edge(i + 1) - edge(i))} height={HEIGHT - BOTTOM}>
							<title>{point.title}</title>
						</rect>
					</g>
				))}
			</svg>
			<details class="as-table">
				<summary>As a table</summary>
				<Table label={`${p.label}, values`} head={["When", ["Value", "num"]]}>
					{points.slice(-100).map((point, i) => (
						<tr key={i}>
							<td>{p.xFormat(point.x)}</td>
							<td class="num">{p.yFormat(point.y)}</td>
						</tr>
					))}
				</Table>
			</details>
		</figure>
	);
}
