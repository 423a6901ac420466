// Is the order of events one in which the answers prove something? All times are the verifier's own clock:
// sent ≤ roots, in order ≤ opening asked ≤ opening received ≤ end of the probe; and stages one after the
// other.
import type { EvidenceBody } from "../../../protocol/probe/evidence.ts";
import type { Answered } from "../answers.ts";
import { type Fault, fault } from "../fault.ts";

export function checkTimes(answers: readonly Answered[], { probe }: Pick<EvidenceBody, "probe">): Fault | null {
	let stage = 0;
	let stageEndUs = 0; // of all stages before
	let latestUs = 0;
	for (const answer of answers) {
		const { record, where } = answer;
		if (record.stage !== stage) {
			stage = record.stage;
			stageEndUs = latestUs;
		}
		if (record.sentAtUs < stageEndUs)
			return fault("STAGES_OVERLAP", `${where}.sentAtUs`, "sent before the stage before it had ended");
		const endUs = endOf(answer);
		if (typeof endUs !== "number") return endUs;
		if (endUs > probe.finishedAtUs) return fault("TIME_ORDER", where, "ends after the probe does");
		latestUs = Math.max(latestUs, endUs);
	}
	return null;
}

/** When the challenge's last answer came; or what is wrong with its times. */
function endOf({ record, roots, opens, where }: Answered): number | Fault {
	let atUs = record.sentAtUs;
	for (const [i, root] of roots.entries()) {
		if (root.atUs < atUs) return fault("TIME_ORDER", `${where}.roots.record[${i}]`, "came before what it follows");
		atUs = root.atUs;
	}
	if (roots.length > 0 && atUs === record.sentAtUs)
		return fault("TIME_ZERO", `${where}.sentAtUs`, "the last root came in the microsecond of the request");
	for (const [i, { record: open, where: openWhere }] of opens.entries()) {
		const early = i === 0 ? "COMMITMENT_AFTER_OPENING" : "TIME_ORDER";
		if (open.sentAtUs < atUs) return fault(early, `${openWhere}.sentAtUs`, "asked before what it opens had come");
		if (open.receivedAtUs < open.sentAtUs)
			return fault("TIME_ORDER", `${openWhere}.receivedAtUs`, "answered before it was asked");
		atUs = open.receivedAtUs;
	}
	return atUs;
}
