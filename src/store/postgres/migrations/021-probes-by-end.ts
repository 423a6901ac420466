// Probes that ended within the last hour are counted for everybody who looks at the network.
export const probesByEnd = `
CREATE INDEX probes_by_end ON probes (finished_at_ms) WHERE state = 'done';
`;
