// Child of rules.ts: tries mutants one after the other in one process. For each one, the rules and their
// tests are loaded anew, with the one fault in them, and run until one fails; everything else is loaded once.
// Says the fate of each as soon as it is known.
import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";
import { mutateRule, type RuleMutation } from "./rule-mutations.ts";

export interface Trial {
	/** Of the file that has the fault; null: none has. */
	readonly url: string | null;
	readonly mutation: RuleMutation | null;
	readonly tests: readonly string[];
}

const FRESH = /\/src\/(market\/jobs|verify\/methods)\/[^/]+\.ts(\?|$)/;
const COLLECTOR = `data:text/javascript,${encodeURIComponent(
	"export const test = (name, act) => void globalThis.collectedTests.push(act);",
)}`;
const collected: (() => unknown)[] = [];
Object.assign(globalThis, { collectedTests: collected });

let trial: Trial | null = null;
let number = 0;
const stripped = new Map<string, string>();

registerHooks({
	resolve(specifier, context, next) {
		if (specifier === "node:test" && FRESH.test(context.parentURL ?? "")) return { url: COLLECTOR, shortCircuit: true };
		const found = next(specifier, context);
		return FRESH.test(found.url) ? { ...found, url: `${found.url.split("?")[0]}?${number}` } : found;
	},
	load(url, context, next) {
		const [plain = url] = url.split("?");
		if (!FRESH.test(url)) return next(url, context);
		const isMutant = plain === trial?.url;
		let source = isMutant ? undefined : stripped.get(plain);
		if (source === undefined) {
			const text = readFileSync(fileURLToPath(plain), "utf8");
			source = stripTypeScriptTypes(isMutant ? mutateRule(text, trial!.mutation!) : text);
			if (!isMutant) stripped.set(plain, source);
		}
		return { format: "module", source, shortCircuit: true };
	},
});

/** Null: no test noticed. */
async function failureOf(of: Trial): Promise<string | null> {
	trial = of;
	number += 1;
	try {
		for (const test of of.tests) {
			collected.splice(0);
			await import(test);
			for (const act of collected.splice(0)) await act();
		}
		return null;
	} catch (error) {
		return String(error);
	}
}

process.on("message", async (trials: readonly Trial[]) => {
	for (const one of trials) process.send!(await failureOf(one));
	process.disconnect();
});
