// Alerts of `assay provide` to its owner's webhooks: what validators say of this machine, and that none can
// be reached. A machine that is off tells nobody: that is what a validator's alerts are for. Not here: how it
// is sent (platform/webhook.ts).
import { type After, realAfter } from "../../platform/abortable.ts";
import { createWebhook } from "../../platform/webhook.ts";
import { type AlertFacts, alertBody, createAlertRests } from "../../protocol/network/alert.ts";
import type { ProviderEvent } from "../../provider/provider-event.ts";

export interface OwnerAlertsOptions {
	readonly urls: readonly string[];
	readonly secret: string | null;
	readonly provider: string;
	readonly name: string;
	readonly nowMs: () => number;
	readonly after?: After;
	readonly offlineMs?: number;
	readonly onTrouble: (text: string) => void;
}

const OFFLINE_MS = 300_000;

/** What a card that is capped or shared is found to be; none of it is an accusation. */
const SLOW = ["CARD_OTHER", "CARD_SLOW"] as const;

export function createOwnerAlerts(o: OwnerAlertsOptions): { see(event: ProviderEvent): void; stop(): Promise<void> } {
	const { nowMs, after = realAfter, offlineMs = OFFLINE_MS, provider, name } = o;
	const webhooks = o.urls.map((url) =>
		createWebhook({
			...{ url, secret: o.secret, nowMs, after },
			onEnd: (how, why) =>
				how !== "sent" && o.onTrouble(`an alert to ${new URL(url).host} did not arrive: ${how}, ${why}`),
		}),
	);
	const rest = createAlertRests();
	/** By validator: how to call off the word that it cannot be reached; null: the word was given. */
	const away = new Map<string, (() => void) | null>();
	const raise = (what: Pick<AlertFacts, "kind" | "code" | "what">): void => {
		const heldBack = rest(what.kind, provider, nowMs());
		if (heldBack === null) return;
		const body = alertBody({ ...what, atMs: nowMs(), provider, name, by: provider, heldBack });
		for (const webhook of webhooks) webhook.send(body);
	};
	return {
		see(event) {
			if (event.kind === "judged" && event.status === "invalid")
				raise({ kind: "invalid", code: event.code, what: "a probe was invalid" });
			if (event.kind === "judged" && event.status === "valid") {
				const slow = SLOW.find((code) => event.findings.some((finding) => finding.code === code));
				if (slow !== undefined) raise({ kind: "throttled", code: slow, what: "slower than its name says" });
			}
			if ((event.kind === "lost" || event.kind === "unreached") && !away.has(event.url)) {
				const { host } = new URL(event.url);
				const tell = () => {
					away.set(event.url, null);
					raise({ kind: "offline", code: null, what: `${host} cannot be reached` });
				};
				away.set(event.url, after(offlineMs, tell));
			}
			if (event.kind !== "connected") return;
			const callOff = away.get(event.url);
			away.delete(event.url);
			if (callOff === null) raise({ kind: "back", code: null, what: `${new URL(event.url).host} is reached again` });
			else callOff?.();
		},
		async stop() {
			for (const callOff of away.values()) callOff?.();
			await Promise.all(webhooks.map((webhook) => webhook.stop()));
		},
	};
}
