// Two sets of proven figures side by side, with their ratio: `assay probe --compare FILE`. Pure.

import type { Figure } from "../../protocol/probe/evidence.ts";
import { bestFigures } from "../../verify/hardware/best-figures.ts";
import { figureLabel } from "./figures.ts";
import { formatFigure } from "./format.ts";
import type { Paint } from "./paint.ts";
import { type Column, left, orNull, table } from "./table.ts";

export interface ComparedFigure {
	readonly device: number;
	readonly name: string;
	readonly unit: string;
	/** null: not proven there. */
	readonly before: number | null;
	readonly now: number | null;
	/** now ÷ before. */
	readonly ratio: number | null;
}

/** Matched by device number and name; of several with one name the best on each side. */
export function compareFigures(before: readonly Figure[], now: readonly Figure[]): ComparedFigure[] {
	const key = (f: { readonly device: number; readonly name: string }) => `${f.device} ${f.name}`;
	const devices = [...new Set([...now, ...before].map((f) => f.device))].sort((a, b) => a - b);
	const bestOf = (figures: readonly Figure[]) =>
		new Map(
			devices.flatMap((device) => bestFigures(figures.filter((f) => f.device === device))).map((f) => [key(f), f]),
		);
	const [was, is] = [bestOf(before), bestOf(now)];
	return [...new Map([...is, ...was]).values()]
		.sort((a, b) => a.device - b.device)
		.map(({ device, name, unit }) => {
			const b = was.get(key({ device, name }))?.value ?? null;
			const n = is.get(key({ device, name }))?.value ?? null;
			return { device, name, unit, before: b, now: n, ratio: b === null || n === null || b === 0 ? null : n / b };
		});
}

const show = (value: number | null, { name, unit }: ComparedFigure) =>
	value === null ? "–" : formatFigure({ name, value, unit });

const columns: readonly Column<ComparedFigure>[] = [
	left("", ({ device }) => `device ${device}`),
	left("", ({ name }) => figureLabel(name)),
	left("before", (row) => show(row.before, row)),
	left("now", (row) => show(row.now, row)),
	left("", ({ ratio }) => orNull(ratio, (value) => `× ${value.toFixed(3)}`)),
];

export const comparisonTable = (rows: readonly ComparedFigure[], paint: Paint): string => table(columns, rows, paint);
