// Why ssh failed, from what it printed: one AssayError code for each thing a user can do something about.
// ssh's own words are in English whatever the locale. At LogLevel ERROR a server's banner is not among them;
// a hostile host can still choose which of these errors it causes, and gains nothing by it.
import { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { targetToText } from "./parse-target.ts";
import type { SshLinkOptions } from "./ssh-options.ts";
import { hostKeyAlias } from "./ssh-options.ts";

const CHANGED = /REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed|host key .* has changed/i;
const DENIED =
	/Permission denied|Too many authentication failures|Authentication failed|No supported authentication methods/i;
const UNREACHED =
	/Could not resolve|Connection refused|timed out|No route to host|Network is unreachable|Connection (closed|reset)|kex_exchange|banner exchange|Connection to .* closed/i;

export function sshFailure({ target: host, knownHostsFile }: SshLinkOptions, stderr: string): AssayError {
	const target = targetToText(host);
	const said = stderr === "" ? "" : ` (ssh said: ${stderr.slice(-300)})`;
	if (CHANGED.test(stderr)) {
		return new AssayError("HOST_KEY_CHANGED", `the host key of ${target} is not the one that was pinned`, {
			hint: `If the host was set up anew, forget the old key: ssh-keygen -R '${hostKeyAlias(host)}' -f '${knownHostsFile}'. Otherwise someone may stand between you and it.`,
		});
	}
	if (DENIED.test(stderr)) {
		return new AssayError("AUTH_FAILED", `${target} did not let us in${said}`, {
			hint: "Check the user name, and the key or password; `ssh` with the same user, host and port must work.",
		});
	}
	if (UNREACHED.test(stderr)) {
		return new AssayError("HOST_UNREACHABLE", `${target} cannot be reached${said}`, {
			hint: "Check the host name, the port and that an SSH server runs there.",
		});
	}
	return new AssayError("SSH_FAILED", `ssh to ${target} failed${said}`, {
		hint: "`ssh` with the same user, host and port must be able to run a command there.",
	});
}

export function connectTimeout({ target }: SshLinkOptions, timeoutMs: number): AssayError {
	return new AssayError("HOST_UNREACHABLE", `${targetToText(target)} did not let us in within ${timeoutMs} ms`, {
		hint: "Check the host and the port; the host may accept connections and be stuck, or be far away and need a longer timeout.",
	});
}

export function stepTimeout({ target }: SshLinkOptions, doing: string, timeoutMs: number): AssayError {
	return new AssayError(
		"HOST_SILENT",
		`${targetToText(target)} did not answer within ${Math.ceil(timeoutMs)} ms (${doing})`,
		{
			hint: "We were let in, but the host is stuck, or its line is too slow; a longer timeout may help.",
		},
	);
}

export function remoteGarbage({ target }: SshLinkOptions, doing: string, why: string): AssayError {
	return codedError("REMOTE_GARBAGE", `${targetToText(target)} gave no sensible answer (${doing}): ${why}`);
}

export function remoteWriteFailure({ target }: SshLinkOptions, stderr: string): AssayError {
	const said = stderr === "" ? "" : `: ${stderr.slice(-300)}`;
	return new AssayError("REMOTE_WRITE_FAILED", `the engine cannot be stored on ${targetToText(target)}${said}`, {
		hint: "The user's cache folder there (~/.cache, or XDG_CACHE_HOME) must be writable and have some MB of room.",
	});
}
