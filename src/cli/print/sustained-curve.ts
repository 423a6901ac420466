// The speed of a sustained run over time, as one line a device: lowest and highest second, and a curve;
// beneath it what the device said of itself meanwhile (clock, power, temperature), which is a claim, while
// the curve is proven. Pure.
import { formatRate, rateUnit } from "../../protocol/format-number.ts";
import type { DeviceClaim, Evidence, Figure, Reading } from "../../protocol/probe/evidence.ts";
import { type CurvePoint, sustainedRuns } from "../../verify/hardware/throughput-curve.ts";
import { formatDuration } from "./format.ts";
import { sparkline } from "./sparkline.ts";

/**
 * Last tenth against best tenth of the run. Clocks of a healthy card settle within some percent; a hot or
 * capped one loses more.
 */
const THROTTLED_PPM = 900_000;

export function curveLine(
	device: number,
	precision: string,
	curve: readonly CurvePoint[],
	isThrottled = false,
): string {
	const rates = curve.map(({ opsPerS }) => opsPerS);
	const unit = rateUnit(precision);
	const span = `${formatRate(Math.min(...rates), unit)} … ${formatRate(Math.max(...rates), unit)}`;
	const mark = isThrottled ? "  THROTTLED" : "";
	return `  device ${device}  ${precision} for ${formatDuration(curve.at(-1)?.endUs ?? 0)}: ${span}  ${sparkline(rates)}${mark}`;
}

/** What the device said while the run went on. Numbers that it could not read are 0 and left out. */
export function readingLines(readings: readonly Reading[], claim: DeviceClaim | undefined): string[] {
	const rows: [string, readonly number[], string, string][] = [
		["clock", readings.map(({ coreMHz }) => coreMHz), "MHz", ""],
		["memory clock", readings.map(({ memoryMHz }) => memoryMHz), "MHz", ""],
		["power", readings.map(({ powerMw }) => Math.round(powerMw / 1000)), "W", capOf(claim)],
		["temperature", readings.map(({ temperatureC }) => temperatureC), "°C", ""],
	];
	const lines = rows.flatMap(([name, values, unit, note]) =>
		values.some((value) => value > 0)
			? [
					`            ${name.padEnd(13)}${Math.min(...values)} … ${Math.max(...values)} ${unit}${note}  ${sparkline(values)}`,
				]
			: [],
	);
	const held = readings.filter(({ throttle }) => throttle !== 0).length;
	if (held > 0) lines.push(`            clock throttled in ${held} of ${readings.length} readings`);
	return lines.length === 0 ? [] : ["            self-reported during the run (not proof):", ...lines];
}

function capOf(claim: DeviceClaim | undefined): string {
	if (claim === undefined || claim.powerDefaultW === 0) return "";
	return ` (limit ${claim.powerLimitW} W, ${Math.round((100 * claim.powerLimitW) / claim.powerDefaultW)} % of default)`;
}

function isThrottled(figures: readonly Figure[], challenge: number): boolean {
	const ratio = figures.find((f) => f.challenge === challenge && f.name.endsWith(".sustained-ratio"));
	return ratio !== undefined && ratio.value < THROTTLED_PPM;
}

/** For each sustained challenge of evidence that was found valid: its curve, and the readings beneath. */
export function sustainedLines(evidence: Evidence): string[] {
	const { figures, claim, readings } = evidence.envelope.body;
	return sustainedRuns(evidence).flatMap(({ challenge, spec, fromUs, toUs, curve }) => {
		const said = readings.filter(({ device, atUs }) => device === spec.device && atUs >= fromUs && atUs <= toUs);
		return [
			curveLine(spec.device, spec.precision, curve, isThrottled(figures, challenge)),
			...readingLines(said, claim.devices[spec.device]),
		];
	});
}
