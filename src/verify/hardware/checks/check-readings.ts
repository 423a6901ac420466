// Readings are claims about claimed devices, in the order they came, within the probe. What they say is not
// judged.
import type { EvidenceBody } from "../../../protocol/probe/evidence.ts";
import { type Fault, fault } from "../fault.ts";

export function checkReadings({ readings, claim, probe }: EvidenceBody): Fault | null {
	let beforeUs = 0;
	for (const [i, { device, atUs }] of readings.entries()) {
		const where = `readings[${i}]`;
		if (device >= claim.devices.length) return fault("SPEC_DEVICE", `${where}.device`, "not in the claim's list");
		if (atUs < beforeUs || atUs > probe.finishedAtUs)
			return fault("TIME_ORDER", `${where}.atUs`, "came before the one before it, or after the end of the probe");
		beforeUs = atUs;
	}
	return null;
}
