// Builds the dashboard: web/ → build/web (or --out FOLDER), names with hashes, beside each file its gzip and
// brotli forms. Skips when nothing is newer.
//   node scripts/build-web.ts [--out FOLDER] [--force]
// Not here: serving (src/api/server/dashboard.ts).
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { type BuildOptions, type BuildResult, build } from "esbuild";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");

const shared = {
	absWorkingDir: root,
	bundle: true,
	minify: true,
	format: "esm",
	target: ["es2022", "chrome111", "firefox115", "safari16.4"],
	legalComments: "none",
	jsx: "automatic",
	jsxImportSource: "preact",
	metafile: true,
	write: false,
	logLevel: "warning",

	entryNames: "[name]-[hash]",
	chunkNames: "part-[hash]",
	outdir: "/",
} as const satisfies BuildOptions;

export interface WebBuild {
	/** By name, e.g. main-ABC.js. */
	readonly files: ReadonlyMap<string, Uint8Array>;
	/** What the first view of the overview loads. */
	readonly firstView: readonly string[];
	/** Source files that the first view has something of. */
	readonly firstSources: readonly string[];
}

type Built = BuildResult<typeof shared & BuildOptions>;
const nameOf = (path: string): string => path.replace(/^.*\//, "");

function outputOf(result: Built, entry: string): string {
	const found = Object.entries(result.metafile.outputs).find(([, output]) => output.entryPoint === entry);
	if (found === undefined) throw new Error(`no output for ${entry}`);
	return found[0];
}

export async function buildWeb(): Promise<WebBuild> {
	const files = new Map<string, Uint8Array>();
	const take = (result: Built) => {
		for (const file of result.outputFiles ?? []) files.set(nameOf(file.path), file.contents);
		return result;
	};
	const one = async (entry: string, options: BuildOptions = {}): Promise<[string, Built]> => {
		const result = take((await build({ ...shared, ...options, entryPoints: [entry] })) as Built);
		return [nameOf(outputOf(result, entry)), result];
	};
	const [early] = await one("web/early.ts", { format: "iife" });
	const [worker] = await one("web/verify/verifier-worker.ts");
	const [rollCall] = await one("web/verify/roll-call-worker.ts");
	const [training] = await one("web/verify/training-worker.ts");
	const [job] = await one("web/jobs/work/job-worker.ts");
	const samples = sampleFiles();
	// By itself: hashes and curves that it shared with the pages would be in the first view.
	const [audit] = await one("web/chain/chain-audit.ts");
	const [trial] = await one("web/jobs/work/trial-account.ts");
	const [main, result] = await one("web/main.tsx", {
		splitting: true,
		define: {
			VERIFIER_WORKER: JSON.stringify(`/${worker}`),
			ROLL_CALL_WORKER: JSON.stringify(`/${rollCall}`),
			TRAINING_WORKER: JSON.stringify(`/${training}`),
			JOB_WORKER: JSON.stringify(`/${job}`),
			CHAIN_AUDIT: JSON.stringify(`/${audit}`),
			TRIAL_ACCOUNT: JSON.stringify(`/${trial}`),
			SAMPLE_FILES: JSON.stringify(samples),
		},
		external: [`/${audit}`, `/${trial}`],
	});
	const output = result.metafile.outputs[outputOf(result, "web/main.tsx")]!;
	const style = output.cssBundle === undefined ? [] : [nameOf(output.cssBundle)];
	const parts = output.imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => nameOf(path));
	const icon = readFileSync(join(root, "web/icon.svg"));
	files.set("icon.svg", icon);
	const html = readFileSync(join(root, "web/index.html"), "utf8")
		.replace("<!-- styles -->", style.map((name) => `<link rel="stylesheet" href="/${name}">`).join(""))
		.replace("<!-- early -->", `<script src="/${early}"></script>`)
		.replace(
			"<!-- main -->",
			[
				...parts.map((name) => `<link rel="modulepreload" href="/${name}">`),
				`<script type="module" src="/${main}"></script>`,
			].join(""),
		);
	files.set("index.html", Buffer.from(html));
	const version = createHash("sha256");
	for (const [name, bytes] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) version.update(name).update(bytes);
	// Last: it keeps the others for a visitor without a network.
	const kept = ["/", ...[...files.keys()].filter((name) => name !== "index.html").map((name) => `/${name}`)];
	await one("web/service-worker.ts", {
		format: "iife",
		entryNames: "[name]",
		define: { KEPT_FILES: JSON.stringify(kept), KEPT_VERSION: JSON.stringify(version.digest("hex").slice(0, 16)) },
	});
	// After it: a visitor without a network needs no samples.
	for (const name of samples) files.set(sampleName(name), readFileSync(join(root, "samples", name)));
	const firstSources = Object.entries(result.metafile.outputs)
		.filter(([name]) => [main, ...parts].includes(nameOf(name)))
		.flatMap(([, { inputs }]) => Object.keys(inputs).filter((name) => inputs[name]!.bytesInOutput > 0));
	return { files, firstView: ["index.html", early, main, "icon.svg", ...style, ...parts], firstSources };
}

const SAMPLES = /^([\w-]+\.json|[\w-]+\.txt|(scenes|tiny-bert|tiny-llama)\/[\w.-]+)$/;

/** Of samples/: the job files that the dashboard offers, and what they name. */
const sampleFiles = (): string[] =>
	readdirSync(join(root, "samples"), { recursive: true, encoding: "utf8" })
		.filter((name) => SAMPLES.test(name) && name !== "claims.json" && statSync(join(root, "samples", name)).isFile())
		.sort();
const sampleName = (name: string): string => `sample--${name.replaceAll("/", "--")}`;

/** Small files gain nothing; a compressed form that is not smaller is left out. */
const LEAST_COMPRESSED_BYTES = 512;

export function compress(bytes: Uint8Array): { readonly br?: Uint8Array; readonly gz?: Uint8Array } {
	if (bytes.length < LEAST_COMPRESSED_BYTES) return {};
	const br = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
	const gz = gzipSync(bytes, { level: 9 });
	return { ...(br.length < bytes.length && { br }), ...(gz.length < bytes.length && { gz }) };
}

function newestMs(path: string): number {
	const stat = statSync(path);
	if (!stat.isDirectory()) return stat.mtimeMs;
	return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newestMs(join(path, name))));
}

const SOURCES = [
	"web",
	"src/api",
	"src/protocol",
	"src/work",
	"src/verify",
	"src/work",
	"src/market",
	"samples",
	"scripts/build-web.ts",
	"package-lock.json",
];

function isFresh(out: string): boolean {
	try {
		const builtMs = statSync(join(out, "index.html")).mtimeMs;
		return SOURCES.every((source) => newestMs(join(root, source)) < builtMs);
	} catch {
		return false;
	}
}

/** What was there goes aside in one move as well: others may build or read it at the same time. */
function moveOver(from: string, to: string): void {
	const old = `${from}.old`;
	for (let tries = 0; ; tries++) {
		try {
			renameSync(from, to);
			return;
		} catch (error) {
			if (tries === 100) throw error;
		}
		try {
			renameSync(to, old);
		} catch (error) {
			// Somebody else was quicker.
			if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
		}
		rmSync(old, { recursive: true, force: true });
	}
}

/** Builds into `out` unless it is newer than everything it is made of. */
export async function ensureBuilt(out = join(root, "build/web"), isForced = false): Promise<void> {
	if (!isForced && isFresh(out)) return;
	const started = performance.now();
	const { files, firstView } = await buildWeb();
	// Aside first, and then in one move: two builds at once must not mix.
	const aside = `${out}.${process.pid}`;
	mkdirSync(aside, { recursive: true });
	let firstBytes = 0;
	// index.html last: its time says when all of it was there.
	for (const [name, bytes] of [...files].sort(([a]) => (a === "index.html" ? 1 : -1))) {
		const { br, gz } = name.startsWith("sample--") ? { gz: gzipSync(bytes) } : compress(bytes);
		if (br) writeFileSync(join(aside, `${name}.br`), br);
		if (gz) writeFileSync(join(aside, `${name}.gz`), gz);
		writeFileSync(join(aside, name), bytes);
		if (firstView.includes(name)) firstBytes += (br ?? bytes).length;
	}
	moveOver(aside, out);
	const s = ((performance.now() - started) / 1000).toFixed(1);
	const folder = relative(root, out);
	process.stderr.write(
		`web: ${files.size} files in ${folder}, first view ${(firstBytes / 1000).toFixed(1)} kB (${s} s)\n`,
	);
}

if (import.meta.main) {
	const args = process.argv.slice(2);
	const at = args.indexOf("--out");
	await ensureBuilt(resolve(root, at < 0 ? "build/web" : (args[at + 1] ?? "build/web")), args.includes("--force"));
}
