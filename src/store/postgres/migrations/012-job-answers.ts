// What claimants said when asked about their claims (docs/jobs.md §14): first words, each different one once.
// Two to one question convict.
export const jobAnswers = `
CREATE TABLE job_answers (
	claim text NOT NULL,
	question text NOT NULL,
	answer_hash text NOT NULL,
	answer bytea NOT NULL,
	signature text,
	at_ms bigint NOT NULL,
	PRIMARY KEY (claim, question, answer_hash)
);
`;
