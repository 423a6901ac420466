#!/usr/bin/env node
// The command `assay`: finds a Node that runs our TypeScript as it is (24 or newer) and hands over to src/cli/main.ts.
// Plain JavaScript that older Nodes can read. Not here: any command.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const main = join(root, "src/cli/main.ts");
const ownNode = join(root, ".toolchain/node_modules/.bin/node");
const isNewEnough = Number(process.versions.node.split(".")[0]) >= 24;

if (!existsSync(join(root, "node_modules/@noble/curves")) || (!isNewEnough && !existsSync(ownNode))) {
	// A clone that was never set up: packages only, which takes seconds. The engine is built when a probe needs it.
	const setup = spawnSync("bash", [join(root, "scripts/setup.sh"), "packages"], { stdio: ["ignore", 2, 2] });
	if (setup.status !== 0) process.exit(setup.status ?? 70);
}

if (isNewEnough) {
	await import(main);
} else {
	const child = spawn(ownNode, [main, ...process.argv.slice(2)], { stdio: "inherit" });
	// The terminal sends Ctrl-C to both; the child decides what it means, and its exit code is ours.
	for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
		process.on(signal, () => signal !== "SIGINT" && child.kill(signal));
	child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 70)));
}
