// From a target on the command line to a link: parses it, finds the engine, logs in. The options are shared by all commands that connect.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { findEngine, hostPlatform, type Platform } from "../engine/builds.ts";
import { createLocalLink } from "../engine/links/create-local-link.ts";
import { createSshLink } from "../engine/links/create-ssh-link.ts";
import type { Link } from "../engine/links/link.ts";
import { parseTarget, targetToText } from "../engine/links/parse-target.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { signerPath } from "../validator/probe/signer.ts";
import type { CliIo } from "./command.ts";
import { numberOption, usageError } from "./parse-options.ts";

export const linkOptions = {
	options: {
		identity: { type: "string" },
		"ask-password": { type: "boolean", default: false },
		engine: { type: "string" },
		timeout: { type: "string" },
	},
	help: `  --identity FILE    private key for ssh:// targets (otherwise ssh's own configuration and agent decide)
  --ask-password     ask for the ssh password (or set ASSAY_SSH_PASSWORD)
  --timeout SECONDS  for connecting over ssh (default 20)
  --engine FILE      run this engine for a local target instead of our own build`,
} as const;

export interface LinkValues {
	readonly identity?: string | undefined;
	readonly "ask-password"?: boolean | undefined;
	readonly engine?: string | undefined;
	readonly timeout?: string | undefined;
}

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

export function openTarget(
	command: string,
	text: string,
	values: LinkValues,
	io: CliIo,
): { readonly name: string; open(): Promise<Link> } {
	const target = parseTarget(text);
	const name = targetToText(target);
	const timeoutMs =
		values.timeout === undefined ? undefined : 1000 * numberOption(command, "timeout", values.timeout, 1, 600);
	const engineFor = (platform: Platform) =>
		findEngine(platform, {
			onBuild: (p) => io.err.write(`  building the engine for ${p}, once; this takes a minute or two\n`),
		});

	if (target.kind === "local") {
		if (values.identity !== undefined || values["ask-password"] === true)
			throw usageError("--identity and --ask-password are for ssh:// targets", command);
		return {
			name,
			async open() {
				if (values.engine !== undefined && !existsSync(values.engine))
					throw new AssayError("ENGINE_MISSING", `there is no engine ${values.engine}`, {
						hint: "Leave --engine out to use our own build.",
					});
				const path = values.engine ?? (await engineFor(hostPlatform())).path;
				return createLocalLink({ command: path, env: io.env });
			},
		};
	}
	if (values.engine !== undefined) throw usageError("--engine is for local targets", command);
	return {
		name,
		async open() {
			const password = values["ask-password"] === true ? await askPassword(io, name) : io.env.ASSAY_SSH_PASSWORD;
			const begun = process.hrtime.bigint();
			return createSshLink(
				{
					target,
					knownHostsFile: join(dirname(signerPath(io.env)), "known_hosts"),
					clockUs: () => Number((process.hrtime.bigint() - begun) / 1000n),
					env: io.env,
					...(values.identity === undefined ? {} : { identityFile: values.identity }),
					...(password === undefined || password === "" ? {} : { password }),
					...(timeoutMs === undefined ? {} : { connectTimeoutMs: timeoutMs }),
				},
				engineFor,
			);
		},
	};
}
