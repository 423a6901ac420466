// The market for jobs in the API: what was done and paid, by whom, who lied and who found it; and the work of
// one provider. Public rows, docs/jobs.md §11.
import * as z from "zod";
import { jobClaim } from "./job-claim.ts";
import { atMs, chainHex, count, micros, ppm, providerId, said } from "./primitives.ts";

const decimal = z.string().regex(/^(0|[1-9][0-9]{0,77})$/);
const outcome = z.enum(["checked", "paid", "lost", "late", "declined", "convicted"]);
const counts = { checked: count, paid: count, lost: count, late: count, declined: count, convicted: count };

export const jobMarket = z.object({
	nowMs: atMs,
	jobs: z.object({ open: count, over: count }),
	outcomes: z.object({ total: z.object(counts), day: z.object(counts) }).describe("Of parts"),
	paidMicros: z.object({ total: micros, day: micros }).describe("To providers, for parts"),
	claims: z.object({ stored: count, claimed: count, checked: count, paid: count, fallen: count }),
	auditPpm: ppm.describe("Chance that a claim which no method runs again is run again all the same"),
	workloads: z
		.array(z.object({ kind: said, jobs: count, partMicros: micros, jobMicros: micros }))
		.describe("Of the newest jobs: what a part, and all parts, were quoted at; medians"),
	providers: z
		.array(z.object({ provider: providerId, valueMicros: micros, ...counts }))
		.describe("Most paid work first"),
	watchers: z
		.array(z.object({ account: chainHex(20, "Who accused"), convictions: count, earned: decimal }))
		.describe("By what convictions brought them, in the token's smallest unit; empty without a chain"),
});

export const providerWork = z.object({
	nowMs: atMs,
	reputation: z.object({
		counts: z.object(counts),
		valueMicros: micros,
		checkedInARow: count.describe("Since the last conviction, loss or delay"),
		isBarred: z.boolean().describe("Convicted not long ago: it gets no work"),
		weightPpm: ppm.describe("In draws; 1,000,000: nobody knows it"),
	}),
	rows: z
		.array(
			z.object({
				...{ job: said, part: count, attempt: count, outcome, valueMicros: micros, atMs },
			}),
		)
		.describe("The newest, which the reputation is made of; newest first"),
	claims: z.array(jobClaim).describe("That stand still: it answers for them"),
	questions: z
		.array(
			z.object({
				claim: said.describe("Hash of the claim"),
				accuser: chainHex(20, "Who asks"),
				question: z.string().describe("Packed, docs/chain.md §12"),
				deadlineS: count.describe("Seconds since 1970"),
			}),
		)
		.describe("On the chain, without an answer"),
});
