// What a claim alone can show to be wrong. Everything else in it is neither believed nor refuted here.
import type { HostClaim } from "../../../protocol/probe/evidence.ts";
import { type Fault, fault } from "../fault.ts";

export function checkClaims({ devices }: HostClaim): Fault | null {
	const seen = new Map<string, number>();
	for (const [i, { kind, uuid }] of devices.entries()) {
		if (kind !== "gpu") continue;
		const name = uuid.trim().toLowerCase();
		const before = seen.get(name);
		if (before !== undefined)
			return fault("DEVICE_REPEATED", `claim.devices[${i}].uuid`, `devices ${before} and ${i} are one`);
		seen.set(name, i);
	}
	return null;
}
