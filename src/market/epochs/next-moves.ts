// What a validator does next for the epochs that are open. Every rule of the game is here and nowhere else:
// when to commit and reveal, whom to ask for what, which set of reports to sign, when to post, whom to
// challenge. Pure: a view and the chain's clock in, moves out; the same view gives the same moves. Who
// carries them out is validator/settlement. docs/epochs.md §4.
import { NO_BASE, type Seat } from "../../protocol/chain/epoch-shapes.ts";
import { fromHex, type Hex, packed, toHex } from "../../protocol/chain/hex.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import { askKey, type EpochView, type KnownStatement, type SettlementView } from "./epoch-view.ts";
import { bitOf, isQuorum, stakeOfSet } from "./seat-set.ts";

export type Move =
	| { readonly kind: "draft" | "commit" | "reveal" | "publish"; readonly epoch: number }
	/** `isNamed`: a peer has signed for it, so it may be larger than we would take from its author alone. */
	| {
			readonly kind: "fetch-report";
			readonly epoch: number;
			readonly seat: number;
			readonly from: Hex;
			readonly isNamed: boolean;
	  }
	| { readonly kind: "fetch-statements"; readonly epoch: number; readonly from: Hex }
	| { readonly kind: "fetch-leaves"; readonly epoch: number; readonly id: Hex; readonly from: Hex }
	/** Compute what these reports make, and compare. */
	| { readonly kind: "judge"; readonly epoch: number; readonly id: Hex }
	/** Compute the weights of this set and sign them. */
	| { readonly kind: "sign"; readonly epoch: number; readonly base: Hex; readonly set: bigint }
	| { readonly kind: "post" | "announce" | "challenge"; readonly epoch: number; readonly id: Hex }
	/** `seats`: whose signatures to hand in. */
	| { readonly kind: "punish"; readonly epoch: number; readonly id: Hex; readonly seats: bigint };

/** A seat needs this part of all stake. */
const SEATS = 64n;
/** Who waits for reports that do not come signs what it holds at this part of the window. */
const PATIENCE = 4;
/** Whom one file is asked of at a time. */
const ASKED_AT_ONCE = 2;
/** One validator after the other sends what all could: seconds between two, at most. */
const MOST_TURN_S = 30;

export function nextMoves(view: SettlementView, nowS: number): readonly Move[] {
	return view.epochs.flatMap((epoch) =>
		nowS < epoch.windows.endsAt
			? []
			: [
					...reportMoves(epoch, nowS),
					...askMoves(view, epoch, nowS),
					...judgeMoves(view, epoch),
					...signMoves(view, epoch, nowS),
					...postMoves(view, epoch, nowS),
					...accuseMoves(view, epoch, nowS),
				],
	);
}

/** Our own report: drafted, committed to, revealed, given out; in this order, each in its window. */
function reportMoves({ epoch, windows, own, ownStake, totalStake }: EpochView, nowS: number): Move[] {
	if (own.isRevealed) return own.isPublished ? [] : [{ kind: "publish", epoch }];
	// Without a seat nobody reads it.
	if (ownStake === 0n || ownStake * SEATS < totalStake || nowS >= windows.signsAt) return [];
	if (nowS >= windows.revealsAt) return own.isCommitted && own.hasDraft ? [{ kind: "reveal", epoch }] : [];
	if (own.isCommitted) return [];
	return [{ kind: own.hasDraft ? "commit" : "draft", epoch }];
}

/** What we lack and who may have it. A peer that failed waits; nobody waits for it. */
function askMoves(view: SettlementView, open: EpochView, nowS: number): Move[] {
	const { epoch, seats, reports, statements, windows, posted } = open;
	const peers = [...new Set(seats.map(({ validator }) => validator))].filter((peer) => peer !== view.self);
	const mayAsk = (from: Hex, key: string) =>
		(view.waits.get(askKey.peer(from)) ?? 0) <= nowS && (view.waits.get(key) ?? 0) <= nowS;
	const isOver = posted === null ? nowS >= windows.signsUntil : nowS >= posted.finalAt;
	if (isOver) return [];
	const moves: Move[] = [];
	// First what the others signed: of one peer one thing is asked at a time, and nothing may starve it.
	if (open.areSeatsFirm)
		for (const from of peers)
			if (mayAsk(from, askKey.statements(from, epoch))) moves.push({ kind: "fetch-statements", epoch, from });
	const lacking = statements.filter(
		({ id, verdict }) => !view.leaves.has(id) && (verdict === "wrong" || id === posted?.id),
	);
	for (const one of lacking) moves.push(...askLeaves(epoch, one.id, [...holdersOf(open, one), ...peers], mayAsk));
	const { head } = view;
	// What the next weights continue, when it is older than all that is open.
	if (head !== null && !view.leaves.has(head.id) && !lacking.some(({ id }) => id === head.id))
		moves.push(...askLeaves(head.epoch, head.id, peers, mayAsk));
	for (const [seat, { validator: author }] of seats.entries()) {
		if (reports[seat] !== "absent" || author === view.self) continue;
		const named = statements.filter(({ weights }) => weights.set & bitOf(seat));
		// Who signed for it holds it, if it is honest; others may have got it before us.
		const holders = new Set([author, ...named.flatMap((one) => holdersOf(open, one)), ...peers]);
		holders.delete(view.self);
		moves.push(
			...[...holders]
				.filter((from) => mayAsk(from, askKey.report(from, epoch, seat)))
				.slice(0, ASKED_AT_ONCE)
				.map((from): Move => ({ kind: "fetch-report", epoch, seat, from, isNamed: named.length > 0 })),
		);
	}
	return moves;
}

const askLeaves = (epoch: number, id: Hex, from: readonly Hex[], mayAsk: (from: Hex, key: string) => boolean): Move[] =>
	[...new Set(from)]
		.filter((one) => mayAsk(one, askKey.leaves(one, id)))
		.slice(0, ASKED_AT_ONCE)
		.map((one) => ({ kind: "fetch-leaves", epoch, id, from: one }));

/** Who should have what a statement stands on: who signed it, who showed it. */
const holdersOf = ({ seats }: EpochView, { signers, sources }: KnownStatement): Hex[] => [
	...seats.flatMap(({ validator }, seat) => (signers & bitOf(seat) ? [validator] : [])),
	...sources,
];

/**
 * Every statement that was signed is computed again, as soon as its reports are here, and when more of them
 * are.
 */
function judgeMoves(
	{ leaves }: SettlementView,
	{ epoch, seats, reports, statements, areSeatsFirm, posted }: EpochView,
): Move[] {
	if (!areSeatsFirm) return [];
	const held = whose(seats, reports, "held");
	const known = held | whose(seats, reports, "malformed");
	return statements.flatMap(({ id, weights, verdict, judgedWith }): Move[] => {
		const { set, base } = weights;
		const here = set & known;
		if (verdict === "right" || verdict === "provable") return [];
		const hasBase = base === NO_BASE || leaves.has(base);
		const isNew = judgedWith === null || judgedWith.set !== here || judgedWith.hadLeaves !== leaves.has(id);
		// Posted ones are looked at with whatever is here: half of the stake may do.
		const isReady = here === set || set >> BigInt(seats.length) !== 0n || (id === posted?.id && leaves.has(id));
		return hasBase && isNew && isReady ? [{ kind: "judge", epoch, id }] : [];
	});
}

const whose = (seats: readonly Seat[], reports: EpochView["reports"], state: "held" | "malformed"): bigint =>
	seats.reduce((set, _, seat) => (reports[seat] === state ? set | bitOf(seat) : set), 0n);

/**
 * Which set to sign. All reports, as soon as they are here; at a quarter of the window those that are. From
 * then on a set only grows, by what a peer has signed for and we hold: so all honest ones come to one set,
 * and nobody's late report is added that no signature asks for.
 */
function signedSet(view: SettlementView, open: EpochView, nowS: number): bigint | null {
	const { seats, reports, windows, statements } = open;
	const ownSeat = seats.findIndex(({ validator }) => validator === view.self);
	if (!open.areSeatsFirm || ownSeat === -1 || nowS < windows.signsAt || nowS >= windows.signsUntil) return null;
	const held = whose(seats, reports, "held");
	const own = statements.reduce((set, one) => (one.signers & bitOf(ownSeat) ? set | one.weights.set : set), 0n);
	if (own === 0n) {
		const isWhole = reports.every((state) => state !== "absent");
		const isLate = nowS >= windows.signsAt + (windows.signsUntil - windows.signsAt) / PATIENCE;
		return isWhole || isLate ? held : null;
	}
	// All of what one peer signed for, or nothing of it: a report that cannot be had must not split the others.
	return statements.reduce(
		(set, { weights, signers }) => (signers !== 0n && (weights.set & ~held) === 0n ? set | weights.set : set),
		own,
	);
}

function signMoves(view: SettlementView, open: EpochView, nowS: number): Move[] {
	const { epoch, seats, statements, posted, totalStake } = open;
	const base = baseOf(view, epoch);
	if (posted !== null || base === null) return [];
	const set = signedSet(view, open, nowS);
	if (set === null || !isQuorum(stakeOfSet(set, seats), totalStake, view.quorumPpm)) return [];
	const ownSeat = seats.findIndex(({ validator }) => validator === view.self);
	const isSigned = statements.some(
		({ weights, signers }) => weights.set === set && weights.base === base && (signers & bitOf(ownSeat)) !== 0n,
	);
	return isSigned ? [] : [{ kind: "sign", epoch, base, set }];
}

/** What weights of this epoch continue. Null: nothing may, or we hold it for wrong, or lack its leaves. */
function baseOf({ head, leaves, epochs }: SettlementView, epoch: number): Hex | null {
	if (head === null) return NO_BASE;
	if (head.epoch >= epoch || !leaves.has(head.id)) return null;
	const judged = epochs.find((one) => one.epoch === head.epoch)?.statements.find(({ id }) => id === head.id);
	return judged?.verdict === "wrong" || judged?.verdict === "provable" ? null : head.id;
}

/** Seconds after which the next one in turn acts, if those before it did not. */
export const turnSeconds = ({ signsAt, signsUntil }: EpochView["windows"]): number =>
	Math.max(1, Math.min(MOST_TURN_S, Math.floor((signsUntil - signsAt) / 128)));

/** Places of an epoch's seats in the order in which they act: by hash, so that nobody is always first. */
export function rankOf({ epoch, seats }: Pick<EpochView, "epoch" | "seats">, account: Hex): number {
	const order = (of: Hex) => toHex(keccak(packed(epoch, 8), fromHex(of, 20)));
	const own = order(account);
	return seats.filter(({ validator }) => order(validator) < own).length;
}

/** `acts`: transactions, one after the other, that each has time for. */
function isTurn(view: SettlementView, open: EpochView, { sinceS }: KnownStatement, nowS: number, acts = 1): boolean {
	if (sinceS === null) return false;
	const eachS = acts * turnSeconds(open.windows);
	return nowS >= sinceS + open.seats.length * eachS || nowS >= sinceS + rankOf(open, view.self) * eachS;
}

/** The largest set that a quorum has signed and that we computed too. */
function postMoves(view: SettlementView, open: EpochView, nowS: number): Move[] {
	const { epoch, seats, statements, posted, totalStake, windows } = open;
	const base = view.head?.id ?? NO_BASE;
	if (posted !== null || nowS < windows.signsAt || nowS >= windows.signsUntil) return [];
	if (view.head !== null && view.head.epoch >= epoch) return [];
	const [best] = statements
		.filter((one) => one.verdict === "right" && one.weights.base === base)
		.filter(({ signers }) => isQuorum(stakeOfSet(signers, seats), totalStake, view.quorumPpm))
		.sort((a, b) => compare(stakeOfSet(b.weights.set, seats), stakeOfSet(a.weights.set, seats)));
	return best !== undefined && isTurn(view, open, best, nowS) ? [{ kind: "post", epoch, id: best.id }] : [];
}

const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * Wrong weights: announced first, so that nobody copies the proof; then proven; then their signers pay. A
 * liar that signs a thousand of them is worth one proof: an account is punished once an epoch.
 */
function accuseMoves(view: SettlementView, open: EpochView, nowS: number): Move[] {
	const { epoch, seats, statements, posted, punished } = open;
	let covered = seats.reduce((set, { validator }, seat) => (punished.has(validator) ? set | bitOf(seat) : set), 0n);
	const moves: Move[] = [];
	for (const one of statements.filter(({ isProven }) => isProven)) {
		const left = one.signers & ~covered;
		if (left !== 0n && isTurn(view, open, { ...one, sinceS: one.sinceS ?? 0 }, nowS))
			moves.push({ kind: "punish", epoch, id: one.id, seats: left });
		covered |= one.signers;
	}
	for (const one of statements) {
		const isStanding = posted?.id === one.id && nowS < posted.finalAt;
		if (one.verdict !== "provable" || one.isProven || !(isStanding || one.signers & ~covered)) continue;
		covered |= one.signers;
		const turnS = turnSeconds(open.windows);
		// Late: that it is dropped counts more than who gets the accuser's part.
		const isUrgent = isStanding && nowS >= posted.finalAt - 8 * turnS;
		if (isUrgent || one.isAnnounced) moves.push({ kind: "challenge", epoch, id: one.id });
		else if (isTurn(view, open, one, nowS, 2)) moves.push({ kind: "announce", epoch, id: one.id });
	}
	return moves;
}

/** How long whoever failed so often in a row is left alone: it doubles, up to a bound. */
export const waitSeconds = (failures: number, mostS: number): number =>
	Math.min(2 ** Math.min(failures, 20), Math.max(2, mostS));
