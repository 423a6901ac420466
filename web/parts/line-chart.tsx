// A line over time as an SVG: axes with units, a dot at each point, the same numbers as a table for who cannot see it. No interaction but titles.
import { Scroll } from "./small.tsx";

export interface ChartPoint {
	readonly x: number;
	readonly y: number;
	/** Shown on hover. */
	readonly title: string;
	readonly href?: string;
}

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [640, 180, 64, 24, 10, 12];
const STEPS = [1, 2, 2.5, 5, 10];

/** Round numbers from 0 to at least `most`. */
export function ticksUpTo(most: number, wanted = 4): number[] {
	if (!(most > 0)) return [0];
	const raw = most / wanted;
	const scale = 10 ** Math.floor(Math.log10(raw));
	const step = scale * STEPS.find((one) => one * scale >= raw)!;
	const count = Math.ceil(most / step - 1e-9);
	return Array.from({ length: count + 1 }, (_, i) => i * step);
}

export function LineChart(p: {
	label: string;
	points: readonly ChartPoint[];
	xFormat: (x: number) => string;
	yFormat: (y: number) => string;
	/** From 0, so that a dip looks as deep as it is. */
	most?: number;
}) {
	const { points } = p;
	if (points.length === 0) return null;
	const xs = points.map(({ x }) => x);
	const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
	const ticks = ticksUpTo(Math.max(p.most ?? 0, ...points.map(({ y }) => y)));
	const top = ticks.at(-1) || 1;
	const px = (x: number) => LEFT + (x1 === x0 ? 0.5 : (x - x0) / (x1 - x0)) * (WIDTH - LEFT - RIGHT);
	const py = (y: number) => HEIGHT - BOTTOM - (y / top) * (HEIGHT - BOTTOM - TOP);
	const line = points.map(({ x, y }, i) => `${i === 0 ? "M" : "L"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join("");
	return (
		<figure class="chart">
			<svg
				viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
				role="img"
				aria-label={`${p.label}: ${points.length} points, last ${p.yFormat(points.at(-1)!.y)}`}
			>
				{ticks.map((tick) => (
					<g key={tick}>
						<line x1={LEFT} x2={WIDTH - RIGHT} y1={py(tick)} y2={py(tick)} class="grid" />
						<text x={LEFT - 8} y={py(tick) + 4} text-anchor="end">
							{p.yFormat(tick)}
						</text>
					</g>
				))}
				<text x={LEFT} y={HEIGHT - 6}>
					{p.xFormat(x0)}
				</text>
				{x1 === x0 ? null : (
					<text x={WIDTH - RIGHT} y={HEIGHT - 6} text-anchor="end">
						{p.xFormat(x1)}
					</text>
				)}
				<path
					d={`${line}L${px(points.at(-1)!.x).toFixed(1)} ${py(0)}L${px(points[0]!.x).toFixed(1)} ${py(0)}Z`}
					class="area"
				/>
				<path d={line} class="line" />
				{points.map((point, i) => (
					<circle key={i} cx={px(point.x)} cy={py(point.y)} r={points.length > 60 ? 1.5 : 3}>
						<title>{point.title}</title>
					</circle>
				))}
			</svg>
			<details class="as-table">
				<summary>As a table</summary>
				<Scroll label="Values">
					<table>
						<tbody>
							{points.slice(-100).map((point, i) => (
								<tr key={i}>
									<td>{p.xFormat(point.x)}</td>
									<td class="num">{p.yFormat(point.y)}</td>
								</tr>
							))}
						</tbody>
					</table>
				</Scroll>
			</details>
		</figure>
	);
}
