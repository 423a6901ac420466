// docs/profiles.md as it must be for the table. Run by itself it writes the page: node
// src/verify/hardware/identify/profiles-page.test-kit.ts
import { writeFileSync } from "node:fs";
import { PRECISIONS, type Precision } from "../../../protocol/maths/precision.ts";
import { alikePairs } from "./alike.test-kit.ts";
import { basisOf } from "./measured-cards.ts";
import type { Profile } from "./profile.ts";
import { PROFILES } from "./profiles.ts";
import { RULES } from "./rules.ts";
import { BANDWIDTH_SHARE, INT32_SHARE, LOWEST_CLOCK, MATRIX_SHARE, type Range, SCALAR_SHARE } from "./shares.ts";

export const PROFILES_PAGE = new URL("../../../../docs/profiles.md", import.meta.url);

const range = ({ low, high }: Range) => `${low}–${high}`;

function tera(value: number | undefined): string {
	return value === undefined ? "–" : String(Number((value / 1e12).toPrecision(3)));
}

function row(profile: Profile): string {
	const { names, compute, sms, boostMHz, tensorMHz, memoryBytes, reportedBytes, bytesPerS, powerW, rates } = profile;
	const doubted = new Set<string>(profile.doubt.flatMap(({ facts }) => facts));
	const rate = (precision: Precision) => tera(rates[precision]) + (doubted.has(precision) ? "?" : "");
	const cells = [
		profile.id,
		compute,
		sms,
		tensorMHz === boostMHz ? boostMHz : `${boostMHz} (${tensorMHz})`,
		`${memoryBytes / 2 ** 30}${doubted.has("memory") ? "?" : ""}`,
		reportedBytes === null ? "–" : reportedBytes / 2 ** 20,
		`${bytesPerS / 1e9}${doubted.has("bandwidth") ? "?" : ""}`,
		...PRECISIONS.map(rate),
		powerW,
		names.map((name) => `\`${name}\``).join(", "),
	];
	return `| ${cells.join(" | ")} |`;
}

/** Of a list, 110 columns wide. */
const item = (text: string): string => `- ${text.replace(/(.{1,108})(?: |$)/g, "$1\n  ").trimEnd()}`;

function doubts(): string {
	const groups = new Map<string, string[]>();
	for (const { id, doubt } of PROFILES)
		for (const { facts, why } of doubt) {
			const key = `${facts.join(", ")}: ${why}`;
			groups.set(key, [...(groups.get(key) ?? []), id]);
		}
	return [...groups].map(([what, ids]) => item(`${ids.join(", ")} — ${what}.`)).join("\n");
}

function alike(): string {
	const partners = new Map<string, string[]>();
	for (const [a, b] of alikePairs(PROFILES)) partners.set(a, [...(partners.get(a) ?? []), b]);
	return [...partners].map(([id, others]) => item(`${id} — ${others.join(", ")}`)).join("\n");
}

export function profilesPage(): string {
	const rules = Object.entries(RULES).map(
		([rule, { shows, limit, reason }]) => `| \`${rule}\` | ${shows} | ${Number(limit.toFixed(3))} | ${reason} |`,
	);
	const measured = PROFILES.filter(({ id }) => basisOf(id) === "measured")
		.map(({ id }) => id)
		.join(", ");
	const shares = Object.entries(MATRIX_SHARE).map(([name, share]) => `| ${name} | ${range(share)} |`);
	return `# Profiles

Made from \`src/verify/hardware/identify/\` by
\`node src/verify/hardware/identify/profiles-page.test-kit.ts\`; a test keeps the two in step.

What a card is, is judged by what it proved, never by its name. The vector of proven figures (memory,
bandwidth, a rate for each precision) is held against ${PROFILES.length} profiles. The answer is a ranked list
with likelihoods, the set that cannot be told apart, and one of:

| state | meaning |
|---|---|
| confirmed | the figures single out the claimed card, or leave it equal only with cards that are hardly worth less: no memory size, bandwidth or rate of the claimed card is 1.25 times theirs; a full probe |
| consistent | nothing speaks against the claim, but figures are missing, or a clearly lesser card would explain them as well (\`lesser\`) |
| other | another card explains the figures clearly better, or the claimed one would have to be slower or larger than it is known to be; a capped, shared or modified card can look like that, so it is no accusation |
| unknown | the same, and no other profile explains the figures either |
| unknown-name | the claimed name is in no profile (laptop parts, MIG slices, vGPUs, cards not listed): never a contradiction |
| contradicted | no machine of that name can have given these figures: the verdict is INVALID, \`CARD_CONTRADICTED\` |
| unjudged | not a GPU, or nothing was proven |

## The model
For each profile the likelihood is summed over two unknowns: the clock (from ${LOWEST_CLOCK} of the boost
clock, a power cap, up to the highest that the card can run at; it scales all arithmetic together, and neither
memory nor bandwidth) and the share of the tensor peak that the kernels reach on it (all precisions together).
So ratios between precisions count for more than rates. Bandwidth is expected at ${range(BANDWIDTH_SHARE)} of
the data sheet, scalar rates at ${range(SCALAR_SHARE)}, int32 at ${range(INT32_SHARE)}. A full fill (85 % or
more of the memory that the host claims) puts the card's memory close to what was kept; a partial one is a
lower bound only. tf32 is not leaned on: 16-bit units can answer it. A figure that is missing says nothing.

| architecture | share of the tensor peak |
|---|---|
${shares.join("\n")}

Measured so far (\`basis: "measured"\` in a verdict): ${measured}. Of every other card no example was ever
probed by us: a verdict on it says "profile from data sheets" (\`basis: "data-sheets"\`), and the shares above
are kept wide until one is.

## What speaks against a name
The limit is a share of the named card's own fact, or of the ratio of two of them. What is broken shows one of
three things:

- **lie**: no machine of that name gives these figures, however it is capped and whoever else is on it. If
  every size of the name is contradicted so, the verdict is INVALID, \`CARD_CONTRADICTED\`.
- **slow**: the machine is slower than the named card is alone and at 0.6 of its clock. Another card is, and
  so is the right one at half its power, or shared in time. The finding \`CARD_SLOW\`; the state is \`other\`
  or \`unknown\`, never \`consistent\` or \`confirmed\`.
- **larger**: it has more memory than the name is known for: a modified card, or a new size. The finding
  \`CARD_LARGER\`, and the same states.

Without a full fill, somebody else may be on the card, or the probe was a quick one: lower limits are then
halved, and ratios not judged except fp64 to fp32. Doubtful facts say nothing.

| rule | shows | limit | reason |
|---|---|---|---|
${rules.join("\n")}

**Who gains by being only \`other\`?** Nobody who is paid for figures: a score counts what was proven, and no
name (docs/scores.md). In SN27's formula, which pays by name, \`other\` and \`unknown\` are paid nothing.
\`--expect\` refuses everything but \`confirmed\` for an order by model, and lists show the card that the
figures look like, not the claimed one.

What this cannot do: a card that is 1.6 to 2.2 times slower than the claimed one, with the same memory and
bandwidth, looks like the claimed one under a 60 % cap; so does one whose tensor units alone run at half the
rate (L40 or L20 as L40S), as long as the kernels' share is not known better. It is then \`other\` or
\`consistent\`, not \`contradicted\` and not \`confirmed\`. And a host that says most of its memory is in use
by others cannot be held to the rest of it.

## Cards
Dense rates in 10¹² op/s, fp32 accumulation for fp8, fp16, bf16 and tf32 (GeForce cards run it at half the
rate of fp16 accumulation, which data sheets often print). Worked out as units × SMs × clock unless a data
sheet says otherwise; a clock in brackets is the one behind the tensor rates. Memory in GiB as sold, and in
MiB as the driver usually reports it. \`?\`: doubtful, see below. Not listed: GTX 16xx (no tensor cores, and
what \`mma.sync\` gives there is unmeasured).

| card | cc | SMs | MHz | GiB | MiB reported | GB/s | ${PRECISIONS.join(" | ")} | W | names |
|---|---|---|---|---|---|---|${PRECISIONS.map(() => "---|").join("")}---|---|
${PROFILES.map(row).join("\n")}

## Doubts
${doubts()}

## Cannot be told apart
By a full probe, when the figures of one of the two lie in the middle of what is expected. The name decides
between these, and nothing else does; where the claimed one is worth more, the state is \`consistent\` and
\`lesser\` names the other.

${alike()}
`;
}

if (process.argv[1] === import.meta.filename) writeFileSync(PROFILES_PAGE, profilesPage());
