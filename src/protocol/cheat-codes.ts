// Codes of invalid verdicts that no honest host can cause: an answer that contradicts its own commitment or
// its seed. They alone are counted as cheats. Not here: what also a killed process, a host that stands
// still or a broken card can lead to (withheld answers, a stream that took as long as making its bytes),
// what rests on a table of cards, and what only the verifier that wrote the file can have done.
import type { Code } from "./codes.ts";

const CHEATS: ReadonlySet<string> = new Set<Code>([
	"ROOTS_SURPLUS",
	"ROOT_REPEATED",
	"ROOT_ORDER",
	"OPENINGS_SURPLUS",
	"OPENING_REPEATED",
	"OPENING_ORDER",
	"OPENING_PLACE",
	"LEAF_LENGTH",
	"PATH_LENGTH",
	"ROOT_MISMATCH",
	"ELEMENT_WRONG",
	"LANE_WRONG",
	"TRACE_WRONG",
	"DIGEST_WRONG",
	"CHASE_WRONG",
]);

export const isCheat = (code: string | null): boolean => code !== null && CHEATS.has(code);
