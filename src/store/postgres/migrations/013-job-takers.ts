// Which jobs a connected provider takes, and where it dialled from: whoever keeps the jobs may be another
// process than the one that holds the link.
export const jobTakers = `
ALTER TABLE providers ADD COLUMN job_address text, ADD COLUMN job_offer jsonb;
`;
