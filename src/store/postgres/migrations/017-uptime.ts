// Time that a provider was connected, for its uptime; the share of its probes that came to a verdict gets a
// column of its own. What was before is not known: providers that are there begin now.
export const uptime = `
ALTER TABLE providers ADD COLUMN reachable_ms bigint NOT NULL DEFAULT 0, ADD COLUMN reachable_from_ms bigint,
	ADD COLUMN answered_ppm integer NOT NULL DEFAULT 0;
UPDATE providers SET answered_ppm = uptime_ppm, reachable_from_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
`;
