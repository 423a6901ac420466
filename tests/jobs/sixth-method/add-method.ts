// Loaded before all else (node --import): adds the method beside this file to the table of methods and to the
// numbers of the wire, a line each, as a change of these two files would; and has Node read the dashboard's
// pages. Nothing on disk is changed.
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";

const LINES: Readonly<Record<string, (source: string) => string>> = {
	"src/verify/methods/table.ts": (source) =>
		`${source}export { method as prefix } from "${new URL("prefix.ts", import.meta.url)}";\n`,
	"src/protocol/network/job.ts": (source) => source.replace(" zk: 5 }", " zk: 5, prefix: 6 }"),
};

registerHooks({
	load(url, context, next) {
		const change = Object.entries(LINES).find(([path]) => url.endsWith(`/${path}`))?.[1];
		if (change === undefined && !url.endsWith(".tsx")) return next(url, context);
		const source = readFileSync(fileURLToPath(url), "utf8");
		if (change !== undefined) {
			const changed = change(source);
			if (changed === source) throw new Error(`${url} is not as it was: where is the method to be added?`);
			return { format: "module-typescript", source: changed, shortCircuit: true };
		}
		const { code } = transformSync(source, { loader: "tsx", jsx: "automatic", jsxImportSource: "preact" });
		return { format: "module", source: code, shortCircuit: true };
	},
});
