// Numbers for people: one place for units and rounding. Pure.
import type { Figure } from "../../protocol/probe/evidence.ts";

const scales: readonly (readonly [number, string])[] = [
	[1e15, "P"],
	[1e12, "T"],
	[1e9, "G"],
	[1e6, "M"],
	[1e3, "k"],
];

function threeDigits(value: number): string {
	return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** 949123456789000, "FLOPS" → "949 TFLOPS" */
export function formatRate(value: number, unit: string): string {
	for (const [scale, letter] of scales) if (value >= scale) return `${threeDigits(value / scale)} ${letter}${unit}`;
	return `${value} ${unit}`;
}

export interface Unit {
	readonly name: string;
	readonly scale: number;
}

/** One unit for a whole table, by its largest number. */
export function unitFor(largest: number, unit: string): Unit {
	for (const [scale, letter] of scales) if (largest >= scale) return { name: `${letter}${unit}`, scale };
	return { name: unit, scale: 1 };
}

export function formatInUnit(value: number, { scale }: Unit): string {
	return threeDigits(value / scale);
}

export function formatBytes(bytes: number): string {
	for (const [exponent, unit] of [
		[40, "TiB"],
		[30, "GiB"],
		[20, "MiB"],
		[10, "KiB"],
	] as const)
		if (bytes >= 2 ** exponent) return `${threeDigits(bytes / 2 ** exponent)} ${unit}`;
	return `${bytes} B`;
}

export function formatDuration(us: number): string {
	if (us >= 120e6) return `${Math.floor(us / 60e6)} min ${Math.round((us % 60e6) / 1e6)} s`;
	if (us >= 1e6) return `${threeDigits(us / 1e6)} s`;
	if (us >= 1e3) return `${threeDigits(us / 1e3)} ms`;
	return `${us} µs`;
}

export function formatPercent(share: number): string {
	return `${threeDigits(share * 100)} %`;
}

/** The trade counts operations on integers in OPS and on floats in FLOPS; evidence has op/s for both. */
export const rateUnit = (precision: string): "OPS" | "FLOPS" => (/int\d/i.test(precision) ? "OPS" : "FLOPS");

export function formatFigure({ name, value, unit }: Pick<Figure, "name" | "value" | "unit">): string {
	if (unit === "B") return formatBytes(value);
	if (unit === "ppm") return formatPercent(value / 1e6);
	return formatRate(value, unit === "op/s" || unit === "flop/s" ? rateUnit(name) : unit);
}
