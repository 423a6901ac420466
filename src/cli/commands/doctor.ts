// `assay doctor`: what this machine can build and run, what is missing, and the command that installs it.
// Looks, runs `--version`s, changes nothing.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { engineFile, isCheckout } from "../../engine/builds.ts";
import type { Command } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { parseOptions } from "../parse-options.ts";
import { paintFor } from "../print/verdict-table.ts";

interface Check {
	readonly name: string;
	readonly what: string;
	/** `needed` checks decide the exit code. */
	readonly needed: boolean;
	readonly found: string | null;
	readonly remedy: string;
	/** Only of use where the sources are: the released package brings its engines along. */
	readonly forSources?: boolean;
}

function versionOf(program: string, args: readonly string[], pattern: RegExp): string | null {
	const run = spawnSync(program, args, { encoding: "utf8", timeout: 10_000, stdio: ["ignore", "pipe", "pipe"] });
	if (run.error !== undefined) return null;
	return pattern.exec(`${run.stdout}\n${run.stderr}`)?.[0] ?? null;
}

const install = (pkg: string) => `apt-get install ${pkg}`;

function lookAround(): Check[] {
	const isArm = process.arch === "arm64";
	const own = isArm ? "linux-arm64" : "linux-x64";
	const foreign = isArm ? "linux-x64" : "linux-arm64";
	const crossTriple = isArm ? "x86_64-linux-gnu" : "aarch64-linux-gnu";
	const hasSources = isCheckout();
	const ownEngine = engineFile(own);
	const foreignEngine = engineFile(foreign);
	const buildRemedy = hasSources ? "bash engine/build.sh" : "install assay again";
	const compiler = versionOf("g++", ["--version"], /\d+\.\d+\.\d+/);
	const driver = versionOf(
		"nvidia-smi",
		["--query-gpu=name,driver_version", "--format=csv,noheader"],
		/.+, \d+\.\d+[.\d]*/,
	);
	const checks: Check[] = [
		{ name: "node", what: "runs assay", needed: true, found: process.versions.node, remedy: "" },
		{
			name: "g++",
			what: "builds the engine",
			needed: ownEngine === null,
			found: compiler,
			remedy: install("g++"),
			forSources: true,
		},
		{
			name: "engine",
			what: `the program that is probed, for ${own}`,
			needed: compiler === null || !hasSources,
			found: ownEngine,
			remedy: buildRemedy,
		},
		{
			name: "other engine",
			what: `the same for hosts of the other kind (${foreign})`,
			needed: false,
			found: foreignEngine,
			remedy: hasSources ? `${buildRemedy} --platform ${foreign}` : buildRemedy,
		},
		{
			name: "nvcc",
			what: "builds the engine's GPU code; without it the engine knows the CPU only",
			needed: false,
			found: versionOf("nvcc", ["--version"], /release \d+\.\d+/),
			remedy: "install NVIDIA's CUDA toolkit 13",
			forSources: true,
		},
		{
			name: "gpu",
			what: "a GPU with its driver on this machine",
			needed: false,
			found: driver,
			remedy: "none needed to probe other hosts",
		},
		{
			name: "ssh",
			what: "probes other hosts",
			needed: false,
			found: versionOf("ssh", ["-V"], /OpenSSH_[\w.]+/),
			remedy: install("openssh-client"),
		},
		{
			name: "cross g++",
			what: `builds the engine for hosts of the other kind (${foreign})`,
			needed: false,
			found: versionOf(`${crossTriple}-g++`, ["--version"], /\d+\.\d+\.\d+/),
			remedy: install(`g++-${crossTriple.replace("_", "-")}`),
			forSources: true,
		},
		{
			name: "sshd",
			what: "only for the tests: a real SSH server",
			needed: false,
			found: ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].find((p) => existsSync(p)) ?? null,
			remedy: install("openssh-server"),
			forSources: true,
		},
	];
	return checks.filter((check) => hasSources || check.forSources !== true);
}

export const doctorCommand: Command = {
	name: "doctor",
	summary: "says what this machine can build and run, and what to install",
	help: `usage: assay doctor [--json]

Looks for everything that assay can use io and says how to get what is missing.

exit codes: 0 this machine can probe, 69 something needed is missing`,

	async run(args, io) {
		const { values } = parseOptions("doctor", args, { json: { type: "boolean", default: false } }, { min: 0, max: 0 });
		const checks = lookAround();
		const isReady = checks.every((check) => !check.needed || check.found !== null);
		if (values.json) {
			io.out.write(`${JSON.stringify({ ready: isReady, checks }, null, 2)}\n`);
		} else {
			const paint = paintFor(io.out, io.env);
			const width = Math.max(...checks.map((check) => check.name.length)) + 2;
			for (const check of checks) {
				const mark =
					check.found !== null ? paint.good("ok     ") : check.needed ? paint.bad("missing") : paint.unsure("absent ");
				io.out.write(
					`  ${mark}  ${check.name.padEnd(width)}${check.found ?? check.remedy}\n${paint.dim(`  ${"".padEnd(9 + width)}${check.what}`)}\n`,
				);
			}
			io.out.write(isReady ? "This machine can probe: assay probe\n" : "Something needed is missing.\n");
		}
		return isReady ? exitCodes.valid.code : exitCodes.unavailable.code;
	},
};
