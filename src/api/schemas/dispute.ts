// A claim under dispute in the API, docs/disputes.md: what was asked by which road, what the chain says of
// it, what was proven. Public: whoever wants to check it reads the same from any node, and judges the fraud
// file itself.
import * as z from "zod";
import { fraud, jobClaim } from "./job-claim.ts";
import { atMs, chainHex, count, said } from "./primitives.ts";

const decimal = z.string().regex(/^(0|[1-9][0-9]{0,77})$/);
const hexBytes = z.string().regex(/^0x([0-9a-f]{2})*$/);
const seconds = count.describe("Seconds since 1970");
const transaction = chainHex(32, "Hash of a transaction");

/** Off chain: through this validator. Its answers are not told here. */
const relayed = z.object({
	atMs,
	question: said.describe("Canonical JSON, docs/jobs.md §14"),
	bytes: count.nullable().describe("Of the answer; null: none came"),
});

const round = z.object({
	question: hexBytes.describe("Packed, docs/chain.md §12"),
	deadlineS: seconds,
	askedIn: transaction,
	answer: hexBytes.nullable().describe("Null: open, or never given"),
	answeredIn: transaction.nullable(),
});
const game = z.object({
	accuser: chainHex(20, "Who asks"),
	untilS: seconds.describe("It ends then, whoever moves"),
	openedS: seconds,
	sinceS: seconds.describe("When it last became the accuser's turn"),
	deadlineS: seconds.nullable().describe("Last moment to answer; null: it is the accuser's turn"),
	deposits: decimal.describe("Coins for questions that were answered"),
	isClosed: z.boolean(),
	isPaid: z.boolean(),
	rounds: z.array(round),
});
const conviction = z.object({
	by: z.enum(["proof", "silence"]),
	accuser: chainHex(20, "Who is paid for it"),
	transaction,
	toAccuser: decimal,
	toCustomer: decimal,
	burned: decimal,
});

const onChain = z.object({
	chainId: count,
	nowS: seconds.describe("The chain's time, or this validator's"),
	account: chainHex(20, "Whose claim it is"),
	state: said.describe("Of the part, on the chain, now"),
	untilS: seconds.describe("What of the part ends then"),
	bond: decimal.describe("In the token's smallest unit"),
	clocks: z.object({ questionSeconds: count, traceSeconds: count, replySeconds: count, gameSeconds: count }),
	games: z.array(game),
	conviction: conviction.nullable(),
	gas: z.record(z.string(), count).describe("What each transaction above used"),
});

export const dispute = z.object({
	claim: jobClaim,
	relayed: z.array(relayed).describe("Since this process of the validator started, oldest first"),
	chain: onChain.nullable().describe("Null: there is no chain, or no such claim on it"),
	frauds: z.array(fraud),
});
