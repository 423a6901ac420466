// What is remembered of a provider between probes, one row each, made with the provider. Decided by market/,
// kept here.
import type { ProviderMemory } from "../protocol/network/provider-memory.ts";
import { integer, json, text } from "./check-input.ts";
import type { Sql } from "./postgres/sql.ts";

/** Of `provider_memory m`, as one JSON value. */
export const MEMORY = `jsonb_build_object('why', m.why, 'lastStartedAtMs', m.last_started_at_ms, 'validSinceWithheld', m.valid_since_withheld,
	'changeProbeAtMs', m.change_probe_at_ms, 'changedAtMs', m.changed_at_ms, 'suspicion', m.suspicion, 'suspectProbeAtMs', m.suspect_probe_at_ms,
	'proof', m.proof, 'firstProven', m.first_proven, 'series', m.series, 'clearedWith', m.cleared_with, 'recent', m.recent,
	'reliabilityBeforePpm', m.reliability_before_ppm, 'together', m.together)`;

const optional = (what: string, value: number | null) => (value === null ? null : integer(what, value));

/** How many rows it wrote: 0 when there is no such provider. */
export async function writeMemory(sql: Sql, providerId: string, memory: ProviderMemory): Promise<number> {
	return await sql.write(
		`UPDATE provider_memory SET why = $2, last_started_at_ms = $3, valid_since_withheld = $4, change_probe_at_ms = $5, changed_at_ms = $6,
			suspicion = $7, suspect_probe_at_ms = $8, proof = $9, first_proven = $10, series = $11, cleared_with = $12, recent = $13,
			reliability_before_ppm = $14, together = $15
		WHERE provider_id = $1`,
		[
			providerId,
			text("why", memory.why, 40),
			optional("lastStartedAtMs", memory.lastStartedAtMs),
			optional("validSinceWithheld", memory.validSinceWithheld),
			optional("changeProbeAtMs", memory.changeProbeAtMs),
			optional("changedAtMs", memory.changedAtMs),
			json("a suspicion", memory.suspicion),
			optional("suspectProbeAtMs", memory.suspectProbeAtMs),
			json("a proof", memory.proof),
			json("proven UUIDs", memory.firstProven),
			json("series of figures", memory.series),
			json("cleared providers", memory.clearedWith),
			json("recent probes", memory.recent),
			optional("reliabilityBeforePpm", memory.reliabilityBeforePpm),
			json("a simultaneous probe", memory.together),
		],
	);
}
