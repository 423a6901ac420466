// Carries out the moves of a roll call (market/roll-call/next-call-moves.ts): each does one thing, writes
// down what came of it, and decides nothing. What hosts and peers do wrong is theirs; what goes wrong here is
// tried again, until the rules give the call up.
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { commitCall, isCommitted, readCommitted } from "../../chain/contracts/roll-call.ts";
import { isExcusedBy, outcomeAtDeadline } from "../../market/roll-call/call-outcome.ts";
import type { CallMove } from "../../market/roll-call/next-call-moves.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { rollBytes, rollOps } from "../../protocol/roll-call/roll-call.ts";
import type { StatedBlock } from "../../protocol/roll-call/roll-file.ts";
import type { RollAnswerRow } from "../../store/roll-calls.ts";
import type { ChainFacts } from "../../verify/roll-call/chain-facts.ts";
import type { Act, LocalAct } from "../settlement/player.ts";
import { type Drawn, readBlock } from "./block-beacon.ts";
import { type CallActsContext, selfOf } from "./call-context.ts";
import { type CallGame, leftHosts } from "./call-game.ts";
import { type CalledHost, callHosts } from "./call-hosts.ts";
import { committedTree } from "./committed-tree.ts";
import { judgeReply } from "./judge-reply.ts";
import { fetchOpening, list, open } from "./opening-acts.ts";

export function actOf(context: CallActsContext, game: CallGame, move: CallMove): Act {
	const local = (id: string, lane: string, run: () => Promise<void>): LocalAct => ({
		kind: "local",
		...{ id: `${game.call}/${id}`, lane: `${game.call}/${lane}`, run },
	});
	switch (move.kind) {
		case "ask":
			return local("ask", "step", () => ends(game, () => ask(context, game)));
		case "commit":
			return game.isSent ? local("note", "step", () => noteCommitment(context, game)) : sendCommitment(context, game);
		case "draw":
			return local("draw", "step", () => draw(context, game));
		case "open":
			return local(`open/${move.host}`, `host/${move.host}`, () => open(context, game, move.host));
		case "fetch":
			return local(`fetch/${move.host}`, `host/${move.host}`, () => fetchOpening(context, game, move));
		case "list":
			return local(`list/${move.from}`, `peer/${move.from}`, () => list(context, game, move.from));
		case "finish":
			return local("finish", "step", () => finish(context, game));
		case "void":
			return local("void", "step", () => giveUp(context, game));
	}
}

/** A step that cannot be done a second time ends the call when it fails. */
async function ends(game: CallGame, run: () => Promise<void>): Promise<void> {
	try {
		await run();
	} catch (error) {
		game.fault = error;
	}
}

async function ask(context: CallActsContext, game: CallGame): Promise<void> {
	const { called, deadlineMs, chainId, contract, call } = game;
	const block = { chainId, contract: contract.slice(2), call, beta0: bytesToHex(called.beta0) };
	const hosts = game.expected
		.filter(({ isExcused, isUncalled }) => !isExcused && !isUncalled)
		.map(({ host: { id, connectedTo }, required }): CalledHost => {
			const devices = required.map(({ device, ops, bytes }) => ({ device, megaOps: megaOf(ops), bytes }));
			return { id, isConnected: connectedTo !== null, request: { ...block, deadlineMs, devices } };
		});
	const { seenAtUs } = called;
	game.heard = await callHosts(context, context.asker, hosts, { seenAtUs, deadlineMs });
	// A block's seconds are whole: work between two blocks of one second would have taken no time at all.
	await context.pause(1000 * (called.atS + 1) - context.env.nowMs());
	const { inTime } = game.heard;
	const judged = new Map(
		game.expected.flatMap(({ host: { id }, required }) => {
			const one = inTime.get(id);
			if (one === undefined || !("reply" in one)) return [];
			return [[id, judgeReply(id, { ...game, beta0: called.beta0 }, required, one.reply)] as const];
		}),
	);
	game.tree = committedTree(
		[...judged].flatMap(([providerId, found]) => (found.ok ? [{ ...found.judged, providerId }] : [])),
	);
	for (const { host, isExcused, isUncalled } of game.expected) {
		const { id } = host;
		const asked = { isConnected: host.connectedTo !== null, isExcused, isUncalled };
		const outcome = outcomeAtDeadline(asked, heardOf(game, id), judged.get(id) ?? null, deadlineMs);
		game.rows.set(id, rowOf(game, id, outcome));
	}
}

function heardOf({ heard }: CallGame, id: string): { readonly ms: number; readonly code: string | null } | undefined {
	const one = heard?.ever.get(id);
	return one && { ms: one.ms, code: "code" in one ? one.code : null };
}

function rowOf(game: CallGame, providerId: string, outcome: Pick<RollAnswerRow, "state" | "code">): RollAnswerRow {
	const entry = outcome.state === "opening" ? game.tree!.byProvider.get(providerId) : undefined;
	const answers = entry?.reply.answers ?? [];
	return {
		...{ providerId, ...outcome, paidPpm: null, ms: heardOf(game, providerId)?.ms ?? null },
		...{ leaf: entry?.first ?? null, reply: entry?.reply ?? null, files: [] },
		megaOps: answers.reduce((sum, one) => sum + megaOf(rollOps(one)), 0),
		bytes: answers.reduce((sum, one) => sum + rollBytes(one), 0),
	};
}

/** One transaction for all of them. */
function sendCommitment(context: CallActsContext, game: CallGame): Act {
	const { contracts } = context.home;
	const { root, count } = game.tree!.tree;
	const isDone = () => isCommitted(contracts, selfOf(context), game.call);
	return {
		kind: "send",
		id: `roll-call/${game.call}`,
		async intent() {
			if (!(await isDone())) return { isDone, call: commitCall(contracts, { call: game.call, root, count }) };
			game.isSent = true;
			return null;
		},
		done() {
			game.isSent = true;
		},
		// The contract refuses: no stake, or too late.
		failed(error) {
			if (error instanceof AssayError && error.code === "CHAIN_REFUSED") game.fault = error;
		},
	};
}

/** Commitments to this call, of all validators. */
async function committed(contracts: Contracts, game: CallGame, to: number) {
	const all = await readCommitted(contracts, { from: game.fromBlock, to }, { call: game.call });
	return all.map(({ root, ...rest }) => ({ ...rest, root: root.slice(2) }));
}

async function noteCommitment(context: CallActsContext, game: CallGame): Promise<void> {
	const { home, store, env, hold } = context;
	const { client } = home.contracts;
	const head = await readBlock(client, "latest");
	const self = selfOf(context);
	const own = (await committed(home.contracts, game, head.number)).find(({ validator }) => validator === self);
	if (own === undefined) return void (await context.pause(context.lookMs));
	const { tree } = game.tree!;
	// ATTACK: a second program with our key. What it committed to is not ours to open.
	if (own.root !== bytesToHex(tree.root)) return fail(game, "the chain has another tree of ours");
	const b1 = await readBlock(client, own.blockNumber);
	const facts = { b1: b1.number, b1AtS: b1.atS, root: own.root, leaves: tree.count };
	const answers = [...game.rows.values()];
	await store.rollCalls.commit(game, { ...facts, transaction: own.transaction }, { answers, nowMs: env.nowMs() });
	for (const { providerId, state } of answers) if (state !== "opening") hold.letGo(providerId);
	game.committed = b1;
	context.tell("committed", game, { leaves: tree.count, b1: b1.number });
}

/** Looks whether the places can be drawn; by then everything before must still stand. */
async function draw(context: CallActsContext, game: CallGame): Promise<void> {
	const { home, draws, env } = context;
	const drawn = await draws.drawn(game.called);
	if (drawn === null) return await context.pause(context.lookMs);
	const before = game.committed!;
	if (draws.isLate(before, drawn)) return fail(game, "the commitment came too late");
	const now = await readBlock(home.contracts.client, before.number);
	const head = await readBlock(home.contracts.client, "latest");
	const all = await committed(home.contracts, game, head.number);
	const there = all.filter(({ blockNumber }) => blockNumber === now.number);
	const root = bytesToHex(game.tree!.tree.root);
	// Of a call that was taken up again the hash is not known; that the commitment is in the block says as
	// much.
	const isThere = there.some((one) => one.validator === selfOf(context) && one.root === root);
	const isDropped = !isThere || (before.hash !== "" && now.hash !== before.hash);
	if (isDropped || !(await draws.stands(game.called))) return fail(game, "the chain has dropped a block of this call");
	game.committed = now;
	const facts = factsOf(context, game, drawn, there, now);
	game.drawn = { ...drawn, atMs: env.nowMs(), facts };
	game.left = leftHosts(game, selfOf(context), [...new Set(all.map(({ validator }) => validator))]);
}

function factsOf(
	{ params }: CallActsContext,
	{ chainId, contract }: CallGame,
	{ blocks, stated }: Drawn,
	commitments: ChainFacts["commitments"],
	b1: StatedBlock,
): ChainFacts {
	return {
		...{ chainId, contract, beacon: stated.kind, every: params.every, windowS: params.windowSeconds },
		blocks: new Map([...blocks, b1].map((block) => [block.number, block])),
		commitments,
	};
}

async function finish(context: CallActsContext, game: CallGame): Promise<void> {
	const { store, env, log } = context;
	const { block } = game.drawn!;
	const paid = await game.paid;
	const answers = [...game.rows.values()].map((row): RollAnswerRow => {
		const heard = heardOf(game, row.providerId);
		const isLate = row.state === "absent" && heard?.code === null && heard.ms > game.deadlineMs;
		const known: RollAnswerRow = isLate ? { ...row, state: "late", code: null, ms: heard.ms } : row;
		const paidPpm = paid.get(row.providerId);
		return isExcusedBy(paidPpm, known) ? { ...known, state: "excused", paidPpm } : known;
	});
	const end = { b2: block.number, b2AtS: block.atS, beta2: block.hash, nowMs: env.nowMs() };
	await store.rollCalls.finish(game, { ...end, answers });
	game.isOver = true;
	const right = answers.filter(({ state }) => state === "answered");
	const devices = right.reduce((sum, { files }) => sum + files.length, 0);
	const countOf = (what: RollAnswerRow["state"]) => answers.filter(({ state }) => state === what).length;
	const uncalled = countOf("uncalled");
	const counted = answers.length - uncalled - countOf("excused");
	const busy = answers.filter(({ code }) => code === "PROVIDER_BUSY").length;
	context.tell("done", game, { answered: right.length, counted, devices, late: countOf("late"), busy, uncalled });
	log.info({ call: game.call, answered: right.length, of: answers.length }, "roll call done");
	await context.scored(answers);
}

export async function giveUp({ store, env, tell }: CallActsContext, game: CallGame): Promise<void> {
	const code = game.fault instanceof AssayError ? game.fault.code : "ROLL_CALL_VOID";
	await store.rollCalls.void(game, { code, nowMs: env.nowMs() });
	game.isOver = true;
	tell("void", game, { code });
}

const megaOf = (ops: bigint): number => Number((ops + 999_999n) / 1_000_000n);

function fail(game: CallGame, why: string): void {
	game.fault = new AssayError("ROLL_CALL_VOID", why);
}
