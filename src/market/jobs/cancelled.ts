// What a customer has back of a job that was cancelled, and what goes on, in one sentence for terminals and
// pages. Pure.
import type { JobRecord } from "../../protocol/network/job.ts";

const listed = (numbers: readonly number[]): string =>
	numbers.length <= 3 ? numbers.map((part) => part + 1).join(", ") : `${numbers.length} of them`;

/** Null: nothing of it was given back. `money`: an amount of micro-units in words. */
export function cancelledText({ terms, parts }: JobRecord, money: (micros: number) => string): string | null {
	const back = parts.filter(({ state }) => state === "refunded").length;
	if (back === 0) return null;
	const each = terms.priceMicros + terms.feeMicros + terms.auditMicros;
	const of = (...states: readonly string[]) =>
		parts.filter(({ state }) => states.includes(state)).map(({ part }) => part);
	const [working, claimed, open] = [of("assigned", "running"), of("claimed"), of("open")];
	return [
		`${back} of ${parts.length} parts were given back: up to ${money(back * each)}`,
		...(working.length === 0 ? [] : [`part ${listed(working)} is at work: it is finished and paid`]),
		...(claimed.length === 0 ? [] : [`part ${listed(claimed)} is claimed: it is paid when its window ends`]),
		...(open.length === 0 ? [] : [`part ${listed(open)} is open: it is given back, too`]),
	].join("; ");
}
