// The chain's judge beside its TypeScript twins, src/work/trace/judge.ts and
// src/verify/optimistic/fraud/judge-fraud.ts: golden fraud files and every change of them, sums at the ends
// of their types, all instructions. Both must find the same numbers, or both nothing. Lies in random programs
// are disputes/three-judges.test.ts.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { read } from "../../src/chain/contracts/contracts.ts";
import type { AccusedCase, ElementFault } from "../../src/chain/contracts/disputes.ts";
import { refusedBecause } from "../../src/chain/sending/refusal.ts";
import { toHex } from "../../src/protocol/chain/hex.ts";
import { philoxKey } from "../../src/protocol/hash/philox.ts";
import { encodeChainQuestion } from "../../src/protocol/network/chain-question.ts";
import { vectorRows } from "../../src/protocol/vectors.test-kit.ts";
import { chainQuestionOf } from "../../src/verify/optimistic/chain-road.ts";
import { decodeFraudFile } from "../../src/verify/optimistic/fraud/fraud-file.ts";
import { tamperedFrauds } from "../../src/verify/optimistic/fraud/fraud-tampers.test-kit.ts";
import { verifyFraud } from "../../src/verify/optimistic/fraud/judge-fraud.ts";
import { ProgramParts } from "../../src/verify/optimistic/fraud/show-parts.ts";
import { wireProof } from "../../src/verify/optimistic/fraud/wire-proof.ts";
import { type Lie, runInMemory } from "../../src/verify/optimistic/liars.test-kit.ts";
import { nextQuestion, questionKey } from "../../src/verify/optimistic/next-question.ts";
import { questionBasis } from "../../src/verify/optimistic/question-basis.ts";
import { answerTo } from "../../src/verify/optimistic/questions.ts";
import { mixedSample, numbersFrom } from "../../src/work/builder/samples.test-kit.ts";
import { CODE_OF } from "../../src/work/operators/instruction.ts";
import { createElements, type Elements, elementCount } from "../../src/work/operators/tensor-type.ts";
import { orThrow } from "../../src/work/program/fault.ts";
import { sealProgram } from "../../src/work/program/open-program.ts";
import type { Op } from "../../src/work/program/shapes.ts";
import { type Contradiction, judgeElement, type Words } from "../../src/work/trace/judge.ts";
import { chunkEnds, rowsOf, type SumOp } from "../../src/work/trace/layout.ts";
import { leafOf, tensorTree } from "../../src/work/trace/tensor-tree.ts";
import { createTranscript } from "../../src/work/trace/transcript.ts";
import { scaled } from "../../tests/fuzz.test-kit.ts";
import { type Asked, caseOf, NO_TERMS } from "./disputes.test-kit.ts";
import { askedOf, judgeVectors } from "./judge-vectors.test-kit.ts";
import { openTestNetwork, type TestNetwork } from "./network.test-kit.ts";

let network: TestNetwork;
before(async () => {
	network = await openTestNetwork(1);
});
after(() => network.close());

/** Whoever signed it. */
const NO_SALT = `0x${"0".repeat(64)}` as const;
type Found = { readonly said: bigint; readonly right: bigint } | { readonly refused: string };

async function onChain(accused: AccusedCase, fault: ElementFault): Promise<Found> {
	try {
		const [said, right] = await read(network.contracts, "judge", "judgeElement", NO_SALT, accused, fault);
		return { said, right };
	} catch (error) {
		const refused = refusedBecause(error);
		if (refused === null && !/panic|0x4e487b71/i.test(String(error))) throw error;
		return { refused: refused ?? "Panic" };
	}
}

interface FraudRow {
	readonly name: string;
	readonly code: string;
	readonly kind: string;
	readonly said: string;
	readonly right: string;
	readonly file: string;
}

test("the calls of the Solidity tests are what their generator makes", () => {
	assert.ok(
		readFileSync(new URL("../vectors/judge.json", import.meta.url), "utf8") === judgeVectors(),
		"judge.json is stale",
	);
});

test("golden fraud files convict on the chain by the same numbers, and honest ones show nothing", async () => {
	let count = 0;
	for (const row of vectorRows<FraudRow>("work-fraud")) {
		if (row.kind !== "element") continue;
		const { accused, fault } = askedOf(new Uint8Array(Buffer.from(row.file, "base64")))!;
		const wanted = row.code === "" ? { said: BigInt(row.said), right: BigInt(row.right) } : { refused: "NothingShown" };
		assert.deepEqual(await onChain(accused, fault), wanted, row.name);
		count += 1;
	}
	assert.equal(count, 24);
});

test("a changed fraud file convicts on the chain when it convicts here, and by nothing else", async () => {
	const fields = new Set<string>();
	let every = 0;
	for (const row of vectorRows<FraudRow>("work-fraud")) {
		if (row.kind !== "element") continue;
		for (const { field, file } of tamperedFrauds(new Uint8Array(Buffer.from(row.file, "base64")))) {
			// The claim itself is the escrow's; containers are not sent.
			if (/^(accused|claim|format|version|attachments\[\])/.test(field) || every++ % Math.max(1, 3 / scaled(1)) !== 0)
				continue;
			const here = verifyFraud(file);
			const asked = askedOf(file);
			if (asked === null) {
				assert.equal(here.status, "invalid");
				continue;
			}
			const there = await onChain(asked.accused, asked.fault);
			assert.equal("said" in there, here.status === "valid", `${row.name}, ${field}: ${JSON.stringify(there, String)}`);
			if (here.status === "valid" && "said" in there)
				assert.equal(`${there.said} ${there.right}`, `${here.said} ${here.right}`);
			fields.add(field);
		}
	}
	assert.ok(fields.size >= 20, [...fields].join());
});

/** What the chain's judge of wires finds in a file; null: the file is of another kind. */
async function wireOnChain(file: Uint8Array): Promise<string | null> {
	const proof = wireProof(file);
	if (proof === null) return null;
	const { program, inputs } = proof.claim;
	const decoded = decodeFraudFile(file);
	assert.ok(decoded.ok);
	const { claim } = decoded.evidence.envelope.body;
	// Of the job's parts only the first is asked about: it has the claim's segments.
	const terms = { ...NO_TERMS, program, inputs, segments: BigInt(claim.segments), seed: seedIn(file) };
	try {
		const accused = { ...proof.accused, terms, last: inputs };
		return (await read(network.contracts, "wireJudge", "judgeWire", NO_SALT, accused, proof.fault)).join(" ");
	} catch (error) {
		const refused = refusedBecause(error);
		if (refused === null) throw error;
		return refused;
	}
}

const NO_SEED = `0x${"00".repeat(32)}` as const;
/** Files of inputs show the seed. */
function seedIn(file: Uint8Array): `0x${string}` {
	const decoded = decodeFraudFile(file);
	const fault = decoded.ok ? decoded.evidence.envelope.body.fault : null;
	return fault?.kind === "wire" && fault.origin.from === "input" ? `0x${fault.origin.seed}` : NO_SEED;
}

test("golden files of false wires and ends convict on the chain by the same roots, and honest ones show nothing", async () => {
	const seen = new Set<string>();
	for (const row of vectorRows<FraudRow>("work-fraud")) {
		const file = new Uint8Array(Buffer.from(row.file, "base64"));
		const found = await wireOnChain(file);
		if (found === null) continue;
		const wanted = row.code === "" ? `0x${row.said} 0x${row.right}` : "NothingShown";
		assert.equal(found, wanted, row.name);
		seen.add(row.kind);
	}
	assert.deepEqual([...seen].sort(), ["end", "wire"]);
});

test("a changed file of a false wire or end convicts on the chain when it convicts here, and by nothing else", async () => {
	let every = 0;
	let tried = 0;
	for (const row of vectorRows<FraudRow>("work-fraud")) {
		if (row.code !== "" || (row.kind !== "wire" && row.kind !== "end")) continue;
		for (const { field, file } of tamperedFrauds(new Uint8Array(Buffer.from(row.file, "base64")))) {
			// The claim itself is the escrow's; containers are not sent, and the chain has a word in place of the
			// whole program.
			if (/^(accused|claim|format|version|attachments\[\]|one attachment)|whole|seed|state.segment/.test(field))
				continue;
			if (every++ % Math.max(1, 5 / scaled(1)) !== 0 || isWholeAttached(file, field)) continue;
			const here = verifyFraud(file);
			// The chain does not look at a trace that it does not need.
			if (here.status === "invalid" && here.detail === "is not needed") continue;
			const there = await wireOnChain(file);
			tried += 1;
			if (there === null) assert.equal(here.status, "invalid", `${row.name}, ${field}`);
			else
				assert.equal(
					there.startsWith("0x"),
					here.status === "valid",
					`${row.name}, ${field}: ${there} ${JSON.stringify(here)}`,
				);
		}
	}
	assert.ok(tried > 40, `${tried}`);
});

/** The attachment that is changed is the whole program. */
function isWholeAttached(file: Uint8Array, field: string): boolean {
	const decoded = decodeFraudFile(file);
	if (!decoded.ok || !field.includes("attachment")) return false;
	const { fault } = decoded.evidence.envelope.body;
	return "origin" in fault && "whole" in fault.origin && fault.origin.whole;
}

test("every question that a dispute asks on the chain is shown to have an answer, and no other is", async () => {
	const { program, given } = mixedSample();
	const checked = orThrow(sealProgram(program));
	const run = (lie: Lie | null) => runInMemory(checked, given, SEED, 3, lie)!;
	const { job, answers } = run(null);
	const kinds = new Set<string>();
	for (const lie of [
		{ kind: "element", segment: 2, step: 1, op: 0, element: 3 },
		{ kind: "state", of: "state", segment: 1, at: 1 },
	] as const satisfies readonly Lie[]) {
		const { answers: liar } = run(lie);
		const parts = new ProgramParts(program).file(
			liar.claim,
			2,
			null,
			{ kind: "writer", tensor: 0, said: 0, op: null },
			[],
		);
		const { accused: fields, claim } = wireProof(parts)!;
		const terms = { ...NO_TERMS, program: claim.program, inputs: claim.inputs, segments: 3n, seed: toHex(SEED) };
		const said = new Map<string, Uint8Array>();
		for (;;) {
			const accused = { ...liar, audit: null, said };
			const next = await nextQuestion({ job, answers, segment: null }, accused);
			if (next.move !== "ask") break;
			const question = await chainQuestionOf(program, accused, next.question);
			const segment = BigInt(next.question.segment);
			const traceOf = said.get(questionKey({ kind: "trace", audit: null, page: 0, segment: lie.segment }));
			const trace = traceOf === undefined ? fields.trace : toHex(traceOf);
			const basis = await questionBasis(program, accused, question);
			const judged = (bytes: Uint8Array) =>
				read(
					network.contracts,
					"wireJudge",
					"judgeQuestion",
					{ ...fields, terms, last: terms.seed, segment, trace },
					network.contracts.addresses.disputes,
					toHex(bytes),
					basis,
				);
			const bytes = encodeChainQuestion(question);
			await judged(bytes);
			// Its last byte is of a count, a hash or a tensor's number.
			await assert.rejects(judged(bytes.map((byte, i) => (i === bytes.length - 1 ? byte ^ 0x80 : byte))));
			kinds.add(question.kind);
			said.set(questionKey(next.question), await answerTo(liar, next.question));
		}
	}
	assert.deepEqual([...kinds].sort(), ["leaf", "nodes", "op", "roots", "trace", "transcript", "writer"]);
});

const SEED = Uint8Array.from({ length: 32 }, (_, i) => 200 - i);

async function mustAgree(asked: Asked, words: Words, shown: Contradiction, what: string): Promise<boolean> {
	const { op, element, inputs, output, segment, step, k, seed } = asked;
	const moment = { segment, step, k, key: philoxKey(seed) };
	const here = judgeElement({ op, element, moment, inputs, output }, words, shown);
	const { accused, fault } = caseOf(asked, words, shown);
	const there = await onChain(accused, fault);
	if (here.convicts) assert.deepEqual(there, { said: here.said, right: here.right }, what);
	else {
		assert.ok("refused" in there, `${what}: ${here.reason}, ${JSON.stringify(there, String)}`);
		assert.equal(
			there.refused === "NothingShown",
			here.reason === "agrees",
			`${what}: ${here.reason}, ${there.refused}`,
		);
	}
	return here.convicts;
}

test("sums over packed lanes, at the ends of their types and of words: both judges find the same", async () => {
	const draw = numbersFrom(77);
	let tried = 0;
	let longs = 0;
	for (const type of ["i8", "i16", "i32"] as const)
		for (const k of [1, 31, 32, 33, 700, 1100]) {
			const ends = { i8: [-128, 127], i16: [-32_768, 32_767], i32: [-(2 ** 20), 2 ** 20] }[type];
			const filled = () => {
				const elements = createElements(type, 2 * k) as Exclude<Elements, BigInt64Array>;
				// The first row at an end of its type, the other one drawn.
				for (let i = 0; i < 2 * k; i++) elements[i] = i < k ? ends[0]! : [...ends, 0, draw(255) - 128][draw(4)]!;
				return elements;
			};
			const output = { type: "i64", dims: [1, 2, 2], lo: -(2n ** 63n), hi: 2n ** 63n - 1n } as const;
			const operand = { source: "input", index: 0, type, dims: [1, 2, k] } as const;
			const op: Op = { operator: "matmul", output, target: null, operands: [operand, operand] };
			const rows = { operator: "reduce", reduction: "argmin", output: { ...output, dims: [2] }, target: null } as const;
			const least: Op = { ...rows, operands: [{ ...operand, dims: [2, k] }] };
			for (const one of [op, least]) {
				const elements = one.operands.map(filled);
				const trees = elements.map(tensorTree);
				const inputs = trees.map(({ root }) => root);
				const element = elementCount(one.output.dims) - 1 - (tried % 2);
				const asked = { ...{ op: one, segment: 1, step: 0, k: 1, seed: SEED }, inputs, output: SEED, element };
				const honest = createTranscript(one, element, { segment: 1, step: 0, k: 1, key: philoxKey(SEED) }, elements);
				const cuts = chunkEnds(one as Op & SumOp, element);
				for (let chunk = 0; chunk + 1 < cuts.length; chunk++) {
					const leaves = rowsOf(one as Op & SumOp, element).rows.map(({ operand: at, base }) => {
						const { leaf } = leafOf(base + cuts[chunk]!, type);
						return { bytes: trees[at]!.leaf(leaf), path: trees[at]!.path(leaf) };
					});
					const shown: Contradiction = { kind: "chunk", chunk, leaves };
					assert.ok(!(await mustAgree(asked, { transcript: honest }, shown, `${type} ${k}`)));
					const size = (honest.length - 1) / Math.max(1, cuts.length - 2);
					const place = chunk + 2 === cuts.length ? 0 : 1 + chunk * size;
					const words = { transcript: honest.with(place, honest[place]! + 1n) };
					assert.ok(await mustAgree(asked, words, shown, `${type} ${k}, false`));
					tried += 1;
					if (one.operator !== "reduce" || chunk === 0) continue;
					// An index that no row has, and one beside it: a double knows both as the same.
					const before = honest.with(place === 0 ? honest.length - 2 : place - 2, 2n ** 53n + 1n);
					const long = { transcript: before.with(place, 2n ** 53n) };
					assert.ok(await mustAgree(asked, long, shown, `${type} ${k}, an index of 64 bits`));
					longs += 1;
				}
			}
		}
	assert.ok(tried >= 36 && longs > 0, `${tried}, ${longs}`);
});

interface InstructionRow {
	readonly instruction: string;
	readonly bits: number;
	readonly a: string;
	readonly b: string;
	readonly c: string;
	readonly value: string;
}

test("every instruction gives what the vectors say", async () => {
	const rows = vectorRows<InstructionRow>("work-instructions");
	const seen = new Set<string>();
	for (let i = 0; i < rows.length; i += Math.max(1, Math.round(12 / scaled(1)))) {
		const { instruction, bits, a, b, c, value } = rows[i]!;
		seen.add(instruction);
		const consts = [a, b, c].map((one) => ({ op: "const", value: BigInt(one) }));
		const code = {
			before: [...consts, { op: instruction, a: 0, b: 1, c: 2, bits }],
			turns: 0,
			carried: [],
			body: [],
			after: [],
		};
		const op = {
			operator: "map",
			output: { type: "i64", dims: [1], lo: -(2n ** 63n), hi: 2n ** 63n - 1n },
			...{ target: null, operands: [], code },
		} as unknown as Op;
		const asked = { op, segment: 1, step: 0, k: 1, seed: SEED, inputs: [], output: SEED, element: 0 };
		const said = BigInt.asIntN(64, BigInt(value) ^ 1n);
		const words = { transcript: [said, BigInt(a), BigInt(b), BigInt(c), said] };
		const { accused, fault } = caseOf(asked, words, { kind: "instruction", register: 3, leaf: null });
		assert.deepEqual(
			await onChain(accused, fault),
			{ said, right: BigInt(value) },
			`${instruction} ${a} ${b} ${c} ${bits}`,
		);
	}
	const arithmetic = [...CODE_OF.keys()].slice(7);
	assert.deepEqual([...seen].sort(), arithmetic.sort());
});
