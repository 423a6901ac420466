// `assay doctor`: what this machine can build and run, what is missing, and the command that installs it.
// Looks, runs `--version`s, changes nothing.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { engineFile, isCheckout, type Platform } from "../../engine/builds.ts";
import { createEngineClient } from "../../engine/client/create-engine-client.ts";
import { createLocalLink } from "../../engine/links/create-local-link.ts";
import { realEnvironment } from "../../platform/environment.ts";
import type { UnsupportedCard } from "../../protocol/probe/evidence.ts";
import type { Guards } from "../../provider/rental/environment.ts";
import { lookForGuards } from "../../provider/rental/rental-guards.ts";
import { unsupportedText } from "../../verify/hardware/identify/other-vendors.ts";
import { command } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { flag } from "../options.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";

interface Check {
	readonly name: string;
	readonly what: string;
	/** `needed` checks decide the exit code. */
	readonly needed: boolean;
	readonly found: string | null;
	readonly remedy: string;
	/** Only of use where the sources are: the released package includes its engines. */
	readonly forSources?: boolean;
}

function versionOf(program: string, args: readonly string[], pattern: RegExp): string | null {
	const run = spawnSync(program, args, { encoding: "utf8", timeout: 10_000, stdio: ["ignore", "pipe", "pipe"] });
	if (run.error !== undefined) return null;
	return pattern.exec(`${run.stdout}\n${run.stderr}`)?.[0] ?? null;
}

const gnuVersionOf = (program: string) => versionOf(program, ["--version"], /\d+\.\d+\.\d+/);
const gpuAndDriver = () =>
	versionOf("nvidia-smi", ["--query-gpu=name,driver_version", "--format=csv,noheader"], /.+, \d+\.\d+[.\d]*/);

/** Null: a part of it cannot be had here. */
function sandboxOf(engine: string): string | null {
	const run = spawnSync(engine, ["--sandbox-check"], { encoding: "utf8", timeout: 10_000 });
	const found = /"landlock":(\d+),"seccomp":true,"missing":""/.exec(run.stdout ?? "")?.[1];
	return found === undefined ? null : `Landlock ${found}, seccomp, a user without rights`;
}

/** Cards of other vendors that the engine finds here; none where it does not start. */
async function otherCardsOf(engine: string): Promise<readonly UnsupportedCard[]> {
	try {
		const link = await createLocalLink({ command: engine, args: ["--no-disk"], env: process.env });
		try {
			const { clockUs, randomBytes } = realEnvironment();
			const client = await createEngineClient(link, { clockUs, readyDeadlineMs: 10_000, randomBytes });
			return (await client.hello({ deadlineMs: 30_000 })).unsupported ?? [];
		} finally {
			await link.close();
		}
	} catch {
		return [];
	}
}

async function lookAround(): Promise<Check[]> {
	const isArm = process.arch === "arm64";
	const [own, foreign] = isArm ? ["linux-arm64", "linux-x64"] : ["linux-x64", "linux-arm64"];
	const crossTriple = isArm ? "x86_64-linux-gnu" : "aarch64-linux-gnu";
	const hasSources = isCheckout();
	const [ownEngine, otherEngine] = [engineFile(own as Platform), engineFile(foreign as Platform)];
	const build = hasSources ? "bash engine/build.sh" : "install assay again";
	const compiler = gnuVersionOf("g++");
	const sshd = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].find((path) => existsSync(path)) ?? null;
	const checks: Check[] = [];
	const add = (name: string, what: string, found: string | null, remedy: string, needed = false) =>
		checks.push({ name, what, needed, found, remedy });
	const addForSources = (name: string, what: string, found: string | null, remedy: string, needed = false) =>
		hasSources && checks.push({ name, what, needed, found, remedy, forSources: true });
	const install = (pkg: string) => `apt-get install ${pkg}`;

	add("node", "runs assay", process.versions.node, "", true);
	addForSources("g++", "builds the engine", compiler, install("g++"), ownEngine === null);
	const engine = `the program that runs the challenges, for ${own}`;
	add("engine", engine, ownEngine, build, compiler === null || !hasSources);
	const confined = "keeps hostile challenges away from this machine's files, network and programs";
	const kernel = "Linux 5.13 or newer with Landlock confines it; without, run the provider as a user of its own";
	if (ownEngine !== null) add("sandbox", confined, sandboxOf(ownEngine), kernel);
	const otherBuild = hasSources ? `${build} --platform ${foreign}` : build;
	add("other engine", `the same for hosts of the other kind (${foreign})`, otherEngine, otherBuild);
	const nvcc = "builds the engine's GPU code; without it the engine supports the CPU only";
	addForSources("nvcc", nvcc, versionOf("nvcc", ["--version"], /release \d+\.\d+/), "install NVIDIA's CUDA toolkit 13");
	const others = ownEngine === null ? [] : await otherCardsOf(ownEngine);
	const noGpu = others.length === 0 ? "none needed to probe other hosts" : others.map(unsupportedText).join("; ");
	add("gpu", "an NVIDIA GPU with its driver on this machine", gpuAndDriver(), noGpu);
	add("ssh", "probes other hosts", versionOf("ssh", ["-V"], /OpenSSH_[\w.]+/), install("openssh-client"));
	const cross = `builds the engine for hosts of the other kind (${foreign})`;
	addForSources(
		"cross g++",
		cross,
		gnuVersionOf(`${crossTriple}-g++`),
		install(`g++-${crossTriple.replace("_", "-")}`),
	);
	addForSources("sshd", "only for the tests: a real SSH server", sshd, install("openssh-server"));
	for (const [guard, why] of Object.entries(await lookForGuards())) {
		const what = `only for rentals: keeps renters from ${GUARDED[guard as keyof Guards]}`;
		add(`guard ${guard}`, what, why === null ? "holds" : null, `${why} (docs/provider.md)`);
	}
	return checks;
}

const GUARDED = {
	memory: "using up the memory",
	disk: "filling the disk",
	metadata: "the cloud's metadata address",
} as const satisfies Readonly<Record<keyof Guards, string>>;

export const doctorCommand = command({
	name: "doctor",
	about: "Looks for everything that assay can use on this machine and says how to get what is missing.",
	options: { json: flag("print the checks as JSON") },
	exits: { 0: "this machine can probe", 69: "something needed is missing" },

	async run(values, io) {
		const checks = await lookAround();
		const isReady = checks.every((check) => !check.needed || check.found !== null);
		printResult(values, io, { ready: isReady, checks }, (paint) => checksText(checks, isReady, paint));
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
