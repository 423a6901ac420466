// Events across processes by NOTIFY: small, not stored, told to whoever listens at that moment. The same
// channel wakes those who take due probes.
import { AssayError } from "../protocol/assay-error.ts";
import type { Json } from "../protocol/bytes/canonical-json.ts";
import { integer, json, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";

/** Small (canonical JSON of at most 4 KiB), told to all processes; not stored. */
export interface StoreEvent {
	/** "probe", "provider", "rental", … */
	readonly kind: string;
	readonly subject: string;
	readonly atMs: number;
	readonly detail: Json;
}

export interface EventStore {
	publish(event: StoreEvent): Promise<void>;
	/** Every event of every process from now on, this one's too. `missed`: the connection was lost for a while. */
	subscribe(listener: (event: StoreEvent | { readonly kind: "missed" }) => void): () => void;
}

/** PostgreSQL takes 8,000 bytes; an event should be a hint what to read, not the thing itself. */
const EVENT_LIMIT_BYTES = 4096;

export interface Events {
	readonly store: EventStore;
	onPayload(payload: string): void;
	onGap(): void;
}

export function createEvents({ database, channel, onWarning }: StoreContext, onDue: () => void): Events {
	const listeners = new Set<Parameters<EventStore["subscribe"]>[0]>();
	const tell = (event: StoreEvent | { readonly kind: "missed" }): void => {
		for (const listener of [...listeners]) {
			try {
				listener(event);
			} catch (cause) {
				onWarning(`a listener failed: ${(cause as Error).message}`);
			}
		}
	};
	return {
		onPayload(payload) {
			// Anyone with the database's password can notify; what is not ours is left aside.
			let event: { readonly kind?: unknown };
			try {
				event = JSON.parse(payload);
			} catch {
				return;
			}
			if (event.kind === "due") onDue();
			else if (event.kind === "event") tell((event as { readonly event: StoreEvent }).event);
		},
		onGap() {
			onDue();
			tell({ kind: "missed" });
		},
		store: {
			async publish({ kind, subject, atMs, detail }) {
				const event = {
					kind: text("an event's kind", kind, 100),
					subject: text("an event's subject", subject, 200),
					atMs: integer("an event's time", atMs),
					detail,
				};
				const payload = json("an event", { kind: "event", event });
				if (Buffer.byteLength(payload) > EVENT_LIMIT_BYTES)
					throw new AssayError("STORE_INPUT", `an event has at most ${EVENT_LIMIT_BYTES} bytes`);
				await database.query("SELECT pg_notify($1, $2)", [channel, payload]);
			},
			subscribe(listener) {
				listeners.add(listener);
				return () => void listeners.delete(listener);
			},
		},
	};
}
