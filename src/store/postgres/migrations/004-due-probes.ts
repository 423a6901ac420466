// Due probes stand in the rows of providers instead of in a queue beside them; what is remembered of a
// provider has named columns instead of one JSON value; the journal is called so. Whatever was queued or
// running is due still: no date was moved when it was queued. The history of scores goes: nobody read it.
export const dueProbes = `
DROP INDEX providers_due, providers_job;
ALTER TABLE providers
	DROP COLUMN job_id, DROP COLUMN job_queue, DROP COLUMN job_at_ms, DROP COLUMN job_taken_by,
	-- The process that works on it; together with the lease on it.
	ADD COLUMN probed_by text,
	-- The simultaneous probe that it was called to and not yet taken for.
	ADD COLUMN together jsonb;
ALTER TABLE probes DROP COLUMN job_id;
CREATE INDEX providers_due ON providers (next_probe_at_ms) WHERE state = 'active' AND rental_id IS NULL AND probed_by IS NULL;
CREATE INDEX providers_called ON providers (id) WHERE together IS NOT NULL;
CREATE INDEX providers_probed ON providers (id) WHERE probed_by IS NOT NULL;

CREATE TABLE provider_memory (
	provider_id text PRIMARY KEY REFERENCES providers (id),
	why text NOT NULL DEFAULT 'registered',
	last_started_at_ms bigint,
	valid_since_withheld integer,
	change_probe_at_ms bigint,
	changed_at_ms bigint,
	suspicion jsonb,
	suspect_probe_at_ms bigint,
	proof jsonb,
	first_proven jsonb NOT NULL DEFAULT '[]',
	series jsonb NOT NULL DEFAULT '[]',
	cleared_with jsonb NOT NULL DEFAULT '[]',
	recent jsonb NOT NULL DEFAULT '[]',
	reliability_before_ppm integer,
	together jsonb
);
INSERT INTO provider_memory
SELECT p.id, coalesce(s.why, 'registered'), s."lastStartedAtMs", s."validSinceWithheld", s."changeProbeAtMs", s."changedAtMs",
	nullif(s.suspicion, 'null'), s."suspectProbeAtMs", nullif(s.proof, 'null'), coalesce(s."firstProven", '[]'), coalesce(s.series, '[]'),
	coalesce(s."clearedWith", '[]'), coalesce(s.recent, '[]'), s."reliabilityBeforePpm", nullif(s.together, 'null')
FROM providers p CROSS JOIN LATERAL jsonb_to_record(CASE jsonb_typeof(p.schedule) WHEN 'object' THEN p.schedule ELSE '{}' END) AS
	s (why text, "lastStartedAtMs" bigint, "validSinceWithheld" integer, "changeProbeAtMs" bigint, "changedAtMs" bigint, suspicion jsonb,
	"suspectProbeAtMs" bigint, proof jsonb, "firstProven" jsonb, series jsonb, "clearedWith" jsonb, recent jsonb,
	"reliabilityBeforePpm" integer, together jsonb);
ALTER TABLE providers DROP COLUMN schedule;

ALTER TABLE audit RENAME TO journal;
ALTER INDEX audit_pkey RENAME TO journal_pkey;
ALTER INDEX audit_subject RENAME TO journal_subject;
ALTER INDEX audit_kind RENAME TO journal_kind;
ALTER INDEX audit_actor RENAME TO journal_actor;
ALTER TRIGGER audit_append_only ON journal RENAME TO journal_append_only;
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'the journal is only added to';
END
$$;

DROP TABLE score_history;

-- The tables of pg-boss, which held the queue in a schema of its own beside this one.
DO $$
BEGIN
	IF to_regclass(format('%I.version', current_schema() || '_queue')) IS NOT NULL THEN
		EXECUTE format('DROP SCHEMA %I CASCADE', current_schema() || '_queue');
	END IF;
END
$$;
`;
