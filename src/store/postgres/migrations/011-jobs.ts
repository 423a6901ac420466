// The market for jobs (docs/jobs.md §8 to §14). A job's record is the truth, one JSON a job, guarded by its
// version; parts are a projection of it for whoever looks for busy hosts. Draws, claims, outcomes and frauds
// are public rows. Bytes lie in the store of blobs, not here.
export const jobs = `
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
	PRIMARY KEY (job, part, attempt, role, turn)
);

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
	outcome text NOT NULL CHECK (outcome IN ('checked', 'paid', 'lost', 'late', 'declined', 'convicted')),
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
`;
