// Signed reports: what each probe's and each provider's last valid one showed, and for whom a device key
// counts (docs/attestation.md). Simulated keys live apart: whoever mints one may copy a real card's key into
// it.
export const deviceKeys = `
ALTER TABLE probes ADD COLUMN attestation jsonb;
ALTER TABLE providers ADD COLUMN attestation jsonb;

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
