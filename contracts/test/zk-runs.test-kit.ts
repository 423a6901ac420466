// What the contracts for wrapped runs are asked, in the words of src/verify/zk/run. Started as a program it
// writes contracts/vectors/zk-run.json, which ZkRunVerifier.t.sol reads: the run of tests/zk as a call.
//   node contracts/test/zk-runs.test-kit.ts
import { readFileSync, writeFileSync } from "node:fs";
import { encodeFunctionData, type Hex, keccak256 } from "viem";
import { zkRunVerifierAbi } from "../../src/chain/abi/zk-run-verifier-abi.ts";
import { PLAN, SEGMENTS, VECTOR } from "../../src/verify/zk/run/run.test-kit.ts";
import type { SegmentStatement } from "../../src/verify/zk/statement.ts";
import { planHash, planWords } from "../../src/work/plan/compile-plan.ts";
import { devTau } from "./zk-vectors.test-kit.ts";

interface WrappedRun {
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

/** How contracts name a key. `plan`: its hash. */
export function keyHash(plan: Hex, segments: number, words: readonly string[]): Hex {
	const head = Buffer.from("assay/zk/key/1").toString("hex") + plan.slice(2);
	return keccak256(word(head + segments.toString(16).padStart(64, "0") + words.join("")));
}

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

/** Lists that Solidity can parse. */
export function runVectors(): string {
	const { key, statements, proof } = wrappedVector();
	const { xi, xr, yi, yr } = devTau();
	const call = runHeldCall(keyHash(hex(planHash(PLAN)), SEGMENTS, key), statements, proof);
	const ceremony = word(key.slice(0, 6).join(""));
	return `${JSON.stringify({
		...{ tau: [xi, xr, yi, yr].map((one) => `0x${one.toString(16)}`), chunkBits: PLAN.chunkBits, segments: SEGMENTS },
		parts: [ceremony, hex(planWords(PLAN)), word(key.join("")), call],
	})}\n`;
}

if (import.meta.main) writeFileSync(new URL("../vectors/zk-run.json", import.meta.url), runVectors());
