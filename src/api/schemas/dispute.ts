// A claim under dispute in the API, docs/disputes.md: what was asked by which road, what the chain says of
// it, what was proven. Public: whoever wants to check it reads the same from any node, and judges the fraud
// file itself.
import * as z from "zod/mini";
import { decimal, matching, note } from "./base.ts";
import { fraud, jobClaim } from "./job-claim.ts";
import { atMs, chainHex, count, said } from "./primitives.ts";

const hexBytes = matching(/^0x([0-9a-f]{2})*$/);
const seconds = note(count, "Seconds since 1970");
const transaction = chainHex(32, "Hash of a transaction");

/** Off chain: through this validator. Its answers are not told here. */
const relayed = z.object({
	atMs,
	question: note(said, "Canonical JSON, docs/jobs.md §14"),
	bytes: note(z.nullable(count), "Of the answer; null: none came"),
});

const round = z.object({
	question: note(hexBytes, "Packed, docs/chain.md §12"),
	deadlineS: seconds,
	askedIn: transaction,
	answer: note(z.nullable(hexBytes), "Null: open, or never given"),
	answeredIn: z.nullable(transaction),
});
const game = z.object({
	accuser: chainHex(20, "Who asks"),
	untilS: note(seconds, "It ends then, whoever moves"),
	openedS: seconds,
	sinceS: note(seconds, "When it last became the accuser's turn"),
	deadlineS: note(z.nullable(seconds), "Last moment to answer; null: it is the accuser's turn"),
	deposits: note(decimal, "Coins for questions that were answered"),
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
	nowS: note(seconds, "The chain's time, or this validator's"),
	account: chainHex(20, "Whose claim it is"),
	state: note(said, "Of the part, on the chain, now"),
	untilS: note(seconds, "What of the part ends then"),
	bond: note(decimal, "In the token's smallest unit"),
	clocks: z.object({ questionSeconds: count, traceSeconds: count, replySeconds: count, gameSeconds: count }),
	games: z.array(game),
	conviction: z.nullable(conviction),
	gas: note(z.record(z.string(), count), "What each transaction above used"),
});

export const dispute = z.object({
	claim: jobClaim,
	relayed: note(z.array(relayed), "Since this process of the validator started, oldest first"),
	chain: note(z.nullable(onChain), "Null: there is no chain, or no such claim on it"),
	frauds: z.array(fraud),
});
