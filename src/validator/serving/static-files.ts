// The built dashboard (scripts/build-web.ts) as files for the API server's `staticFile`: read once, kept in memory, half a megabyte.
// Pages of the dashboard are all the same document; which page it is, the document finds out. Not here: headers, policy, encodings' choice (src/api).
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import type { StaticFile } from "../../api/server/server-options.ts";
import { packageRoot } from "../../engine/builds.ts";

const TYPES: Readonly<Record<string, string>> = {
	".html": "text/html; charset=utf-8",
	".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
};

/** The verifier's worker compiles a program of its own (src/protocol/maths/row-program.ts) and needs nothing else: no connection, no further script. */
const WORKER_POLICY = "default-src 'none';script-src 'wasm-unsafe-eval'";

/** First parts of the dashboard's paths; anything else stays an unknown route of the API. */
const PAGES = ["", "providers", "compare", "probes", "verify", "epochs", "rent"];

/** Null where nothing was built: the API works without. */
export function createStaticFiles(
	folders: readonly string[] = builtFolders(),
): (path: string) => Promise<StaticFile | null> {
	const files = readFirst(folders);
	return async (path) => {
		const file = files.get(path);
		if (file !== undefined && path !== "/index.html") return file;
		const [, first = "", ...rest] = path.split("/");
		return PAGES.includes(first) && rest.length <= 1 ? (files.get("/index.html") ?? null) : null;
	};
}

/** In a checkout, and in a package. */
const builtFolders = () => [join(packageRoot(), "build", "web"), join(packageRoot(), "dist", "web")];

function readFirst(folders: readonly string[]): ReadonlyMap<string, StaticFile> {
	for (const folder of folders) {
		const files = readFolder(folder);
		if (files.has("/index.html")) return files;
	}
	return new Map();
}

function readFolder(folder: string): Map<string, StaticFile> {
	const files = new Map<string, StaticFile>();
	let names: string[];
	try {
		names = readdirSync(folder);
	} catch {
		return files;
	}
	const read = (name: string) => (names.includes(name) ? readFileSync(join(folder, name)) : undefined);
	for (const name of names) {
		const contentType = TYPES[extname(name)];
		const bytes = contentType === undefined ? undefined : read(name);
		if (contentType === undefined || bytes === undefined) continue;
		const [br, gzip] = [read(`${name}.br`), read(`${name}.gz`)];
		const hasHash = /-[A-Z0-9]{8}\.[a-z]+$/.test(name);
		files.set(`/${name}`, {
			bytes,
			contentType,
			cacheControl: hasHash ? "public, max-age=31536000, immutable" : "no-cache",
			encoded: { ...(br && { br }), ...(gzip && { gzip }) },
			...(name.startsWith("verifier-worker-") && { contentSecurityPolicy: WORKER_POLICY }),
		});
	}
	return files;
}
