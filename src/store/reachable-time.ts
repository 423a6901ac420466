// SQL of a provider's uptime: the time that its agent was connected, of the time since it was registered.
// What lasts is counted when it is asked for, what is over stands in the row. `p` is the provider, `until` an
// expression. The same in TypeScript: market/scores/uptime.ts.

/** Registered, or known since these counts exist. */
const FROM = "coalesce(p.reachable_from_ms, p.registered_at_ms)";

export const reachableMs = (until: string): string =>
	`(p.reachable_ms + CASE WHEN p.connected_at_ms IS NULL THEN 0 ELSE greatest(0, ${until} - greatest(p.connected_at_ms, ${FROM})) END)`;

export const uptimePpm = (until: string): string =>
	`CASE WHEN ${until} <= ${FROM} THEN 1000000 ELSE least(1000000, ${reachableMs(until)} * 1000000 / greatest(1, ${until} - ${FROM})) END`;

/** What is written of one whose connection ends. */
export const leftAt = (until: string): string =>
	`reachable_ms = ${reachableMs(until)}, uptime_ppm = ${uptimePpm(until)}, connected_to = NULL, connected_at_ms = NULL, last_seen_at_ms = ${until}`;
