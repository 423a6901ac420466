// Answers openings that are demanded on chain (docs/roll-call.md): without an answer in time the stake is
// cut. Only the demanded round is computed again, with the roots from the book, and on the CPU: it gives the
// same bits as a card, and a card may be rented for longer than a demand waits.

import type { After } from "../../platform/abortable.ts";
import { repeat } from "../../platform/repeat.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { equalBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { nextSeed } from "../../protocol/probe/challenge-seed.ts";
import { rollChallenges, rollSeed } from "../../protocol/roll-call/roll-call.ts";
import { errorToEvent } from "../provider-event.ts";
import type { CallAnswererOptions } from "./answer-calls.ts";
import type { DemandedOpening, RollChain } from "./roll-chain.ts";

export interface DemandWatchOptions extends Pick<CallAnswererOptions, "book" | "lender" | "claim" | "onEvent"> {
	readonly key: string;
	readonly chain: RollChain;
	readonly after: After;
	/** Default 30 s; demands wait for hours. */
	readonly everyMs?: number;
}

const EVERY_MS = 30_000;
/** One product of the largest size on a slow CPU. */
const ROUND_MS = 3_600_000;
const HASH_BYTES = 32;

/** Whatever fails is told, and tried again at the next look. */
export function startDemandWatch(options: DemandWatchOptions): { stop(): Promise<void> } {
	const { chain, onEvent, after, everyMs = EVERY_MS } = options;
	const trouble = (error: unknown) => onEvent({ kind: "trouble", ...errorToEvent(error, "ROLL_CALL_FAILED") });
	const watching = repeat({ everyMs, after, onError: trouble }, async () => {
		for (const demand of await chain.demands()) {
			try {
				await answerDemand(options, demand);
				onEvent({ kind: "demanded", call: demand.call, device: demand.device });
			} catch (error) {
				trouble(error);
			}
		}
	});
	return { stop: () => watching.stop() };
}

async function answerDemand(options: DemandWatchOptions, demand: DemandedOpening): Promise<void> {
	const { key, chain, book, lender, claim } = options;
	const { call, beta0, device, end, round, leaf: index } = demand;
	const failed = (why: string) =>
		new AssayError("ROLL_CALL_FAILED", `an opening of roll call ${call} is demanded: ${why}`);
	const kept = await book.find({ chainId: chain.chainId, contract: chain.contract, call }, beta0);
	const at = kept?.answers.findIndex((one) => one.device === device && one.end === end) ?? -1;
	if (kept === null || at < 0) throw failed("this host has no note of such an answer");
	const answer = kept.answers[at]!;
	const joined = hexToBytes(kept.roots[at]!, HASH_BYTES * answer.rounds)!;
	const roots = Array.from({ length: answer.rounds }, (_, i) => joined.subarray(HASH_BYTES * i, HASH_BYTES * (i + 1)));
	const first = rollSeed(hexToBytes(beta0, HASH_BYTES)!, { key, account: kept.account }, answer);
	const seed = roots.slice(0, round).reduce(nextSeed, first);
	const cpu = claim().devices.findIndex(({ kind }) => kind === "cpu");
	if (cpu < 0) throw failed("this host's engine shows no CPU");
	const [{ precision, m, n, k }] = rollChallenges(answer);
	const opening = await lender.work(
		async (client) => {
			const within = { deadlineMs: ROUND_MS };
			const product = { session: 1, device: cpu, precision, m, n, k, rounds: 1, keep: 1, seed };
			const [made] = (await client.gemm(product, within)).roots;
			if (made === undefined || !equalBytes(made.root, roots[round]!))
				throw failed("its round does not come out again");
			const places = [{ round: 0, index }];
			const [opened] = (await client.open({ session: 1, what: "leaves", places }, within)).openings;
			if (opened === undefined) throw failed("its engine opens nothing");
			return opened;
		},
		{ evenIfRented: true },
	);
	const nodes = opening.path.length / HASH_BYTES;
	const path = Array.from({ length: nodes }, (_, i) => opening.path.subarray(HASH_BYTES * i, HASH_BYTES * (i + 1)));
	await demand.answer({ roots, leaf: opening.leaf, path });
}
