// A table of which only the visible rows are in the document: ten thousand rows scroll like forty. Rows have one height; above and below stand
// two empty rows as high as what is left out. Sorting and loading are the caller's: it is told when the end comes near.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface Column<Row> {
	readonly key: string;
	readonly title: string;
	readonly cell: (row: Row) => ComponentChildren;
	/** Right-aligned, tabular. */
	readonly isNumber?: boolean;
	/** Left out on narrow screens. */
	readonly isMinor?: boolean;
	readonly canSort?: boolean;
}

export interface Sort {
	readonly key: string;
	readonly descending: boolean;
}

const ROW_PX = 40;
const SPARE_ROWS = 12;

export function WindowedTable<Row>(p: {
	label: string;
	rows: readonly Row[];
	rowKey: (row: Row) => string;
	columns: readonly Column<Row>[];
	sort?: Sort;
	onSort?: (sort: Sort) => void;
	/** The last rows are near. */
	onNearEnd?: () => void;
	/** More rows than these may follow. */
	hasMore?: boolean;
	descendingFirst?: (key: string) => boolean;
}) {
	const box = useRef<HTMLElement>(null);
	const [view, setView] = useState({ top: 0, height: 800 });
	useEffect(() => {
		const element = box.current;
		if (element === null) return;
		let asked = 0;
		const look = () => {
			asked ||= requestAnimationFrame(() => {
				asked = 0;
				setView({ top: element.scrollTop, height: element.clientHeight });
			});
		};
		look();
		element.addEventListener("scroll", look, { passive: true });
		const resized = new ResizeObserver(look);
		resized.observe(element);
		return () => {
			cancelAnimationFrame(asked);
			element.removeEventListener("scroll", look);
			resized.disconnect();
		};
	}, []);
	const first = Math.max(0, Math.min(p.rows.length, Math.floor(view.top / ROW_PX)) - SPARE_ROWS);
	const last = Math.min(p.rows.length, Math.ceil((view.top + view.height) / ROW_PX) + SPARE_ROWS);
	const { onNearEnd, hasMore } = p;
	useEffect(() => {
		if (hasMore && last >= p.rows.length - 2 * SPARE_ROWS) onNearEnd?.();
	}, [last, p.rows.length, hasMore, onNearEnd]);
	const spacer = (rows: number) =>
		rows === 0 ? null : (
			// biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it can have the focus.
			<tr aria-hidden="true" class="spacer">
				<td colSpan={p.columns.length} style={{ height: `${rows * ROW_PX}px` }} />
			</tr>
		);
	return (
		// biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard.
		<section class="table-box" ref={box} tabIndex={0} aria-label={p.label}>
			<table aria-rowcount={p.hasMore ? -1 : p.rows.length + 1}>
				<thead>
					<tr>
						{p.columns.map((column) => {
							const isSorted = p.sort?.key === column.key;
							const order = isSorted ? (p.sort?.descending ? "descending" : "ascending") : undefined;
							return (
								<th
									key={column.key}
									scope="col"
									class={classOf(column)}
									aria-sort={column.canSort ? (order ?? "none") : undefined}
								>
									{column.canSort ? (
										<button
											type="button"
											class="sort"
											onClick={() =>
												p.onSort?.({
													key: column.key,
													descending: isSorted ? !p.sort?.descending : (p.descendingFirst?.(column.key) ?? false),
												})
											}
										>
											{column.title}
											<span aria-hidden="true" class="sort-mark">
												{order === undefined ? "" : order === "descending" ? " ↓" : " ↑"}
											</span>
										</button>
									) : (
										column.title
									)}
								</th>
							);
						})}
					</tr>
				</thead>
				<tbody>
					{spacer(first)}
					{p.rows.slice(first, last).map((row, i) => (
						<tr key={p.rowKey(row)} aria-rowindex={first + i + 2}>
							{p.columns.map((column) => (
								<td key={column.key} class={classOf(column)}>
									{column.cell(row)}
								</td>
							))}
						</tr>
					))}
					{spacer(p.rows.length - last)}
				</tbody>
			</table>
		</section>
	);
}

function classOf({ isNumber, isMinor }: { isNumber?: boolean; isMinor?: boolean }): string {
	return `${isNumber ? "num" : ""} ${isMinor ? "minor" : ""}`.trim();
}
