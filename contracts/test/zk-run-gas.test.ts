// What a wrapped run of a large plan costs on chain, part by part: eleven links of 1,024, 32 steps of batch
// 64 a segment, one and sixteen segments. As zk-gas.test.ts: bytes that nobody chose, and a verifier that
// goes on where the proof is false.
import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeDeployData, encodeFunctionData, type Hex, keccak256, zeroAddress } from "viem";
import { zkKeysCode, zkPlansCode, zkTrainingCode } from "../../src/chain/abi/creation-code.ts";
import { zkKeysAbi } from "../../src/chain/abi/zk-keys-abi.ts";
import { zkPlansAbi } from "../../src/chain/abi/zk-plans-abi.ts";
import { zkRunVerifierAbi } from "../../src/chain/abi/zk-run-verifier-abi.ts";
import { zkTrainingAbi } from "../../src/chain/abi/zk-training-abi.ts";
import { proofSizes } from "../../src/verify/zk/verify-segment.ts";
import { planHash, planWords } from "../../src/work/plan/compile-plan.ts";
import { calldataGas, checkGas } from "./gas.test-kit.ts";
import {
	byPart,
	compiledFor,
	drawBytes,
	type GasPart,
	largePlan,
	openGasChain,
	SENDER,
	send,
	traced,
} from "./zk-gas.test-kit.ts";
import { hex, keyHash, wrappedVector } from "./zk-runs.test-kit.ts";
import { DEV_BITS, devTau, NO_ID } from "./zk-vectors.test-kit.ts";

const MAIN = "zk/runs/ZkRunVerifier.sol";
const PARTS: readonly GasPart[] = [
	["ZkPlan.loadHead(", "Plan"],
	["takeKey(parts", "Plan"],
	["mustHaveForm(parts", "Form"],
	["hashes = pointHashes(", "Statements"],
	["hashStatements(parts, packed", "Statements"],
	["drawList(parts, statement", "List"],
	["drawFactor(parts)", "Opening"],
	["gatherInputs(parts)", "Inputs"],
	["gatherPoints(parts, factor)", "Points"],
	["gatherOpening(parts, z", "Opening"],
	["isOne(pairsOf(parts", "Pairing"],
];
const { key: KEY, proof: PROOF } = wrappedVector();
/** Groth16's of the run of tests/zk: its points are points. */
const GROTH16 = Buffer.from(PROOF)
	.subarray(-128 - 256, -128)
	.toString("hex");

async function submitted(segments: number, verifierCode: Hex) {
	const rpc = await openGasChain();
	const plan = largePlan(new Array<number>(12).fill(1024), 2 ** 14);
	const { at: plans } = await send(rpc, null, zkPlansCode);
	const ceremony: Hex = `0x${KEY.slice(0, 6).join("")}`;
	const { at: keys } = await send(
		rpc,
		null,
		encodeDeployData({ abi: zkKeysAbi, bytecode: zkKeysCode, args: [ceremony] }),
	);
	const powers = [plans, keys, devTau(), DEV_BITS, DEV_BITS.map(() => NO_ID)] as const;
	const { at: verifier } = await send(
		rpc,
		null,
		encodeDeployData({ abi: zkRunVerifierAbi, bytecode: verifierCode, args: powers }),
	);
	const args = [zeroAddress, verifier, plans] as const;
	const { at: training } = await send(
		rpc,
		null,
		encodeDeployData({ abi: zkTrainingAbi, bytecode: zkTrainingCode, args }),
	);
	const words = hex(planWords(plan));
	await send(rpc, plans, encodeFunctionData({ abi: zkPlansAbi, functionName: "register", args: [words] }));
	const [planId, keyWords] = [hex(planHash(plan)), `0x${KEY.join("")}` as const];
	const keyArgs = [planId, BigInt(segments), keyWords] as const;
	const registered = await send(
		rpc,
		keys,
		encodeFunctionData({ abi: zkKeysAbi, functionName: "registerKey", args: keyArgs }),
	);
	const key = keyHash(planId, segments, KEY);
	const draw = drawBytes();
	const hash = (text: string) => keccak256(`0x${text}`);
	const chunks = plan.groups.map((one) => one.chunks);
	const data = [draw.points(chunks[0]!), draw.points(chunks[1]!)] as const;
	const weights = Array.from({ length: segments + 1 }, () => draw.points(chunks[2]!));
	const run = {
		...{
			salt: hash("01"),
			prover: SENDER,
			plan: planId,
			key,
			seed: hash("02"),
			features: hash("03"),
			labels: hash("04"),
		},
		...{ featurePoints: hash(data[0]), labelPoints: hash(data[1]), state: hash("05"), points: hash(weights[0]!) },
		...{ firstStep: 0n, endStep: BigInt(32 * segments) },
	};
	await send(rpc, training, encodeFunctionData({ abi: zkTrainingAbi, functionName: "open", args: [run] }));
	const counts = segments * chunks.reduce((sum, one) => sum + one, 0) + 2 + 4;
	const own = draw.points(segments * proofSizes(plan).points + 2);
	const proof: Hex = `0x${own}${draw.scalars(counts)}${GROTH16}${draw.points(2)}`;
	const states = [
		run.state,
		...Array.from({ length: segments }, (_, i) => hash(`06${i.toString(16).padStart(2, "0")}`)),
	];
	const head = { nextStep: 0n, state: run.state, points: run.points };
	const submit = encodeFunctionData({
		...{ abi: zkTrainingAbi, functionName: "submitRun" },
		args: [run, head, states, `0x${[...data, ...weights].join("")}`, proof],
	});
	const { gas, hash: transaction } = await send(rpc, training, submit);
	return { gas, calldata: calldataGas(submit), key: registered.gas, structLogs: await traced(rpc, transaction) };
}

test("sixteen segments of eleven links of 1,024 as one wrapped run: gas by part, and of a further segment", async () => {
	const { code, statementAt } = compiledFor(MAIN, PARTS);
	const one = await submitted(1, code);
	const many = await submitted(16, code);
	const parts = byPart(one.structLogs, statementAt, PARTS);
	const names = [...new Set(PARTS.map(([, part]) => part))];
	const sum = [...parts.values()].reduce((all, part) => all + part, 0);
	const further = Math.round((many.gas - one.gas) / 15);
	checkGas("runs", {
		...Object.fromEntries(names.map((part) => [`zkRun${part}`, parts.get(part) ?? 0])),
		...{
			zkRun: one.gas,
			zkRunCalldata: one.calldata,
			zkRunRest: one.gas - one.calldata - sum + (parts.get("Rest") ?? 0),
		},
		...{ zkRun16: many.gas, zkRun16Calldata: many.calldata, zkRunFurther: further, zkRunFixed: one.gas - further },
		zkRunKey: one.key,
	});
	assert.ok(further <= 150_000, `a further segment takes ${further}`);
});
