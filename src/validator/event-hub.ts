// Everything that happens in the network, told to whoever listens at any process: one way in (the store's
// notifications, which bring this process's own events back too) and many ways out (event streams of the API,
// the validator itself). Nothing here is durable: the database has what is true, an event only says that
// something may be worth reading again.

import type { NetworkEvent } from "../api/types.ts";
import type { Json } from "../protocol/bytes/canonical-json.ts";
import type { EventStore, StoreEvent } from "../store/events.ts";
import { createProbeHistory } from "./probing/probe-history.ts";

/** Public: no customer, access or secret in `detail`. Integers and strings, some 3 KiB at most. */
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
	/** Begin with this probe's history, unless the stream goes on after a remembered event. */
	readonly probe?: string;
	/** True after an event that ends the stream. */
	readonly last?: (event: NetworkEvent) => boolean;
}

/** Between parts of validators: gates of groups, questions to agents (answers hold access to hosts). */
const isInternal = ({ kind }: { readonly kind: string }) =>
	kind.startsWith("internal.") || kind.startsWith("together.");

/** Remembered for streams that come back: some minutes of a busy network. */
const REMEMBERED = 2000;
/** A stream that is not read is ended rather than let it fill the memory. */
const MAX_UNREAD = 5000;
const MAX_UNSENT = 5000;

interface EventHubOptions {
	readonly events: EventStore;
	/** Lower-case hex or the like: the first part of every id that this process gives. */
	readonly process: string;
	readonly nowMs: () => number;
	readonly onLost?: (error: unknown) => void;
}

type Listener = (event: NetworkEvent) => void;

export class EventHub {
	private readonly options: EventHubOptions;
	private readonly remembered: NetworkEvent[] = [];
	private readonly history = createProbeHistory();
	private readonly listeners = new Set<Listener>();
	private readonly unsubscribe: () => void;
	/** One after the other: several connections at once would tell them in another order. */
	private sending: Promise<void> = Promise.resolve();
	private unsent = 0;

	constructor(options: EventHubOptions) {
		this.options = options;
		const prefix = options.process.replace(/[^A-Za-z0-9_-]/g, "").slice(0, 32) || "p";
		let count = 0;
		this.unsubscribe = options.events.subscribe((event) => {
			const seen = isStored(event)
				? fromStored(event)
				: { kind: "missed", subject: "", providerId: null, detail: {}, atMs: options.nowMs() };
			this.take({ id: `${prefix}:${++count}`, ...seen } as NetworkEvent);
		});
	}

	/** Never throws and never waits: an event that cannot be told is lost, and counted. */
	tell({ kind, subject, providerId, detail }: Told): void {
		const { events, nowMs, onLost } = this.options;
		const stored: StoreEvent = { kind, subject, atMs: nowMs(), detail: { providerId, detail } };
		// A database that does not keep up must not make this process grow.
		if (this.unsent >= MAX_UNSENT) {
			onLost?.(new Error("too many events wait to be told"));
			return;
		}
		this.unsent += 1;
		this.sending = this.sending
			.then(() => events.publish(stored))
			.catch((error) => onLost?.(error))
			.finally(() => {
				this.unsent -= 1;
			});
	}

	/** For the validator itself. Returns how to stop listening. */
	listen(listener: Listener): () => void {
		this.listeners.add(listener);
		return () => this.listeners.delete(listener);
	}

	/** What has happened of a probe, as far as it is remembered. */
	historyOf(probeId: string): readonly NetworkEvent[] {
		return this.history.of(probeId);
	}

	/** What is public; from now on, not from the first read on, so that nobody misses anything in between. */
	watch({ wants, after, signal, last, probe }: WatchOptions): AsyncIterable<NetworkEvent> {
		const before = this.since(after) ?? (probe === undefined ? [] : this.history.of(probe));
		const unread: NetworkEvent[] = before.filter(wants);
		let wake = () => {};
		let isOverrun = false;
		const unlisten = this.listen((event) => {
			if (isInternal(event) || !wants(event)) return;
			if (unread.length >= MAX_UNREAD) isOverrun = true;
			else unread.push(event);
			wake();
		});
		const stop = () => {
			unlisten();
			wake();
		};
		signal.addEventListener("abort", stop, { once: true });
		if (signal.aborted) stop();
		async function* read() {
			try {
				while (!signal.aborted && !isOverrun) {
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
				unlisten();
				signal.removeEventListener("abort", stop);
			}
		}
		return read();
	}

	/** Waits for what was told so far to be sent. */
	flush(): Promise<void> {
		return this.sending;
	}

	close(): void {
		this.unsubscribe();
	}

	private take(event: NetworkEvent): void {
		if (!isInternal(event)) {
			this.remembered.push(event);
			this.history.see(event);
			if (this.remembered.length > REMEMBERED) this.remembered.splice(0, this.remembered.length - REMEMBERED);
		}
		for (const listener of [...this.listeners]) listener(event);
	}

	/** Null: not remembered, or of another process; then the stream begins with what comes. */
	private since(after: string | null): readonly NetworkEvent[] | null {
		const at = after === null ? -1 : this.remembered.findIndex(({ id }) => id === after);
		return at < 0 ? null : this.remembered.slice(at + 1);
	}
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
