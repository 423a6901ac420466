// Did every round commit, once and in order? And did the answer end as its challenge allows?
import { rootsAsked } from "../../../protocol/probe/challenge-shape.ts";
import type { Answered } from "../answers.ts";
import { isCommitted } from "../answers.ts";
import { type Fault, fault } from "../fault.ts";
import { POLICY } from "../policy.ts";

export function checkRoots(answer: Answered): Fault | null {
	const { record, roots, where } = answer;
	const { spec, end } = record;
	const sustained = spec.kind === "gemm" && spec.rounds === 0;
	if ((end === "stopped" && !sustained) || (end === "complete" && sustained))
		return fault(
			"END_WRONG",
			`${where}.end`,
			`a challenge of ${sustained ? "no" : "a"} fixed number of rounds cannot end ${end}`,
		);
	const expected = sustained ? POLICY.maxRounds : rootsAsked(spec);
	for (const [i, root] of roots.entries()) {
		if (root.index === i && i < expected) continue;
		const at = `${where}.roots.record[${i}]`;
		if (root.index < i) return fault("ROOT_REPEATED", at, `round ${root.index} came before`);
		if (i >= expected) return fault("ROOTS_SURPLUS", at, `${expected} were asked for`);
		return fault("ROOT_ORDER", at, `round ${root.index} came where round ${i} was due`);
	}
	if (isCommitted(answer) && (sustained ? roots.length === 0 : roots.length < expected))
		return fault(
			"ROOTS_MISSING",
			`${where}.roots.record[${roots.length}]`,
			`${roots.length} of ${sustained ? "any" : expected} came`,
		);
	return null;
}
