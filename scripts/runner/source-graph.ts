// Which files of the checkout a file depends on when it runs: what it imports, and what it names, since a
// test may read, start or hand on whatever its text or that of an import names. A name is a path from the
// root or from the file's own folder, of a file or of a folder with all that is in it; `join(root, "a", "b")`
// counts as one. It errs on the side of too much. Not here: what follows from a change (near.ts), what no
// text names (ALSO there).
import { dirname, join } from "node:path/posix";
import { importsOf, withoutImports, withoutTypeImports } from "./imports-of.ts";

/** Their text is looked through; others are only read. */
const IS_SOURCE = /\.(tsx?|mjs)$/;
/** What no text names: a build takes all of its folder, esbuild its settings. */
const ALSO: Readonly<Record<string, string>> = {
	"engine/build.sh": "engine",
	"scripts/build-web.ts": "tsconfig.json",
};
const IS_TEST = /\.test\.ts$/;
/** What may be a path, quoted, or at an end of a template. What `${…}` adds is left open. */
const QUOTED = /(["'`}])([\w.@-]*[/.][\w.@/-]*)(["'`$*{])/g;
/** Programs that a longer string names, a command for instance. */
const PROGRAMS = /[\w.@/-]+\.(?:ts|mjs|sh)\b/g;
/** `join(root, "a", "b")` */
const JOINED = /\b(?:join|resolve)\(\s*[\w.]+(?:\(\))?\s*,\s*((?:"[\w./-]+"\s*,?\s*)+)/g;
/** `sources("web")` */
const FOLDERS = /\(\s*"([\w-]+)"\s*[,)]/g;
/** Programs of threads are named without their ending. */
const BESIDE = /"([\w-]+)",\s*import\.meta\.url/g;
/** Comments, and long lines of what was generated. */
const NOT_CODE = /^\s*(?:\/\/|\/?\*).*$|^.{1000,}$/gm;
const IS_PRODUCT = /^(src|web)\/(?!.*\.test(-kit)?\.ts$)/;
const IS_PAGE = /\.md$/;
/** It asks Git which files there are, and looks at all of them. */
const ASKS_FOR_ALL = /"git", \["ls-files"|\bfilesOf\(root\)/;

interface Edges {
	readonly runs: Set<string>;
	readonly reads: Set<string>;
}

/** Files that a path means: itself, or what is in the folder. The root itself is no one's. */
interface Meant {
	readonly files: readonly string[];
	readonly isFolder: boolean;
}

interface Closure {
	/** It and what it imports or starts. */
	readonly runs: ReadonlySet<string>;
	/** That, and what any of it reads. */
	readonly all: ReadonlySet<string>;
}

export interface SourceGraph {
	/** What its text imports and names; of a folder that it names, the files are only read. */
	edgesOf(file: string): Edges;
	/** What a file depends on, itself included; as much as is in its text and in that of what it runs. */
	closureOf(file: string): Closure;
}

/** `textOf` is asked for sources only. */
export function createSourceGraph(files: readonly string[], textOf: (file: string) => string): SourceGraph {
	const known = new Set(files);
	const below = new Map<string, string[]>();
	for (const file of files)
		for (let folder = dirname(file); folder !== "."; folder = dirname(folder)) {
			const inside = below.get(folder);
			if (inside === undefined) below.set(folder, [file]);
			else inside.push(file);
		}
	const meant = (path: string): Meant => {
		const at = path.replace(/\/$/, "");
		if (known.has(at)) return { files: [at], isFolder: false };
		return { files: below.get(at) ?? [], isFolder: true };
	};
	const edges = new Map<string, Edges>();
	const edgesOf = (file: string): Edges => {
		let found = edges.get(file);
		if (found === undefined) {
			found = { runs: new Set(), reads: new Set() };
			for (const one of meant(ALSO[file] ?? "").files) found.reads.add(one);
			if (IS_SOURCE.test(file) && known.has(file)) {
				const source = textOf(file);
				readEdges(file, source, meant, found);
				if (ASKS_FOR_ALL.test(source)) found = { runs: found.runs, reads: known };
			}
			edges.set(file, found);
		}
		return found;
	};
	const closures = new Map<string, Closure>();
	return {
		edgesOf,
		closureOf: (file) => {
			const before = closures.get(file);
			if (before !== undefined) return before;
			const run = new Set([file]);
			const all = new Set([file]);
			// What is added while it is walked is walked too.
			for (const one of run) {
				const { runs, reads } = edgesOf(one);
				for (const next of runs) (IS_TEST.test(next) ? all : run).add(next);
				for (const next of reads) all.add(next);
			}
			for (const one of run) all.add(one);
			const closure = { runs: run, all };
			closures.set(file, closure);
			return closure;
		},
	};
}

function readEdges(file: string, source: string, meant: (path: string) => Meant, edges: Edges): void {
	const folder = dirname(file);
	const add = ({ files, isFolder }: Meant): boolean => {
		for (const one of files) (isFolder ? edges.reads : edges.runs).add(one);
		return files.length > 0;
	};
	// Also one that is not there any more: it was deleted just now.
	for (const name of importsOf(withoutTypeImports(source)))
		if (name.startsWith(".")) edges.runs.add(join(folder, name));
	const text = withoutImports(source.replaceAll(NOT_CODE, ""));
	const named = (path: string) => add(meant(join(folder, path))) || add(meant(join(path)));
	for (const [, before, word, behind] of text.matchAll(QUOTED)) {
		const path = /["'`]/.test(behind!) ? word! : word!.slice(0, word!.lastIndexOf("/") + 1);
		// The product reads no page: it tells people to.
		if (IS_PRODUCT.test(file) ? IS_PAGE.test(path) || !/\w/.test(path) : !/\w|^\.\.?\//.test(path)) continue;
		// One that begins with a slash is from the root where `${…}` stands before it, else none of ours.
		if (!path.startsWith("/")) named(path);
		else if (before === "}") add(meant(join(path.slice(1))));
	}
	if (!IS_PRODUCT.test(file)) {
		for (const [path] of text.matchAll(PROGRAMS)) named(path);
		for (const [, name] of text.matchAll(FOLDERS)) add(meant(name!));
	}
	for (const [, words] of text.matchAll(JOINED)) add(joined(words!, meant));
	for (const [, name] of text.matchAll(BESIDE)) add(meant(join(folder, `${name}.ts`)));
}

/** The longest path from the root that the words of one call begin. */
function joined(words: string, meant: (path: string) => Meant): Meant {
	const parts = [...words.matchAll(/"([^"]+)"/g)].map((match) => match[1]!);
	for (let count = parts.length; count > 1; count--) {
		const found = meant(join(...parts.slice(0, count)));
		if (found.files.length > 0) return found;
	}
	return meant(parts[0]!);
}
