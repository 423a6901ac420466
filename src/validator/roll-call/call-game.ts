// What a validator knows of the roll call that is under way, and how the rules see it
// (market/roll-call/next-call-moves.ts). From the commitment on all of it is in the store and on chain, so
// that a process that comes later takes the call up again.
import type { CallView, OpeningHost } from "../../market/roll-call/next-call-moves.ts";
import { openingTurn } from "../../market/roll-call/opening-turns.ts";
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { type RollCallId, type RollRequired, rollLeaf } from "../../protocol/roll-call/roll-call.ts";
import type { StatedBlock } from "../../protocol/roll-call/roll-file.ts";
import type { RollAnswerRow, RollCallHost, RollCallRow } from "../../store/roll-calls.ts";
import type { ChainFacts } from "../../verify/roll-call/chain-facts.ts";
import type { Called, Drawn } from "./block-beacon.ts";
import type { HeardHosts } from "./call-hosts.ts";
import { type CommittedTree, committedTree, type TreeEntry } from "./committed-tree.ts";

/** What is asked of one host, or why nothing is. */
export interface Expected {
	readonly host: RollCallHost;
	readonly required: readonly RollRequired[];
	readonly isExcused: boolean;
	readonly isUncalled: boolean;
}

/** The places, and what a stranger would be told by a node; the same for all files of a call. */
export interface DrawnPlaces extends Drawn {
	readonly atMs: number;
	readonly facts: ChainFacts;
}

/** A host of the tree that is not opened yet. */
export interface LeftHost extends OpeningHost {
	readonly entry: TreeEntry;
	/** Files by validator, as it lists them. */
	readonly listedBy: Map<string, RollAnswerRow["files"]>;
}

export interface CallGame extends RollCallId {
	readonly called: Called;
	readonly deadlineMs: number;
	readonly calledAtMs: number;
	/** No commitment lies before it. */
	readonly fromBlock: number;
	/** Of a call that was taken up again: none, they are in `rows`. */
	readonly expected: readonly Expected[];
	/** By provider, in ppm. */
	readonly paid: Promise<ReadonlyMap<string, number>>;
	heard: HeardHosts | null;
	/** What came of every host, by now. */
	readonly rows: Map<string, RollAnswerRow>;
	tree: CommittedTree | null;
	isSent: boolean;
	committed: StatedBlock | null;
	drawn: DrawnPlaces | null;
	left: Map<string, LeftHost>;
	readonly waits: Map<string, number>;
	/** The error, and its sentence for the rules. */
	fault: unknown;
	isOver: boolean;
}

/** Clocks run apart; a commitment that is late after all is found so at the draw. */
const COMMIT_SLACK_MS = 10_000;
/** Beyond the window, until what the places are drawn from must have come. */
const DRAW_PATIENCE_MS = 600_000;
/** For all openings together: ten thousand devices took two minutes (bench/roll-call.ts). */
const OPEN_PATIENCE_MS = 900_000;

export function viewOf(
	game: CallGame,
	{ windowMs, ...now }: Pick<CallView, "nowMs" | "most" | "isReachable"> & { readonly windowMs: number },
): CallView {
	const { called, fault, drawn } = game;
	return {
		...{ ...now, left: game.left.values(), waits: game.waits },
		...{ isHeard: game.tree !== null, isCommitted: game.committed !== null, drawnAtMs: drawn?.atMs ?? null },
		commitByMs: 1000 * called.atS + windowMs + COMMIT_SLACK_MS,
		drawByMs: 1000 * called.atS + windowMs + DRAW_PATIENCE_MS,
		openByMs: (drawn?.atMs ?? now.nowMs) + OPEN_PATIENCE_MS,
		fault: fault === null ? null : fault instanceof Error ? fault.message : "failed",
	};
}

export type NewCall = Pick<CallGame, "called" | "deadlineMs" | "calledAtMs" | "fromBlock" | "expected" | "paid">;

export const gameOf = (id: RollCallId, given: NewCall): CallGame => ({
	...id,
	...given,
	...{ heard: null, rows: new Map(), tree: null, isSent: false, committed: null, drawn: null },
	...{ left: new Map(), waits: new Map(), fault: null, isOver: false },
});

/** Who opens whom when. `validators`: those that committed to this call. */
export function leftHosts(game: CallGame, self: string, validators: readonly string[]): Map<string, LeftHost> {
	const beta2 = hexToBytes(game.drawn!.block.hash, 32)!;
	const entries = game.tree!.entries.filter(({ providerId }) => game.rows.get(providerId)?.state === "opening");
	return new Map(
		entries.map((entry) => {
			const { providerId } = entry;
			const turn = openingTurn({ key: providerId, beta2, deadlineMs: game.deadlineMs }, self, validators);
			return [providerId, { ...turn, id: providerId, entry, listedBy: new Map() }];
		}),
	);
}

/**
 * Of a call by drand only the block of its commitment is known; those of the others lie within the window
 * before it.
 */
const BLOCKS_BACK = 512;

/** A call that another process has committed to. Null: its rows are not those of its tree. */
export function resumedGame(
	row: RollCallRow,
	rows: readonly RollAnswerRow[],
	{ paid, isDrand }: Pick<CallGame, "paid"> & { readonly isDrand: boolean },
): CallGame | null {
	const { chainId, contract, call, beta0, b0AtS, b1, b1AtS, deadlineMs, calledAtMs } = row;
	const judged = rows.flatMap(({ providerId, leaf, reply }) => {
		if (leaf === null || reply === null) return [];
		const host = { key: providerId, account: reply.account };
		return [{ providerId, host, reply, leaves: reply.answers.map((one) => rollLeaf(host, one)) }];
	});
	const tree = committedTree(judged);
	if (b1 === null || b1AtS === null || bytesToHex(tree.tree.root) !== row.root) return null;
	const block = { number: call, hash: beta0, atS: b0AtS };
	const called = { call, beta0: hexToBytes(beta0, 32)!, atS: b0AtS, seenAtUs: 0, block };
	const fromBlock = isDrand ? Math.max(0, b1 - BLOCKS_BACK) : call;
	const game = gameOf({ chainId, contract, call }, { called, deadlineMs, calledAtMs, fromBlock, expected: [], paid });
	for (const one of rows) game.rows.set(one.providerId, one);
	// The block's hash is read again when the places are drawn.
	return { ...game, tree, isSent: true, committed: { number: b1, hash: "", atS: b1AtS } };
}
