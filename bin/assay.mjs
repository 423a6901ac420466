#!/usr/bin/env node
// The command `assay`. In the released package it loads the packed CLI, dist/assay.mjs, under any Node from
// 20 on. In a checkout it finds a Node that runs our TypeScript as it is (24 or newer) and hands over to
// src/cli/main.ts, whatever lies in dist/ there. Plain JavaScript that older Nodes can read. Not here: any
// command.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import * as modules from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const main = join(root, "src/cli/main.ts");
const nodeMajor = Number(process.versions.node.split(".")[0]);

if (nodeMajor < 20) {
	console.error(`assay: Node ${process.versions.node} is too old\n  Install Node 20 or newer.`);
	process.exit(69);
}
// Sources make a checkout: there a packed CLI could only be one that somebody forgot.
if (existsSync(main)) await runFromSource();
else await load(join(root, "dist/assay.mjs"));

/** By URL: a folder's name may hold '#', '?' or '%'. */
function load(file) {
	return import(pathToFileURL(file).href);
}

async function runFromSource() {
	const ownNode = join(root, ".toolchain/node_modules/.bin/node");
	const isNewEnough = nodeMajor >= 24;
	if (!existsSync(join(root, "node_modules/@noble/curves")) || (!isNewEnough && !existsSync(ownNode))) {
		// A clone that was never set up: packages only, which takes seconds. The engine is built when a probe
		// needs it.
		const setup = spawnSync("bash", [join(root, "scripts/setup.sh"), "packages"], { stdio: ["ignore", 2, 2] });
		if (setup.status !== 0) process.exit(setup.status ?? 70);
	}
	// Node keeps what it compiled, types already stripped, for the next start. In the checkout: a shared folder
	// could be poisoned.
	const cache = join(root, "build/node-compile-cache");
	if (isNewEnough) {
		modules.enableCompileCache(cache);
		// For its threads.
		process.env.NODE_COMPILE_CACHE = cache;
		await load(main);
		return;
	}
	const env = { ...process.env, NODE_COMPILE_CACHE: cache };
	const child = spawn(ownNode, [main, ...process.argv.slice(2)], { stdio: "inherit", env });
	// The terminal sends Ctrl-C to both; the child decides what it means, and its exit code is ours.
	for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
		process.on(signal, () => signal !== "SIGINT" && child.kill(signal));
	child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 70)));
}
