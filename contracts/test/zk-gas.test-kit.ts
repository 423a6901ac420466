// What a verifier's gas goes to, part by part, for plans so large that nobody proves them in a test: bytes of
// a proof's form that nobody chose, and a verifier that goes on where a sum is false. All else is the same.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type Hex, keccak256 } from "viem";
import { createEdrProvider } from "../../src/chain/node/edr-provider.ts";
import type { Rpc } from "../../src/chain/node/rpc.ts";
import { planOf, type ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { mod, pointBytes, timesGenerator, word } from "../../vectors/naive-bn254.ts";
import { compileOne } from "./solc.test-kit.ts";

const SOURCES = new URL("../src/", import.meta.url);
export const SENDER: Hex = `0x${"11".repeat(20)}`;

function sourceOf(path: string): string {
	const source = readFileSync(new URL(path, SOURCES), "utf8");
	return source
		.replaceAll(/!= claim\) revert \w+False\(\);/g, "!= claim) {}")
		.replaceAll(/\) revert (Opening|Bare)False\(\);/g, ") {}");
}

/** A statement of a verifier, and the part to which it and all that it calls belong. */
export type GasPart = readonly [statement: string, part: string];

/**
 * A verifier that goes on where a sum is false, and which of these statements an instruction is of, by its
 * place in the code.
 */
export function compiledFor(
	main: string,
	parts: readonly GasPart[],
): { readonly code: Hex; readonly statementAt: ReadonlyMap<number, number> } {
	const wanted = ["evm.bytecode.object", "evm.deployedBytecode.object", "evm.deployedBytecode.sourceMap"];
	const { bytecode, deployedBytecode, id } = compileOne(main, wanted, sourceOf);
	const text = Buffer.from(sourceOf(main)).toString("latin1");
	const starts = parts.map(([statement]) => [text.indexOf(statement), statement.length] as const);
	for (const [at] of starts) assert.ok(at > 0, "the verifier has each of these statements");
	const runtime = Buffer.from(deployedBytecode.object, "hex");
	const statementAt = new Map<number, number>();
	let [offset, , file] = [0, 0, -1];
	let pc = 0;
	for (const entry of (deployedBytecode.sourceMap as string).split(";")) {
		const [s, , f] = entry.split(":");
		[offset, file] = [s ? Number(s) : offset, f ? Number(f) : file];
		const own = starts.findIndex(([at, length]) => offset >= at && offset < at + length);
		if (own >= 0 && file === id) statementAt.set(pc, own);
		const op = runtime[pc] ?? 0;
		pc += op >= 0x60 && op <= 0x7f ? op - 0x5e : 1;
	}
	return { code: `0x${bytecode.object}`, statementAt };
}

/** Scalars and points that nobody chose. */
export function drawBytes() {
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

export async function send(rpc: Rpc, to: Hex | null, data: Hex) {
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

export interface Step {
	readonly pc: number;
	readonly depth: number;
	readonly gas: string | number;
}

/**
 * Gas of the code that a transaction calls, precompiles included, by part. One statement follows another: the
 * compiler lets pieces of code that are the same stand once, as if they were of the last that has them.
 */
export function byPart(
	steps: readonly Step[],
	statementAt: ReadonlyMap<number, number>,
	parts: readonly GasPart[],
): Map<string, number> {
	const own = steps.filter(({ depth }) => depth === 1);
	const sums = new Map<string, number>();
	let statement = -1;
	for (const [i, { pc, gas }] of own.entries()) {
		if (statementAt.get(pc) === statement + 1) statement += 1;
		const part = parts[statement]?.[1] ?? "Rest";
		const next = own[i + 1];
		if (next !== undefined) sums.set(part, (sums.get(part) ?? 0) + Number(gas) - Number(next.gas));
	}
	return sums;
}

/** 32 steps of batch 64, in chunks of 2^24. */
export function largePlan(sizes: readonly number[], rows: number): ZkPlan {
	const widths = { h: 12, d: 14, activation: 8, gradient: 12, limbs: [13, 13, 13] } as const;
	const mlp = { sizes, batch: 64, steps: 32, rows, epochs: 4, scale: 18, weightBits: 64 } as const;
	return planOf(mlp, "07".repeat(32), widths, 24);
}

/** A chain on which everything is sent from one account. */
export async function openGasChain(): Promise<Rpc> {
	const rpc = await createEdrProvider({ chainId: 7373, timestamp: 1_800_000_000, treasurer: SENDER });
	await rpc("hardhat_impersonateAccount", [SENDER]);
	return rpc;
}

/** Gas of a transaction that was sent, step by step. */
export async function traced(rpc: Rpc, transaction: unknown): Promise<readonly Step[]> {
	const quiet = { disableStorage: true, disableMemory: true, disableStack: true };
	return ((await rpc("debug_traceTransaction", [transaction, quiet])) as { structLogs: Step[] }).structLogs;
}
