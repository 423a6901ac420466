// Nonces of signed requests, each taken once. Every signed request waits for its own to be durable, so those
// that come while others are on their way go together, in one statement: a busy validator writes as fast as
// its disk, however many ask.
import { integer, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";

interface Nonce {
	readonly key: string;
	readonly nonce: string;
	readonly expiresAtMs: number;
}

interface Asked extends Nonce {
	tell(isFirst: boolean): void;
	fail(error: unknown): void;
}

const MOST_AT_ONCE = 500;

export function createNonceStore({ database }: StoreContext) {
	let waiting: Asked[] = [];
	let isSending = false;

	async function send(all: readonly Asked[]): Promise<void> {
		try {
			const rows = await database.query<{ readonly place: number }>(
				// Of two that are the same in one statement the first is written.
				`WITH asked AS (SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS n (key, nonce, expires_at_ms, place)),
				taken AS (INSERT INTO nonces (key, nonce, expires_at_ms) SELECT key, nonce, expires_at_ms FROM asked ORDER BY place
					ON CONFLICT DO NOTHING RETURNING key, nonce)
				SELECT min(place)::integer AS place FROM asked JOIN taken USING (key, nonce) GROUP BY key, nonce`,
				[all.map(({ key }) => key), all.map(({ nonce }) => nonce), all.map(({ expiresAtMs }) => expiresAtMs)],
			);
			const first = new Set(rows.map(({ place }) => place - 1));
			for (const [i, one] of all.entries()) one.tell(first.has(i));
		} catch (error) {
			for (const one of all) one.fail(error);
		}
	}

	async function sendAll(): Promise<void> {
		isSending = true;
		while (waiting.length > 0) {
			const all = waiting;
			waiting = all.slice(MOST_AT_ONCE);
			await send(all.slice(0, MOST_AT_ONCE));
		}
		isSending = false;
	}

	return {
		/**
		 * True the first time for this key; false ever after, until `expiresAtMs` has passed and it was pruned.
		 */
		async use({ key, nonce, expiresAtMs }: Nonce): Promise<boolean> {
			const checked = {
				...{ key: text("a key", key, 200), nonce: text("a nonce", nonce, 200) },
				expiresAtMs: integer("expiresAtMs", expiresAtMs),
			};
			return await new Promise<boolean>((tell, fail) => {
				waiting.push({ ...checked, tell, fail });
				if (!isSending) void sendAll();
			});
		},
	};
}
