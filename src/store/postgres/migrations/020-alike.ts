// Profiles that a device's figures leave equal, so that pages can say from which cards it cannot be told.
// Devices of before are not known to have any: null until their next valid probe.
export const alike = `
ALTER TABLE devices ADD COLUMN alike jsonb;
`;
