// What is remembered of a provider between probes, one row each, made with the provider. Decided by market/,
// kept here.
import type { ProviderMemory } from "../protocol/network/provider-memory.ts";
import { integer, json, text } from "./check-input.ts";
import type { Sql } from "./postgres/sql.ts";

const FIELDS = [
	...(["why", "lastStartedAtMs", "validSinceWithheld", "changeProbeAtMs", "changedAtMs", "suspicion"] as const),
	...(["suspectProbeAtMs", "proof", "firstProven", "series", "clearedWith", "recent"] as const),
	...(["reliabilityBeforePpm", "together", "stalls", "provenInMs", "turn", "callsBeforeRental"] as const),
] satisfies readonly (keyof ProviderMemory)[];
const columnOf = (field: string): string => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Of `provider_memory m`, as one JSON value. */
export const MEMORY = `jsonb_build_object(${FIELDS.map((field) => `'${field}', m.${columnOf(field)}`).join(", ")})`;
const WRITTEN = FIELDS.map((field, i) => `${columnOf(field)} = $${i + 2}`).join(", ");

/** How many rows it wrote: 0 when there is no such provider. */
export async function writeMemory(sql: Sql, providerId: string, memory: ProviderMemory): Promise<number> {
	const values = FIELDS.map((field) => {
		const value = memory[field];
		if (value === null) return null;
		if (typeof value === "number") return integer(field, value);
		return typeof value === "string" ? text(field, value, 40) : json(field, value);
	});
	return await sql.write(`UPDATE provider_memory SET ${WRITTEN} WHERE provider_id = $1`, [providerId, ...values]);
}
