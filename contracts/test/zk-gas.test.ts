// What a segment of a large plan costs on chain, part by part: eleven links of 1,024, 32 steps of batch 64.
// Nobody proves that in a test, so the proof is random bytes of that form, and the verifier one that goes on
// where a sum is false: all else is the same. What proofs of small plans cost, which are true, is zk.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeDeployData, encodeFunctionData, type Hex, keccak256 } from "viem";
import { zkPlansCode } from "../../src/chain/abi/creation-code.ts";
import { zkPlansAbi } from "../../src/chain/abi/zk-plans-abi.ts";
import { zkVerifierAbi } from "../../src/chain/abi/zk-verifier-abi.ts";
import { toHex } from "../../src/protocol/chain/hex.ts";
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
	send,
	traced,
} from "./zk-gas.test-kit.ts";
import { DEV_BITS, devTau, NO_ID } from "./zk-vectors.test-kit.ts";

const MAIN = "zk/ZkVerifier.sol";

const PARTS: readonly GasPart[] = [
	["ZkPlan.load(", "Plan"],
	["mustHaveForm(points", "Form"],
	["pointHashes(points)", "Plan"],
	["RowOrder.draw(", "Order"],
	["begin(from)", "Lookups"],
	["SegmentLookups.check()", "Lookups"],
	["SegmentProducts.checkProducts()", "Products"],
	["SegmentProducts.checkWeights()", "Weights"],
	["SegmentClaims.takeBytes()", "Weights"],
	["SegmentClaims.join()", "Claims"],
	["Bn254.gather(told", "Points"],
	["Opening.mustOpen(claim", "Opening"],
];

/** Registers such a plan, and has what has a proof's form verified by a transaction of its own. */
async function verified(sizes: readonly number[], rows: number, verifierCode: Hex) {
	const rpc = await openGasChain();
	const plan = largePlan(sizes, rows);
	const { at: plans } = await send(rpc, null, zkPlansCode);
	const powers = [plans, devTau(), DEV_BITS, DEV_BITS.map(() => NO_ID)] as const;
	const { at: verifier } = await send(
		rpc,
		null,
		encodeDeployData({ abi: zkVerifierAbi, bytecode: verifierCode, args: powers }),
	);
	const words: Hex = `0x${Buffer.from(planWords(plan)).toString("hex")}`;
	await send(rpc, plans, encodeFunctionData({ abi: zkPlansAbi, functionName: "register", args: [words] }));
	const draw = drawBytes();
	const told = plan.groups.slice(0, 4).map(({ chunks }) => draw.points(chunks));
	const hash = (text: string) => keccak256(`0x${text}`);
	const statement = {
		...{ job: BigInt(hash("01")), seed: hash("02"), firstStep: 0n },
		...{ features: hash("03"), labels: hash("04"), stateBefore: hash("05"), stateAfter: hash("06") },
	};
	const { points, scalars } = proofSizes(plan);
	const opening = `${draw.points(1)}${draw.scalars(3)}${draw.points(2)}`;
	const proof: Hex = `0x${draw.points(points)}${draw.scalars(scalars)}${opening}`;
	const args = [toHex(planHash(plan)), statement, `0x${told.join("")}`, proof] as const;
	const data = encodeFunctionData({ abi: zkVerifierAbi, functionName: "mustHold", args });
	const { gas, hash: transaction } = await send(rpc, verifier, data);
	return { gas, calldata: calldataGas(data), structLogs: await traced(rpc, transaction) };
}

test("a segment of eleven links of 1,024, with 32 steps, takes less than 0.8 M gas, calldata included", async () => {
	const { code, statementAt } = compiledFor(MAIN, PARTS);
	const { gas, calldata, structLogs } = await verified(new Array<number>(12).fill(1024), 2 ** 14, code);
	const parts = byPart(structLogs, statementAt, PARTS);
	const sum = [...parts.values()].reduce((all, one) => all + one, 0);
	const names = [...new Set(PARTS.map(([, part]) => part))];
	// The transaction; and what of the verifier belongs to no part.
	const rest = gas - calldata - sum + (parts.get("Rest") ?? 0);
	const digits = await verified([784, ...new Array<number>(10).fill(1024), 10], 2 ** 13, code);
	checkGas("segments", {
		...Object.fromEntries(names.map((part) => [`zkSegment${part}`, parts.get(part) ?? 0])),
		...{ zkSegment: gas, zkSegmentCalldata: calldata, zkSegmentRest: rest, zkSegmentDigits: digits.gas },
	});
	assert.ok(gas < 800_000 && digits.gas < 800_000, `${gas}, ${digits.gas}`);
});
