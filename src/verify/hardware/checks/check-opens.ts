// Was what had to be opened asked for and answered? Once a commitment came, a prover that falls silent is not
// let off: it may have seen that the draw hits what it skipped. One whose connection ended may have crashed:
// that proves nothing either way, and how often it is believed is the schedule's (docs/schedule.md).
import { openedWhats } from "../../../protocol/probe/challenge-shape.ts";
import { type Answered, isCommitted } from "../answers.ts";
import { type Fault, fault } from "../fault.ts";

/** `couldNot`: the verifier had to stop before it asked for any opening of this stage. */
export function checkOpens(answer: Answered, couldNot: boolean): Fault | null {
	const { record, opens, where } = answer;
	const needed = openedWhats(record.spec);
	if (!isCommitted(answer)) {
		if (opens.length > 0)
			return fault("OPENS_WRONG", `${where}.opens[0]`, "nothing was committed that could be opened");
		if ((record.spec.kind === "stream" || record.spec.kind === "chase") && record.end !== "cut")
			return fault("STREAM_WITHHELD", `${where}.end`, `the answer ended ${record.end}`);
		return null;
	}
	for (const [i, open] of opens.entries()) {
		if (open.record.what !== needed[i])
			return fault("OPENS_WRONG", `${open.where}.what`, `must be ${needed[i] ?? "absent"}`);
		if (open.record.end === "cut")
			return i === opens.length - 1
				? null
				: fault("OPENS_WRONG", `${opens[i + 1]!.where}`, "asked for after the connection had ended");
		if (open.record.end !== "complete")
			return fault("OPENING_WITHHELD", `${open.where}.end`, `the opening ended ${open.record.end}`);
	}
	if (opens.length === needed.length || (opens.length === 0 && couldNot)) return null;
	return fault("OPENS_MISSING", `${where}.opens[${opens.length}]`, `${needed[opens.length]} were never asked for`);
}

/** The connection ended when the provider knew what it had to answer for. */
export function wasCut({ record, opens }: Answered): boolean {
	const { spec, end } = record;
	return (
		opens.some((open) => open.record.end === "cut") ||
		(end === "cut" && (spec.kind === "stream" || spec.kind === "chase"))
	);
}
