// Roll calls: which blocks called, who answered, what the network proved together (docs/roll-call.md). The
// public files of the answers are evidence, by their hash.
import * as z from "zod/mini";
import { integer, note } from "./base.ts";
import { atMs, chainHex, code, count, paging, ppm, providerId, said, sha256 } from "./primitives.ts";
import { attested } from "./verdict.ts";

const hash = note(sha256, "Hash, 64 lower-case hex digits");
const callState = z.enum(["open", "committed", "done", "void"]);
/**
 * opening: committed to, not opened yet. late: too slow, with an answer after the deadline or one of too
 * little work. uncalled: its owner wants it to answer no calls.
 */
const answerState = z.enum(["opening", "answered", "late", "absent", "wrong", "excused", "uncalled"]);

export const callNumber = note(integer(0), "Number of the block, or drand round, that called");

export const rollCall = z.object({
	call: callNumber,
	chainId: count,
	contract: chainHex(20, "Address of RollCall"),
	beta0: hash,
	/** void: not carried through, counts for nobody; `code` says why. */
	state: callState,
	code: z.nullable(code),
	calledAtMs: atMs,
	deadlineMs: count,
	b0AtS: note(count, "Time of the block that called, in seconds"),
	b1: note(z.nullable(count), "The block with the commitment"),
	b1AtS: z.nullable(count),
	b2: note(z.nullable(count), "The block that drew the places"),
	b2AtS: z.nullable(count),
	beta2: z.nullable(hash),
	root: z.nullable(hash),
	leaves: z.nullable(count),
	transaction: z.nullable(chainHex(32, "Transaction of the commitment")),
	endedAtMs: z.nullable(atMs),
	hosts: note(count, "Hosts that answered in time and rightly"),
	devices: count,
	gigaOps: note(count, "Their work together, in 10⁹ operations"),
	megaBytes: note(count, "Sum of what each device held when it had answered, in 10⁶ bytes"),
	counted: note(count, "Hosts that were to answer, whether they did or not; excused and uncalled ones are left out"),
});

export const rollCallAnswer = z.object({
	providerId,
	name: said,
	state: answerState,
	code: z.nullable(code),
	/** From the moment this validator saw the block. */
	ms: z.nullable(count),
	megaOps: count,
	bytes: count,
	paidPpm: note(z.nullable(ppm), "What an excused call counts for, where a rental was paid through the escrow"),
	/** One public file a device; they are kept for a while. */
	files: z.array(z.object({ device: count, sha256, bytes: count })),
	attestation: note(z.nullable(attested), "Of the host's last valid probe"),
});

export const rollCallsQuery = z.strictObject({ state: z.optional(callState), ...paging });
export const answersQuery = z.strictObject({ state: z.optional(answerState), ...paging });
export const historyQuery = z.strictObject({ ...paging });

export const providerCall = z.extend(z.pick(rollCallAnswer, { state: true, code: true, ms: true, files: true }), {
	call: callNumber,
	atMs,
});

/** What a tree was made of, in its order: enough to build it again, and to demand an opening. */
export const rollCallLeaves = z.object({
	root: hash,
	count,
	hosts: z.array(
		z.object({
			providerId,
			/** Place of its first leaf; the others follow. */
			leaf: count,
			account: chainHex(20, "Account whose stake stands for the answer; zero without one"),
			signature: z.string(),
			accountSignatures: z.nullable(z.array(z.string())),
			answers: z.array(
				z.object({
					device: count,
					m: count,
					n: count,
					k: count,
					rounds: count,
					keep: count,
					end: hash,
					last: hash,
				}),
			),
		}),
	),
});
