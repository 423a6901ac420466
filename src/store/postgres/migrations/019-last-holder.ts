// The process that had a provider's connection last, also after it ended: one that was only thought dead
// takes up again what nobody had since.
export const lastHolder = `
ALTER TABLE providers ADD COLUMN last_held_by text;
UPDATE providers SET last_held_by = connected_to;
`;
