// Text from a provider, made harmless: control characters (terminal escapes), bidirectional overrides,
// invisible characters and lone surrogates become U+FFFD, so that a device's name can neither move a cursor
// nor show itself backwards.

// Cc and Cs never change; format characters are spelled out because \p{Cf} grows with Unicode, and every
// verifier must agree.
const HARMFUL =
	/[\p{Cc}\p{Cs}\u00ad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

export function safeText(text: string): string {
	return text.replace(HARMFUL, "\uFFFD");
}

export function isSafeText(text: string): boolean {
	return safeText(text) === text;
}
