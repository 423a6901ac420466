// What a segment of a large plan costs on chain, part by part: eleven links of 1,024, 32 steps of batch 64. Nobody proves that in a test, so the proof is random bytes of that form, and the
// verifier one that goes on where a sum is false: all else is the same. What proofs of small plans cost, which are true, is zk.test.ts.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { encodeDeployData, encodeFunctionData, type Hex, keccak256 } from "viem";
import { zkPlansCode, zkTrainingCode } from "../../src/chain/abi/creation-code.ts";
import { zkPlansAbi } from "../../src/chain/abi/zk-plans-abi.ts";
import { zkTrainingAbi } from "../../src/chain/abi/zk-training-abi.ts";
import { zkVerifierAbi } from "../../src/chain/abi/zk-verifier-abi.ts";
import { createEdrProvider } from "../../src/chain/node/edr-provider.ts";
import type { Rpc } from "../../src/chain/node/rpc.ts";
import { proofSizes } from "../../src/verify/zk/verify-segment.ts";
import { planOf, planWords } from "../../src/work/plan/compile-plan.ts";
import { mod, pointBytes, timesGenerator, word } from "../../vectors/naive-bn254.ts";
import { calldataGas, checkGas } from "./gas.test-kit.ts";
import { DEV_BITS, devTau, NO_ID } from "./zk-vectors.test-kit.ts";

const SOURCES = new URL("../src/", import.meta.url);
const MAIN = "zk/ZkVerifier.sol";
const SENDER: Hex = `0x${"11".repeat(20)}`;

/** A statement of the verifier, and the part to which it and all that it calls belong. */
const PARTS: readonly (readonly [statement: string, part: string])[] = [
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
	["Mercury.mustOpen(claim", "Opening"],
];

function sourceOf(path: string): string {
	const source = readFileSync(new URL(path, SOURCES), "utf8");
	return source
		.replaceAll(/!= claim\) revert \w+False\(\);/g, "!= claim) {}")
		.replaceAll(") revert OpeningFalse();", ") {}");
}

/** The verifier, and which of these statements an instruction is of, by its place in the code. */
function compiled(): { readonly code: Hex; readonly statementAt: ReadonlyMap<number, number> } {
	const solc = createRequire(import.meta.url)("solc");
	const wanted = ["evm.bytecode.object", "evm.deployedBytecode"];
	const settings = {
		...{ optimizer: { enabled: true, runs: 1000 }, evmVersion: "prague" },
		outputSelection: { [MAIN]: { ZkVerifier: wanted } },
	};
	const input = { language: "Solidity", sources: { [MAIN]: { content: sourceOf(MAIN) } }, settings };
	const output = JSON.parse(
		solc.compile(JSON.stringify(input), { import: (path: string) => ({ contents: sourceOf(path) }) }),
	);
	const { bytecode, deployedBytecode } = output.contracts[MAIN].ZkVerifier.evm;
	const text = Buffer.from(sourceOf(MAIN)).toString("latin1");
	const starts = PARTS.map(([statement]) => [text.indexOf(statement), statement.length] as const);
	for (const [at] of starts) assert.ok(at > 0, "the verifier has each of these statements");
	const runtime = Buffer.from(deployedBytecode.object, "hex");
	const statementAt = new Map<number, number>();
	let [offset, , file] = [0, 0, -1];
	let pc = 0;
	for (const entry of (deployedBytecode.sourceMap as string).split(";")) {
		const [s, , f] = entry.split(":");
		[offset, file] = [s ? Number(s) : offset, f ? Number(f) : file];
		const own = starts.findIndex(([at, length]) => offset >= at && offset < at + length);
		if (own >= 0 && file === output.sources[MAIN].id) statementAt.set(pc, own);
		const op = runtime[pc] ?? 0;
		pc += op >= 0x60 && op <= 0x7f ? op - 0x5e : 1;
	}
	return { code: `0x${bytecode.object}`, statementAt };
}

/** Scalars and points that nobody chose. */
function drawBytes() {
	let state = keccak256("0x00");
	const scalar = () => {
		state = keccak256(state);
		return mod(BigInt(state));
	};
	const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
	const point = () => hex(pointBytes(timesGenerator(scalar())));
	const many = (count: number, one: () => string) => Array.from({ length: count }, one).join("");
	return {
		points: (count: number) => many(count, point),
		scalars: (count: number) => many(count, () => hex(word(scalar()))),
	};
}

async function send(rpc: Rpc, to: Hex | null, data: Hex) {
	const call = { from: SENDER, ...(to === null ? {} : { to }), data, gas: "0x1c9c380" };
	const hash = await rpc("eth_sendTransaction", [call]);
	await rpc("hardhat_mine", ["0x1"]);
	const receipt = (await rpc("eth_getTransactionReceipt", [hash])) as Record<
		"status" | "gasUsed" | "contractAddress",
		Hex
	>;
	assert.equal(receipt.status, "0x1");
	return { at: receipt.contractAddress, gas: Number(receipt.gasUsed), hash };
}

interface Step {
	readonly pc: number;
	readonly depth: number;
	readonly gas: string | number;
}

/** Gas of the verifier's own code, precompiles included, by part. One statement follows another: the compiler lets pieces of code that are the same stand once, as if they were of the last that has them. */
function byPart(steps: readonly Step[], statementAt: ReadonlyMap<number, number>): Map<string, number> {
	const own = steps.filter(({ depth }) => depth === 2);
	const sums = new Map<string, number>();
	let statement = -1;
	for (const [i, { pc, gas }] of own.entries()) {
		if (statementAt.get(pc) === statement + 1) statement += 1;
		const part = PARTS[statement]?.[1] ?? "Rest";
		const next = own[i + 1];
		if (next !== undefined) sums.set(part, (sums.get(part) ?? 0) + Number(gas) - Number(next.gas));
	}
	return sums;
}

/** Opens a run of such a plan, and submits what has a proof's form. */
async function submitted(sizes: readonly number[], rows: number, verifierCode: Hex) {
	const rpc = await createEdrProvider({ chainId: 7373, timestamp: 1_800_000_000, treasurer: SENDER });
	await rpc("hardhat_impersonateAccount", [SENDER]);
	const widths = { h: 12, d: 14, activation: 8, gradient: 12, limbs: [13, 13, 13] } as const;
	const mlp = { sizes, batch: 64, steps: 32, rows, epochs: 4, scale: 18, weightBits: 64 } as const;
	const plan = planOf(mlp, "07".repeat(32), widths, 24);
	const { at: plans } = await send(rpc, null, zkPlansCode);
	const powers = [plans, devTau(), DEV_BITS, DEV_BITS.map(() => NO_ID)] as const;
	const { at: verifier } = await send(
		rpc,
		null,
		encodeDeployData({ abi: zkVerifierAbi, bytecode: verifierCode, args: powers }),
	);
	const { at: training } = await send(
		rpc,
		null,
		encodeDeployData({ abi: zkTrainingAbi, bytecode: zkTrainingCode, args: [verifier, plans] }),
	);
	const words: Hex = `0x${Buffer.from(planWords(plan)).toString("hex")}`;
	await send(rpc, plans, encodeFunctionData({ abi: zkPlansAbi, functionName: "register", args: [words] }));
	const draw = drawBytes();
	const told = plan.groups.slice(0, 4).map(({ chunks }) => draw.points(chunks));
	const hash = (text: string) => keccak256(`0x${text}`);
	const ends = { firstStep: 0n, endStep: 64n };
	const run = {
		...{
			salt: hash("01"),
			plan: hash(Buffer.from("assay/zk/plan/1").toString("hex") + words.slice(2)),
			seed: hash("02"),
		},
		...{ features: hash("03"), labels: hash("04"), featurePoints: hash(told[0]!), labelPoints: hash(told[1]!) },
		...{ state: hash("05"), points: hash(told[2]!), ...ends },
	};
	await send(rpc, training, encodeFunctionData({ abi: zkTrainingAbi, functionName: "open", args: [run] }));
	const { points, scalars } = proofSizes(plan);
	const opening = `${draw.points(5)}${draw.scalars(6)}${draw.points(3)}`;
	const proof: Hex = `0x${draw.points(points)}${draw.scalars(scalars)}${opening}`;
	const head = { nextStep: 0n, state: run.state, points: run.points };
	const args = [run, head, hash("06"), `0x${told.join("")}`, proof] as const;
	const data = encodeFunctionData({ abi: zkTrainingAbi, functionName: "submit", args });
	const { gas, hash: transaction } = await send(rpc, training, data);
	const quiet = { disableStorage: true, disableMemory: true, disableStack: true };
	const { structLogs } = (await rpc("debug_traceTransaction", [transaction, quiet])) as { structLogs: Step[] };
	return { gas, calldata: calldataGas(data), structLogs };
}

test("a segment of eleven links of 1,024, with 32 steps, takes less than 0.8 M gas, calldata included", async () => {
	const { code, statementAt } = compiled();
	const { gas, calldata, structLogs } = await submitted(new Array<number>(12).fill(1024), 2 ** 14, code);
	const parts = byPart(structLogs, statementAt);
	const sum = [...parts.values()].reduce((all, one) => all + one, 0);
	const names = [...new Set(PARTS.map(([, part]) => part))];
	// Transaction, storage and calls; and what of the verifier belongs to no part.
	const rest = gas - calldata - sum + (parts.get("Rest") ?? 0);
	const digits = await submitted([784, ...new Array<number>(10).fill(1024), 10], 2 ** 13, code);
	checkGas("segments", {
		...Object.fromEntries(names.map((part) => [`zkSegment${part}`, parts.get(part) ?? 0])),
		...{ zkSegment: gas, zkSegmentCalldata: calldata, zkSegmentRest: rest, zkSegmentDigits: digits.gas },
	});
	assert.ok(gas < 800_000 && digits.gas < 800_000, `${gas}, ${digits.gas}`);
});
