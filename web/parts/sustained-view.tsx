// The speed of a sustained run over time, from the evidence itself: loaded only when the page has such a figure and is asked.
import { decodeEvidence } from "../../src/protocol/evidence-codec.ts";
import { decodeRoots } from "../../src/protocol/records.ts";
import { throughputCurve } from "../../src/verify/hardware/throughput-curve.ts";
import { api, useLoaded } from "../shell/api.ts";
import { formatRate } from "./format.ts";
import { LineChart } from "./line-chart.tsx";
import { Empty, Shown } from "./small.tsx";

export interface Curve {
	readonly device: number;
	readonly precision: string;
	readonly points: readonly { readonly endUs: number; readonly opsPerS: number }[];
}

export function curvesOf(bytes: Uint8Array): Curve[] {
	const decoded = decodeEvidence(bytes);
	if (!decoded.ok) return [];
	const { envelope, attachments } = decoded.evidence;
	return envelope.body.challenges.flatMap(({ spec, sentAtUs, roots }) => {
		if (spec.kind !== "gemm" || spec.rounds !== 0) return [];
		const records = decodeRoots(attachments[roots] ?? new Uint8Array(0));
		const points = records.ok ? throughputCurve(spec, sentAtUs, records.records) : [];
		return points.length === 0 ? [] : [{ device: spec.device, precision: spec.precision, points }];
	});
}

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
