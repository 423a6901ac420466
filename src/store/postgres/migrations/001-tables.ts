// The first tables. Text only; see migrations.ts. Times are milliseconds since 1970 except in leases, which
// live by the database's clock. History is narrow: one row a probe with its figures as one value; what
// searches need is kept beside it, per provider and card.

export const tables = `
CREATE TABLE validators (
	key text PRIMARY KEY,
	name text NOT NULL,
	stake bigint NOT NULL CHECK (stake >= 0)
);

CREATE TABLE providers (
	id text PRIMARY KEY,
	name text NOT NULL,
	link text NOT NULL CHECK (link IN ('agent', 'ssh', 'local')),
	target text NOT NULL,
	state text NOT NULL CHECK (state IN ('active', 'paused', 'removed')),
	price_per_hour_micros bigint NOT NULL CHECK (price_per_hour_micros >= 0),
	rentable boolean NOT NULL,
	ssh boolean NOT NULL,
	registered_at_ms bigint NOT NULL,
	connected_to text,
	connected_at_ms bigint,
	last_seen_at_ms bigint,
	next_probe_at_ms bigint NOT NULL,
	-- Asked for while a probe ran: its end must not push the date back.
	requested_at_ms bigint,
	failures integer NOT NULL DEFAULT 0,
	retries integer NOT NULL DEFAULT 0,
	last_verdict text,
	last_code text,
	-- Start of the latest probe that was counted: an older one that is counted late changes nothing here.
	last_probe_at_ms bigint,
	last_valid_at_ms bigint,
	reliability_ppm integer NOT NULL DEFAULT 0,
	uptime_ppm integer NOT NULL DEFAULT 0,
	schedule jsonb NOT NULL DEFAULT 'null',
	job_id uuid,
	job_queue text,
	job_at_ms bigint,
	-- The process that works on it; null while it is queued.
	job_taken_by text,
	-- Jobs in a row that ended without a counted probe.
	crashes integer NOT NULL DEFAULT 0,
	rental_id text,
	score_ppm bigint,
	model text,
	gpu_count integer NOT NULL DEFAULT 0,
	memory_bytes bigint,
	fp16_ops_per_s bigint,
	memory_bytes_per_s bigint
);
-- What dispatchDue asks.
CREATE INDEX providers_due ON providers (next_probe_at_ms) WHERE state = 'active' AND job_id IS NULL AND rental_id IS NULL;
CREATE INDEX providers_job ON providers (job_at_ms) WHERE job_id IS NOT NULL;
CREATE INDEX providers_connected ON providers (connected_to) WHERE connected_to IS NOT NULL;
-- One for each order of a list; ties are broken by the id in the same direction.
CREATE INDEX providers_by_score ON providers (coalesce(score_ppm, -1), id);
CREATE INDEX providers_by_price ON providers (price_per_hour_micros, id);
CREATE INDEX providers_by_memory ON providers (coalesce(memory_bytes, -1), id);
CREATE INDEX providers_by_fp16 ON providers (coalesce(fp16_ops_per_s, -1), id);
CREATE INDEX providers_by_bandwidth ON providers (coalesce(memory_bytes_per_s, -1), id);
CREATE INDEX providers_by_uptime ON providers (uptime_ppm, id);
CREATE INDEX providers_by_name ON providers (name COLLATE "C", id);
CREATE INDEX providers_by_registered ON providers (registered_at_ms, id);
CREATE INDEX providers_by_last_probe ON providers (coalesce(last_probe_at_ms, -1), id);
CREATE INDEX providers_by_next_probe ON providers (next_probe_at_ms, id);

CREATE TABLE claims (
	provider_id text PRIMARY KEY REFERENCES providers (id),
	claim jsonb NOT NULL,
	at_ms bigint NOT NULL
);

CREATE TABLE devices (
	provider_id text NOT NULL REFERENCES providers (id),
	device integer NOT NULL,
	kind text NOT NULL,
	claimed_name text NOT NULL,
	uuid text NOT NULL,
	memory_bytes bigint NOT NULL,
	profile text,
	identity text NOT NULL,
	probe_id text NOT NULL,
	at_ms bigint NOT NULL,
	PRIMARY KEY (provider_id, device)
);
CREATE INDEX devices_uuid ON devices (uuid) WHERE kind = 'gpu' AND uuid <> '';

-- Figures of the last valid probe, one row each.
CREATE TABLE figures (
	provider_id text NOT NULL REFERENCES providers (id),
	device integer NOT NULL,
	name text NOT NULL,
	value bigint NOT NULL,
	unit text NOT NULL,
	probe_id text NOT NULL,
	evidence_sha256 text NOT NULL,
	at_ms bigint NOT NULL,
	PRIMARY KEY (provider_id, device, name)
);

-- Equal cards of a provider; the figures are those of the weakest of them. What a search by proven figures looks at.
CREATE TABLE holdings (
	provider_id text NOT NULL REFERENCES providers (id),
	model text NOT NULL,
	count integer NOT NULL,
	memory_bytes bigint,
	fp16_ops_per_s bigint,
	memory_bytes_per_s bigint,
	figures jsonb NOT NULL,
	PRIMARY KEY (provider_id, model)
);
CREATE INDEX holdings_model ON holdings (model, count);

CREATE TABLE probes (
	id text PRIMARY KEY,
	provider_id text NOT NULL REFERENCES providers (id),
	job_id uuid,
	validator text NOT NULL,
	process text NOT NULL,
	link text NOT NULL,
	state text NOT NULL CHECK (state IN ('running', 'done', 'abandoned')),
	started_at_ms bigint NOT NULL,
	finished_at_ms bigint,
	verdict text CHECK (verdict IN ('valid', 'invalid', 'inconclusive')),
	code text,
	"where" text,
	detail text,
	evidence_sha256 text,
	evidence_bytes bigint,
	figures jsonb NOT NULL DEFAULT '[]',
	findings jsonb NOT NULL DEFAULT '[]',
	devices jsonb NOT NULL DEFAULT '[]',
	CHECK ((state = 'done') = (verdict IS NOT NULL))
);
-- One at a time, whatever the processes think.
CREATE UNIQUE INDEX probes_running ON probes (provider_id) WHERE state = 'running';
-- A file counts once.
CREATE UNIQUE INDEX probes_evidence ON probes (evidence_sha256) WHERE evidence_sha256 IS NOT NULL;
CREATE INDEX probes_of_provider ON probes (provider_id, started_at_ms, id);
CREATE INDEX probes_by_start ON probes (started_at_ms, id);

-- Counted probes by hour, so that an overview need not count rows.
CREATE TABLE probe_hours (
	hour_at_ms bigint NOT NULL,
	verdict text NOT NULL,
	count bigint NOT NULL,
	evidence_files bigint NOT NULL,
	evidence_bytes bigint NOT NULL,
	PRIMARY KEY (hour_at_ms, verdict)
);

CREATE TABLE scores (
	provider_id text PRIMARY KEY REFERENCES providers (id),
	at_ms bigint NOT NULL,
	score_ppm bigint NOT NULL,
	mode text NOT NULL,
	terms jsonb NOT NULL
);
CREATE INDEX scores_by_score ON scores (score_ppm, provider_id);
CREATE TABLE score_history (
	provider_id text NOT NULL REFERENCES providers (id),
	at_ms bigint NOT NULL,
	score_ppm bigint NOT NULL,
	PRIMARY KEY (provider_id, at_ms)
);
CREATE INDEX score_history_at ON score_history (at_ms);

CREATE TABLE epochs (
	number bigint PRIMARY KEY,
	state text NOT NULL CHECK (state IN ('open', 'closed')),
	starts_at_ms bigint NOT NULL,
	ends_at_ms bigint NOT NULL,
	emission_micros bigint NOT NULL CHECK (emission_micros >= 0),
	params jsonb NOT NULL,
	closed_at_ms bigint
);
CREATE UNIQUE INDEX epochs_open ON epochs (state) WHERE state = 'open';

CREATE TABLE reports (
	epoch bigint NOT NULL REFERENCES epochs (number),
	validator text NOT NULL,
	scores jsonb NOT NULL,
	signature text NOT NULL,
	received_at_ms bigint NOT NULL,
	PRIMARY KEY (epoch, validator)
);

CREATE TABLE weights (
	epoch bigint NOT NULL REFERENCES epochs (number),
	provider_id text NOT NULL,
	weight_ppm bigint NOT NULL CHECK (weight_ppm >= 0),
	share_micros bigint NOT NULL CHECK (share_micros >= 0),
	PRIMARY KEY (epoch, provider_id)
);
CREATE INDEX weights_by_weight ON weights (epoch, weight_ppm, provider_id);
CREATE INDEX weights_of_provider ON weights (provider_id, epoch);

CREATE TABLE rentals (
	id text PRIMARY KEY,
	provider_id text NOT NULL REFERENCES providers (id),
	customer text NOT NULL,
	state text NOT NULL CHECK (state IN ('reserved', 'active', 'ended', 'refused')),
	end_reason text CHECK (end_reason IN ('released', 'expired', 'failed')),
	public_key text NOT NULL,
	price_per_hour_micros bigint NOT NULL CHECK (price_per_hour_micros >= 0),
	devices jsonb NOT NULL,
	access jsonb,
	reserved_at_ms bigint NOT NULL,
	started_at_ms bigint,
	until_ms bigint NOT NULL,
	ended_at_ms bigint,
	charged_micros bigint CHECK (charged_micros >= 0),
	refund_micros bigint CHECK (refund_micros >= 0),
	misses integer NOT NULL DEFAULT 0,
	last_healthy_at_ms bigint,
	detail text,
	CHECK ((state = 'ended') = (end_reason IS NOT NULL))
);
CREATE UNIQUE INDEX rentals_one ON rentals (provider_id) WHERE state IN ('reserved', 'active');
CREATE INDEX rentals_by_time ON rentals (reserved_at_ms, id);
CREATE INDEX rentals_of_customer ON rentals (customer, reserved_at_ms, id);
CREATE INDEX rentals_of_provider ON rentals (provider_id, reserved_at_ms, id);

CREATE TABLE tokens (
	id text PRIMARY KEY,
	name text NOT NULL,
	role text NOT NULL CHECK (role IN ('reader', 'customer', 'provider', 'validator', 'admin')),
	subject text,
	secret_sha256 bytea NOT NULL UNIQUE,
	created_at_ms bigint NOT NULL,
	expires_at_ms bigint,
	revoked_at_ms bigint
);

CREATE TABLE nonces (
	key text NOT NULL,
	nonce text NOT NULL,
	expires_at_ms bigint NOT NULL,
	PRIMARY KEY (key, nonce)
);
CREATE INDEX nonces_expiry ON nonces (expires_at_ms);

-- Lines are only ever added; the chain of hashes shows what a superuser changed all the same.
CREATE TABLE audit (
	seq bigint PRIMARY KEY,
	at_ms bigint NOT NULL,
	actor text NOT NULL,
	kind text NOT NULL,
	subject text NOT NULL,
	detail text NOT NULL,
	hash bytea NOT NULL
);
CREATE INDEX audit_subject ON audit (subject, seq);
CREATE INDEX audit_kind ON audit (kind, seq);
CREATE INDEX audit_actor ON audit (actor, seq);
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'the audit log is only added to';
END
$$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit EXECUTE FUNCTION refuse_change();

CREATE TABLE leases (
	name text PRIMARY KEY,
	holder text NOT NULL,
	expires_at timestamptz NOT NULL
);
CREATE INDEX leases_holder ON leases (holder);
CREATE INDEX leases_expiry ON leases (expires_at);
`;
