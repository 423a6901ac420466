// Presence: the share of the last roll calls that a provider answered in time and rightly, as a factor of its
// score. Who is excused from a call and what an answer must show are in market/roll-call/; docs/roll-call.md.
import type { Params } from "../params.ts";
import type { Term } from "./explanation.ts";
import { given, term } from "./recompute.ts";
import type { Presence } from "./score-input.ts";

/** Null: the network has no roll calls. */
export function presenceTerm(presence: Presence | null, { rollCallWindow }: Params): Term {
	if (presence === null) return given("no roll calls", "ppm", 1_000_000, "state:rollCalls");
	return term("presence", "ppm", "presence", [
		given("answered", "1", count(presence.answered), "state:rollCalls"),
		given("counted", "1", count(presence.counted), "state:rollCalls"),
		given("window", "1", rollCallWindow, "params:rollCallWindow"),
	]);
}

const count = (value: number): number => (Number.isSafeInteger(value) && value > 0 ? value : 0);
