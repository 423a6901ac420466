// What a validator knows of the open epochs, as the rules want it: the chain's state and events beside what
// is held. Reads and remembers; sends and decides nothing. docs/epochs.md §4.
import { read } from "../../chain/contracts/contracts.ts";
import {
	type PostedWeights,
	readHead,
	readPosted,
	readReport,
	readStated,
	windowsOf,
} from "../../chain/contracts/scoreboard.ts";
import type { BoardEpoch } from "../../chain/history/board-log.ts";
import { readPostedSignatures } from "../../chain/history/posted-signatures.ts";
import type { EpochView, KnownStatement, ReportState, SettlementView } from "../../market/epochs/epoch-view.ts";
import { readScoreReport } from "../../market/epochs/score-report.ts";
import { isInSet, isQuorum, stakeOfSet } from "../../market/epochs/seat-set.ts";
import { openRewards } from "../../market/epochs/weights.ts";
import type { RewardLeaf, Seat, Weights } from "../../protocol/chain/epoch-shapes.ts";
import { type Hex, toHex } from "../../protocol/chain/hex.ts";
import type { SignedWeights } from "../../protocol/chain/statements-file.ts";
import { seatsHash } from "../../protocol/chain/weights-statement.ts";
import { announcement } from "./epoch-salts.ts";
import type { Game } from "./game-state.ts";
import { HeldEpoch, type HeldStatement } from "./held-epoch.ts";

const MAX_EPOCHS_BACK = 64;

export async function lookAt(game: Game, nowS: number): Promise<SettlementView> {
	const { params, contracts, settled } = game;
	const current = Math.floor((nowS - params.genesis) / params.epochSeconds);
	const openSeconds = params.commitSeconds + params.revealSeconds + params.signSeconds + params.challengeSeconds;
	const back = Math.min(MAX_EPOCHS_BACK, Math.ceil(openSeconds / params.epochSeconds) + 1);
	const first = Math.max(0, current - back);
	for (const epoch of game.held.keys()) if (epoch < first) forget(game, epoch);
	const open = Array.from({ length: Math.max(0, current - first) }, (_, i) => first + i).filter(
		(epoch) => !settled.has(epoch),
	);
	const epochs: EpochView[] = [];
	await newHead(game);
	if (open.length > 0) {
		game.self = await ownAccount(game);
		const boardOf = await now(game, `log/${open[0]}`, () => game.log.look(windowsOf(params, open[0]!).endsAt));
		for (const epoch of open) {
			const seen = await lookAtEpoch(game, epoch, boardOf(epoch), nowS);
			epochs.push(seen);
			if (isSettled(seen, nowS)) settled.add(epoch);
		}
	}
	const headEpoch = open.length === 0 ? null : await now(game, "head", () => readHead(contracts));
	const id = headEpoch === null ? null : ((await postedOf(game, headEpoch))?.id ?? null);
	const head = headEpoch === null || id === null ? null : { epoch: headEpoch, id };
	if (head !== null && !game.leaves.has(head.id)) await leavesOfHead(game, head);
	return {
		self: game.self,
		quorumPpm: params.quorumPpm,
		head,
		leaves: new Set(game.leaves.keys()),
		epochs,
		waits: game.waits,
	};
}

function forget(game: Game, epoch: number): void {
	game.held.delete(epoch);
	game.settled.delete(epoch);
	for (const [id, { weights }] of game.leaves)
		if (Number(weights.epoch) < epoch && id !== game.view.head?.id) game.leaves.delete(id);
	for (const key of game.known.keys()) if (key.endsWith(`/${epoch}`)) game.known.delete(key);
	for (const [key, untilS] of game.waits)
		if (untilS < game.lookedAtS - game.params.epochSeconds) game.waits.delete(key);
	for (const key of game.failures.keys()) if (!game.waits.has(key)) game.failures.delete(key);
}

/** Nothing can be posted, challenged or punished any more that we know of. */
function isSettled({ posted, windows, statements, punished, seats }: EpochView, nowS: number): boolean {
	if (nowS < windows.signsUntil || (posted !== null && nowS < posted.finalAt)) return false;
	return statements.every(
		({ verdict, signers }) =>
			verdict !== "provable" ||
			seats.every(({ validator }, seat) => !isInSet(signers, seat) || punished.has(validator)),
	);
}

/** What was read once and cannot change is not read again. */
async function once<T>(game: Game, key: string, isFixed: boolean, readIt: () => Promise<T>): Promise<T> {
	if (game.known.has(key)) return game.known.get(key) as T;
	const found = await readIt();
	if (isFixed) game.known.set(key, found);
	return found;
}

/** What was read in a block is not read again in the same one: turns come more often than blocks. */
async function now<T>(game: Game, key: string, readIt: () => Promise<T>): Promise<T> {
	if (!game.inBlock.has(key)) game.inBlock.set(key, await readIt());
	return game.inBlock.get(key) as T;
}

async function newHead(game: Game): Promise<void> {
	const { hash } = await game.contracts.client.viem.getBlock();
	if (game.inBlock.get("hash") !== hash) game.inBlock.clear();
	game.inBlock.set("hash", hash);
}

const postedOf = (game: Game, epoch: number): Promise<PostedWeights | null> =>
	now(game, `posted/${epoch}`, () => readPosted(game.contracts, epoch));

async function ownAccount({ contracts, account, known, self }: Game): Promise<Hex> {
	if (known.has("self")) return self;
	const found = (await read(contracts, "registry", "accountOfSigner", account.address)).toLowerCase() as Hex;
	if (BigInt(found) === 0n) return self;
	known.set("self", true);
	return found;
}

async function lookAtEpoch(game: Game, epoch: number, board: BoardEpoch, nowS: number): Promise<EpochView> {
	const { contracts, params, account } = game;
	const windows = windowsOf(params, epoch);
	const { seats } = board;
	const held = await heldOf(game, epoch);
	// By the last second of the epoch; the newest block may be older than that.
	const [, ownStake, totalStake] = await once(game, `stakes/${epoch}`, nowS >= windows.revealsAt, () =>
		now(game, `stakes/${epoch}`, () =>
			read(
				contracts,
				"registry",
				"seatOf",
				contracts.addresses.scoreboard,
				account.address,
				BigInt(windows.endsAt - 1),
			),
		),
	);
	const ownSeat = seats.findIndex(({ validator }) => validator === game.self);
	const isEarly = nowS < windows.signsAt && ownSeat === -1 && ownStake > 0n;
	const own = isEarly
		? await now(game, `own/${epoch}`, () => readReport(contracts, epoch, account.address))
		: { digest: "0x0", revealed: false };
	const posted = nowS < windows.signsAt ? null : await postedOf(game, epoch);
	const areSeatsFirm = nowS >= windows.signsAt && (await areFirm(game, epoch, seats, windows.signsAt));
	const reports = await Promise.all(seats.map((seat) => stateOf(game, held, seat)));
	if (areSeatsFirm) {
		await recallStatements(game, held, seats);
		for (const [, one] of board.posted) await learnPosted(game, held, seats, one);
	}
	// What stands is what we computed: nothing needs the reports, unless somebody shows something else.
	const isRight = posted !== null && held.statements.get(posted.id)?.verdict === "right";
	if (isRight && [...held.statements.values()].every(({ verdict }) => verdict !== "unknown")) held.reports.clear();
	const statements: KnownStatement[] = [];
	for (const one of held.statements.values())
		statements.push(await knownOf(game, held, one, { board, seats, totalStake, nowS }));
	return {
		epoch,
		windows,
		totalStake,
		ownStake,
		own: {
			hasDraft: held.hasDraft,
			isCommitted: BigInt(own.digest) !== 0n || ownSeat !== -1,
			isRevealed: own.revealed || ownSeat !== -1,
			// Not before the events show it too.
			isPublished: held.isPublished || ownSeat === -1,
		},
		seats,
		areSeatsFirm,
		reports,
		statements,
		posted: standing(posted, board),
		punished: board.punished,
	};
}

/**
 * The state may be a block ahead of the events; what is not known as a statement yet is looked at next time.
 */
const standing = (posted: PostedWeights | null, { posted: known }: BoardEpoch): EpochView["posted"] =>
	posted === null || !known.has(posted.id) ? null : { id: posted.id, finalAt: posted.finalAt };

async function heldOf(game: Game, epoch: number): Promise<HeldEpoch> {
	const known = game.held.get(epoch);
	if (known !== undefined) return known;
	const held = new HeldEpoch(epoch, game.contracts.addresses);
	held.hasDraft = (await game.archive.draft(epoch, game.self)) !== null;
	game.held.set(epoch, held);
	return held;
}

/**
 * ATTACK: a set names seats by their number. Who signs one before the reveals are deep enough, or from a node
 * that leaves an event out, signs for other reports than it computed with, and loses its stake.
 */
async function areFirm(game: Game, epoch: number, seats: readonly Seat[], signsAt: number): Promise<boolean> {
	const { client } = game.contracts;
	const key = `firm/${epoch}`;
	const hash = seatsHash(seats);
	if (game.known.get(key) === hash) return true;
	if (client.confirmations > 1) {
		const head = Number(await client.viem.getBlockNumber());
		const deep = Math.max(0, head - client.confirmations + 1);
		const { timestamp } = await client.viem.getBlock({ blockNumber: BigInt(deep) });
		if (Number(timestamp) < signsAt) return false;
	}
	if ((await read(game.contracts, "scoreboard", "seatsOf", BigInt(epoch))) !== hash) return false;
	game.known.set(key, hash);
	return true;
}

/** From memory, or from disk once. */
async function stateOf(game: Game, held: HeldEpoch, { validator, root }: Seat): Promise<ReportState> {
	await once(game, `disk/${root}/${held.epoch}`, true, async () => {
		const leaves = await game.archive.report(held.epoch, validator);
		const report = leaves === null ? null : readScoreReport(leaves);
		if (report?.reportRoot !== root) return;
		held.hold(report);
		if (validator === game.self) held.isPublished = true;
	});
	return held.states.get(root) ?? "absent";
}

/** What this or an earlier process knew to be signed. */
async function recallStatements(game: Game, held: HeldEpoch, seats: readonly Seat[]): Promise<void> {
	await once(game, `recalled/${held.epoch}`, true, async () => {
		for (const one of (await game.archive.statements(held.epoch)) ?? []) learnOwn(held, one, seats);
	});
}

/** From the chain or our own disk: what is spoilt there is left out. */
function learnOwn(held: HeldEpoch, one: SignedWeights, seats: readonly Seat[]): void {
	try {
		held.learn(one, seats, null);
	} catch (error) {
		if (!(error instanceof RangeError)) throw error;
	}
}

/** What was posted, with the signatures that its transaction shows. */
async function learnPosted(
	game: Game,
	held: HeldEpoch,
	seats: readonly Seat[],
	{ weights, signers, transaction }: { readonly weights: Weights; readonly signers: bigint; readonly transaction: Hex },
): Promise<void> {
	held.statement(weights);
	await once(game, `posted/${transaction}/${held.epoch}`, true, async () => {
		const signatures = await readPostedSignatures(game.contracts, { hash: transaction, signers, seats });
		// Sent by way of another contract: whoever signed gives its signatures out, or is not found.
		if (signatures !== null) learnOwn(held, { weights, signatures }, seats);
	});
}

async function knownOf(
	game: Game,
	held: HeldEpoch,
	one: HeldStatement,
	{
		board,
		seats,
		totalStake,
		nowS,
	}: {
		readonly board: BoardEpoch;
		readonly seats: readonly Seat[];
		readonly totalStake: bigint;
		readonly nowS: number;
	},
): Promise<KnownStatement> {
	const { id, weights, verdict, judgedWith } = one;
	// There are none to fetch.
	if (weights.count === 0) game.leaves.set(id, { weights, leaves: [] });
	const signers = held.signersOf(one);
	const isProven = board.proven.has(id);
	const isReady =
		isProven ||
		verdict === "provable" ||
		(verdict === "right" && isQuorum(stakeOfSet(signers, seats), totalStake, game.params.quorumPpm));
	if (isReady) one.sinceS ??= nowS;
	if (verdict === "provable" && !isProven && !one.isAnnounced)
		one.isAnnounced = await now(game, `announced/${id}`, async () => {
			const { hash } = announcement(game, id);
			return (await read(game.contracts, "scoreboard", "announcedAt", hash)) !== 0n;
		});
	return {
		...{ id, weights, signers, verdict, judgedWith, isProven },
		sinceS: isReady ? one.sinceS : null,
		sources: [...one.sources],
		isAnnounced: one.isAnnounced,
	};
}

/** From disk, for what an earlier process computed or fetched. Once. */
async function leavesOfHead(game: Game, { epoch, id }: { readonly epoch: number; readonly id: Hex }): Promise<void> {
	await once(game, `head/${id}/${epoch}`, true, async () => {
		const leaves = await game.archive.rewards(epoch, id);
		const weights = leaves === null ? null : await weightsOf(game, epoch, id);
		if (leaves !== null && weights !== null) holdLeaves(game, id, weights, leaves);
	});
}

/** The weights behind an id: known, or posted. */
export async function weightsOf(game: Game, epoch: number, id: Hex): Promise<Weights | null> {
	const known = game.held.get(epoch)?.statements.get(id)?.weights;
	return known ?? (await readStated(game.contracts, epoch, id))?.weights ?? null;
}

/** False: they are not what the root commits to. */
export function holdLeaves(game: Game, id: Hex, weights: Weights, leaves: readonly RewardLeaf[]): boolean {
	try {
		if (leaves.length !== weights.count || toHex(openRewards(leaves).root) !== weights.root) return false;
	} catch {
		return false; // a field that cannot be a leaf's
	}
	game.leaves.set(id, { weights, leaves });
	return true;
}
