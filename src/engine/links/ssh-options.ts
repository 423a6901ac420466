// How the system's ssh is called: every option on its command line, where it wins over any configuration
// file. Pure: arguments in, arguments out. What is run on the far side is in remote-scripts.ts.
import type { SshTarget } from "./parse-target.ts";

export interface SshLinkOptions {
	readonly target: SshTarget;
	/** assay's own host keys: pinned on first use, a changed one is refused. Made when absent. */
	readonly knownHostsFile: string;
	readonly identityFile?: string | undefined;
	/** For password login or the identity file's passphrase. Passed to ssh in an environment variable only. */
	readonly password?: string | undefined;
	/** Until the host has let us in. Default 20 s. */
	readonly connectTimeoutMs?: number | undefined;
	/** For each step on the host after that (asking, hashing); uploading gets longer. Default 30 s. */
	readonly stepTimeoutMs?: number | undefined;
	/** Flags of the engine: words of our own, without anything that a shell reads. */
	readonly engineArgs?: readonly string[];
	/** ssh's configuration: true (default) the user's, for aliases and jump hosts; false none; or a file. */
	readonly userConfig?: boolean | string | undefined;
	/** Where ssh's own variables (PATH, HOME, SSH_AUTH_SOCK, …) come from. */
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly clockUs: () => number;
	/** Aborting ends what has been begun: the call rejects with the signal's reason, and no ssh is left. */
	readonly signal?: AbortSignal | undefined;
	/** What is being done, for a progress line. */
	readonly onStep?: ((step: SshStep) => void) | undefined;
	/** Something odd that does no harm. Holds words of the host, made harmless. */
	readonly onNote?: ((text: string) => void) | undefined;
}

export type SshStep = "connect" | "hash" | "upload" | "start";

/** ssh expands % in paths, and splits known-hosts lists at spaces unless they are quoted. */
function quotePath(path: string): string {
	return `"${path.replaceAll("%", "%%").replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** The name of the host's key: what the user typed, whatever the configuration makes of it. */
export function hostKeyAlias(target: SshTarget): string {
	const host = target.host.toLowerCase();
	return target.port === null || target.port === 22 ? host : `[${host}]:${target.port}`;
}

function option(name: string, value: string): string[] {
	return ["-o", `${name}=${value}`];
}

/** Nothing is forwarded, nothing local is run, no terminal: the far side gets a byte stream and no more. */
const QUIET = [
	...["-T", "-x", "-a"],
	...option("ForwardAgent", "no"),
	...option("ForwardX11", "no"),
	...option("ClearAllForwardings", "yes"),
	...option("Tunnel", "no"),
	...option("PermitLocalCommand", "no"),
	...option("RemoteCommand", "none"),
	...option("EscapeChar", "none"),
	...option("Compression", "no"),
	...option("LogLevel", "ERROR"),
];

function configArguments(userConfig: boolean | string): string[] {
	if (typeof userConfig === "string") return ["-F", userConfig];
	return userConfig ? [] : ["-F", "none"];
}

function targetArguments(options: SshLinkOptions): string[] {
	return [
		...configArguments(options.userConfig ?? true),
		...(options.target.user === null ? [] : ["-l", options.target.user]),
		...(options.target.port === null ? [] : ["-p", String(options.target.port)]),
	];
}

/** Prints what ssh would do (its name for the host, the port, proxies) and connects to nothing. */
export function resolveArguments(options: SshLinkOptions): string[] {
	return [...targetArguments(options), "-G", "--", options.target.host];
}

/** The one connection; it runs `command` and carries the sessions that come through the socket. */
export function masterArguments(
	options: SshLinkOptions,
	socket: string,
	connectTimeoutMs: number,
	command: string,
): string[] {
	const withPassword = options.password !== undefined;
	const methods = withPassword ? "publickey,password,keyboard-interactive" : "publickey";
	return [
		...targetArguments(options),
		...QUIET,
		...option("ControlMaster", "yes"),
		...option("ControlPath", socket.replaceAll("%", "%%")),
		...option("ControlPersist", "no"),
		...option("StrictHostKeyChecking", "accept-new"),
		...option("UserKnownHostsFile", quotePath(options.knownHostsFile)),
		...option("GlobalKnownHostsFile", "none"),
		...option("HostKeyAlias", hostKeyAlias(options.target)),
		...option("HashKnownHosts", "no"),
		...option("UpdateHostKeys", "no"),
		...option("VerifyHostKeyDNS", "no"),
		...option("CheckHostIP", "no"),
		...option("BatchMode", withPassword ? "no" : "yes"),
		...option("PreferredAuthentications", methods),
		...option("NumberOfPasswordPrompts", "1"),
		// Without a key of their own, a password login must not try every key of the user on a stranger's host.
		...(withPassword && options.identityFile === undefined ? option("PubkeyAuthentication", "no") : []),
		...(options.identityFile === undefined
			? []
			: [...option("IdentityFile", quotePath(options.identityFile)), ...option("IdentitiesOnly", "yes")]),
		...option("ConnectTimeout", String(Math.max(1, Math.ceil(connectTimeoutMs / 1000)))),
		...option("ConnectionAttempts", "1"),
		...option("ServerAliveInterval", "15"),
		...option("ServerAliveCountMax", "4"),
		...["--", options.target.host, command],
	];
}

/** One more session over the socket. `ProxyCommand=false` keeps ssh from making another connection. */
export function sessionArguments(socket: string, command: string): string[] {
	return [
		...["-F", "none"],
		...QUIET,
		...option("ControlMaster", "no"),
		...option("ControlPath", socket.replaceAll("%", "%%")),
		...option("BatchMode", "yes"),
		...option("ProxyCommand", "false"),
		...["--", "assay", command],
	];
}
