// Picks a command, runs it, turns errors into a sentence, a hint and an exit code. Everything of the process
// comes as an argument, so that a test can run a hundred commands without a hundred processes. Not here: what
// any command does; signals and streams (main.ts).
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../engine/builds.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { didYouMean } from "../protocol/closest-word.ts";
import type { CliIo } from "./command.ts";
import { type CommandName, loaders, summaries } from "./commands.ts";
import { configPath, configSection, takeConfig } from "./config/config-file.ts";
import { errorToExitCode, exitCodes } from "./exit-codes.ts";
import { helpText } from "./help.ts";
import { carriedAlong } from "./hints/carried-along.ts";
import { doingOf, sayIfSilent } from "./print/say-if-silent.ts";

function overview(): string {
	const width = Math.max(...Object.keys(summaries).map((name) => name.length)) + 2;
	return [
		"assay proves what a GPU machine can really do: exact challenges, timed by the verifier, and evidence anyone can check.",
		"",
		"usage: assay COMMAND [OPTIONS]",
		"",
		...Object.entries(summaries).map(([name, summary]) => `  ${name.padEnd(width)}${summary}`),
		"",
		"  assay help COMMAND     full help for one command (or assay COMMAND --help)",
		"  assay COMMAND --config FILE   options from a file (assay config example COMMAND, assay config check)",
		"  assay --version",
		"",
		`exit codes: ${Object.entries(exitCodes)
			.map(([name, { code }]) => `${name} ${code}`)
			.join(", ")}`,
		"",
	].join("\n");
}

async function dispatch(args: readonly string[], io: CliIo): Promise<number> {
	const [name, ...rest] = args;
	if (name === undefined) {
		io.err.write(overview());
		return exitCodes.usage.code;
	}
	const isHelp = name === "--help" || name === "-h" || name === "help";
	if (isHelp && rest[0] !== undefined) return dispatch([...rest, "--help"], io);
	if (isHelp) {
		io.out.write(overview());
		return 0;
	}
	if (name === "--version" || name === "-v" || name === "version") {
		const manifest = JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as {
			version: string;
		};
		io.out.write(`assay ${manifest.version}\n`);
		return 0;
	}
	if (!Object.hasOwn(loaders, name))
		throw new AssayError("USAGE", `there is no command '${name}'`, {
			hint: `${didYouMean(name, Object.keys(loaders))}Commands: ${Object.keys(loaders).join(", ")}. See: assay --help`,
		});
	const command = await loaders[name as CommandName]();
	const { config, rest: options } = takeConfig(rest);
	if (rest.includes("--help") || rest.includes("-h")) {
		io.out.write(`${helpText(command)}\n`);
		return 0;
	}
	const [verb = ""] = options;
	// `assay chain claim`: the claim is a command of its own.
	if (!Object.hasOwn(command.verbs, "") && !Object.hasOwn(command.verbs, verb) && Object.hasOwn(loaders, verb))
		throw new AssayError("USAGE", `${verb} is a command of its own, not one of ${name}'s`, {
			hint: `Use \`assay ${verb}\`. See: assay ${verb} --help`,
		});
	// It looks at the file itself, also at one that nothing else can be run with.
	if (name === "config") return command.run(config === undefined ? options : [...options, config], io);
	const section = configSection(command, configPath(config, io), Object.keys(loaders));
	const doing = doingOf(name, verb);
	if (doing === null) return command.run(options, io, section);
	return sayIfSilent(io, doing, (noticed) => command.run(options, noticed, section));
}

/** Never throws: an error is printed and becomes the exit code. */
export async function runCommand(args: readonly string[], io: CliIo): Promise<number> {
	try {
		return await dispatch(args, io);
	} catch (error) {
		// Ctrl-C before there was anything to tell.
		if (io.interrupted.aborted && error === io.interrupted.reason) return exitCodes.interrupted.code;
		if (error instanceof AssayError) {
			const { code, message } = error;
			const hint =
				error.hint === "" && code === "USAGE" ? `See: assay ${args[0]} --help` : await carriedAlong(error.hint, args);
			// With --json the error is JSON too, beside the sentence on standard error.
			if (args.includes("--json")) io.out.write(`${JSON.stringify({ error: { code, message, hint } }, null, 2)}\n`);
			io.err.write(`assay: ${message} [${code}]\n${hint === "" ? "" : `  ${hint}\n`}`);
			if (io.env.ASSAY_DEBUG !== undefined && error.cause !== undefined)
				io.err.write(`  cause: ${String(error.cause)}\n`);
		} else {
			io.err.write(
				`assay: a bug in assay [INTERNAL]\n${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
			);
		}
		return errorToExitCode(error);
	}
}
