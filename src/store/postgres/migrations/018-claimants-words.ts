// First words of claimants are each claimant's own: two that claim the same, one after the other, have claims
// of one hash. Of such claims nobody knows whose words are there: they are asked for again.
export const claimantsWords = `
ALTER TABLE job_answers ADD COLUMN provider text;
UPDATE job_answers a SET provider = c.provider FROM job_claims c WHERE c.hash = a.claim AND c.attempt = 1;
DELETE FROM job_answers WHERE provider IS NULL;
ALTER TABLE job_answers ALTER COLUMN provider SET NOT NULL, DROP CONSTRAINT job_answers_pkey,
	ADD PRIMARY KEY (claim, provider, question, answer_hash);
`;
