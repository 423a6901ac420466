// Numbers for people, the same in the terminal and in the browser: three digits, SI prefixes for speeds,
// binary ones for memory.

const PREFIXES: readonly (readonly [number, string])[] = [
	[1e18, "E"],
	[1e15, "P"],
	[1e12, "T"],
	[1e9, "G"],
	[1e6, "M"],
	[1e3, "k"],
];

export const threeDigits = (value: number): string => value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);

export interface ScaledUnit {
	readonly name: string;
	readonly scale: number;
}

/**
 * The unit in which a number has one to three digits before the point; also for a whole table, by its largest
 * number.
 */
export function unitFor(largest: number, unit: string): ScaledUnit {
	const [scale, letter] = PREFIXES.find(([least]) => largest >= least) ?? [1, ""];
	return { name: `${letter}${unit}`, scale };
}

/** 949123456789000, "FLOPS" → "949 TFLOPS" */
export function formatRate(value: number, unit: string): string {
	const { name, scale } = unitFor(value, unit);
	return `${scale === 1 ? Math.round(value) : threeDigits(value / scale)} ${name}`;
}

/** The trade counts operations on integers in OPS and on floats in FLOPS; evidence has op/s for both. */
export const rateUnit = (precision: string): "OPS" | "FLOPS" => (/int\d/i.test(precision) ? "OPS" : "FLOPS");

/** 612345 ps → "612 ns" */
export function formatLatency(ps: number): string {
	return ps >= 1e6 ? `${threeDigits(ps / 1e6)} µs` : `${Math.round(ps / 1e3)} ns`;
}

export function formatBytes(bytes: number): string {
	const exponent = [50, 40, 30, 20, 10].find((least) => bytes >= 2 ** least);
	if (exponent === undefined) return `${bytes} B`;
	return `${threeDigits(bytes / 2 ** exponent)} ${"KMGTP"[exponent / 10 - 1]}iB`;
}

export const formatPercent = (share: number): string => `${threeDigits(share * 100)} %`;

/** One unit, whole: 42 s, 12 min, 5 h, 3 d. */
export function wholeSpan(ms: number): string {
	const s = Math.abs(ms) / 1000;
	if (s < 90) return `${Math.round(s)} s`;
	if (s < 90 * 60) return `${Math.round(s / 60)} min`;
	if (s < 48 * 3600) return `${Math.round(s / 3600)} h`;
	return `${Math.round(s / 86_400)} d`;
}
