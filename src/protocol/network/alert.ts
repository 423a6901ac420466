// What a webhook is told of a provider: that a probe was invalid, that its figures have fallen, that it is
// gone, that it is back. The body's shape, and the rule that keeps one provider from filling anybody's pager.
// Pure. How it is sent: platform/webhook.ts; page: docs/operator.md.
import { safeText } from "../bytes/safe-text.ts";

type AlertKind = "invalid" | "throttled" | "offline" | "back";

export interface AlertFacts {
	readonly kind: AlertKind;
	readonly atMs: number;
	/** 64 hex digits. */
	readonly provider: string;
	/** Its own word. */
	readonly name: string;
	readonly code: string | null;
	/** What happened, in a few words. */
	readonly what: string;
	/** Who says so: a validator's or a provider's key. */
	readonly by: string;
	/** Alerts of this kind and provider that were held back since the last one. */
	readonly heldBack: number;
}

/** Of one kind and provider there is one alert in this time; its end is told with the next. */
const REST_MS = 3_600_000;
const MOST_KNOWN = 10_000;

/**
 * How many were held back since the last one; null: this one is held back, too. What ends something is told
 * whenever what began it was.
 */
export function createAlertRests(restMs = REST_MS) {
	const last = new Map<string, { atMs: number; held: number }>();
	return (kind: AlertKind, provider: string, atMs: number): number | null => {
		const key = `${kind} ${provider}`;
		const before = last.get(key);
		if (before !== undefined && atMs - before.atMs < restMs && atMs >= before.atMs) {
			before.held += 1;
			return null;
		}
		last.delete(key);
		last.set(key, { atMs, held: 0 });
		if (last.size > MOST_KNOWN) last.delete(last.keys().next().value as string);
		return before?.held ?? 0;
	};
}

export function alertBody({ kind, atMs, provider, name, code, what, by, heldBack }: AlertFacts) {
	const shown = safeText(name).slice(0, 100);
	const text = `${shown === "" ? provider.slice(0, 16) : shown}: ${what}${code === null ? "" : ` [${code}]`}`;
	return {
		...{ format: "assay-alert", version: 1, kind, atMs },
		...{ provider, name: shown, code, text: safeText(text).slice(0, 500), by, heldBack },
	};
}
