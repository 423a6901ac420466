// What a provider's presence was made of when it was last rented through the escrow.
export const callsBeforeRental = `
ALTER TABLE provider_memory ADD COLUMN calls_before_rental jsonb;
`;
