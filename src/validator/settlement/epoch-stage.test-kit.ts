// Validators of one network on one real EVM, each with files, a server and a game of its own; the chain's
// clock moves by hand. Any of them may keep its leaves back, answer never, or give out something else.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Contracts, callOf, read } from "../../chain/contracts/contracts.ts";
import { deployContracts, fundRewards, type Schedule } from "../../chain/contracts/deploy.ts";
import { approveCall, registerCall } from "../../chain/contracts/registry.ts";
import * as board from "../../chain/contracts/scoreboard.ts";
import { type ChainClient, createChainClient } from "../../chain/node/chain-client.ts";
import type { Rpc } from "../../chain/node/rpc.ts";
import { createToyNode, TOY_GENESIS_S, type ToyNode, TREASURER } from "../../chain/node/toy-node.test-kit.ts";
import { memoryIntents } from "../../chain/sending/publish.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import { accountOf, type ChainAccount } from "../../chain/sending/sign.ts";
import { createScoreReport } from "../../market/epochs/score-report.ts";
import { bitOf } from "../../market/epochs/seat-set.ts";
import { createWeights, type SignableWeights } from "../../market/epochs/weights.ts";
import type { RewardLeaf, ScoreLeaf, Seat } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { SignedWeights } from "../../protocol/chain/statements-file.ts";
import { weightsId } from "../../protocol/chain/weights-statement.ts";
import { createEpochGame, type EpochGame } from "./epoch-game.ts";
import { createLeafFetcher } from "./fetch-leaves.ts";
import type { ChainEvent } from "./game-state.ts";
import { createReportArchive, type ReportArchive } from "./report-archive.ts";

export const UNIT = 10n ** 18n;
export const EMISSION = 1000n * UNIT;
export const EPOCH_S = 600;

export const provider = (n: number): Hex => `0x${n.toString(16).padStart(40, "0")}`;
export const scoresOf = (...ppm: number[]): readonly ScoreLeaf[] =>
	ppm.map((scorePpm, i) => ({ provider: provider(i + 1), scorePpm, evidenceSha256: `0x${"ab".repeat(32)}` }));
export const HONEST = [500_000, 250_000, 125_000, 60_000];

export interface Member {
	readonly index: number;
	readonly account: ChainAccount;
	readonly address: Hex;
	readonly archive: ReportArchive;
	readonly events: ChainEvent[];
	readonly errors: { readonly what: string; readonly error: unknown }[];
	scores: readonly ScoreLeaf[];
	/** Takes no part at all. */
	isAsleep: boolean;
	/** Answers a request itself; false: as an honest one would. */
	answer: (url: string, response: ServerResponse) => boolean;
	/** Requests that it had, by path. */
	readonly asked: string[];
	game: EpochGame;
	/** A new process of the same data folder. */
	restart: () => Promise<void>;
}

export interface Stage {
	readonly node: ToyNode;
	readonly client: ChainClient;
	readonly contracts: Contracts;
	readonly members: readonly Member[];
	readonly params: board.EpochParams;
	/** Whatever the node was asked. */
	readonly requests: { readonly method: string; readonly params: readonly unknown[] }[];
	/** A node that does not tell the truth. */
	lie: ((method: string, answer: unknown) => unknown) | null;
}

const folder = mkdtempSync(join(tmpdir(), "assay-epochs-"));
const servers: Server[] = [];
/** For each file that makes stages: `after(endStages)`. */
export function endStages(): void {
	for (const server of servers.splice(0)) server.close().closeAllConnections();
	rmSync(folder, { recursive: true, force: true });
}

/** Never answers; the line is gone after a while, as tests have no 20 s for it. */
export const hangs: Member["answer"] = (_, response) => {
	setTimeout(() => response.destroy(), 100);
	return true;
};
/** Has nothing. */
export const hides: Member["answer"] = (_, response) => {
	response.writeHead(404).end();
	return true;
};

/** A node on which the contracts of a schedule stand and nothing else, and the way back to that. */
interface Ground {
	readonly node: ToyNode;
	readonly addresses: Contracts["addresses"];
	readonly clear: () => Promise<void>;
	/** Who stands on it: whatever that one still asks once the next has come is refused. */
	holder: object | null;
}
const grounds = new Map<string, Ground>();

/**
 * A deployment takes longer than most of what is played on it: one for each schedule in a file, whose tests
 * come one by one.
 */
async function groundOf(schedule: Partial<Schedule> = {}): Promise<Ground> {
	const key = JSON.stringify(schedule);
	const known = grounds.get(key);
	if (known !== undefined) {
		known.holder = null;
		await known.clear();
		return known;
	}
	const node = await createToyNode();
	const client = await createChainClient(node.rpc, AT_ONCE);
	const { addresses } = await deployContracts(client, TREASURER, {
		genesis: TOY_GENESIS_S,
		epochSeconds: EPOCH_S,
		epochs: { targetWeight: 0, challengeSeconds: EPOCH_S },
		...schedule,
	});
	const ground = { node, addresses, clear: await node.keep(), holder: null };
	grounds.set(key, ground);
	return ground;
}

const AT_ONCE = { confirmations: 1, sleep: async () => {} };
let stages = 0;
/** Questions to nodes and members that are not answered yet; not those that never are. */
let open = 0;
export const isAnybodyAsked = (): boolean => open > 0;

export async function createStage(
	stakes: readonly bigint[],
	more: {
		readonly schedule?: Partial<Schedule>;
		readonly fundTokens?: bigint;
		/** What the members' programs wait for blocks with; absent: each transaction is a block. */
		readonly slow?: { readonly confirmations: number; readonly sleep: () => Promise<void> };
	} = {},
): Promise<Stage> {
	const ground = await groundOf(more.schedule);
	const { node, addresses } = ground;
	const requests: Stage["requests"] = [];
	const rpc: Rpc = async (method, params) => {
		if (ground.holder !== stage) throw new Error("this stage is over: another one was made");
		requests.push({ method, params });
		open++;
		try {
			const answer = await node.rpc(method, params);
			return stage.lie === null ? answer : stage.lie(method, answer);
		} finally {
			open--;
		}
	};
	const stage = { lie: null as Stage["lie"] };
	ground.holder = stage;
	const client = await createChainClient(rpc, AT_ONCE);
	const contracts: Contracts = { client, addresses };
	await fundRewards(contracts, TREASURER, (more.fundTokens ?? 100_000n) * UNIT);
	const name = `stage-${stages++}`;
	const members: Member[] = [];
	const slow = more.slow && { ...contracts, client: await createChainClient(rpc, more.slow) };
	for (const [index, stake] of stakes.entries()) {
		const member = await createMember({
			node,
			contracts: slow ?? contracts,
			folder: join(folder, name, String(index)),
			index,
		});
		const { account, url } = member;
		const amount = stake * UNIT;
		await sendCall(client, TREASURER, { to: account.address, data: "0x", value: 10n * UNIT });
		await sendCall(client, TREASURER, callOf(contracts, "token", "transfer", account.address, amount));
		await sendCall(client, account, approveCall(contracts, amount));
		const signingKey: Hex = `0x${account.address.slice(2).toLowerCase().padStart(64, "0")}`;
		const entry = { role: "validator", signingKey, keyProof: "0x", endpoint: url, amount } as const;
		await sendCall(client, account, registerCall(contracts, entry));
		members.push(member);
	}
	for (const member of members) await member.restart();
	node.isPooling = more.slow !== undefined;
	const params = await board.readEpochParams(contracts);
	return Object.assign(stage, { node, client, contracts, members, requests, params });
}

async function createMember(o: {
	readonly node: ToyNode;
	readonly contracts: Contracts;
	readonly folder: string;
	readonly index: number;
}): Promise<Member & { readonly url: string }> {
	const account = accountOf(`0x${(o.index + 160).toString(16).repeat(32)}`);
	const archive = createReportArchive(o.folder);
	const member = {
		index: o.index,
		account,
		address: account.address.toLowerCase() as Hex,
		archive,
		events: [],
		errors: [],
		asked: [],
		// The same scores by evidence of its own: two reports with one root would be one file.
		scores: scoresOf(...HONEST).map((leaf) => ({
			...leaf,
			evidenceSha256: `0x${o.index.toString(16).padStart(64, "0")}` as const,
		})),
		isAsleep: false,
		answer: () => false,
	} as unknown as Member;
	member.restart = async () => {
		member.game = await createEpochGame({
			contracts: o.contracts,
			account,
			saltSecret: new Uint8Array(32).fill(o.index),
			journal: memoryIntents(),
			archive,
			nowS: () => o.node.nowS,
			nowMs: () => o.node.nowS * 1000,
			scores: async () => member.scores,
			fetched: createLeafFetcher(o.contracts),
			providers: () => 100,
			tell: (event) => member.events.push(event),
			onError: (what, error) => member.errors.push({ what, error }),
		});
	};
	const server = createServer(async ({ url = "" }, response) => {
		member.asked.push(url);
		if (member.answer(url, response)) return;
		open++;
		try {
			const bytes = await archive.publicFile(url);
			response.writeHead(bytes === null ? 404 : 200).end(bytes ?? "");
		} finally {
			open--;
		}
	});
	servers.push(server);
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return Object.assign(member, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

/** Everybody who is awake does what is due, again and again, until this second of the chain's clock. */
export async function playUntil({ node, members }: Stage, untilS: number, stepS = 5): Promise<void> {
	for (;;) {
		let any = false;
		for (const { game, isAsleep } of members) if (!isAsleep) any = (await game.turn()) || any;
		await Promise.all(members.map(({ game, isAsleep }) => (isAsleep ? null : game.player.idle())));
		if (any) continue;
		if (node.nowS >= untilS) return;
		node.nowS = Math.min(untilS, node.nowS + stepS);
	}
}

/** The windows of an epoch, and everybody through commit and reveal, to the first second of signing. */
export async function report(stage: Stage, epoch: number): Promise<board.EpochWindows> {
	const windows = board.windowsOf(stage.params, epoch);
	for (const at of [windows.endsAt, windows.revealsAt, windows.signsAt]) {
		stage.node.nowS = Math.max(stage.node.nowS, at);
		await playUntil(stage, at);
	}
	return windows;
}

/** What this set's reports would give if all of them said `scores`: well-made, and wrong unless they do. */
export async function weightsIf(
	{ contracts, params }: Stage,
	epoch: number,
	scores: readonly ScoreLeaf[],
	set?: bigint,
): Promise<SignableWeights & { readonly seats: readonly Seat[]; readonly id: Hex }> {
	const seats = await board.readSeats(contracts, epoch);
	const endsAt = BigInt(board.windowsOf(params, epoch).endsAt);
	const { scoreboard } = contracts.addresses;
	const report = createScoreReport(scores);
	const made = createWeights(set ?? (1n << BigInt(seats.length)) - 1n, {
		epoch: BigInt(epoch),
		base: null,
		seats,
		reports: seats.map(() => report),
		pot: await read(contracts, "scoreboard", "potOf", BigInt(epoch), 0n),
		totalStake: await read(contracts, "registry", "totalVotingStakeAt", scoreboard, endsAt - 1n),
		rules: { ...params, targetWeight: BigInt(params.targetWeight) },
	});
	return { ...made, seats, id: weightsId(contracts.addresses, made.weights) };
}

/** Signed by these members, whatever it says; and given out by the first of them. */
export async function signAs(
	{ contracts }: Stage,
	{ weights, leaves, seats, id }: Awaited<ReturnType<typeof weightsIf>>,
	who: readonly Member[],
): Promise<SignedWeights & { readonly signers: bigint }> {
	const signed = seats.flatMap(({ signer }, seat) => {
		const member = who.find(({ address }) => address === signer);
		return member === undefined ? [] : [{ seat, member }];
	});
	const signatures = [];
	for (const { member } of signed)
		signatures.push({
			signer: member.address,
			signature: await board.signWeights(member.account, contracts.addresses, weights),
		});
	const epoch = Number(weights.epoch);
	await who[0]!.archive.putRewards(epoch, id, leaves);
	await who[0]!.archive.putStatements(epoch, [{ weights, signatures }]);
	const signers = signed.reduce((set, { seat }) => set | bitOf(seat), 0n);
	return { weights, signatures, signers };
}

export const postAs = (
	{ client, contracts }: Stage,
	by: Member,
	{ weights, signatures, signers }: Awaited<ReturnType<typeof signAs>>,
	seats: readonly Seat[],
) =>
	sendCall(
		client,
		by.account,
		board.postCall(contracts, { weights, seats, signers, signatures: signatures.map(({ signature }) => signature) }),
	);

/** What stands for an epoch, with its leaves as some member has them. */
export async function postedOf({ contracts, members }: Stage, epoch: number) {
	const posted = await board.readPosted(contracts, epoch);
	assert.notEqual(posted, null, `nothing was posted for epoch ${epoch}`);
	const { weights } = (await board.readStated(contracts, epoch, posted!.id))!;
	for (const { archive } of members) {
		const leaves = await archive.rewards(epoch, posted!.id);
		if (leaves !== null) return { ...posted!, weights, leaves };
	}
	assert.fail("nobody has its leaves");
}

/** Of the four that honest reports name. */
export const providerWeights = (leaves: readonly RewardLeaf[]) =>
	HONEST.map((_, i) => leaves.find(({ account }) => account === provider(i + 1))?.weightPpm ?? 0);
