// What a validator remembers of a chain: what is being sent, and the events it has read with their place in
// the chain. Keys and contracts stay files.
export const chain = `
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
`;
