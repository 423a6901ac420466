// One connection that listens for notifications, and comes back when it was lost. What happened in between is
// gone: `onGap` says so.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

export interface ListenerOptions {
	readonly channel: string;
	/** A new one, not connected yet. */
	readonly connection: () => pg.Client;
	/** Called before each new attempt: brings a server back that is gone. */
	readonly revive: () => Promise<void>;
	readonly onPayload: (payload: string) => void;
	/** Some notifications may have been missed. */
	readonly onGap: () => void;
	readonly onWarning: (message: string) => void;
	/** Between two questions whether the server is still there: nothing else is said over the line. */
	readonly beatMs: number;
}

const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 5000;

/** Resolves when it listens. Returns how to end it. */
export async function listen(o: ListenerOptions): Promise<() => Promise<void>> {
	let closed = false;
	let current: pg.Client | null = null;

	async function establish(): Promise<void> {
		const client = o.connection();
		let gone = false;
		const onGone = () => {
			gone = true;
			if (current !== client) return;
			current = null;
			void client.end().catch(() => {});
			void again();
		};
		client.on("error", onGone);
		client.on("end", onGone);
		client.on("notification", ({ payload }) => o.onPayload(payload ?? ""));
		try {
			await client.connect();
			await client.query(`LISTEN ${pg.escapeIdentifier(o.channel)}`);
			if (gone || closed) throw new Error("the connection was closed");
			current = client;
		} catch (cause) {
			await client.end().catch(() => {});
			throw cause;
		}
	}

	async function again(): Promise<void> {
		if (closed) return;
		o.onWarning("the connection that listens for notifications was lost; connecting again");
		for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
			await sleep(waitMs, undefined, { ref: false });
			if (closed) return;
			try {
				await o.revive();
				await establish();
				o.onGap();
				return;
			} catch {
				// The server is away for longer; polling goes on meanwhile.
			}
		}
	}

	await establish();
	const beating = setInterval(() => {
		const client = current;
		client?.query("SELECT 1").catch((cause: Error) => client.emit("error", cause));
	}, o.beatMs);
	return async () => {
		closed = true;
		clearInterval(beating);
		await current?.end().catch(() => {});
	};
}
