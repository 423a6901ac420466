// The speed of a sustained run over time, as one line a device: lowest and highest second, and a curve. Pure.
import type { Evidence } from "../protocol/evidence.ts";
import { decodeRoots } from "../protocol/records.ts";
import { type CurvePoint, throughputCurve } from "../verify/hardware/throughput-curve.ts";
import { formatDuration, formatRate } from "./format.ts";

const BARS = "▁▂▃▄▅▆▇█";
const MOST_BARS = 60;

/** Bars from 0 to the best, so that a dip looks as deep as it is; neighbours are averaged when there are too many. */
export function sparkline(values: readonly number[], width = MOST_BARS): string {
	const most = Math.max(...values);
	if (!(most > 0)) return "";
	const groups = Math.min(width, values.length);
	return Array.from({ length: groups }, (_, g) => {
		const part = values.slice(Math.floor((g * values.length) / groups), Math.floor(((g + 1) * values.length) / groups));
		const mean = part.reduce((sum, v) => sum + v, 0) / part.length;
		return BARS[Math.min(BARS.length - 1, Math.floor((mean / most) * BARS.length))];
	}).join("");
}

export function curveLine(device: number, precision: string, curve: readonly CurvePoint[]): string {
	const rates = curve.map(({ opsPerS }) => opsPerS);
	const span = `${formatRate(Math.min(...rates), "op/s")} … ${formatRate(Math.max(...rates), "op/s")}`;
	return `  device ${device}  ${precision} for ${formatDuration(curve.at(-1)?.endUs ?? 0)}: ${span}  ${sparkline(rates)}`;
}

/** One line for each sustained challenge of evidence that was found valid. */
export function sustainedLines({ envelope, attachments }: Evidence): string[] {
	return envelope.body.challenges.flatMap(({ spec, sentAtUs, roots }) => {
		if (spec.kind !== "gemm" || spec.rounds !== 0) return [];
		const decoded = decodeRoots(attachments[roots] ?? new Uint8Array(0));
		const curve = decoded.ok ? throughputCurve(spec, sentAtUs, decoded.records) : [];
		return curve.length === 0 ? [] : [curveLine(spec.device, spec.precision, curve)];
	});
}
