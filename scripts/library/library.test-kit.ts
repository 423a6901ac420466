// The installed package as a library, for scripts/release.test.ts: types without anything else installed,
// nothing done on import, every example of examples/library run as its page says.
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import {
	copyFileSync,
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import type { startTestSshd } from "../../src/engine/links/test-sshd.test-kit.ts";
import { startBrowser } from "../../tests/web/browser.test-kit.ts";

const root = join(import.meta.dirname, "../..");
type Environment = Readonly<Record<string, string | undefined>>;

/** A folder of a user who has installed the package and copied the examples. */
export function copyExamples(project: string): void {
	cpSync(join(project, "node_modules/assay/examples/library"), project, { recursive: true });
	copyFileSync(join(project, "node_modules/assay/vectors/h200.assay"), join(project, "h200.assay"));
}

function tsc(project: string, files: Readonly<Record<string, string>>, options: object): string[] {
	const folder = mkdtempSync(join(project, "types-"));
	for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
	const compilerOptions = {
		...{ strict: true, noEmit: true, skipLibCheck: false, allowJs: true, checkJs: true, target: "es2022" },
		...{ module: "nodenext", typeRoots: [join(root, "node_modules/@types")], ...options },
	};
	const config = { compilerOptions, files: Object.keys(files) };
	writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
	const PATH = `${join(root, "node_modules/.bin")}${delimiter}${process.env.PATH}`;
	const args = ["-p", folder, "--singleThreaded", "--pretty", "false"];
	const run = spawnSync("tsc", args, { encoding: "utf8", env: { ...process.env, PATH }, cwd: folder });
	assert.equal(run.error, undefined);
	return run.stdout.split("\n").filter((line) => /error TS/.test(line));
}

/** With Node's types and as a browser has it, without any package but ours; and wrong uses are errors. */
export function checkTypes(project: string): void {
	const examples = Object.fromEntries(
		readdirSync(project)
			.filter((name) => name.endsWith(".mjs"))
			.map((name) => [name, readFileSync(join(project, name), "utf8")]),
	);
	assert.deepEqual(Object.keys(examples).sort(), ["network.mjs", "probe.mjs", "verify.mjs"]);
	const anywhere = `import { verifyEvidence, type Verdict } from "assay";
import { createApiClient, type NetworkEvent } from "assay/client";
const verdict: Verdict = verifyEvidence(new Uint8Array(0), { signers: ["ab"] });
const client = createApiClient({ baseUrl: "http://x" });
const price: Promise<number> = client.getProvider({ params: { id: "x" } }).then((one) => one.pricePerHourMicros);
for await (const event of client.watchEvents()) { const seen: NetworkEvent = event; void seen; }
export { price, verdict };
`;
	const browser = { types: [], lib: ["es2022", "dom", "dom.iterable", "dom.asynciterable"] };
	assert.deepEqual(tsc(project, { "anywhere.mts": anywhere }, browser), []);
	// The twin: none of it is `any`. In one program with the examples, which have no errors.
	const wrong = `import { codes, verifyEvidence } from "assay";
import { createApiClient } from "assay/client";
verifyEvidence("a path");
codes.NO_SUCH_CODE;
const client = createApiClient({});
client.getProvider({});
client.getProvider({ params: { id: "x" } }).then((one) => one.nothing);
client.rows("health");
import { runProbe } from "assay/probe";
runProbe({ quick: "yes" });
`;
	const errors = tsc(project, { ...examples, "wrong.mts": wrong }, { types: ["node"] });
	assert.deepEqual(
		errors.map((line) => /^[^,]*/.exec(line)?.[0]),
		[3, 4, 5, 6, 7, 8, 10].map((line) => `wrong.mts(${line}`),
		errors.join("\n"),
	);
}

/**
 * Under Node's permissions: an import may read the package, and neither write, nor start anything, nor say a
 * word or touch a global (but zod's two).
 */
export function checkImportDoesNothing(project: string, node: string): void {
	const old = spawnSync(node, ["-v"], { encoding: "utf8" }).stdout.startsWith("v20.");
	const program = `
		const names = () => JSON.stringify([globalThis, Promise, process, Array.prototype].map((one) => Object.getOwnPropertyNames(one).filter((name) => !/^__zod_global/.test(name)).sort()));
		const before = names() + process.eventNames().map(String);
		const all = await Promise.all(["assay", "assay/probe", "assay/client"].map((name) => import(name)));
		if (names() + process.eventNames().map(String) !== before) throw new Error("an import changed a global");
		const left = process.getActiveResourcesInfo().filter((name) => /Timeout|Immediate|TCP|UDP|Process|Message|Worker|Watch/.test(name));
		if (left.length > 0) throw new Error("left running: " + left);
		if (all[0].AssayError !== all[2].AssayError) throw new Error("two classes of errors");
		console.log(all.map((one) => Object.keys(one).sort().join()).join(" "));`;
	const file = join(project, "imports.mjs");
	writeFileSync(file, program);
	const permission = [
		old ? "--experimental-permission" : "--permission",
		"--no-warnings",
		`--allow-fs-read=${project}/*`,
	];
	const before = readdirSync(project).sort();
	const run = spawnSync(node, [...permission, file], { encoding: "utf8", cwd: project, env: { HOME: project } });
	const said = "AssayError,codes,readEvidence,verifyEvidence runProbe AssayError,createApiClient,createSigner\n";
	assert.deepEqual([run.stdout, run.stderr, run.status], [said, "", 0]);
	assert.deepEqual(readdirSync(project).sort(), before);
}

/** Nothing that a browser does not have is reached from these. */
export function checkBrowserParts(project: string): void {
	const folder = join(project, "node_modules/assay/dist/library");
	const seen = new Set<string>();
	const walk = (name: string): void => {
		if (seen.has(name)) return;
		seen.add(name);
		const text = readFileSync(join(folder, name), "utf8");
		assert.doesNotMatch(text, /from "node:|require\(|\bprocess\.[a-z]|\bBuffer\.[a-z]/, name);
		for (const [, next] of text.matchAll(/(?:from |import\()"\.\/([^"]+)"/g)) walk(next!);
	};
	walk("index.mjs");
	walk("client.mjs");
	assert.ok(seen.size > 2);
}

const run = promisify(execFile);

async function ends(command: string, args: readonly string[], cwd: string, env: Environment) {
	return run(command, args, { cwd, env: env as NodeJS.ProcessEnv }).then(
		({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
		(error) => ({ code: error.code as number, out: error.stdout as string, err: error.stderr as string }),
	);
}

export async function runVerify(project: string, node: string, env: Environment): Promise<void> {
	const good = await ends(node, ["verify.mjs", "h200.assay"], project, env);
	assert.deepEqual([good.code, good.out.startsWith("valid [ 'H200'")], [0, true], good.err);
	const bytes = readFileSync(join(project, "h200.assay"));
	bytes[bytes.length >> 1]! ^= 1;
	writeFileSync(join(project, "spoilt.assay"), bytes);
	const bad = await ends(node, ["verify.mjs", "spoilt.assay"], project, env);
	assert.deepEqual([bad.code, bad.out], [1, "invalid ATTACHMENT_HASH\n"], bad.err);
}

export async function runProbeExample(project: string, node: string, env: Environment): Promise<void> {
	const probed = await ends(node, ["probe.mjs"], project, env);
	assert.deepEqual([probed.code, /device 0 gemm\.int8: \d+ op\/s/.test(probed.out)], [0, true], probed.err);
	assert.ok(existsSync(join(project, "host.assay")));
	const nobody = await ends(node, ["probe.mjs", "root@127.0.0.1:1"], project, env);
	assert.equal(nobody.code, 69);
	assert.match(nobody.err, /\[HOST_UNREACHABLE\] \S/);
}

/** `url` is a network with one provider that has proven its CPU. */
export async function runNetworkExamples(project: string, url: string, nodes: readonly string[], env: Environment) {
	for (const node of nodes) {
		const read = await ends(node, ["network.mjs", url], project, env);
		assert.equal(read.code, 0, read.err);
		assert.match(read.out, /^1 providers, 0 GPUs\n.+: the network says valid, we say valid\n$/);
	}
	const python = await ends("python3", ["network.py", url, "from-python.assay"], project, {
		...env,
		PATH: process.env.PATH,
	});
	assert.equal(python.code, 0, python.err);
	assert.match(python.out, / valid 0 no GPU\nassay verify from-python\.assay\n$/);
	const judged = await ends(nodes[0]!, ["verify.mjs", "from-python.assay"], project, env);
	assert.equal(judged.code, 0, judged.out);
}

/** The page from a web server that has nothing but the folder. */
export async function runBrowserExample(project: string): Promise<void> {
	const types: Readonly<Record<string, string>> = { html: "text/html", mjs: "text/javascript" };
	const server = createServer((request, reply) => {
		const path = join(project, decodeURIComponent(new URL(request.url!, "http://x").pathname));
		if (!existsSync(path) || path === `${project}/`) return void reply.writeHead(404).end();
		reply.writeHead(200, { "content-type": types[path.split(".").at(-1)!] ?? "application/octet-stream" });
		reply.end(readFileSync(path));
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const browser = await startBrowser();
	try {
		browser.allow(/404/); // its favicon
		const page = await browser.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/browser.html`);
		const shown = page.locator("#verdict");
		for (const [file, says] of [
			["h200.assay", "valid: H200"],
			["spoilt.assay", "[ATTACHMENT_HASH]"],
		] as const) {
			await page.setInputFiles("#file", join(project, file));
			await shown.getByText(says).waitFor();
		}
		browser.check();
	} finally {
		await browser.close();
		server.closeAllConnections();
		server.close();
	}
}

/**
 * No GPU is here, so a node that promises one is refused; one whose proof is fresh is let in without another.
 */
export async function runSlurmExample(project: string, bin: string, env: Environment): Promise<void> {
	const programs = mkdtempSync(join(project, "programs-"));
	symlinkSync(join(bin, "assay"), join(programs, "assay"));
	const state = join(project, "slurm state");
	const own = { ...env, PATH: `${programs}${delimiter}${process.env.PATH}`, ASSAY_STATE: state };
	const wrong = await ends("bash", ["slurm-prolog.sh"], project, { ...own, ASSAY_EXPECT: "8xNothing" });
	assert.deepEqual([wrong.code, /^assay: .*Nothing.*\[CARD_NAME_UNKNOWN\]\n$/.test(wrong.err)], [1, true], wrong.err);
	writeFileSync(join(state, "last.assay"), "");
	assert.equal((await ends("bash", ["slurm-prolog.sh"], project, own)).code, 0);
	utimesSync(join(state, "last.assay"), new Date(0), new Date(0));
	const refused = await ends("bash", ["slurm-prolog.sh"], project, own);
	assert.equal(refused.code, 1);
	const reason = readFileSync(join(state, "reason"), "utf8");
	assert.match(reason, /ordered: 8 × H100; proven: 0 of 8; no GPU was proven/);
	assert.equal(refused.err, reason);
}

/**
 * Its steps in order, as the runner's bash does them; those with `if: always()` also after one that failed.
 */
export async function runWorkflow(
	project: string,
	tgz: string,
	sshd: Awaited<ReturnType<typeof startTestSshd>>,
	env: Environment,
): Promise<void> {
	const text = readFileSync(join(project, "github-action.yml"), "utf8");
	const steps = text
		.split(/\n {6}- /)
		.slice(1)
		.filter((step) => step.includes("run: "));
	assert.equal(steps.length, 4);
	const folder = join(project, "workflow");
	mkdirSync(folder);
	const secrets: Readonly<Record<string, string>> = {
		GPU_BOX: `${sshd.user}@127.0.0.1:${sshd.port}`,
		GPU_BOX_KEY: readFileSync(sshd.identityFile, "utf8"),
	};
	let failed: string | null = null;
	for (const step of steps) {
		if (failed !== null && !step.includes("if: always()")) continue;
		const script = /run: (.+)/.exec(step)![1]!;
		const given = [...step.matchAll(/(\w+): "\$\{\{ secrets\.(\w+) \}\}"/g)].map(([, name, of]) => [
			name,
			secrets[of!],
		]);
		const EXPECT = /EXPECT: (\S+)/.exec(text)![1];
		const own = { ...env, EXPECT, ASSAY_PACKAGE: tgz, npm_config_offline: "true", ...Object.fromEntries(given) };
		const { code, out, err } = await ends("bash", ["-e", "-c", script], folder, own);
		if (code === 0) continue;
		failed = step.split("\n")[0]!;
		assert.equal(failed, "name: Probe", err);
		assert.match(out, /ordered: 8 × H100; proven: 0 of 8; no GPU was proven/);
	}
	assert.equal(failed, "name: Probe");
	assert.deepEqual(
		readdirSync(folder)
			.filter((name) => name.startsWith("box."))
			.sort(),
		["box.assay", "box.assay.html"],
	);
}
