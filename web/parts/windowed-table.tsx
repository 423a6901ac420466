// A table, on phones a list of cards, of which only the visible rows are in the document: ten thousand rows
// scroll like forty. Rows have one height; above and below stand two empty rows as high as what is left out.
// Sorting is the caller's; further pages are asked for when the end comes near.
//
// What keeps a frame short: columns have fixed widths, so that laying out a row asks nothing of the others;
// the window moves by whole steps, so that most scrolling changes no row at all; and a row is made again only
// when it is another one. Cards have one height, too; the page scrolls them, not a box in it.
import type { ComponentChildren, JSX } from "preact";
import { memo } from "preact/compat";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Paged } from "../shell/paged.ts";
import { Pending } from "./small.tsx";

export interface Column<Row> extends ColumnStyle {
	readonly key: string;
	readonly title: string;
	/** Of its content, padding not counted; what is left over is spread. */
	readonly widthRem: number;
	readonly cell: (row: Row) => ComponentChildren;
}

interface ColumnStyle {
	/** Right-aligned, tabular. */
	readonly isNumber?: boolean;
	/** Left out on narrow screens. */
	readonly isMinor?: boolean;
	readonly canSort?: boolean;
	/** Its width on narrow screens, where that is another one. */
	readonly narrowRem?: number;
}

export const column = <Row,>(
	key: string,
	title: string,
	widthRem: number,
	cell: (row: Row) => ComponentChildren,
	style: ColumnStyle = {},
): Column<Row> => ({ key, title, widthRem, cell, ...style });

export interface Sort {
	readonly key: string;
	readonly descending: boolean;
}

const ROW_PX = 40;
const SPARE_ROWS = 8;
/** The window begins at a multiple of it. */
const STEP_ROWS = 4;

interface View {
	readonly first: number;
	readonly last: number;
}

/** Which rows are in the document, where so much of them is scrolled away. */
function windowOf(o: { readonly rowPx: number; readonly topPx: number; readonly heightPx: number }): View {
	const above = Math.floor(o.topPx / o.rowPx) - SPARE_ROWS;
	const below = Math.ceil((o.topPx + o.heightPx) / o.rowPx) + SPARE_ROWS;
	const first = Math.max(0, Math.floor(above / STEP_ROWS) * STEP_ROWS);
	return { first, last: Math.ceil(below / STEP_ROWS) * STEP_ROWS };
}

/** The window of a box that scrolls, or of a list that the page scrolls, looked at once a frame. */
function useWindow(box: { readonly current: HTMLElement | null }, rowPx: number, isPages: boolean): View {
	const [view, setView] = useState(() => windowOf({ rowPx, topPx: 0, heightPx: 800 }));
	useEffect(() => {
		const element = box.current;
		if (element === null) return;
		let asked = 0;
		const look = () => {
			asked ||= requestAnimationFrame(() => {
				asked = 0;
				const topPx = isPages ? Math.max(0, -element.getBoundingClientRect().top) : element.scrollTop;
				const next = windowOf({ rowPx, topPx, heightPx: isPages ? innerHeight : element.clientHeight });
				setView((before) => (before.first === next.first && before.last === next.last ? before : next));
			});
		};
		look();
		const scrolled = isPages ? window : element;
		scrolled.addEventListener("scroll", look, { passive: true });
		const resized = new ResizeObserver(look);
		resized.observe(element);
		return () => {
			cancelAnimationFrame(asked);
			scrolled.removeEventListener("scroll", look);
			resized.disconnect();
		};
	}, [rowPx, isPages]);
	return view;
}

interface Sorting {
	sort?: Sort;
	onSort?: (sort: Sort) => void;
	descendingFirst?: (key: string) => boolean;
}

interface TableOf<Row> extends Sorting {
	of: Paged<Row>;
	label: string;
	rowKey: (row: Row) => string;
	columns: readonly Column<NoInfer<Row>>[];
	/**
	 * What stands for a row on a phone, and its whole height. Without it a phone has the table, less its minor
	 * columns.
	 */
	card?: { readonly heightPx: number; readonly of: (row: NoInfer<Row>) => JSX.Element };
}

/** The rows of a paged route; while there are none, why. */
export function PagedTable<Row>(
	p: TableOf<Row> & {
		what: string;
		lines?: number;
		/** In the place of the table when there is no row at all. */
		empty: JSX.Element;
		/** Rows that are there stay when asking for them again fails. */
		keepsRows?: boolean;
	},
) {
	const { rows, trouble, isFirst } = p.of;
	const isNarrow = useNarrow();
	if (isFirst || (trouble !== null && !(p.keepsRows && rows.length > 0)))
		return <Pending of={p.of} what={p.what} lines={p.lines} />;
	if (rows.length === 0) return p.empty;
	return p.card !== undefined && isNarrow ? <WindowedCards {...p} card={p.card} /> : <WindowedTable {...p} />;
}

/** As the style sheets have it. */
function useNarrow(): boolean {
	const [query] = useState(() => matchMedia("(max-width: 720px)"));
	const [isNarrow, setNarrow] = useState(query.matches);
	useEffect(() => {
		const look = () => setNarrow(query.matches);
		query.addEventListener("change", look);
		return () => query.removeEventListener("change", look);
	}, [query]);
	return isNarrow;
}

/** The part of the rows that is in the document; further pages are asked for near its end. */
function useRows<Row>({ rows, hasMore, more }: Paged<Row>, view: View): View {
	// Fewer rows than the window was made for (a filter): the last ones, until the box has scrolled up by
	// itself.
	const last = Math.min(rows.length, view.last);
	const first = Math.min(view.first, Math.max(0, last - (view.last - view.first)));
	useEffect(() => {
		if (hasMore && last >= rows.length - 2 * SPARE_ROWS) more();
	}, [last, rows.length, hasMore, more]);
	return { first, last };
}

function WindowedCards<Row>(p: TableOf<Row> & { card: NonNullable<TableOf<Row>["card"]> }) {
	const { rows, hasMore } = p.of;
	const box = useRef<HTMLElement>(null);
	const { first, last } = useRows(p.of, useWindow(box, p.card.heightPx, true));
	const sortable = p.columns.filter(({ canSort }) => canSort);
	const px = (count: number) => ({ height: `${count * p.card.heightPx}px` });
	return (
		<section ref={box} aria-label={p.label}>
			{sortable.length === 0 || p.onSort === undefined ? null : (
				<label class="sort-by">
					Sort by
					<select
						value={p.sort?.key}
						onChange={({ currentTarget: { value: key } }) =>
							p.onSort?.({ key, descending: p.descendingFirst?.(key) ?? false })
						}
					>
						{sortable.map(({ key, title }) => (
							<option key={key} value={key}>
								{title}
							</option>
						))}
					</select>
				</label>
			)}
			{first === 0 ? null : <div style={px(first)} />}
			<ul class="cards">
				{rows.slice(first, last).map((row, i) => (
					<li key={p.rowKey(row)} style={px(1)} aria-posinset={first + i + 1} aria-setsize={hasMore ? -1 : rows.length}>
						<div class="card">{p.card.of(row)}</div>
					</li>
				))}
			</ul>
			{rows.length === last ? null : <div style={px(rows.length - last)} />}
		</section>
	);
}

function WindowedTable<Row>(p: TableOf<Row>) {
	const { rows, hasMore } = p.of;
	const box = useRef<HTMLElement>(null);
	const { first, last } = useRows(p.of, useWindow(box, ROW_PX, false));
	const spacer = (count: number) =>
		count === 0 ? null : (
			// biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it can have the focus.
			<tr aria-hidden="true" class="spacer">
				<td colSpan={p.columns.length} style={{ height: `${count * ROW_PX}px` }} />
			</tr>
		);
	return (
		// biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard.
		<section class="table-box" ref={box} tabIndex={0} aria-label={p.label}>
			<table aria-rowcount={hasMore ? -1 : rows.length + 1}>
				<colgroup>
					{p.columns.map((column) => (
						<col key={column.key} class={column.isMinor ? "minor" : ""} style={widthOf(column)} />
					))}
				</colgroup>
				<thead>
					<tr>
						{p.columns.map((column) => (
							<HeadCell key={column.key} column={column} {...p} />
						))}
					</tr>
				</thead>
				<tbody>
					{spacer(first)}
					{rows.slice(first, last).map((row, i) => (
						<Row key={p.rowKey(row)} row={row} index={first + i} columns={p.columns as readonly Column<unknown>[]} />
					))}
					{spacer(rows.length - last)}
				</tbody>
			</table>
		</section>
	);
}

function HeadCell<Row>({ column, sort, onSort, descendingFirst }: { column: Column<Row> } & Sorting) {
	const isSorted = sort?.key === column.key;
	const order = isSorted ? (sort?.descending ? "descending" : "ascending") : undefined;
	const next = { key: column.key, descending: isSorted ? !sort?.descending : (descendingFirst?.(column.key) ?? false) };
	return (
		<th scope="col" class={classOf(column)} aria-sort={column.canSort ? (order ?? "none") : undefined}>
			{column.canSort ? (
				<button type="button" class="sort" onClick={() => onSort?.(next)}>
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
}

const Row = memo(function Row(p: { row: unknown; index: number; columns: readonly Column<unknown>[] }) {
	return (
		<tr aria-rowindex={p.index + 2}>
			{p.columns.map((column) => (
				<td key={column.key} class={classOf(column)}>
					{column.cell(p.row)}
				</td>
			))}
		</tr>
	);
});

/** As variables: which of the two holds is the style sheet's. */
const widthOf = ({ widthRem, narrowRem = widthRem }: Column<never>) => ({
	"--wide": `${widthRem}rem`,
	"--narrow": `${narrowRem}rem`,
});

function classOf({ isNumber, isMinor }: { isNumber?: boolean; isMinor?: boolean }): string {
	return `${isNumber ? "num" : ""} ${isMinor ? "minor" : ""}`.trim();
}
