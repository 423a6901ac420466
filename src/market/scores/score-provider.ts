// The score of one provider, with its explanation: GPUs × what else the host has × what its cards signed ×
// rented × reliability × presence, all in ppm and exact integers. Pure: the time is an argument. Not here:
// what reports of several validators make together (weighted-median.ts).
//
// Why CPU, RAM and disk count in proportion to the GPUs (`hostParts: "carried"`) and are not added beside
// them ("plain"): every provider of a host can show the whole CPU, one after the other. Added beside, a host
// cut into eight providers would be paid eight times for one CPU.

import type { Params } from "../params.ts";
import { attestedTerms } from "./attested.ts";
import { countedGpus } from "./counted-gpus.ts";
import { deviceTerm } from "./device-score.ts";
import type { Explanation, Term } from "./explanation.ts";
import { cpuTerm, diskTerm, ramTerm } from "./host-parts.ts";
import { presenceTerm } from "./presence.ts";
import { provenFiguresOf } from "./proven-figures.ts";
import { given, term } from "./recompute.ts";
import { reliabilityTerm } from "./reliability.ts";
import { rentedTerm } from "./rented.ts";
import type { Proof, ScoreInput } from "./score-input.ts";
import { sn27Root } from "./score-sn27.ts";

const FULL = 1_000_000;

export function scoreProvider(input: ScoreInput, params: Params): Explanation {
	const { providerId, proof } = input;
	const mode = params.scoring;
	const explained = (evidence: string | null, why: string, root: Term): Explanation => ({
		version: 1,
		providerId,
		mode,
		evidence,
		scorePpm: root.value,
		why,
		root,
	});
	const nothing = (why: string) => explained(null, why, given("score", "ppm", 0, `state:${why}`));
	if (!input.active) return nothing("the provider is paused or removed");
	if (proof === null) return nothing("nothing was proven yet");
	if (isTooOld(input, proof, params)) return nothing("the last proof is too old");
	const root = params.scoring === "sn27" ? sn27Root(input, proof, params) : holisticRoot(input, proof, params);
	return explained(proof.evidence, root.value > 0 ? "" : whyNothing(input), root);
}

/** Of a proof that counts, but for the roll call that is still to come. */
export const NO_CALL_YET = "no roll call has come yet";
export const NO_CALL_ANSWERED = "no roll call was answered";
/** Of a further provider on a machine that another one has shown already. */
const UNCALLED = "it answers no roll calls, as its owner wants";

function whyNothing({ presence }: ScoreInput): string {
	if (presence?.counted === 0) return NO_CALL_YET;
	if (presence?.answered === 0) return presence.isUncalled ? UNCALLED : NO_CALL_ANSWERED;
	return "no GPU was proven to be worth anything";
}

/** Time in which a provider was rented, and so not probed, does not age its proof; but not for ever. */
function isTooOld({ nowMs, rentedMs }: ScoreInput, { provenAtMs }: Proof, params: Params): boolean {
	const ageMs = nowMs - provenAtMs;
	return ageMs - Math.min(Math.max(0, rentedMs), ageMs) > params.maxAgeMs || ageMs > params.maxRentedAgeMs;
}

function holisticRoot(input: ScoreInput, proof: Proof, params: Params): Term {
	const figures = provenFiguresOf(proof);
	const full = given("full host", "ppm", params.fullHostGpus * FULL, "params:fullHostGpus");
	const counted = countedGpus(proof, input.creditedElsewhere, (device) => deviceTerm(device, figures, params));
	const gpu = term("gpu", "ppm", "shareOfSum", [...counted, full]);
	const parts = [cpuTerm(proof, figures, params), ramTerm(proof, figures, params), diskTerm(proof, figures, params)];
	const { gpuWeightPpm, cpuWeightPpm, ramWeightPpm, diskWeightPpm } = params;
	const weights = [gpuWeightPpm, cpuWeightPpm, ramWeightPpm, diskWeightPpm];
	const carried = [gpu, term("host", "ppm", "mean", [given("gpus", "ppm", FULL, "constant"), ...parts], weights)];
	const plain = gpu.value === 0 ? [gpu] : [term("host", "ppm", "mean", [gpu, ...parts], weights)];
	const signed = gpu.value === 0 ? [] : attestedTerms(input.attested ?? "none", proof.evidence, params);
	const factors = [...(params.hostParts === "carried" ? carried : plain), ...signed];
	const scoreOf = (worth: readonly Term[]) =>
		term("score", "ppm", "cappedTimesTwo", [
			...worth,
			rentedTerm(input.rented, params),
			reliabilityTerm(input, params),
			presenceTerm(input.presence, params),
		]);
	const score = scoreOf(factors);
	if (!mayCountAlone(input, proof, gpu, params)) return score;
	const noGpus = given("gpus", "ppm", 0, "constant");
	const alone = scoreOf([
		given("host only", "ppm", params.hostOnlyPpm, "params:hostOnlyPpm"),
		term("host", "ppm", "mean", [noGpus, ...parts], weights),
	]);
	return alone.value > score.value ? alone : score;
}

/**
 * Whether the host parts may count without a GPU. ATTACK: who claims a GPU and proves none of it gets
 * nothing, nor does who failed the last probe that counted; but who proved one, however small, is worth no
 * less than if it had hidden it.
 */
function mayCountAlone({ history }: ScoreInput, { devices }: Proof, gpu: Term, { hostOnlyPpm }: Params): boolean {
	if (hostOnlyPpm === 0) return false;
	if (history.findLast(({ counts }) => counts !== "nothing")?.counts === "failure") return false;
	return gpu.value > 0 || devices.every(({ kind }) => kind !== "gpu");
}
