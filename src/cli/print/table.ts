// Tables for people: columns as wide as their widest cell, numbers to the right. Cells from providers go
// through `shown` first.
import type { ProviderSummary } from "../../api/types.ts";
import { printable } from "../../engine/client/printable.ts";
import { safeText } from "../../protocol/bytes/safe-text.ts";
import { formatBytes, formatRate, wholeSpan } from "../../protocol/format-number.ts";
import type { Paint } from "./paint.ts";

export interface Column<Row> {
	readonly title: string;
	readonly right: boolean;
	/** Null: an empty cell. */
	readonly cell: (row: Row) => string | null;
	readonly style?: Style<Row> | undefined;
}
/** A paint, or how to choose one. */
type Style<Row> = keyof Paint | ((row: Row, paint: Paint) => (text: string) => string);

/** A column of words. */
export const left = <Row>(title: string, cell: Column<Row>["cell"], style?: Style<Row>): Column<Row> => ({
	title,
	right: false,
	cell,
	style,
});
/** A column of numbers. */
export const right = <Row>(title: string, cell: Column<Row>["cell"]): Column<Row> => ({ title, right: true, cell });

/** Text that a provider chose, made harmless for a terminal and short. */
export function shown(text: string, maxChars = 40): string {
	return printable(safeText(text), maxChars);
}

const asIs = (text: string) => text;

/** Without rows `none`, or only its header. */
export function table<Row>(
	columns: readonly Column<Row>[],
	rows: readonly Row[],
	paint: Paint,
	none: string | null = null,
): string {
	if (rows.length === 0 && none !== null) return `  ${none}`;
	const cells = rows.map((row) => columns.map(({ cell }) => cell(row) ?? ""));
	const widths = columns.map(({ title }, i) => Math.max(title.length, ...cells.map((line) => line[i]!.length)));
	const line = (texts: readonly string[], style: (column: number) => (text: string) => string) =>
		`  ${texts
			.map((text, i) => {
				const room = " ".repeat(widths[i]! - text.length);
				return columns[i]!.right ? room + style(i)(text) : style(i)(text) + room;
			})
			.join("  ")}`.trimEnd();
	const titles = columns.map(({ title }) => title);
	return [
		line(titles, () => paint.dim),
		...cells.map((texts, r) => line(texts, (i) => styleOf(columns[i]!.style, rows[r]!, paint))),
	].join("\n");
}

function styleOf<Row>(style: Style<Row> | undefined, row: Row, paint: Paint): (text: string) => string {
	return typeof style === "string" ? paint[style] : (style?.(row, paint) ?? asIs);
}

/** "3 min ago", "in 70 min", "–" for never. */
export function formatAgo(atMs: number | null, nowMs: number): string {
	if (atMs === null) return "–";
	const text = wholeSpan(nowMs - atMs);
	return atMs > nowMs ? `in ${text}` : `${text} ago`;
}

/** "1 probe", "2 probes". */
export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

export const formatPrice = (micros: number) => (micros / 1e6).toFixed(micros % 10_000 === 0 ? 2 : 6);
export const formatScore = (ppm: number | null) => (ppm === null ? "–" : (ppm / 1e6).toFixed(6));
export const shortId = (id: string) => id.slice(0, 12);

export function verdictStyle(verdict: string | null, paint: Paint): (text: string) => string {
	if (verdict === "valid") return paint.good;
	if (verdict === "invalid") return paint.bad;
	return verdict === null ? paint.dim : paint.unsure;
}

/** `format` of a number that may be missing. */
export const orNull = <T>(value: T | null, format: (value: T) => string): string | null =>
	value === null ? null : format(value);

type Proven = Pick<ProviderSummary, "model" | "gpuCount" | "memoryBytes" | "fp16OpsPerS">;

export const cardsColumn: Column<Pick<Proven, "model" | "gpuCount">> = left("proven", ({ model, gpuCount }) =>
	gpuCount === 0 ? "no GPU" : `${gpuCount} × ${shown(model ?? "?", 24)}`,
);
/** What a host has proven, in every list of hosts. */
export const provenColumns: readonly Column<Proven>[] = [
	cardsColumn,
	right("memory", ({ memoryBytes }) => orNull(memoryBytes, formatBytes)),
	right("fp16", ({ fp16OpsPerS }) => orNull(fp16OpsPerS, (value) => formatRate(value, "FLOPS"))),
];
