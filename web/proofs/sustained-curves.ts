// The curves of an evidence file's sustained runs: speed over time, one curve for each. Pure; the rule is verify/hardware's.
import { decodeEvidence } from "../../src/protocol/probe/evidence-codec.ts";
import { decodeRoots } from "../../src/protocol/probe/records.ts";
import { throughputCurve } from "../../src/verify/hardware/throughput-curve.ts";

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
