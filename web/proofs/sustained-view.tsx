// The speed of a sustained run over time, from the evidence itself: loaded only when the page has such a figure and is asked.

import { formatRate } from "../../src/protocol/format-number.ts";
import { LineChart } from "../parts/line-chart.tsx";
import { Empty, Shown } from "../parts/small.tsx";
import { api, useLoaded } from "../shell/api.ts";
import { curvesOf } from "./sustained-curves.ts";

export default function SustainedView({ sha256 }: { sha256: string }) {
	const curves = useLoaded(sha256, async (signal) =>
		curvesOf(await api.getEvidence({ params: { sha256 } }, { signal })),
	);
	return (
		<Shown of={curves} what="the curve">
			{(found) =>
				found.length === 0 ? (
					<Empty title="The last proof has no sustained run" />
				) : (
					<div>
						{found.map((curve, i) => (
							<div key={i}>
								<h3>
									Device {curve.device}, {curve.precision}
								</h3>
								<LineChart
									label={`Sustained speed of device ${curve.device}`}
									points={curve.points.map(({ endUs, opsPerS }) => ({
										x: endUs / 1e6,
										y: opsPerS,
										title: `${formatRate(opsPerS, "op/s")} at ${(endUs / 1e6).toFixed(0)} s`,
									}))}
									xFormat={(x) => `${x.toFixed(0)} s`}
									yFormat={(y) => formatRate(y, "op/s")}
								/>
							</div>
						))}
					</div>
				)
			}
		</Shown>
	);
}
