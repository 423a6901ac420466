// From a target on the command line to a link: parses it, finds the engine, logs in. All commands that
// connect share its options.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { type EngineBuild, findEngine, hostPlatform, type Platform } from "../engine/builds.ts";
import { createLocalLink } from "../engine/links/create-local-link.ts";
import { createSshLink } from "../engine/links/create-ssh-link.ts";
import type { Link } from "../engine/links/link.ts";
import { parseTarget, targetToText } from "../engine/links/parse-target.ts";
import { realEnvironment } from "../platform/environment.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { signerPath } from "../validator/probe/signer.ts";
import type { CliIo } from "./command.ts";
import { flag, group, number, text, usageError, type Values } from "./options.ts";

export const linkOptions = group("connection to the host", {
	identity: text("FILE", "private key for ssh:// targets (default: ssh's own configuration and agent decide)"),
	"ask-password": flag("ask for the ssh password (or set ASSAY_SSH_PASSWORD)"),
	timeout: number("SECONDS", "time limit for connecting over ssh (default 20)", [1, 600]),
	engine: text("FILE", "run this engine on a local target instead of our own build"),
});

export const TARGET_HELP = "TARGET is local, which is the default, user@host, or ssh://user@host[:port].";

/** Reads a line from the terminal without showing it. */
async function askPassword(io: CliIo, target: string): Promise<string> {
	if (process.stdin.isTTY !== true)
		throw new AssayError("USAGE", "there is no terminal to ask for the password on", {
			hint: "Set ASSAY_SSH_PASSWORD instead.",
		});
	io.err.write(`password for ${target}: `);
	const mute = new Writable({ write: (_chunk, _encoding, done) => done() });
	const lines = createInterface({ input: process.stdin, output: mute, terminal: true });
	try {
		return await new Promise<string>((resolve, reject) => {
			lines.question("", resolve);
			lines.once("SIGINT", () => reject(new AssayError("USAGE", "no password was given")));
		});
	} finally {
		lines.close();
		io.err.write("\n");
	}
}

/** Our own engine, built where that is needed. */
export const engineOf = (platform: Platform, io: CliIo): Promise<EngineBuild> =>
	findEngine(platform, {
		onBuild: (p) => io.err.write(`  building the engine for ${p} (once); this takes a minute or two\n`),
	});

export function openTarget(
	named: string,
	values: Values<typeof linkOptions>,
	io: CliIo,
	/** Given to the engine. */
	args: readonly string[] = [],
): { readonly name: string; open(): Promise<Link> } {
	const target = parseTarget(named);
	const name = targetToText(target);
	const engineFor = (platform: Platform) => engineOf(platform, io);
	if (target.kind === "local") {
		if (values.identity !== undefined || values["ask-password"])
			throw usageError("--identity and --ask-password are for ssh:// targets");
		return {
			name,
			async open() {
				if (values.engine !== undefined && !existsSync(values.engine))
					throw new AssayError("ENGINE_MISSING", `there is no engine ${values.engine}`, {
						hint: "Leave --engine out to use our own build.",
					});
				const path = values.engine ?? (await engineFor(hostPlatform())).path;
				return createLocalLink({ command: path, args, env: io.env });
			},
		};
	}
	if (values.engine !== undefined) throw usageError("--engine is for local targets");
	return {
		name,
		async open() {
			const password = values["ask-password"] ? await askPassword(io, name) : io.env.ASSAY_SSH_PASSWORD;
			return createSshLink(
				{
					target,
					knownHostsFile: join(dirname(signerPath(io.env)), "known_hosts"),
					clockUs: realEnvironment().clockUs,
					env: io.env,
					identityFile: values.identity,
					password: password || undefined,
					connectTimeoutMs: values.timeout && 1000 * values.timeout,
					engineArgs: args,
					onNote: (text) => io.err.write(`  note: ${text}\n`),
				},
				engineFor,
			);
		},
	};
}
