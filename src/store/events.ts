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

type Listener = (event: StoreEvent | { readonly kind: "missed" }) => void;

/** PostgreSQL takes 8,000 bytes; an event should be a hint what to read, not the thing itself. */
const EVENT_LIMIT_BYTES = 4096;

export function createEvents({ database, channel, onWarning }: StoreContext, onDue: () => void) {
	const listeners = new Set<Listener>();
	const tell: Listener = (event) => {
		for (const listener of [...listeners]) {
			try {
				listener(event);
			} catch (cause) {
				onWarning(`a listener failed: ${(cause as Error).message}`);
			}
		}
	};
	return {
		onPayload(payload: string): void {
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
		onGap(): void {
			onDue();
			tell({ kind: "missed" });
		},
		store: {
			async publish({ kind, subject, atMs, detail }: StoreEvent): Promise<void> {
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
			/**
			 * Every event of every process from now on, this one's too. `missed`: the connection was lost for a
			 * while.
			 */
			subscribe(listener: Listener): () => void {
				listeners.add(listener);
				return () => void listeners.delete(listener);
			},
		},
	};
}

export type EventStore = ReturnType<typeof createEvents>["store"];
