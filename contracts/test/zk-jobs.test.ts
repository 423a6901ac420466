// A job that is paid by proof, on the embedded chain with the real contracts, trees and proofs: trained by one, its segments proven by two others, by the engine; a worker with one wrong step;
// trees of points that are false, and honest ones that are demanded; a segment in dispute. The rules one by one are Solidity tests (test/zk).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { PrivateKeyAccount } from "viem/accounts";
import { callOf, read } from "../../src/chain/contracts/contracts.ts";
import { IGNITION } from "../../src/chain/contracts/deploy-zk.ts";
import { announcementOf } from "../../src/chain/contracts/disputes.ts";
import {
	approveJobsCall,
	assignPartCall,
	claimPartCall,
	expirePartCall,
	fundJobCall,
	type JobTerms,
	jobIdOf,
	readJobPart,
	settlePartCall,
	signAssignment,
	signStored,
} from "../../src/chain/contracts/job-escrow.ts";
import * as zk from "../../src/chain/contracts/zk-jobs.ts";
import { refusedBecause } from "../../src/chain/sending/refusal.ts";
import { accountOf, type Call } from "../../src/chain/sending/sign.ts";
import { fromHex, type Hex, toHex } from "../../src/protocol/chain/hex.ts";
import { keccak, keccakLeaf, keccakTree } from "../../src/protocol/hash/keccak-tree.ts";
import { type G1, G1_ONE, times } from "../../src/protocol/maths/bn254.ts";
import { nodeOf, orderOf, segmentOf, treeOf } from "../../src/provider/proofs/chain-forms.ts";
import { nodesBelow } from "../../src/provider/proofs/keep-end.ts";
import { openProofChain } from "../../src/provider/proofs/proof-chain.ts";
import { claimedParts, provableNow } from "../../src/provider/proofs/provable-jobs.ts";
import { proveStated } from "../../src/provider/proofs/prove-segment.ts";
import {
	type ProvableJob,
	type ProverEvent,
	type ProverMeans,
	proveJobSegments,
} from "../../src/provider/proofs/prover.ts";
import { watchTrees } from "../../src/provider/proofs/watch-trees.ts";
import { DEV_POWERS } from "../../src/verify/zk/srs.ts";
import { pointBytes, type TwinNode, twinWay } from "../../src/verify/zk/twin-tree.ts";
import { weightTrees } from "../../src/verify/zk/weight-trees.ts";
import { type Elements, elementsToBytes } from "../../src/work/operators/tensor-type.ts";
import { compilePlan, planHash, planWords, type ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { enteringOf } from "../../src/work/plan/entering.ts";
import { encodeHead, encodeLeaves } from "../../src/work/program/encode.ts";
import {
	claimHash,
	firstState,
	numbered,
	rootsTree,
	segmentTree,
	stateHashOf,
} from "../../src/work/trace/commitments.ts";
import { tensorRoot, tensorTree } from "../../src/work/trace/tensor-tree.ts";
import { type Prover, startProver } from "../../tests/zk/engine-prover.test-kit.ts";
import { SEED, trained } from "../../tests/zk/trained.test-kit.ts";
import { DEV_TAU, mod } from "../../vectors/naive-bn254.ts";
import { NO_TERMS } from "./disputes.test-kit.ts";
import { checkGas } from "./gas.test-kit.ts";
import { openTestNetwork, type TestNetwork, UNIT } from "./network.test-kit.ts";
import { devTau, NO_ID } from "./zk-vectors.test-kit.ts";

const CHUNK_BITS = 10;
/** With steps; segment 0 makes the first weights. */
const SEGMENTS = 3;
const WINDOW_S = 1200;
const gas: Record<string, number> = {};
const powers: readonly G1[] = Array.from({ length: 2 ** CHUNK_BITS }).reduce<{ list: G1[]; tau: bigint }>(
	({ list, tau }) => {
		list.push(times(G1_ONE, tau));
		return { list, tau: mod(tau * DEV_TAU) };
	},
	{ list: [], tau: 1n },
).list;
const powersTree = keccakTree(powers.map((one) => keccakLeaf(pointBytes(one))));

const run = trained(SEGMENTS);
const { program } = run;
const plan = compilePlan(program, CHUNK_BITS) as ZkPlan;
const PLAN = toHex(planHash(plan));
const weightsAt = (segment: number): readonly Elements[] => run.states[segment - 1]!.weights;
const rootsOf = (weights: readonly Elements[]) => weights.map(tensorRoot);
const treesOf = new Map<readonly Elements[], TwinNode[][][]>();
const treesFor = (weights: readonly Elements[]): TwinNode[][][] => {
	const found = treesOf.get(weights) ?? weightTrees(plan, weights, (i) => powers[i]!);
	treesOf.set(weights, found);
	return found;
};

let network: TestNetwork;
let engine: Prover;
let validator: PrivateKeyAccount;
let customer: PrivateKeyAccount;
let worker: PrivateKeyAccount;
const [prover, other, watcher] = ["c1", "c2", "c3"].map((byte) => accountOf(`0x${byte.repeat(32)}`)) as [
	PrivateKeyAccount,
	PrivateKeyAccount,
	PrivateKeyAccount,
];

before(async () => {
	const { xi, xr, yi, yr } = devTau();
	const root = toHex(powersTree.root);
	const ids = [{ bits: CHUNK_BITS, id: NO_ID, root }];
	network = await openTestNetwork(1, { tau: [xi, xr, yi, yr], ids, ceremony: IGNITION.ceremony });
	engine = await startProver();
	const { contracts, send, provider, treasurer } = network;
	[validator, customer, worker] = [network.validators[0]!, treasurer, provider];
	for (const { address } of [prover, other, watcher]) await send(treasurer, { to: address, data: "0x", value: UNIT });
	await send(treasurer, callOf(contracts, "token", "transfer", provider.address, 1000n * UNIT));
	for (const account of [treasurer, provider]) await send(account, approveJobsCall(contracts, 10n ** 30n));
	await send(provider, callOf(contracts, "jobEscrow", "deposit", 200n * UNIT));
	await send(other, zk.registerPlanCall(contracts, toHex(planWords(plan))));
});
after(async () => {
	await engine?.close();
	await network?.close();
});

const hashOf = (text: string): Hex => toHex(keccak(Buffer.from(text)));
const nowS = async () => Number((await network.contracts.client.viem.getBlock()).timestamp);

async function termsOf(salt: string): Promise<JobTerms> {
	return {
		...NO_TERMS,
		...{ customer: customer.address, salt: hashOf(salt), start: toHex(firstState(program)), seed: toHex(SEED) },
		...{ program: `0x${plan.programRoot}`, segments: BigInt(1 + SEGMENTS), parts: 1 },
		...{ inputs: hashOf("inputs"), spec: hashOf("spec"), price: UNIT, fee: 0n, audit: 3n * UNIT, bond: 10n * UNIT },
		...{ startBy: BigInt((await nowS()) + 86_400), workSeconds: 1200, windowSeconds: WINDOW_S, checkedSeconds: 60 },
		...{ method: zk.ZK_METHOD, quorum: 1, validators: [validator.address] },
	};
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const stateAt = (segment: number) => hex(stateHashOf(program, segment, rootsOf(weightsAt(segment)), []));

/** By the engine, over powers of a known τ; the contracts verify it. `job`: its number in the statement. States are told to a proof, and not believed. */
async function proof(
	segment: number,
	job: bigint,
	stateAfter: string = stateAt(segment + 1),
	weights: readonly Elements[] = weightsAt(segment),
) {
	const made = await proveStated(
		{
			...{ plan, seed: SEED, segment, chainId: 7373n, job },
			roots: {
				...{ features: hex(tensorRoot(run.features)), labels: hex(tensorRoot(run.labels)) },
				...{ stateBefore: stateAt(segment), stateAfter },
			},
			given: {
				entering: elementsToBytes(enteringOf(plan, run.features)),
				labels: elementsToBytes(Int32Array.from(run.labels, Number)),
				weights: weights.map(elementsToBytes),
			},
		},
		{ open: engine.open, device: 0, powers: DEV_POWERS },
	);
	return { statement: made!.statement, segment: segmentOf(made!.statement, made!.proof) };
}

const proven = async (terms: JobTerms, by: PrivateKeyAccount, segment: number) =>
	proof(segment, await zk.readProverJob(network.contracts, jobIdOf(terms), by.address));

/** The states of a run that ends with these weights. */
function claimOf(terms: JobTerms, last: readonly Elements[]) {
	const { addresses } = network.contracts;
	const middle = [1, 2, 3].map((n) => stateHashOf(program, n, rootsOf(weightsAt(n)), []));
	const states = [firstState(program), ...middle, stateHashOf(program, 1 + SEGMENTS, rootsOf(last), [])];
	const tree = segmentTree(states);
	const resultRoot = rootsTree([]).root;
	const claim = claimHash({
		...{ chainId: BigInt(addresses.chainId), escrow: fromHex(addresses.jobEscrow.toLowerCase(), 20) },
		...{ job: jobIdOf(terms), part: 0, program: fromHex(terms.program, 32), inputs: fromHex(terms.inputs, 32) },
		...{ first: 0, segments: 1 + SEGMENTS, segmentRoot: tree.root, resultRoot },
	});
	const lastStates = rootsTree(numbered(program, "state", rootsOf(last))).root;
	const shown = {
		...{ segmentRoot: toHex(tree.root), resultRoot: toHex(resultRoot), first: terms.start, previous: NO_ID },
		...{ firstPath: tree.path(0).map(toHex), lastStates: toHex(lastStates) },
		lastPath: tree.path(1 + SEGMENTS).map(toHex),
	};
	return { claim: toHex(claim), shown, states: states.map(toHex), tree };
}

let order: zk.ZkOrder | undefined;

/** Funded, ordered, assigned and claimed with these weights. */
async function claimed(salt: string, last: readonly Elements[]) {
	const { contracts, send } = network;
	const terms = await termsOf(salt);
	const job = jobIdOf(terms);
	order ??= orderOf((await proof(1, 0n)).statement);
	await send(customer, fundJobCall(contracts, terms));
	gas.zkJobOrder = await send(customer, zk.orderProofsCall(contracts, terms, order));
	const of = { job, terms, order };
	return { ...of, ...(await claim(of, 1, last)) };
}

async function claim(
	{ terms, job }: { readonly terms: JobTerms; readonly job: bigint },
	attempt: number,
	last: readonly Elements[],
) {
	const { contracts, send } = network;
	const assignment = { part: 0, attempt, until: terms.startBy, draw: hashOf("draw") };
	const drawn = await signAssignment(validator, contracts, job, worker.address, assignment);
	await send(worker, assignPartCall(contracts, terms, assignment, [drawn]));
	const made = claimOf(terms, last);
	const stored = await signStored(validator, contracts, { job, part: 0, attempt }, made.claim);
	await send(worker, claimPartCall(contracts, terms, 0, made.shown, [stored]));
	return made;
}

/** A tree of these weights' state with these nodes, posted by its worker. */
async function posted(
	by: PrivateKeyAccount,
	job: bigint,
	segment: number,
	of: readonly Elements[],
	levels: TwinNode[][][],
) {
	const { contracts, send } = network;
	const tree = treeOf(program, { job, plan: PLAN, segment, roots: rootsOf(of) }, levels);
	const { bond, deposit } = await zk.readTwinParams(contracts);
	gas.zkTreePost = await send(by, zk.postTreeCall(contracts, tree, bond));
	return { poster: by.address, tree, bond, deposit, post: zk.postNumber(by.address, tree) };
}

const refused = (sent: Promise<unknown>, error: string) =>
	assert.rejects(sent, (found: unknown) => refusedBecause(found) === error);
const owed = (of: Hex) => read(network.contracts, "jobEscrow", "owedTo", of);

test("a job is trained by one, proven by two others in any order, and paid without a window", async () => {
	const { contracts, send, wait } = network;
	const last = weightsAt(1 + SEGMENTS);
	const { terms, order, job, claim: hash } = await claimed("honest", last);
	const second = await proven(terms, other, 2);
	gas.zkJobSubmitWaiting = await send(other, zk.submitProofCall(contracts, terms, order, second.segment));
	assert.equal(await owed(other.address), 0n);
	const first = await proven(terms, prover, 1);
	// Copied from the pool: it names its prover.
	await refused(send(watcher, zk.submitProofCall(contracts, terms, order, first.segment)), "LookupsFalse");
	await send(prover, zk.submitProofCall(contracts, terms, order, first.segment));
	assert.deepEqual([await owed(prover.address), await owed(other.address)], [UNIT, UNIT]);
	assert.deepEqual((await zk.readZkHead(contracts, job)).next, 3);
	const third = await proven(terms, prover, 3);
	gas.zkJobSubmit = await send(prover, zk.submitProofCall(contracts, terms, order, third.segment));
	assert.deepEqual(
		(await zk.readProvenSegments(contracts, job)).map(({ segment }) => segment),
		[2, 1, 3],
	);
	const end = { part: 0, claim: hash, ...(await posted(worker, job, 1 + SEGMENTS, last, treesFor(last))) };
	await refused(send(worker, settlePartCall(contracts, terms, 0)), "Unproven");
	await refused(send(worker, zk.concludeCall(contracts, terms, order, end)), "EndMismatch");
	wait(21);
	assert.equal(await zk.isTreeStanding(contracts, end.post), true);
	gas.zkJobConclude = await send(other, zk.concludeCall(contracts, terms, order, end));
	gas.zkJobSettle = await send(other, settlePartCall(contracts, terms, 0));
	assert.equal(await owed(worker.address), UNIT);
	assert.equal((await readJobPart(contracts, job, 0)).state, "settled");
});

test("two provers share a job; one that is killed half-way is replaced, and each segment is paid once", async () => {
	const { contracts } = network;
	const { terms, order: ordered, job } = await claimed("shared", weightsAt(1 + SEGMENTS));
	const of: ProvableJob = {
		...{ terms, order: ordered, plan, features: run.features, labels: run.labels },
		weightsBefore: async (segment) => weightsAt(segment),
		stateBefore: async (segment) => stateAt(segment),
	};
	const before = [await owed(prover.address), await owed(other.address)] as const;
	const killed = new AbortController();
	const means = (account: PrivateKeyAccount, signal: AbortSignal, told: ProverEvent[]): ProverMeans => ({
		...{ contracts, account, open: engine.open, device: 0, powers: DEV_POWERS, signal },
		onEvent: (event) => told.push(event),
	});
	// Killed with its first proof half made.
	const first: ProverEvent[] = [];
	const dying = { ...means(prover, killed.signal, first), onEvent: () => killed.abort() };
	assert.equal(await proveJobSegments(dying, of, 1 + SEGMENTS), false);
	// A true proof from weights that are not the job's: nobody is kept from proving the right one.
	const named = await zk.readProverJob(contracts, job, watcher.address);
	const stray = await proof(2, named, stateAt(3), weightsAt(1));
	await network.send(watcher, zk.submitProofCall(contracts, terms, ordered, stray.segment));
	const running = new AbortController().signal;
	const [mine, theirs]: [ProverEvent[], ProverEvent[]] = [[], []];
	const ends = await Promise.all([
		proveJobSegments(means(prover, running, mine), of, 1 + SEGMENTS),
		proveJobSegments(means(other, running, theirs), of, 1 + SEGMENTS),
	]);
	assert.deepEqual(ends, [true, true]);
	const proven = [...mine, ...theirs].filter(({ state }) => state === "proven");
	assert.deepEqual(proven.map(({ segment }) => segment).toSorted(), [1, 2, 3]);
	assert.equal((await zk.readZkHead(contracts, job)).next, 1 + SEGMENTS);
	const paid = (await owed(prover.address)) + (await owed(other.address)) - before[0] - before[1];
	assert.equal(paid, 3n * UNIT);
	assert.equal(await owed(watcher.address), 0n);
});

test("weights that no run leads to are a worker's lie where it gave them; of a run that leaves its ranges what comes before is proven", async () => {
	const { contracts } = network;
	const { terms, order: ordered, job } = await claimed("out of range", weightsAt(1 + SEGMENTS));
	const huge = weightsAt(3).map((one) => new Int32Array(one.length).fill(2 ** 30));
	const told: ProverEvent[] = [];
	const means: ProverMeans = {
		...{ contracts, account: prover, open: engine.open, device: 0, powers: DEV_POWERS },
		...{ signal: new AbortController().signal, onEvent: (event) => told.push(event) },
	};
	let isTrusted = true;
	const of: ProvableJob = {
		...{ terms, order: ordered, plan, features: run.features, labels: run.labels },
		weightsBefore: async (segment) => ((segment === 2 && isTrusted) || segment === 3 ? huge : weightsAt(segment)),
		stateBefore: async (segment) => stateAt(segment),
		claimed: {
			isClaimed: () => isTrusted,
			distrust: async () => {
				isTrusted = false;
			},
		},
	};
	assert.equal(await proveJobSegments(means, of, 1 + SEGMENTS), true);
	const ends = told.filter(({ state }) => state !== "proving").map(({ segment, state }) => `${segment} ${state}`);
	assert.equal(ends.filter((one) => one.endsWith("misled")).length, 1);
	assert.deepEqual(ends.filter((one) => !one.endsWith("misled")).toSorted(), ["1 proven", "2 proven", "3 unprovable"]);
	assert.equal((await zk.readZkHead(contracts, job)).next, 3);
});

test("a worker with one wrong step cannot be paid: no tree of its end stands for what is proven", async () => {
	const { contracts, send, wait } = network;
	const right = weightsAt(1 + SEGMENTS);
	const changed = right[1]!.slice();
	changed[3] = Number(changed[3]) + 1;
	const wrong = right.with(1, changed);
	const of = await claimed("one wrong step", wrong);
	const { terms, order, job, claim: hash } = of;
	for (const segment of [1, 2, 3])
		await send(prover, zk.submitProofCall(contracts, terms, order, (await proven(terms, prover, segment)).segment));
	// What it ended with has other commitments; and of those that are proven its bytes are not.
	const own = { part: 0, claim: hash, ...(await posted(worker, job, 1 + SEGMENTS, wrong, treesFor(wrong))) };
	const lie = { part: 0, claim: hash, ...(await posted(worker, job, 1 + SEGMENTS, wrong, treesFor(right))) };
	await bringDown(lie, wrong);
	wait(121);
	assert.equal(await zk.isTreeStanding(contracts, lie.post), false);
	assert.equal(await zk.isTreeStanding(contracts, own.post), true);
	for (const end of [own, lie])
		await refused(send(worker, zk.concludeCall(contracts, terms, order, end)), "EndMismatch");
	wait(2 * WINDOW_S);
	await send(customer, expirePartCall(contracts, terms, 0));
	// Who does it right next has nothing to prove.
	const next = await claim(of, 2, right);
	const end = { part: 0, claim: next.claim, ...(await posted(worker, job, 1 + SEGMENTS, right, treesFor(right))) };
	wait(21);
	await send(other, zk.concludeCall(contracts, terms, order, end));
	await send(other, settlePartCall(contracts, terms, 0));
	assert.equal((await readJobPart(contracts, job, 0)).state, "settled");
});

type Posted = Awaited<ReturnType<typeof posted>>;

/** Whoever holds the weights asks for what lies below the top, finds the leaf that is not theirs, and shows it. */
async function bringDown({ poster, tree, deposit, post }: Posted, weights: readonly Elements[]): Promise<void> {
	const { contracts, send } = network;
	const honest = treesFor(weights);
	// The liar's nodes: those of the right end, as it answers.
	const lied = treesFor(weightsAt(1 + SEGMENTS));
	const chunk = honest.findIndex((levels, i) => nodeOf(levels.at(-1)![0]!).x !== tree.tops[i]!.x);
	gas.zkTreeDemand = await send(watcher, zk.demandCall(contracts, { poster, tree }, chunk, deposit));
	const nodes = lied[chunk]![0]!.map(nodeOf);
	gas.zkTreeAnswer = await send(
		worker,
		zk.answerDemandCall(contracts, post, watcher.address, tree.tops[chunk]!, nodes),
	);
	const leaf = honest[chunk]![0]!.findIndex((one, i) => nodeOf(one).x !== nodes[i]!.x);
	const call = leafCall({ poster, tree }, chunk, leaf, lied[chunk]!, weights);
	await send(watcher, callOf(contracts, "twinPosts", "announce", announcementOf(watcher.address, call, SALT)));
	gas.zkTreeProveLeaf = await send(watcher, call);
	assert.equal((await read(contracts, "twinPosts", "postOf", post)).isFallen, true);
	await send(other, callOf(contracts, "twinPosts", "settleDeposits", post, watcher.address));
	const { bond } = await zk.readTwinParams(contracts);
	assert.equal(await read(contracts, "twinPosts", "owedTo", watcher.address), bond / 2n + deposit);
}

const SALT: Hex = `0x${"5a".repeat(32)}`;

function leafCall(
	{ poster, tree }: Pick<Posted, "poster" | "tree">,
	chunk: number,
	index: number,
	levels: readonly (readonly TwinNode[])[],
	weights: readonly Elements[],
): Call {
	const first = chunk * 2 ** CHUNK_BITS + index * 128;
	const states = rootsTree(numbered(program, "state", rootsOf(weights)));
	const start = plan.groups[2]!.firstChunk * 2 ** CHUNK_BITS;
	// Tensors of the test have one leaf each, so each of those that a place needs is shown once.
	const links = plan.blocks
		.filter(({ column, at, bits }) => column === "before" && at - start < first + 128 && at - start + 2 ** bits > first)
		.map(({ of }) => of);
	const shown = links.map((of) => {
		const one = tensorTree(weights[of]!);
		return { leaf: toHex(one.leaf(0)), path: one.path(0).map(toHex), rootPath: states.path(of).map(toHex) };
	});
	const leaf = {
		levels: twinWay(levels, 0, index).map(([left, right]) => [nodeOf(left), nodeOf(right)] as const),
		...{ index: BigInt(index), shown },
		powers: toHex(Buffer.concat(powers.slice(index * 128, index * 128 + 128).map(pointBytes))),
		powersPath: powersTree
			.path(index * 128)
			.slice(7)
			.map(toHex),
	};
	return callOf(network.contracts, "twinPosts", "proveLeaf", SALT, poster, tree, BigInt(chunk), leaf);
}

test("an honest tree is answered and stands; no leaf of it is false", async () => {
	const { contracts, send, wait } = network;
	const weights = weightsAt(2);
	const at = await posted(worker, 77n, 2, weights, treesFor(weights));
	await send(watcher, zk.demandCall(contracts, at, 0, at.deposit));
	const nodes = treesFor(weights)[0]![0]!.map(nodeOf);
	await send(worker, zk.answerDemandCall(contracts, at.post, watcher.address, at.tree.tops[0]!, nodes));
	for (const index of [0, 1])
		await refused(send(watcher, leafCall(at, 0, index, treesFor(weights)[0]!, weights)), "NothingShown");
	await send(watcher, callOf(contracts, "twinPosts", "close", at.post, watcher.address));
	wait(21);
	assert.equal(await zk.isTreeStanding(contracts, at.post), true);
	await send(other, callOf(contracts, "twinPosts", "settleDeposits", at.post, watcher.address));
	await send(other, callOf(contracts, "twinPosts", "settleBond", at.post));
	assert.ok((await read(contracts, "twinPosts", "owedTo", worker.address)) >= at.bond + at.deposit);
});

test("a watcher whose game was closed while it was away begins at the top again, and brings the false tree down", async () => {
	const { contracts, send } = network;
	const [weights, lied] = [weightsAt(2), treesFor(weightsAt(3))];
	const at = await posted(worker, 78n, 2, weights, lied);
	const trees = watchTrees(contracts, watcher, () => DEV_POWERS);
	const end = { job: 78n, segment: 2, program, plan, planHash: PLAN, weights };
	const isFallen = async () => (await read(contracts, "twinPosts", "postOf", at.post)).isFallen;
	for (const isFirst of [true, false]) {
		await trees.look(end);
		const [demand] = await openProofChain(contracts, worker).demands(at.tree);
		const nodes = nodesBelow(lied, demand!.node)!;
		await send(worker, zk.answerDemandCall(contracts, at.post, watcher.address, demand!.node, nodes));
		if (isFirst) await send(watcher, callOf(contracts, "twinPosts", "close", at.post, watcher.address));
	}
	assert.equal(await isFallen(), false);
	await trees.look(end);
	assert.equal(await isFallen(), true);
});

test("terms with a billion parts cost a prover no more than others", async () => {
	const { contracts, send } = network;
	const free = { price: 1n, audit: 0n, segments: 2n ** 30n, parts: 2 ** 30 };
	const terms = { ...(await termsOf("a billion parts")), ...free };
	await send(customer, fundJobCall(contracts, terms));
	await send(customer, zk.orderProofsCall(contracts, terms, order!));
	const of = { job: jobIdOf(terms), terms, order: order! };
	assert.deepEqual(await claimedParts(contracts, of), []);
	assert.deepEqual(await provableNow(contracts, of), { next: 1, end: 1 });
});

test("a segment in dispute: one proof clears an honest claim, and convicts a false one", async () => {
	const { contracts, send, wait } = network;
	const right = weightsAt(1 + SEGMENTS);
	const changed = right[0]!.slice();
	changed[0] = Number(changed[0]) - 1;
	for (const last of [right, right.with(0, changed)]) {
		const of = await claimed(`in dispute ${last === right}`, last);
		const { terms, job, order, states, tree, shown } = of;
		const [before, end] = [
			await posted(worker, job, SEGMENTS, weightsAt(SEGMENTS), treesFor(weightsAt(SEGMENTS))),
			await posted(worker, job, 1 + SEGMENTS, last, treesFor(last)),
		];
		wait(21);
		const noOne = await zk.readProverJob(contracts, job, `0x${"00".repeat(20)}`);
		// The claimed end is what the statement names, whatever it is.
		const { segment } = await proof(SEGMENTS, noOne, states[1 + SEGMENTS]!.slice(2));
		const posters = [before.poster, end.poster] as const;
		const evidence = zk.encodeShownSegment({ ordered: order, posters, trees: [before.tree, end.tree], segment });
		const accused = {
			...{ terms, part: 0, segmentRoot: shown.segmentRoot, resultRoot: shown.resultRoot, last: states[1 + SEGMENTS]! },
			...{ head: toHex(encodeHead(program)), tensors: leavesRoot("tensors"), ops: leavesRoot("ops") },
			...{ segment: BigInt(SEGMENTS), trace: NO_ID, traceSignature: "0x" as Hex },
		};
		const two = [states[SEGMENTS]!, states[1 + SEGMENTS]!] as const;
		const paths = [tree.path(SEGMENTS).map(toHex), tree.path(1 + SEGMENTS).map(toHex)] as const;
		await send(watcher, callOf(contracts, "disputes", "proveSegment", SALT, accused, 0n, two, paths, evidence));
		const part = await readJobPart(contracts, job, 0);
		assert.equal(part.state, last === right ? "claimed" : "open");
	}
});

const leavesRoot = (of: "tensors" | "ops"): Hex => toHex(keccakTree(encodeLeaves(program)[of].map(keccakLeaf)).root);

test("gas is what contracts/gas.json says", () => checkGas("zkJobs", gas));
