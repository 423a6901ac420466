// Orders, proofs and trees of points over Ignition's powers, from the file that `--powers` names: ordered,
// proven by the engine, verified by the contracts and by whoever has the file. And a watcher that brings
// false trees down over two answers, and one whose owner is silent. Where ../shared/srs is absent, as in a
// clone by itself, the same over powers of a known τ.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { callOf, read } from "../../src/chain/contracts/contracts.ts";
import { IGNITION, TRIAL_POWERS } from "../../src/chain/contracts/deploy-zk.ts";
import { approveJobsCall, fundJobCall, jobIdOf } from "../../src/chain/contracts/job-escrow.ts";
import * as zk from "../../src/chain/contracts/zk-jobs.ts";
import { refusedBecause } from "../../src/chain/sending/refusal.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { toHex } from "../../src/protocol/chain/hex.ts";
import { keccak } from "../../src/protocol/hash/keccak-tree.ts";
import { METHOD_NUMBERS } from "../../src/protocol/network/job.ts";
import { pointsHash, treeOf } from "../../src/provider/proofs/chain-forms.ts";
import { nodesBelow } from "../../src/provider/proofs/keep-end.ts";
import { makeTrees } from "../../src/provider/proofs/make-trees.ts";
import { makeOrder } from "../../src/provider/proofs/order.ts";
import { powersOf } from "../../src/provider/proofs/powers.ts";
import { openProofChain } from "../../src/provider/proofs/proof-chain.ts";
import { proveStated } from "../../src/provider/proofs/prove-segment.ts";
import { segmentEnds } from "../../src/provider/proofs/segment-ends.ts";
import { watchTrees } from "../../src/provider/proofs/watch-trees.ts";
import { encodeProofFile, verifyProofFile } from "../../src/verify/zk/proof-file.ts";
import { DEV_POWERS } from "../../src/verify/zk/srs.ts";
import { weightPlaces } from "../../src/verify/zk/weight-trees.ts";
import { elementsToBytes } from "../../src/work/operators/tensor-type.ts";
import { compilePlan, planHash, planWords, type ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { enteringOf } from "../../src/work/plan/entering.ts";
import { firstState, stateHashOf } from "../../src/work/trace/commitments.ts";
import { tensorRoot } from "../../src/work/trace/tensor-tree.ts";
import { type Prover, startProver } from "../../tests/zk/engine-prover.test-kit.ts";
import { SEED, trained, trainedModel } from "../../tests/zk/trained.test-kit.ts";
import { NO_TERMS } from "./disputes.test-kit.ts";
import { openTestNetwork, type TestNetwork, UNIT } from "./network.test-kit.ts";
import { heldCall } from "./zk-vectors.test-kit.ts";

/** Trees of 2^5 leaves: two answers lead down. */
const CHUNK_BITS = 12;
const SHARED = process.env.ASSAY_SHARED ?? fileURLToPath(new URL("../../../shared", import.meta.url));
const FILE = join(SHARED, "srs/ignition-bn254-2p15.bin");
const isReal = existsSync(FILE);
/** Of a chain that is not embedded. */
const CHAIN_ID = 7373;
const powersFor = isReal ? powersOf(CHAIN_ID, FILE) : () => DEV_POWERS;

const run = trained(1);
const { program } = run;
const plan = compilePlan(program, CHUNK_BITS) as ZkPlan;
const PLAN = toHex(planHash(plan));
const weights = run.states[1]!.weights;
const [customer, prover, liar] = ["c1", "c2", "c3"].map((byte) => accountOf(`0x${byte.repeat(32)}`));

let network: TestNetwork;
let engine: Prover;
before(async () => {
	network = await openTestNetwork(1, isReal ? IGNITION : TRIAL_POWERS);
	engine = await startProver();
	const { contracts, send, treasurer } = network;
	assert.equal(contracts.addresses.chainId, CHAIN_ID);
	for (const one of [customer, prover, liar]) await send(treasurer, { to: one!.address, data: "0x", value: UNIT });
	await send(treasurer, callOf(contracts, "token", "transfer", customer!.address, 100n * UNIT));
	await send(customer!, approveJobsCall(contracts, 100n * UNIT));
	await send(customer!, zk.registerPlanCall(contracts, toHex(planWords(plan))));
});
after(async () => {
	await engine?.close();
	await network?.close();
});

test("ordered, proven and verified over the powers of a file", async (t) => {
	t.diagnostic(isReal ? "over Ignition's powers" : "../shared/srs is absent: over powers of a known τ");
	const { contracts, send, validators } = network;
	const model = trainedModel();
	const given = async (tensor: number) => elementsToBytes(model.given[program.tensors[tensor]!.name]!);
	const powers = powersFor(CHUNK_BITS);
	const by = { open: engine.openWork, openProof: engine.open, device: 0 };
	const order = await makeOrder({ program, plan, seed: SEED, given }, by, powers);
	const nowS = Number((await contracts.client.viem.getBlock()).timestamp);
	const terms = {
		...NO_TERMS,
		...{ customer: customer!.address, start: toHex(firstState(program)), seed: toHex(SEED), parts: 1, quorum: 1 },
		...{ program: `0x${plan.programRoot}` as const, segments: 2n, validators: [validators[0]!.address] },
		...{ inputs: toHex(keccak(SEED)), price: UNIT, fee: 0n, audit: UNIT, bond: 10n * UNIT, method: METHOD_NUMBERS.zk },
		...{ startBy: BigInt(nowS + 86_400), workSeconds: 1200, windowSeconds: 1200, checkedSeconds: 60 },
	};
	await send(customer!, fundJobCall(contracts, terms));
	await send(customer!, zk.orderProofsCall(contracts, terms, order));
	const stateAt = (segment: number) =>
		Buffer.from(stateHashOf(program, segment, run.states[segment - 1]!.weights.map(tensorRoot), [])).toString("hex");
	const job = await zk.readProverJob(contracts, jobIdOf(terms), prover!.address);
	const made = await proveStated(
		{
			...{ plan, seed: SEED, segment: 1, chainId: BigInt(CHAIN_ID), job },
			roots: {
				...{ features: order.features.slice(2), labels: order.labels.slice(2) },
				...{ stateBefore: stateAt(1), stateAfter: stateAt(2) },
			},
			given: {
				entering: elementsToBytes(enteringOf(plan, run.features)),
				labels: elementsToBytes(Int32Array.from(run.labels, Number)),
				weights: run.states[0]!.weights.map(elementsToBytes),
			},
		},
		{ open: engine.open, device: 0, powers },
	);
	const { statement, proof } = made!;
	assert.equal(pointsHash(statement.pointsBefore), order.startPoints);
	await contracts.client.rpc("eth_call", [
		{ to: contracts.addresses.zkVerifier, data: heldCall(statement, proof), gas: "0x4c4b40" },
		"latest",
	]);
	// What a worker lists, by the engine that trained, and that it is bare.
	const ends = await segmentEnds({ program, plan, seed: SEED, given }, { first: 0, end: 2, begin: null }, by, powers);
	assert.equal(toHex(ends.points), `0x${statement.pointsAfter.join("")}`);
	const [bits, places] = [BigInt(CHUNK_BITS), BigInt(weightPlaces(plan))];
	const judged = (count: bigint) =>
		read(contracts, "weightJudge", "mustBeBare", bits, toHex(ends.points), count, toHex(ends.bare));
	await judged(places);
	await assert.rejects(judged(places - 1n), (error: unknown) => refusedBecause(error) === "BareFalse");
	// Whoever has the file needs no permission to believe it.
	const file = encodeProofFile(program, plan.chunkBits, { statement, proof });
	assert.equal(verifyProofFile(file, { isDevAllowed: !isReal }).status, "valid");
});

/** A tree of the true weights' state with one weight changed, posted by its liar. */
async function postedLie(job: bigint, at: number) {
	const changed = weights[0]!.slice();
	changed[at] = Number(changed[at]) + 1;
	const levels = await makeTrees({ plan, weights: weights.with(0, changed), powers: powersFor(CHUNK_BITS) });
	const tree = treeOf(program, { job, plan: PLAN, segment: 2, roots: weights.map(tensorRoot) }, levels);
	const chain = openProofChain(network.contracts, liar!);
	await chain.post(tree);
	const end = { job, segment: 2, program, plan, planHash: PLAN, weights };
	return { chain, tree, levels, end };
}

test("a watcher follows a false tree down over two answers, and shows the leaf", async () => {
	const { contracts } = network;
	const { chain, tree, levels, end } = await postedLie(71n, 3);
	const watcher = watchTrees(contracts, prover!, powersFor);
	const done: string[] = [];
	while ((await chain.stateOf(tree)) !== "fallen") {
		const moved = await watcher.look(end);
		done.push(...moved);
		for (const demand of await chain.demands(tree)) await chain.answer(tree, demand, nodesBelow(levels, demand.node)!);
		assert.ok(moved.length > 0, "it stands still");
	}
	assert.deepEqual(done, [
		"what lies below a false commitment is demanded",
		"what lies below a false node is demanded",
		"a leaf of it is false: it has fallen",
	]);
});

test("a false tree whose owner is silent falls; half of its bond and all deposits are the watcher's", async () => {
	const { contracts, wait } = network;
	const { chain, tree, end } = await postedLie(72n, 5);
	const watcher = watchTrees(contracts, prover!, powersFor);
	const { bond, deposit, answerSeconds } = await zk.readTwinParams(contracts);
	assert.deepEqual(await watcher.look(end), ["what lies below a false commitment is demanded"]);
	// Nobody is silent before its time is over.
	assert.deepEqual(await watcher.look(end), []);
	wait(answerSeconds + 1);
	assert.deepEqual(await watcher.look(end), ["its owner was silent: it has fallen"]);
	assert.equal(await chain.stateOf(tree), "fallen");
	const coins = () => contracts.client.viem.getBalance({ address: prover!.address });
	const before = await coins();
	// It takes what it is owed, and has nothing more to do.
	assert.deepEqual(await watcher.look(end), []);
	assert.equal(await read(contracts, "twinPosts", "owedTo", prover!.address), 0n);
	const gained = (await coins()) - before;
	assert.ok(gained > bond / 2n && gained <= bond + 4n * deposit, `${gained}`);
});
