// Modules of src/verify/zk with one line that is another: what a verifier is without one of its checks.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

/** A line of a verifier, and what stands there without the check. */
export interface Removed {
	/** Its name, without folder and ending. */
	readonly file: string;
	readonly line: string;
	readonly instead: string;
}

const removals: Removed[] = [];
registerHooks({
	resolve(specifier, context, next) {
		const found = next(specifier, context);
		const removed = /\?removed=(\d+)$/.exec(context.parentURL ?? "");
		return removed && found.url.includes("/verify/zk/") ? { ...found, url: `${found.url}${removed[0]}` } : found;
	},
	load(url, context, next) {
		const removed = /\/([a-z-]+)\.ts\?removed=(\d+)$/.exec(url);
		if (removed === null) return next(url, context);
		const source = readFileSync(fileURLToPath(url.replace(/\?.*/, "")), "utf8");
		const { file, line, instead } = removals[Number(removed[2])]!;
		if (file !== removed[1]) return { format: "module-typescript", source, shortCircuit: true };
		assert.equal(source.split(line).length, 2, `${line} stands once in ${file}`);
		return { format: "module-typescript", source: source.replace(line, instead), shortCircuit: true };
	},
});

/** Behind a module's address: it and all that it imports from here have no such check. */
export function without(removed: Removed): string {
	removals.push(removed);
	return `?removed=${removals.length - 1}`;
}
