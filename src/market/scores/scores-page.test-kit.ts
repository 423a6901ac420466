// docs/scores.md as it must be for the parameters and the profiles. Run by itself it writes the page: node src/market/scores/scores-page.test-kit.ts
import { writeFileSync } from "node:fs";
import { PROFILES } from "../../verify/hardware/identify/profiles.ts";
import { DEFAULT_PARAMS, PARAM_ROWS, type ParamRow } from "../params.ts";
import { baseTerm, FORMULA_EIGHTHS } from "./base-score.ts";

export const SCORES_PAGE = new URL("../../../docs/scores.md", import.meta.url);

const P = DEFAULT_PARAMS;

function valueText(value: unknown): string {
	if (typeof value === "number") return value.toLocaleString("en-US");
	if (typeof value === "string") return `\`${value}\``;
	const entries = Object.entries(value as Record<string, number>);
	// The base scores have a table of their own.
	return entries.length > 10
		? "see below"
		: entries.map(([name, one]) => `${name} ${one.toLocaleString("en-US")}`).join(", ");
}

function limitsText({ least, most, oneOf }: ParamRow<unknown>): string {
	if (oneOf !== undefined) return oneOf.map((word) => `\`${word}\``).join(", ");
	return `${(least ?? 0).toLocaleString("en-US")} … ${most === 2 ** 53 - 1 ? "2⁵³ − 1" : (most ?? 0).toLocaleString("en-US")}`;
}

const parameters = () =>
	Object.entries(PARAM_ROWS as Readonly<Record<string, ParamRow<unknown>>>).map(
		([name, row]) => `| \`${name}\` | ${valueText(row.value)} | ${row.unit} | ${limitsText(row)} | ${row.source} |`,
	);

const bases = () =>
	PROFILES.map((card) => {
		const source = Object.hasOwn(P.baseScoresPpm, card.id) ? "SN27" : "formula";
		return `| ${card.id} | ${(baseTerm(card, P).value / 1e6).toFixed(6)} | ${source} |`;
	});

export function scoresPage(): string {
	const [fp16, memory, bandwidth] = FORMULA_EIGHTHS;
	return `# Scores

Made from \`src/market/\` by \`node src/market/scores/scores-page.test-kit.ts\`; a test keeps the two in step. How scores are used is in [network.md](network.md) §2.

A score is a pure function of proven figures, the provider's record and the parameters below. All of it is exact integer arithmetic in millionths
(ppm), rounded down once a rule, so that two validators with the same evidence come to the same integer. Every score comes as a tree of terms
\`{name, value, unit, rule, from}\`; the leaves name the evidence's hash, a parameter, a profile or a state. \`recompute\` works the tree out again,
\`mismatchesOf\` names every term whose stated value is not what those below it give.

## Device
    device = base × share of speed × sustained × scaling

- **base**: the score of the card that the figures explain (table below): SN27's where that is above 0, else
  \`min(best, ${(P.formulaScorePpm / 1e6).toFixed(2)} × (fp16 ÷ 10¹⁵ op/s)^(${fp16}/8) × (memory ÷ 10¹¹ B)^(${memory}/8) × (bandwidth ÷ 4·10¹² B/s)^(${bandwidth}/8))\` of the data sheet's dense fp16 peak, memory and
  bandwidth. The exponents and the factor are the least squares of the logarithms over SN27's fourteen scores, among exponents of whole eighths that sum to 1; they
  miss those by 25 % in the mean. Sum 1, because then a card that poses as two halves of itself is never worth more. Roots are integer roots.
- **share of speed**: the least of proven ÷ (data sheet × \`…FullPpm\`) over \`gemm.int8\`, \`gemm.fp16\`, \`fma.fp32\`, \`fma.fp64\`, \`memory.bandwidth\` and \`memory.resident\`, each at most 1. A figure that is
  missing is 0: to hide one never pays. Facts that docs/profiles.md doubts are left out; the memory never is.
- **which card**: where the figures leave several cards equal, the least valued of them counts. A \`confirmed\` name counts as itself, but at most \`namePremiumPpm\` above the least: between
  cards that no figure tells apart a name is only a word. \`other\` counts as the cards its figures explain.
- **unknown** (no profile explains it): the same formula on the *proven* fp16, memory and bandwidth, × \`unknownCardPpm\`; so no listed card gains by an unknown name.
- **sustained**, **scaling** (together ÷ alone): of this device, at most 1, and 1 where the validator did not measure them. They belong to the device and not to the host, so that adding
  a slow card never lowers a host.

## GPUs of a host
    gpu = Σ of the best maxDevices devices ÷ (maxDevices × best base score)

One UUID counts once, as the least of those that show it. A UUID that two providers show counts for the one that proved it first, until they pass a simultaneous probe. Devices
without figures are worth 0.

## Holistic
    host  = ${P.gpuWeightPpm / 1e6} + ${P.cpuWeightPpm / 1e6}·cpu + ${P.ramWeightPpm / 1e6}·ram + ${P.diskWeightPpm / 1e6}·disk
    score = min(1, gpu × host × rented) × reliability

- **cpu**: mean of int8, fp32 and fp64 speed against the reference host, each at most 1; the best single CPU device.
- **ram**: the lesser of proven bandwidth and *claimed* size against the reference, and 0 when no byte was proven resident. A probe keeps some hundred MiB, so the size stays a claim: it can lower the part, and a
  lie about it gains at most what the proven bandwidth allows.
- **disk**: mean of proven read and write speed against the reference, 0 when nothing was proven stored.
- **Why the parts are multiplied with the GPUs** (\`hostParts: "carried"\`) and not added beside them (\`"plain"\`: ${P.gpuWeightPpm / 1e6}·gpu + ${P.cpuWeightPpm / 1e6}·cpu + …): several providers on one host
  can each show its whole CPU, RAM and disk, one after the other. Added beside, a host with eight RTX 4090 split into eight providers would get eight times the ${(P.cpuWeightPpm + P.ramWeightPpm + P.diskWeightPpm) / 1e6} of the other parts, and a host with the
  smallest GPU and a good CPU nearly half of the best score. Multiplied, the sum over the pieces is at most the whole, as long as it has no more than \`maxDevices\` GPUs.
- **A host without a GPU** is worth 0, unless the operator sets \`hostOnlyPpm\`: then \`hostOnlyPpm × (${P.cpuWeightPpm / 1e6}·cpu + ${P.ramWeightPpm / 1e6}·ram + ${P.diskWeightPpm / 1e6}·disk)\` stands in place of \`gpu × host\` for a host that claims
  no GPU, and for one that proved some where it is more: to hide a GPU never pays. Who claims GPUs and proves none gets 0, and so does who failed the last probe that counted. For trials only: one CPU
  can be shown by any number of providers, each of which gets the share. \`assay up\` sets 1 % on its embedded chain, so that rewards can be tried on any machine.
- **rented**: \`rentedBonusPpm\` while rented. **Age**: a proof older than \`maxAgeMs\`, time in which the provider was rented not counted, scores 0; \`maxRentedAgeMs\` is the end in any case.
- **reliability** r moves by \`reliabilityStepPpm\` of what is left towards 1 with each success and towards 0 with each failure (rounded towards where it goes, so that both are reached), from
  \`reliabilityStartPpm\`. What a probe counts for is in schedule.md §1; inconclusive ones leave it.

## SN27's formula
\`scoring: "sn27"\`: gpu_score · min(N, 8) ÷ (8 · max_score) × bonus while rented, at most 1, from SN27's table with its zeros. N is the number of identified UUIDs, not a claim. Reliability and
the rest of the host play no part.

## Weights and rewards
The chain's epochs are in docs/chain.md. For each provider the weight is the stake-weighted median of the validators' scores: the least score at or below which half of the
reporting stake lies. While liars hold less than half of it, the median lies between two honest reports. A provider that a report leaves out is 0 in it.
Rewards: ⌊emission × weight ÷ Σ weights⌋, what is left over goes by the largest remainders, ties by provider id. Nobody has weight: nothing is given out.

## Parameters
Operators override any of them by name; a record is merged entry by entry, \`null\` takes an entry out. What cannot be used is refused with \`PARAMS_BAD\`.

| parameter | default | unit | limits | source |
|---|---|---|---|---|
${parameters().join("\n")}

## Base scores
| card | score | source |
|---|---|---|
${bases().join("\n")}
`;
}

if (process.argv[1] === import.meta.filename) writeFileSync(SCORES_PAGE, scoresPage());
