// The contracts for proofs of training beside their twin, src/verify/zk: the same verdict on honest proofs of
// random plans and on random changes of them; runs that are proven segment after segment; and what that costs
// in gas. What each row of the vectors must give in Solidity is zk/ZkVerifier.t.sol.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { decodeErrorResult, encodeDeployData, encodeFunctionData, type Hex, keccak256, zeroAddress } from "viem";
import { zkPlansCode, zkTrainingCode, zkVerifierCode } from "../../src/chain/abi/creation-code.ts";
import { zkPlansAbi } from "../../src/chain/abi/zk-plans-abi.ts";
import { zkTrainingAbi } from "../../src/chain/abi/zk-training-abi.ts";
import { zkVerifierAbi } from "../../src/chain/abi/zk-verifier-abi.ts";
import { RpcRefusal } from "../../src/chain/node/rpc.ts";
import { devCommit, planFor, shapeOf, TOLD } from "../../src/verify/zk/segment.test-kit.ts";
import type { SegmentStatement } from "../../src/verify/zk/statement.ts";
import { proofSizes, verifySegment } from "../../src/verify/zk/verify-segment.ts";
import { planHash, planWords, type ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { fc, scaled } from "../../tests/fuzz.test-kit.ts";
import { leftRange, runSegment, type Shape, type Start } from "../../vectors/naive-plan.ts";
import { SegmentProver, type Told } from "../../vectors/naive-segment.ts";
import { calldataGas, checkGas } from "./gas.test-kit.ts";
import { type BareChain, CHAIN_ID, openBareChain, TREASURER } from "./network.test-kit.ts";
import { DEV_BITS, devTau, heldCall, NO_ID, pointsOf, startAt, zkVectors } from "./zk-vectors.test-kit.ts";

const abi = [...zkPlansAbi, ...zkVerifierAbi, ...zkTrainingAbi] as const;
let chain: BareChain;
let plans: Hex;
let verifier: Hex;
let training: Hex;

before(async () => {
	chain = await openBareChain();
	const { put } = chain;
	plans = await put(zkPlansCode);
	const powers = [plans, devTau(), DEV_BITS, DEV_BITS.map(() => NO_ID)] as const;
	verifier = await put(encodeDeployData({ abi: zkVerifierAbi, bytecode: zkVerifierCode, args: powers }));
	// Runs of several segments at once are zk-runs.test.ts.
	const args = [verifier, zeroAddress, plans] as const;
	training = await put(encodeDeployData({ abi: zkTrainingAbi, bytecode: zkTrainingCode, args }));
});
after(() => chain.close());

/** "valid", or the name of the error. */
async function asked(to: Hex, data: Hex): Promise<string> {
	try {
		await chain.client.rpc("eth_call", [{ to, data, from: TREASURER.address, gas: "0x4c4b40" }, "latest"]);
		return "valid";
	} catch (error) {
		if (!(error instanceof RpcRefusal)) throw error;
		const given = error.data as Hex | { readonly data: Hex };
		const bytes = typeof given === "string" ? given : given.data;
		return bytes === "0x" ? "nothing" : decodeErrorResult({ abi, data: bytes }).errorName;
	}
}

/** What the contract says where the verifier has this code. */
const ERRORS: Readonly<Record<string, readonly string[]>> = {
	PROOF_FORM: ["ProofLength", "NumberTooLarge", "PointNowhere"],
	PROOF_STATEMENT: ["SegmentInvalid"],
	PROOF_LOOKUPS: ["LookupsFalse"],
	PROOF_PRODUCTS: ["ProductsFalse"],
	PROOF_WEIGHTS: ["WeightsFalse"],
	PROOF_CLAIMS: ["ClaimsFalse"],
	PROOF_OPENING: ["OpeningFalse"],
};

async function agree(plan: ZkPlan, statement: SegmentStatement, proof: Uint8Array): Promise<string> {
	const verdict = verifySegment(plan, statement, proof, { isDevAllowed: true });
	const found = await asked(verifier, heldCall(statement, proof));
	const wanted = verdict.status === "valid" ? ["valid"] : (ERRORS[verdict.code] ?? []);
	assert.ok(wanted.includes(found), `${verdict.status === "valid" ? "valid" : verdict.code}, contract: ${found}`);
	return found;
}

const register = (plan: ZkPlan) => {
	const args = [`0x${Buffer.from(planWords(plan)).toString("hex")}`] as const;
	return chain.send({
		to: plans,
		data: encodeFunctionData({ abi: zkPlansAbi, functionName: "register", args }),
	});
};

function proveHere(shape: Shape, start: Start, told: Partial<Told> = {}) {
	const prover = new SegmentProver(shape, start, devCommit);
	const { statement, proof } = prover.prove({ ...TOLD, chainId: String(CHAIN_ID), ...told });
	return { plan: planFor(shape), statement, proof, prover };
}

test("vectors are what their generator makes: else node contracts/test/zk-vectors.test-kit.ts", () => {
	assert.ok(readFileSync(new URL("../vectors/zk.json", import.meta.url), "utf8") === zkVectors(), "zk.json is stale");
});

/** Widths, depth, batch, steps, tables and chunks. */
const SHAPES = fc.record({
	sizes: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 2, maxLength: 5 }),
	batch: fc.constantFrom(1, 2),
	steps: fc.constantFrom(1, 2),
	scale: fc.integer({ min: 3, max: 5 }),
	chunkBits: fc.constantFrom(6, 8, 10),
});

test("honest proofs of random plans, and random changes of them: contract and verifier agree", async () => {
	let shown = 0;
	await fc.assert(
		fc.asyncProperty(SHAPES, fc.nat(2 ** 20), async (change, seed) => {
			const shape = shapeOf(change);
			let start: Start;
			try {
				start = startAt(shape, `agree ${seed}`, shape.steps * (seed % 2));
			} catch {
				return;
			}
			const { plan, statement, proof } = proveHere(shape, start);
			await register(plan);
			assert.equal(await agree(plan, statement, proof), "valid");
			shown += 1;
			for (let i = 0; i < 4; i++) {
				const bit = (seed * 7919 + i * 104_729) % (8 * proof.length);
				const other = proof.slice();
				other[bit >> 3]! ^= 1 << (bit & 7);
				assert.notEqual(await agree(plan, statement, other), "valid");
			}
		}),
		{ numRuns: scaled(4) },
	);
	assert.ok(shown > 0);
});

test("plans of many links, all sizes of layers among them, are compiled as the verifier's are: a proof of their form is refused for what it says", async () => {
	const { statement } = proveHere(shapeOf(), startAt(shapeOf(), "many", 0));
	for (const links of [1, 17, 63]) {
		const sizes = Array.from({ length: links + 1 }, (_, i) => 2 ** ((i * 7) % 11) + (i % 3));
		const plan = planFor(shapeOf({ sizes, chunkBits: 24 }));
		await register(plan);
		const [featurePoints, labelPoints, pointsBefore, pointsAfter] = plan.groups.map(({ chunks }) =>
			new Array<string>(chunks).fill("00".repeat(64)),
		);
		const points = { featurePoints, labelPoints, pointsBefore, pointsAfter } as Pick<
			SegmentStatement,
			"featurePoints" | "labelPoints" | "pointsBefore" | "pointsAfter"
		>;
		const told = { ...statement, plan: Buffer.from(planHash(plan)).toString("hex"), ...points };
		assert.equal(await agree(plan, told, new Uint8Array(proofSizes(plan).bytes)), "LookupsFalse");
	}
});

test("plans with convolutions or softmax are registered under no hash, and their valid proofs are refused", async () => {
	const window = { channels: 1, height: 3, width: 3, size: 2, stride: 1, pad: 0 };
	const shapes = [
		shapeOf({ sizes: [3, 3], quotient: 6 }),
		shapeOf({ sizes: [9, 8, 2], windows: [window, null], limbs: [4, 4, 4], d: 6 }),
	];
	for (const [i, shape] of shapes.entries()) {
		const { plan, statement, proof } = proveHere(shape, startAt(shape, `wide ${i}`, 0));
		assert.equal(verifySegment(plan, statement, proof, { isDevAllowed: true }).status, "valid");
		const call = (words: Uint8Array) =>
			encodeFunctionData({
				...{ abi: zkPlansAbi, functionName: "register" as const },
				args: [`0x${Buffer.from(words).toString("hex")}`],
			});
		assert.equal(await asked(plans, call(planWords(plan))), "PlanInvalid");
		// Without what makes it such a plan it is another one.
		await chain.send({ to: plans, data: call(planWords(plan).subarray(0, 32 * (16 + plan.links.length))) });
		assert.equal(await asked(verifier, heldCall(statement, proof)), "PlanUnknown");
	}
});

type RunArgs = {
	[Name in
		| "salt"
		| "plan"
		| "key"
		| "seed"
		| "features"
		| "labels"
		| "featurePoints"
		| "labelPoints"
		| "state"
		| "points"]: Hex;
} & { readonly prover: Hex; readonly firstStep: bigint; readonly endStep: bigint };

const hashOf = (points: readonly string[]): Hex => keccak256(`0x${points.join("")}`);
const numberOf = async (run: RunArgs): Promise<bigint> =>
	chain.client.viem.readContract({ address: training, abi: zkTrainingAbi, functionName: "numberOf", args: [run] });
const openCall = (run: RunArgs): Hex => encodeFunctionData({ abi: zkTrainingAbi, functionName: "open", args: [run] });
const word = (text: string): Hex => `0x${text}`;

function submitCall(run: RunArgs, statement: SegmentStatement, proof: Uint8Array): Hex {
	const head = {
		nextStep: BigInt(statement.firstStep),
		state: word(statement.stateBefore),
		points: hashOf(statement.pointsBefore),
	};
	const args = [
		run,
		head,
		word(statement.stateAfter),
		pointsOf(statement),
		word(Buffer.from(proof).toString("hex")),
	] as const;
	return encodeFunctionData({ abi: zkTrainingAbi, functionName: "submit", args });
}

/** The weights that a proven segment ended with, as the next one begins with them. */
function weightsAfter({ sizes }: Shape, columns: ReadonlyMap<string, readonly bigint[]>): bigint[][][] {
	return sizes.slice(1).map((outputs, l) => {
		const width = 2 ** Math.ceil(Math.log2(sizes[l]!));
		const list = columns.get(`after ${l}`)!;
		return Array.from({ length: outputs }, (_, i) => list.slice(i * width, i * width + sizes[l]!));
	});
}

/** Of which the next segment stays in its ranges too. */
function startOfTwo(shape: Shape, label: string): Start {
	for (let i = 0; ; i++) {
		const start = startAt(shape, `${label} ${i}`, 0);
		const { columns } = runSegment(shape, start);
		const next = { ...start, weights: weightsAfter(shape, columns), firstStep: shape.steps };
		if (leftRange(shape, runSegment(shape, next)) === null) return start;
	}
}

/** A run of this shape, opened, and its first segment. */
async function openRun(shape: Shape, label: string, salt: string) {
	const start = startOfTwo(shape, label);
	const { statement: first } = proveHere(shape, start);
	const run: RunArgs = {
		...{
			salt: word(salt.repeat(32)),
			prover: TREASURER.address,
			plan: word(first.plan),
			key: NO_ID,
			seed: word(first.seed),
		},
		...{ features: word(first.features), labels: word(first.labels) },
		...{ featurePoints: hashOf(first.featurePoints), labelPoints: hashOf(first.labelPoints) },
		...{ state: word(first.stateBefore), points: hashOf(first.pointsBefore) },
		...{ firstStep: 0n, endStep: BigInt(2 * shape.steps) },
	};
	await register(planFor(shape));
	const opened = await chain.send({ to: training, data: openCall(run) });
	const number = await numberOf(run);
	const proven = proveHere(shape, start, { job: String(number) });
	return { run, number, start, opened, ...proven };
}

test("a run is proven segment after segment, each once, in its order and of its own data", async () => {
	const shape = shapeOf();
	const { run, number, start, statement, proof, prover } = await openRun(shape, "run", "01");
	assert.equal(await asked(training, openCall(run)), "AlreadyOpened");
	const nextStart = { ...start, weights: weightsAfter(shape, prover.columns), firstStep: shape.steps };
	const told = { job: String(number), stateBefore: statement.stateAfter, stateAfter: "55".repeat(32) };
	const next = proveHere(shape, nextStart, told);
	assert.deepEqual(next.statement.pointsBefore, statement.pointsAfter);
	const [one, two] = [submitCall(run, statement, proof), submitCall(run, next.statement, next.proof)];
	assert.equal(await asked(training, two), "HeadMismatch", "a gap");
	const elsewhere = { ...run, prover: training };
	assert.equal(await asked(training, submitCall(elsewhere, statement, proof)), "NotProver", "another's run");
	const stranger = { ...run, salt: word("02".repeat(32)) };
	assert.equal(await asked(training, submitCall(stranger, statement, proof)), "HeadMismatch", "nobody opened it");
	await chain.send({ to: training, data: openCall(stranger) });
	assert.equal(await asked(training, submitCall(stranger, statement, proof)), "LookupsFalse", "a proof of another run");
	await chain.send({ to: training, data: one });
	assert.equal(await asked(training, one), "HeadMismatch", "once");
	await chain.send({ to: training, data: two });
	const head = { nextStep: 4n, state: word("55".repeat(32)), points: hashOf(next.statement.pointsAfter) };
	const isHead = await chain.client.viem.readContract({
		address: training,
		abi: zkTrainingAbi,
		functionName: "isHead",
		args: [number, head],
	});
	assert.ok(isHead);
	// All of it is proven.
	const more = {
		...next.statement,
		firstStep: 4,
		stateBefore: "55".repeat(32),
		pointsBefore: next.statement.pointsAfter,
	};
	assert.equal(await asked(training, submitCall(run, more, next.proof)), "RunEnded");
});

test("a true proof about other data, or from other weights, is not one of the run", async () => {
	const shape = shapeOf();
	const { run, statement } = await openRun(shape, "bound", "03");
	// Its number is that of a run with other commitments: only these differ, so that the proof itself is true.
	for (const name of ["featurePoints", "labelPoints"] as const) {
		const other = { ...run, salt: word("04".repeat(32)), [name]: word("09".repeat(32)) };
		await chain.send({ to: training, data: openCall(other) });
		const start = startOfTwo(shape, "bound");
		const { statement: said, proof } = proveHere(shape, start, { job: String(await numberOf(other)) });
		assert.equal(await asked(training, submitCall(other, said, proof)), "PointsMismatch");
	}
	const other = { ...run, salt: word("05".repeat(32)), points: word("09".repeat(32)) };
	await chain.send({ to: training, data: openCall(other) });
	const start = startOfTwo(shape, "bound");
	const { statement: said, proof } = proveHere(shape, start, { job: String(await numberOf(other)) });
	const head = { nextStep: 0n, state: run.state, points: other.points };
	const args = [other, head, word(said.stateAfter), pointsOf(said), word(Buffer.from(proof).toString("hex"))] as const;
	const data = encodeFunctionData({ abi: zkTrainingAbi, functionName: "submit", args });
	assert.equal(await asked(training, data), "PointsMismatch");
	assert.equal(await asked(training, openCall({ ...run, endStep: 0n })), "RunInvalid");
	assert.equal(await asked(training, openCall({ ...run, plan: word("06".repeat(32)) })), "RunInvalid");
	assert.equal(statement.job, String(await numberOf(run)));
});

test("what a segment costs, and eleven links", async () => {
	const gasOf = async (shape: Shape, salt: string) => {
		const { run, statement, proof, opened } = await openRun(shape, "gas", salt);
		const data = submitCall(run, statement, proof);
		const { gasUsed } = await chain.send({ to: training, data });
		return { open: Number(opened.gasUsed), submit: Number(gasUsed), calldata: calldataGas(data) };
	};
	const two = await gasOf(shapeOf({ chunkBits: 12 }), "06");
	const eleven = await gasOf(shapeOf({ sizes: new Array<number>(12).fill(4), chunkBits: 12 }), "07");
	const { gasUsed } = await register(planFor(shapeOf({ sizes: new Array<number>(12).fill(8) })));
	checkGas("zk", {
		zkCalldata11: eleven.calldata,
		zkOpen: two.open,
		zkRegister11: Number(gasUsed),
		zkSubmit: two.submit,
		zkSubmit11: eleven.submit,
	});
});
