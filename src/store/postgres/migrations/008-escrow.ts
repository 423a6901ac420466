// Rentals that are paid through the escrow on chain: which deposit.
export const escrow = `
ALTER TABLE rentals ADD COLUMN escrow text;
`;
