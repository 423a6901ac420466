// Figures and durations as the CLI prints them. Pure.
import {
	formatBytes,
	formatLatency,
	formatPercent,
	formatRate,
	rateUnit,
	threeDigits,
} from "../../protocol/format-number.ts";
import type { Figure } from "../../protocol/probe/evidence.ts";

export function formatDuration(us: number): string {
	if (us >= 120e6) return `${Math.floor(us / 60e6)} min ${Math.round((us % 60e6) / 1e6)} s`;
	if (us >= 1e6) return `${threeDigits(us / 1e6)} s`;
	if (us >= 1e3) return `${threeDigits(us / 1e3)} ms`;
	return `${us} µs`;
}

export function formatFigure({ name, value, unit }: Pick<Figure, "name" | "value" | "unit">): string {
	if (unit === "B") return formatBytes(value);
	if (unit === "ps") return formatLatency(value);
	if (unit === "ppm") return formatPercent(value / 1e6);
	return formatRate(value, unit === "op/s" || unit === "flop/s" ? rateUnit(name) : unit);
}
