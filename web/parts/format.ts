// Scores, money, times and names as the pages show them. Pure; speeds and sizes are
// src/protocol/format-number.ts.
import {
	formatBytes,
	formatLatency,
	formatPercent,
	formatRate,
	rateUnit,
	wholeSpan,
} from "../../src/protocol/format-number.ts";

/** A score or weight: millionths as a number from 0 to 1. */
export function formatScore(ppm: number): string {
	return (ppm / 1e6).toFixed(4);
}

/** `name`: of the figure, which says whether its operations are FLOPS or OPS. */
export function formatFigure(value: number, unit: string, name: string): string {
	if (unit === "B") return formatBytes(value);
	if (unit === "ps") return formatLatency(value);
	if (unit === "ppm") return formatPercent(value / 1e6);
	if (unit === "1") return formatCount(value);
	if (unit === "ms") return formatSpan(value);
	return formatRate(value, unit === "op/s" || unit === "flop/s" ? rateUnit(name) : unit);
}

export function formatCount(value: number): string {
	return value.toLocaleString("en-US").replaceAll(",", "\u202f");
}

/** What prices are in, with a chain and without: its token's symbol (contracts/src/stake/AssayToken.sol). */
export const CURRENCY = "ASSAY";

/** Millionths of it. */
export function formatMoney(micros: number): string {
	const whole = micros / 1e6;
	const text = whole !== 0 && Math.abs(whole) < 0.01 ? whole.toFixed(6) : whole.toFixed(2);
	return `${text.replaceAll(/\B(?=(\d{3})+(?!\d)(?<!\.\d*))/g, "\u202f")}\u00a0${CURRENCY}`;
}

/** To the last digit: what somebody agrees to. */
export const formatExactMoney = (micros: number): string =>
	`${(micros / 1e6).toFixed(6).replace(/\.?0+$/, "")}\u00a0${CURRENCY}`;

interface PricedHost {
	readonly pricePerHourMicros: number;
	readonly gpuCount: number;
}

/** What one GPU of a host costs; of a host without any, the host. */
export const gpuPriceMicros = ({ pricePerHourMicros, gpuCount }: PricedHost): number =>
	Math.floor(pricePerHourMicros / Math.max(1, gpuCount));

export const formatGpuPrice = (host: PricedHost): string =>
	`${formatMoney(gpuPriceMicros(host))} per ${host.gpuCount === 0 ? "hour" : "GPU-hour"}`;

export function formatSpan(ms: number): string {
	const s = Math.abs(ms) / 1000;
	if (s < 1) return `${Math.round(Math.abs(ms))} ms`;
	return s < 10 ? `${s.toFixed(1)} s` : wholeSpan(ms);
}

export function formatAgo(atMs: number, nowMs: number): string {
	const ms = nowMs - atMs;
	if (Math.abs(ms) < 2000) return "now";
	return ms > 0 ? `${wholeSpan(ms)} ago` : `in ${wholeSpan(ms)}`;
}

/** hours:minutes:seconds left. */
export function formatLeft(ms: number): string {
	const s = Math.max(0, Math.floor(ms / 1000));
	const two = (n: number) => String(n).padStart(2, "0");
	return `${Math.floor(s / 3600)}:${two(Math.floor((s % 3600) / 60))}:${two(s % 60)}`;
}

/** Long ids are shown by their beginning; whoever needs the whole one copies or hovers. */
export function shortId(id: string): string {
	return id.length <= 14 ? id : `${id.slice(0, 12)}…`;
}

const FIGURES: Readonly<Record<string, string>> = {
	"memory.resident": "Memory, resident",
	"memory.bandwidth": "Memory bandwidth",
	"memory.latency": "Memory latency",
	"train.gpt": "Training, small GPT",
	"memory.held": "Memory held",
	"disk.read": "Disk read",
	"disk.write": "Disk write",
	"disk.stored": "Disk, stored",
};

/**
 * "gemm.int8.sustained" → "int8 matrix, sustained". Names are ours, but they come in evidence: unknown ones
 * are shown as they are.
 */
export function figureTitle(name: string): string {
	const known = FIGURES[name];
	if (known !== undefined) return known;
	const [kind, precision, extra] = name.split(".");
	if (kind === "gemm" && precision) {
		const more = { sustained: ", sustained", "sustained-ratio": ", kept under load", alone: ", alone", least: "" }[
			extra ?? ""
		];
		return extra === undefined ? `${precision} matrix` : more === undefined ? name : `${precision} matrix${more}`;
	}
	if (kind === "fma" && precision) return `${precision} scalar`;
	if (kind === "scaling" && precision) return `${precision}, all at once ÷ alone`;
	if (kind === "peer" && extra) return `Reads device ${extra}`;
	return name;
}
