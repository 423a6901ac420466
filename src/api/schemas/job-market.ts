// The market for jobs in the API: what was done and paid, by whom, who lied and who found it; and the work of
// one provider. Public rows, docs/jobs.md §11.
import * as z from "zod/mini";
import { decimal, note } from "./base.ts";
import { jobClaim } from "./job-claim.ts";
import { atMs, chainHex, count, micros, ppm, providerId, said } from "./primitives.ts";

const outcome = z.enum(["checked", "paid", "lost", "late", "declined", "returned", "convicted"]);
const counts = {
	...{ checked: count, paid: count, lost: count, late: count, declined: count },
	...{ returned: count, convicted: count },
};

export const jobMarket = z.object({
	nowMs: atMs,
	jobs: z.object({ open: count, over: count }),
	outcomes: note(z.object({ total: z.object(counts), day: z.object(counts) }), "Of parts"),
	paidMicros: note(z.object({ total: micros, day: micros }), "To providers, for parts"),
	claims: z.object({ stored: count, claimed: count, checked: count, paid: count, fallen: count }),
	auditPpm: note(ppm, "Chance that a claim which no method runs again is run again all the same"),
	workloads: note(
		z.array(z.object({ kind: said, jobs: count, partMicros: micros, jobMicros: micros })),
		"Of the newest jobs: what a part, and all parts, were quoted at; medians",
	),
	providers: note(z.array(z.object({ provider: providerId, valueMicros: micros, ...counts })), "Most paid work first"),
	watchers: note(
		z.array(z.object({ account: chainHex(20, "Who accused"), convictions: count, earned: decimal })),
		"By what convictions brought them, in the token's smallest unit; empty without a chain",
	),
});

export const providerWork = z.object({
	nowMs: atMs,
	reputation: z.object({
		counts: z.object(counts),
		valueMicros: micros,
		checkedInARow: note(count, "Since the last conviction, loss or delay"),
		isBarred: note(z.boolean(), "Convicted not long ago: it gets no work"),
		weightPpm: note(ppm, "In draws; 1,000,000: nobody knows it"),
	}),
	rows: note(
		z.array(
			z.object({
				job: said,
				part: count,
				attempt: count,
				outcome,
				valueMicros: micros,
				atMs,
			}),
		),
		"The newest, which the reputation is made of; newest first",
	),
	claims: note(z.array(jobClaim), "That stand still: it answers for them"),
	questions: note(
		z.array(
			z.object({
				claim: note(said, "Hash of the claim"),
				accuser: chainHex(20, "Who asks"),
				question: note(z.string(), "Packed, docs/chain.md §12"),
				deadlineS: note(count, "Seconds since 1970"),
			}),
		),
		"On the chain, without an answer",
	),
});
