// Asking peers for what they hold. Each is asked one thing at a time and all of them at once; bytes are
// bounded by what the chain says can be in a file, time by the window. Who fails, or sends something that the
// chain does not bear out, is left alone for a while that doubles; whoever has merely not got something yet,
// for that.
import { askKey } from "../../market/epochs/epoch-view.ts";
import { type Move, waitSeconds } from "../../market/epochs/next-moves.ts";
import { readScoreReport } from "../../market/epochs/score-report.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { holdLeaves, weightsOf } from "./epoch-look.ts";
import type { Game } from "./game-state.ts";
import type { LocalAct } from "./player.ts";

type Asking = Extract<Move, { readonly kind: "fetch-report" | "fetch-statements" | "fetch-leaves" }>;

const LEAST_ROWS = 4096;
const HEAD_BYTES = 4096;
/** Of one row in its file: 128 for a score, up to 260 for a reward. */
const SCORE_BYTES = 160;
const REWARD_BYTES = 300;
const LEAST_WITHIN_MS = 5000;
const MOST_WITHIN_MS = 20_000;
const MOST_POLL_S = 10;

export function askAct(game: Game, move: Asking): LocalAct {
	const { from, epoch } = move;
	const lane = `ask/${from}`;
	if (move.kind === "fetch-report") {
		const { seat } = move;
		const key = askKey.report(from, epoch, seat);
		return {
			kind: "local",
			id: key,
			lane,
			run: (signal) => ask(game, from, key, signal, () => fetchReport(game, move, signal)),
		};
	}
	if (move.kind === "fetch-leaves") {
		const key = askKey.leaves(from, move.id);
		return {
			kind: "local",
			id: key,
			lane,
			run: (signal) => ask(game, from, key, signal, () => fetchLeaves(game, move, signal)),
		};
	}
	const key = askKey.statements(from, epoch);
	return {
		kind: "local",
		id: key,
		lane,
		run: (signal) => ask(game, from, key, signal, () => fetchStatements(game, move, key, signal)),
	};
}

/** `fetchIt`: false when the peer has none. */
async function ask(
	game: Game,
	from: Hex,
	key: string,
	signal: AbortSignal,
	fetchIt: () => Promise<boolean>,
): Promise<void> {
	const { signSeconds } = game.params;
	const wait = (who: string, mostS: number) => {
		const failures = (game.failures.get(who) ?? 0) + 1;
		game.failures.set(who, failures);
		game.waits.set(who, game.lookedAtS + waitSeconds(failures, mostS));
	};
	try {
		const isThere = await fetchIt();
		game.failures.delete(askKey.peer(from));
		if (isThere) game.failures.delete(key);
		else wait(key, signSeconds / 128);
	} catch (error) {
		if (signal.aborted) return;
		// For this even longer: an answer to something else must not make good for it.
		wait(key, signSeconds / 8);
		wait(askKey.peer(from), signSeconds / 8);
		game.onError(key, error);
	}
}

const withinMs = ({ params }: Game): number =>
	Math.min(MOST_WITHIN_MS, Math.max(LEAST_WITHIN_MS, (params.signSeconds * 1000) / 16));

/**
 * ATTACK: a well-formed report of 30 MiB costs everyone seconds. An honest one lists providers of the chain,
 * each once. What another has signed for may be twice as long: no size lies between what some take and others
 * do not.
 */
const mostRows = ({ providers }: Game, isNamed: boolean): number =>
	Math.max(LEAST_ROWS, 2 * providers()) * (isNamed ? 2 : 1);

async function fetchReport(
	game: Game,
	{ epoch, seat, from, isNamed }: Asking & { readonly kind: "fetch-report" },
	signal: AbortSignal,
): Promise<boolean> {
	const of = game.view.epochs.find((one) => one.epoch === epoch)?.seats[seat];
	const held = game.held.get(epoch);
	if (of === undefined || held === undefined || held.states.has(of.root)) return true;
	const mostBytes = HEAD_BYTES + SCORE_BYTES * mostRows(game, isNamed);
	const leaves = await game.fetched.report(epoch, of.validator, { from, mostBytes, withinMs: withinMs(game), signal });
	if (leaves === null) return false;
	const report = readScoreReport(leaves);
	if (report.reportRoot !== of.root) throw new Error(`not the report that ${of.validator} revealed`);
	if (held.states.has(of.root)) return true;
	// Others ask us for it too.
	await game.archive.putReport(epoch, of.validator, leaves);
	held.hold(report);
	return true;
}

async function fetchLeaves(
	game: Game,
	{ epoch, id, from }: Asking & { readonly kind: "fetch-leaves" },
	signal: AbortSignal,
): Promise<boolean> {
	const weights = await weightsOf(game, epoch, id);
	if (weights === null || game.leaves.has(id)) return true;
	const rows = Math.min(weights.count, 2 * mostRows(game, true) + (game.leaves.get(weights.base)?.leaves.length ?? 0));
	// Those that stand have a quorum behind their count.
	const most = game.view.head?.id === id ? weights.count : rows;
	const mostBytes = HEAD_BYTES + REWARD_BYTES * most;
	const leaves = await game.fetched.rewards(epoch, id, { from, mostBytes, withinMs: withinMs(game), signal });
	if (leaves === null) return false;
	if (!holdLeaves(game, id, weights, leaves)) throw new Error("not the leaves of these weights");
	await game.archive.putRewards(epoch, id, leaves);
	return true;
}

async function fetchStatements(
	game: Game,
	{ epoch, from }: Asking & { readonly kind: "fetch-statements" },
	key: string,
	signal: AbortSignal,
): Promise<boolean> {
	const open = game.view.epochs.find((one) => one.epoch === epoch);
	const held = game.held.get(epoch);
	if (open === undefined || held === undefined) return true;
	// None is no failure: it signs later.
	const found = (await game.fetched.statements(epoch, { from, withinMs: withinMs(game), signal })) ?? [];
	let isNew = false;
	try {
		for (const one of found) isNew = held.learn(one, open.seats, from) || isNew;
	} finally {
		const ownSeat = open.seats.findIndex(({ validator }) => validator === game.self);
		if (isNew) await game.archive.putStatements(epoch, held.toFile(open.seats, ownSeat, open.posted?.id ?? null));
	}
	const everyS = Math.min(MOST_POLL_S, Math.max(1, game.params.signSeconds / 256));
	game.waits.set(key, game.lookedAtS + (open.posted === null ? everyS : 6 * everyS));
	return true;
}
