// Whose word a probe's evidence is (docs/hardware-proof.md §9); null for probes of before, and for those that
// proved nothing.
export const strength = "ALTER TABLE probes ADD COLUMN strength text;";
