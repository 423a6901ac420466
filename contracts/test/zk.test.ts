// The contracts for proofs of training beside their twin, src/verify/zk: the same verdict on honest proofs of
// random plans and on random changes of them; and what that costs in gas. What each row of the vectors must
// give in Solidity is zk/ZkVerifier.t.sol.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { decodeErrorResult, encodeDeployData, encodeFunctionData, type Hex } from "viem";
import { zkPlansCode, zkVerifierCode } from "../../src/chain/abi/creation-code.ts";
import { zkPlansAbi } from "../../src/chain/abi/zk-plans-abi.ts";
import { zkVerifierAbi } from "../../src/chain/abi/zk-verifier-abi.ts";
import { RpcRefusal } from "../../src/chain/node/rpc.ts";
import { devCommit, planFor, shapeOf, TOLD } from "../../src/verify/zk/segment.test-kit.ts";
import type { SegmentStatement } from "../../src/verify/zk/statement.ts";
import { proofSizes, verifySegment } from "../../src/verify/zk/verify-segment.ts";
import { planHash, planWords, type ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { fc, scaled } from "../../tests/fuzz.test-kit.ts";
import type { Shape, Start } from "../../vectors/naive-plan.ts";
import { SegmentProver } from "../../vectors/naive-segment.ts";
import { calldataGas, checkGas } from "./gas.test-kit.ts";
import { type BareChain, CHAIN_ID, openBareChain, TREASURER } from "./network.test-kit.ts";
import { DEV_BITS, devTau, heldCall, NO_ID, startAt, zkVectors } from "./zk-vectors.test-kit.ts";

const abi = [...zkPlansAbi, ...zkVerifierAbi] as const;
let chain: BareChain;
let plans: Hex;
let verifier: Hex;

before(async () => {
	chain = await openBareChain();
	const { put } = chain;
	plans = await put(zkPlansCode);
	const powers = [plans, devTau(), DEV_BITS, DEV_BITS.map(() => NO_ID)] as const;
	verifier = await put(encodeDeployData({ abi: zkVerifierAbi, bytecode: zkVerifierCode, args: powers }));
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

function proveHere(shape: Shape, start: Start) {
	const prover = new SegmentProver(shape, start, devCommit);
	const { statement, proof } = prover.prove({ ...TOLD, chainId: String(CHAIN_ID) });
	return { plan: planFor(shape), statement, proof };
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

test("what a segment costs, and eleven links", async () => {
	const gasOf = async (shape: Shape, label: string) => {
		const { plan, statement, proof } = proveHere(shape, startAt(shape, label, 0));
		await register(plan);
		const data = heldCall(statement, proof);
		const { gasUsed } = await chain.send({ to: verifier, data });
		return { gas: Number(gasUsed), calldata: calldataGas(data) };
	};
	const two = await gasOf(shapeOf({ chunkBits: 12 }), "gas of two");
	const eleven = await gasOf(shapeOf({ sizes: new Array<number>(12).fill(4), chunkBits: 12 }), "gas of eleven");
	const { gasUsed } = await register(planFor(shapeOf({ sizes: new Array<number>(12).fill(8) })));
	checkGas("zk", {
		...{ zkHold: two.gas, zkHold11: eleven.gas, zkHold11Calldata: eleven.calldata },
		zkRegister11: Number(gasUsed),
	});
});
