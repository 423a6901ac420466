// Packs the packages that hundreds of test processes load into a few files, once for each lockfile:
// build/test-packages. Of the time in which a validator starts, half is looking for a thousand small files of
// viem, zod, Fastify and others; a release has them packed too. `hook.mjs` beside them, loaded by
// NODE_OPTIONS, hands them to our own sources alone, and finds these for each other: each is named by its
// path, and Node need not look for it. It also has Node keep what it compiled while a process runs: the
// processes that others start meanwhile need it, and many are killed, with whom it would be lost. Not here:
// what is released (release.ts), our own sources, packages with native code or threads.
import { createHash } from "node:crypto";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";

const PACKAGES = [
	...["viem", "viem/accounts", "viem/utils", "zod/locales", "zod/mini", "prom-client"],
	...["fastify", "@fastify/helmet", "@fastify/static"],
	...["hashes/legacy.js", "hashes/sha2.js", "hashes/sha3.js"].map((file) => `@noble/${file}`),
	...[
		"abstract/curve.js",
		"abstract/hash-to-curve.js",
		"abstract/poseidon.js",
		"bls12-381.js",
		"bn254.js",
		"ed25519.js",
		"nist.js",
		"secp256k1.js",
	].map((file) => `@noble/curves/${file}`),
];
const HOUR_MS = 3_600_000;
/**
 * Once a process has loaded what it begins with, and what it needs later. With nothing new it takes a
 * millisecond.
 */
const KEPT_AFTER_MS = [2000, 6000, 20_000, 60_000];
const BANNER = `import { createRequire as createRequireHere } from "node:module";
const require = createRequireHere(import.meta.url);`;

/**
 * The hook: our sources get the packed file and each other, everybody else what they would get anyway. Old
 * Nodes have no hooks.
 */
const hookOf = (
	root: string,
	files: Readonly<Record<string, string>>,
): string => `import * as modules from "node:module";
import { isMainThread } from "node:worker_threads";
const root = ${JSON.stringify(pathToFileURL(join(root, "/")).href)};
const packed = new Map(${JSON.stringify(Object.entries(files))});
modules.registerHooks?.({
	resolve(name, context, next) {
		const from = context.parentURL ?? "";
		if (!from.startsWith(root) || from.includes("/node_modules/")) return next(name, context);
		if (name[0] === "." && name.endsWith(".ts"))
			return { url: new URL(name, from).href, format: "module-typescript", shortCircuit: true };
		const file = packed.get(name);
		if (file === undefined) return next(name, context);
		return { url: new URL(file, import.meta.url).href, format: "module", shortCircuit: true };
	},
});
if (isMainThread) for (const ms of ${JSON.stringify(KEPT_AFTER_MS)}) setTimeout(() => modules.flushCompileCache?.(), ms).unref();
`;

/** A package as Node shows it: a CommonJS one has the names that Node finds in it. */
async function entryOf(name: string): Promise<string> {
	const names = Object.keys(await import(name));
	if (!names.includes("module.exports"))
		return `export * from "${name}";${names.includes("default") ? `export { default } from "${name}";` : ""}`;
	const named = names.filter((one) => /^\w+$/.test(one) && one !== "default");
	return `import all from "${name}"; export default all; export const { ${named.join(", ")} } = all;`;
}

/** Entry points by the package's name. */
const entries = (root: string): Plugin => ({
	name: "entries",
	setup({ onResolve, onLoad }) {
		onResolve({ filter: /^packed:/ }, ({ path }) => ({ path: path.slice(7), namespace: "packed" }));
		onLoad({ filter: /./, namespace: "packed" }, async ({ path }) => ({
			contents: await entryOf(path),
			resolveDir: root,
		}));
	},
});

/** The file to load before everything else. */
export async function packPackages(root: string): Promise<string> {
	const lock = readFileSync(join(root, "package-lock.json"));
	const key = createHash("sha256")
		.update(lock)
		.update(PACKAGES.join())
		.update(hookOf(root, {}))
		.digest("hex")
		.slice(0, 16);
	const folder = join(root, "build/test-packages", key);
	const hook = join(folder, "hook.mjs");
	if (existsSync(hook)) return hook;
	const names = new Map(PACKAGES.map((name) => [name, name.replaceAll(/\W+/g, "-")]));
	const { outputFiles } = await build({
		absWorkingDir: root,
		entryPoints: Object.fromEntries([...names].map(([name, file]) => [file, `packed:${name}`])),
		plugins: [entries(root)],
		bundle: true,
		splitting: true,
		platform: "node",
		format: "esm",
		target: "node24",
		preserveSymlinks: true,
		logLevel: "warning",
		banner: { js: BANNER },
		outExtension: { ".js": ".mjs" },
		outdir: folder,
		write: false,
	});
	const parent = dirname(folder);
	mkdirSync(parent, { recursive: true });
	// Whole or not at all.
	const draft = mkdtempSync(join(parent, "draft-"));
	for (const { path, contents } of outputFiles) writeFileSync(join(draft, path.slice(folder.length + 1)), contents);
	const files = Object.fromEntries([...names].map(([name, file]) => [name, `./${file}.mjs`]));
	writeFileSync(join(draft, "hook.mjs"), hookOf(root, files));
	try {
		renameSync(draft, folder);
	} catch (error) {
		// A second run of tests beside this one was quicker; its files are the same.
		if (!existsSync(hook)) throw error;
		rmSync(draft, { recursive: true, force: true });
	}
	for (const name of readdirSync(parent))
		if (isOld(join(parent, name), key)) rmSync(join(parent, name), { recursive: true, force: true });
	return hook;
}

/** Of another lockfile, or left by a run that was killed; not what a run beside this one is about to need. */
function isOld(path: string, key: string): boolean {
	const stat = statSync(path, { throwIfNoEntry: false });
	return basename(path) !== key && stat !== undefined && Date.now() - stat.mtimeMs > HOUR_MS;
}
