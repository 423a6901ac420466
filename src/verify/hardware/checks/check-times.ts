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
		const times = challengeTimes(answer);
		if (times.fault !== null) return times.fault;
		if (times.endUs > probe.finishedAtUs) return fault("TIME_ORDER", where, "ends after the probe does");
		latestUs = Math.max(latestUs, times.endUs);
	}
	return null;
}

function challengeTimes({ record, roots, opens, where }: Answered): { fault: Fault | null; endUs: number } {
	let atUs = record.sentAtUs;
	for (const [i, root] of roots.entries()) {
		if (root.atUs < atUs)
			return { fault: fault("TIME_ORDER", `${where}.roots.record[${i}]`, "came before what it follows"), endUs: 0 };
		atUs = root.atUs;
	}
	if (roots.length > 0 && atUs === record.sentAtUs)
		return {
			fault: fault("TIME_ZERO", `${where}.sentAtUs`, "the last root came in the microsecond of the request"),
			endUs: 0,
		};
	for (const [i, { record: open, where: openWhere }] of opens.entries()) {
		if (open.sentAtUs < atUs) {
			const early = i === 0 ? "COMMITMENT_AFTER_OPENING" : "TIME_ORDER";
			return { fault: fault(early, `${openWhere}.sentAtUs`, "asked before what it opens had come"), endUs: 0 };
		}
		if (open.receivedAtUs < open.sentAtUs)
			return { fault: fault("TIME_ORDER", `${openWhere}.receivedAtUs`, "answered before it was asked"), endUs: 0 };
		atUs = open.receivedAtUs;
	}
	return { fault: null, endUs: atUs };
}
