// Jobs that are paid by proof, through the whole market: a customer orders, a real provider trains and
// claims, provers prove its segments and are paid, and the chain pays the worker when its end is bound. With
// a prover that is killed half-way, one that proves to commitments from which nobody else could go on, and a
// worker that has one wrong step. The contracts by themselves are contracts/test/zk-jobs.test.ts.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { ReadContractParameters } from "viem";
import { fetchBlob } from "../../src/api/blob-transfer.ts";
import { createApiClient } from "../../src/api/create-client.ts";
import { read, readEvents } from "../../src/chain/contracts/contracts.ts";
import { bookOf, openGameCall, readGame, readGames } from "../../src/chain/contracts/dispute-games.ts";
import { jobIdOf, readJobDeposit, readJobPart } from "../../src/chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../src/chain/contracts/job-terms-text.ts";
import { demandProofCall, orderDisputesCall } from "../../src/chain/contracts/segment-proofs.ts";
import {
	orderProofsCall,
	readProverJob,
	readZkHead,
	registerPlanCall,
	submitProofCall,
	type ZkOrder,
} from "../../src/chain/contracts/zk-jobs.ts";
import { refusedBecause } from "../../src/chain/sending/refusal.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf, type ChainAccount } from "../../src/chain/sending/sign.ts";
import { contestBy } from "../../src/cli/watch/open-watcher.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { lyingEngine } from "../../src/engine/lying-engine.ts";
import { sleep } from "../../src/platform/abortable.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { toHex } from "../../src/protocol/chain/hex.ts";
import { encodeChainQuestion } from "../../src/protocol/network/chain-question.ts";
import type { JobOffer } from "../../src/protocol/network/job-offer.ts";
import { ANSWER_PAGE_BYTES, questionText } from "../../src/protocol/network/job-question.ts";
import type { Provider } from "../../src/provider/create-provider.ts";
import { pointsHash, segmentOf, treeOf } from "../../src/provider/proofs/chain-forms.ts";
import { claimedStates } from "../../src/provider/proofs/claimed-states.ts";
import { openDisputeChain } from "../../src/provider/proofs/hybrid/dispute-chain.ts";
import { commitmentsOf, listOf, proveDisputed } from "../../src/provider/proofs/hybrid/run-in-dispute.ts";
import { segmentCase } from "../../src/provider/proofs/hybrid/segment-case.ts";
import { nodesBelow } from "../../src/provider/proofs/keep-end.ts";
import { inputOf, makeOrder } from "../../src/provider/proofs/order.ts";
import { powersOf } from "../../src/provider/proofs/powers.ts";
import { openProofChain } from "../../src/provider/proofs/proof-chain.ts";
import { openWork, orderedJobs, type ProverApi } from "../../src/provider/proofs/provable-jobs.ts";
import { createProver, type ProofNews } from "../../src/provider/proofs/prove-jobs.ts";
import { ownOrder } from "../../src/provider/proofs/prover.ts";
import { rerunStates } from "../../src/provider/proofs/rerun-states.ts";
import { readLists } from "../../src/provider/proofs/segment-ends.ts";
import { ownEngine } from "../../src/validator/jobs/evidence/own-engine.ts";
import { openWatchBook } from "../../src/validator/jobs/watch/watch-book.ts";
import { openWatchChain } from "../../src/validator/jobs/watch/watch-chain.ts";
import { createWatcher } from "../../src/validator/jobs/watch/watcher.ts";
import { verifyProofFile } from "../../src/verify/zk/proof-file.ts";
import { powerOf } from "../../src/verify/zk/srs.ts";
import { weightTrees } from "../../src/verify/zk/weight-trees.ts";
import { bytesToElements, elementCount, elementsToBytes } from "../../src/work/operators/tensor-type.ts";
import { compilePlan, planWords, type ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { rootsTree } from "../../src/work/trace/commitments.ts";
import { tensorRoot } from "../../src/work/trace/tensor-tree.ts";
import type { Workload } from "../../src/work/workloads/workload.ts";
import { isDeep } from "../fuzz.test-kit.ts";
import { eventually, signerOf } from "../validator/toy-agent.test-kit.ts";
import { type Prover, startProver } from "../zk/engine-prover.test-kit.ts";
import { proveTrained, SEED, trained, trainedModel } from "../zk/trained.test-kit.ts";
import { type Order, openStage, PAYER, prepare, type Stage, submit } from "./job-stage.test-kit.ts";
import { prove } from "./prove-host.test-kit.ts";
import { openRealProvider } from "./real-provider.test-kit.ts";
import { endow } from "./toy-worker.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-zk-jobs-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
const UNIT = 10n ** 18n;
/** With steps. */
const SEGMENTS = 3;
/** Longer than the window of trees; and longer than both windows of a claim. */
const [TREES_MS, WINDOWS_MS] = [25_000, 1_300_000];
/** Longer than any game. */
const GAME_MS = 7_300_000;

let skippedMs = 0;
const nowMs = () => Date.now() + skippedMs;

const model = trainedModel();
const workload: Workload = { ...model, seed: SEED, segments: SEGMENTS, metrics: [], files: [] };
/** Of small chunks, so that few powers have to be made. */
const plan = compilePlan(model.program, 10) as ZkPlan;

let stage: Stage;
let engine: Prover;
let command: string;
let order: ZkOrder;
const workers = new Map<string, Provider>();

before(async () => {
	command = (await findEngine(hostPlatform())).path;
	engine = await startProver();
	const times = { jobBeatMs: 6000, jobBeatMisses: 100, jobLeastWorkMs: 600_000, jobWindowMs: 600_000 };
	// The least chance: one claim in a hundred is run again.
	const params = { ...times, jobAuditPpm: 10_000 };
	stage = await openStage({ hasChain: true, params, nowMs });
	const given = async (tensor: number) => elementsToBytes(model.given[model.program.tensors[tensor]!.name]!);
	order = await makeOrder({ program: model.program, plan, seed: SEED, given }, proofEngine(), POWERS);
});
after(async () => {
	for (const one of workers.values()) await one.stop();
	await engine?.close();
	await stage?.close();
});

const POWERS = powersOf(0x4000_0000, null)(plan.chunkBits);
const proofEngine = () => ({ open: engine.openWork, openProof: engine.open, device: 0, close: async () => {} });
const owed = (account: ChainAccount) => read(stage.chain!.contracts, "jobEscrow", "owedTo", account.address);
const tokens = (account: ChainAccount) => read(stage.chain!.contracts, "token", "balanceOf", account.address);

async function startWorker(
	n: number,
	isLiar = false,
): Promise<{ key: string; account: ChainAccount; stop(): Promise<void> }> {
	const { chain, validator } = stage;
	const [signer, account] = [signerOf(300 + n), accountOf(`0x${(0xe0 + n).toString(16).repeat(32)}`)];
	if ((await validator.store.providers.get(signer.key)) === null)
		await endow(chain!.contracts, chain!.treasurer, account, 0n, 1000n * UNIT);
	const provider = await openRealProvider({
		...{ url: validator.url, signer, dataFolder: join(scratch, `worker-${n}`), nowMs, onEvent: () => {} },
		...(isLiar && { engine: lyingEngine(command, { segment: 2 }) }),
		...{ chain: { contracts: chain!.contracts, account }, limits: { provesDisputes: true } },
	});
	workers.set(signer.key, provider);
	await eventually(async () => (await validator.store.providers.get(signer.key))?.connectedTo != null);
	if (n === 1)
		await assert.rejects(prepare(stage, zkOrder("a0")), {
			...{ code: "JOB_NO_PROVIDER", message: /of 1 that are there and take jobs, one has not been probed yet$/ },
		});
	await prove(validator.store, signer.key, { nowMs: nowMs() });
	const stop = async () => {
		workers.delete(signer.key);
		await provider.stop();
		// Hosts are remembered for a second: a part that is offered to one that has gone waits for it.
		await eventually(async () => {
			const { rows } = await validator.client.listJobHosts({ query: {} });
			return rows.every(({ provider: id }) => id !== signer.key);
		});
	};
	return { key: signer.key, account, stop };
}

const accountOfProver = (n: number) => accountOf(`0x${(0xf000 + n).toString(16).repeat(16)}`);
const apiOfProver = (n: number) => createApiClient({ baseUrl: stage.validator.url, signer: signerOf(400 + n), nowMs });

function openProver(
	n: number,
	signal: AbortSignal,
	onEvent: (news: ProofNews) => void,
	contracts = stage.chain!.contracts,
) {
	return createProver({
		...{ contracts, account: accountOfProver(n), signal, onEvent, nowMs, restMs: 0, leastMicros: 0 },
		...{ startEngine: async () => proofEngine(), powersFor: () => POWERS, folder: join(scratch, `prover-${n}`) },
		api: apiOfProver(n),
	});
}

/**
 * The first of a prover's accounts, from this number on, whose own order is from the last segment to the
 * first.
 */
function lastFirst(id: string, from: number): number {
	const end = 1 + SEGMENTS;
	let n = from;
	while (ownOrder(accountOfProver(n).address, BigInt(`0x${id}`), 1, end).join() !== "3,2,1") n += 1;
	return n;
}

let runs = 0;
/** The states of a job as a prover comes by them, with some of the validator's answers changed. */
async function statesOf(id: string, changed: Partial<ProverApi>) {
	const { contracts } = stage.chain!;
	const api = { ...apiOfProver(0), ...changed };
	const of = (await orderedJobs(contracts)()).find(({ job }) => job === BigInt(`0x${id}`))!;
	const work = (await eventually(() => openWork(apiOfProver(0), of)))!;
	const claimed = claimedStates(api, contracts, of, work.program);
	return rerunStates(work, proofEngine(), join(scratch, `again-${runs++}`), claimed);
}

/** What of a claim's states a hostile worker or validator can make a prover believe: nothing. */
async function triedStates(id: string): Promise<void> {
	const api = apiOfProver(0);
	const honest = await statesOf(id, {});
	const last = await honest.stateBefore(SEGMENTS);
	assert.deepEqual([honest.ran(), honest.isClaimed(SEGMENTS)], [0, true]);
	// The state after is one's own segment on a state that was claimed; an earlier one is another state of the
	// claim.
	await honest.stateBefore(SEGMENTS + 1);
	await honest.stateBefore(SEGMENTS - 1);
	assert.deepEqual([honest.ran(), honest.isClaimed(SEGMENTS + 1)], [1, true]);
	await honest.close();
	const { size } = (await stage.customer.getClaim({ params: { hash: (await partOf(id)).claim! } })).ends!.states;
	const said = (answer: string) => ({ askClaim: async () => ({ answer, signature: null }) });
	const rows = async (change: (row: object) => object) => {
		const page = await api.listClaims({ query: { job: id, limit: 100 } });
		return { ...page, rows: page.rows.map((row) => ({ ...row, ...change(row) })) };
	};
	const hostile: Record<string, Partial<ProverApi>> = {
		none: { askClaim: () => Promise.reject(new AssayError("NO_ANSWER", "gone")) },
		"other roots": said("00".repeat(32 * model.program.tensors.filter(({ kind }) => kind === "state").length)),
		"too much": said("00".repeat(ANSWER_PAGE_BYTES)),
		"other bytes": {
			async getJobBlob(call) {
				const bytes = await api.getJobBlob(call);
				return call.query.size === size ? bytes : bytes.map((one) => one ^ 1);
			},
		},
		"endless bytes": {
			async getJobBlob(call) {
				const bytes = await api.getJobBlob(call);
				return call.query.size === size ? bytes : new Uint8Array(2 * bytes.length);
			},
		},
		"another claim": { listClaims: () => rows(() => ({ segmentRoot: "11".repeat(32) })) as never },
		"no claim": { listClaims: () => rows(() => ({ ends: null })) as never },
	};
	for (const [name, changed] of Object.entries(hostile)) {
		const states = await statesOf(id, changed);
		assert.deepEqual([await states.stateBefore(SEGMENTS), states.ran()], [last, SEGMENTS], name);
		assert.equal(states.isClaimed(SEGMENTS), false, name);
		await states.close();
	}
	// Strangers have states of zk claims by their checkpoints alone, never a part's ends.
	const ask = (segment: number) =>
		api.askClaim({
			params: { hash: hash! },
			body: { question: questionText({ kind: "state", audit: null, page: 0, segment }) },
		});
	const hash = (await partOf(id)).claim;
	for (const segment of [0, 1 + SEGMENTS]) await assert.rejects(ask(segment), { code: "JOB_QUESTION" });
}

async function registerPlan(): Promise<void> {
	const { contracts } = stage.chain!;
	const known = BigInt(await read(contracts, "zkPlans", "imageOf", order.plan)) !== 0n;
	if (!known) await sendCall(contracts.client, PAYER, registerPlanCall(contracts, toHex(planWords(plan))));
}

async function orderOnChain({ escrow }: JobOffer): Promise<void> {
	const { contracts } = stage.chain!;
	await registerPlan();
	await sendCall(contracts.client, PAYER, orderProofsCall(contracts, jobTermsFromText(escrow!.terms), order));
}

const zkOrder = (salt: string): Order => ({
	...{ method: { name: "zk", count: 0 }, workload, salt: salt.repeat(32), onFunded: orderOnChain },
});

/** An optimistic job whose disputes a proof settles. */
const provable = (salt: string): Order => ({
	...{ method: { name: "optimistic", count: 0 }, workload, salt: salt.repeat(32) },
	onOffered: async ({ escrow }) => {
		const { contracts } = stage.chain!;
		await registerPlan();
		const call = orderDisputesCall(contracts, jobTermsFromText(escrow!.terms), order);
		await sendCall(contracts.client, PAYER, call);
	},
});

/** The validator knows of a new host a moment later. */
const submitSoon = (wish: Order) =>
	eventually(() =>
		submit(stage, wish).catch((error) => (error.code === "JOB_NO_PROVIDER" ? null : Promise.reject(error))),
	);
const partOf = async (id: string) => (await stage.customer.getJob({ params: { id } })).record.parts[0]!;
const claimed = (id: string) => eventually(async () => (await partOf(id)).state === "claimed");
/** Of a claim that is paid by proof: its ends are shown a moment after it came. */
const shownEnds = (id: string) =>
	eventually(async () => {
		const { state, claim } = await partOf(id);
		return state === "claimed" && (await stage.customer.getClaim({ params: { hash: claim! } })).ends;
	});
const nextOf = async (id: string) => (await readZkHead(stage.chain!.contracts, BigInt(`0x${id}`))).next;
const isPosted = (id: string, by: ChainAccount) =>
	eventually(async () => {
		const all = await readEvents(stage.chain!.contracts, "twinPosts", "Posted", { scope: BigInt(`0x${id}`) });
		return all.some(({ args }) => args.poster === by.address);
	});
const isOver = (id: string) => eventually(async () => (await stage.customer.getJob({ params: { id } })).isOver);

/**
 * A prover whose proofs are true, and end with commitments that it alone could go on from: it would have been
 * paid, and nobody else would have been able to prove the rest.
 */
async function triedBlinding(id: string): Promise<void> {
	const { contracts } = stage.chain!;
	const account = accountOfProver(1);
	const { escrow } = (await stage.customer.getJob({ params: { id } })).offer;
	const terms = jobTermsFromText(escrow!.terms);
	const lists = await readLists(contracts, terms, order);
	const job = await readProverJob(contracts, BigInt(`0x${id}`), account.address);
	const named = { chainId: `${contracts.addresses.chainId}`, job: `${job}` };
	const { statement, proof } = proveTrained(trained(SEGMENTS), 1, 10, {}, { blinder: 7n, ...named });
	assert.equal(pointsHash(statement.pointsBefore), lists.after(0));
	const call = submitProofCall(contracts, terms, order, segmentOf(statement, proof), lists.path(1));
	// The reference prover lets nothing else run meanwhile, and connections are closed.
	const why = await eventually(() => sendCall(contracts.client, account, call).then(() => "taken", refusedBecause));
	assert.equal(why, "NotListed");
}

test("trained by one, proven by two others after a third was killed half-way, and paid", async () => {
	const { contracts, treasurer } = stage.chain!;
	for (const n of [1, 2, 3]) await endow(contracts, treasurer, accountOfProver(n), 0n, 0n);
	const worker = await startWorker(1);
	const { id } = await submitSoon(zkOrder("a1"));
	await shownEnds(id);
	await triedStates(id);
	const killed = new AbortController();
	await eventually(async () => {
		await openProver(1, killed.signal, () => killed.abort()).round();
		return killed.signal.aborted;
	});
	assert.equal(await nextOf(id), 1);
	await triedBlinding(id);
	const news: ProofNews[] = [];
	const running = new AbortController().signal;
	const provers = [2, 3].map((n) => openProver(n, running, (one) => news.push(one)));
	await eventually(async () => {
		await Promise.all(provers.map((one) => one.round()));
		return (await nextOf(id)) === 1 + SEGMENTS;
	});
	const proven = news.filter(({ state }) => state === "proven").map(({ segment }) => segment);
	assert.deepEqual(proven.toSorted(), [1, 2, 3]);
	await isPosted(id, worker.account);
	skippedMs += TREES_MS;
	await isOver(id);
	const part = await partOf(id);
	assert.deepEqual([part.state, part.proven, part.attempt], ["paid", SEGMENTS, 1]);
	// Each segment once, to those who proved it; and the worker its price.
	for (const one of provers) await one.round();
	const { terms } = (await stage.customer.getJob({ params: { id } })).offer;
	const all = (await tokens(accountOfProver(2))) + (await tokens(accountOfProver(3)));
	const each = (BigInt(terms.auditMicros) * 10n ** 12n) / BigInt(SEGMENTS);
	assert.equal(all, BigInt(SEGMENTS) * each);
	assert.equal((await tokens(accountOfProver(1))) + (await owed(accountOfProver(1))), 0n);
	assert.equal(await owed(worker.account), BigInt(terms.priceMicros) * 10n ** 12n);
	await worker.stop();
	const shown = await stage.customer.listJobProofs({ params: { id } });
	assert.deepEqual(
		shown.proofs.map(({ segment, amount }) => [segment, BigInt(amount)]),
		[1, 2, 3].map((segment) => [segment, each]),
	);
	assert.ok(shown.proofs.every(({ gas }) => gas > 100_000));
	// Anybody makes files of what stands on chain, and judges them.
	const file = await stage.customer.getJobProof({ params: { id, segment: 2 } });
	const verdict = verifyProofFile(file, { isDevAllowed: true });
	assert.deepEqual([verdict.status, verdict.status === "valid" && verdict.statement.firstStep], ["valid", 2]);
	await assert.rejects(stage.customer.getJobProof({ params: { id, segment: 4 } }), { code: "PROOF_UNKNOWN" });
});

test("a worker with one wrong step is not paid, and nobody proves by its list; whoever does it right next is", async () => {
	const { contracts } = stage.chain!;
	const liar = await startWorker(2, true);
	const { id } = await submitSoon(zkOrder("a2"));
	await claimed(id);
	// This one begins with the state after the lie, and its proof waits for ever. Then the state before it:
	// what comes of it is not as listed, nor is what is right.
	const n = lastFirst(id, 4);
	await endow(contracts, stage.chain!.treasurer, accountOfProver(n), 0n, 0n);
	const news: string[] = [];
	const prover = openProver(n, new AbortController().signal, ({ segment, state }) => news.push(`${segment} ${state}`));
	await isPosted(id, liar.account);
	await prover.round();
	assert.deepEqual(news, ["3 proving", "3 proven", "2 proving", "2 misled", "2 proving", "2 left"]);
	await prover.round();
	assert.deepEqual([news.length, await nextOf(id)], [6, 1]);
	assert.equal((await readJobPart(contracts, BigInt(`0x${id}`), 0)).state, "claimed");
	// To the end of its windows it says nothing; in the deep tier it answers whatever it is asked.
	if (!isDeep) await liar.stop();
	skippedMs += WINDOWS_MS;
	await eventually(async () => (await partOf(id)).state === "open");
	if (isDeep) await liar.stop();
	assert.deepEqual(
		[await owed(liar.account), (await readJobDeposit(contracts, liar.account.address)).locked],
		[0n, 0n],
	);
	const honest = await startWorker(3);
	await eventually(async () => (await partOf(id)).provider === honest.key && (await partOf(id)).state === "claimed");
	await isPosted(id, honest.account);
	await eventually(async () => {
		await prover.round();
		return (await nextOf(id)) === 1 + SEGMENTS;
	});
	skippedMs += TREES_MS;
	await isOver(id);
	assert.equal((await partOf(id)).state, "paid");
	assert.ok((await owed(honest.account)) > 0n);
});

test("a false tree of a claimed end is brought down by a prover, who has the bytes", async () => {
	const { contracts } = stage.chain!;
	const [worker] = [...workers.keys()];
	const { id } = await submitSoon(zkOrder("a5"));
	const ends = await shownEnds(id);
	const job = BigInt(`0x${id}`);
	const poster = accountOf(`0x${"e9".repeat(32)}`);
	await endow(contracts, stage.chain!.treasurer, poster, 0n, 0n);
	const states = model.program.tensors.filter(({ kind }) => kind === "state");
	const weights = await Promise.all(
		states.map(
			async ({ type, dims }, i) =>
				bytesToElements(await fetchBlob(stage.customer, ends.state[i]!, { job: id }), type, elementCount(dims))!,
		),
	);
	// One weight is another than the claimed one: the liar answers with the nodes of such weights.
	const changed = weights[1]!.slice();
	changed[0] = Number(changed[0]) + 1;
	const levels = weightTrees(plan, weights.with(1, changed), powerOf(POWERS));
	const at = { job, plan: order.plan, segment: 1 + SEGMENTS, roots: weights.map(tensorRoot) };
	const tree = treeOf(model.program, at, levels);
	const chain = openProofChain(contracts, poster);
	await chain.post(tree);
	const prover = openProver(3, new AbortController().signal, () => {});
	await eventually(async () => {
		await prover.round();
		for (const demand of await chain.demands(tree))
			await chain.answer(tree, demand, nodesBelow(levels, demand.node)!).catch(async (cause) => {
				// Another prover may have brought it down meanwhile.
				if ((await chain.stateOf(tree)) !== "fallen") throw cause;
			});
		return (await chain.stateOf(tree)) === "fallen";
	});
	// The worker's list may come after that.
	await eventually(async () => {
		await prover.round();
		return (await nextOf(id)) === 1 + SEGMENTS;
	});
	// Nobody touches the worker's own tree, which is true.
	skippedMs += TREES_MS;
	await isOver(id);
	assert.equal((await partOf(id)).provider, worker);
});

test("whoever accuses an honest worker of an optimistic job is answered by one proof, and pays for its question", async () => {
	const { contracts, treasurer } = stage.chain!;
	const accuser = accountOf(`0x${"ea".repeat(32)}`);
	await endow(contracts, treasurer, accuser, 0n, 0n);
	const { id } = await submitSoon(provable("a6"));
	await claimed(id);
	const job = BigInt(`0x${id}`);
	const { provider, attempt } = await readJobPart(contracts, job, 0);
	const sitting = { job, part: 0, attempt, provider };
	const count = model.program.k * model.program.step.length;
	const question = toHex(encodeChainQuestion({ kind: "trace", segment: 2, count }));
	await sendCall(contracts.client, accuser, await openGameCall(contracts, sitting, question));
	await eventually(() => read(contracts, "disputes", "isCleared", bookOf(sitting), 2n));
	// It said no trace, and need not.
	assert.deepEqual(
		(await readGames(contracts, { book: bookOf(sitting) })).map(({ rounds }) => rounds.map((one) => one.answer)),
		[[null]],
	);
	// Whoever says a list proves what is demanded of it.
	await sendCall(contracts.client, accuser, await demandProofCall(contracts, job, 1));
	await eventually(() => read(contracts, "segmentProofs", "isLinked", bookOf(sitting), 1n));
	skippedMs += GAME_MS;
	await isOver(id);
	assert.equal((await partOf(id)).state, "paid");
	await eventually(async () => (await readGame(contracts, sitting, accuser.address)).isPaid);
	await eventually(async () => (await read(contracts, "segmentProofs", "owedTo", provider)) === 0n);
});

test("nobody hands in, or takes, what was not ordered as it is", async () => {
	const wish = zkOrder("a3");
	await assert.rejects(submit(stage, { ...wish, onFunded: async () => {} }), { code: "JOB_UNORDERED" });
	// The toy job of other tests, which no proof can be about.
	const { workload: _, ...toy } = wish;
	await assert.rejects(prepare(stage, toy), { code: "PROGRAM_UNPROVABLE" });
	// One segment after the last epoch, which nobody could prove.
	await assert.rejects(prepare(stage, { ...wish, workload: { ...workload, segments: 9 } }), {
		code: "PROGRAM_UNPROVABLE",
	});
	const other = { ...order, startPoints: order.labelPoints };
	const { id } = await submit(stage, {
		...{ ...wish, salt: "a4".repeat(32) },
		onFunded: async ({ escrow }) => {
			const { contracts } = stage.chain!;
			const terms = jobTermsFromText(escrow!.terms);
			await sendCall(contracts.client, PAYER, orderProofsCall(contracts, terms, other));
			assert.equal(jobIdOf(terms) > 0n, true);
		},
	});
	await eventually(async () => (await partOf(id)).excluded.length > 0);
	assert.equal((await readJobPart(stage.chain!.contracts, BigInt(`0x${id}`), 0)).state, "untouched");
	await leftAlone(BigInt(`0x${id}`));
});

/** A prover looks at what nobody has taken as long as somebody may, and no longer. */
async function leftAlone(job: bigint): Promise<void> {
	const { client, addresses } = stage.chain!.contracts;
	const asked = new Set<unknown>();
	const readContract = ((view: ReadContractParameters) => {
		asked.add((view.args as readonly unknown[] | undefined)?.[0]);
		return client.viem.readContract(view);
	}) as typeof client.viem.readContract;
	const contracts = { addresses, client: { ...client, viem: { ...client.viem, readContract } } };
	const prover = openProver(4, new AbortController().signal, () => {}, contracts);
	const looksAtIt = async () => {
		asked.clear();
		await prover.round();
		return asked.has(job);
	};
	assert.deepEqual([await looksAtIt(), await looksAtIt()], [true, true]);
	skippedMs += GAME_MS;
	await looksAtIt();
	assert.equal(await looksAtIt(), false);
}

/**
 * The first of these jobs whose claim nobody was drawn to run again: what is run again is shown to nobody
 * before its window ends.
 */
async function openClaim(...salts: readonly string[]) {
	for (const salt of salts) {
		const { id } = await submitSoon(provable(salt));
		await claimed(id);
		const found = await eventually(async () => {
			const { claim: hash, audits } = await partOf(id);
			const { ends } = await stage.customer.getClaim({ params: { hash: hash! } });
			return (ends !== null || audits.length > 0) && { id, hash, ends };
		});
		if (found.ends !== null) return { ...found, ends: found.ends };
	}
	return assert.fail("all were drawn");
}

test("a watcher has a false claim convicted whose worker proves its segments with commitments that are right", async () => {
	const { contracts, treasurer } = stage.chain!;
	for (const one of workers.values()) await one.stop();
	workers.clear();
	await eventually(async () => (await stage.validator.client.listJobHosts({ query: {} })).rows.length === 0);
	const liar = await startWorker(4, true);
	const { id, hash, ends } = await openClaim("a7", "a8", "a9", "aa");
	await liar.stop();
	const { locked } = await readJobDeposit(contracts, liar.account.address);
	const bytes = await fetchBlob(stage.customer, ends.states, { job: id });
	const states = Array.from({ length: 2 + SEGMENTS }, (_, i) => bytes.slice(32 * i, 32 * i + 32));
	const job = BigInt(`0x${id}`);
	const { offer } = await stage.customer.getJob({ params: { id } });
	const of = { terms: jobTermsFromText(offer.escrow!.terms), program: model.program, states };
	// What it did not compute it proves all the same: the right run's segment, from right commitments to right
	// ones.
	const given = async (tensor: number) => elementsToBytes(model.given[model.program.tensors[tensor]!.name]!);
	const work = { program: model.program, plan, seed: SEED, given };
	const rerun = rerunStates(work, proofEngine(), join(scratch, "right"), null);
	const run = {
		...{ ...work, order, segments: 1 + SEGMENTS, weightsBefore: rerun.weightsBefore },
		...{ features: await inputOf(work, "features"), labels: await inputOf(work, "labels") },
	};
	const by = { open: engine.open, device: 0, powers: POWERS };
	const chain = openDisputeChain(contracts, liar.account);
	const named = { chainId: chain.chainId, job: await chain.proofJob(job) };
	const two = [toHex(states[2]!).slice(2), toHex(states[3]!).slice(2)] as const;
	const made = (await proveDisputed(by, run, 2, { ...named, states: two }))!;
	const { accused, listed } = segmentCase({ ...of, resultRoot: rootsTree([]).root }, 2);
	const list = listOf(await commitmentsOf(by, run));
	await chain.clear(accused, listed, { kind: "segment", ordered: order, list, ...made });
	await rerun.close();
	const account = accountOf(`0x${"eb".repeat(32)}`);
	await endow(contracts, treasurer, account, 0n, 0n);
	const folder = join(scratch, "watcher");
	const book = await openWatchBook(join(folder, "watched.jsonl"), nowMs);
	const watchChain = await openWatchChain(contracts, account, { gasADay: 1e8, book });
	const own = ownEngine({ command, args: [] }, realEnvironment());
	const rest = async (ms: number) => void (await sleep(Math.min(ms, 100)));
	const said: string[] = [];
	const watcher = createWatcher({
		...{ api: createApiClient({ baseUrl: stage.validator.url, signer: signerOf(499), nowMs }), chain: watchChain },
		...{ engine: own, folder, book, nowMs, sleep: rest, isDry: false, secret: new Uint8Array(32), patienceMs: 0 },
		...{ policy: { jobs: "all", sharePpm: 0 }, contest: contestBy(watchChain.evidence, own, folder, rest) },
		onEvent: ({ claim, state, detail }) => void (claim === hash && said.push(`${state} ${detail}`)),
	});
	await eventually(async () => {
		await watcher.round();
		await watcher.settle();
		return (await readJobPart(contracts, job, 0)).state === "open";
	});
	assert.ok(
		said.some((one) => one.startsWith("proven by a proof: 0x")),
		said.join("; "),
	);
	assert.equal((await readJobDeposit(contracts, liar.account.address)).locked, locked - of.terms.bond);
});
