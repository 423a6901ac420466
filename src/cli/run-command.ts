// Picks a command, runs it, turns errors into a sentence, a hint and an exit code. Everything of the process comes as an argument, so that a test
// can run a hundred commands without a hundred processes. Not here: what any command does; signals and streams (main.ts).
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../engine/builds.ts";
import { AssayError } from "../protocol/assay-error.ts";
import type { Command, Surroundings } from "./command.ts";
import { errorToExitCode, exitCodes } from "./exit-codes.ts";

/** Loaded when called for: verifying a file needs neither links nor plans, and starts faster without them. */
const loaders: Readonly<Record<string, () => Promise<Command>>> = {
	probe: async () => (await import("./probe.ts")).probeCommand,
	verify: async () => (await import("./verify.ts")).verifyCommand,
	devices: async () => (await import("./devices.ts")).devicesCommand,
	doctor: async () => (await import("./doctor.ts")).doctorCommand,
	up: async () => (await import("./up.ts")).upCommand,
	providers: async () => (await import("./providers.ts")).providersCommand,
	history: async () => (await import("./history.ts")).historyCommand,
	probes: async () => (await import("./probes.ts")).probesCommand,
	evidence: async () => (await import("./evidence.ts")).evidenceCommand,
	scores: async () => (await import("./scores.ts")).scoresCommand,
	rent: async () => (await import("./rent.ts")).rentCommand,
	chain: async () => (await import("./chain.ts")).chainCommand,
	stake: async () => (await import("./stake.ts")).stakeCommand,
	unstake: async () => (await import("./stake.ts")).unstakeCommand,
	claim: async () => (await import("./claim.ts")).claimCommand,
	audit: async () => (await import("./audit.ts")).auditCommand,
	accuse: async () => (await import("./accuse.ts")).accuseCommand,
	tokens: async () => (await import("./tokens.ts")).tokensCommand,
	provide: async () => (await import("./provide.ts")).provideCommand,
	validate: async () => (await import("./validate.ts")).validateCommand,
};

async function overview(): Promise<string> {
	const commands = await Promise.all(Object.values(loaders).map((load) => load()));
	const width = Math.max(...commands.map((c) => c.name.length)) + 2;
	return [
		"assay proves GPUs: exact challenges on the verifier's clock, evidence that anyone can check again.",
		"",
		"usage: assay COMMAND [OPTIONS]",
		"",
		...commands.map((c) => `  ${c.name.padEnd(width)}${c.summary}`),
		"",
		"  assay COMMAND --help   tells all about one command",
		"  assay --version",
		"",
		"exit codes: " +
			Object.entries(exitCodes)
				.map(([name, { code }]) => `${name} ${code}`)
				.join(", "),
		"",
	].join("\n");
}

async function dispatch(args: readonly string[], here: Surroundings): Promise<number> {
	const [name, ...rest] = args;
	if (name === undefined) {
		here.err.write(await overview());
		return exitCodes.usage.code;
	}
	if (name === "--help" || name === "-h" || name === "help") {
		here.out.write(await overview());
		return 0;
	}
	if (name === "--version") {
		const manifest = JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as {
			version: string;
		};
		here.out.write(`assay ${manifest.version}\n`);
		return 0;
	}
	if (!Object.hasOwn(loaders, name))
		throw new AssayError("USAGE", `there is no command '${name}'`, {
			hint: `Commands: ${Object.keys(loaders).join(", ")}. See: assay --help`,
		});
	const command = await loaders[name]!();
	if (rest.includes("--help") || rest.includes("-h")) {
		here.out.write(`${command.help}\n`);
		return 0;
	}
	return command.run(rest, here);
}

/** Never throws: what went wrong is told and becomes the exit code. */
export async function runCommand(args: readonly string[], here: Surroundings): Promise<number> {
	try {
		return await dispatch(args, here);
	} catch (error) {
		if (error instanceof AssayError) {
			// Whoever asked for JSON gets the error as JSON too, beside the sentence on standard error.
			if (args.includes("--json")) {
				const { code, message, hint } = error;
				here.out.write(`${JSON.stringify({ error: { code, message, hint } }, null, 2)}\n`);
			}
			here.err.write(`assay: ${error.message} [${error.code}]\n${error.hint === "" ? "" : `  ${error.hint}\n`}`);
			if (here.env.ASSAY_DEBUG !== undefined && error.cause !== undefined)
				here.err.write(`  cause: ${String(error.cause)}\n`);
		} else {
			here.err.write(
				`assay: a fault in assay itself [INTERNAL]\n${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
			);
		}
		return errorToExitCode(error);
	}
}
