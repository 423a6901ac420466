// Fraud files: one of every kind convicts; whatever field of it is changed, its code catches that, or the
// list says why only a signature could; no bytes make the judge throw.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { fc, scaled } from "../../../../tests/fuzz.test-kit.ts";
import { codes } from "../../../protocol/codes.ts";
import { decodeFraudFile, makeFraudFile } from "./fraud-file.ts";
import { fraudSamples, signedSample, twoWordsSample } from "./fraud-samples.test-kit.ts";
import { tamperedFrauds } from "./fraud-tampers.test-kit.ts";
import { verifyFraud } from "./judge-fraud.ts";

let samples = new Map<string, Uint8Array>();
before(async () => {
	samples = await fraudSamples();
});

/** The tamper list: every field of a fraud file, and what catches a change of it in files of all kinds. */
const CAUGHT: Readonly<Record<string, string>> = {
	accused: "FRAUD_CLAIM",
	"attachment 0": "FRAUD_PROGRAM",
	"attachment 1": "FRAUD_AGREES FRAUD_PROGRAM valid",
	"attachment 2": "FRAUD_LEAF valid",
	"attachment 3": "FRAUD_LEAF",
	"attachments[].bytes": "FILE_TRUNCATED",
	"attachments[].sha256": "ATTACHMENT_HASH",
	"claim.chainId": "FRAUD_CLAIM",
	"claim.escrow": "FRAUD_CLAIM",
	"claim.first": "FRAUD_CLAIM",
	"claim.inputs": "FRAUD_CLAIM",
	"claim.job": "FRAUD_CLAIM",
	"claim.part": "FRAUD_CLAIM",
	"claim.program": "FRAUD_CLAIM",
	"claim.resultRoot": "FRAUD_CLAIM",
	"claim.segmentRoot": "FRAUD_CLAIM",
	"claim.segments": "FRAUD_CLAIM",
	"fault.contradiction.chunk": "FRAUD_PLACE",
	"fault.contradiction.kind": "ENVELOPE_SHAPE",
	"fault.contradiction.path": "ENVELOPE_SHAPE",
	"fault.contradiction.path[]": "FRAUD_LEAF",
	"fault.contradiction.paths[][]": "FRAUD_LEAF",
	"fault.contradiction.register": "FRAUD_AGREES FRAUD_LEAF FRAUD_PLACE",
	"fault.element": "FRAUD_LEAF FRAUD_WORDS valid",
	"fault.inputs": "FRAUD_INPUTS",
	"fault.marked": "ENVELOPE_SHAPE FRAUD_WORDS",
	"fault.kind": "ENVELOPE_SHAPE",
	"fault.leaf.inputs[]": "FRAUD_TRACE",
	"fault.leaf.op": "FRAUD_PLACE",
	"fault.leaf.output": "FRAUD_TRACE",
	"fault.leaf.path[]": "FRAUD_TRACE",
	"fault.leaf.step": "FRAUD_PLACE FRAUD_TRACE",
	"fault.of": "ENVELOPE_SHAPE",
	"fault.op.number": "FRAUD_PLACE FRAUD_PROGRAM",
	"fault.op.path[]": "FRAUD_PROGRAM",
	"fault.operand": "FRAUD_PLACE",
	"fault.origin.from": "ENVELOPE_SHAPE",
	"fault.origin.leaf.inputs[]": "FRAUD_TRACE",
	"fault.origin.leaf.op": "FRAUD_PLACE",
	"fault.origin.leaf.output": "FRAUD_TRACE",
	"fault.origin.leaf.path[]": "FRAUD_TRACE",
	"fault.origin.leaf.step": "FRAUD_PLACE",
	"fault.origin.path[]": "FRAUD_PROGRAM",
	"fault.origin.root.count": "FRAUD_STATE valid",
	"fault.origin.root.index": "FRAUD_INPUTS FRAUD_STATE",
	"fault.origin.root.path[]": "FRAUD_INPUTS FRAUD_STATE",
	"fault.origin.root.root": "FRAUD_INPUTS FRAUD_STATE",
	"fault.origin.root.tensor": "FRAUD_PLACE",
	"fault.origin.seed": "FRAUD_INPUTS",
	"fault.origin.state.path[]": "FRAUD_STATE",
	"fault.origin.state.results": "FRAUD_STATE",
	"fault.origin.state.segment": "FRAUD_PLACE",
	"fault.origin.state.states": "FRAUD_STATE",
	"fault.origin.whole": "FRAUD_PLACE",
	"fault.origin.writer": "ENVELOPE_SHAPE",
	"fault.origin.writer.number": "FRAUD_PLACE",
	"fault.origin.writer.path[]": "FRAUD_PROGRAM",
	"fault.path[]": "FRAUD_PROGRAM",
	"fault.root.count": "FRAUD_STATE",
	"fault.root.index": "FRAUD_STATE",
	"fault.root.path[]": "FRAUD_STATE",
	"fault.root.root": "FRAUD_STATE",
	"fault.root.tensor": "FRAUD_STATE",
	"fault.seed": "FRAUD_INPUTS",
	"fault.state.path[]": "FRAUD_STATE",
	"fault.state.results": "FRAUD_STATE",
	"fault.state.segment": "FRAUD_PLACE",
	"fault.state.states": "FRAUD_STATE",
	"fault.turns[]": "FRAUD_WORDS valid",
	format: "ENVELOPE_SHAPE",
	"longer attachment 0": "FRAUD_PROGRAM",
	"longer attachment 1": "FRAUD_PROGRAM FRAUD_WORDS",
	"longer attachment 2": "FRAUD_LEAF FRAUD_WORDS",
	"longer attachment 3": "FRAUD_LEAF",
	"one attachment less": "ATTACHMENT_ORDER",
	"one attachment more": "ATTACHMENT_ORDER",
	"program.head": "FRAUD_PROGRAM",
	"program.ops": "FRAUD_PROGRAM",
	"program.tensors": "FRAUD_PROGRAM",
	segment: "FRAUD_PLACE valid",
	signed: "ENVELOPE_SHAPE",
	trace: "FRAUD_TRACE",
	version: "FILE_VERSION",
};

/** Why a change of these may still convict. */
const WORD =
	"the accused's own word about this very question: a signature over question and answer binds it, nothing else can";
const FREE: Readonly<Record<string, string>> = {
	segment: WORD,
	"fault.element": WORD,
	"fault.turns[]": WORD,
	"attachment 1": WORD,
	"attachment 2": WORD,
	"fault.origin.root.count": "the leaf names its tensor: where in the tree it stands says nothing more",
};

test("one fraud file of every kind convicts, within 16 KiB, and names its place", () => {
	const shown = new Set<string>();
	for (const [name, file] of samples) {
		const verdict = verifyFraud(file);
		assert.ok(verdict.status === "valid", `${name}: ${JSON.stringify(verdict)}`);
		assert.ok(file.length <= 16 * 1024, name);
		assert.ok(name.startsWith(verdict.kind));
		assert.notEqual(verdict.said, verdict.right);
		const isUnsigned = verdict.findings.some(({ code }) => code === "ANSWERS_UNSIGNED");
		assert.equal(isUnsigned, !["start", "result", "end without a writer"].includes(name), name);
		shown.add(`${verdict.kind} ${verdict.shows}`);
	}
	for (const kind of ["value", "filling", "chunk", "instruction", "start", "turn", "end"])
		assert.ok(shown.has(`element ${kind}`), kind);
	for (const from of ["op", "constant", "input", "state", "zero"]) assert.ok(shown.has(`wire ${from}`), from);
	for (const kind of ["end op", "end state", "start zero", "result state"]) assert.ok(shown.has(kind), kind);
});

test("a tamper list: every changed field is caught by its code", () => {
	const seen = new Map<string, Set<string>>();
	for (const [name, file] of samples)
		for (const { field, file: spoiled } of tamperedFrauds(file)) {
			const verdict = verifyFraud(spoiled);
			const code = verdict.status === "valid" ? "valid" : verdict.code;
			assert.ok(CAUGHT[field]?.split(" ").includes(code), `${name}: ${field} ${code}`);
			assert.ok(code !== "valid" || FREE[field] !== undefined, `${name}: ${field} is free`);
			seen.set(field, (seen.get(field) ?? new Set()).add(code));
		}
	const found = Object.fromEntries([...seen].map(([field, all]) => [field, [...all].sort().join(" ")]));
	assert.deepEqual(found, CAUGHT);
	for (const code of new Set(Object.values(CAUGHT).flatMap((all) => all.split(" "))))
		if (code !== "valid") assert.ok(code in codes, code);
});

test("signed, not even the accused's own words can be changed: every changed field proves nothing", async () => {
	const codesSeen = new Set<string>();
	const kinds = ["element chunk", "element turn", "element filling", "wire op", "end op"];
	const files = await Promise.all(kinds.map((kind) => signedSample(samples.get(kind)!)));
	files.push(await twoWordsSample(samples.get("result")!));
	for (const [i, file] of files.entries()) {
		const verdict = verifyFraud(file);
		assert.ok(verdict.status === "valid", `${kinds[i] ?? "words"}: ${JSON.stringify(verdict)}`);
		assert.equal(verdict.signer?.length, 40);
		assert.deepEqual(verdict.findings, []);
		for (const { field, file: spoiled } of tamperedFrauds(file)) {
			const found = verifyFraud(spoiled);
			assert.ok(found.status === "invalid", `${kinds[i] ?? "words"}: ${field} is free`);
			codesSeen.add(found.code);
		}
	}
	assert.ok(codesSeen.has("FRAUD_SIGNATURE") && !codesSeen.has("INTERNAL"), [...codesSeen].join());
	// What rests on no answer takes no signatures; two answers that are one, or nobody's, convict nobody.
	const code = (file: Uint8Array) => {
		const verdict = verifyFraud(file);
		return verdict.status === "valid" ? "valid" : verdict.code;
	};
	assert.equal(code(await signedSample(samples.get("start")!)), "FRAUD_SIGNATURE");
	const body = (file: Uint8Array) => {
		const decoded = decodeFraudFile(file);
		assert.ok(decoded.ok);
		const { format: _, version: __, ...said } = decoded.evidence.envelope.body;
		return said;
	};
	const { signed, fault, ...words } = body(files.at(-1)!);
	assert.ok(fault.kind === "words" && signed !== null);
	assert.equal(code(makeFraudFile({ ...words, fault, signed: null }, [])), "FRAUD_SIGNATURE");
	const same = makeFraudFile(
		{ ...words, fault: { ...fault, answers: [fault.answers[0]!, fault.answers[0]!] }, signed: null },
		[],
	);
	assert.equal(code(await signedSample(same)), "FRAUD_AGREES");
	const one = { ...fault, answers: [fault.answers[0]!] };
	assert.equal(code(makeFraudFile({ ...words, fault: one, signed }, [])), "ENVELOPE_SHAPE");
});

test("only the claim that was asked for is convicted", () => {
	const file = samples.get("result")!;
	const decoded = decodeFraudFile(file);
	assert.ok(decoded.ok);
	const { accused } = decoded.evidence.envelope.body;
	assert.equal(verifyFraud(file, { claim: accused }).status, "valid");
	const other = verifyFraud(file, { claim: "0".repeat(64) });
	assert.ok(other.status === "invalid" && other.code === "FRAUD_CLAIM");
});

test("no bytes make the judge throw or give up: cut, flipped, of other files", () => {
	const files = [...samples.values()];
	const index = fc.nat();
	fc.assert(
		fc.property(index, index, fc.integer({ min: 0, max: 255 }), fc.boolean(), (which, at, byte, isCut) => {
			const file = Uint8Array.from(files[which % files.length]!);
			file[at % file.length] = byte;
			const verdict = verifyFraud(isCut ? file.subarray(0, at % file.length) : file);
			assert.ok(verdict.status === "valid" || verdict.code !== "INTERNAL", JSON.stringify(verdict));
		}),
		{ numRuns: scaled(400) },
	);
	assert.equal(verifyFraud(new Uint8Array()).status, "invalid");
});
