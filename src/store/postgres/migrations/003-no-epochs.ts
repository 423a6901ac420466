// Epochs are the chain's: what the database kept of its own goes. Text only; see migrations.ts.
export const noEpochs = `
DROP TABLE weights;
DROP TABLE reports;
DROP TABLE epochs;
DROP TABLE validators;
`;
