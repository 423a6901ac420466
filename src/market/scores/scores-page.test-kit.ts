// docs/scores.md as it must be for the parameters and the profiles. Run by itself it writes the page: node
// src/market/scores/scores-page.test-kit.ts
import { writeFileSync } from "node:fs";
import { PROFILES } from "../../verify/hardware/identify/profiles.ts";
import { DEFAULT_PARAMS, PARAM_ROWS, type ParamRow, SN27_SCORES_PPM } from "../params.ts";
import { deviceTerm } from "./device-score.ts";
import { provenFiguresOf } from "./proven-figures.ts";
import { gpuFigures } from "./scored-host.test-kit.ts";

export const SCORES_PAGE = new URL("../../../docs/scores.md", import.meta.url);

const P = DEFAULT_PARAMS;

const valueText = (value: number | string): string =>
	typeof value === "number" ? value.toLocaleString("en-US") : `\`${value}\``;

function limitsText({ least, most, oneOf }: ParamRow<unknown>): string {
	if (oneOf !== undefined) return oneOf.map((word) => `\`${word}\``).join(", ");
	return `${(least ?? 0).toLocaleString("en-US")} … ${most === 2 ** 53 - 1 ? "2⁵³ − 1" : (most ?? 0).toLocaleString("en-US")}`;
}

const parameters = () =>
	Object.entries(PARAM_ROWS as Readonly<Record<string, ParamRow<number | string>>>).map(
		([name, row]) => `| \`${name}\` | ${valueText(row.value)} | ${row.unit} | ${limitsText(row)} | ${row.source} |`,
	);

const cards = () =>
	PROFILES.map((card) => {
		const figures = provenFiguresOf({ figures: gpuFigures(card, 0, 1), evidence: "" });
		const sn27 = SN27_SCORES_PPM[card.id];
		return `| ${card.id} | ${(deviceTerm(0, figures, P).value / 1e6).toFixed(4)} | ${sn27 === undefined ? "" : sn27 === null ? "–" : sn27 / 1e6} |`;
	});

export function scoresPage(): string {
	return `# Scores

Made from \`src/market/\` by \`node src/market/scores/scores-page.test-kit.ts\`; a test keeps the two in step.
How scores are used is in [network.md](network.md) §2.

A score is a pure function of proven figures, the provider's record and the parameters below. All of it is
exact integer arithmetic in millionths (ppm), rounded down once a rule, so that two validators with the same
evidence come to the same integer. Every score comes as a tree of terms \`{name, value, unit, rule, from}\`;
the leaves name the evidence's hash, a parameter or a state. \`recompute\` works the tree out again,
\`mismatchesOf\` names every term whose stated value is not what those below it give.

## Device
    device = ${P.gpuInt8WeightPpm / 1e6}·int8 + ${P.gpuFp16WeightPpm / 1e6}·fp16 + ${P.gpuFp32WeightPpm / 1e6}·fp32 + ${P.gpuFp64WeightPpm / 1e6}·fp64 + ${P.gpuBandwidthWeightPpm / 1e6}·bandwidth + ${P.gpuMemoryWeightPpm / 1e6}·memory

Each is the proven figure (\`gemm.int8\`, \`gemm.fp16\`, \`fma.fp32\`, \`fma.fp64\`, \`memory.bandwidth\`,
\`memory.resident\`) ÷ the best that docs/profiles.md knows of it, and may be above 1. So every operation and
every byte has one price, whoever proves it and under whatever name. The name of a card and the profile that
explains its figures play no part: they are for customers to read.

- **Nobody gains by posing.** A card that shows itself as several, or several that show themselves as one,
  prove together what they have: all devices of a host are asked at once, and their figures are divided by one
  common time (docs/hardware-proof.md §9). A sum of prices is the price of the sum. \`posing.test.ts\` shows
  it for all pairs and mixes of profiles. With scores by name 37 of 98 cards gained more than 5 % by it.
- **A figure that is missing is 0**, one that is there only adds: to hide or to leave out never pays. Of two
  figures of one name the lesser counts. fp8, bf16, tf32 and int32 are answered by units that count already,
  and add nothing.
- **memory** counts as far as it can be read in a tenth of a second (\`gpuPassPpm\`) at the proven bandwidth.
  Every card of docs/profiles.md reads all of its memory in that time. A CPU that is shown as a GPU with a
  terabyte of RAM does not. There is no cliff: twice the bandwidth, twice the bytes in reach.
- **sustained**: where the validator asked for a sustained run and it was slower, its speed counts in place of
  the short one's, for that precision. It is no factor of the other figures: a host could gather its int8 in
  one device, and the others would be spared.
- Both bounds are a least of two figures. The least of two sums is never below the sum of the least ones, so a
  whole is still worth no less than its pieces.
- **The weights** are ours: matrix speed ${(P.gpuInt8WeightPpm + P.gpuFp16WeightPpm) / 1e6}, memory and its
  bandwidth ${(P.gpuMemoryWeightPpm + P.gpuBandwidthWeightPpm) / 1e6}, scalar speed
  ${(P.gpuFp32WeightPpm + P.gpuFp64WeightPpm) / 1e6}. Up to one common factor they miss SN27's fourteen scores
  above 0 by 25 % in the mean. The best weights miss them by 13 %, but put nearly half of everything on fp64,
  which few rent. None can give all of SN27's scores: there an L40 is worth more than an L40S, which has no
  less of anything.

What this leaves open: a figure is what was computed, not by which units. GeForce cards can answer fp16 with
their int8 units, up to 1.88 times as fast as with those for fp16: 12 % of an RTX 4090's score. And all
devices of a host are asked at once, but two providers are not: who shows one card to each of them is a matter
of docs/schedule.md.

## GPUs of a host
    gpu = min(1, Σ devices ÷ fullHostGpus)

One UUID counts once, as the least of those that show it. A UUID that two providers show counts for the one
that proved it first, until they pass a simultaneous probe. Devices without figures are worth 0. No eight
cards of docs/profiles.md reach the 1; whoever has more than that gains by a second provider, for a score is
at most 1.

## Holistic
    host  = ${P.gpuWeightPpm / 1e6} + ${P.cpuWeightPpm / 1e6}·cpu + ${P.ramWeightPpm / 1e6}·ram + ${P.diskWeightPpm / 1e6}·disk
    score = min(1, gpu × host × attested × rented) × reliability × presence

- **cpu**: mean of int8, fp32 and fp64 speed against the reference host, each at most 1; the best single CPU
  device.
- **ram**: the lesser of proven bandwidth and *claimed* size against the reference, and 0 when no byte was
  proven resident. A probe keeps some hundred MiB, so the size stays a claim: it can lower the part, and a lie
  about it gains at most what the proven bandwidth allows.
- **disk**: mean of proven read and write speed against the reference, 0 when nothing was proven stored.
- **Why the parts are multiplied with the GPUs** (\`hostParts: "carried"\`) and not added beside them
  (\`"plain"\`: ${P.gpuWeightPpm / 1e6}·gpu + ${P.cpuWeightPpm / 1e6}·cpu + …): several providers on one host
  can each show its whole CPU, RAM and disk, one after the other. Added beside, a host with eight RTX 4090
  split into eight providers would get eight times the
  ${(P.cpuWeightPpm + P.ramWeightPpm + P.diskWeightPpm) / 1e6} of the other parts, and a host with the
  smallest GPU and a good CPU nearly half of the best score. Multiplied, the sum over the pieces is at most
  the whole, as long as its GPUs are worth no more than 1.
- **A host without a GPU** is worth 0, unless the operator sets \`hostOnlyPpm\`: then
  \`hostOnlyPpm × (${P.cpuWeightPpm / 1e6}·cpu + ${P.ramWeightPpm / 1e6}·ram + ${P.diskWeightPpm / 1e6}·disk)\`
  stands in place of \`gpu × host\` for a host that claims no GPU, and for one that proved some where it is
  more: to hide a GPU never pays. Who claims GPUs and proves none gets 0, and so does who failed the last
  probe that counted. For trials only: one CPU can be shown by any number of providers, each of which gets the
  share. \`assay up\` sets 1 % on its embedded chain, so that rewards can be tried on any machine.
- **attested**: \`genuineBonusPpm\`, \`measuredBonusPpm\` or \`hostedBonusPpm\` by the level of the last valid
  probe (docs/attestation.md); without a level there is no such term. Simulated reports, a card that counts
  for another provider, and a host of which not every GPU signed have none. It is small: figures decide, and
  who cannot attest loses nothing. A host whose GPUs are worth nothing gets no bonus.
- **rented**: the mean over the last \`rollCallWindow\` roll calls of what each counts for: 1 where the
  provider was not rented. A host that is rented through the escrow (docs/rentals.md) is excused from the
  call, and the call counts by what the rental burns a second, against twice what the host's full score brings
  a second, at most \`rentedBonusPpm\`. Any other rental excuses from nothing: the calls count as absent and
  the proof ages. Calls are not foreseen, so this is what is burned on average. Whoever rents from himself, or
  pays a friend to, burns at least twice what it brings; the assumption is that the sum of all scores does not
  fall to less than half between a call and the end of the epoch. Without roll calls the factor is 1.
- **Age**: a proof older than \`maxAgeMs\`, time in which the provider was rented through the escrow not
  counted, scores 0; \`maxRentedAgeMs\` is the end in any case. On a network without roll calls nobody knows
  what a rental burned, and all time counts.
- **reliability** r moves by \`reliabilityStepPpm\` of what is left towards 1 with each success and towards 0
  with each failure (rounded towards where it goes, so that both are reached), from \`reliabilityStartPpm\`.
  What a probe counts for is in schedule.md §1; inconclusive ones leave it. A checked part of a job counts
  like a success, a conviction makes r 0 for \`jobConvictionMs\`: docs/jobs.md §11.
- **presence**: of the network's last \`rollCallWindow\` roll calls (docs/roll-call.md), n, the provider
  answered a in time and rightly. Calls from which it was excused are left out; calls in which it was paused,
  removed or not yet registered are not: else one card could answer under a new key each time, while the keys
  before pause and keep their record. The lower bound of the share a ÷ n by Wilson with z = 1, divided by that
  of a full record, so that who answers ${P.rollCallWindow} of ${P.rollCallWindow} has 1: (2a + 1 − √((4a(n −
  a) + n) ÷ n)) ÷ 2(n + 1) × ${P.rollCallWindow + 1} ÷ ${P.rollCallWindow}. No call yet: 0. N keys on one card
  share its answers, and the bounds of N shares add up to less than one card's. A network without a chain has
  no roll calls, and the factor is 1: the explanation says so.

## SN27's formula
\`scoring: "sn27"\`: gpu_score · min(N, 8) ÷ (8 · max_score) × rented, at most 1, from SN27's table by name,
with its zeros. N is the number of identified UUIDs, not a claim. Reliability and the rest of the host play no
part, presence does. A name pays there, where the figures bear it: a card that is \`other\` or \`unknown\`
(docs/profiles.md) is paid nothing. An L40S gains 11 % by posing as an L40.

## Weights and rewards
The chain's epochs are in docs/chain.md. For each provider the weight is the stake-weighted median of the
validators' scores: the least score at or below which half of the reporting stake lies. While liars hold less
than half of it, the median lies between two honest reports. A provider that a report leaves out is 0 in it.
Rewards: ⌊emission × weight ÷ Σ weights⌋, what is left over goes by the largest remainders, ties by provider
id. Nobody has weight: nothing is given out.

## Parameters
Operators override any of them by name. What cannot be used is refused with \`PARAMS_BAD\`. \`GET /v1/params\`
has those that a validator decides by; pages and commands estimate prices and times with these.

| parameter | default | unit | limits | source |
|---|---|---|---|---|
${parameters().join("\n")}

## Cards
What a card that proves all of its data sheet is worth, and SN27's score. Only what was proven counts: kernels
reach two thirds of the matrix peaks, and a real H200 (bench/results) is worth 0.44 of the 0.51 here.

| card | device | SN27 |
|---|---|---|
${cards().join("\n")}
`;
}

if (process.argv[1] === import.meta.filename) writeFileSync(SCORES_PAGE, scoresPage());
