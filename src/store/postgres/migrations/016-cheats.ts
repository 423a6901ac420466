// How many of an hour's invalid probes no honest host can have caused (src/protocol/cheat-codes.ts, as it
// was); and the order of hosts by the price of one GPU.
export const cheats = `
ALTER TABLE probe_hours ADD COLUMN cheats bigint NOT NULL DEFAULT 0;
UPDATE probe_hours h SET cheats = c.cheats FROM (
	SELECT finished_at_ms / 3600000 * 3600000 AS hour_at_ms, count(*) AS cheats FROM probes WHERE verdict = 'invalid' AND code IN ('ROOTS_SURPLUS',
		'ROOT_REPEATED', 'ROOT_ORDER', 'OPENINGS_SURPLUS', 'OPENING_REPEATED', 'OPENING_ORDER', 'OPENING_PLACE', 'LEAF_LENGTH', 'PATH_LENGTH', 'ROOT_MISMATCH',
		'ELEMENT_WRONG', 'LANE_WRONG', 'TRACE_WRONG', 'DIGEST_WRONG', 'CHASE_WRONG') GROUP BY 1
) c WHERE h.verdict = 'invalid' AND h.hour_at_ms = c.hour_at_ms;
CREATE INDEX providers_by_gpu_price ON providers ((price_per_hour_micros / greatest(gpu_count, 1)), id);
`;
