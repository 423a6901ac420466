// Carries out what a game's rules ask for, whatever the game is: local acts (write, fetch, compute) at the
// same time, one for each lane, bounded in number; transactions through the journal, each once, all at the
// same time. Nothing waits for anything else: an act that hangs keeps only its own lane. An act that fails is
// left alone for a while, longer each time. What to do is decided elsewhere, again and again, from what is
// there then.
import type { ChainClient } from "../../chain/node/chain-client.ts";
import { type Intent, type IntentJournal, publish } from "../../chain/sending/publish.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";

export interface LocalAct {
	readonly kind: "local";
	/** Acts of one id are the same act. */
	readonly id: string;
	/** Of two that share one, one runs at a time: for example whom it asks. */
	readonly lane: string;
	run(signal: AbortSignal): Promise<void>;
}

export interface SendAct {
	readonly kind: "send";
	/** Also the intent's in the journal. */
	readonly id: string;
	/** Null: there is nothing to send after all. */
	intent(): Promise<Omit<Intent, "id"> | null>;
	/** It was ours that did it. */
	done?(): void;
	/** It is tried again later, unless this makes that needless. */
	failed?(error: unknown): void;
}

export type Act = LocalAct | SendAct;

export interface PlayerOptions {
	readonly client: ChainClient;
	readonly account: ChainAccount;
	readonly journal: IntentJournal;
	readonly nowMs: () => number;
	readonly onError: (id: string, error: unknown) => void;
	/** Local acts at a time. */
	readonly most?: number;
}

const MOST_AT_ONCE = 64;
const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 30_000;
const MOST_REMEMBERED = 10_000;

export type Player = ReturnType<typeof createPlayer>;

export function createPlayer({ client, account, journal, nowMs, onError, most = MOST_AT_ONCE }: PlayerOptions) {
	const running = new Map<string, Promise<void>>();
	const lanes = new Set<string>();
	const failed = new Map<string, { readonly times: number; readonly untilMs: number }>();
	const stopped = new AbortController();
	let locals = 0;

	async function send(act: SendAct): Promise<void> {
		const intent = await act.intent();
		if (intent === null) return;
		if ((await publish(client, account, journal, { id: act.id, ...intent })) !== null) act.done?.();
	}

	function start(act: Act): void {
		const isLocal = act.kind === "local";
		if (isLocal) {
			locals++;
			lanes.add(act.lane);
		}
		const ended = (isLocal ? act.run(stopped.signal) : send(act))
			.then(
				() => void failed.delete(act.id),
				(error: unknown) => {
					const times = (failed.get(act.id)?.times ?? 0) + 1;
					const waitMs = Math.min(MOST_WAIT_MS, FIRST_WAIT_MS * 2 ** times);
					if (failed.size >= MOST_REMEMBERED) failed.clear();
					failed.set(act.id, { times, untilMs: nowMs() + waitMs });
					if (!isLocal) act.failed?.(error);
					if (!stopped.signal.aborted) onError(act.id, error);
				},
			)
			.finally(() => {
				running.delete(act.id);
				if (!isLocal) return;
				locals--;
				lanes.delete(act.lane);
			});
		running.set(act.id, ended);
	}

	return {
		/**
		 * Starts what does not run yet and may; what may not now is asked for again. True: something was started.
		 */
		play(acts: readonly Act[]): boolean {
			let any = false;
			for (const act of acts) {
				if (stopped.signal.aborted || running.has(act.id)) continue;
				if ((failed.get(act.id)?.untilMs ?? 0) > nowMs()) continue;
				if (act.kind === "local" && (locals >= most || lanes.has(act.lane))) continue;
				start(act);
				any = true;
			}
			return any;
		},
		/** Resolves when the next act ends, or at once when none runs. */
		next: (): Promise<void> => Promise.race([...running.values(), ...(running.size === 0 ? [Promise.resolve()] : [])]),
		/** Resolves when nothing runs. */
		async idle(): Promise<void> {
			while (running.size > 0) await Promise.all(running.values());
		},
		isRunning: (id: string): boolean => running.has(id),
		/** Fetches end now; transactions when their client does. */
		async stop(): Promise<void> {
			stopped.abort();
			while (running.size > 0) await Promise.all(running.values());
		},
	};
}
