// Tries that were dropped: each stage names every one of them, so that nobody is asked again in silence. The
// attempt is part of the seeds, so the record must be whole: attempts 0, 1, 2, …, and the recorded challenges
// are the last.
import type { EvidenceBody } from "../../../protocol/probe/evidence.ts";
import { type Fault, fault } from "../fault.ts";

export function checkDropped({ challenges, dropped, probe }: EvidenceBody): Fault | null {
	const tries = new Map<number, number>();
	let atUs = 0;
	let latestStage = 0;
	for (const [i, { stage, attempt, sentAtUs, endedAtUs, specs, refused }] of dropped.entries()) {
		const wrong = (field: string, detail: string) => fault("ATTEMPT_WRONG", `dropped[${i}].${field}`, detail);
		const due = tries.get(stage) ?? 0;
		if (stage < latestStage || attempt !== due) return wrong("attempt", `must be ${due}, and stages in order`);
		latestStage = stage;
		tries.set(stage, due + 1);
		const devices = specs.map(({ device }) => device);
		if (refused.length === 0 || refused.some((device) => !devices.includes(device)))
			return wrong("refused", "names no device, or one that was not asked");
		if (sentAtUs < atUs || endedAtUs < sentAtUs || endedAtUs > probe.finishedAtUs)
			return wrong("sentAtUs", "not in the order of time");
		atUs = endedAtUs;
		const before = challenges.filter((one) => one.stage < stage);
		const after = challenges.find((one) => one.stage >= stage);
		if (before.some((one) => one.sentAtUs > sentAtUs) || (after !== undefined && after.sentAtUs < endedAtUs))
			return wrong("sentAtUs", "not between the stages around it");
	}
	for (const [index, { stage, attempt }] of challenges.entries())
		if (attempt !== (tries.get(stage) ?? 0))
			return fault(
				"ATTEMPT_WRONG",
				`challenges[${index}].attempt`,
				`${tries.get(stage) ?? 0} tries were dropped before`,
			);
	return null;
}
