// Disputes while everything breaks: watcher and provider are killed, the line to their node is cut, blocks
// are taken back, fees leap. Of false claims each must fall, of right ones, which somebody accuses all the
// same, none; no question and no answer may come twice, no clock pass that could be kept, no coin stay
// behind.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { decodeFunctionData, keccak256 } from "viem";
import { disputesAbi } from "../../../src/chain/abi/disputes-abi.ts";
import { type Contracts, read, readEvents } from "../../../src/chain/contracts/contracts.ts";
import { deployContracts } from "../../../src/chain/contracts/deploy.ts";
import {
	askCall,
	bookOf,
	openGameCall,
	readDisputeParams,
	readGame,
	readGames,
	type Sitting,
} from "../../../src/chain/contracts/dispute-games.ts";
import { readJobPart, settlePartCall } from "../../../src/chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../../src/chain/contracts/job-terms-text.ts";
import { createChainClient } from "../../../src/chain/node/chain-client.ts";
import { TOY_GENESIS_S, TREASURER } from "../../../src/chain/node/toy-node.test-kit.ts";
import { sendCall } from "../../../src/chain/sending/send-call.ts";
import { type Hex, toHex } from "../../../src/protocol/chain/hex.ts";
import { type ChainQuestion, encodeChainQuestion } from "../../../src/protocol/network/chain-question.ts";
import { openJobChain } from "../../../src/provider/jobs/open-job-chain.ts";
import { quickNumbers } from "../../../vectors/work-programs.ts";
import { type ChildProgram, startChild } from "../../network/child-program.ts";
import {
	type ChaosClaim,
	type ChaosPlan,
	contractsOf,
	endow,
	FALSE_ACCUSER,
	makeClaim,
	makeRuns,
	PROVIDER,
	SAMPLE,
	specWithBlobs,
	WATCHER,
	WINDOW_S,
} from "./chaos-claims.ts";
import { type ChaosNode, openChaosNode } from "./chaos-node.ts";

interface ChaosOptions {
	/** Of watcher, provider and line together. */
	readonly kills: number;
	/**
	 * At most: a further one is told to the watcher when one of the first eight fell. What it never hears of
	 * does not count.
	 */
	readonly lies: number;
	readonly rights: number;
	readonly seed: number;
	readonly onProgress?: (line: string) => void;
}

const GWEI = 10n ** 9n;
/** What no transaction of ours offers more than. */
const CAP = 500n * GWEI;
const MOST_END_MS = 900_000;
/** A reorganisation and a leap of fees for so many kills. */
const KILLS_A_FORK = 5;
const KILLS_A_LEAP = 8;

/** False claims that the watcher knows of at once: a life must last for more than looking at all of them. */
const LIES_AT_ONCE = 8;

type Draw = (below: number) => number;

/** Two programs that are started again whenever they end. */
class Actors {
	readonly counts = { watcher: 0, provider: 0 };
	private readonly running = new Map<string, ChildProgram>();
	/** Each has begun its work: on a busy machine that takes longer than most lives would last. */
	private readonly begun = new Map<string, Promise<unknown>>();
	private readonly planFor: (name: "watcher" | "provider") => ChaosPlan;
	private isOver = false;

	constructor(planFor: (name: "watcher" | "provider") => ChaosPlan) {
		this.planFor = planFor;
		for (const name of ["watcher", "provider"] as const) this.start(name);
	}

	private start(name: "watcher" | "provider"): void {
		const child = startChild(`../jobs/chaos/chaos-${name}.ts`);
		this.running.set(name, child);
		this.begun.set(
			name,
			child.ask("start", this.planFor(name)).catch(() => {}),
		);
		void child.ended.then(() => this.isOver || this.start(name));
	}

	async kill(name: "watcher" | "provider"): Promise<void> {
		this.counts[name] += 1;
		await this.renew(name);
	}

	/** As a kill that does not count. */
	async renew(name: "watcher" | "provider"): Promise<void> {
		await this.begun.get(name);
		this.running.get(name)!.kill("SIGKILL");
	}

	async close(): Promise<void> {
		this.isOver = true;
		for (const child of this.running.values()) child.kill("SIGKILL");
		await Promise.all([...this.running.values()].map(({ ended }) => ended));
	}
}

const sittingOf = ({ job }: ChaosClaim): Sitting => ({
	...{ job: BigInt(`0x${job}`), part: 0, attempt: 1, provider: PROVIDER.address },
});

/** Asks about a right claim whatever there is to ask, one question after the other. */
async function accuseFalsely(contracts: Contracts, claim: ChaosClaim, segments: number): Promise<void> {
	const { program } = SAMPLE;
	const questions: ChainQuestion[] = [];
	for (let segment = 1; segment < segments; segment++)
		questions.push(
			{ kind: "trace", segment, count: program.k * program.step.length },
			{ kind: "writer", phase: 1, tensor: segment % program.tensors.length },
		);
	const sitting = sittingOf(claim);
	for (const question of questions) {
		const bytes = toHex(encodeChainQuestion(question));
		for (;;) {
			const [game] = await readGames(contracts, { book: bookOf(sitting) });
			const asked = game?.rounds.find((round) => round.question === bytes);
			if (asked !== undefined && asked.answer !== null) break;
			// A fork may have taken it back.
			if (asked === undefined)
				await sendCall(
					contracts.client,
					FALSE_ACCUSER,
					game === undefined ? await openGameCall(contracts, sitting, bytes) : await askCall(contracts, sitting, bytes),
				).catch(() => {});
			await sleep(500);
		}
	}
}

/** Kills, cuts, forks and leaps of fees, one after the other. */
async function disturb(
	{ kills, onProgress }: ChaosOptions,
	draw: Draw,
	{ net, actors, standing }: { readonly net: ChaosNode; readonly actors: Actors; standing(): Promise<number> },
) {
	const done = { cuts: 0, forks: 0, deepest: 0, leaps: 0, whileClaimsStood: 0 };
	for (let i = 1; i <= kills; i++) {
		await sleep(500 + draw(4500));
		const stands = await standing();
		if (stands > 0) done.whileClaimsStood += 1;
		const which = draw(5);
		if (which < 4) await actors.kill(which < 2 ? "watcher" : "provider");
		else {
			done.cuts += 1;
			await net.cut(200 + draw(3000));
		}
		if (i % KILLS_A_FORK === 0) {
			const depth = 1 + draw(10);
			done.forks += 1;
			done.deepest = Math.max(done.deepest, depth);
			await net.fork(depth, () => draw(2) === 0);
		}
		if (i % KILLS_A_LEAP === 0) {
			done.leaps += 1;
			// Up to the cap, and above it: then nobody can send anything until it falls.
			await net.node.price((CAP * BigInt(40 + draw(70))) / 100n);
			await sleep(1000 + draw(6000));
			await net.node.price(GWEI);
		}
		if (i % 10 === 0) onProgress?.(`${i} kills and cuts; ${stands} false claims stand`);
	}
	return done;
}

/** What the chain shows in the end. */
async function look(contracts: Contracts, claims: readonly ChaosClaim[]) {
	const wrong: string[] = [];
	const convicted = await readEvents(contracts, "jobEscrow", "Convicted", {});
	for (const { job, cheat } of claims) {
		const of = convicted.filter(({ args }) => args.job === BigInt(`0x${job}`));
		if (cheat === null && of.length > 0) wrong.push(`${job}: a right claim was convicted`);
		if (cheat !== null && of.length !== 1) wrong.push(`${job}: a false claim was convicted ${of.length} times`);
		for (const { args } of of)
			if (args.accuser !== WATCHER.address) wrong.push(`${job}: ${args.accuser} is paid, not the watcher`);
	}
	const silent = await readEvents(contracts, "disputes", "Silent", {});
	if (silent.length > 0) wrong.push(`${silent.length} questions were not answered in time`);
	let [questions, answers] = [0, 0];
	for (const claim of claims)
		for (const { accuser, rounds } of await readGames(contracts, { book: bookOf(sittingOf(claim)) })) {
			const asked = rounds.map(({ question }) => question);
			questions += asked.length;
			answers += rounds.filter(({ answer }) => answer !== null).length;
			if (new Set(asked).size < asked.length) wrong.push(`${claim.job}: ${accuser} asked one thing twice`);
			if (rounds.some(({ answer }, i) => answer === null && (claim.cheat === null || i + 1 < rounds.length)))
				wrong.push(`${claim.job}: a question of ${accuser} has no answer`);
		}
	return { wrong, convicted: convicted.length, questions, answers };
}

/** Transactions of ours that the chain took and refused: each was a move that did not fit any more. */
async function refused(contracts: Contracts): Promise<{ sent: number; reverted: string[]; wrong: string[] }> {
	const { client } = contracts;
	const head = Number(await client.viem.getBlockNumber());
	const own = new Set([WATCHER, PROVIDER].map(({ address }) => address.toLowerCase()));
	const found = { sent: 0, reverted: [] as string[], wrong: [] as string[] };
	for (let i = 0; i <= head; i++) {
		const { transactions } = await client.viem.getBlock({ blockNumber: BigInt(i), includeTransactions: true });
		for (const { from, hash, input } of transactions) {
			if (!own.has(from.toLowerCase())) continue;
			found.sent += 1;
			const { status, transactionIndex, gasUsed } = await client.viem.getTransactionReceipt({ hash });
			if (status === "success") continue;
			const at = { blockNumber: BigInt(i), transactionIndex };
			const why = await whyReverted(contracts, input, at);
			found.reverted.push(`${from} ${input.slice(0, 10)} ${gasUsed} gas: ${why}`);
			if (why.startsWith("an answer that")) found.wrong.push(`${from} sent ${why}`);
		}
	}
	return found;
}

interface Mined {
	readonly blockNumber: bigint;
	readonly transactionIndex: number;
}
const isBefore = (a: Mined, b: Mined): boolean =>
	a.blockNumber < b.blockNumber || (a.blockNumber === b.blockNumber && a.transactionIndex < b.transactionIndex);

/**
 * A reorganisation took question and answer back, and the answer was mined again first: nobody can foresee
 * that.
 */
const BEFORE_ITS_QUESTION = "an answer, mined before its question";

async function whyReverted(contracts: Contracts, input: Hex, at: Mined): Promise<string> {
	const { functionName, args } = decodeFunctionData({ abi: disputesAbi, data: input });
	if (functionName !== "answer") return functionName;
	const [job, part, attempt, accuser, question] = args;
	const book = bookOf({ job, part, attempt, provider: PROVIDER.address });
	const asked = await readEvents(contracts, "disputes", "Asked", { book, accuser });
	const answered = await readEvents(contracts, "disputes", "Answered", {
		book,
		accuser,
		question: keccak256(question),
	});
	if (answered.some((one) => isBefore(one, at))) return "an answer that was given before";
	const isAsked = asked.some((one) => one.args.question === question && isBefore(one, at));
	return isAsked ? "an answer that the chain does not take" : BEFORE_ITS_QUESTION;
}

/**
 * The right claims are paid, the deposits of games against them are their provider's: nothing stays in the
 * contract.
 */
async function payAll(net: ChaosNode, contracts: Contracts, claims: readonly ChaosClaim[]): Promise<string[]> {
	const wrong: string[] = [];
	const { gameSeconds } = await readDisputeParams(contracts);
	await net.pass(WINDOW_S + gameSeconds + 60);
	const chain = await openJobChain(contracts, PROVIDER, "cd".repeat(32));
	for (const { job, terms, cheat } of claims) {
		if (cheat !== null) continue;
		await sendCall(contracts.client, TREASURER, settlePartCall(contracts, jobTermsFromText(terms), 0));
		await chain.collectDeposits(job, 0, 1);
		if ((await chain.part(job, 0)).state !== "settled") wrong.push(`${job}: a right claim is not paid`);
	}
	for (const claim of claims)
		if (claim.cheat !== null && !(await readGame(contracts, sittingOf(claim), WATCHER.address)).isPaid)
			wrong.push(`${claim.job}: the watcher's deposits were not collected`);
	const left = await contracts.client.viem.getBalance({ address: contracts.addresses.disputes });
	if (left !== 0n) wrong.push(`${left} coins stay in the contract`);
	const owed = await read(contracts, "jobEscrow", "owedTo", WATCHER.address);
	if (owed !== 0n) wrong.push(`${owed} units of what convictions brought were not collected`);
	return wrong;
}

export async function runDisputeChaos(options: ChaosOptions) {
	const { seed, lies, rights, onProgress } = options;
	const draw = quickNumbers(`dispute chaos ${seed}`);
	const folder = mkdtempSync(join(tmpdir(), "assay-chaos-"));
	const net = await openChaosNode();
	const atMs = Date.now();
	try {
		const client = await createChainClient(net.rpc, { confirmations: 1, pollMs: 50 });
		// A real network's clocks: half an hour for an answer.
		const schedule = { genesis: TOY_GENESIS_S, epochSeconds: 86_400 };
		const own = await deployContracts(client, TREASURER, schedule);
		await endow(own, lies + rights);
		const runs = await makeRuns(folder, Math.min(lies, 5));
		const { spec, blobs } = await specWithBlobs(runs.honest);
		const claims: ChaosClaim[] = [];
		for (let i = 0; i < lies + rights; i++) {
			const made = await makeClaim(own, i < lies ? runs.liars[i % runs.liars.length]! : runs.honest, `chaos ${i}`);
			claims.push(made.claim);
			blobs.push(made.list);
		}
		const { addresses } = own;
		const { segments } = runs.honest;
		const plan: ChaosPlan = { url: net.url, addresses, spec, segments, blobs, claims, folder };
		net.startMining();
		onProgress?.(
			`${lies} false and ${rights} right claims stand; the watcher hears of ${Math.min(lies, LIES_AT_ONCE)} at first`,
		);
		const [lying, right] = [claims.slice(0, lies), claims.slice(lies)];
		let shown = Math.min(lies, LIES_AT_ONCE);
		const known = () => [...lying.slice(0, shown), ...right];
		const actors = new Actors((name) => (name === "watcher" ? { ...plan, claims: known() } : plan));
		const far = await contractsOf(plan);
		const falsely = Promise.all(right.map((claim) => accuseFalsely(far, claim, segments)));
		const left = async () => {
			const states = lying.slice(0, shown).map(({ job }) => readJobPart(own, BigInt(`0x${job}`), 0));
			return (await Promise.all(states)).filter(({ state }) => state === "claimed").length;
		};
		/** The watcher that is started next hears of further ones. */
		const standing = async () => {
			const found = await left();
			shown = Math.min(lies, shown + LIES_AT_ONCE - found);
			return found;
		};
		try {
			const done = await disturb(options, draw, { net, actors, standing });
			// One that has heard of all of them, and lives on.
			await actors.renew("watcher");
			const calmMs = Date.now();
			// Now everything that began comes to its end.
			while ((await left()) > 0 && Date.now() < calmMs + MOST_END_MS) await sleep(1000);
			await Promise.race([falsely, sleep(Math.max(0, calmMs + MOST_END_MS - Date.now()))]);
			onProgress?.("calm");
			await isCollected(own, known(), calmMs + MOST_END_MS);
			const seen = await look(own, known());
			const sent = await refused(own);
			await actors.close();
			const wrong = [...seen.wrong, ...sent.wrong, ...(await payAll(net, own, known()))];
			const { watcher, provider } = actors.counts;
			const games = {
				lies: shown,
				rights,
				convicted: seen.convicted,
				questions: seen.questions,
				answers: seen.answers,
			};
			const troubles = readFileSync(join(folder, "events.jsonl"), "utf8").split("\n");
			return {
				...{ seed, killed: { watcher, provider }, ...done, ...games, transactions: sent.sent, reverted: sent.reverted },
				troubles: troubles.filter((line) => /"trouble"|"ended"/.test(line)).length,
				...{ minutes: Number(((Date.now() - atMs) / 60_000).toFixed(1)), wrong },
			};
		} finally {
			await actors.close();
		}
	} finally {
		await net.close();
		rmSync(folder, { recursive: true, force: true });
	}
}

/** What fell is collected by the watcher, whichever of its processes lives now. */
async function isCollected(contracts: Contracts, claims: readonly ChaosClaim[], untilMs: number): Promise<void> {
	for (const claim of claims) {
		if (claim.cheat === null) continue;
		while (Date.now() < untilMs && !(await readGame(contracts, sittingOf(claim), WATCHER.address)).isPaid)
			await sleep(500);
	}
	while (Date.now() < untilMs && (await read(contracts, "jobEscrow", "owedTo", WATCHER.address)) > 0n) await sleep(500);
}
