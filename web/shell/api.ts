// The API as the dashboard uses it: one client for reads, one stream of events for all pages, and a hook that
// loads, keeps and reloads.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { createApiClient } from "../../src/api/create-client.ts";
import type { NetworkEvent } from "../../src/api/types.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";

export const api = createApiClient({ baseUrl: location.origin, retries: 1 });

export interface Trouble {
	readonly code: string;
	readonly detail: string;
	readonly hint: string;
}

export function troubleOf(error: unknown): Trouble {
	if (error instanceof AssayError) return { code: error.code, detail: error.message, hint: error.hint ?? "" };
	return { code: "INTERNAL", detail: error instanceof Error ? error.message : "unknown", hint: "" };
}

export interface Loaded<T> {
	readonly value: T | null;
	readonly trouble: Trouble | null;
	readonly busy: boolean;
	readonly reload: () => void;
}

/** What `load` gives for `key`; the value of the same key stays while it is loaded again. */
export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
	const [state, setState] = useState<{ key: string; value: T | null; trouble: Trouble | null; busy: boolean }>({
		key,
		value: null,
		trouble: null,
		busy: true,
	});
	const [turn, setTurn] = useState(0);
	const loading = useRef(load);
	loading.current = load;
	useEffect(() => {
		const stop = new AbortController();
		setState((before) =>
			before.key === key ? { ...before, busy: true } : { key, value: null, trouble: null, busy: true },
		);
		loading.current(stop.signal).then(
			(value) => stop.signal.aborted || setState({ key, value, trouble: null, busy: false }),
			(error) =>
				stop.signal.aborted ||
				setState((before) => ({
					key,
					value: before.key === key ? before.value : null,
					trouble: troubleOf(error),
					busy: false,
				})),
		);
		return () => stop.abort();
	}, [key, turn]);
	const reload = useCallback(() => setTurn((n) => n + 1), []);
	const shown = state.key === key ? state : { value: null, trouble: null, busy: true };
	return { value: shown.value, trouble: shown.trouble, busy: shown.busy, reload };
}

export type LiveState = "connecting" | "live" | "broken";
const heard = new Set<(event: NetworkEvent) => void>();
const watched = new Set<(state: LiveState) => void>();
let live: LiveState = "connecting";

function setLive(state: LiveState): void {
	live = state;
	for (const watcher of [...watched]) watcher(state);
}

const RETRY_MS = 3000;
let wake = () => {};
/** Instead of waiting for the next try. */
export const retryNow = () => wake();

/** Once, for the whole visit. A stream that breaks is opened again; pages reload on `missed`. */
export async function followNetwork(): Promise<never> {
	let isBack = false;
	for (;;) {
		try {
			const health = await api.health();
			if (health.ok) setLive("live");
			// Only now: whoever was told to read again would have read from nobody before.
			if (isBack) tellGap();
			isBack = true;
			for await (const event of api.watchEvents()) {
				if (live !== "live") setLive("live");
				for (const listener of [...heard]) listener(event);
			}
		} catch {
			setLive("broken");
		}
		await new Promise<void>((resolve) => {
			const timer = setTimeout(resolve, RETRY_MS);
			wake = () => {
				clearTimeout(timer);
				resolve();
			};
		});
	}
}

function tellGap(): void {
	const gap = { id: "gap", atMs: Date.now(), kind: "missed", subject: "", providerId: null, detail: {} };
	for (const listener of [...heard]) listener(gap);
}

export function useLive(): LiveState {
	const [state, setState] = useState(live);
	useEffect(() => {
		watched.add(setState);
		return () => void watched.delete(setState);
	}, []);
	return state;
}

export function useEvents(listener: (event: NetworkEvent) => void): void {
	const latest = useRef(listener);
	latest.current = listener;
	useEffect(() => {
		const hear = (event: NetworkEvent) => latest.current(event);
		heard.add(hear);
		return () => void heard.delete(hear);
	}, []);
}

/** Calls `reload` when something happened that `concerns` this page, at most once in `everyMs`. */
export function useReloadOn(concerns: (event: NetworkEvent) => boolean, reload: () => void, everyMs = 1000): void {
	const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
	useEvents((event) => {
		if (timer.current !== null || !(event.kind === "missed" || concerns(event))) return;
		timer.current = setTimeout(() => {
			timer.current = null;
			reload();
		}, everyMs);
	});
	useEffect(
		() => () => {
			if (timer.current !== null) clearTimeout(timer.current);
			timer.current = null;
		},
		[],
	);
}

const clocks = new Map<
	number,
	{ readonly listeners: Set<(nowMs: number) => void>; readonly timer: ReturnType<typeof setInterval> }
>();

/**
 * The time, again every `everyMs`: for times that are shown relative to now. One timer for all that ask for
 * the same.
 */
export function useNow(everyMs = 1000): number {
	const [now, setNow] = useState(() => Date.now());
	useEffect(() => {
		let clock = clocks.get(everyMs);
		if (clock === undefined) {
			const listeners = new Set<(nowMs: number) => void>();
			const timer = setInterval(() => {
				const nowMs = Date.now();
				for (const listener of listeners) listener(nowMs);
			}, everyMs);
			clock = { listeners, timer };
			clocks.set(everyMs, clock);
		}
		const { listeners, timer } = clock;
		listeners.add(setNow);
		return () => {
			listeners.delete(setNow);
			if (listeners.size > 0) return;
			clearInterval(timer);
			clocks.delete(everyMs);
		};
	}, [everyMs]);
	return now;
}
