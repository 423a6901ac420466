// Everything that happens in the network, told to whoever listens at any process: one way in (the store's notifications, which bring this
// process's own events back too) and many ways out (event streams of the API, the validator itself). Nothing here is durable: the database
// has what is true, an event only says that something may be worth reading again.

import type { NetworkEvent } from "../api/types.ts";
import type { Json } from "../protocol/bytes/canonical-json.ts";
import type { EventStore, StoreEvent } from "../store/events.ts";
import { createProbeHistory } from "./probing/probe-history.ts";

/** Public: no customer, no access, no secret may stand in `detail`. Integers and strings only, some 3 KiB at most. */
interface Told {
	readonly kind: string;
	readonly subject: string;
	readonly providerId: string | null;
	readonly detail: Json;
}

interface WatchOptions {
	readonly wants: (event: NetworkEvent) => boolean;
	/** Go on after this one, if it is still remembered. */
	readonly after: string | null;
	readonly signal: AbortSignal;
	/** Begin with what has happened of this probe, unless the stream goes on after an event that is remembered. */
	readonly probe?: string;
	/** True after an event that ends the stream. */
	readonly last?: (event: NetworkEvent) => boolean;
}

export interface EventHub {
	/** Never throws and never waits: an event that cannot be told is lost, and counted. */
	tell(event: Told): void;
	/** What is public. */
	watch(o: WatchOptions): AsyncIterable<NetworkEvent>;
	/** What has happened of a probe, as far as it is remembered. */
	historyOf(probeId: string): readonly NetworkEvent[];
	/** For the validator itself. Returns how to stop listening. */
	listen(listener: (event: NetworkEvent) => void): () => void;
	/** Waits for what was told so far to be sent. */
	flush(): Promise<void>;
	close(): void;
}

/** Between the parts of validators: gates of groups, questions to other processes' agents. Answers there hold access to hosts. */
const isInternal = ({ kind }: { readonly kind: string }) =>
	kind.startsWith("internal.") || kind.startsWith("together.");

/** Remembered for streams that come back: some minutes of a busy network. */
const REMEMBERED = 2000;
/** A stream that is not read is ended rather than let it fill the memory. */
const MAX_UNREAD = 5000;
const MAX_UNSENT = 5000;

export function createEventHub(o: {
	readonly events: EventStore;
	/** Lower-case hex or the like: the first part of every id that this process gives. */
	readonly process: string;
	readonly nowMs: () => number;
	readonly onLost?: (error: unknown) => void;
}): EventHub {
	const prefix = o.process.replace(/[^A-Za-z0-9_-]/g, "").slice(0, 32) || "p";
	const remembered: NetworkEvent[] = [];
	const history = createProbeHistory();
	const listeners = new Set<(event: NetworkEvent) => void>();
	/** One after the other: several connections at once would tell them in another order. */
	let sending: Promise<void> = Promise.resolve();
	let unsent = 0;
	let count = 0;

	const unsubscribe = o.events.subscribe((event) => {
		const seen = isStored(event)
			? fromStored(event)
			: { kind: "missed", subject: "", providerId: null, detail: {}, atMs: o.nowMs() };
		const numbered: NetworkEvent = { id: `${prefix}:${++count}`, ...seen } as NetworkEvent;
		if (!isInternal(numbered)) {
			remembered.push(numbered);
			history.see(numbered);
			if (remembered.length > REMEMBERED) remembered.splice(0, remembered.length - REMEMBERED);
		}
		for (const listener of [...listeners]) listener(numbered);
	});

	/** Null: not remembered, or of another process; then the stream begins with what comes. */
	function since(after: string | null): readonly NetworkEvent[] | null {
		const at = after === null ? -1 : remembered.findIndex(({ id }) => id === after);
		return at < 0 ? null : remembered.slice(at + 1);
	}

	return {
		tell({ kind, subject, providerId, detail }) {
			const stored: StoreEvent = { kind, subject, atMs: o.nowMs(), detail: { providerId, detail } };
			// A database that does not keep up must not make this process grow.
			if (unsent >= MAX_UNSENT) return o.onLost?.(new Error("too many events wait to be told"));
			unsent += 1;
			sending = sending
				.then(() => o.events.publish(stored))
				.catch((error) => o.onLost?.(error))
				.finally(() => {
					unsent -= 1;
				});
		},
		listen(listener) {
			listeners.add(listener);
			return () => listeners.delete(listener);
		},
		historyOf: (probeId) => history.of(probeId),
		watch({ wants, after, signal, last, probe }) {
			const before = since(after) ?? (probe === undefined ? [] : history.of(probe));
			const unread: NetworkEvent[] = before.filter(wants);
			let wake = () => {};
			let overrun = false;
			const listener = (event: NetworkEvent) => {
				if (isInternal(event) || !wants(event)) return;
				if (unread.length >= MAX_UNREAD) overrun = true;
				else unread.push(event);
				wake();
			};
			const stop = () => {
				listeners.delete(listener);
				wake();
			};
			// From now on, not from the first read on: whoever looks at the database in between misses nothing.
			listeners.add(listener);
			signal.addEventListener("abort", stop, { once: true });
			if (signal.aborted) stop();
			async function* read() {
				try {
					while (!signal.aborted && !overrun) {
						const event = unread.shift();
						if (event === undefined) {
							await new Promise<void>((resolve) => {
								wake = resolve;
								if (signal.aborted || unread.length > 0) resolve();
							});
							continue;
						}
						yield event;
						if (last?.(event)) return;
					}
				} finally {
					listeners.delete(listener);
					signal.removeEventListener("abort", stop);
				}
			}
			return read();
		},
		flush: () => sending,
		close: unsubscribe,
	};
}

function isStored(event: StoreEvent | { readonly kind: "missed" }): event is StoreEvent {
	return "subject" in event;
}

/** Another process, perhaps of another version, wrote it: what does not fit is shown as it can be. */
function fromStored({ kind, subject, atMs, detail }: StoreEvent): Omit<NetworkEvent, "id"> {
	const told = (typeof detail === "object" && detail !== null && !Array.isArray(detail) ? detail : {}) as {
		readonly [key: string]: Json;
	};
	const providerId = typeof told.providerId === "string" ? told.providerId : null;
	return { kind, subject, atMs, providerId, detail: (told.detail ?? {}) as NetworkEvent["detail"] };
}
