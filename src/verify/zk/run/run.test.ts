// Run proofs: honest ones are valid, each cheater is refused, and the circuit of their checks holds for the
// one and not for the other.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { scaled, seed } from "../../../../tests/fuzz.test-kit.ts";
import { contribute, keyOf, keyWords, proveGroth16, provenBySecrets } from "../../../../vectors/naive-groth16.ts";
import type { RunCheats } from "../../../../vectors/naive-run.ts";
import { numbers } from "../../../../vectors/rows.ts";
import { hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { bytesOf, mod, R } from "../../../protocol/maths/bn254.ts";
import { DEV_CEREMONY } from "../../../protocol/maths/hermez.ts";
import { verifyGroth16 } from "../../receipts/groth16.ts";
import { NUMBERS } from "../field.ts";
import type { SegmentStatement } from "../statement.ts";
import { createCircuit, firstFalse } from "./circuit.ts";
import { CROSS_CHEATS, lying, UNCOMMITTED } from "./cross-cheats.test-kit.ts";
import { permute } from "./poseidon.ts";
import { PLAN, provenRun, SEGMENTS, VECTOR, wiresOf } from "./run.test-kit.ts";
import { LINE_BYTES, type ReadRun, readRun, verifyRun } from "./verify-run.ts";
import { verifyWrapped } from "./verify-wrapped.ts";
import { toldList, wrapCircuit } from "./wrap-circuit.ts";

const HONEST = provenRun();
const verdict = ({ statements, proof } = HONEST): string => {
	const found = verifyRun(PLAN, statements, proof, { isDevAllowed: true });
	return found.status === "valid" ? "valid" : found.code;
};

test("Poseidon is the one that others have", () => {
	// circomlib's test vectors.
	assert.equal(
		permute(NUMBERS, [0n, 1n, 2n])[0],
		7853200120776062878684798364095072458815029376092732009249414926327459813530n,
	);
	assert.equal(
		permute(NUMBERS, [0n, 1n, 2n, 3n, 4n, 5n])[0],
		6183221330272524995739186171720101788151706631170188140075976616310159254464n,
	);
});

test("an honest run is valid; test parameters prove nothing unless they are asked for", () => {
	assert.equal(verdict(), "valid");
	const { statements, proof } = HONEST;
	const found = verifyRun(PLAN, statements, proof, { isDevAllowed: false });
	assert.equal(found.status === "inconclusive" && found.code, "SRS_DEV");
});

const inSecond = (cheat: object): RunCheats => ({ segments: [UNCOMMITTED[0]!, cheat] });
const CHEATERS: Readonly<Record<string, readonly [RunCheats, string]>> = {
	"a step of the second segment takes nothing away": [inSecond({ run: { taken: () => 0n } }), "PROOF_CLAIMS"],
	"a product of the second segment is another": [
		inSecond({ run: { sum: (use: string, sum: bigint) => (use === "z 0" ? sum + 16n : sum) } }),
		"PROOF_CLAIMS",
	],
	"another column is committed than is used": [
		inSecond({
			committed: (all: Map<string, bigint[]>) =>
				all.set(
					"h 0",
					all.get("h 0")!.map(() => 0n),
				),
		}),
		"PROOF_CLAIMS",
	],
	"a value where segments meet is another": [{ values: ([a, ...rest]) => [mod(a! + 1n), ...rest] }, "PROOF_CLAIMS"],
	"two values are wrong by as much": [{ values: ([a, b, m]) => [mod(a! + 1n), mod(b! - 1n), m!] }, "PROOF_CLAIMS"],
	"the mask has another value": [{ values: (list) => list.with(2, mod(list[2]! + 1n)) }, "PROOF_OPENING"],
	"S is that of another list": [{ cross: { s: (s) => s.with(0, mod(s[0]! + 1n)) } }, "PROOF_OPENING"],
	"f has another value at r": [{ cross: { values: (list) => list.with(0, mod(list[0]! + 1n)) } }, "PROOF_OPENING"],
	"and at 1/r": [{ cross: { values: (list) => list.with(1, mod(list[1]! + 1n)) } }, "PROOF_OPENING"],
	"S has another value at 1/r": [{ cross: { values: (list) => list.with(2, mod(list[2]! + 1n)) } }, "PROOF_OPENING"],
	"W is of another η": [{ cross: { shown: (own) => ({ ...own, eta: mod(own.eta + 1n) }) } }, "PROOF_OPENING"],
	...Object.fromEntries(
		Object.entries({ ...CROSS_CHEATS, nothing: {} }).map(([name, cross]) => [
			`a lie about the value: ${name}`,
			[lying(cross), ["nothing", "lateW", "eta", "a", "b"].includes(name) ? "PROOF_OPENING" : "PROOF_CLAIMS"],
		]),
	),
};
for (const [name, [cheat, code]] of Object.entries(CHEATERS))
	test(name, () => assert.equal(verdict(provenRun(cheat)), code));

test("segments follow each other, once, in their order", () => {
	const { statements, proof } = HONEST;
	const [first, second] = statements as [SegmentStatement, SegmentStatement];
	assert.equal(verdict({ statements: [second, first], proof }), "PROOF_CHAIN");
	assert.equal(verdict({ statements: [first, first], proof }), "PROOF_CHAIN");
	assert.equal(verdict({ statements: [first], proof }), "PROOF_FORM");
	assert.equal(verdict({ statements: [], proof }), "PROOF_STATEMENT");
	assert.equal(verdict({ statements: [first, { ...second, stateAfter: "09".repeat(32) }], proof }), "PROOF_CLAIMS");
});

test("one change anywhere: never valid, never an exception", () => {
	const draw = numbers(`run ${seed}`);
	for (let i = 0; i < scaled(10); i++) {
		const proof = Uint8Array.from(HONEST.proof);
		const [at, bit] = [draw(proof.length), draw(8)];
		proof[at]! ^= 1 << bit;
		assert.notEqual(verdict({ ...HONEST, proof }), "valid", `bit ${bit} of byte ${at}`);
	}
});

const CIRCUIT = wrapCircuit(PLAN, SEGMENTS);
const read = readRun(PLAN, HONEST.statements, HONEST.proof) as ReadRun;
const WIRES = wiresOf(CIRCUIT, HONEST.statements, read);

test("the circuit holds for an honest run, and for no other numbers", () => {
	const { inputs, values } = WIRES;
	assert.equal(firstFalse(CIRCUIT, values), -1);
	const secrets = [...toldList(read.told), ...read.scalars];
	// Digest, x and the list's value; then what is told and said.
	for (const i of inputs.keys())
		assert.notEqual(firstFalse(CIRCUIT, CIRCUIT.valuesOf(inputs.with(i, mod(inputs[i]! + 1n)), secrets)), -1);
	const draw = numbers(`wires ${seed}`);
	for (let i = 0; i < scaled(4); i++) {
		const at = draw(secrets.length);
		const changed = secrets.with(at, mod(secrets[at]! + 1n));
		assert.notEqual(firstFalse(CIRCUIT, CIRCUIT.valuesOf(inputs, changed)), -1, `secret ${at}`);
	}
});

test("a small circuit, by a key with a contribution: true for its input alone", () => {
	const circuit = createCircuit();
	const [out, secret] = [circuit.input(), circuit.secret()];
	const product = circuit.field.times(secret, secret);
	circuit.field.areSame(circuit.field.sum([circuit.field.times(product, secret), product]), out);
	const secrets = { tau: 11n, alpha: 12n, beta: 13n, gamma: 14n, delta: 15n };
	const key = contribute(keyOf(circuit, secrets), 16n);
	const values = circuit.valuesOf([150n], [5n]);
	const proof = proveGroth16(circuit, key, values, [17n, 18n]);
	// Whoever knows the secrets makes the same proof without the key.
	const known = provenBySecrets(circuit, { ...secrets, delta: 15n * 16n }, values, [17n, 18n]);
	assert.deepEqual(known, { key: keyWords(key), proof });
	assert.equal(verifyGroth16(keyWords(key), proof, [150n]), "true");
	assert.equal(verifyGroth16(keyWords(key), proof, [151n]), "false");
	assert.throws(() => circuit.input(), /inputs come first/);
});

interface WrapVector {
	readonly constraints: number;
	readonly key: readonly string[];
	readonly inputs: readonly string[];
	readonly statements: readonly SegmentStatement[];
	readonly proof: string;
}
const WRAPPED = JSON.parse(readFileSync(VECTOR, "utf8")) as WrapVector;
const wrapped = (change: Partial<Pick<WrapVector, "statements" | "key">> & { proof?: Uint8Array } = {}): string => {
	const { statements, key, proof } = { ...WRAPPED, proof: hexToBytes(WRAPPED.proof)!, ...change };
	const found = verifyWrapped(PLAN, statements, proof, { key, isDevAllowed: true });
	return found.status === "valid" ? "valid" : found.code;
};

test("the wrapped run is that of this circuit, and valid", () => {
	assert.deepEqual(WRAPPED.statements, HONEST.statements);
	assert.deepEqual(WRAPPED.inputs, WIRES.inputs.map(String));
	assert.equal(WRAPPED.constraints, CIRCUIT.constraints.length);
	assert.deepEqual(WRAPPED.key.slice(0, 6), [...DEV_CEREMONY]);
	assert.equal(wrapped(), "valid");
});

test("whatever is changed of a wrapped run, it is refused", () => {
	const whole = hexToBytes(WRAPPED.proof)!;
	const chunks = PLAN.groups.map((one) => one.chunks);
	const own = 64 * (chunks[4]! + chunks[5]!);
	const mask = 2 * own;
	const cross = mask + 64;
	const weights = cross + 64;
	const eta = weights + 32 * (1 + SEGMENTS * chunks.reduce((sum, one) => sum + one, 0));
	const [t, a, b, digest, groth16] = [1, 2, 3, 4, 5].map((i) => eta + 32 * i) as [
		number,
		number,
		number,
		number,
		number,
	];
	const more = (at: number) => {
		const proof = Uint8Array.from(whole);
		proof[at + 31]! ^= 1;
		return wrapped({ proof });
	};
	const swapped = Uint8Array.from(whole);
	swapped.set(whole.subarray(64, 128), 0);
	swapped.set(whole.subarray(0, 64), 64);
	const placed = (at: number, by: Uint8Array) => {
		const proof = Uint8Array.from(whole);
		proof.set(by, at);
		return wrapped({ proof });
	};
	// Points, in another order or none; how often they count; where, what, of what.
	assert.equal(wrapped({ proof: swapped }), "PROOF_CLAIMS");
	const opening = whole.length - LINE_BYTES;
	for (const at of [0, mask, cross, groth16, opening, opening + 64]) assert.equal(more(at), "PROOF_FORM");
	for (const at of [weights, eta - 32, eta, t, a, b, digest]) {
		assert.equal(more(at), "PROOF_CLAIMS");
		assert.equal(placed(at, bytesOf(R)), "PROOF_FORM");
	}
	// Groth16's B on no curve; A, B and C at infinity; A for C, C for A.
	assert.equal(more(groth16 + 64), "PROOF_FORM");
	assert.equal(more(groth16 + 192), "PROOF_FORM");
	for (const [at, size] of [
		[0, 64],
		[64, 128],
		[192, 64],
	] as const)
		assert.equal(placed(groth16 + at, new Uint8Array(size)), "PROOF_FORM");
	assert.equal(placed(groth16, whole.subarray(groth16 + 192, groth16 + 256)), "PROOF_CLAIMS");
	assert.equal(placed(groth16 + 192, whole.subarray(groth16, groth16 + 64)), "PROOF_CLAIMS");
	// The mask's for S, the point at infinity.
	assert.equal(placed(cross, whole.subarray(mask, cross)), "PROOF_CLAIMS");
	assert.equal(placed(cross, new Uint8Array(64)), "PROOF_CLAIMS");
	for (const at of [opening, opening + 64]) {
		assert.equal(placed(at, new Uint8Array(64)), "PROOF_OPENING");
		assert.equal(placed(at, whole.subarray(0, 64)), "PROOF_OPENING");
	}
	assert.equal(wrapped({ proof: whole.subarray(1) }), "PROOF_FORM");
	const [first, second] = WRAPPED.statements as [SegmentStatement, SegmentStatement];
	assert.equal(wrapped({ statements: [first, { ...second, stateAfter: "09".repeat(32) }] }), "PROOF_CLAIMS");
	assert.equal(wrapped({ statements: [second, first] }), "PROOF_CHAIN");
	const other = [
		...WRAPPED.key.slice(0, 14),
		...WRAPPED.key.slice(16, 18),
		...WRAPPED.key.slice(14, 16),
		...WRAPPED.key.slice(18),
	];
	assert.equal(wrapped({ key: other }), "PROOF_CLAIMS");
});

test("each part of a wrapped run's statements, changed alone, is refused", () => {
	const { statements } = WRAPPED;
	const [first, second] = statements as [SegmentStatement, SegmentStatement];
	const both = (change: Partial<SegmentStatement>) => statements.map((one) => ({ ...one, ...change }));
	const later = (steps: number) => statements.map((one) => ({ ...one, firstStep: one.firstStep + steps }));
	const other = first.pointsAfter.map(() => first.pointsBefore[0]!);
	const cases: readonly (readonly [string, readonly SegmentStatement[]])[] = [
		["the chain", both({ chainId: "6" })],
		["the job", both({ job: "7" })],
		["the seed", both({ seed: "0a".repeat(32) })],
		["features", both({ features: "12".repeat(32) })],
		["labels", both({ labels: "12".repeat(32) })],
		["the first step", later(2)],
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
	for (const [name, said] of cases) assert.equal(wrapped({ statements: said }), "PROOF_CLAIMS", name);
	// Between two segments, and after the last epoch.
	for (const steps of [1, 28]) assert.equal(wrapped({ statements: later(steps) }), "PROOF_STATEMENT");
	assert.equal(wrapped({ statements: both({ labelPoints: [`${"00".repeat(63)}01`] }) }), "PROOF_FORM");
});

test("one change anywhere of a wrapped run: never valid, never an exception", () => {
	const whole = hexToBytes(WRAPPED.proof)!;
	const draw = numbers(`wrapped ${seed}`);
	for (let i = 0; i < scaled(20); i++) {
		const proof = Uint8Array.from(whole);
		const [at, bit] = [draw(proof.length), draw(8)];
		proof[at]! ^= 1 << bit;
		assert.notEqual(wrapped({ proof }), "valid", `bit ${bit} of byte ${at}`);
	}
});
