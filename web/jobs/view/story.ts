// A job in one sentence: where it stands and what happens next, for every state that it can be in. Pure.

import type { Job } from "../../../src/api/types.ts";
import { cancelledText } from "../../../src/market/jobs/cancelled.ts";
import { methodOf } from "../../../src/verify/methods/methods.ts";
import { formatExactMoney } from "../../parts/format.ts";
import type { Tone } from "../../parts/small.tsx";
import type { LiveJob } from "../job-events.ts";

type Part = Job["record"]["parts"][number];

export interface Story {
	readonly key:
		| "waiting"
		| "running"
		| "lost"
		| "convicted"
		| "disputed"
		| "checking"
		| "proving"
		| "window"
		| "paid"
		| "partly"
		| "refunded"
		| "expired";
	readonly tone: Tone;
	readonly title: string;
	readonly text: string;
	/** What is counted down to; null: nothing. */
	readonly untilMs: number | null;
	readonly until: string;
}

const story = (key: Story["key"], tone: Tone, title: string, text: string): Story => ({
	...{ key, tone, title, text, untilMs: null, until: "" },
});

function ended({ record, offer }: Job, live: LiveJob): Story {
	const { parts } = record;
	const { terms } = offer;
	const paid = parts.filter(({ state }) => state === "paid").length;
	if (paid === parts.length)
		return story(
			"paid",
			"valid",
			"Done and paid",
			`Every part was claimed, ${methodOf(terms.method).words.stood} and is paid. The result is below.`,
		);
	const back = formatExactMoney((parts.length - paid) * (terms.priceMicros + terms.feeMicros + terms.auditMicros));
	if (paid > 0)
		return story(
			"partly",
			"inconclusive",
			`Ended after ${paid} of ${parts.length} parts`,
			`What was paid for is below; ${back} were given back.`,
		);
	// On a chain the record says "customer" of both: what is in time is a wish.
	const last = live.lines.findLast(({ what }) => what === "refunded");
	if (last?.by === "customer" && last.atMs <= terms.startByMs)
		return story("refunded", "abandoned", "Cancelled and given back", `Nobody worked at it. ${back} were given back.`);
	return story(
		"expired",
		"abandoned",
		"Expired and given back",
		`Nobody finished it before its time to start was over. ${back} were given back.`,
	);
}

/** Why the newest attempt ended without a claim that stands; null: it did not. */
function setback(part: Part, live: LiveJob, hasChain: boolean): Story | null {
	const fell = live.spans.findLast((one) => one.part === part.part && ["lost", "convicted"].includes(one.state));
	if (fell === undefined || part.state === "paid") return null;
	const who = fell.provider === null ? "Its provider" : `Provider ${fell.provider.slice(0, 12)}…`;
	const bond = hasChain
		? " Its bond is taken; a quarter of what the accuser's costs leave of it is yours."
		: " There is no chain here, so no bond is taken.";
	if (fell.state === "convicted")
		return story(
			"convicted",
			"invalid",
			"A provider was convicted",
			`${who} claimed a false result.${bond} Another provider runs the part again.`,
		);
	const last = live.lines.findLast(
		({ what, part: of }) => (what === "reopened" || what === "returned") && of === part.part,
	);
	const why = last?.why;
	if (last?.what === "returned")
		return story(
			"lost",
			"inconclusive",
			"A provider handed the part back",
			`${who} saw that it would not be done in time, or costs more than is paid. The part goes to another, and nothing is paid for the attempt.`,
		);
	const how = why === "late" ? "was too late" : why === "silent" ? "did not answer" : "fell silent";
	return story(
		"lost",
		"inconclusive",
		"A provider was lost",
		`${who} ${how}: the part goes to another, and nothing is paid for the attempt.`,
	);
}

export function storyOf(job: Job, live: LiveJob): Story {
	if (job.isOver) return ended(job, live);
	const { parts } = job.record;
	const part = parts.find(({ state }) => state !== "paid" && state !== "refunded") ?? parts[0]!;
	const of = parts.length === 1 ? "" : ` part ${part.part + 1} of ${parts.length}`;
	const until = (told: Story, words: string): Story => ({ ...told, untilMs: part.untilMs || null, until: words });
	const { startByMs } = job.offer.terms;
	const cancelled = cancelledText({ terms: job.offer.terms, parts }, formatExactMoney);
	if (cancelled !== null && !part.isDisputed)
		return until(story("refunded", "abandoned", "Cancelled", `${cancelled}.`), "time left for what goes on");
	const before = setback(part, live, job.offer.escrow !== null);
	if (part.state === "open")
		return {
			...(before ??
				story(
					"waiting",
					"waiting",
					"Waiting for a provider",
					"The list of hosts that fit is published, and one of them is drawn at random.",
				)),
			untilMs: startByMs,
			until: "given back if nobody takes it within",
		};
	if (part.state === "assigned")
		return until(
			before ??
				story(
					"waiting",
					"waiting",
					`A provider was drawn${of && ` for${of}`}`,
					"It fetches the inputs, checks them and locks its bond.",
				),
			"time left to accept",
		);
	if (part.state === "running")
		return until(
			before ??
				story(
					"running",
					"running",
					`Running${of}`,
					"What is shown below comes from the provider while it works: it proves nothing yet.",
				),
			"time left to claim",
		);
	if (part.isDisputed)
		return until(
			story(
				"disputed",
				"invalid",
				"The claim is disputed",
				"Somebody ran some of it again and found something different. Its provider is asked on chain: a proof of fraud or its silence there convicts it, else it is paid when its window ends.",
			),
			"window left",
		);
	if (!part.isChecked && part.audits.length > 0)
		return until(
			story(
				"checking",
				"running",
				"Claimed, being checked",
				"Others run some of it again without seeing the claim's states.",
			),
			"window left",
		);
	if (methodOf(job.offer.terms.method).driver === "proofs")
		return until(
			story(
				"proving",
				"running",
				part.isChecked ? "Proven" : `Claimed, ${part.proven ?? 0} segments proven`,
				"Provers prove its segments on chain. It is paid when all are, and the commitments are those of its end.",
			),
			"given to another if it is not proven within",
		);
	return until(
		story(
			"window",
			"inconclusive",
			part.isChecked ? "Checked" : "Claimed",
			"It is paid when its window ends, unless somebody proves it wrong.",
		),
		"paid in",
	);
}
