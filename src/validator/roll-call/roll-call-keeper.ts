// Carries roll calls through: a block calls, every host is asked at once, the tree of what came in time is
// committed to by one transaction, the places come from a later block, every host is opened, and what came of
// it is stored and scored. docs/roll-call.md §4. One call at a time and one process at a time: the one that
// sends to the chain. What comes next is market's (next-call-moves.ts), how it is done call-acts.ts. A call
// that ends before its commitment is void; after it, whoever comes next takes it up.
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { readAccount } from "../../chain/contracts/registry.ts";
import { readRollCallParams } from "../../chain/contracts/roll-call.ts";
import { SETTLE_MS, takesPart } from "../../market/roll-call/call-outcome.ts";
import { nextCallMoves } from "../../market/roll-call/next-call-moves.ts";
import { requiredOfHost, rollCallDeadlineMs } from "../../market/roll-call/roll-call-rules.ts";
import { sleep } from "../../platform/abortable.ts";
import { repeat } from "../../platform/repeat.ts";
import { createSemaphore } from "../../platform/semaphore.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { RollAnswerRow, RollCallRow } from "../../store/roll-calls.ts";
import type { ScoreKeeper } from "../scoring/score-keeper.ts";
import { openChainMemory } from "../settlement/memory.ts";
import { createPlayer } from "../settlement/player.ts";
import { failure, SLOW_TURN_MS, type ValidatorContext } from "../validator-context.ts";
import { type Called, createBlockBeacon, readBlock } from "./block-beacon.ts";
import { actOf, giveUp } from "./call-acts.ts";
import type { CallActsContext } from "./call-context.ts";
import { type CallGame, type Expected, gameOf, resumedGame, viewOf } from "./call-game.ts";
import { createDrandBeacon } from "./drand-beacon.ts";
import { createOpenElsewhere } from "./open-elsewhere.ts";
import { type PaidCallsContext, paidCalls } from "./paid-calls.ts";
import { createPeerOpenings } from "./peer-openings.ts";

export interface RollCallContext
	extends Pick<CallActsContext, keyof ValidatorContext | "asker" | "pool" | "hold" | "home"> {
	readonly scores: ScoreKeeper;
	readonly paid: PaidCallsContext["paid"];
	/** Of the process that sends to the chain. */
	readonly lease: string;
}

const EMBEDDED_LOOK_MS = 250;
const LOOK_MS = 1000;
/** What ends within it is followed up together. */
const GATHER_MS = 10;
/** So many blocks tell how long one takes. */
const BLOCKS_TIMED = 32;
const SCORED_AT_ONCE = 4;
const TRIAL_REST_MS = 300_000;

export async function startRollCalls(context: RollCallContext): Promise<{ stop(): Promise<void> }> {
	const { home, env } = context;
	const params = await readRollCallParams(home.contracts);
	const blockMs = home.isEmbedded ? 0 : await readBlockMs(home.contracts);
	const { drandUrl, drandNetwork } = context.config.rollCalls;
	const drand = { url: drandUrl, network: drandNetwork, nowMs: env.nowMs, clockUs: env.ratesClockUs };
	const draws = params.isDrand
		? createDrandBeacon(drand, params)
		: createBlockBeacon(home.contracts.client, params, env.ratesClockUs);
	const { chainId, registry } = home.contracts.addresses;
	const key = { chainId, registry: registry.toLowerCase() };
	const elsewhere = createOpenElsewhere(context, key, home.account.address.toLowerCase());
	const stopping = new AbortController();
	const { signal } = stopping;
	const endpointOf = async (validator: string) => (await readAccount(home.contracts, validator as Hex)).endpoint;
	const acts: CallActsContext = {
		...context,
		...{ draws, params, elsewhere, peers: createPeerOpenings(endpointOf, signal) },
		lookMs: home.isEmbedded ? EMBEDDED_LOOK_MS : LOOK_MS,
		async pause(ms) {
			if (ms > 0) await sleep(ms, signal, env.after);
			signal.throwIfAborted();
		},
		scored: (answers) => score(context, answers, signal),
		tell: (kind, { call }, detail) =>
			context.hub.tell({
				kind: `roll-call.${kind}`,
				subject: String(call),
				providerId: null,
				detail: { call, ...detail },
			}),
	};
	const keeper = new RollCallKeeper(context, acts, rollCallDeadlineMs(blockMs, context.config.params));
	const tellFailure = failure(context, "roll-call");
	const onError = (error: unknown) => {
		if (!signal.aborted) tellFailure(error);
	};
	const turns = context.watchdog.watch("roll-call", SLOW_TURN_MS);
	const turning = repeat({ everyMs: acts.lookMs, after: env.after, onError, turns }, () => keeper.turn());
	return {
		async stop() {
			stopping.abort();
			await turning.stop();
			await keeper.stop();
			elsewhere.close();
		},
	};
}

/** The mean of the newest ones. */
async function readBlockMs({ client }: Contracts): Promise<number> {
	const head = await client.viem.getBlock();
	const back = head.number < BLOCKS_TIMED ? head.number : BigInt(BLOCKS_TIMED);
	if (back === 0n) return 0;
	const before = await client.viem.getBlock({ blockNumber: head.number - back });
	return Math.ceil((1000 * Number(head.timestamp - before.timestamp)) / Number(back));
}

async function score(context: RollCallContext, answers: readonly RollAnswerRow[], signal: AbortSignal): Promise<void> {
	const turns = createSemaphore(SCORED_AT_ONCE);
	await Promise.all(
		answers.map(async ({ providerId }) => {
			const release = await turns.acquire();
			try {
				if (!signal.aborted) await context.scores.score(providerId);
			} catch (error) {
				failure(context, "score")(error);
			} finally {
				release();
			}
		}),
	);
}

class RollCallKeeper {
	private readonly context: RollCallContext;
	private readonly acts: CallActsContext;
	private readonly deadlineMs: number;
	private readonly player: ReturnType<typeof createPlayer>;
	private readonly startedAtMs: number;
	private endedAtMs = Number.NEGATIVE_INFINITY;
	private hasTakenUp = false;

	constructor(context: RollCallContext, acts: CallActsContext, deadlineMs: number) {
		const { home, store, env, config, log, lease } = context;
		const { contracts, account } = home;
		const { journal } = openChainMemory({ store, addresses: contracts.addresses, account: account.address, lease });
		this.context = context;
		this.acts = acts;
		this.deadlineMs = deadlineMs;
		this.startedAtMs = env.nowMs();
		this.player = createPlayer({
			...{ client: contracts.client, account, journal, nowMs: env.nowMs, most: config.rollCalls.openAtOnce },
			onError: (what, error) => log.warn({ what, err: error }, "roll call: left for later"),
		});
	}

	stop(): Promise<void> {
		return this.player.stop();
	}

	async turn(): Promise<void> {
		const { store, hold, env, lease } = this.context;
		if (!this.hasTakenUp && (await store.leases.acquire(lease))) {
			this.hasTakenUp = true;
			for (const row of await this.unfinished()) await this.takeUp(row);
		}
		const called = await this.acts.draws.look();
		if (called === null || !(await store.leases.acquire(lease))) return;
		hold.all();
		try {
			const expected = await this.expected();
			if (!this.takesPart(expected)) return;
			const { chainId, rollCall } = this.context.home.contracts.addresses;
			const id = { chainId, contract: rollCall.toLowerCase(), call: called.call };
			const row = { ...id, beta0: bytesToHex(called.beta0), b0AtS: called.atS, deadlineMs: this.deadlineMs };
			const calledAtMs = env.nowMs();
			if (!(await store.rollCalls.open({ ...row, calledAtMs }))) return;
			const hosts = expected.map(({ host }) => host);
			hold.only(expected.flatMap(({ host, isUncalled }) => (isUncalled ? [] : [host.id])));
			const fromBlock = await this.fromBlock(called);
			const paid = this.paidFor(hosts, called.atS);
			const { deadlineMs } = this;
			await this.carryOut(gameOf(id, { called, deadlineMs, calledAtMs, fromBlock, expected, paid }));
		} finally {
			hold.none();
		}
	}

	/** Those that end before a commitment are over; the others are for us. */
	private async unfinished(): Promise<readonly RollCallRow[]> {
		const { store, env } = this.context;
		await store.rollCalls.void(null, { code: "ROLL_CALL_VOID", nowMs: env.nowMs() });
		return await store.rollCalls.unfinished();
	}

	/** A call that a process before this one has committed to. */
	private async takeUp(row: RollCallRow): Promise<void> {
		const { store, hold, env, home, log } = this.context;
		const { chainId, rollCall } = home.contracts.addresses;
		const rows = await store.rollCalls.known(row);
		const roster = new Map((await store.rollCalls.roster()).map((host) => [host.id, host]));
		const hosts = rows.flatMap(({ providerId }) => roster.get(providerId) ?? []);
		const isHere = row.chainId === chainId && row.contract === rollCall.toLowerCase();
		const { isDrand } = this.acts.params;
		const game = isHere ? resumedGame(row, rows, { paid: this.paidFor(hosts, row.b0AtS), isDrand }) : null;
		if (game === null) return void (await store.rollCalls.void(row, { code: "ROLL_CALL_VOID", nowMs: env.nowMs() }));
		log.info({ call: row.call }, "a roll call is taken up again");
		hold.only(rows.filter(({ state }) => state === "opening").map(({ providerId }) => providerId));
		await this.carryOut(game).finally(() => hold.none());
	}

	private paidFor(hosts: Parameters<typeof paidCalls>[1], atS: number): CallGame["paid"] {
		const paid = paidCalls(this.context, hosts, atS);
		paid.catch(() => {}); // awaited at the end: without it nobody is counted
		return paid;
	}

	/** Rounds of drand have no place among the blocks. */
	private async fromBlock({ call }: Called): Promise<number> {
		const { client } = this.context.home.contracts;
		return this.acts.params.isDrand ? (await readBlock(client, "latest")).number : call;
	}

	/** Every host with a proof, and what the rule requires of it. */
	private async expected(): Promise<readonly Expected[]> {
		const { store, config } = this.context;
		const roster = await store.rollCalls.roster();
		return roster.map((host) => {
			const devices = host.devices.map(({ kind }) => ({ kind, uuid: "" }));
			const required = requiredOfHost({ ...host, devices }, this.deadlineMs, config.params);
			return { host, required, isExcused: host.isProbed, isUncalled: host.isUncalled };
		});
	}

	private takesPart(expected: readonly Expected[]): boolean {
		const { env, config, home } = this.context;
		const nowMs = env.nowMs();
		const restMs = config.rollCalls.restMs ?? (home.isEmbedded ? TRIAL_REST_MS : 0);
		return takesPart(
			expected.map(({ host: { connectedTo, isNew }, isExcused, isUncalled }) => {
				return { isConnected: connectedTo !== null, isNew, isExcused, isUncalled };
			}),
			{ upMs: nowMs - this.startedAtMs, sinceLastMs: nowMs - this.endedAtMs, restMs },
		);
	}

	/** Throws when this process stops; a call without a commitment is then void. */
	private async carryOut(game: CallGame): Promise<void> {
		const { acts, player } = this;
		const { env, config, agents } = this.context;
		const windowMs = 1000 * acts.params.windowSeconds;
		const most = config.rollCalls.openAtOnce;
		const hosts = game.expected.filter(({ isUncalled }) => !isUncalled).length;
		acts.tell("called", game, { hosts, deadlineMs: game.deadlineMs });
		try {
			while (!game.isOver) {
				const nowMs = env.nowMs();
				const isSettled = nowMs - this.startedAtMs >= SETTLE_MS || game.expected.length > 0;
				const isReachable = (host: string) => isSettled || agents.has(host);
				const moves = nextCallMoves(viewOf(game, { nowMs, windowMs, most, isReachable }));
				player.play(moves.map((move) => actOf(acts, game, move)));
				await Promise.race([player.next().then(() => acts.pause(GATHER_MS)), acts.pause(acts.lookMs)]);
			}
		} catch (error) {
			if (game.committed === null && !game.isOver) await giveUp(acts, game).catch(() => {});
			throw error;
		} finally {
			this.endedAtMs = env.nowMs();
			// What is still under way is about a call that is over.
			if (game.isOver) await player.idle();
		}
	}
}
