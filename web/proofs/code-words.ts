// What a verdict's code says, means and asks for, from the table of codes. A part of its own: only pages with
// something wrong on them load it.
import { isCheat } from "../../src/protocol/cheat-codes.ts";
import { type CodeEntry, codes } from "../../src/protocol/codes.ts";

export interface CodeWords {
	readonly happened: string;
	readonly means: string;
	readonly todo: string;
	/** For whoever owns the host; empty where it is not about one. */
	readonly owner: string;
}

/**
 * Of the entries whose fault lies with the file or its verifier the hint says it; those of hosts are told
 * apart by it.
 */
const HOST_HINT = codes.ELEMENT_WRONG.hint;
const HOST_CODES: readonly string[] = ["CARD_CONTRADICTED", "CARD_WITHOUT_MEMORY"];

function meansOf(code: string, { kind, hint }: CodeEntry): string {
	if (kind === "verdict-inconclusive")
		return "Nothing is proven, either way. It is not held against the host's truthfulness, only against its uptime, and the host is probed again soon.";
	if (isCheat(code))
		return "No honest host can cause this: the answer contradicts what the host itself had committed to, or the seed that it was given. The host scores 0 until it proves itself again.";
	if (hint === HOST_HINT || HOST_CODES.includes(code))
		return "The host did not prove what it claims. A crash, a lost packet, a busy or broken card can lead to this as well as cheating; it scores 0 until its next valid proof.";
	return "This is about the file and whoever wrote it, not about the host's hardware. Nothing in the file counts.";
}

/** A code that this program does not know, of a newer validator, is told as it is. */
export function wordsOf(code: string): CodeWords {
	const entry = (codes as Readonly<Record<string, CodeEntry>>)[code];
	if (entry === undefined) return { happened: "", means: "", todo: "", owner: "" };
	const isOfHost = entry.kind === "verdict-inconclusive" || entry.hint === HOST_HINT || HOST_CODES.includes(code);
	return {
		happened: entry.meaning,
		means: meansOf(code, entry),
		todo: entry.hint,
		owner: isOfHost
			? "If it fails there, too, see that nothing else uses the GPUs; if it is valid, look at the network to the validator."
			: "",
	};
}
