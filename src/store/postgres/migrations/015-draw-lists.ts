// Lists of draws in a column of their own: with thousands of hosts a list has a hundred kilobytes, and what
// is written beside it later must not write it again.
export const drawLists = `
ALTER TABLE job_draws ADD COLUMN list bytea;
ALTER TABLE job_draws ALTER COLUMN list SET STORAGE EXTERNAL;
`;
