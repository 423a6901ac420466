// What the contracts for wrapped runs are asked, in the words of src/verify/zk/run.
import { readFileSync } from "node:fs";
import { encodeFunctionData, type Hex } from "viem";
import { zkRunVerifierAbi } from "../../src/chain/abi/zk-run-verifier-abi.ts";
import { VECTOR } from "../../src/verify/zk/run/run.test-kit.ts";
import type { SegmentStatement } from "../../src/verify/zk/statement.ts";

export interface WrappedRun {
	/** 22 words. */
	readonly key: readonly string[];
	readonly statements: readonly SegmentStatement[];
	readonly proof: Uint8Array;
}

export const hex = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString("hex")}`;
export const word = (text: string): Hex => `0x${text}`;

/** tests/zk/wrapped-run.json */
export function wrappedVector(): WrappedRun {
	const { key, statements, proof } = JSON.parse(readFileSync(VECTOR, "utf8"));
	return { key, statements, proof: Buffer.from(proof, "hex") };
}

/** Commitments to data, then to weights before the first segment and after each. */
export const runPoints = (statements: readonly SegmentStatement[]): Hex => {
	const [first] = statements as [SegmentStatement];
	const weights = [first.pointsBefore, ...statements.map(({ pointsAfter }) => pointsAfter)];
	return `0x${[first.featurePoints, first.labelPoints, ...weights].flat().join("")}`;
};

export const runStates = (statements: readonly SegmentStatement[]): Hex[] => [
	word(statements[0]!.stateBefore),
	...statements.map(({ stateAfter }) => word(stateAfter)),
];

/** `mustHold` of ZkRunVerifier. */
export function runHeldCall(key: Hex, statements: readonly SegmentStatement[], proof: Uint8Array): Hex {
	const { plan, job, seed, firstStep, features, labels } = statements[0]!;
	const said = {
		...{ plan: word(plan), key, job: BigInt(job), seed: word(seed), firstStep: BigInt(firstStep) },
		...{ features: word(features), labels: word(labels) },
	};
	const args = [said, runStates(statements), runPoints(statements), hex(proof)] as const;
	return encodeFunctionData({ abi: zkRunVerifierAbi, functionName: "mustHold", args });
}
