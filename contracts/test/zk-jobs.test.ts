// A job that is paid by proof, on the embedded chain with the real contracts, trees and proofs: trained by
// one, its segments proven by two others, by the engine; a worker with one wrong step; trees of points that
// are false, and honest ones that are demanded; a segment in dispute. The rules one by one are Solidity tests
// (test/zk).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { PrivateKeyAccount } from "viem/accounts";
import { callOf, read, readEvents } from "../../src/chain/contracts/contracts.ts";
import { bookOf, openGameCall, type QuestionBasis, timeoutCall } from "../../src/chain/contracts/dispute-games.ts";
import { announcementOf } from "../../src/chain/contracts/disputes.ts";
import {
	approveJobsCall,
	assignPartCall,
	cancelJobCall,
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
import * as hybrid from "../../src/chain/contracts/segment-proofs.ts";
import * as zk from "../../src/chain/contracts/zk-jobs.ts";
import { refusedBecause } from "../../src/chain/sending/refusal.ts";
import { accountOf, type Call } from "../../src/chain/sending/sign.ts";
import { fromHex, type Hex, toHex } from "../../src/protocol/chain/hex.ts";
import { keccak, keccakLeaf, keccakTree } from "../../src/protocol/hash/keccak-tree.ts";
import { type G1, G1_ONE, times } from "../../src/protocol/maths/bn254.ts";
import { encodeChainQuestion } from "../../src/protocol/network/chain-question.ts";
import { METHOD_NUMBERS } from "../../src/protocol/network/job.ts";
import { nodeOf, orderOf, pointsHash, segmentOf, treeOf } from "../../src/provider/proofs/chain-forms.ts";
import { type ContestedClaim, contestList } from "../../src/provider/proofs/hybrid/contest-list.ts";
import type { DisputeEngine, RunInDispute } from "../../src/provider/proofs/hybrid/run-in-dispute.ts";
import * as hybrid_ from "../../src/provider/proofs/hybrid/run-in-dispute.ts";
import { nodesBelow } from "../../src/provider/proofs/keep-end.ts";
import { openProofChain } from "../../src/provider/proofs/proof-chain.ts";
import { claimsNow, provableNow } from "../../src/provider/proofs/provable-jobs.ts";
import { proveStated } from "../../src/provider/proofs/prove-segment.ts";
import {
	type ProvableJob,
	type ProverEvent,
	type ProverMeans,
	proveJobSegments,
} from "../../src/provider/proofs/prover.ts";
import { shownOf } from "../../src/provider/proofs/shown-leaf.ts";
import { watchTrees } from "../../src/provider/proofs/watch-trees.ts";
import { bareProof, createBare, proveBare } from "../../src/verify/zk/hybrid/bare.ts";
import { openPlace } from "../../src/verify/zk/hybrid/open-place.ts";
import { commitTo, DEV_POWERS } from "../../src/verify/zk/srs.ts";
import type { SegmentStatement } from "../../src/verify/zk/statement.ts";
import { pointBytes, type TwinNode, twinTop, twinWay } from "../../src/verify/zk/twin-tree.ts";
import { placedWeights, weightChunks, weightPlaces, weightTrees } from "../../src/verify/zk/weight-trees.ts";
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
import { proveTrained, SEED, trained } from "../../tests/zk/trained.test-kit.ts";
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
	network = await openTestNetwork(1, { tau: [xi, xr, yi, yr], ids });
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
		...{ method: METHOD_NUMBERS.zk, quorum: 1, validators: [validator.address] },
	};
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const stateAt = (segment: number) => hex(stateHashOf(program, segment, rootsOf(weightsAt(segment)), []));

/**
 * By the engine, over powers of a known τ; the contracts verify it. `job`: its number in the statement.
 * States are told to a proof, and not believed.
 */
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

/** keccak256 of the commitments to the weights before a segment. */
const pointsAt = (segment: number): Uint8Array =>
	keccak(...treesFor(weightsAt(segment)).map((levels) => pointBytes(twinTop(levels).point)));
/** What the segments end with, as an honest worker lists it. */
const ends = () => [2, 3, 4].map(pointsAt);

/** The same as it goes to the chain. `changed`: commitments to something else. */
function listed(changed: readonly (readonly (readonly bigint[])[])[] = lists()): zk.ListedEnds {
	const points = Buffer.concat(changed.flat().map((one) => commitTo(DEV_POWERS, one)));
	const bare = createBare(points, { count: weightPlaces(plan), chunkBits: CHUNK_BITS, powers: DEV_POWERS });
	for (const one of changed) bare.add(one);
	return { points: toHex(points), bare: toHex(bareProof(bare.sums())) };
}
const lists = () => [2, 3, 4].map((segment) => weightChunks(plan, weightsAt(segment)));

/** With the path to the honest list. */
const submitCall = (terms: JobTerms, ordered: zk.ZkOrder, segment: zk.ZkSegment): Call =>
	zk.submitProofCall(
		network.contracts,
		terms,
		ordered,
		segment,
		keccakTree(ends())
			.path(Number(segment.number) - 1)
			.map(toHex),
	);

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
	beforeList: () => Promise<void> = async () => {},
) {
	const { contracts, send } = network;
	const assignment = { part: 0, attempt, until: terms.startBy, draw: hashOf("draw") };
	const drawn = await signAssignment(validator, contracts, job, worker.address, assignment);
	await send(worker, assignPartCall(contracts, terms, assignment, [drawn]));
	const made = claimOf(terms, last);
	const stored = await signStored(validator, contracts, { job, part: 0, attempt }, made.claim);
	await send(worker, claimPartCall(contracts, terms, 0, made.shown, [stored]));
	await beforeList();
	if (terms.method === METHOD_NUMBERS.zk)
		gas.zkJobList = await send(worker, zk.listEndsCall(contracts, terms, order!, 0, listed()));
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
	gas.zkJobSubmitWaiting = await send(other, submitCall(terms, order, second.segment));
	assert.equal(await owed(other.address), 0n);
	const first = await proven(terms, prover, 1);
	// Copied from the pool: it names its prover.
	await refused(send(watcher, submitCall(terms, order, first.segment)), "LookupsFalse");
	await send(prover, submitCall(terms, order, first.segment));
	assert.deepEqual([await owed(prover.address), await owed(other.address)], [UNIT, UNIT]);
	assert.deepEqual((await zk.readZkHead(contracts, jobIdOf(terms))).next, 3);
	const third = await proven(terms, prover, 3);
	gas.zkJobSubmit = await send(prover, submitCall(terms, order, third.segment));
	assert.deepEqual(
		(await readEvents(contracts, "zkJobs", "Proven", { job })).map(({ args }) => Number(args.segment)),
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

test("a worker lists what everybody can go on from, or nothing", async () => {
	const { contracts, send } = network;
	const terms = await termsOf("blinded list");
	const job = jobIdOf(terms);
	await send(customer, fundJobCall(contracts, terms));
	await send(customer, zk.orderProofsCall(contracts, terms, order!));
	const [before, right] = [lists(), listed()];
	// In the place of a coefficient that no opening sees; and of one that no weight stands at.
	const blinders = [2 ** CHUNK_BITS, weightPlaces(plan)];
	const cheats = blinders.flatMap((at) =>
		before.map((chunks, i) => {
			const values = [...chunks[0]!];
			values[at] = 5n;
			return listed(before.with(i, [values]));
		}),
	);
	// Its own commitments with what shows that others are bare.
	cheats.push({ ...cheats[0]!, bare: right.bare });
	const attempt = async () => {
		for (const cheat of cheats)
			await refused(send(worker, zk.listEndsCall(contracts, terms, order!, 0, cheat)), "BareFalse");
	};
	await claim({ terms, job }, 1, weightsAt(1 + SEGMENTS), attempt);
	assert.deepEqual(await zk.readZkList(contracts, job, 0, 1), ends().map(toHex));
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
	// True proofs that must not count: from weights that are not the job's, and to right weights under
	// commitments that nobody else can go on from.
	const named = await zk.readProverJob(contracts, job, watcher.address);
	const stray = await proof(2, named, stateAt(3), weightsAt(1));
	await refused(network.send(watcher, submitCall(terms, ordered, stray.segment)), "NotListed");
	const { statement, proof: blinded } = proveTrained(
		run,
		2,
		CHUNK_BITS,
		{},
		{ blinder: 5n, chainId: "7373", job: `${named}` },
	);
	assert.equal(pointsHash(statement.pointsBefore), toHex(pointsAt(2)));
	await refused(network.send(watcher, submitCall(terms, ordered, segmentOf(statement, blinded))), "NotListed");
	const running = new AbortController().signal;
	const [mine, theirs]: [ProverEvent[], ProverEvent[]] = [[], []];
	const ends = await Promise.all([
		proveJobSegments(means(prover, running, mine), of, 1 + SEGMENTS),
		proveJobSegments(means(other, running, theirs), of, 1 + SEGMENTS),
	]);
	assert.deepEqual(ends, [true, true]);
	const proven = [...mine, ...theirs].filter(({ state }) => state === "proven");
	assert.deepEqual(proven.map(({ segment }) => segment).toSorted(), [1, 2, 3]);
	assert.equal((await zk.readZkHead(contracts, jobIdOf(terms))).next, 1 + SEGMENTS);
	const paid = (await owed(prover.address)) + (await owed(other.address)) - before[0] - before[1];
	assert.equal(paid, 3n * UNIT);
	assert.equal(await owed(watcher.address), 0n);
});

test("weights that no run leads to are a worker's lie where it gave them; of a run that leaves its ranges what comes before is proven", async () => {
	const { contracts } = network;
	const { terms, order: ordered } = await claimed("out of range", weightsAt(1 + SEGMENTS));
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
	assert.equal((await zk.readZkHead(contracts, jobIdOf(terms))).next, 3);
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
		await send(prover, submitCall(terms, order, (await proven(terms, prover, segment)).segment));
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

/**
 * Whoever holds the weights asks for what lies below the top, finds the leaf that is not theirs, and shows
 * it.
 */
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

test("a watcher pays for no demand of trees that are not of the end that it holds", async () => {
	const { contracts, send } = network;
	const [weights, scope] = [weightsAt(2), 79n];
	const trees = watchTrees(contracts, watcher, () => DEV_POWERS);
	const end = { job: scope, segment: 2, program, plan, planHash: PLAN, weights };
	// Another end; the same tensors at another segment's end; and under another program's plan.
	await posted(worker, scope, 2, weightsAt(3), treesFor(weightsAt(3)));
	await posted(worker, scope, 3, weights, treesFor(weightsAt(3)));
	const wide = trained(0, 64);
	const other = compilePlan(wide.program, CHUNK_BITS) as ZkPlan;
	await send(worker, zk.registerPlanCall(contracts, toHex(planWords(other))));
	const { bond } = await zk.readTwinParams(contracts);
	const tree = {
		...treeOf(program, { job: scope, plan: toHex(planHash(other)), segment: 2, roots: rootsOf(weights) }, []),
		tops: Array.from({ length: other.groups[2]!.chunks }, () => ({ hash: NO_ID, x: 1n, y: 2n })),
	};
	await send(worker, zk.postTreeCall(contracts, tree, bond));
	assert.deepEqual(await trees.look(end), []);
});

test("terms with a billion parts cost a prover no more than others", async () => {
	const { contracts, send } = network;
	const free = { price: 1n, audit: 0n, segments: 2n ** 30n, parts: 2 ** 30 };
	const terms = { ...(await termsOf("a billion parts")), ...free };
	await send(customer, fundJobCall(contracts, terms));
	await send(customer, zk.orderProofsCall(contracts, terms, order!));
	const of = { job: jobIdOf(terms), terms, order: order! };
	assert.deepEqual(await claimsNow(contracts, of, 0), { claimed: [], isOver: false });
	const { next, end } = await provableNow(contracts, of);
	assert.deepEqual([next, end], [1, 1]);
});

/** An optimistic job, ordered for its disputes, and claimed with these weights at its end. */
async function disputed(salt: string, last: readonly Elements[]) {
	const { contracts, send } = network;
	const terms = { ...(await termsOf(salt)), method: METHOD_NUMBERS.optimistic };
	const job = jobIdOf(terms);
	order ??= orderOf((await proof(1, 0n)).statement);
	gas.hybridOrder = await send(customer, hybrid.orderDisputesCall(contracts, terms, order));
	await send(customer, fundJobCall(contracts, terms));
	const made = await claim({ terms, job }, 1, last);
	const sitting = { job, part: 0, attempt: 1, provider: worker.address };
	const accused = (segment: number) => ({
		...{ terms, part: 0, segmentRoot: made.shown.segmentRoot, resultRoot: made.shown.resultRoot },
		...{ last: made.states[1 + SEGMENTS]!, head: toHex(encodeHead(program)), tensors: leavesRoot("tensors") },
		...{ ops: leavesRoot("ops"), segment: BigInt(segment), trace: NO_ID, traceSignature: "0x" as Hex },
	});
	const listed = (segment: number): hybrid.ListedStates => ({
		states: [made.states[segment]!, made.states[segment + 1]!],
		paths: [made.tree.path(segment).map(toHex), made.tree.path(segment + 1).map(toHex)],
	});
	const named = await hybrid.readProofJob(contracts, job);
	const call = (segment: number, shown: hybrid.ShownProof) =>
		hybrid.proveSegmentCall(contracts, SALT, accused(segment), listed(segment), shown);
	const about: ContestedClaim = {
		...{ chainId: 7373n, job: named, list: [], end: last },
		states: made.states.map((one) => one.slice(2)),
	};
	return { ...made, ...{ terms, job, order, sitting, book: bookOf(sitting), accused, named, call, about } };
}
type Disputed = Awaited<ReturnType<typeof disputed>>;

const by = (): DisputeEngine => ({ open: engine.open, device: 0, powers: DEV_POWERS });
/** The right run. */
const ownRun = (ordered: zk.ZkOrder): RunInDispute => ({
	...{ program, plan, seed: SEED, order: ordered, segments: 1 + SEGMENTS },
	...{ features: run.features, labels: run.labels, weightsBefore: async (segment: number) => weightsAt(segment) },
});
const rightList = async (ordered: zk.ZkOrder) => hybrid_.listOf(await hybrid_.commitmentsOf(by(), ownRun(ordered)));

/** What the accused sends to clear a segment. */
async function clearing(of: Disputed, segment: number, list: readonly Hex[]): Promise<hybrid.ShownProof> {
	const states = [of.about.states[segment]!, of.about.states[segment + 1]!] as const;
	const made = await hybrid_.proveDisputed(by(), ownRun(of.order), segment, { ...of.about, states });
	return { kind: "segment", ordered: of.order, list, ...made! };
}

const opened = async (of: Disputed, segment: number): Promise<Hex> => {
	const count = 2 * program.step.length;
	const question = toHex(encodeChainQuestion({ kind: "trace", segment, count }));
	await network.send(watcher, await openGameCall(network.contracts, of.sitting, question));
	return question;
};

/** A question for a trace needs nothing shown. */
const NO_BASIS: QuestionBasis = {
	op: { number: 0, leaf: "0x", path: [] },
	leaf: { step: 0, op: 0, inputs: [], output: NO_ID, path: [] },
	...{ path: [], tensors: [] },
};

const wrongEnd = () => {
	const right = weightsAt(1 + SEGMENTS);
	const changed = right[1]!.slice();
	changed[3] = Number(changed[3]) + 1;
	return right.with(1, changed);
};

/** Announced, then sent: convicted, and the accuser is paid. */
async function convicts(of: Disputed, call: Call, act: string): Promise<void> {
	const { contracts, send } = network;
	const before = await owed(watcher.address);
	await send(watcher, callOf(contracts, "disputes", "announce", announcementOf(watcher.address, call, SALT)));
	gas[act] = await send(watcher, call);
	assert.equal((await readJobPart(contracts, of.job, 0)).state, "open");
	assert.ok((await owed(watcher.address)) > before);
}

test("an honest claim in dispute: one transaction clears the segment, and the accuser's deposit is the worker's", async () => {
	const { contracts, send, wait } = network;
	const of = await disputed("cleared", weightsAt(1 + SEGMENTS));
	const question = await opened(of, 2);
	const list = await rightList(of.order);
	const shown = await clearing(of, 2, list);
	// Nobody says a list for another.
	await refused(send(watcher, of.call(2, shown)), "ListRefused");
	await refused(send(worker, of.call(2, { ...shown, list: list.with(0, NO_ID) } as typeof shown)), "ListRefused");
	await refused(send(worker, of.call(2, { ...shown, list: list.slice(1) } as typeof shown)), "ListRefused");
	gas.hybridClear = await send(worker, of.call(2, shown));
	assert.equal(await read(contracts, "disputes", "isCleared", of.book, 2n), true);
	assert.deepEqual(await hybrid.readSaidList(contracts, of.job, of.book), list);
	// A proof of this segment is none of another, and a list is said once.
	await refused(send(worker, of.call(1, shown)), "LookupsFalse");
	await refused(send(worker, of.call(2, { ...shown, list: list.with(2, NO_ID) } as typeof shown)), "ListMismatch");
	// The accuser can show nothing: the right end is there, and each segment ends as the list says.
	assert.equal(await contestList(by(), ownRun(of.order), { ...of.about, list }), null);
	gas.hybridDemand = await send(watcher, await hybrid.demandProofCall(contracts, of.job, 3));
	await refused(send(watcher, of.call(3, { kind: "silence", ordered: of.order })), "WrongTime");
	assert.deepEqual(
		(await hybrid.readDemanded(contracts, of.job, of.book)).map(({ segment }) => segment),
		[3],
	);
	await send(other, of.call(3, await clearing(of, 3, list)));
	wait(241);
	await refused(send(watcher, of.call(3, { kind: "silence", ordered: of.order })), "SegmentRefused");
	assert.ok((await read(contracts, "segmentProofs", "owedTo", worker.address)) > 0n);
	// The question was not answered, and nobody falls by it.
	await refused(
		send(watcher, timeoutCall(contracts, of.accused(2), { accuser: watcher.address, question }, NO_BASIS)),
		"NothingShown",
	);
	wait(1300);
	await send(other, callOf(contracts, "disputes", "close", of.book, watcher.address));
	await send(other, settlePartCall(contracts, of.terms, 0));
	const coins = await contracts.client.viem.getBalance({ address: worker.address });
	await send(other, callOf(contracts, "disputes", "collect", of.sitting, watcher.address, question));
	assert.ok((await contracts.client.viem.getBalance({ address: worker.address })) > coins);
});

test("a false claim whose list has the false end: the proof of that segment convicts it, in one transaction", async () => {
	const { contracts, send } = network;
	const last = wrongEnd();
	const of = await disputed("ends elsewhere", last);
	await opened(of, 2);
	const right = await rightList(of.order);
	const list = right.with(SEGMENTS, pointsHash(treesFor(last).map((one) => hex(pointBytes(one.at(-1)![0]!.point)))));
	await send(worker, of.call(2, await clearing(of, 2, list)));
	const found = (await contestList(by(), ownRun(of.order), { ...of.about, list }))!;
	assert.deepEqual([found.segment, found.shown.kind], [SEGMENTS, "segment"]);
	// A commitment may be to more than weights: what is not shown to be bare convicts nobody.
	const bare = { ...found.shown, bare: "0x" } as hybrid.ShownProof;
	await refused(send(watcher, of.call(SEGMENTS, bare)), "ProofLength");
	const changed = `${(found.shown as { bare: Hex }).bare.slice(0, -2)}ff` as Hex;
	await refused(send(watcher, of.call(SEGMENTS, { ...bare, bare: changed } as typeof bare)), "BareFalse");
	await convicts(of, of.call(SEGMENTS, found.shown), "hybridElsewhere");
	// Nothing is left of the attempt's list.
	await refused(send(watcher, await hybrid.demandProofCall(contracts, of.job, 1)), "ListState");
});

test("nobody honest is convicted by other commitments to the same weights", async () => {
	const { contracts, send } = network;
	const of = await disputed("not bare", weightsAt(1 + SEGMENTS));
	const list = await rightList(of.order);
	await send(worker, of.call(1, await clearing(of, 1, list)));
	// Behind the last weight of the last link a number that no sum asks for: a proof that holds, to a
	// commitment that is not the list's.
	const more = 7n;
	const [before, after] = [of.about.states[SEGMENTS]!, of.about.states[1 + SEGMENTS]!];
	const cheat = {
		committed: (columns: Map<string, bigint[]>) => void columns.set("after 1", [...columns.get("after 1")!, more]),
	};
	const said = { chainId: "7373", job: `${of.named}`, stateBefore: before, stateAfter: after, cheat };
	const made = proveTrained(run, SEGMENTS, CHUNK_BITS, {}, said);
	const { points, proof: bytes } = segmentOf(made.statement as SegmentStatement, made.proof);
	const values = placedWeights(plan, weightsAt(1 + SEGMENTS));
	const places = values.findLastIndex((value) => value !== 0n) + 1;
	assert.equal(places, 24);
	const bare = toHex(proveBare([values.with(places, more)], places, CHUNK_BITS, DEV_POWERS));
	const shown = { kind: "segment", ordered: of.order, list, points, proof: bytes, bare } as const;
	await refused(send(watcher, of.call(SEGMENTS, shown)), "BareFalse");
	// Of all but what stands behind them it is bare; and so it is where one more is allowed.
	const judged = (chunks: readonly (readonly bigint[])[], count: number) => {
		const told = toHex(Buffer.concat(chunks.map((one) => commitTo(DEV_POWERS, one))));
		const shown = toHex(proveBare(chunks, count, CHUNK_BITS, DEV_POWERS));
		return read(contracts, "weightJudge", "mustBeBare", BigInt(CHUNK_BITS), told, BigInt(count), shown);
	};
	const size = 2 ** CHUNK_BITS;
	await judged([values], places);
	await judged([values.with(places, more)], places + 1);
	await judged([values, values.slice(0, places)], size + places);
	await judged([values.with(size - 1, more)], size);
	await refused(judged([values], places - 1), "BareFalse");
	await refused(judged([[...values, more]], size), "BareFalse");
	await refused(judged([values, values.with(places, more)], size + places), "BareFalse");
	await refused(judged([[...values, more], values], size + places), "BareFalse");
});

test("a false claim whose list is right: one weight of its end convicts it", async () => {
	const { send } = network;
	const last = wrongEnd();
	const of = await disputed("false end", last);
	const list = await rightList(of.order);
	await send(worker, of.call(SEGMENTS, await clearing(of, SEGMENTS, list)));
	const found = (await contestList(by(), ownRun(of.order), { ...of.about, list }))!;
	assert.equal(found.shown.kind, "weight");
	const shown = found.shown as hybrid.ShownProof & { kind: "weight" };
	const { weight } = shown;
	const wrong = (change: Partial<typeof weight>) => of.call(SEGMENTS, { ...shown, weight: { ...weight, ...change } });
	await refused(send(watcher, wrong({ value: weight.value + 1n })), "OpeningFalse");
	await refused(send(watcher, wrong({ place: weight.place + 1n })), "OpeningFalse");
	await refused(send(watcher, wrong({ states: NO_ID })), "PointsMismatch");
	await refused(send(watcher, wrong({ place: 2n ** 20n })), "PointsMismatch");
	await refused(send(watcher, of.call(SEGMENTS - 1, shown)), "PointsMismatch");
	// A weight that is right shows nothing.
	const chunk = placedWeights(plan, weightsAt(1 + SEGMENTS)).slice(0, 2 ** CHUNK_BITS);
	const place = weight.place === 0n ? 1 : 0;
	const same = { ...weight, place: BigInt(place), value: mod(chunk[place]!) };
	same.shown = shownOf({ program, plan, weights: last }, place, 1);
	const proof = toHex(openPlace(chunk, place, DEV_POWERS));
	await refused(send(watcher, of.call(SEGMENTS, { ...shown, proof, weight: same })), "NothingShown");
	await convicts(of, of.call(SEGMENTS, shown), "hybridWeight");
});

test("who says a list and cannot prove one of its segments falls by silence", async () => {
	const { contracts, send, wait } = network;
	const of = await disputed("silent", weightsAt(1 + SEGMENTS));
	const list = await rightList(of.order);
	await refused(send(watcher, await hybrid.demandProofCall(contracts, of.job, 2)), "ListState");
	await send(worker, of.call(1, await clearing(of, 1, list)));
	await refused(send(watcher, await hybrid.demandProofCall(contracts, of.job, 1)), "SegmentRefused");
	await refused(send(watcher, await hybrid.demandProofCall(contracts, of.job, 0)), "SegmentRefused");
	await send(watcher, await hybrid.demandProofCall(contracts, of.job, 2));
	const silence = of.call(2, { kind: "silence", ordered: of.order });
	await refused(send(watcher, silence), "WrongTime");
	wait(241);
	await convicts(of, silence, "hybridSilence");
	await send(other, callOf(contracts, "segmentProofs", "settleDemand", of.book, 2n));
	assert.ok((await read(contracts, "segmentProofs", "owedTo", watcher.address)) > 0n);
});

test("states that nobody claimed clear nothing", async () => {
	const { send } = network;
	const of = await disputed("other states", wrongEnd());
	const honest = claimOf(of.terms, weightsAt(1 + SEGMENTS));
	const accused = {
		...of.accused(SEGMENTS),
		segmentRoot: honest.shown.segmentRoot,
		last: honest.states[1 + SEGMENTS]!,
	};
	const listed: hybrid.ListedStates = {
		states: [honest.states[SEGMENTS]!, honest.states[1 + SEGMENTS]!],
		paths: [honest.tree.path(SEGMENTS).map(toHex), honest.tree.path(1 + SEGMENTS).map(toHex)],
	};
	const about = { ...of.about, states: honest.states.map((one) => one.slice(2)) };
	const shown = await clearing({ ...of, about }, SEGMENTS, await rightList(of.order));
	const call = hybrid.proveSegmentCall(network.contracts, SALT, accused, listed, shown);
	await refused(send(worker, call), "NotOpen");
});

const leavesRoot = (of: "tensors" | "ops"): Hex => toHex(keccakTree(encodeLeaves(program)[of].map(keccakLeaf)).root);

test("gas is what contracts/gas.json says", () => checkGas("zkJobs", gas));

test("a job is over for a prover when no claim can come any more, and not before", async () => {
	const { contracts, send, wait } = network;
	const here = await claimed("claimed to the end", weightsAt(1 + SEGMENTS));
	const [never, cancelled] = await Promise.all(
		["never taken", "cancelled"].map(async (salt) => {
			const terms = await termsOf(salt);
			return { terms, order: here.order, job: jobIdOf(terms) };
		}),
	);
	for (const { terms } of [never!, cancelled!]) {
		await send(customer, fundJobCall(contracts, terms));
		await send(customer, zk.orderProofsCall(contracts, terms, here.order));
	}
	const isOver = async () =>
		Promise.all([here, never!, cancelled!].map(async (of) => (await claimsNow(contracts, of, 0)).isOver));
	assert.deepEqual(await isOver(), [false, false, false]);
	await send(customer, cancelJobCall(contracts, cancelled!.terms));
	assert.deepEqual(await isOver(), [false, false, true]);
	// Whoever was assigned at the last moment has all of its time.
	wait(Number(never!.terms.startBy) + never!.terms.workSeconds - (await nowS()) - 60);
	assert.deepEqual(await isOver(), [false, false, true]);
	wait(120);
	assert.deepEqual(await isOver(), [false, true, true]);
	assert.deepEqual((await claimsNow(contracts, here, 0)).claimed, [0]);
	await send(customer, expirePartCall(contracts, here.terms, 0));
	assert.deepEqual(await isOver(), [true, true, true]);
});
