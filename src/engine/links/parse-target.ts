// Reads what to probe: `local`, `ssh://[user@]host[:port]`, or `user@host[:port]` for short. Text only;
// nothing is looked up or opened here. Strict because host and user become arguments of ssh: a host such as
// `-oProxyCommand=…` would be an option to it.
import { isIPv6 } from "node:net";
import { AssayError } from "../../protocol/assay-error.ts";

export interface SshTarget {
	readonly kind: "ssh";
	/** null: ssh's own configuration decides. */
	readonly user: string | null;
	/** A name or an address; IPv6 without brackets. */
	readonly host: string;
	readonly port: number | null;
}

export type Target = { readonly kind: "local" } | SshTarget;

const USER = /^[A-Za-z0-9_][A-Za-z0-9._+-]{0,63}$/;
const HOST = /^[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9_.])?$/;
const PORT = /^[1-9][0-9]{0,4}$/;

function bad(why: string): AssayError {
	return new AssayError("TARGET_BAD", `the target cannot be read: ${why}`, {
		hint: "Use `local`, `user@host` or `ssh://user@host:port`, an IPv6 address in brackets: `ssh://root@[2001:db8::1]:22`.",
	});
}

/** Throws AssayError TARGET_BAD. */
export function parseTarget(text: string): Target {
	if (text === "local") return { kind: "local" };
	const isWhole = text.startsWith("ssh://");
	// `user@host`, as ssh itself takes it: nothing else has an @.
	if (!isWhole && text.includes("://")) throw bad("it is neither `local` nor an ssh:// address");
	if (!isWhole && !text.includes("@"))
		throw bad(
			HOST.test(text)
				? `a host needs a user, root@${text}, or ssh:// before it`
				: "it is neither `local` nor an ssh:// address",
		);
	const authority = isWhole ? text.slice("ssh://".length) : text;
	if (/[/?#]/.test(authority)) throw bad("there is no path behind a host");
	const at = authority.lastIndexOf("@");
	const user = at < 0 ? null : authority.slice(0, at);
	// Said apart, so that nobody looks for the mistake elsewhere and leaves the password in the shell's history
	// again.
	if (user?.includes(":")) throw bad("a password does not belong into it");
	if (user !== null && !USER.test(user)) throw bad("the user has characters that no user name has");
	const { host, rest } = splitHost(authority.slice(at + 1));
	if (rest === "") return { kind: "ssh", user, host, port: null };
	const port = rest.slice(1);
	if (!rest.startsWith(":") || !PORT.test(port) || Number(port) > 65535)
		throw bad("the port is not between 1 and 65535");
	return { kind: "ssh", user, host, port: Number(port) };
}

function splitHost(text: string): { host: string; rest: string } {
	if (text.startsWith("[")) {
		const end = text.indexOf("]");
		const host = text.slice(1, Math.max(end, 1));
		if (!isIPv6(host) || host.includes("%")) throw bad("there is no IPv6 address between the brackets");
		return { host, rest: text.slice(end + 1) };
	}
	const colon = text.indexOf(":");
	const host = colon < 0 ? text : text.slice(0, colon);
	if (isIPv6(text)) throw bad("an IPv6 address needs brackets");
	if (!HOST.test(host)) throw bad("the host has characters that no host name has");
	return { host, rest: colon < 0 ? "" : text.slice(colon) };
}

/** As written in evidence and known hosts; the same for every spelling of one target. */
export function targetToText(target: Target): string {
	if (target.kind === "local") return "local";
	const host = target.host.includes(":") ? `[${target.host}]` : target.host;
	return `ssh://${target.user === null ? "" : `${target.user}@`}${host}${target.port === null ? "" : `:${target.port}`}`;
}
