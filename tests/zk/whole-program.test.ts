// A small MLP is trained by its program, two of its segments are proven, and the proofs verified as anybody
// would: over Ignition's powers where they lie beside the checkout, else over powers of a known τ. Then bytes
// that are not those of the proof.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runCommand } from "../../src/cli/run-command.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { bindByEngine } from "../../src/provider/proofs/bind-by-engine.ts";
import { bindBytes } from "../../src/verify/zk/bind-bytes.ts";
import { toKeyFile, toSnarkjsKey } from "../../src/verify/zk/key/snarkjs-form.ts";
import { encodeProofFile, openProofFile, type ProofVerdict, verifyProofFile } from "../../src/verify/zk/proof-file.ts";
import { forgedRun, KEY, REAL_POINT, SAID } from "../../src/verify/zk/run/forged-run.test-kit.ts";
import { DEV_POWERS, ignitionPowers, type ProverPowers } from "../../src/verify/zk/srs.ts";
import { gapBetween } from "../../src/verify/zk/statement.ts";
import { type Elements, elementsToBytes } from "../../src/work/operators/tensor-type.ts";
import { compilePlan, planHash, type ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { tensorRoot } from "../../src/work/trace/tensor-tree.ts";
import { isDeep } from "../fuzz.test-kit.ts";
import { startProver } from "./engine-prover.test-kit.ts";
import { proveByEngine, proveTrained, trained, trainedFrom } from "./trained.test-kit.ts";

const CHUNK_BITS = 10;
const beside = fileURLToPath(new URL("../../../shared", import.meta.url));
const FILE = join(process.env.ASSAY_SHARED ?? beside, "srs/ignition-bn254-2p15.bin");

const isDevAllowed = !existsSync(FILE);
const powersFile = isDevAllowed ? "dev" : FILE;
const powers = isDevAllowed
	? DEV_POWERS
	: (ignitionPowers(new Uint8Array(readFileSync(FILE)), 2 ** CHUNK_BITS) as ProverPowers);
const engine = await startProver();
after(() => engine.close());
const run = trained(2);
const by = { ...engine, powers };
/** By two provers: the second one was paid for a job on a chain. */
const proofs = [
	await proveByEngine(run, 1, CHUNK_BITS, by),
	await proveByEngine(run, 2, CHUNK_BITS, by, { chainId: 31_337n, job: 7n }),
];
const files = proofs.map(({ file }) => file);
const codeOf = (verdict: ProofVerdict) => (verdict.status === "valid" ? "valid" : verdict.code);

interface Held {
	readonly features?: Elements;
	readonly labels?: Elements;
	readonly before?: readonly Elements[];
	readonly after?: readonly Elements[];
}
const verified = (segment: number, { features, labels, before, after }: Held = {}) =>
	verifyProofFile(files[segment - 1]!, { isDevAllowed }, () => ({
		data: { features: features ?? run.features, labels: labels ?? run.labels },
		before: before ?? run.states[segment - 1]!.weights,
		after: after ?? run.states[segment]!.weights,
	}));

test(`two segments, proven over ${isDevAllowed ? "test parameters: no powers beside the checkout" : "Ignition's powers"}`, () => {
	for (const segment of [1, 2]) {
		const verdict = verified(segment);
		assert.equal(codeOf(verdict), "valid");
		assert.deepEqual(verdict.status === "valid" && verdict.bound, ["data", "before", "after"]);
	}
	assert.equal(gapBetween(proofs[0]!.statement, proofs[1]!.statement), null);
	assert.ok(proofs[0]!.proof.length < 16_000, `${proofs[0]!.proof.length} bytes`);
});

test("the engine's proof of a segment is the reference prover's, byte for byte", async () => {
	const known = encodeProofFile(run.program, CHUNK_BITS, proveTrained(run, 1, CHUNK_BITS));
	const { file } = await proveByEngine(run, 1, CHUNK_BITS, { ...engine, powers: DEV_POWERS });
	assert.equal(bytesToHex(file), bytesToHex(known));
});

test("weights of 64 bits: a segment of 64 rows, and bytes with one changed number", async () => {
	const wide = trained(1, 64);
	const { file, statement } = await proveByEngine(wide, 1, CHUNK_BITS, by);
	const [before, after] = wide.states.map(({ weights }) => weights) as [Elements[], Elements[]];
	const code = (held: Partial<Record<"before" | "after", readonly Elements[]>>) =>
		codeOf(verifyProofFile(file, { isDevAllowed }, () => ({ data: wide, before, after, ...held })));
	assert.equal(statement.steps, 8);
	assert.equal(code({}), "valid");
	for (const [name, list, wanted] of [
		["before", before, "PROOF_INITIAL"],
		["after", after, "PROOF_RESULT"],
	] as const) {
		const changed = list[1]!.slice() as BigInt64Array;
		changed[3]! ^= 1n;
		assert.equal(code({ [name]: list.with(1, changed) }), wanted);
	}
});

test("a proof under a changed statement is refused", () => {
	const [first, second] = proofs as [(typeof proofs)[0], (typeof proofs)[0]];
	const changes = [{ stateAfter: "00".repeat(32) }, { features: "00".repeat(32) }, { job: "1" }, { firstStep: 4 }];
	for (const change of changes) {
		const file = encodeProofFile(run.program, CHUNK_BITS, { ...first, statement: { ...first.statement, ...change } });
		assert.notEqual(codeOf(verifyProofFile(file, { isDevAllowed })), "valid", JSON.stringify(change));
	}
	const replayed = encodeProofFile(run.program, CHUNK_BITS, { statement: second.statement, proof: first.proof });
	assert.notEqual(codeOf(verifyProofFile(replayed, { isDevAllowed })), "valid");
	const odd = encodeProofFile(run.program, 11, first);
	assert.equal(codeOf(verifyProofFile(odd, { isDevAllowed })), "PROOF_FORM");
	assert.equal(codeOf(verifyProofFile(encodeProofFile(run.program, 14, first), { isDevAllowed })), "PROOF_STATEMENT");
	assert.equal(codeOf(verifyProofFile(files[0]!.subarray(1), { isDevAllowed })), "FILE_NOT_EVIDENCE");
});

test("bytes with one changed number are not those of the proof", () => {
	const one = (list: Elements, i: number) => {
		const changed = list.slice();
		changed[i] = Number(changed[i]) ^ 1;
		return changed;
	};
	const { weights } = run.states[0]!;
	const [before, after] = [weights.with(1, one(weights[1]!, 3)), run.states[1]!.weights.with(0, one(weights[0]!, 5))];
	assert.equal(codeOf(verified(1, { features: one(run.features, 9) })), "PROOF_DATA");
	assert.equal(codeOf(verified(1, { labels: one(run.labels, 7) })), "PROOF_DATA");
	assert.equal(codeOf(verified(1, { before })), "PROOF_INITIAL");
	assert.equal(codeOf(verified(1, { after })), "PROOF_RESULT");
});

test("commitments to other data than the roots of the statement are found from the bytes", () => {
	// A row that this segment never sees is bound too.
	const poisoned = [{ features: [30, 777] }, { labels: [7, 1 - run.labels[7]!] }] as const;
	for (const poison of isDeep ? poisoned : poisoned.slice(0, 1)) {
		const file = encodeProofFile(run.program, CHUNK_BITS, proveTrained(run, 1, CHUNK_BITS, poison));
		assert.equal(codeOf(verifyProofFile(file, { isDevAllowed: true })), "valid", "without bytes nobody can tell");
		const verdict = verifyProofFile(file, { isDevAllowed: true }, () => ({ data: run }));
		assert.equal(codeOf(verdict), "PROOF_DATA");
	}
});

test("labels that no run of the program takes are refused, whatever was committed", () => {
	const { statement } = proofs[0]!;
	const plan = compilePlan(run.program, CHUNK_BITS) as ZkPlan;
	// The class of another row; places that are none.
	for (const label of [2, -1, 32_767]) {
		const labels = run.labels.with(7, label);
		const of = { ...statement, labels: bytesToHex(tensorRoot(labels)) };
		const claims = { point: Array<bigint>(plan.bits).fill(0n), values: [0n, 0n, 0n, 0n] };
		const fault = bindBytes(run.program, plan, of, claims, { data: { features: run.features, labels } });
		assert.equal(fault?.code, "PROOF_DATA");
		assert.match(fault.detail, /labels is outside/);
	}
});

test("assay verify: what is shown, with and without bytes", async () => {
	const scratch = mkdtempSync(join(tmpdir(), "assay-zk-"));
	try {
		const file = (name: string, ...parts: readonly Uint8Array[]) => {
			writeFileSync(join(scratch, name), Buffer.concat(parts));
			return join(scratch, name);
		};
		const bytes = (...list: readonly Elements[]) => list.map(elementsToBytes);
		const proof = file("segment.proof", files[0]!);
		const data = file("data", ...bytes(run.features, run.labels));
		const [first, last] = run.states.map(({ weights }, i) => file(`state ${i}`, ...bytes(...weights)));
		const dev = isDevAllowed ? ["--dev"] : [];
		const bound = await assay("verify", proof, "--data", data, "--initial", first!, "--result", last!, ...dev);
		assert.equal(bound.code, 0, bound.out + bound.err);
		assert.match(bound.out, /VALID {2}steps 0 to 1 .*data and weights at hand are those of the proof/s);
		assert.match(bound.out, /covers {3}segment 1, of 8 at most.*start {4}the weights that the program makes/s);
		assert.equal(/SRS_DEV/.test(bound.out), isDevAllowed);
		const named = isDevAllowed ? /powers {3}test parameters \(not secure\)/ : /powers {3}the Ignition ceremony's/;
		assert.match(bound.out, named);
		const alone = await assay("verify", proof, ...dev);
		assert.equal(alone.code, 0);
		// The start follows from program and seed: nobody need give it.
		assert.match(alone.out, /not shown without --data, --result/);
		await provers(scratch, dev);
		const other = file(
			"other.proof",
			(await proveByEngine(trainedFrom(run.states[1]!.weights), 1, CHUNK_BITS, by)).file,
		);
		const started = await assay("verify", other, "--initial", last!, ...dev);
		assert.deepEqual([started.code, /INVALID {2}PROOF_START/.test(started.out)], [1, true], started.out);
		const swapped = await assay("verify", proof, "--initial", last!, ...dev, "--json");
		assert.equal(swapped.code, 1);
		assert.equal(JSON.parse(swapped.out).code, "PROOF_INITIAL");
		assert.match((await assay("verify", proof, "--result", data, ...dev)).err, /TENSOR_SIZE/);
		assert.match((await assay("verify", "vectors/h200.assay", "--dev")).err, /--dev is for proofs of training/);
		const unasked = await assay("verify", proof);
		if (isDevAllowed) assert.match(unasked.out, /INCONCLUSIVE {2}SRS_DEV/);
		assert.equal(unasked.code, isDevAllowed ? 2 : 0);
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
});

/** Proofs of one run by two provers are one run, unless one is missing or ends elsewhere. */
async function provers(scratch: string, dev: readonly string[]): Promise<void> {
	const folder = mkdtempSync(join(scratch, "provers-"));
	const put = (segment: number, bytes: Uint8Array) => writeFileSync(join(folder, `segment-${segment}.proof`), bytes);
	put(1, files[0]!);
	put(2, files[1]!);
	const whole = await assay("verify", folder, ...dev);
	assert.equal(whole.code, 0, whole.out);
	assert.match(whole.out, /VALID {2}steps 0 to 3 .*segments 1 to 2, of 8 at most.*2 pairs of job and prover/s);
	put(2, files[0]!);
	const twice = await assay("verify", folder, ...dev);
	assert.match(twice.out, /INCONCLUSIVE {2}PROOF_GAP.*segment-2.proof: step 2 comes next, not 0/s);
	assert.equal(twice.code, 2);
	if (!isDevAllowed) return;
	// From the same weights, and with another state to be believed: a contradiction.
	put(
		2,
		encodeProofFile(run.program, CHUNK_BITS, proveTrained(run, 2, CHUNK_BITS, {}, { stateBefore: "77".repeat(32) })),
	);
	const lie = await assay("verify", folder, ...dev);
	assert.match(lie.out, /INVALID {2}PROOF_CHAIN.*segment-2.proof: the state between them differs/s);
	assert.equal(lie.code, 1);
}

test("assay verify of wrapped runs: valid by a key that is named with its plan and segments, never else", async () => {
	const scratch = mkdtempSync(join(tmpdir(), "assay-wrapped-"));
	try {
		const at = (name: string) => join(scratch, name);
		writeFileSync(at("forged.proof"), forgedRun(REAL_POINT));
		const forged = await assay("verify", at("forged.proof"));
		assert.equal(forged.code, 2);
		assert.match(forged.out, /^INCONCLUSIVE {2}KEY_UNNAMED.*were the key honest, this would prove: steps 0 to 7 /s);
		assert.doesNotMatch(forged.out, /VALID {2}/);
		const { status, code, ...rest } = JSON.parse((await assay("verify", at("forged.proof"), "--json")).out);
		assert.deepEqual([status, code], ["inconclusive", "KEY_UNNAMED"]);
		assert.doesNotMatch(JSON.stringify(rest), /isDev/);
		const honest = "tests/zk/wrapped-mlp.proof";
		writeFileSync(at("bare.json"), JSON.stringify(toSnarkjsKey(KEY)));
		const plan = bytesToHex(planHash(SAID.plan));
		for (const segments of [2, 3])
			writeFileSync(at(`${segments}.json`), JSON.stringify(toKeyFile({ plan, segments, words: KEY })));
		const named = async (key: string) => assay("verify", honest, "--dev", "--wrap-key", key);
		assert.match(
			(await named(at("bare.json"))).err,
			/does not name its plan and its number of segments \[KEY_UNBOUND\]/,
		);
		assert.equal((await named(at("bare.json"))).code, 66);
		for (const key of [at("2.json"), SAID.key]) {
			const shown = await named(key);
			assert.equal(shown.code, 0, shown.out);
			assert.match(shown.out, /VALID {2}steps 0 to 7 .*powers {3}the Ignition.*SRS_DEV: test parameters/s);
		}
		assert.match((await named(at("3.json"))).out, /INVALID {2}KEY_OTHER/);
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
});

test("assay job run, job prove, verify: as a new user does it", async () => {
	const scratch = mkdtempSync(join(tmpdir(), "assay-prove-"));
	try {
		const at = (name: string) => join(scratch, name);
		const ran = await assay("job", "run", "samples/mlp-proof.json", "--steps", "8", "--out", at("run"), "--json");
		assert.equal(ran.code, 0, ran.err);
		const asked = ["job", "prove", at("run"), "--powers", powersFile];
		const proven = await assay(...asked, "--segments", "1-2", "--out", at("proofs"));
		assert.equal(proven.code, 0, proven.out + proven.err);
		assert.match(proven.out, /PROVEN {2}2 segments/);
		assert.equal(/SRS_DEV/.test(proven.out), isDevAllowed);
		const dev = isDevAllowed ? ["--dev"] : [];
		for (const segment of [1, 2]) {
			const [initial, result] = [at(`proofs/state-${segment}.bin`), at(`proofs/state-${segment + 1}.bin`)];
			const bytes = ["--data", at("proofs/data.bin"), "--initial", initial, "--result", result];
			const shown = await assay("verify", at(`proofs/segment-${segment}.proof`), ...bytes, ...dev);
			assert.equal(shown.code, 0, shown.out);
			assert.match(shown.out, /data and weights at hand are those of the proof/);
		}
		const held = ["--data", at("proofs/data.bin"), "--initial", at("proofs/state-1.bin")];
		const whole = await assay("verify", at("proofs"), ...held, "--result", at("proofs/state-3.bin"), ...dev);
		assert.equal(whole.code, 0, whole.out + whole.err);
		assert.match(whole.out, /VALID {2}steps 0 to 7 of .*data and weights at hand are those of the proof.*2 segments/s);
		const half = await assay("verify", at("proofs"), ...held, "--result", at("proofs/state-2.bin"), ...dev);
		assert.match(half.out, /INVALID {2}PROOF_RESULT/);
		// The second before the first: nothing false is shown. The folder of a run, which has no proofs.
		renameSync(at("proofs/segment-1.proof"), at("proofs/segment-3.proof"));
		assert.match(
			(await assay("verify", at("proofs"), ...dev)).out,
			/INCONCLUSIVE {2}PROOF_GAP.*segment-3.proof: step 8 comes/s,
		);
		assert.match((await assay("verify", at("run"))).err, /a folder without segment-N.proof.*FILE_UNREADABLE/s);
		for (const list of ["0", "3", "2-1", "1-3", "x", "1,,2"]) {
			const refused = await assay(...asked, "--segments", list, "--out", at("none"));
			assert.match(refused.err, /--segments takes numbers and ranges from 1 to 2/, list);
		}
		assert.match((await assay(...asked, "--segments", "1", "--wrap", "package.json")).err, /KEY_FILE/);
		assert.match((await assay(...asked, "--segments", "1", "--wrap", "none.zkey")).err, /KEY_FILE/);
		if (isDeep) {
			// A minute of a core: one proof of both, by a key of known secrets.
			const wrapped = await assay(...asked, "--wrap", "dev", "--out", at("wrapped"));
			assert.match(wrapped.out, /PROVEN {2}segments 1 to 2 as one/, wrapped.err);
			const [, key] = /key +([0-9a-f]{64})/.exec(wrapped.out)!;
			const shown = await assay("verify", at("wrapped/run-1-2.proof"), "--wrap-key", key!, "--dev");
			assert.match(shown.out, /VALID {2}steps 0 to 7 of the program, 2 segments as one/);
			assert.match((await assay("verify", at("wrapped/run-1-2.proof"), "--dev")).out, /INCONCLUSIVE {2}KEY_UNNAMED/);
			assert.match((await assay("verify", at("wrapped/run-1-2.proof"))).out, /INCONCLUSIVE {2}SRS_DEV/);
		}
		assert.match((await assay("job", "prove", at("run"))).err, /it needs powers of tau/);
		const unknown = await assay("job", "prove", at("run"), "--powers", "samples/README.md", "--out", at("none"));
		assert.match(unknown.err, /SRS_UNKNOWN/);
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
});

async function assay(...args: string[]) {
	const said = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
	const cwd = fileURLToPath(new URL("../..", import.meta.url));
	const io = { out: stream("out"), err: stream("err"), env: {}, cwd, interrupted: new AbortController().signal };
	return { code: await runCommand(args, io), ...said };
}

test("an engine that compares the bytes finds what TypeScript finds", async () => {
	const opened = openProofFile(files[0]!, { isDevAllowed });
	assert.ok(opened.status === "valid");
	const [before, after] = run.states.map(({ weights }) => weights.map((one) => Int32Array.from(one, Number)));
	const right = { features: run.features, labels: run.labels, before: before!, after: after! };
	const changes: Readonly<Record<string, Partial<typeof right>>> = {
		"nothing changed": {},
		"a feature": { features: run.features.with(30, run.features[30]! ^ 8) },
		"a label": { labels: run.labels.with(7, 1 - run.labels[7]!) },
		"a label that is no class": { labels: run.labels.with(7, 2) },
		"a weight at the start": { before: before!.with(1, before![1]!.with(0, before![1]![0]! + 1)) },
		"a weight at the end": { after: after!.with(0, after![0]!.with(3, after![0]![3]! - 1)) },
	};
	for (const [name, change] of Object.entries(changes)) {
		const held = { ...right, ...change };
		const here = verifyProofFile(files[0]!, { isDevAllowed }, () => ({ ...held, data: held }));
		const bytes = {
			data: [elementsToBytes(held.features), elementsToBytes(held.labels)] as const,
			...{ before: held.before.map(elementsToBytes), after: held.after.map(elementsToBytes) },
		};
		const there = await bindByEngine(opened, bytes, { open: engine.openWork, device: 0 });
		assert.equal(there?.code ?? "valid", codeOf(here), name);
		assert.equal(there === null, name === "nothing changed");
	}
});
