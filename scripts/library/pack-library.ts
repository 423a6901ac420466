// The package as a library: dist/library/*.mjs, one file an entry of `exports` with what they share, and
// their types in plain declarations. Called by scripts/release.ts. Types come from the compiler; those of the
// API's client from its OpenAPI document (api-types.ts).
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { build } from "esbuild";
import { openapiDocument } from "../../src/api/openapi.ts";
import { type ApiDocument, apiTypes } from "./api-types.ts";

const ENTRIES = ["index", "probe", "client"] as const;
const FOLDER = "dist/library";

/** For the manifest of the package. */
export const libraryExports = {
	...Object.fromEntries(
		ENTRIES.map((name) => [
			name === "index" ? "." : `./${name}`,
			{ types: `./${FOLDER}/${name}.d.ts`, default: `./${FOLDER}/${name}.mjs` },
		]),
	),
	"./package.json": "./package.json",
};

/** Returns the sources that went in. */
export async function packLibrary(root: string, stage: string, version: string): Promise<string[]> {
	const inputs = await packCode(root, stage);
	packTypes(root, join(stage, FOLDER), version);
	return inputs;
}

/**
 * One build, so that there is one AssayError. Nothing is done to globals: Node 20 gets its own
 * `Promise.withResolvers` inside.
 */
async function packCode(root: string, stage: string): Promise<string[]> {
	const scratch = mkdtempSync(join(tmpdir(), "assay-library-"));
	const shim = join(scratch, "with-resolvers.mjs");
	writeFileSync(
		shim,
		`export function withResolvers() {
	let resolve, reject;
	const promise = new Promise((yes, no) => { resolve = yes; reject = no; });
	return { promise, resolve, reject };
}\n`,
	);
	try {
		const { metafile } = await build({
			absWorkingDir: root,
			entryPoints: Object.fromEntries(ENTRIES.map((name) => [name, `src/library/${name}.ts`])),
			bundle: true,
			splitting: true,
			platform: "node",
			format: "esm",
			target: "node20",
			legalComments: "eof",
			preserveSymlinks: true,
			logLevel: "warning",
			inject: [shim],
			define: { "Promise.withResolvers": "withResolvers" },
			outExtension: { ".js": ".mjs" },
			chunkNames: "part-[hash]",
			metafile: true,
			outdir: join(stage, FOLDER),
		});
		return Object.keys(metafile.inputs).filter((path) => !path.includes("with-resolvers"));
	} finally {
		rmSync(scratch, { recursive: true });
	}
}

/** Declarations of the entries and of every file whose types they name, and no others. */
function packTypes(root: string, out: string, version: string): void {
	const scratch = mkdtempSync(join(root, "build/library-types-"));
	try {
		const config = join(scratch, "tsconfig.json");
		const files = ["index", "probe"].map((name) => join(root, `src/library/${name}.ts`));
		const compilerOptions = { noEmit: false, declaration: true, emitDeclarationOnly: true, outDir: "out" };
		const rootDir = join(root, "src");
		const options = { ...compilerOptions, rootDir, stripInternal: true, types: ["node"] };
		writeFileSync(
			config,
			JSON.stringify({ extends: join(root, "tsconfig.json"), compilerOptions: options, include: [], files }),
		);
		const compiler = resolve(root, "node_modules/typescript/bin/tsc");
		execFileSync(process.execPath, [compiler, "-p", config], { cwd: root, stdio: ["ignore", 2, 2] });
		const from = join(scratch, "out");
		const taken = new Set<string>();
		// Entries lie beside the folders of the layers, not in one of their own.
		for (const name of ["index", "probe"]) {
			const text = readFileSync(join(from, `library/${name}.d.ts`), "utf8").replaceAll(/"\.\.\//g, '"./');
			put(join(out, `${name}.d.ts`), text);
			for (const next of importsOf(text)) take(from, out, next, taken);
		}
		const client = apiTypes(openapiDocument({ version }) as unknown as ApiDocument);
		put(join(out, "client.d.ts"), client);
		for (const next of importsOf(client)) take(from, out, next.replace(/\.js$/, ".ts"), taken);
	} finally {
		rmSync(scratch, { recursive: true });
	}
}

const importsOf = (text: string): string[] =>
	[...text.matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)].map(([, path]) => path!);

/** `path` as a declaration names it: ./protocol/codes.ts */
function take(from: string, out: string, path: string, taken: Set<string>): void {
	const name = relative(".", path.replace(/\.ts$/, ""));
	if (taken.has(name)) return;
	taken.add(name);
	const text = readFileSync(join(from, `${name}.d.ts`), "utf8");
	put(join(out, `${name}.d.ts`), text);
	for (const next of importsOf(text)) take(from, out, join(dirname(name), next), taken);
}

function put(file: string, text: string): void {
	mkdirSync(dirname(file), { recursive: true });
	writeFileSync(file, text.replaceAll(/((?:from|import\()\s*"\.[^"]+)\.ts"/g, '$1.js"'));
}
