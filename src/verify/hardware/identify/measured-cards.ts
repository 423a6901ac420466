// Which kinds of card were ever probed: their figures are in bench/results. What is known of all others is
// from data sheets. Apart from the table of profiles, so that pages can say it without loading that.
import type { IdentityBasis } from "../../../protocol/probe/verdict.ts";

const MEASURED: ReadonlySet<string> = new Set(["H200"]);

/** `id`: that of a profile; null: none. */
export const basisOf = (id: string | null): IdentityBasis | null =>
	id === null ? null : MEASURED.has(id) ? "measured" : "data-sheets";
