// The contracts for wrapped runs beside their twin, src/verify/zk/run/verify-wrapped.ts: the same verdict on
// the run of tests/zk and on random changes of it, each part of a proof by its name; keys; runs that go on by
// several segments at once; too little gas. What large runs cost is zk-run-gas.test.ts.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { bn254 } from "@noble/curves/bn254.js";
import { decodeErrorResult, encodeDeployData, encodeFunctionData, type Hex, keccak256 } from "viem";
import {
	zkKeysCode,
	zkPlansCode,
	zkRunVerifierCode,
	zkTrainingCode,
	zkVerifierCode,
} from "../../src/chain/abi/creation-code.ts";
import { zkKeysAbi } from "../../src/chain/abi/zk-keys-abi.ts";
import { zkPlansAbi } from "../../src/chain/abi/zk-plans-abi.ts";
import { zkRunVerifierAbi } from "../../src/chain/abi/zk-run-verifier-abi.ts";
import { zkTrainingAbi } from "../../src/chain/abi/zk-training-abi.ts";
import { zkVerifierAbi } from "../../src/chain/abi/zk-verifier-abi.ts";
import { IGNITION } from "../../src/chain/contracts/deploy-zk.ts";
import { RpcRefusal } from "../../src/chain/node/rpc.ts";
import { PLAN, provenRun, SEGMENTS, SHAPE, wrappedRun } from "../../src/verify/zk/run/run.test-kit.ts";
import { verifyWrapped } from "../../src/verify/zk/run/verify-wrapped.ts";
import { wrapCircuit } from "../../src/verify/zk/run/wrap-circuit.ts";
import { planFor } from "../../src/verify/zk/segment.test-kit.ts";
import type { SegmentStatement } from "../../src/verify/zk/statement.ts";
import { planHash, planWords, type ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { isDeep, scaled, seed } from "../../tests/fuzz.test-kit.ts";
import { P, R } from "../../vectors/naive-bn254.ts";
import { numbers } from "../../vectors/rows.ts";
import { calldataGas, checkGas } from "./gas.test-kit.ts";
import { type BareChain, openBareChain, TREASURER } from "./network.test-kit.ts";
import {
	hex,
	keyHash,
	runHeldCall,
	runPoints,
	runStates,
	runVectors,
	word,
	wrappedVector,
} from "./zk-runs.test-kit.ts";
import { DEV_BITS, devTau, NO_ID } from "./zk-vectors.test-kit.ts";

const abi = [...zkPlansAbi, ...zkKeysAbi, ...zkRunVerifierAbi, ...zkTrainingAbi] as const;
const VECTOR = wrappedVector();
const CHAIN_ID = Number(VECTOR.statements[0]!.chainId);
const OTHER_PLAN = planFor({ ...SHAPE, root: new Uint8Array(32).fill(8) });
let chain: BareChain;
let keys: Hex;
let verifier: Hex;
let training: Hex;
let key: Hex;

const powers = [devTau(), DEV_BITS, DEV_BITS.map(() => NO_ID)] as const;

async function deploy(to: BareChain, ceremony: Hex) {
	const plans = await to.put(zkPlansCode);
	const keysAt = await to.put(encodeDeployData({ abi: zkKeysAbi, bytecode: zkKeysCode, args: [ceremony] }));
	const args = [plans, keysAt, ...powers] as const;
	const runVerifier = await to.put(encodeDeployData({ abi: zkRunVerifierAbi, bytecode: zkRunVerifierCode, args }));
	for (const plan of [PLAN, OTHER_PLAN]) {
		const data = encodeFunctionData({ abi: zkPlansAbi, functionName: "register", args: [hex(planWords(plan))] });
		await to.send({ to: plans, data });
	}
	return { plans, keys: keysAt, verifier: runVerifier };
}

const hashOfPlan = (plan: ZkPlan): Hex => hex(planHash(plan));
const keyCall = (plan: Hex, segments: number, words: readonly string[]): Hex =>
	encodeFunctionData({
		...{ abi: zkKeysAbi, functionName: "registerKey" },
		args: [plan, BigInt(segments), word(words.join(""))],
	});

async function registerKey(words = VECTOR.key, plan: ZkPlan = PLAN, segments = SEGMENTS): Promise<Hex> {
	await chain.send({ to: keys, data: keyCall(hashOfPlan(plan), segments, words) });
	return keyHash(hashOfPlan(plan), segments, words);
}

before(async () => {
	chain = await openBareChain({ chainId: CHAIN_ID });
	const ceremony = word(VECTOR.key.slice(0, 6).join(""));
	const found = await deploy(chain, ceremony);
	({ keys, verifier } = found);
	const single = await chain.put(
		encodeDeployData({ abi: zkVerifierAbi, bytecode: zkVerifierCode, args: [found.plans, ...powers] }),
	);
	const args = [single, verifier, found.plans] as const;
	training = await chain.put(encodeDeployData({ abi: zkTrainingAbi, bytecode: zkTrainingCode, args }));
	key = await registerKey();
});
after(() => chain.close());

/** "valid", or the name of the error. */
async function asked(to: Hex, data: Hex, { gas = 5_000_000, on = chain } = {}): Promise<string> {
	try {
		const call = { to, data, from: TREASURER.address, gas: `0x${gas.toString(16)}` };
		await on.client.rpc("eth_call", [call, "latest"]);
		return "valid";
	} catch (error) {
		if (!(error instanceof RpcRefusal)) throw error;
		const given = error.data as Hex | { readonly data: Hex } | null | undefined;
		const bytes = typeof given === "string" ? given : (given?.data ?? "0x");
		return bytes === "0x" ? "nothing" : decodeErrorResult({ abi, data: bytes }).errorName;
	}
}

/** What the contract says where the verifier has this code. */
const ERRORS: Readonly<Record<string, readonly string[]>> = {
	PROOF_FORM: ["ProofLength", "NumberTooLarge", "PointNowhere"],
	PROOF_STATEMENT: ["SegmentsInvalid"],
	PROOF_CLAIMS: ["RunFalse"],
	PROOF_OPENING: ["RunFalse"],
};

async function agree(statements: readonly SegmentStatement[], proof: Uint8Array): Promise<string> {
	const verdict = verifyWrapped(PLAN, statements, proof, { key: VECTOR.key, isDevAllowed: true });
	const found = await asked(verifier, runHeldCall(key, statements, proof));
	const wanted = verdict.status === "valid" ? ["valid"] : (ERRORS[verdict.code] ?? []);
	assert.ok(wanted.includes(found), `${verdict.status === "valid" ? "valid" : verdict.code}, contract: ${found}`);
	return found;
}

/** Where each part of the proof begins. */
function places() {
	const chunks = PLAN.groups.map((one) => one.chunks);
	const own = 64 * (chunks[4]! + chunks[5]!);
	const mask = SEGMENTS * own;
	const cross = mask + 64;
	const counts = cross + 64;
	const maskCount = counts + 32 * SEGMENTS * chunks.reduce((sum, one) => sum + one, 0);
	const [eta, t, a, b, digest, groth16] = [1, 2, 3, 4, 5, 6].map((i) => maskCount + 32 * i) as [
		...[number, number, number, number, number, number],
	];
	const line = { eta, t, a, b, digest };
	return { own, mask, cross, counts, maskCount, line, groth16, opening: groth16 + 256 };
}

const changed = (at: number, to: Uint8Array): Uint8Array => {
	const proof = Uint8Array.from(VECTOR.proof);
	proof.set(to, at);
	return proof;
};
const turned = (at: number): Uint8Array => changed(at, Uint8Array.of(VECTOR.proof[at]! ^ 1));
const bytes = (value: bigint): Uint8Array => Buffer.from(value.toString(16).padStart(64, "0"), "hex");

test("the vector is what its generator makes: else node contracts/test/zk-runs.test-kit.ts", () => {
	assert.ok(readFileSync(new URL("../vectors/zk-run.json", import.meta.url), "utf8") === runVectors());
});

test("the run of tests/zk holds, on chain as in TypeScript", async () => {
	assert.equal(await agree(VECTOR.statements, VECTOR.proof), "valid");
});

test("each part of a proof, changed alone, is refused by its name", async () => {
	const at = places();
	const cases: readonly (readonly [name: string, proof: Uint8Array, error: string])[] = [
		["a commitment that is none", turned(31), "PointNowhere"],
		["another commitment", changed(0, VECTOR.proof.subarray(64, 128)), "RunFalse"],
		["none at all, of helpers", changed(at.own - 64, new Uint8Array(64)), "RunFalse"],
		["of the second segment", changed(at.own, VECTOR.proof.subarray(0, 64)), "RunFalse"],
		["a mask that is none", turned(at.mask + 31), "PointNowhere"],
		["another mask", changed(at.mask, VECTOR.proof.subarray(0, 64)), "RunFalse"],
		["an S that is none", turned(at.cross + 31), "PointNowhere"],
		["an S at infinity", changed(at.cross, new Uint8Array(64)), "RunFalse"],
		["another S", changed(at.cross, VECTOR.proof.subarray(at.mask, at.cross)), "RunFalse"],
		["how often a commitment counts", turned(at.counts + 31), "RunFalse"],
		["how often the mask counts", turned(at.maskCount + 31), "RunFalse"],
		...Object.entries(at.line).flatMap(([name, place]) => [
			[name, turned(place + 31), "RunFalse"] as const,
			[`another spelling of ${name}`, changed(place, bytes(R)), "NumberTooLarge"] as const,
		]),
		["A that is none", turned(at.groth16 + 31), "PointNowhere"],
		["A at infinity", changed(at.groth16, new Uint8Array(64)), "PointNowhere"],
		["A too large", changed(at.groth16, bytes(2n ** 255n)), "NumberTooLarge"],
		["another A", changed(at.groth16, VECTOR.proof.subarray(at.groth16 + 192, at.groth16 + 256)), "RunFalse"],
		["B on no curve", turned(at.groth16 + 95), "PointNowhere"],
		["B at infinity", changed(at.groth16 + 64, new Uint8Array(128)), "PointNowhere"],
		["B in another subgroup", changed(at.groth16 + 64, elsewhere()), "PointNowhere"],
		["C that is none", turned(at.groth16 + 223), "PointNowhere"],
		["another C", changed(at.groth16 + 192, VECTOR.proof.subarray(at.groth16, at.groth16 + 64)), "RunFalse"],
		...(["W", "W′"] as const).flatMap((name, i) => {
			const place = at.opening + 64 * i;
			return [
				[`${name} that is none`, turned(place + 31), "PointNowhere"],
				[`${name} too large`, changed(place, bytes(P)), "NumberTooLarge"],
				[`${name} at infinity`, changed(place, new Uint8Array(64)), "RunFalse"],
				[`another ${name}`, changed(place, VECTOR.proof.subarray(0, 64)), "RunFalse"],
			] as const;
		}),
		["a byte fewer", VECTOR.proof.subarray(1), "ProofLength"],
		["a byte more", Buffer.concat([VECTOR.proof, Uint8Array.of(0)]), "ProofLength"],
	];
	for (const [name, proof, error] of cases) assert.equal(await agree(VECTOR.statements, proof), error, name);
});

/** A point of the twisted curve that is in no subgroup that counts. */
function elsewhere(): Uint8Array {
	const { Fp2 } = bn254.fields;
	const b = Fp2.create({
		c0: 19485874751759354771024239261021720505790618469301721065564631296452457478373n,
		c1: 266929791119991161246907387137283842545076965332900288569378510910307636690n,
	});
	for (let i = 1n; ; i++) {
		const x = Fp2.create({ c0: i, c1: 0n });
		const square = Fp2.add(Fp2.mul(Fp2.sqr(x), x), b);
		let y: typeof x;
		try {
			y = Fp2.sqrt(square);
		} catch {
			continue;
		}
		if (Fp2.eql(Fp2.sqr(y), square)) return Buffer.concat([x.c1, x.c0, y.c1, y.c0].map(bytes));
	}
}

test("each part of a statement, changed alone, is refused", async () => {
	const { statements, proof } = VECTOR;
	const [first, second] = statements as [SegmentStatement, SegmentStatement];
	const both = (change: Partial<SegmentStatement>) => statements.map((one) => ({ ...one, ...change }));
	const shifted = statements.map((one) => ({ ...one, firstStep: one.firstStep + 2 }));
	const other = first.pointsAfter.map(() => first.pointsBefore[0]!);
	const cases: readonly (readonly [string, readonly SegmentStatement[]])[] = [
		["job: a proof of another run", both({ job: "7" })],
		["seed", both({ seed: "0a".repeat(32) })],
		["features", both({ features: "12".repeat(32) })],
		["labels", both({ labels: "12".repeat(32) })],
		["first step", shifted],
		["commitments to features", both({ featurePoints: first.labelPoints })],
		["commitments to labels", both({ labelPoints: first.featurePoints })],
		["the state before", [{ ...first, stateBefore: "09".repeat(32) }, second]],
		[
			"the state between",
			[
				{ ...first, stateAfter: "09".repeat(32) },
				{ ...second, stateBefore: "09".repeat(32) },
			],
		],
		["the state after", [first, { ...second, stateAfter: "09".repeat(32) }]],
		["weights before", [{ ...first, pointsBefore: second.pointsAfter }, second]],
		[
			"weights between",
			[
				{ ...first, pointsAfter: other },
				{ ...second, pointsBefore: other },
			],
		],
		["weights after", [first, { ...second, pointsAfter: first.pointsAfter }]],
	];
	for (const [name, said] of cases) assert.equal(await agree(said, proof), "RunFalse", name);
	const between = statements.map((one) => ({ ...one, firstStep: one.firstStep + 1 }));
	assert.equal(await agree(between, proof), "SegmentsInvalid");
	const late = statements.map((one) => ({ ...one, firstStep: one.firstStep + 28 }));
	assert.equal(await agree(late, proof), "SegmentsInvalid");
	const nowhere = both({ labelPoints: [`${"00".repeat(63)}01`] });
	assert.equal(await agree(nowhere, proof), "PointNowhere");
});

test("random changes of one bit: contract and verifier agree, and never take them", async () => {
	const draw = numbers(`wrapped ${seed}`);
	for (let i = 0; i < scaled(isDeep ? 100 : 30); i++) {
		const at = draw(VECTOR.proof.length);
		const proof = changed(at, Uint8Array.of(VECTOR.proof[at]! ^ (1 << draw(8))));
		assert.notEqual(await agree(VECTOR.statements, proof), "valid", `byte ${at}`);
	}
});

test("a key is for its plan and its number of segments, and has alpha and beta of the ceremony", async () => {
	const { statements, proof } = VECTOR;
	const ask = (named: Hex, said = statements) => asked(verifier, runHeldCall(named, said, proof));
	assert.equal(await ask(NO_ID), "KeyUnknown");
	assert.equal(await ask(await registerKey(VECTOR.key, PLAN, 1)), "KeyMismatch");
	const elsewhereKey = await registerKey(VECTOR.key, OTHER_PLAN);
	assert.equal(await ask(elsewhereKey), "KeyMismatch");
	// With a key of its own, the proof is false for another plan of the same sizes.
	const replayed = statements.map((one) => ({ ...one, plan: hashOfPlan(OTHER_PLAN).slice(2) }));
	assert.equal(await ask(elsewhereKey, replayed), "RunFalse");
	const words = (from: number, to: readonly string[]) => VECTOR.key.map((one, i) => to[i - from] ?? one);
	const refused = async (list: readonly string[], error: string, plan = PLAN, segments = SEGMENTS) =>
		assert.equal(await asked(keys, keyCall(hashOfPlan(plan), segments, list)), error);
	await refused(words(0, ["00".repeat(31).concat("01"), "00".repeat(31).concat("02")]), "CeremonyMismatch");
	await refused(words(2, VECTOR.key.slice(6, 10)), "CeremonyMismatch");
	await refused(words(6, VECTOR.key.slice(2, 6)), "KeyInvalid");
	await refused(words(10, VECTOR.key.slice(6, 10)), "KeyInvalid");
	await refused(words(10, ["00".repeat(32)]), "KeyInvalid");
	await refused(words(10, Buffer.from(elsewhere()).toString("hex").match(/.{64}/g)!), "KeyInvalid");
	await refused(words(14, ["00".repeat(32)]), "PointNowhere");
	await refused(words(14, ["00".repeat(32), "00".repeat(32)]), "KeyInvalid");
	await refused(VECTOR.key.slice(1), "KeyInvalid");
	await refused(VECTOR.key, "KeyInvalid", PLAN, 0);
	// The same key once more is the same.
	assert.equal(await registerKey(), key);
	// With another point for an input, what was true is false.
	const otherKey = await registerKey(words(16, VECTOR.key.slice(18, 20)));
	assert.equal(await ask(otherKey), "RunFalse");
});

test("where the network is real, no key of known secrets is taken; on another chain the proof is false", async () => {
	const other = await openBareChain({ chainId: CHAIN_ID + 1 });
	try {
		const real = await deploy(other, IGNITION.ceremony);
		const call = keyCall(hashOfPlan(PLAN), SEGMENTS, VECTOR.key);
		assert.equal(await asked(real.keys, call, { on: other }), "CeremonyMismatch");
		const trial = await deploy(other, word(VECTOR.key.slice(0, 6).join("")));
		await other.send({ to: trial.keys, data: call });
		const held = runHeldCall(key, VECTOR.statements, VECTOR.proof);
		assert.equal(await asked(trial.verifier, held, { on: other }), "RunFalse");
	} finally {
		await other.close();
	}
});

test("with too little gas nothing is said of a proof: neither that it holds nor that it is false", async () => {
	const data = runHeldCall(key, VECTOR.statements, VECTOR.proof);
	const seen = new Set<string>();
	for (let gas = 60_000; ; gas += 9_000) {
		const found = await asked(verifier, data, { gas });
		if (found === "valid") break;
		seen.add(found);
		assert.ok(gas < 2_000_000);
	}
	assert.deepEqual([...seen].sort(), ["PrecompileFailed", "nothing"]);
});

test("a run goes on by two segments at once, from its head alone and of its own data", async () => {
	const circuit = wrapCircuit(PLAN, SEGMENTS);
	const [first] = VECTOR.statements as [SegmentStatement];
	const hashOf = (points: readonly string[]): Hex => keccak256(word(points.join("")));
	const run = {
		...{ salt: NO_ID, prover: TREASURER.address, plan: word(first.plan), key, seed: word(first.seed) },
		...{ features: word(first.features), labels: word(first.labels) },
		...{ featurePoints: hashOf(first.featurePoints), labelPoints: hashOf(first.labelPoints) },
		...{ state: word(first.stateBefore), points: hashOf(first.pointsBefore) },
		...{ firstStep: BigInt(first.firstStep), endStep: BigInt(first.firstStep + 2 * SEGMENTS) },
	};
	const open = (of: typeof run) =>
		chain.send({ to: training, data: encodeFunctionData({ abi: zkTrainingAbi, functionName: "open", args: [of] }) });
	const numberOf = (of: typeof run): Promise<bigint> =>
		chain.client.viem.readContract({ address: training, abi: zkTrainingAbi, functionName: "numberOf", args: [of] });
	const head = { nextStep: run.firstStep, state: run.state, points: run.points };
	const submit = (of: typeof run, { statements, proof }: Pick<typeof VECTOR, "statements" | "proof">, from = head) => {
		const args = [of, from, runStates(statements), runPoints(statements), hex(proof)] as const;
		return encodeFunctionData({ abi: zkTrainingAbi, functionName: "submitRun", args });
	};
	const proven = async (of: typeof run) => wrappedRun(circuit, provenRun({}, { job: String(await numberOf(of)) }));
	await open(run);
	const honest = await proven(run);
	const [second] = honest.statements.slice(1) as [SegmentStatement];
	assert.equal(await asked(training, submit(run, VECTOR)), "RunFalse", "a proof of another run");
	const other = { ...run, salt: word("01".repeat(32)), endStep: run.endStep - 2n };
	assert.equal(await asked(training, submit(other, honest)), "HeadMismatch", "nobody opened it");
	await open(other);
	assert.equal(await asked(training, submit(other, await proven(other))), "RunInvalid", "beyond its end");
	const begun = { ...honest.statements[0]!, stateBefore: "09".repeat(32) };
	const gap = submit(run, { ...honest, statements: [begun, second] });
	assert.equal(await asked(training, gap), "HeadMismatch", "from another state");
	// A proof each.
	for (const name of isDeep ? (["featurePoints", "labelPoints", "points"] as const) : (["points"] as const)) {
		const bad = { ...run, salt: word("02".repeat(32)), [name]: NO_ID };
		await open(bad);
		const from = { ...head, points: bad.points };
		assert.equal(await asked(training, submit(bad, await proven(bad), from)), "PointsMismatch", name);
	}
	const data = submit(run, honest);
	const { gasUsed } = await chain.send({ to: training, data });
	assert.equal(await asked(training, data), "HeadMismatch", "once");
	const end = { nextStep: run.endStep, state: word(second.stateAfter), points: hashOf(second.pointsAfter) };
	assert.ok(
		await chain.client.viem.readContract({
			...{ address: training, abi: zkTrainingAbi, functionName: "isHead" },
			args: [await numberOf(run), end],
		}),
	);
	assert.equal(await asked(training, submit(run, honest, end)), "RunEnded");
	checkGas("zkRuns", { zkRunSmall2: Number(gasUsed), zkRunSmall2Calldata: calldataGas(data) });
});
