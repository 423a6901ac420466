// The answers that a provider has given to roll calls, on disk for as long as an opening of them can be
// demanded on chain: sizes and roots are enough, for the rest is computed again. One small file a call; a
// spoilt one is passed over, for it proves nothing against anybody else.
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder, removeDrafts, writeDurably } from "../../platform/durable-file.ts";
import type { RollAnswer, RollCallId } from "../../protocol/roll-call/roll-call.ts";

interface KeptCall extends RollCallId {
	/** Hex. */
	readonly beta0: string;
	readonly account: string;
	readonly answers: readonly RollAnswer[];
	/** Of each answer: the roots of its rounds, joined, hex. */
	readonly roots: readonly string[];
	readonly atMs: number;
}

export interface CallBook {
	keep(call: KeptCall): Promise<void>;
	/** Null: not known, or no longer. */
	find(call: RollCallId, beta0: string): Promise<KeptCall | null>;
}

const DAY_MS = 86_400_000;
/** Demands end some hours after a commitment (contracts/src/rollcall); a day more does no harm. */
const KEEP_MS = 3 * DAY_MS;

export function openCallBook(folder: string, nowMs: () => number): CallBook {
	let isReady: Promise<void> | null = null;
	let prunedAtMs = Number.NEGATIVE_INFINITY;
	const ready = () => (isReady ??= makeFolder(folder).then(() => removeDrafts(folder)));
	const fileOf = ({ chainId, contract, call }: RollCallId, beta0: string) =>
		join(folder, `${chainId}-${contract.slice(2)}-${call}-${beta0}.json`);

	async function prune(): Promise<void> {
		if (nowMs() - prunedAtMs < DAY_MS / 24) return;
		prunedAtMs = nowMs();
		for (const name of await readdir(folder)) {
			const kept = await readCall(join(folder, name));
			if (kept !== null && nowMs() - kept.atMs > KEEP_MS) await rm(join(folder, name), { force: true });
		}
	}

	return {
		async keep(call) {
			await ready();
			await writeDurably(fileOf(call, call.beta0), `${JSON.stringify(call)}\n`);
			await prune();
		},
		find: (call, beta0) => readCall(fileOf(call, beta0)),
	};
}

async function readCall(path: string): Promise<KeptCall | null> {
	try {
		return JSON.parse(await readFile(path, "utf8")) as KeptCall;
	} catch {
		return null;
	}
}
