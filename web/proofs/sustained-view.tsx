// The speed of a sustained run over time, from the evidence itself: loaded only when the page has such a
// figure and is asked.

import { formatRate, rateUnit } from "../../src/protocol/format-number.ts";
import { decodeEvidence } from "../../src/protocol/probe/evidence-codec.ts";
import { sustainedRuns } from "../../src/verify/hardware/throughput-curve.ts";
import { LineChart } from "../parts/line-chart.tsx";
import { Empty, Shown } from "../parts/small.tsx";
import { api, useLoaded } from "../shell/api.ts";

function runsIn(bytes: Uint8Array) {
	const decoded = decodeEvidence(bytes);
	return decoded.ok ? sustainedRuns(decoded.evidence) : [];
}

export default function SustainedView({ sha256 }: { sha256: string }) {
	const curves = useLoaded(sha256, async (signal) => runsIn(await api.getEvidence({ params: { sha256 } }, { signal })));
	return (
		<Shown of={curves} what="the curve">
			{(found) =>
				found.length === 0 ? (
					<Empty title="The last proof has no sustained run" />
				) : (
					<div>
						{found.map(({ challenge, spec, curve }) => (
							<div key={challenge}>
								<h3>
									Device {spec.device}, {spec.precision}
								</h3>
								<LineChart
									label={`Sustained speed of device ${spec.device}`}
									points={curve.map(({ endUs, opsPerS }) => ({
										x: endUs / 1e6,
										y: opsPerS,
										title: `${formatRate(opsPerS, rateUnit(spec.precision))} at ${(endUs / 1e6).toFixed(0)} s`,
									}))}
									xFormat={(x) => `${x.toFixed(0)} s`}
									yFormat={(y) => formatRate(y, rateUnit(spec.precision))}
								/>
							</div>
						))}
					</div>
				)
			}
		</Shown>
	);
}
