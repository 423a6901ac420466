// Text from the far side, made safe to show: no control characters (a terminal would obey them), no lone
// surrogates, no direction overrides, bounded. Not for evidence, which keeps what came.

export function printable(text: string, maxChars: number): string {
	const clean = text
		.toWellFormed()
		.replace(/[\s\p{Cc}\p{Cf}]+/gu, " ")
		.trim();
	return clean.length > maxChars ? `${clean.slice(0, maxChars).toWellFormed()}…` : clean;
}
