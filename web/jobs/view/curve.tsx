// The curve of a job's metrics against steps or time, with the same numbers as a table. From heartbeats: no
// proof.
import { useState } from "preact/hooks";
import type { Job } from "../../../src/api/types.ts";
import { formatCount, formatSpan } from "../../parts/format.ts";
import { LineChart } from "../../parts/line-chart.tsx";
import { Panel } from "../../parts/small.tsx";
import { type LiveJob, thinned } from "../job-events.ts";

const MOST_DRAWN = 240;

export function Curve({ job: { spec, createdAtMs }, live: { curve } }: { job: Job; live: LiveJob }) {
	const [metric, setMetric] = useState(0);
	const [isByTime, setByTime] = useState(false);
	const named = spec.metrics[metric];
	if (named === undefined || curve.length === 0) return null;
	const points = thinned(curve, metric, MOST_DRAWN).map(({ step, lastStep, atMs, value }) => ({
		...{ x: isByTime ? atMs - createdAtMs : lastStep, y: value },
		title: `${step === lastStep ? `step ${step + 1}` : `steps ${step + 1} to ${lastStep + 1}, mean`}: ${value.toPrecision(6)} ${named.unit}`,
	}));
	const last = curve.at(-1)!;
	return (
		<Panel
			title={`Curve: ${named.label || "metric"}`}
			aside={
				<span class="bar">
					<span>
						step {formatCount(last.step + 1)}: <strong class="num">{last.values[metric]?.toPrecision(5)}</strong>{" "}
						{named.unit}
					</span>
					{spec.metrics.length < 2 ? null : (
						<label class="inline">
							<span class="hidden">Metric</span>
							<select onChange={(event) => setMetric(Number(event.currentTarget.value))}>
								{spec.metrics.map(({ label }, i) => (
									<option key={i} value={i} selected={i === metric}>
										{label}
									</option>
								))}
							</select>
						</label>
					)}
					<button type="button" class="small" onClick={() => setByTime(!isByTime)}>
						{isByTime ? "Against steps" : "Against time"}
					</button>
				</span>
			}
		>
			<LineChart
				label={named.label}
				points={points}
				xFormat={(x) => (isByTime ? formatSpan(x) : `step ${formatCount(Math.round(x) + 1)}`)}
				yFormat={(y) => y.toPrecision(3)}
			/>
			<p class="dim small-text">Source: the provider's heartbeats while it works. The claim is what is checked.</p>
		</Panel>
	);
}
