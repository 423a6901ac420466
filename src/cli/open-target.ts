// From a target on the command line to a link (validator/probe/open-host.ts): parses it, asks for the
// password. All commands that connect share its options.
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { type EngineBuild, findEngine, type Platform } from "../engine/builds.ts";
import type { EngineFor } from "../engine/links/create-ssh-link.ts";
import type { Link } from "../engine/links/link.ts";
import { parseTarget, targetToText } from "../engine/links/parse-target.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { openHost } from "../validator/probe/open-host.ts";
import type { CliIo } from "./command.ts";
import { flag, group, number, text, usageError, type Values } from "./options.ts";
import { createStatusLine } from "./print/status-line.ts";

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

/** Our own engine, built where that is needed, with a line on standard error that says how far it is. */
export async function engineOf(
	platform: Platform,
	io: Pick<CliIo, "err">,
	cards?: () => Promise<readonly string[]>,
): Promise<EngineBuild> {
	const status = createStatusLine(io.err);
	try {
		return await findEngine(platform, {
			onBuild: (...what) => status.print(`  ${buildText(...what)}`),
			onProgress: (done, of) => status.update(`  compiled ${done} of ${of}`),
			...(cards && { cards }),
		});
	} finally {
		status.clear();
	}
}

export const buildText = (platform: Platform, cards: readonly string[]): string =>
	cards.length === 0
		? `building the engine for ${platform}; this happens once and takes a minute or two`
		: `building GPU code for ${cardsText(cards)} (${platform}); this happens once and takes minutes`;

const cardsText = (cards: readonly string[]): string =>
	cards.every((card) => /^\d/.test(card)) ? `cards of compute capability ${cards.join(", ")}` : "all cards";

export function openTarget(
	named: string,
	values: Values<typeof linkOptions>,
	io: CliIo,
	/** Given to the engine. */
	args: readonly string[] = [],
): { readonly name: string; open(): Promise<Link> } {
	const target = parseTarget(named);
	const name = targetToText(target);
	const engineFor: EngineFor = (platform, cards) => engineOf(platform, io, cards);
	const access = { env: io.env, engineArgs: args, engineFor, signal: io.interrupted };
	if (target.kind === "local") {
		if (values.identity !== undefined || values["ask-password"])
			throw usageError("--identity and --ask-password are for ssh:// targets");
		return { name, open: () => openHost(target, { ...access, engineFile: values.engine }) };
	}
	if (values.engine !== undefined) throw usageError("--engine is for local targets");
	return {
		name,
		open: async () =>
			openHost(target, {
				...access,
				identityFile: values.identity,
				password: values["ask-password"] ? await askPassword(io, name) : io.env.ASSAY_SSH_PASSWORD,
				connectTimeoutMs: values.timeout && 1000 * values.timeout,
				onNote: (text) => io.err.write(`  note: ${text}\n`),
			}),
	};
}
