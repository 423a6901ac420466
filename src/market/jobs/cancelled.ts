// What a customer has back of a job that was cancelled, and what goes on, in one sentence for terminals and
// pages. Pure.
import type { JobRecord } from "../../protocol/network/job.ts";

/** "part 3 is", "4 parts are": counted from one, as pages do. */
const partsAre = (numbers: readonly number[]): string =>
	numbers.length === 1 ? `part ${numbers[0]! + 1} is` : `${numbers.length} parts are`;

/** Null: nothing of it was given back. `money`: an amount of micro-units in words. */
export function cancelledText(
	{ terms, parts }: Pick<JobRecord, "terms" | "parts">,
	money: (micros: number) => string,
): string | null {
	const back = parts.filter(({ state }) => state === "refunded").length;
	if (back === 0) return null;
	const each = terms.priceMicros + terms.feeMicros + terms.auditMicros;
	const of = (...states: readonly string[]) =>
		parts.filter(({ state }) => states.includes(state)).map(({ part }) => part);
	const [working, claimed, open] = [of("assigned", "running"), of("claimed"), of("open")];
	return [
		`${back} of ${parts.length} parts came back: up to ${money(back * each)}`,
		...(working.length === 0 ? [] : [`${partsAre(working)} at work, to be finished and paid`]),
		...(claimed.length === 0 ? [] : [`${partsAre(claimed)} claimed, to be paid after the window`]),
		...(open.length === 0 ? [] : [`${partsAre(open)} open, to be given back`]),
	].join("; ");
}
