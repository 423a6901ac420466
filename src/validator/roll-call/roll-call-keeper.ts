// Carries roll calls through: a block calls, every host is asked at once, the tree of what came in time is committed to by one transaction,
// the places come from a later block, every host opens, and what came of it is stored and scored. docs/roll-call.md §4. One call at a time
// and one process at a time: the one that sends to the chain. A call that is cut short is void and counts for nobody. Rules are market's,
// judgements verify's.
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { readAccountFor } from "../../chain/contracts/registry.ts";
import { commitCall, type RollCallParams, readCommitted, readRollCallParams } from "../../chain/contracts/roll-call.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import { requiredOfHost, rollCallDeadlineMs } from "../../market/roll-call/roll-call-rules.ts";
import { sleep } from "../../platform/abortable.ts";
import { repeat } from "../../platform/repeat.ts";
import { createSemaphore } from "../../platform/semaphore.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { type RollCallId, type RollRequired, rollBytes, rollOps } from "../../protocol/roll-call/roll-call.ts";
import type { StatedBlock } from "../../protocol/roll-call/roll-file.ts";
import type { RollAnswerRow, RollCallHost } from "../../store/roll-calls.ts";
import type { ChainFacts } from "../../verify/roll-call/chain-facts.ts";
import type { AgentAsker } from "../agents/ask-agent.ts";
import type { VerifierPool } from "../probing/verifier-pool.ts";
import type { ScoreKeeper } from "../scoring/score-keeper.ts";
import type { ChainHome } from "../settlement/home.ts";
import { failure, type ValidatorContext } from "../validator-context.ts";
import { type Beacon, type Called, createBlockBeacon, type Drawn, readBlock } from "./block-beacon.ts";
import { type CalledHost, callHosts, type HeardHosts } from "./call-hosts.ts";
import { type CommittedTree, committedTree, type TreeEntry } from "./committed-tree.ts";
import { createDrandBeacon } from "./drand-beacon.ts";
import { isAccountBound, judgeReply } from "./judge-reply.ts";
import { createOpenElsewhere, type OpenElsewhere } from "./open-elsewhere.ts";
import { type OpenedCall, openHost } from "./open-host.ts";
import { type PaidCallsContext, paidCalls } from "./paid-calls.ts";
import type { ProbeHold } from "./probe-hold.ts";

export interface RollCallContext extends ValidatorContext {
	readonly asker: AgentAsker;
	readonly scores: ScoreKeeper;
	readonly paid: PaidCallsContext["paid"];
	readonly pool: VerifierPool;
	readonly hold: ProbeHold;
	readonly home: Pick<ChainHome, "contracts" | "account" | "isEmbedded">;
	/** Of the process that sends to the chain. */
	readonly lease: string;
}

const EMBEDDED_LOOK_MS = 250;
const LOOK_MS = 1000;
/** So many blocks tell how long one takes. */
const BLOCKS_TIMED = 32;
/** After a start hosts dial in again within their longest pause, a minute: before that nobody is missed. */
const SETTLE_MS = 90_000;
/** Beyond the window, until the block that the places are drawn from must have come. */
const DRAW_PATIENCE_MS = 600_000;
const SCORED_AT_ONCE = 4;
const TRIAL_REST_MS = 300_000;

/** What is asked of one host, or why nothing is. */
interface Expected {
	readonly host: RollCallHost;
	readonly required: readonly RollRequired[];
	readonly isExcused: boolean;
}

type Outcome = Pick<RollAnswerRow, "state" | "code" | "files">;

interface RunningCall extends RollCallId {
	readonly called: Called;
	readonly deadlineMs: number;
	readonly expected: readonly Expected[];
}

export async function startRollCalls(context: RollCallContext): Promise<{ stop(): Promise<void> }> {
	const { home, env, store } = context;
	const params = await readRollCallParams(home.contracts);
	const nowMs = env.nowMs();
	if (await store.leases.acquire(context.lease)) await store.rollCalls.void(null, { code: "ROLL_CALL_VOID", nowMs });
	const blockMs = home.isEmbedded ? 0 : await readBlockMs(home.contracts);
	const { drandUrl, drandNetwork } = context.config.rollCalls;
	const drand = { url: drandUrl, network: drandNetwork, nowMs: env.nowMs, clockUs: env.ratesClockUs };
	const beacon = params.isDrand
		? createDrandBeacon(drand, params)
		: createBlockBeacon(home.contracts.client, params, env.ratesClockUs);
	const { chainId, registry } = home.contracts.addresses;
	const key = { chainId, registry: registry.toLowerCase() };
	const elsewhere = createOpenElsewhere(context, key, home.account.address.toLowerCase());
	const deadlineMs = rollCallDeadlineMs(blockMs, context.config.params);
	const keeper = new RollCallKeeper(context, { beacon, params, deadlineMs, elsewhere });
	const everyMs = home.isEmbedded ? EMBEDDED_LOOK_MS : LOOK_MS;
	const turning = repeat({ everyMs, after: env.after, onError: failure(context, "roll-call") }, () => keeper.turn());
	return {
		async stop() {
			keeper.stop();
			await turning.stop();
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

class RollCallKeeper {
	private readonly context: RollCallContext;
	private readonly beacon: Beacon;
	private readonly params: RollCallParams;
	private readonly deadlineMs: number;
	private readonly elsewhere: OpenElsewhere;
	private readonly startedAtMs: number;
	private endedAtMs = Number.NEGATIVE_INFINITY;
	private readonly stopping = new AbortController();

	constructor(
		context: RollCallContext,
		parts: {
			readonly beacon: Beacon;
			readonly params: RollCallParams;
			readonly deadlineMs: number;
			readonly elsewhere: OpenElsewhere;
		},
	) {
		this.context = context;
		this.beacon = parts.beacon;
		this.params = parts.params;
		this.deadlineMs = parts.deadlineMs;
		this.elsewhere = parts.elsewhere;
		this.startedAtMs = context.env.nowMs();
	}

	stop(): void {
		this.stopping.abort();
	}

	async turn(): Promise<void> {
		const { store, hold, env, lease } = this.context;
		const called = await this.beacon.look();
		if (called === null || !(await store.leases.acquire(lease))) return;
		hold.all();
		let call: RunningCall | null = null;
		try {
			const expected = await this.expected();
			if (!this.takesPart(expected)) return;
			const { chainId, rollCall } = this.context.home.contracts.addresses;
			const id = { chainId, contract: rollCall.toLowerCase(), call: called.call };
			const row = { ...id, beta0: bytesToHex(called.beta0), b0AtS: called.atS, deadlineMs: this.deadlineMs };
			if (!(await store.rollCalls.open({ ...row, calledAtMs: env.nowMs() }))) return;
			call = { ...id, called, deadlineMs: this.deadlineMs, expected };
			await this.carryOut(call);
		} catch (error) {
			if (call !== null) await this.giveUp(call, error);
			if (!this.stopping.signal.aborted) throw error;
		} finally {
			hold.none();
			if (call !== null) this.endedAtMs = env.nowMs();
		}
	}

	/** Every host with a proof, and what the rule requires of it. */
	private async expected(): Promise<readonly Expected[]> {
		const { store, config } = this.context;
		const roster = await store.rollCalls.roster();
		return roster.map((host) => {
			const devices = host.devices.map(({ kind }) => ({ kind, uuid: "" }));
			const required = requiredOfHost({ ...host, devices }, this.deadlineMs, config.params);
			return { host, required, isExcused: host.isProbed };
		});
	}

	/** Not while hosts dial in again, and within its rest only where somebody has never been called. */
	private takesPart(expected: readonly Expected[]): boolean {
		const { env, config } = this.context;
		const nowMs = env.nowMs();
		if (expected.length === 0) return false;
		const isSettled = nowMs - this.startedAtMs >= SETTLE_MS || expected.every(({ host }) => host.connectedTo !== null);
		const restMs = config.rollCalls.restMs ?? (this.context.home.isEmbedded ? TRIAL_REST_MS : 0);
		const isRested = nowMs - this.endedAtMs >= restMs;
		return isSettled && (isRested || expected.some(({ host, isExcused }) => host.isNew && !isExcused));
	}

	private async carryOut(call: RunningCall): Promise<void> {
		const { hold, log } = this.context;
		const { called, expected } = call;
		hold.only(expected.map(({ host }) => host.id));
		this.tell("called", call, { hosts: expected.length, deadlineMs: call.deadlineMs });
		const excused = paidCalls(
			this.context,
			expected.map(({ host }) => host),
			called.atS,
		);
		excused.catch(() => {}); // awaited below: without it nobody is counted
		const heard = await this.ask(call);
		const { tree, wrong } = this.judge(call, heard);
		const committed = await this.commit(call, tree);
		this.tell("committed", call, { leaves: tree.tree.count, b1: committed.number });
		const drawn = await this.draw(call, committed);
		const facts = await this.facts(call, committed, drawn);
		const opened = await this.openAll(call, { tree, committed, drawn, facts });
		const known = new Map([...wrong, ...opened]);
		const paid = await excused;
		const answers = expected
			.map((one) => this.rowOf(call, one, heard, known, tree))
			.map((row) => excuse(row, paid.get(row.providerId)));
		await this.finish(call, drawn, answers);
		const count = (state: string) => answers.filter((one) => one.state === state).length;
		log.info({ call: call.call, answered: count("answered"), of: answers.length }, "roll call done");
	}

	private async ask(call: RunningCall): Promise<HeardHosts> {
		const { called, deadlineMs, chainId, contract } = call;
		const hosts = call.expected
			.filter(({ isExcused }) => !isExcused)
			.map(({ host: { id, connectedTo }, required }): CalledHost => {
				const devices = required.map(({ device, ops, bytes }) => ({ device, megaOps: megaOf(ops), bytes }));
				const block = { chainId, contract: contract.slice(2), call: call.call, beta0: bytesToHex(called.beta0) };
				return { id, isConnected: connectedTo !== null, request: { ...block, deadlineMs, devices } };
			});
		const { seenAtUs } = called;
		const heard = await callHosts(this.context, this.context.asker, hosts, { seenAtUs, deadlineMs });
		// A block's seconds are whole: work between two blocks of one second would have taken no time at all.
		await this.pause(1000 * (called.atS + 1) - this.context.env.nowMs());
		return heard;
	}

	/** Of those that answered in time: who is in the tree, and who is wrong already. */
	private judge(call: RunningCall, { inTime }: HeardHosts) {
		const wrong = new Map<string, Outcome>();
		const judged = call.expected.flatMap(({ host: { id }, required }) => {
			const one = inTime.get(id);
			if (one === undefined || !("reply" in one)) return [];
			const found = judgeReply(id, { ...call, beta0: call.called.beta0 }, required, one.reply);
			if (found.ok) return [{ ...found.judged, providerId: id }];
			wrong.set(id, { state: "wrong", code: found.code, files: [] });
			return [];
		});
		return { tree: committedTree(judged), wrong };
	}

	/** One transaction for all of them. */
	private async commit(call: RunningCall, { tree }: CommittedTree): Promise<StatedBlock> {
		const { home, store } = this.context;
		const { client } = home.contracts;
		const wanted = commitCall(home.contracts, { call: call.call, root: tree.root, count: tree.count });
		const receipt = await sendCall(client, home.account, wanted);
		const block = await client.viem.getBlock({ blockNumber: receipt.blockNumber });
		const b1 = { number: Number(block.number), hash: block.hash.slice(2), atS: Number(block.timestamp) };
		const facts = { b1: b1.number, b1AtS: b1.atS, root: bytesToHex(tree.root), leaves: tree.count };
		await store.rollCalls.commit(call, { ...facts, transaction: receipt.transactionHash });
		return b1;
	}

	/** Waits for the block that the places are drawn from; by then everything before it must still stand. */
	private async draw({ called }: RunningCall, committed: StatedBlock): Promise<Drawn> {
		const { env, home } = this.context;
		const untilMs = env.nowMs() + 1000 * this.params.windowSeconds + DRAW_PATIENCE_MS;
		for (;;) {
			const drawn = await this.beacon.drawn(called);
			if (drawn !== null) {
				if (this.beacon.isLate(committed, drawn)) throw isVoid("the commitment came too late");
				const { hash } = await readBlock(home.contracts.client, committed.number);
				if (hash !== committed.hash || !(await this.beacon.stands(called)))
					throw isVoid("the chain has dropped a block of this call");
				return drawn;
			}
			if (env.nowMs() > untilMs) throw isVoid("nothing came that the places could be drawn by");
			await this.pause(home.isEmbedded ? EMBEDDED_LOOK_MS : LOOK_MS);
		}
	}

	/** What a stranger would be told by a node; asked once for all files. */
	private async facts(call: RunningCall, committed: StatedBlock, { blocks, stated }: Drawn): Promise<ChainFacts> {
		const { contracts } = this.context.home;
		const { number } = committed;
		const commitments = await readCommitted(contracts, { from: number, to: number }, { call: call.call });
		return {
			...{ chainId: call.chainId, contract: call.contract, beacon: stated.kind },
			...{ every: this.params.every, windowS: this.params.windowSeconds },
			blocks: new Map([...blocks, committed].map((block) => [block.number, block])),
			commitments: commitments.map(({ root, ...rest }) => ({ ...rest, root: root.slice(2) })),
		};
	}

	/** Every host of the tree, so many at once; each is free for probes when it is done. */
	private async openAll(
		call: RunningCall,
		made: {
			readonly tree: CommittedTree;
			readonly committed: StatedBlock;
			readonly drawn: Drawn;
			readonly facts: ChainFacts;
		},
	): Promise<ReadonlyMap<string, Outcome>> {
		const { config, hold, home } = this.context;
		const { tree, committed, drawn, facts } = made;
		const chain = { id: call.chainId, contract: call.contract };
		const validator = home.account.address.toLowerCase();
		const opened: OpenedCall = {
			...{ beta0: call.called.beta0, beta2: hexToBytes(drawn.block.hash, 32)!, tree },
			stated: { chain, call: call.call, beacon: drawn.stated, committed, validator },
		};
		for (const { host } of call.expected) if (!tree.byProvider.has(host.id)) hold.letGo(host.id);
		const turns = createSemaphore(config.rollCalls.openAtOnce);
		const outcomes = await Promise.all(
			tree.entries.map(async (entry): Promise<[string, Outcome]> => {
				const release = await turns.acquire();
				try {
					return [entry.providerId, await this.open(opened, entry, facts)];
				} finally {
					release();
					hold.letGo(entry.providerId);
				}
			}),
		);
		return new Map(outcomes);
	}

	/** Whatever keeps a host from opening what it answered is the host's matter. Ours ends the call. */
	private async open(call: OpenedCall, entry: TreeEntry, facts: ChainFacts): Promise<Outcome> {
		const { pool, store, log, config } = this.context;
		const wrong = (code: string): Outcome => ({ state: "wrong", code, files: [] });
		const { chain, call: number } = call.stated;
		const id = { chainId: chain.id, contract: chain.contract, call: number, beta0: call.beta0 };
		const accountFor = (signer: Hex) => readAccountFor(this.context.home.contracts, signer);
		if (!(await isAccountBound(id, entry, accountFor))) return wrong("CALL_ACCOUNT_SIGNATURE");
		try {
			const isOurs = this.context.agents.has(entry.providerId);
			const made = await (isOurs ? openHost(this.context, call, entry) : this.elsewhere.open(call, entry));
			const files: Outcome["files"][number][] = [];
			for (const { device, file } of made) {
				const verdict = await pool.verifyRollCall(file, facts, {
					host: entry.host.key,
					drand: [config.rollCalls.drandNetwork],
				});
				if (verdict.status !== "valid") {
					log.warn({ provider: entry.providerId, device, verdict }, "an answer to a roll call is wrong");
					return wrong(verdict.code);
				}
				files.push({ device, sha256: await store.evidence.keep(file), bytes: file.length });
			}
			return { state: "answered", code: null, files };
		} catch (error) {
			this.stopping.signal.throwIfAborted();
			if (!(error instanceof AssayError)) throw error;
			log.warn({ provider: entry.providerId, code: error.code, detail: error.message }, "an answer was not opened");
			return wrong(error.code);
		}
	}

	private rowOf(
		{ deadlineMs }: RunningCall,
		{ host: { id: providerId, connectedTo }, isExcused }: Expected,
		{ ever }: HeardHosts,
		known: ReadonlyMap<string, Outcome>,
		{ byProvider }: CommittedTree,
	): RollAnswerRow {
		const nothing = {
			providerId,
			code: null,
			paidPpm: null,
			ms: null,
			leaf: null,
			reply: null,
			files: [],
			megaOps: 0,
			bytes: 0,
		};
		if (isExcused) return { ...nothing, state: "excused" };
		const heard = ever.get(providerId);
		const said = { ...nothing, ms: heard?.ms ?? null };
		const outcome = known.get(providerId);
		if (outcome === undefined) {
			if (heard !== undefined && "reply" in heard && heard.ms > deadlineMs) return { ...said, state: "late" };
			const silent = connectedTo === null ? "AGENT_CLOSED" : "AGENT_SILENT";
			return { ...said, state: "absent", code: heard !== undefined && "code" in heard ? heard.code : silent };
		}
		const entry = byProvider.get(providerId);
		if (entry === undefined) return { ...said, ...outcome };
		const { answers } = entry.reply;
		const megaOps = answers.reduce((sum, one) => sum + megaOf(rollOps(one)), 0);
		const bytes = answers.reduce((sum, one) => sum + rollBytes(one), 0);
		return { ...said, ...outcome, leaf: entry.first, reply: entry.reply, megaOps, bytes };
	}

	private async finish(call: RunningCall, { block: drawn }: Drawn, answers: readonly RollAnswerRow[]): Promise<void> {
		const { store, env, scores } = this.context;
		const end = { b2: drawn.number, b2AtS: drawn.atS, beta2: drawn.hash, nowMs: env.nowMs() };
		await store.rollCalls.finish(call, { ...end, answers });
		const right = answers.filter(({ state }) => state === "answered");
		const devices = right.reduce((sum, { files }) => sum + files.length, 0);
		const counted = answers.filter(({ state }) => state !== "excused").length;
		this.tell("done", call, { answered: right.length, counted, devices });
		const turns = createSemaphore(SCORED_AT_ONCE);
		await Promise.all(
			answers.map(async ({ providerId }) => {
				const release = await turns.acquire();
				try {
					if (!this.stopping.signal.aborted) await scores.score(providerId);
				} catch (error) {
					failure(this.context, "score")(error);
				} finally {
					release();
				}
			}),
		);
	}

	private async giveUp(call: RunningCall, error: unknown): Promise<void> {
		const { store, env } = this.context;
		const code = error instanceof AssayError ? error.code : "ROLL_CALL_VOID";
		await store.rollCalls.void(call, { code, nowMs: env.nowMs() }).catch(() => {});
		this.tell("void", call, { code });
	}

	/** Throws when this process stops: a call is not carried out half. */
	private async pause(ms: number): Promise<void> {
		const { signal } = this.stopping;
		if (ms > 0) await sleep(ms, signal, this.context.env.after);
		signal.throwIfAborted();
	}

	private tell(kind: string, { call }: RunningCall, detail: { readonly [name: string]: string | number }): void {
		const { hub } = this.context;
		hub.tell({ kind: `roll-call.${kind}`, subject: String(call), providerId: null, detail: { call, ...detail } });
	}
}

/** Who is rented and paid for cannot answer; who answers all the same has answered. */
const excuse = (row: RollAnswerRow, paidPpm: number | undefined): RollAnswerRow =>
	paidPpm === undefined || row.state === "answered" || row.state === "excused"
		? row
		: { ...row, state: "excused", paidPpm };

const megaOf = (ops: bigint): number => Number((ops + 999_999n) / 1_000_000n);

function isVoid(why: string): AssayError {
	return new AssayError("ROLL_CALL_VOID", why);
}
