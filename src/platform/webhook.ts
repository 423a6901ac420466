// A webhook: JSON messages to one address, one after the other, signed, tried again with growing rests; a
// queue of bounded length. Nothing is durable: what waits when the process ends is lost. The address is its
// owner's own choice and never somebody else's word: whatever it names is asked, also inside the owner's
// network. Redirects are not followed and answers are not read, so that nobody who answers can point
// elsewhere or fill the memory.
import { createHmac, randomUUID } from "node:crypto";
import { type After, realAfter, sleep } from "./abortable.ts";

export interface WebhookOptions {
	/** http:// or https://. Its path may be a secret: it is never told. */
	readonly url: string;
	/** Null: messages are not signed. */
	readonly secret: string | null;
	readonly nowMs: () => number;
	readonly after?: After;
	readonly onEnd?: (how: "sent" | "failed" | "dropped", why: string) => void;
	readonly firstRestMs?: number;
}

export interface Webhook {
	/** Never waits and never throws. The oldest that waits makes room. */
	send(message: object): void;
	/** What is on its way is cut off, what waits is dropped. */
	stop(): Promise<void>;
}

const MOST_WAITING = 100;
const MOST_TRIES = 8;
const TIMEOUT_MS = 10_000;
const LONGEST_REST_MS = 300_000;

/** Standard Webhooks' (standardwebhooks.com), over `ID.SECONDS.BODY`; a `whsec_` secret is in base64. */
export function webhookSignature(secret: string, id: string, seconds: number, body: string): string {
	const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : secret;
	return `v1,${createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64")}`;
}

export function createWebhook({
	url,
	secret,
	nowMs,
	after = realAfter,
	onEnd = () => {},
	...more
}: WebhookOptions): Webhook {
	const waiting: string[] = [];
	const stopped = new AbortController();
	let running: Promise<void> | null = null;

	/** Null: it was taken. */
	async function post(id: string, body: string): Promise<{ readonly why: string; readonly isFinal: boolean } | null> {
		const timeout = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), stopped.signal]);
		const seconds = Math.floor(nowMs() / 1000);
		const signature = secret === null ? {} : { "webhook-signature": webhookSignature(secret, id, seconds, body) };
		const message = { "webhook-id": id, "webhook-timestamp": String(seconds), ...signature };
		const headers = { "content-type": "application/json", "user-agent": "assay", ...message };
		try {
			const { status, body: answer } = await fetch(url, {
				method: "POST",
				headers,
				body,
				redirect: "manual",
				signal: timeout,
			});
			await answer?.cancel().catch(() => {});
			if (status >= 200 && status < 300) return null;
			// Whoever refuses it now will refuse it again.
			return { why: `status ${status}`, isFinal: status < 500 && status !== 408 && status !== 429 };
		} catch (error) {
			const cause = (error as { readonly cause?: { readonly code?: string } }).cause?.code;
			return { why: cause ?? (error as Error).name, isFinal: false };
		}
	}

	async function deliver(body: string): Promise<void> {
		// The same at every try, so that a receiver knows a repeat.
		const id = `msg_${randomUUID()}`;
		for (let tries = 1; ; tries++) {
			const fault = await post(id, body);
			if (fault === null) return onEnd("sent", "");
			if (stopped.signal.aborted) return onEnd("dropped", "stopped");
			if (fault.isFinal || tries >= MOST_TRIES) return onEnd("failed", fault.why);
			await sleep(Math.min(LONGEST_REST_MS, (more.firstRestMs ?? 1000) * 2 ** (tries - 1)), stopped.signal, after);
		}
	}

	async function deliverAll(): Promise<void> {
		for (let body = waiting.shift(); body !== undefined; body = waiting.shift()) await deliver(body);
		running = null;
	}

	return {
		send(message) {
			if (stopped.signal.aborted) return onEnd("dropped", "stopped");
			if (waiting.length >= MOST_WAITING) {
				waiting.shift();
				onEnd("dropped", "too many wait");
			}
			waiting.push(JSON.stringify(message));
			running ??= deliverAll();
		},
		async stop() {
			stopped.abort();
			for (const _ of waiting.splice(0)) onEnd("dropped", "stopped");
			await running;
		},
	};
}
