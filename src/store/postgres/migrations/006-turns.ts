// Whose turn it is when slots are scarce, and what that is decided by (docs/schedule.md §3). Who has a proof
// counts as prompt until its next probe has ended; everybody else as new.
export const turns = `
ALTER TABLE provider_memory
	ADD COLUMN stalls integer NOT NULL DEFAULT 0,
	ADD COLUMN proven_in_ms bigint,
	ADD COLUMN turn integer NOT NULL DEFAULT 2;
UPDATE provider_memory SET proven_in_ms = 0, turn = 0 WHERE proof IS NOT NULL;
`;
