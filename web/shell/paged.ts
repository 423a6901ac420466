// Rows of a paged route, page after page as they are needed. A new key begins anew; the rows of the old one
// stay until the first new ones are there, so that typing in a filter never empties the table.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Trouble, troubleOf } from "./api.ts";

export interface Paged<Row> {
	readonly rows: readonly Row[];
	readonly hasMore: boolean;
	readonly busy: boolean;
	/** Nothing has come yet, for any key. */
	readonly isFirst: boolean;
	readonly trouble: Trouble | null;
	readonly more: () => void;
	readonly reload: () => void;
}

/** `page` goes into the query: the cursor, of every page but the first. */
type LoadPage<Row> = (
	page: { cursor?: string },
	signal: AbortSignal,
) => Promise<{ rows: Row[]; cursor: string | null }>;

/** Fast typing asks once. */
const PAUSE_MS = 120;

export function usePaged<Row>(key: string, load: LoadPage<Row>): Paged<Row> {
	const [state, setState] = useState<{
		rows: readonly Row[];
		cursor: string | null;
		busy: boolean;
		isFirst: boolean;
		trouble: Trouble | null;
	}>({
		rows: [],
		cursor: null,
		busy: true,
		isFirst: true,
		trouble: null,
	});
	const loading = useRef(load);
	loading.current = load;
	const current = useRef<{ stop: AbortController; cursor: string | null; busy: boolean }>({
		stop: new AbortController(),
		cursor: null,
		busy: false,
	});
	const [turn, setTurn] = useState(0);
	const ask = useCallback((page: { cursor?: string }) => {
		const run = current.current;
		run.busy = true;
		setState((before) => ({ ...before, busy: true, trouble: null }));
		loading.current(page, run.stop.signal).then(
			({ rows, cursor }) => {
				if (run.stop.signal.aborted) return;
				run.busy = false;
				run.cursor = cursor;
				setState((before) => ({
					rows: page.cursor === undefined ? rows : [...before.rows, ...rows],
					cursor,
					busy: false,
					isFirst: false,
					trouble: null,
				}));
			},
			(error) => {
				if (run.stop.signal.aborted) return;
				run.busy = false;
				run.cursor = null;
				setState((before) => ({ ...before, busy: false, isFirst: false, trouble: troubleOf(error) }));
			},
		);
	}, []);
	const isStarted = useRef(false);
	useEffect(() => {
		const stop = new AbortController();
		current.current = { stop, cursor: null, busy: true };
		const timer = setTimeout(() => ask({}), isStarted.current ? PAUSE_MS : 0);
		isStarted.current = true;
		return () => {
			clearTimeout(timer);
			stop.abort();
		};
	}, [key, turn, ask]);
	const more = useCallback(() => {
		const { cursor, busy } = current.current;
		if (cursor !== null && !busy) ask({ cursor });
	}, [ask]);
	const reload = useCallback(() => setTurn((n) => n + 1), []);
	const { cursor, ...shown } = state;
	return { ...shown, hasMore: cursor !== null, more, reload };
}
