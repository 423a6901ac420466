// The tables. Text only; see migrations.ts. Times are milliseconds since 1970 except in leases, which live by
// the database's clock. History is narrow: one row a probe with its figures as one value; what searches need
// is kept beside it, per provider and card.

export const tables = `
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
	-- Jobs in a row that ended without a counted probe.
	crashes integer NOT NULL DEFAULT 0,
	rental_id text,
	score_ppm bigint,
	model text,
	gpu_count integer NOT NULL DEFAULT 0,
	memory_bytes bigint,
	fp16_ops_per_s bigint,
	memory_bytes_per_s bigint,
	-- The process that probes it; together with the lease on it.
	probed_by text,
	-- The simultaneous probe that it was called to and not yet taken for.
	together jsonb,
	-- Which jobs it takes, and where it dialled from: whoever keeps the jobs may be another process than the
	-- one that holds the link.
	job_address text,
	job_offer jsonb,
	-- What the signed reports of its last valid probe showed (docs/attestation.md).
	attestation jsonb,
	-- Time that it was connected, for its uptime.
	reachable_ms bigint NOT NULL DEFAULT 0,
	reachable_from_ms bigint,
	-- The share of its probes that came to a verdict.
	answered_ppm integer NOT NULL DEFAULT 0,
	-- The process that had its connection last, also after it ended: one that was only thought dead takes up
	-- again what nobody had since.
	last_held_by text
);
CREATE INDEX providers_due ON providers (next_probe_at_ms) WHERE state = 'active' AND rental_id IS NULL AND probed_by IS NULL;
CREATE INDEX providers_called ON providers (id) WHERE together IS NOT NULL;
CREATE INDEX providers_probed ON providers (id) WHERE probed_by IS NOT NULL;
CREATE INDEX providers_connected ON providers (connected_to) WHERE connected_to IS NOT NULL;
-- One for each order of a list; ties are broken by the id in the same direction.
CREATE INDEX providers_by_score ON providers (coalesce(score_ppm, -1), id);
CREATE INDEX providers_by_price ON providers (price_per_hour_micros, id);
CREATE INDEX providers_by_gpu_price ON providers ((price_per_hour_micros / greatest(gpu_count, 1)), id);
CREATE INDEX providers_by_memory ON providers (coalesce(memory_bytes, -1), id);
CREATE INDEX providers_by_fp16 ON providers (coalesce(fp16_ops_per_s, -1), id);
CREATE INDEX providers_by_bandwidth ON providers (coalesce(memory_bytes_per_s, -1), id);
CREATE INDEX providers_by_uptime ON providers (uptime_ppm, id);
CREATE INDEX providers_by_name ON providers (name COLLATE "C", id);
CREATE INDEX providers_by_registered ON providers (registered_at_ms, id);
CREATE INDEX providers_by_last_probe ON providers (coalesce(last_probe_at_ms, -1), id);
CREATE INDEX providers_by_next_probe ON providers (next_probe_at_ms, id);

-- What a validator remembers of a provider from probe to probe (docs/schedule.md §3).
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
	together jsonb,
	-- Whose turn it is when slots are scarce, and what that is decided by. 2: new.
	stalls integer NOT NULL DEFAULT 0,
	proven_in_ms bigint,
	turn integer NOT NULL DEFAULT 2,
	-- What its presence was made of when it was last rented through the escrow.
	calls_before_rental jsonb
);

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
	-- Profiles that its figures leave equal, so that pages can say from which cards it cannot be told.
	alike jsonb,
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
	-- Whose word its evidence is (docs/hardware-proof.md §9); null where nothing was proven.
	strength text,
	-- What its signed reports showed.
	attestation jsonb,
	CHECK ((state = 'done') = (verdict IS NOT NULL))
);
-- One at a time, whatever the processes think.
CREATE UNIQUE INDEX probes_running ON probes (provider_id) WHERE state = 'running';
-- A file counts once.
CREATE UNIQUE INDEX probes_evidence ON probes (evidence_sha256) WHERE evidence_sha256 IS NOT NULL;
CREATE INDEX probes_of_provider ON probes (provider_id, started_at_ms, id);
CREATE INDEX probes_by_start ON probes (started_at_ms, id);
-- Those that ended within the last hour are counted for everybody who looks at the network.
CREATE INDEX probes_by_end ON probes (finished_at_ms) WHERE state = 'done';

-- Counted probes by hour, so that an overview need not count rows.
CREATE TABLE probe_hours (
	hour_at_ms bigint NOT NULL,
	verdict text NOT NULL,
	count bigint NOT NULL,
	evidence_files bigint NOT NULL,
	evidence_bytes bigint NOT NULL,
	-- How many of them no honest host can have caused (protocol/cheat-codes.ts, as it was).
	cheats bigint NOT NULL DEFAULT 0,
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
	-- The deposit on chain that pays it.
	escrow text,
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
CREATE TABLE journal (
	seq bigint PRIMARY KEY,
	at_ms bigint NOT NULL,
	actor text NOT NULL,
	kind text NOT NULL,
	subject text NOT NULL,
	detail text NOT NULL,
	hash bytea NOT NULL
);
CREATE INDEX journal_subject ON journal (subject, seq);
CREATE INDEX journal_kind ON journal (kind, seq);
CREATE INDEX journal_actor ON journal (actor, seq);
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'the journal is only added to';
END
$$;
CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON journal EXECUTE FUNCTION refuse_change();

CREATE TABLE leases (
	name text PRIMARY KEY,
	holder text NOT NULL,
	expires_at timestamptz NOT NULL
);
CREATE INDEX leases_holder ON leases (holder);
CREATE INDEX leases_expiry ON leases (expires_at);

-- What a validator remembers of a chain: what is being sent, and the events it has read with their place in
-- the chain. Keys and contracts stay files.
CREATE TABLE chain_values (
	chain_id bigint NOT NULL,
	registry text NOT NULL,
	name text NOT NULL,
	value jsonb NOT NULL,
	PRIMARY KEY (chain_id, registry, name)
);

-- In the order of the chain; what a reorganisation took back is deleted together with moving the cursor.
CREATE TABLE chain_events (
	chain_id bigint NOT NULL,
	registry text NOT NULL,
	block bigint NOT NULL,
	log_index bigint NOT NULL,
	body jsonb NOT NULL,
	PRIMARY KEY (chain_id, registry, block, log_index)
);

-- Signed and perhaps sent: a row goes when its nonce is settled.
CREATE TABLE chain_intents (
	chain_id bigint NOT NULL,
	registry text NOT NULL,
	account text NOT NULL,
	id text NOT NULL,
	body jsonb NOT NULL,
	PRIMARY KEY (chain_id, registry, account, id)
);

-- Roll calls and who answered them (docs/roll-call.md). Answers are written with the call's commitment and wait
-- for their openings: another process can carry the call on. A call that was cut short leaves a row that is
-- void, and counts for nobody.
CREATE TABLE roll_calls (
	chain_id bigint NOT NULL,
	contract text NOT NULL,
	call bigint NOT NULL,
	beta0 text NOT NULL,
	state text NOT NULL CHECK (state IN ('open', 'committed', 'done', 'void')),
	-- Why it is void.
	code text,
	called_at_ms bigint NOT NULL,
	deadline_ms integer NOT NULL,
	b0_at_s bigint NOT NULL,
	b1 bigint,
	b1_at_s bigint,
	b2 bigint,
	b2_at_s bigint,
	beta2 text,
	root text,
	leaves integer,
	transaction text,
	ended_at_ms bigint,
	-- Of those that answered and were found right, in 10⁹ operations and 10⁶ bytes: a large network passes 2⁵³.
	hosts integer NOT NULL DEFAULT 0,
	devices integer NOT NULL DEFAULT 0,
	giga_ops bigint NOT NULL DEFAULT 0,
	mega_bytes bigint NOT NULL DEFAULT 0,
	-- Of those that were counted at all: answered or not.
	counted integer NOT NULL DEFAULT 0,
	PRIMARY KEY (chain_id, contract, call)
);
CREATE INDEX roll_calls_by_time ON roll_calls (called_at_ms, call);

CREATE TABLE roll_call_answers (
	chain_id bigint NOT NULL,
	contract text NOT NULL,
	call bigint NOT NULL,
	provider_id text NOT NULL REFERENCES providers (id),
	-- uncalled: it answers no roll calls, which is not the same as absent.
	state text NOT NULL CHECK (state IN ('opening', 'answered', 'late', 'absent', 'wrong', 'excused', 'uncalled')),
	code text,
	at_ms bigint NOT NULL,
	-- Excused because it was rented through the escrow: what that counts for. Null otherwise.
	paid_ppm integer CHECK (paid_ppm IS NULL OR state = 'excused'),
	-- From the moment the block was seen to the answer.
	ms integer,
	-- Place of its first leaf in the tree; the others follow.
	leaf integer,
	reply jsonb,
	files jsonb NOT NULL DEFAULT '[]',
	mega_ops bigint NOT NULL DEFAULT 0,
	bytes bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (chain_id, contract, call, provider_id),
	FOREIGN KEY (chain_id, contract, call) REFERENCES roll_calls ON DELETE CASCADE
);
CREATE INDEX roll_call_answers_by_provider ON roll_call_answers (provider_id, at_ms DESC);

-- The market for jobs (docs/jobs.md §8 to §14). A job's record is the truth, one JSON a job, guarded by its
-- version; parts are a projection of it for whoever looks for busy hosts. Draws, claims, outcomes and frauds
-- are public rows. Bytes lie in the store of blobs, not here.
CREATE TABLE jobs (
	id text PRIMARY KEY,
	customer text NOT NULL,
	title text NOT NULL,
	kind text NOT NULL,
	spec jsonb NOT NULL,
	offer jsonb NOT NULL,
	record jsonb NOT NULL,
	version bigint NOT NULL,
	is_over boolean NOT NULL,
	created_at_ms bigint NOT NULL,
	ended_at_ms bigint,
	-- Its blobs were given back.
	is_cleared boolean NOT NULL DEFAULT false,
	CHECK (is_over = (ended_at_ms IS NOT NULL))
);
CREATE INDEX jobs_open ON jobs (id) WHERE NOT is_over;
CREATE INDEX jobs_by_time ON jobs (created_at_ms, id);
CREATE INDEX jobs_of_customer ON jobs (customer, created_at_ms, id);
CREATE INDEX jobs_uncleared ON jobs (ended_at_ms) WHERE is_over AND NOT is_cleared;

CREATE TABLE job_parts (
	job text NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	part integer NOT NULL,
	state text NOT NULL,
	provider text,
	attempt integer NOT NULL,
	until_ms bigint NOT NULL,
	-- Those that owe an answer.
	auditors text[] NOT NULL,
	PRIMARY KEY (job, part)
);
CREATE INDEX job_parts_of_provider ON job_parts (provider) WHERE state IN ('assigned', 'running', 'claimed');
CREATE INDEX job_parts_busy ON job_parts (job) WHERE state IN ('assigned', 'running') OR auditors <> '{}';

CREATE TABLE job_events (
	serial bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	job text NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	at_ms bigint NOT NULL,
	kind text NOT NULL,
	part integer,
	detail jsonb NOT NULL
);
CREATE INDEX job_events_of_job ON job_events (job, serial);

-- The list of a draw is published before the draw: it is never written over, the rest once.
CREATE TABLE job_draws (
	job text NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
	part integer NOT NULL,
	attempt integer NOT NULL,
	role integer NOT NULL CHECK (role IN (0, 1, 2)),
	turn integer NOT NULL,
	list_hash text NOT NULL,
	body jsonb NOT NULL,
	-- With thousands of hosts a list has a hundred kilobytes; what is written beside it later must not write it
	-- again.
	list bytea,
	PRIMARY KEY (job, part, attempt, role, turn)
);
ALTER TABLE job_draws ALTER COLUMN list SET STORAGE EXTERNAL;

CREATE TABLE job_claims (
	hash text PRIMARY KEY,
	job text NOT NULL REFERENCES jobs (id),
	part integer NOT NULL,
	attempt integer NOT NULL,
	provider text NOT NULL,
	-- stored: its bytes are here and that was signed; nobody has seen it on chain.
	state text NOT NULL CHECK (state IN ('stored', 'claimed', 'checked', 'paid', 'fallen')),
	at_ms bigint NOT NULL,
	body jsonb NOT NULL
);
CREATE INDEX job_claims_by_time ON job_claims (at_ms, hash);
CREATE INDEX job_claims_of_job ON job_claims (job, part, attempt);
CREATE INDEX job_claims_of_provider ON job_claims (provider, at_ms, hash);

-- What came of each attempt: reputation is counted from these rows alone.
CREATE TABLE job_outcomes (
	serial bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	provider text NOT NULL,
	job text NOT NULL REFERENCES jobs (id),
	part integer NOT NULL,
	attempt integer NOT NULL,
	outcome text NOT NULL CHECK (outcome IN ('checked', 'paid', 'lost', 'late', 'declined', 'returned', 'convicted')),
	value_micros bigint NOT NULL CHECK (value_micros >= 0),
	at_ms bigint NOT NULL,
	UNIQUE (job, part, attempt, provider, outcome)
);
CREATE INDEX job_outcomes_of_provider ON job_outcomes (provider, serial);

CREATE TABLE frauds (
	hash text PRIMARY KEY,
	claim text NOT NULL,
	job text NOT NULL REFERENCES jobs (id),
	part integer NOT NULL,
	attempt integer NOT NULL,
	accused text NOT NULL,
	at_ms bigint NOT NULL,
	body jsonb NOT NULL,
	file bytea NOT NULL
);
CREATE INDEX frauds_by_time ON frauds (at_ms, hash);

-- What claimants said when asked about their claims (docs/jobs.md §14): first words, each different one once.
-- Two to one question convict. Two that claim the same, one after the other, have claims of one hash: words
-- are each claimant's own.
CREATE TABLE job_answers (
	claim text NOT NULL,
	question text NOT NULL,
	answer_hash text NOT NULL,
	answer bytea NOT NULL,
	signature text,
	at_ms bigint NOT NULL,
	provider text NOT NULL,
	PRIMARY KEY (claim, provider, question, answer_hash)
);

-- For whom a device key counts (docs/attestation.md). Simulated keys live apart: whoever mints one may copy a
-- real card's key into it.
CREATE TABLE device_keys (
	key text NOT NULL,
	simulated boolean NOT NULL,
	provider_id text NOT NULL REFERENCES providers,
	probe_id text NOT NULL,
	bound_at_ms bigint NOT NULL,
	shown_at_ms bigint NOT NULL,
	PRIMARY KEY (key, simulated)
);
CREATE INDEX device_keys_provider ON device_keys (provider_id);
`;
