// Compatible mode: SN27's formula and table, gpu_score · min(N, 8) ÷ (8 · max_score), chosen by `scoring:
// "sn27"`. N is what was proven and identified, never what a host says: the one thing that is not compatible.
// Facts: the table SN27 publishes.

import type { Identity } from "../../protocol/probe/verdict.ts";
import { type Params, SN27_SCORES_PPM } from "../params.ts";
import { countedGpus } from "./counted-gpus.ts";
import type { Term } from "./explanation.ts";
import { presenceTerm } from "./presence.ts";
import { given, term } from "./recompute.ts";
import { rentedTerm } from "./rented.ts";
import type { Proof, ScoreInput } from "./score-input.ts";

/**
 * The card whose name a device is paid for here. A card that only looks like another one, or is too slow for
 * its name, is paid for none: what it proved pays elsewhere, and no lie is needed to be slow.
 */
export const paidProfile = (found: Pick<Identity, "state" | "profile"> | undefined): string | null =>
	found?.state === "confirmed" || found?.state === "consistent" ? found.profile : null;

const SN27_DEVICES = 8;
const SN27_BEST_PPM = 5_000_000;
const SOURCE = "table:sn27";

/** Hosts of several models: the best eight are added up, which for equal cards is the formula. */
export function sn27Root({ rented, creditedElsewhere, presence }: ScoreInput, proof: Proof, params: Params): Term {
	const counted = countedGpus(proof, creditedElsewhere, (device) => {
		const profile = proof.identity.find((identity) => identity.device === device)?.profile ?? null;
		const value = profile !== null && Object.hasOwn(SN27_SCORES_PPM, profile) ? SN27_SCORES_PPM[profile] : 0;
		return given(`gpu ${device}`, "ppm", value ?? 0, SOURCE, `profile:${profile ?? "none"}`, proof.evidence);
	});
	const full = given("8 × max_score", "ppm", SN27_DEVICES * SN27_BEST_PPM, SOURCE);
	return term("score", "ppm", "cappedTimes", [
		term("gpu", "ppm", "shareOfSum", [...counted.slice(0, SN27_DEVICES), full]),
		rentedTerm(rented, params),
		presenceTerm(presence, params),
	]);
}
