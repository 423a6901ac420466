// Roll calls and who answered them (docs/roll-call.md). Answers are written once, when all of them are
// judged: a call that was cut short leaves a row that is void, and counts for nobody.
export const rollCalls = `
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
	state text NOT NULL CHECK (state IN ('answered', 'late', 'absent', 'wrong', 'excused')),
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
`;
