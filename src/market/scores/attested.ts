// The factor for what a host's cards signed: a small bonus by level, docs/attestation.md. What counts as a
// level, and for whom a card counts, is decided before; simulated evidence has none. It never takes anything
// away: who cannot attest is worth what its figures say.
import type { AttestedLevel } from "../../protocol/probe/verdict.ts";
import type { Params } from "../params.ts";
import type { Term } from "./explanation.ts";
import { given } from "./recompute.ts";

const ROWS = { genuine: "genuineBonusPpm", measured: "measuredBonusPpm", hosted: "hostedBonusPpm" } as const;
const NAME = /^attested: (genuine|measured|hosted)$/;

/** Empty: it has no level. */
export function attestedTerms(level: AttestedLevel, evidence: string, params: Params): readonly Term[] {
	if (level === "none") return [];
	const row = ROWS[level];
	return [given(`attested: ${level}`, "ppm", params[row], `params:${row}`, evidence)];
}

/** The level that a score's terms state. */
export function statedLevel(names: readonly string[]): AttestedLevel {
	const [, level] = names.map((name) => NAME.exec(name)).find((found) => found !== null) ?? [];
	return (level as AttestedLevel | undefined) ?? "none";
}
