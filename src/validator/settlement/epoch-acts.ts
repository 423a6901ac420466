// How each move of an epoch is carried out: files written, peers asked, weights computed and signed, and what
// is sent. Nothing is signed here that was not computed here. Which move is due is for the rules to say
// (market/epochs/next-moves.ts). docs/epochs.md §4.
import { callOf, read } from "../../chain/contracts/contracts.ts";
import {
	challengeCall,
	postCall,
	punishCall,
	readHead,
	readPosted,
	readReport,
	signWeights,
} from "../../chain/contracts/scoreboard.ts";
import type { EpochView } from "../../market/epochs/epoch-view.ts";
import type { Move } from "../../market/epochs/next-moves.ts";
import { createScoreReport, readScoreReport, type ScoreReport } from "../../market/epochs/score-report.ts";
import { bitOf, isInSet, isQuorum, seatsOf, setOf } from "../../market/epochs/seat-set.ts";
import { type Base, createWeights, type EpochFacts } from "../../market/epochs/weights.ts";
import { faultOf } from "../../market/epochs/weights-fault.ts";
import { NO_BASE, type Seat, type Weights } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { weightsId } from "../../protocol/chain/weights-statement.ts";
import { holdLeaves } from "./epoch-look.ts";
import { announcement, commitSalt } from "./epoch-salts.ts";
import { askAct } from "./exchange.ts";
import type { Game } from "./game-state.ts";
import type { HeldEpoch, HeldStatement } from "./held-epoch.ts";
import type { Act, LocalAct, SendAct } from "./player.ts";

export function actOf(game: Game, move: Move): Act {
	switch (move.kind) {
		case "draft":
			return local(`draft/${move.epoch}`, () => draft(game, move.epoch));
		case "commit":
			return send(game, move.epoch, "commit", () => commit(game, move.epoch));
		case "reveal":
			return send(game, move.epoch, "reveal", () => reveal(game, move.epoch));
		case "publish":
			return local(`publish/${move.epoch}`, () => publishOwn(game, move.epoch));
		case "fetch-report":
		case "fetch-statements":
		case "fetch-leaves":
			return askAct(game, move);
		case "judge":
			return local(`judge/${move.epoch}`, () => judge(game, move.epoch, move.id), move.id);
		case "sign":
			return local(`sign/${move.epoch}`, () => sign(game, move.epoch, move.base, move.set));
		case "post":
			return send(game, move.epoch, `post/${move.id}`, () => post(game, move.epoch, move.id));
		case "announce":
			return send(game, move.epoch, `announce/${move.id}`, () => announce(game, move.id));
		case "challenge":
			return send(game, move.epoch, `challenge/${move.id}`, () => challenge(game, move.epoch, move.id));
		case "punish":
			return send(game, move.epoch, `punish/${move.id}/${move.seats}`, () => punish(game, move));
	}
}

/** Of one kind and epoch one at a time: two of them would compute, or write, the same. */
const local = (lane: string, run: () => Promise<void>, of = ""): LocalAct => ({
	kind: "local",
	id: `${lane}/${of}`,
	lane,
	run,
});

interface Sending {
	readonly intent: NonNullable<Awaited<ReturnType<SendAct["intent"]>>>;
	readonly told: { readonly kind: Parameters<Game["tell"]>[0]["kind"]; readonly detail: string } | null;
}

function send(game: Game, epoch: number, name: string, make: () => Promise<Sending | null>): SendAct {
	let told: Sending["told"] = null;
	const [kind, ...more] = name.split("/");
	return {
		kind: "send",
		id: [kind, epoch, ...more].join("/"),
		async intent() {
			const made = await make();
			told = made?.told ?? null;
			return made?.intent ?? null;
		},
		done() {
			if (told !== null) game.tell({ epoch, ...told });
		},
	};
}

function openOf(game: Game, epoch: number): { readonly open: EpochView; readonly held: HeldEpoch } {
	const open = game.view.epochs.find((one) => one.epoch === epoch);
	const held = game.held.get(epoch);
	if (open === undefined || held === undefined) throw new RangeError(`epoch ${epoch} is not open`);
	return { open, held };
}

/** The leaves on disk decide: whatever dies when, there is one report for an epoch. */
async function ownReport(game: Game, epoch: number): Promise<ScoreReport | null> {
	const kept = await game.archive.draft(epoch, game.self);
	return kept === null ? null : readScoreReport(kept);
}

async function draft(game: Game, epoch: number): Promise<void> {
	if ((await ownReport(game, epoch)) === null) {
		const scores = await game.scores(epoch);
		if (scores === null) return;
		// Durable before the commitment: a root without its leaves could never be opened.
		await game.archive.putDraft(epoch, game.self, createScoreReport(scores).leaves);
	}
	openOf(game, epoch).held.hasDraft = true;
}

async function commit(game: Game, epoch: number): Promise<Sending | null> {
	const { contracts, account } = game;
	const own = await ownReport(game, epoch);
	if (own === null) return null;
	const number = BigInt(epoch);
	const salt = commitSalt(game, epoch);
	const root = own.reportRoot;
	const commitment = await read(contracts, "scoreboard", "commitmentOf", number, account.address, root, salt);
	return {
		intent: {
			call: callOf(contracts, "scoreboard", "commit", number, commitment),
			isDone: async () => BigInt((await readReport(contracts, epoch, account.address)).digest) !== 0n,
		},
		told: { kind: "committed", detail: `${own.leaves.length} scores` },
	};
}

async function reveal(game: Game, epoch: number): Promise<Sending | null> {
	const { contracts, account } = game;
	const own = await ownReport(game, epoch);
	if (own === null) return null;
	const root = own.reportRoot;
	return {
		intent: {
			call: callOf(contracts, "scoreboard", "reveal", BigInt(epoch), root, commitSalt(game, epoch)),
			isDone: async () => (await readReport(contracts, epoch, account.address)).revealed,
		},
		told: { kind: "revealed", detail: root },
	};
}

/**
 * Once the chain shows that it is revealed, and not before: who could read it earlier could commit to a copy.
 */
async function publishOwn(game: Game, epoch: number): Promise<void> {
	const { open, held } = openOf(game, epoch);
	const seat = open.seats.find(({ validator }) => validator === game.self);
	const own = await ownReport(game, epoch);
	if (seat === undefined || own === null || own.reportRoot !== seat.root) return;
	await game.archive.publishReasons(epoch, game.self);
	await game.archive.putReport(epoch, game.self, own.leaves);
	held.hold(own);
	held.isPublished = true;
}

/** All that weights of this epoch on this base follow from. Null: the base's leaves are not here. */
async function factsOf(game: Game, { open, held }: ReturnType<typeof openOf>, baseId: Hex): Promise<EpochFacts | null> {
	const { contracts, params } = game;
	const known = baseId === NO_BASE ? undefined : game.leaves.get(baseId);
	if (baseId !== NO_BASE && known === undefined) return null;
	const base: Base | null = known === undefined ? null : { id: baseId, ...known };
	const allocated = base === null ? 0n : await allocatedBy(game, base);
	const pot = await read(contracts, "scoreboard", "potOf", BigInt(open.epoch), allocated);
	const { quorumPpm, validatorPpm } = params;
	return {
		epoch: BigInt(open.epoch),
		base,
		seats: open.seats,
		reports: await reportsOf(game, open, held),
		pot,
		totalStake: open.totalStake,
		rules: { quorumPpm, validatorPpm, targetWeight: BigInt(params.targetWeight) },
	};
}

/** By seat, from memory or from disk. Null: not held. */
async function reportsOf(game: Game, { epoch, seats }: EpochView, held: HeldEpoch): Promise<(ScoreReport | null)[]> {
	const found: (ScoreReport | null)[] = [];
	for (const { validator, root } of seats) {
		const known = held.reports.get(root) ?? null;
		const leaves = known !== null || !held.states.has(root) ? null : await game.archive.report(epoch, validator);
		const report = known ?? (leaves === null ? null : readScoreReport(leaves));
		if (report !== null && report.reportRoot === root) held.hold(report);
		found.push(held.reports.get(root) ?? null);
	}
	return found;
}

/** What all accounts have earned up to these weights: the chain's word while they stand. */
async function allocatedBy({ contracts }: Game, { id, weights, leaves }: Base): Promise<bigint> {
	const posted = await readPosted(contracts, Number(weights.epoch));
	return posted?.id === id ? posted.total : leaves.reduce((sum, { total }) => sum + total, 0n);
}

async function sign(game: Game, epoch: number, baseId: Hex, set: bigint): Promise<void> {
	const { contracts, account, archive } = game;
	const at = openOf(game, epoch);
	const { open, held } = at;
	const facts = await factsOf(game, at, baseId);
	if (facts === null || !open.areSeatsFirm) return;
	const { weights, leaves } = createWeights(set, facts);
	const ownSeat = open.seats.findIndex(({ signer }) => signer === account.address.toLowerCase());
	if (ownSeat === -1) return;
	const id = weightsId(contracts.addresses, weights);
	// Leaves first: who is shown a signature finds them.
	await archive.putRewards(epoch, id, leaves);
	const signature = await signWeights(account, contracts.addresses, weights);
	const own = held.statement(weights);
	own.signatures.set(ownSeat, signature);
	own.verdict = "right";
	game.leaves.set(id, { weights, leaves });
	await archive.putStatements(epoch, held.toFile(open.seats, ownSeat, open.posted?.id ?? null));
	const reports = seatsOf(set).length;
	game.tell({
		kind: "signed",
		epoch,
		detail: `${leaves.length} accounts, by ${reports} of ${open.seats.length} reports`,
	});
}

/** Computes it again. What cannot be settled with what is here stays unknown. */
async function judge(game: Game, epoch: number, id: Hex): Promise<void> {
	const at = openOf(game, epoch);
	const { open, held } = at;
	const one = held.statements.get(id);
	if (one === undefined) return;
	const { weights } = one;
	const facts = await factsOf(game, at, weights.base);
	if (facts === null) return;
	const known = open.seats.reduce((set, { root }, seat) => (held.states.has(root) ? set | bitOf(seat) : set), 0n);
	const hadLeaves = game.leaves.has(id);
	const leaves = weights.count === 0 ? [] : (game.leaves.get(id)?.leaves ?? (await rightLeaves(game, one, facts)));
	const fault = faultOf(weights, leaves, facts);
	if (fault === null) {
		one.verdict = "right";
		if (holdLeaves(game, id, weights, leaves!)) await game.archive.putRewards(epoch, id, leaves!);
	} else if (fault.kind === "withheld") one.verdict = "wrong";
	else if (fault.kind !== "base" && fault.kind !== "unheld") {
		one.verdict = "provable";
		one.fault = fault;
	}
	one.judgedWith = { set: weights.set & known, hadLeaves };
}

/** What we would sign for the same set, if it is the same; null otherwise, or when we lack a report. */
async function rightLeaves(game: Game, { id, weights }: HeldStatement, facts: EpochFacts) {
	const isWhole = seatsOf(weights.set).every((seat) => (facts.reports[seat] ?? null) !== null);
	if (!isWhole) return null;
	const right = createWeights(weights.set, facts);
	return weightsId(game.contracts.addresses, right.weights) === id ? right.leaves : null;
}

async function post(game: Game, epoch: number, id: Hex): Promise<Sending | null> {
	const { contracts, params } = game;
	const { open, held } = openOf(game, epoch);
	const one = held.statements.get(id);
	if (one === undefined) return null;
	const { seats, totalStake } = open;
	const chosen = enough(one, seats, totalStake, params.quorumPpm);
	const signers = setOf(chosen);
	const signatures = chosen.map((seat) => one.signatures.get(seat)!);
	return {
		intent: {
			call: postCall(contracts, { weights: one.weights, seats, signers, signatures }),
			isDone: async () => ((await readHead(contracts)) ?? -1) >= epoch,
		},
		told: { kind: "posted", detail: `${one.weights.count} accounts` },
	};
}

/** Seats of the largest stakes that make a quorum, ascending: each signature costs gas. */
function enough(one: HeldStatement, seats: readonly Seat[], totalStake: bigint, quorumPpm: number): readonly number[] {
	const byStake = [...one.signatures.keys()].sort((a, b) => (seats[a]!.stake > seats[b]!.stake ? -1 : 1));
	const chosen: number[] = [];
	let stake = 0n;
	for (const seat of byStake) {
		if (isQuorum(stake, totalStake, quorumPpm)) break;
		chosen.push(seat);
		stake += seats[seat]!.stake;
	}
	return chosen.sort((a, b) => a - b);
}

async function announce(game: Game, id: Hex): Promise<Sending> {
	const { contracts } = game;
	const { hash } = announcement(game, id);
	return {
		intent: {
			call: callOf(contracts, "scoreboard", "announce", hash),
			isDone: async () => (await read(contracts, "scoreboard", "announcedAt", hash)) !== 0n,
		},
		told: null,
	};
}

async function challenge(game: Game, epoch: number, id: Hex): Promise<Sending | null> {
	const { contracts } = game;
	const { open, held } = openOf(game, epoch);
	const { weights, fault } = held.statements.get(id) ?? {};
	if (weights === undefined || !fault) return null;
	const base: Weights = game.leaves.get(weights.base)?.weights ?? NOTHING;
	const { salt } = announcement(game, id);
	return {
		intent: {
			call: challengeCall(contracts, fault, { weights, base, seats: open.seats, salt }),
			isDone: () => read(contracts, "scoreboard", "isProvenWrong", id),
		},
		told: { kind: "challenged", detail: `${id}: ${fault.kind}` },
	};
}

/** The base of the first weights, which nothing is shown of. */
const NOTHING: Weights = { epoch: 0n, base: NO_BASE, set: 0n, count: 0, totalWeight: 0n, paid: 0n, root: NO_BASE };

async function punish(game: Game, { epoch, id, seats }: Move & { readonly kind: "punish" }): Promise<Sending | null> {
	const { open, held } = openOf(game, epoch);
	const one = held.statements.get(id);
	if (one === undefined) return null;
	const whom = open.seats.flatMap(({ validator }, seat) => (isInSet(seats, seat) ? [validator] : []));
	const signatures = seatsOf(seats).map((seat) => one.signatures.get(seat)!);
	const isPunished = (account: Hex) => read(game.contracts, "scoreboard", "isPunished", BigInt(epoch), account);
	return {
		intent: {
			call: punishCall(game.contracts, one.weights, signatures),
			isDone: async () => (await Promise.all(whom.map(isPunished))).every((done) => done),
		},
		told: { kind: "punished", detail: whom.join(", ") },
	};
}
