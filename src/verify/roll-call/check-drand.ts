// Random values from drand: are its rounds signed by a network that is known here? A file may name any
// network, and its maker could be one: so only those count that the asker accepts.
import { isDrandRound, QUICKNET } from "../../protocol/roll-call/drand.ts";
import type { DrandNetwork, RollBeacon } from "../../protocol/roll-call/roll-file.ts";
import { type Fault, fault } from "../hardware/fault.ts";

const FIELDS = ["publicKey", "genesisS", "periodS", "scheme"] as const;

export function checkDrand(beacon: RollBeacon, accepted: readonly DrandNetwork[] = [QUICKNET]): Fault | null {
	if (beacon.kind !== "drand") return null;
	const isKnown = accepted.some((network) => FIELDS.every((field) => network[field] === beacon[field]));
	if (!isKnown) return fault("CALL_BEACON_UNKNOWN", "beacon", "no network that is accepted here");
	for (const which of ["called", "drawn"] as const)
		if (!isDrandRound(beacon, beacon[which]))
			return fault("CALL_BEACON_WRONG", `beacon.${which}.signature`, `not of round ${beacon[which].round}`);
	return null;
}
