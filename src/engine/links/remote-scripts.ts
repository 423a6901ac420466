// The scripts that run on the host, each a fixed text: the only parts put in are 64 hex digits of our own.
// Nothing that came from the far side ever goes into one. They run under /bin/sh whatever the login shell is,
// and hold no single quote so that they can be quoted. Answers are lines that begin with `assay:`; other
// lines (a login script's greeting) are passed over.

import { ENGINE_BEGINS } from "./skip-greeting.ts";

/** Exit codes of the upload (sysexits.h): the folder or file cannot be made; it cannot be written. */
export const CANNOT_STORE: readonly (number | null)[] = [73, 74];
const HEX_64 = /^[0-9a-f]{64}$/;

function toCommand(script: string): string {
	if (script.includes("'")) throw new Error("a remote script must not hold a single quote");
	return `exec /bin/sh -c '${script}'`;
}

/** Sets d and f; `hash FILE` prints the SHA-256 of a file, or `none` where the host has no program for it. */
function prelude(sha256: string): string {
	if (!HEX_64.test(sha256)) throw new RangeError("not the hex of a SHA-256");
	// biome-ignore-start lint/suspicious/noTemplateCurlyInString: these are the shell's placeholders
	return [
		`d="\${XDG_CACHE_HOME:-$HOME/.cache}/assay"; f="$d/engine-${sha256}"`,
		"hash() {",
		'if command -v sha256sum >/dev/null 2>&1; then h=$(sha256sum <"$1")',
		'elif command -v shasum >/dev/null 2>&1; then h=$(shasum -a 256 <"$1")',
		'elif command -v openssl >/dev/null 2>&1; then h=$(openssl dgst -sha256 -r <"$1")',
		"else h=none; fi",
		'printf "assay:%s\\n" "${h%% *}"; }',
	].join("\n");
	// biome-ignore-end lint/suspicious/noTemplateCurlyInString: see above
}

/** Says what the host is, then holds the connection open until our end of the stream is closed. */
export const GREET = toCommand('printf "assay:%s\\n" "$(uname -sm)"; exec cat >/dev/null');

/** Compute capabilities of the host's NVIDIA cards; `unknown` where the driver does not say. */
export const CARDS = toCommand(
	[
		"c=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null) || c=",
		'[ -n "$c" ] || [ ! -e /dev/nvidia0 ] || c=unknown',
		'printf "assay:%s\\n" "$(echo $c)"',
	].join("\n"),
);

export function hashCommand(sha256: string): string {
	return toCommand(`${prelude(sha256)}\nif [ -f "$f" ] && [ -x "$f" ]; then hash "$f"; else echo assay:absent; fi`);
}

/**
 * Takes the program from stdin into a file of its own and moves it into place in one step, so that two
 * verifiers at once, or a cut connection, never leave half a program under the final name. Prints the hash of
 * what lies there in the end.
 */
export function uploadCommand(sha256: string): string {
	return toCommand(
		[
			prelude(sha256),
			'umask 077; mkdir -p "$d" || exit 73',
			't=$(mktemp "$d/.upload-XXXXXX") || exit 73',
			'cat >"$t" && chmod 700 "$t" && mv -f "$t" "$f" || { rm -f "$t"; exit 74; }',
			'hash "$f"',
		].join("\n"),
	);
}

/** What a login script printed ends at our own line (skip-greeting.ts). */
export function runCommand(sha256: string, args: readonly string[]): string {
	return toCommand(`${prelude(sha256)}\necho ${ENGINE_BEGINS.trim()}\nexec ${['"$f"', ...args].join(" ")}`);
}
