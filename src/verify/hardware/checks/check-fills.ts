// One card posing as two must fail on memory, also when it says so: a GPU that refuses to fill what it has
// just claimed to be free, while another GPU of the host fills its own in the same instant, is not there in
// the way it was claimed. A probe asks twice, the second time for less, before it records a refusal. When
// every GPU refuses, the host may simply be busy: that stays inconclusive.
import type { HostClaim } from "../../../protocol/probe/evidence.ts";
import { type Answered, isCommitted } from "../answers.ts";
import { type Fault, fault } from "../fault.ts";

export function checkFills(answers: readonly Answered[], { devices }: HostClaim): Fault | null {
	const gpuGemms = answers.filter(
		({ record: { spec } }) => spec.kind === "gemm" && devices[spec.device]?.kind === "gpu",
	);
	for (const { record, where } of gpuGemms) {
		const { spec, end, stage } = record;
		if (end !== "refused" || spec.kind !== "gemm") continue;
		const asked = 2 * spec.m * spec.n * Math.min(spec.keep, spec.rounds);
		// A verifier that asks for more than was claimed free gets what it deserves.
		if (asked > devices[spec.device]!.freeBytes) continue;
		if (gpuGemms.some((other) => other.record.stage === stage && isCommitted(other)))
			return fault(
				"CARD_WITHOUT_MEMORY",
				`${where}.end`,
				`device ${spec.device} refused ${asked} of ${devices[spec.device]!.freeBytes} bytes that it claimed to be free`,
			);
	}
	return null;
}
