// `assay doctor`: what this machine can build and run, what is missing, and the command that installs it.
// Looks, runs `--version`s, changes nothing.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { engineFile, isCheckout } from "../../engine/builds.ts";
import { command } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { flag } from "../options.ts";
import { type Paint, paintFor } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";

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
			what: `the program that runs the challenges, for ${own}`,
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
			what: "builds the engine's GPU code; without it the engine supports the CPU only",
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

export const doctorCommand = command({
	name: "doctor",
	about: "Looks for everything that assay can use on this machine and says how to get what is missing.",
	options: { json: flag("print the checks as JSON") },
	exits: { 0: "this machine can probe", 69: "something needed is missing" },

	async run(values, io) {
		const checks = lookAround();
		const isReady = checks.every((check) => !check.needed || check.found !== null);
		printResult(values, io, { ready: isReady, checks }, () => checksText(checks, isReady, paintFor(io.out, io.env)));
		return isReady ? exitCodes.valid.code : exitCodes.unavailable.code;
	},
});

function checksText(checks: readonly Check[], isReady: boolean, paint: Paint): string {
	const width = Math.max(...checks.map((check) => check.name.length)) + 2;
	const lines = checks.flatMap(({ name, what, needed, found, remedy }) => {
		const mark = found !== null ? paint.good("ok     ") : needed ? paint.bad("missing") : paint.unsure("absent ");
		return [`  ${mark}  ${name.padEnd(width)}${found ?? remedy}`, paint.dim(`  ${"".padEnd(9 + width)}${what}`)];
	});
	return `${[...lines, isReady ? "This machine can probe: assay probe" : "Something needed is missing."].join("\n")}\n`;
}
