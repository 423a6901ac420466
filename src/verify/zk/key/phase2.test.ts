// Keys from powers and contributions: an honest chain gives a key that proofs are true by, and that is the
// one which the secrets would give; each check of a key has a cheater. Powers are those of a small ceremony
// that snarkjs held (tests/zk/small.ptau).
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { keyOf, keyWords, proveGroth16 } from "../../../../vectors/naive-groth16.ts";
import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import { type G1, G1_ONE, type G2, G2_ONE, times } from "../../../protocol/maths/bn254.ts";
import { planHash } from "../../../work/plan/compile-plan.ts";
import { encodeProgram } from "../../../work/program/encode.ts";
import { verifyGroth16 } from "../../receipts/groth16.ts";
import { openProofFile } from "../proof-file.ts";
import { createCircuit } from "../run/circuit.ts";
import { wrapKeyHash } from "../run/wrap-key.ts";
import { keyChainOf } from "./key-file.ts";
import {
	type Contribution,
	contribute,
	firstHash,
	firstKey,
	keyFault,
	nextHash,
	type ProvingKey,
	rowsOf,
	verifyingWords,
} from "./phase2.ts";
import { type KeyPowers, readPtau } from "./powers-file.ts";
import { r1csFile, readR1cs } from "./r1cs-file.ts";
import { smallCircuit } from "./snarkjs.test-kit.ts";
import { readKeyFile, toSnarkjsKey } from "./snarkjs-form.ts";

const CIRCUIT = smallCircuit();
const PTAU = new URL("../../../../tests/zk/small.ptau", import.meta.url);
const PROOF = new URL("../../../../vectors/mlp-segment.proof", import.meta.url);
const FILE = readFileSync(PTAU);
const POWERS = readPtau(FILE, rowsOf(CIRCUIT)) as KeyPowers;

const FIRST = firstKey(CIRCUIT, POWERS);
function chainOf(secrets: readonly bigint[]) {
	let [key, hash] = [FIRST, firstHash(FIRST)];
	const contributions: Contribution[] = [];
	for (const secret of secrets) {
		const made = contribute(key, hash, { secret, blind: secret + 1000n });
		contributions.push(made.contribution);
		[key, hash] = [made.key, nextHash(hash, made.contribution)];
	}
	return { key, contributions };
}
const HONEST = chainOf([11n, 22n, 33n]);
const faultOf = (
	change: Partial<{ key: ProvingKey; contributions: readonly Contribution[] }>,
	first = FIRST,
): string | null => {
	const { key, contributions } = { ...HONEST, ...change };
	return keyFault(first, contributions, key);
};

test("an honest chain of contributions: the key is right, and proofs by it are true", () => {
	assert.equal(faultOf({}), null);
	const { key } = HONEST;
	const values = CIRCUIT.valuesOf([150n, 12n], [5n, 7n]);
	const proof = proveGroth16(CIRCUIT, { ...key, gamma2: G2_ONE }, values, [17n, 18n]);
	assert.equal(verifyGroth16(verifyingWords(key), proof, [150n, 12n]), "true");
	assert.equal(verifyGroth16(verifyingWords(key), proof, [150n, 13n]), "false");
	// By the key before, which nobody has contributed to, it is another.
	assert.equal(verifyGroth16(verifyingWords(FIRST), proof, [150n, 12n]), "false");
});

test("from powers of known secrets it is the key that the secrets give", () => {
	const [tau, alpha, beta] = [101n, 102n, 103n];
	const rows = rowsOf(CIRCUIT);
	const list = (count: number, by: bigint) =>
		Array.from({ length: count }, (_, i) => times(G1_ONE, by * tau ** BigInt(i)));
	const powers: KeyPowers = {
		...{ tau1: list(2 * rows - 1, 1n), alpha1: list(rows, alpha), beta1: list(rows, beta) },
		tau2: Array.from({ length: rows }, (_, i) => G2_ONE.multiplyUnsafe(tau ** BigInt(i))),
		beta2: G2_ONE.multiplyUnsafe(beta),
	};
	const first = firstKey(CIRCUIT, powers);
	const { key } = contribute(first, firstHash(first), { secret: 7n, blind: 8n });
	const wanted = keyOf(CIRCUIT, { tau, alpha, beta, gamma: 1n, delta: 7n });
	assert.deepEqual(verifyingWords(key), keyWords(wanted));
	const same = (a: readonly (G1 | G2)[], b: readonly (G1 | G2)[]) =>
		assert.ok(a.length === b.length && a.every((one, i) => one.equals(b[i] as never)));
	for (const name of ["a", "b1", "b2", "inputs", "others", "powers"] as const) same(key[name], wanted[name]);
});

test("each check of a key has a cheater", () => {
	const { key, contributions } = HONEST;
	const [one, two, three] = contributions as [Contribution, Contribution, Contribution];
	const moved = (list: readonly G1[], at: number) => list.with(at, list[at]!.add(G1_ONE));
	const wrong = "it is not of this circuit and these powers";
	const changed: readonly Partial<ProvingKey>[] = [
		{ alpha1: G1_ONE },
		{ beta1: G1_ONE },
		{ beta2: G2_ONE },
		{ a: moved(key.a, 3) },
		{ b1: moved(key.b1, 3) },
		{ b2: key.b2.with(3, G2_ONE) },
		{ inputs: moved(key.inputs, 1) },
		{ inputs: key.inputs.slice(1) },
	];
	for (const change of changed) assert.equal(faultOf({ key: { ...key, ...change } }), wrong, Object.keys(change)[0]);
	const other = createCircuit();
	const [cubes, sum, x, y] = [other.input(), other.input(), other.secret(), other.secret()];
	other.field.areSame(other.field.times(other.field.times(x, x), y), cubes);
	other.field.areSame(other.field.sum([x, y]), sum);
	assert.equal(faultOf({}, firstKey(other, POWERS)), wrong, "another circuit");
	assert.equal(faultOf({}, firstKey(CIRCUIT, { ...POWERS, alpha1: POWERS.beta1 })), wrong, "other powers");
	assert.equal(faultOf({ key: { ...key, others: key.others.slice(1) } }), "it has another number of points");
	assert.equal(faultOf({ key: FIRST, contributions: [] }), "nobody has contributed to it");
	const divided = "its points are not divided by δ";
	for (const name of ["others", "powers"] as const) {
		assert.equal(faultOf({ key: { ...key, [name]: moved(key[name], 0) } }), divided, name);
		assert.equal(faultOf({ key: { ...key, [name]: FIRST[name] } }), divided, name);
	}
	// Who takes the last δ and multiplies it once more is in no chain.
	const more = contribute(key, new Uint8Array(32), { secret: 5n, blind: 6n });
	assert.equal(faultOf({ key: more.key }), "its δ is not that of the last contribution");
	assert.equal(
		faultOf({ ...more, contributions: [...contributions, more.contribution] }),
		"who made contribution 4 did not know it",
	);
	// Somebody who does not know the factor of a δ that another chose.
	const stranger = { ...three, delta1: times(G1_ONE, 99n), delta2: G2_ONE.multiplyUnsafe(99n) };
	assert.equal(faultOf({ contributions: [one, two, stranger] }), "who made contribution 3 did not know it");
	assert.equal(
		faultOf({ contributions: [one, two, { ...three, answer: three.answer + 1n }] }),
		"who made contribution 3 did not know it",
	);
	assert.equal(
		faultOf({ contributions: [one, { ...two, delta2: one.delta2 }, three] }),
		"contribution 2 has another δ in the second group",
	);
	const nothing = {
		delta1: times(G1_ONE, 0n),
		delta2: G2_ONE.subtract(G2_ONE),
		commitment: times(G1_ONE, 0n),
		answer: 0n,
	};
	assert.equal(faultOf({ contributions: [one, two, nothing] }), "contribution 3 takes everything away");
	// A contribution left out, twice, or in another order: those after it were for another chain.
	for (const list of [
		[two, three],
		[one, three],
		[one, one, two, three],
		[two, one, three],
	])
		assert.match(faultOf({ contributions: list })!, /did not know it/);
	assert.equal(faultOf({ contributions: [one, two] }), "its δ is not that of the last contribution");
});

test("powers of a file are points, and powers of one τ", () => {
	const rows = rowsOf(CIRCUIT);
	const codeOf = (bytes: Uint8Array, count = rows) => {
		const found = readPtau(bytes, count);
		return "code" in found ? found.code : "right";
	};
	assert.equal(codeOf(FILE), "right");
	assert.equal(codeOf(FILE, 2 * rows), "SRS_FORM", "too few");
	assert.equal(codeOf(FILE.subarray(0, 500)), "SRS_FORM", "cut off");
	assert.equal(codeOf(Uint8Array.from(FILE).fill(0, 0, 4)), "SRS_FORM", "another kind of file");
	/** Where sections begin. */
	const view = new DataView(FILE.buffer, FILE.byteOffset, FILE.byteLength);
	const starts = new Map<number, number>();
	for (let at = 12; at < FILE.length; ) {
		const size = Number(view.getBigUint64(at + 4, true));
		starts.set(view.getUint32(at, true), at + 12);
		at += 12 + size;
	}
	const with_ = (at: number, bytes: Uint8Array) => {
		const file = Uint8Array.from(FILE);
		file.set(bytes, at);
		return codeOf(file);
	};
	const at = (type: number, size: number, i: number) => starts.get(type)! + size * i;
	assert.equal(with_(at(2, 64, 2), new Uint8Array(64).fill(255)), "SRS_FORM", "too large");
	assert.equal(with_(at(2, 64, 2), Uint8Array.of(1)), "SRS_WRONG", "no point");
	for (const [type, size, name] of [
		[2, 64, "τ"],
		[3, 128, "τ of the second group"],
		[4, 64, "α"],
		[5, 64, "β"],
	] as const)
		assert.equal(with_(at(type, size, 2), FILE.subarray(at(type, size, 3), at(type, size, 4))), "SRS_WRONG", name);
	assert.equal(with_(at(2, 64, 0), FILE.subarray(at(2, 64, 1), at(2, 64, 2))), "SRS_WRONG", "not from 1 on");
	assert.equal(with_(at(6, 128, 0), FILE.subarray(at(3, 128, 1), at(3, 128, 2))), "SRS_WRONG", "another β");
});

test("by files: scripts/zk-key.ts makes a key, takes contributions, verifies and refuses", () => {
	const folder = mkdtempSync(join(tmpdir(), "assay-key-"));
	const at = (name: string) => join(folder, name);
	const program = fileURLToPath(new URL("../../../../scripts/zk-key.ts", import.meta.url));
	const run = (...words: readonly string[]) => {
		const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...words], { encoding: "utf8" });
		return status === 0 ? stdout : `refused: ${stderr}`;
	};
	try {
		writeFileSync(at("c.r1cs"), r1csFile(CIRCUIT));
		const both = [at("c.r1cs"), fileURLToPath(PTAU)] as const;
		assert.equal(run("first", ...both, at("0.key")), "");
		const said = run("contribute", at("0.key"), at("1.key"));
		assert.match(said, /^contribution 1: [0-9a-f]{64}\n$/);
		assert.equal(run("verify", ...both, at("1.key")).startsWith(said), true);
		assert.match(run("verify", ...both, at("0.key")), /^refused: .*nobody has contributed/);
		// What is exported names what the key is for; so does what snarkjs exported, once it came through here.
		const proof = openProofFile(readFileSync(PROOF), { isDevAllowed: false });
		assert.ok(proof.status === "valid");
		writeFileSync(at("program.bin"), encodeProgram(proof.program));
		const { key } = keyChainOf(readFileSync(at("1.key"), "utf8"))!;
		const bound = { plan: bytesToHex(planHash(proof.plan)), segments: 2, words: verifyingWords(key) };
		writeFileSync(at("bare.json"), JSON.stringify(toSnarkjsKey(bound.words)));
		for (const from of ["1.key", "bare.json"]) {
			const told = run("export", at(from), at("program.bin"), "2", at("vk.json"));
			assert.equal(told, `key ${wrapKeyHash(bound)}\n`);
			assert.deepEqual(readKeyFile(readFileSync(at("vk.json"), "utf8"))!.bound, bound);
		}
		assert.match(run("export", at("1.key"), at("vk.json")), /^refused: export takes 4 words/);
		// A point that is none; a file that is another.
		const text = readFileSync(at("1.key"), "utf8");
		assert.equal(keyChainOf(text.replace(/"alpha1":"[0-9a-f]/, '"alpha1":"f')), null);
		for (const other of ["", "{}", "null", text.slice(0, -9), text.replace('"contributions":[', '"contributions":[5,')])
			assert.equal(keyChainOf(other), null);
		assert.equal(readR1cs(r1csFile(CIRCUIT).subarray(0, 400)), null);
		assert.equal(readR1cs(readFileSync(PTAU)), null);
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
});
