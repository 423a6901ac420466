// The file of `assay probe --fleet`: one target a line, `#` begins a comment. Pure.
import { parseTarget, targetToText } from "../../engine/links/parse-target.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";

const MOST_TARGETS = 10_000;

/** Each target once, as evidence writes it. Throws FLEET_BAD with the line. */
export function readFleet(text: string): readonly string[] {
	const lineOf = new Map<string, number>();
	for (const [index, line] of text.split(/\r?\n/).entries()) {
		const typed = line.replace(/(^|\s)#.*$/, "").trim();
		if (typed === "") continue;
		const bad = (why: string): AssayError => codedError("FLEET_BAD", `line ${index + 1} of the fleet: ${why}`);
		const name = nameOf(typed, bad);
		const before = lineOf.get(name);
		if (before !== undefined) throw bad(`${name} is on line ${before} already`);
		lineOf.set(name, index + 1);
		if (lineOf.size > MOST_TARGETS) throw bad(`more than ${MOST_TARGETS} targets`);
	}
	if (lineOf.size === 0)
		throw new AssayError("FLEET_BAD", "the fleet has no target", { hint: "Write one target a line." });
	return [...lineOf.keys()];
}

function nameOf(typed: string, bad: (why: string) => AssayError): string {
	try {
		return targetToText(parseTarget(typed));
	} catch (error) {
		throw error instanceof AssayError ? bad(error.message) : error;
	}
}
