// Each check of the contracts for wrapped runs, removed alone, lets something pass that is right in all else:
// a proof that is false, of another form or of another key; a key that is none. With it all of these are
// refused by name: zk-runs.test.ts. The list that a verifier must see has its own:
// src/verify/zk/run/removed-run-checks.test.ts. Compiling takes most of the time: one check of each contract
// in `npm test`, all of them in a deep run.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { encodeDeployData, encodeFunctionData, type Hex } from "viem";
import { zkKeysCode, zkPlansCode, zkRunVerifierCode } from "../../src/chain/abi/creation-code.ts";
import { zkKeysAbi } from "../../src/chain/abi/zk-keys-abi.ts";
import { zkPlansAbi } from "../../src/chain/abi/zk-plans-abi.ts";
import { zkRunVerifierAbi } from "../../src/chain/abi/zk-run-verifier-abi.ts";
import { RpcRefusal } from "../../src/chain/node/rpc.ts";
import { concatBytes, hexToBytes, utf8ToBytes } from "../../src/protocol/bytes/bytes.ts";
import { keccak } from "../../src/protocol/hash/keccak-tree.ts";
import { bigOf, bytesOf, type G1, G1_ONE, G2_ONE, knownG1, R, times, wordsOf } from "../../src/protocol/maths/bn254.ts";
import { g1Bytes, g2Bytes } from "../../src/verify/zk/key/key-bytes.ts";
import { PLAN, SECRETS, SEGMENTS } from "../../src/verify/zk/run/run.test-kit.ts";
import { commitmentsOf, toldOf } from "../../src/verify/zk/run/verify-run.ts";
import { wrapInputs } from "../../src/verify/zk/run/verify-wrapped.ts";
import type { SegmentStatement } from "../../src/verify/zk/statement.ts";
import { planHash, planWords, type ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { isDeep } from "../../tests/fuzz.test-kit.ts";
import { DEV_TAU, inverse, mod, word as wordOf } from "../../vectors/naive-bn254.ts";
import { type BareChain, openBareChain } from "./network.test-kit.ts";
import { codeWithout, type RemovedCheck } from "./zk-removed.test-kit.ts";
import { hex, keyHash, runHeldCall, word, wrappedVector } from "./zk-runs.test-kit.ts";
import { DEV_BITS, devTau, NO_ID } from "./zk-vectors.test-kit.ts";

/** As the vector's statements have it. */
const CHAIN_ID = 5;
const VECTOR = wrappedVector();
const chunks = PLAN.groups.map((one) => one.chunks);
const own = 64 * (chunks[4]! + chunks[5]!);
const COUNTS = SEGMENTS * own + 128;
const EACH = chunks.reduce((sum, one) => sum + one, 0);
const GROTH16 = COUNTS + 32 * (SEGMENTS * EACH + 6);
const OTHER_PLAN: ZkPlan = { ...PLAN, programRoot: "31".repeat(32) };
const hashOfPlan = (plan: ZkPlan): Hex => hex(planHash(plan));

const keyOf = (plan: ZkPlan): Hex => keyHash(hashOfPlan(plan), SEGMENTS, VECTOR.key);
function withWord(at: number, value: bigint): Uint8Array {
	const proof = Uint8Array.from(VECTOR.proof);
	proof.set(wordOf(value), at);
	return proof;
}
const pointAt = (bytes: Uint8Array, at: number) =>
	knownG1(...(wordsOf(bytes.subarray(at, at + 64)) as [bigint, bigint]));

/** What a proof claims, and the public numbers that follow. */
function claimOf(statements: readonly SegmentStatement[], proof: Uint8Array) {
	const parts = statements.map((_, i) => proof.subarray(i * own, (i + 1) * own));
	const numbers = wordsOf(proof.subarray(COUNTS, GROTH16));
	const [eta, t, a, b, digest] = numbers.slice(-5) as [bigint, bigint, bigint, bigint, bigint];
	const counts = parts.map((_, i) => numbers.slice(i * EACH, (i + 1) * EACH));
	const claim = { weights: [...counts, [numbers[SEGMENTS * EACH]!]], eta, t, a, b, digest };
	const masks = {
		mask: proof.subarray(COUNTS - 128, COUNTS - 64),
		cross: proof.subarray(COUNTS - 64, COUNTS),
	};
	const inputs = wrapInputs(statements, toldOf(PLAN, statements, parts, masks), claim, proof.subarray(0, GROTH16));
	const points = commitmentsOf(statements, parts, masks) as Exclude<ReturnType<typeof commitmentsOf>, string>;
	return { claim, inputs, points: points.flat(), counts: [...claim.weights.flat(), eta] };
}

/** The key's points as often as inputs say. */
function inputSum(inputs: readonly bigint[]): G1 {
	const point = (i: number) => knownG1(BigInt(`0x${VECTOR.key[i]}`), BigInt(`0x${VECTOR.key[i + 1]}`));
	return inputs.reduce((all, input, i) => all.add(times(point(16 + 2 * i), mod(input))), point(14));
}
const { alpha, beta, delta } = SECRETS;
const groth16Bytes = (c: G1) => Buffer.concat([g1Bytes(G1_ONE), g2Bytes(G2_ONE), g1Bytes(c)]);
/** A and B are the generators: what C must be where `sum` stands with them. */
const cFor = (sum: G1): G1 =>
	times(G1_ONE, mod(1n - alpha * beta))
		.add(sum.negate())
		.multiply(inverse(delta));

/** The proof with Groth16's by who knows the key's secrets: true for what is shown, whatever that is. */
function forged(statements: readonly SegmentStatement[], proof: Uint8Array): Uint8Array {
	const c = cFor(inputSum(claimOf(statements, proof).inputs));
	return Buffer.concat([proof.subarray(0, GROTH16), groth16Bytes(c), proof.subarray(GROTH16 + 256)]);
}

/** Another a than the circuit's. */
const FALSE = withWord(
	GROTH16 - 96,
	mod((wordsOf(VECTOR.proof.subarray(GROTH16 - 96, GROTH16 - 64))[0] as bigint) + 1n),
);
const { claim: CLAIM, inputs: INPUTS, points: POINTS, counts: TIMES } = claimOf(VECTOR.statements, FALSE);
/** The commitments less a + b·z. */
const lessLine = (z: bigint): G1 =>
	POINTS.reduce((sum, one, i) => sum.add(times(one, TIMES[i]!)), times(G1_ONE, mod(-CLAIM.a - CLAIM.b * z)));
const quadratic = (z: bigint): bigint => mod(z * z - CLAIM.t * z + 1n);
/** z as the contract draws it; `w`: what it has heard of W. */
function stateOf(w: Uint8Array): Uint8Array {
	const begun = keccak(utf8ToBytes("assay/zk/1"), keccak(utf8ToBytes("assay/zk/run/2"), bytesOf(CLAIM.digest)));
	const head = Uint8Array.of(22, 0, 0, 0, 192);
	return keccak(begun, head, FALSE.subarray(GROTH16 - 160, GROTH16 - 32), w);
}
const factorOf = (state: Uint8Array, ...rest: readonly Uint8Array[]): bigint =>
	bigOf(keccak(state, hexToBytes(keyOf(PLAN).slice(2))!, bytesOf(INPUTS[1]!), bytesOf(INPUTS[2]!), ...rest)) % R;
const proofOf = (groth16: Uint8Array, w: Uint8Array, last: Uint8Array): Uint8Array =>
	concatBytes(FALSE.subarray(0, GROTH16), groth16, w, last);

/** W is made when z is known, so that nothing is left for W′. */
function lateW(): Uint8Array {
	const z = bigOf(stateOf(new Uint8Array(64))) % R;
	const w = lessLine(z).multiply(inverse(quadratic(z)));
	return forged(VECTOR.statements, proofOf(new Uint8Array(256), g1Bytes(w), new Uint8Array(64)));
}

/** C makes up for what does not open, as often as that counts; `factor` does not follow from C. */
function lateC(): Uint8Array {
	const [w, last] = [VECTOR.proof.subarray(-128, -64), VECTOR.proof.subarray(-64)];
	const state = stateOf(w);
	const z = bigOf(state) % R;
	const factor = factorOf(state, w, last);
	const missing = lessLine(z)
		.add(times(pointAt(w, 0), mod(-quadratic(z))))
		.add(times(pointAt(last, 0), mod(z - DEV_TAU)));
	return proofOf(groth16Bytes(cFor(inputSum(INPUTS).add(times(missing, factor)))), w, last);
}

/** W′ makes up for a C that is false, which takes a known τ; the factor does not follow from it. */
function lateLast(): Uint8Array {
	const w = VECTOR.proof.subarray(-128, -64);
	const state = stateOf(w);
	const z = bigOf(state) % R;
	const groth16 = groth16Bytes(G1_ONE);
	const factor = factorOf(state, groth16, w);
	const wrong = inputSum(INPUTS).add(times(G1_ONE, mod(alpha * beta - 1n + delta)));
	const open = lessLine(z).add(times(pointAt(w, 0), mod(-quadratic(z))));
	const sum = wrong.add(times(open, factor));
	return proofOf(groth16, w, g1Bytes(sum.multiply(inverse(mod(factor * (DEV_TAU - z))))));
}

const held = (statements: readonly SegmentStatement[], proof: Uint8Array, key = keyOf(PLAN)): Hex =>
	runHeldCall(key, statements, proof);
const later = (more: number) => VECTOR.statements.map((one) => ({ ...one, firstStep: one.firstStep + more }));
const [count] = wordsOf(VECTOR.proof.subarray(COUNTS, COUNTS + 32)) as [bigint];

const verifier = (from: string, to: string): RemovedCheck => ({ file: "runs/ZkRunVerifier", changes: [[from, to]] });
/** Name, the check that is removed, and what passes without it. */
const RUNS: readonly (readonly [string, RemovedCheck, () => Hex])[] = [
	[
		"a proof that is false",
		verifier("if (!isOne(pairsOf(parts, factor))) revert RunFalse();", "isOne(pairsOf(parts, factor));"),
		() => held(VECTOR.statements, withWord(COUNTS, mod(count + 1n))),
	],
	[
		"a W that is made when z is known",
		verifier(
			"calldatacopy(add(free, 0xa5), add(groth16, GROTH16), 0x40)",
			"calldatacopy(add(free, 0xa5), calldatasize(), 0x40)",
		),
		() => held(VECTOR.statements, lateW()),
	],
	[
		"a C that is made when the opening's factor is known",
		verifier(
			"calldatacopy(add(free, 0x80), groth16, add(GROTH16, OPENING))\n            factor := mod(keccak256(free, add(0x80, add(GROTH16, OPENING))), r)",
			"calldatacopy(add(free, 0x80), add(groth16, GROTH16), OPENING)\n            factor := mod(keccak256(free, add(0x80, OPENING)), r)",
		),
		() => held(VECTOR.statements, lateC()),
	],
	[
		"a W′ that is made when it is known",
		verifier("keccak256(free, add(0x80, add(GROTH16, OPENING)))", "keccak256(free, add(0x80, add(GROTH16, 0x40)))"),
		() => held(VECTOR.statements, lateLast()),
	],
	[
		"what does not open, where the opening counts nothing",
		verifier("factor := mod(keccak256(free, add(0x80, add(GROTH16, OPENING))), r)", "factor := 0"),
		() => held(VECTOR.statements, forged(VECTOR.statements, FALSE)),
	],
	[
		"a key of another plan",
		verifier("if (found != plan || segments", "if (segments"),
		() => held(VECTOR.statements, VECTOR.proof, keyOf(OTHER_PLAN)),
	],
	[
		"another spelling of how often a commitment counts",
		verifier("Bn254.mustBeScalars(first, scalars);", ""),
		() => held(VECTOR.statements, forged(VECTOR.statements, withWord(COUNTS, count + R))),
	],
	[
		"a byte behind the proof",
		verifier("if (proof.length != size) revert", "if (false) revert"),
		() => held(VECTOR.statements, Buffer.concat([VECTOR.proof, Uint8Array.of(0)])),
	],
	[
		"a point behind the commitments",
		verifier("if (points.length != 64 * told) revert", "if (false) revert"),
		() => {
			const last = VECTOR.statements.at(-1)!;
			const more = { ...last, pointsAfter: [...last.pointsAfter, last.pointsAfter[0]!] };
			return held(VECTOR.statements.with(-1, more), VECTOR.proof);
		},
	],
	[
		"segments after the last epoch",
		verifier("(firstStep + segments * steps) * read(P_BATCH) > read(P_EPOCHS) << read(P_ROW_BITS)", "false"),
		() => held(later(28), forged(later(28), VECTOR.proof)),
	],
];

const keys = (from: string, to: string): RemovedCheck => ({ file: "runs/ZkKeys", changes: [[from, to]] });
const words = (at: number, to: readonly string[]) => VECTOR.key.map((one, i) => to[i - at] ?? one);
const KEYS: readonly (readonly [string, RemovedCheck, readonly string[]])[] = [
	[
		"a key to which nobody has contributed",
		keys(" || keccak256(delta) == ONE", ""),
		words(10, VECTOR.key.slice(6, 10)),
	],
	[
		"a key of another ceremony",
		keys("if (keccak256(words[:32 * GAMMA]) != _ceremony) revert CeremonyMismatch();", ""),
		words(2, VECTOR.key.slice(6, 10)),
	],
	[
		"a key whose gamma is not 1",
		keys("keccak256(words[32 * GAMMA:32 * DELTA]) != ONE || ", ""),
		words(6, VECTOR.key.slice(2, 6)),
	],
	[
		"a key with a point that is none",
		keys("Bn254.mustBePoints(from + 32 * INPUTS, 4);", ""),
		words(14, ["00".repeat(31).concat("05")]),
	],
	[
		"a key with a point at infinity",
		keys("== 0) revert KeyInvalid();\n        }", "== 0) {}\n        }"),
		words(14, ["00".repeat(32), "00".repeat(32)]),
	],
	[
		"a key whose delta is no point",
		keys("if (!Bn254.isSecond(from + 32 * DELTA)) revert KeyInvalid();", ""),
		words(10, ["00".repeat(31).concat("05")]),
	],
	["a key of more words", keys("words.length != 32 * WORDS || ", ""), [...VECTOR.key, "00".repeat(32)]],
];

let chain: BareChain;
let plans: Hex;
const ceremony = word(VECTOR.key.slice(0, 6).join(""));

before(async () => {
	chain = await openBareChain({ chainId: CHAIN_ID });
	plans = await chain.put(zkPlansCode);
	for (const plan of [PLAN, OTHER_PLAN]) {
		const args = [hex(planWords(plan))] as const;
		await chain.send({ to: plans, data: encodeFunctionData({ abi: zkPlansAbi, functionName: "register", args }) });
	}
});
after(() => chain.close());

const putKeys = (bytecode: Hex): Promise<Hex> =>
	chain.put(encodeDeployData({ abi: zkKeysAbi, bytecode, args: [ceremony] }));
const keyCall = (plan: ZkPlan, list: readonly string[]): Hex => {
	const args = [hashOfPlan(plan), BigInt(SEGMENTS), word(list.join(""))] as const;
	return encodeFunctionData({ abi: zkKeysAbi, functionName: "registerKey", args });
};

async function passes(to: Hex, data: Hex): Promise<boolean> {
	try {
		await chain.client.rpc("eth_call", [{ to, data, gas: "0x4c4b40" }, "latest"]);
		return true;
	} catch (error) {
		if (error instanceof RpcRefusal) return false;
		throw error;
	}
}

for (const [i, [name, removed, call]] of RUNS.entries())
	if (isDeep || i === 0)
		test(`without its check passes: ${name}`, async () => {
			const registry = await putKeys(zkKeysCode);
			for (const plan of [PLAN, OTHER_PLAN]) await chain.send({ to: registry, data: keyCall(plan, VECTOR.key) });
			const args = [plans, registry, devTau(), DEV_BITS, DEV_BITS.map(() => NO_ID)] as const;
			const put = (bytecode: Hex) => chain.put(encodeDeployData({ abi: zkRunVerifierAbi, bytecode, args }));
			const data = call();
			assert.equal(await passes(await put(zkRunVerifierCode), data), false);
			assert.equal(await passes(await put(codeWithout("zk/runs/ZkRunVerifier.sol", removed)), data), true);
		});

for (const [i, [name, removed, list]] of KEYS.entries())
	if (isDeep || i === 0)
		test(`without its check is registered: ${name}`, async () => {
			const data = keyCall(PLAN, list);
			assert.equal(await passes(await putKeys(zkKeysCode), data), false);
			assert.equal(await passes(await putKeys(codeWithout("zk/runs/ZkKeys.sol", removed)), data), true);
		});
