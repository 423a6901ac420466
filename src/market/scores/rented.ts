// The factor for time in which a provider was rented: the mean over the last roll calls of what each counts
// for, 1 where it was not rented. What a call counts for a rented host is market/rentals/paid-rental.ts;
// docs/scores.md.
import type { Params } from "../params.ts";
import type { Term } from "./explanation.ts";
import { given, term } from "./recompute.ts";
import type { RentedCalls } from "./score-input.ts";

const FULL = 1_000_000;

export function rentedTerm({ calls, paidPpm }: RentedCalls, { rollCallWindow, rentedBonusPpm }: Params): Term {
	const rented = Math.min(count(calls), rollCallWindow);
	if (rented === 0) return given("not rented", "ppm", FULL, "state:rented");
	const free = given("free", "ppm", FULL, "constant");
	const paid = term("paid", "ppm", "min", [
		given("burned", "ppm", count(paidPpm), "state:rented"),
		given("most", "ppm", rentedBonusPpm, "params:rentedBonusPpm"),
	]);
	return term("rented", "ppm", "mean", [free, paid], [rollCallWindow - rented, rented]);
}

const count = (value: number): number => (Number.isSafeInteger(value) && value > 0 ? value : 0);
