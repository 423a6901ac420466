// Ten validators that play the game of an epoch in a world of plain data: no chain, no bytes, a clock of
// whole seconds. Honest ones do what `nextMoves` says; the others are silent, slow, show different things to
// different peers. What the rules promise is then looked at from outside.
import { NO_BASE, type Seat, type Weights } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { askKey, type EpochView, type KnownStatement } from "./epoch-view.ts";
import { type Move, nextMoves, waitSeconds } from "./next-moves.ts";
import { bitOf, isQuorum, stakeOfSet } from "./seat-set.ts";

export const WINDOWS = { endsAt: 0, revealsAt: 100, signsAt: 200, signsUntil: 1200 };
export const QUORUM_PPM = 666_667;

export const seatOf = (n: number, stake = 10n): Seat => {
	const validator: Hex = `0x${(n + 1).toString(16).padStart(40, "0")}`;
	return { validator, signer: validator, stake, root: `0x${n.toString(16).padStart(64, "0")}` };
};

export const openEpoch = (seats: readonly Seat[], more: Partial<EpochView> = {}): EpochView => ({
	epoch: 0,
	windows: WINDOWS,
	totalStake: stakeOfSet((1n << 64n) - 1n, seats),
	ownStake: 10n,
	own: { hasDraft: true, isCommitted: true, isRevealed: true, isPublished: true },
	seats,
	areSeatsFirm: true,
	reports: seats.map(() => "held"),
	statements: [],
	posted: null,
	punished: new Set(),
	...more,
});

export const weightsOf = (set: bigint, more: Partial<Weights> = {}): Weights => ({
	epoch: 0n,
	base: NO_BASE,
	set,
	count: 0,
	totalWeight: 0n,
	paid: 0n,
	root: NO_BASE,
	...more,
});

/** A right one's id says its set; any other is wrong. */
export const rightId = (set: bigint): Hex => `0x${set.toString(16).padStart(64, "0")}`;

export const statement = (set: bigint, signers: bigint, more: Partial<KnownStatement> = {}): KnownStatement => ({
	id: rightId(set),
	weights: weightsOf(set),
	signers,
	verdict: "right",
	judgedWith: { set, hadLeaves: true },
	sinceS: 0,
	sources: [],
	isProven: false,
	isAnnounced: false,
	...more,
});

/** What a bad one answers; null: nothing, after a long silence. `undefined`: it has none. */
export interface Answers {
	report(seat: number, to: number, atS: number): boolean | null;
	statements(
		to: number,
		atS: number,
	): readonly { readonly id: Hex; readonly set: bigint; readonly signers: bigint }[] | null;
}

export interface SimNode {
	readonly index: number;
	readonly reports: EpochView["reports"][number][];
	readonly statements: Map<Hex, KnownStatement>;
	/** Sets that it signed, in order, with the time. */
	readonly signed: { readonly set: bigint; readonly atS: number }[];
	heldAtQuarter: bigint;
}

export interface SimResult {
	readonly nodes: readonly SimNode[];
	readonly postedAtS: number | null;
	readonly posted: Hex | null;
	readonly senders: number;
}

export interface SimOptions {
	readonly seats: readonly Seat[];
	/** By seat; absent: honest. */
	readonly bad: ReadonlyMap<number, Answers>;
	/** Seconds that an answer takes. */
	readonly latencyS: (from: number, to: number) => number;
	/** False: goes on to the end of the window as if nobody could send. */
	readonly mayPost?: boolean;
}

const SILENCE_S = 20;
const EVERY_S = 2;

export function simulate({ seats, bad, latencyS, mayPost = true }: SimOptions): SimResult {
	const honest = seats.flatMap((_, index) => (bad.has(index) ? [] : [index]));
	const nodes = new Map(honest.map((index) => [index, createNode(seats, index)]));
	const indexOf = new Map(seats.map(({ validator }, index) => [validator, index]));
	const waits = new Map(honest.map((index) => [index, new Map<string, number>()]));
	const failures = new Map<string, number>();
	/** One question to a peer at a time. */
	const asked = new Set<string>();
	const due = new Map<number, (() => void)[]>();
	const later = (atS: number, act: () => void) => due.set(atS, [...(due.get(atS) ?? []), act]);
	let posted: Hex | null = null;
	let postedAtS: number | null = null;
	const senders = new Set<number>();

	function carryOut(node: SimNode, move: Move, nowS: number): void {
		const own = waits.get(node.index)!;
		if (move.kind === "fetch-report" || move.kind === "fetch-statements") {
			const from = indexOf.get(move.from)!;
			const line = `${node.index}/${from}`;
			if (asked.has(line)) return;
			asked.add(line);
			const answers = bad.get(from) ?? honestAnswers(nodes.get(from)!);
			const found =
				move.kind === "fetch-report"
					? answers.report(move.seat, node.index, nowS)
					: answers.statements(node.index, nowS);
			const atS = nowS + (found === null ? SILENCE_S : Math.max(1, latencyS(from, node.index)));
			later(atS, () => {
				asked.delete(line);
				if (found === null) {
					const count = (failures.get(line) ?? 0) + 1;
					failures.set(line, count);
					own.set(askKey.peer(move.from), atS + waitSeconds(count, 125));
				} else if (move.kind === "fetch-report") {
					if (found === true) node.reports[move.seat] = "held";
					else own.set(askKey.report(move.from, 0, move.seat), atS + 5);
				} else {
					own.set(askKey.statements(move.from, 0), atS + 5);
					for (const one of found as Exclude<typeof found, boolean>) learn(node, one, move.from, atS);
				}
			});
		} else if (move.kind === "judge") {
			const one = node.statements.get(move.id)!;
			const verdict = move.id === rightId(one.weights.set) ? "right" : "wrong";
			node.statements.set(move.id, { ...one, verdict, judgedWith: { set: one.weights.set, hadLeaves: false } });
		} else if (move.kind === "sign") {
			node.signed.push({ set: move.set, atS: nowS });
			learn(node, { id: rightId(move.set), set: move.set, signers: bitOf(node.index) }, null, nowS);
			const one = node.statements.get(rightId(move.set))!;
			const judgedWith = { set: move.set, hadLeaves: true };
			node.statements.set(one.id, { ...one, verdict: "right", judgedWith });
		} else if (move.kind === "post" && mayPost) {
			senders.add(node.index);
			// A block.
			later(nowS + 3, () => {
				posted ??= move.id;
				postedAtS ??= nowS + 3;
			});
		}
	}

	function learn(
		node: SimNode,
		{ id, set, signers }: { id: Hex; set: bigint; signers: bigint },
		from: Hex | null,
		nowS: number,
	): void {
		const before = node.statements.get(id);
		const all = (before?.signers ?? 0n) | signers;
		const hasQuorum = isQuorum(stakeOfSet(all, seats), total, QUORUM_PPM);
		node.statements.set(id, {
			...statement(set, all, { id, verdict: "unknown", judgedWith: null }),
			...(before === undefined ? {} : { verdict: before.verdict, judgedWith: before.judgedWith }),
			sources: from === null ? (before?.sources ?? []) : [...new Set([...(before?.sources ?? []), from])],
			sinceS: before?.sinceS ?? (hasQuorum ? nowS : null),
		});
	}
	const total = stakeOfSet((1n << 64n) - 1n, seats);

	for (let nowS = WINDOWS.revealsAt; nowS < WINDOWS.signsUntil && posted === null; nowS++) {
		for (const act of due.get(nowS) ?? []) act();
		for (const node of nodes.values()) {
			const held = node.reports.reduce((set, state, seat) => (state === "held" ? set | bitOf(seat) : set), 0n);
			if (nowS === WINDOWS.signsAt + 250) node.heldAtQuarter = held;
			if ((nowS + node.index) % EVERY_S !== 0) continue;
			const view = {
				self: seats[node.index]!.validator,
				quorumPpm: QUORUM_PPM,
				head: null,
				leaves: new Set<Hex>(),
				waits: waits.get(node.index)!,
				epochs: [
					openEpoch(seats, {
						reports: node.reports,
						statements: [...node.statements.values()],
						areSeatsFirm: nowS >= WINDOWS.signsAt,
					}),
				],
			};
			for (const move of nextMoves(view, nowS)) carryOut(node, move, nowS);
		}
	}
	return { nodes: [...nodes.values()], postedAtS, posted, senders: senders.size };
}

const createNode = (seats: readonly Seat[], index: number): SimNode => ({
	index,
	reports: seats.map((_, seat) => (seat === index ? "held" : "absent")),
	statements: new Map(),
	signed: [],
	heldAtQuarter: 0n,
});

const honestAnswers = (node: SimNode): Answers => ({
	report: (seat) => node.reports[seat] === "held",
	statements: () =>
		[...node.statements.values()].map(({ id, weights, signers }) => ({ id, set: weights.set, signers })),
});
