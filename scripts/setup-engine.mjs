// The part of scripts/setup.sh that needs no packages of npm: Debian's packages for a level, as root, and the
// engine, with a line that tells how far it is. Plain JavaScript, because it runs beside the installation of
// the Node that the rest needs.
//   node scripts/setup-engine.mjs run|test
// Not here: how the engine is compiled (engine/build.sh).
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";

const level = process.argv[2];
const { env, stderr } = process;
/** On a terminal the line with the progress is rewritten, each second; else there is a new one every ten. */
const [begin, end, everyMs] = stderr.isTTY ? ["\r\u001b[K", "", 1000] : ["", "\n", 10_000];
const say = (text, ending = "\n") => stderr.write(`${begin}setup: ${text}${ending}`);

const has = (program) => (env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));
const hasPostgres = () => {
	const folder = "/usr/lib/postgresql";
	const versions = existsSync(folder) ? readdirSync(folder) : [];
	return versions.some((version) => existsSync(join(folder, version, "bin/postgres")));
};

function missingPackages() {
	const needed = [
		[has("cmake"), "cmake"],
		[has("ninja"), "ninja-build"],
	];
	if (level === "test") {
		const cross = process.arch === "arm64" ? "x86-64-linux-gnu" : "aarch64-linux-gnu";
		const browsers = ["chromium", "chromium-browser", "google-chrome"];
		needed.push(
			[has(`${cross.replace("x86-64", "x86_64")}-g++`), `g++-${cross}`],
			[has("sshd") || existsSync("/usr/sbin/sshd"), "openssh-server"],
			[has("ssh"), "openssh-client"],
			[has("python3"), "python3"],
			// The store's tests run on the embedded server and on this one, as an external server.
			[hasPostgres(), "postgresql"],
			// The dashboard's tests drive it.
			[env.CHROMIUM || browsers.some(has), "chromium"],
		);
	}
	return needed.filter(([isThere]) => !isThere).map(([, name]) => name);
}

/** Fails where tests lack something. engine/build.sh does without CMake and Ninja, for the CPU alone. */
function installPackages() {
	const missing = missingPackages();
	if (missing.length === 0) return;
	if (process.getuid() === 0 && has("apt-get")) {
		say(`installing Debian packages: ${missing.join(" ")}`);
		for (const args of [["update"], ["install", "-y", "--no-install-recommends", ...missing]]) {
			const options = { env: { ...env, DEBIAN_FRONTEND: "noninteractive" }, stdio: ["ignore", "ignore", "inherit"] };
			const { status } = spawnSync("apt-get", ["-qq", ...args], options);
			if (status !== 0) process.exit(status ?? 70);
		}
	} else if (level === "test") {
		say(`the tests need: apt-get install ${missing.join(" ")}`);
		process.exit(69);
	}
}

function buildEngine() {
	const args = ["engine/build.sh", ...(level === "run" ? ["--cards", "auto"] : [])];
	const child = spawn("bash", args, { stdio: ["ignore", "ignore", "pipe"], detached: true });
	const startedMs = performance.now();
	const lines = [];
	let compiled = "";
	createInterface({ input: child.stderr }).on("line", (line) => {
		lines.push(line);
		compiled = /^\[(\d+\/\d+)\]/.exec(line)?.[1]?.replace("/", " of ") ?? compiled;
	});
	const timer = setInterval(() => {
		const seconds = Math.round((performance.now() - startedMs) / 1000);
		if (compiled !== "") say(`engine: compiled ${compiled}, ${seconds} s`, end);
	}, everyMs);
	for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
		process.once(signal, () => {
			process.kill(-child.pid, "SIGTERM");
			process.exit(130);
		});
	}
	child.on("close", (code) => {
		clearInterval(timer);
		if (code !== 0) say(`the engine could not be built:\n${lines.slice(-40).join("\n")}`);
		process.exitCode = code ?? 70;
	});
}

if (!has("g++")) {
	say("missing 'g++' (builds the engine). On Debian or Ubuntu: apt-get install g++");
	process.exit(69);
}
installPackages();
buildEngine();
