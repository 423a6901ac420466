// The silent road beside the signed one: whoever answers only on the chain is convicted by the same file, and
// so is whoever changes roads at any level; an honest provider answers every question about its claim, and
// none that is not.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import { type ChainQuestion, decodeChainQuestion, encodeChainQuestion } from "../../protocol/network/chain-question.ts";
import type { JobQuestion } from "../../protocol/network/job-question.ts";
import { mixedSample, mlpSample, numbersFrom, type Sample } from "../../work/builder/samples.test-kit.ts";
import { orThrow } from "../../work/program/fault.ts";
import { sealProgram } from "../../work/program/open-program.ts";
import { type Answers, depthOf, nodesBelow } from "./answers.ts";
import { plainOf, withHint, withoutHint } from "./chain-hint.ts";
import { type ChainAnswer, chainAnswer, chainQuestionOf, withChainAnswers } from "./chain-road.ts";
import { traceQuestion, transcriptQuestion, writerQuestion } from "./fraud/fraud-proof.ts";
import { verifyFraud } from "./fraud/judge-fraud.ts";
import { isSameClaim, type Lie, type RunInMemory, runInMemory } from "./liars.test-kit.ts";
import { type Accused, narrow, nextQuestion, questionKey } from "./next-question.ts";
import { answerTo } from "./questions.ts";

const SEED = Uint8Array.from({ length: 32 }, (_, i) => 5 * i + 2);
const SEGMENTS = 3;

function runner({ program, given }: Sample) {
	const checked = orThrow(sealProgram(program));
	const runs = new Map<Lie | null, RunInMemory>();
	const run = (lie: Lie | null): RunInMemory => {
		const found = runs.get(lie) ?? runInMemory(checked, given, SEED, SEGMENTS, lie)!;
		runs.set(lie, found);
		return found;
	};
	return { program, run };
}
type Runner = ReturnType<typeof runner>;
const [mixed, mlp] = [runner(mixedSample()), runner(mlpSample())];

/** By its own word; `isOnChain` says which road each question takes. */
async function play(
	{ program, run }: Runner,
	lie: Lie,
	isOnChain: (question: JobQuestion) => boolean,
	isHinted: (asked: number) => boolean = (asked) => asked % 2 === 1,
) {
	const { job, answers } = run(null);
	const { answers: liar } = run(lie);
	const segment = isSameClaim(answers, liar) && "segment" in lie ? lie.segment : null;
	const part = { program, first: 0, states: liar.states };
	const told = new Map<string, Uint8Array>();
	const chain: ChainAnswer[] = [];
	const kinds: string[] = [];
	for (;;) {
		const off: Accused = { ...liar, audit: null, said: told };
		const accused = await withChainAnswers(program, off, chain);
		const next = await nextQuestion({ job, answers, segment }, accused);
		if (next.move !== "ask") return { next, kinds, chain, right: await narrow(job, answers, liar, segment) };
		const { question } = next;
		kinds.push(question.kind);
		assert.ok(kinds.length <= 15, kinds.join());
		if (!isOnChain(question)) {
			told.set(questionKey(question), await answerTo(liar, question));
			continue;
		}
		const plain = await chainQuestionOf(program, accused, question);
		const hinted = !isHinted(kinds.length) ? plain : await withHint(plain, answers, (7 * kinds.length) % 31);
		const asked = decodeChainQuestion(encodeChainQuestion(hinted))!;
		const answer = await chainAnswer(part, (one) => answerTo(liar, one), asked);
		assert.ok(answer !== null, JSON.stringify(question));
		chain.push({ question: asked, answer });
	}
}

const LIES: readonly [name: string, of: Runner, lie: Lie][] = [
	["a product", mixed, { kind: "element", segment: 2, step: 1, op: 0, element: 3 }],
	["a walk of 70 turns", mixed, { kind: "element", segment: 1, step: 0, op: 8, element: 7 }],
	["an op among many", mlp, { kind: "element", segment: 2, step: 1, op: 12, element: 5 }],
	["a filling", mixed, { kind: "filling", segment: 2, step: 0, op: 1 }],
	["a wire", mixed, { kind: "wire", segment: 2, step: 1, op: 8, operand: 0 }],
	["a state", mixed, { kind: "state", of: "state", segment: 1, at: 0 }],
	["a state that nothing writes", mixed, { kind: "state", of: "state", segment: 1, at: 1 }],
	["data", mlp, { kind: "data", input: "data" }],
];

for (const [name, of, lie] of LIES)
	test(`a lie about ${name} is convicted by the same file over the signed road, the silent one, and any mixture`, async () => {
		const draw = numbersFrom(29);
		for (const isOnChain of [() => true, () => false, () => draw(2) === 0, () => draw(2) === 0]) {
			const { next, right } = await play(of, lie, isOnChain);
			assert.ok(next.move === "prove", `${JSON.stringify(next)}`);
			assert.equal(bytesToHex(next.file), bytesToHex(right!));
			assert.equal(verifyFraud(next.file).status, "valid");
		}
	});

/** Every question that a dispute of the lies above asks on the chain. */
async function askedQuestions(): Promise<{ of: Runner; lie: Lie; question: ChainQuestion }[]> {
	const all: { of: Runner; lie: Lie; question: ChainQuestion }[] = [];
	for (const [, of, lie] of LIES)
		for (const hints of [false, true]) {
			const { chain } = await play(
				of,
				lie,
				() => true,
				() => hints,
			);
			for (const { question } of chain) all.push({ of, lie, question });
		}
	return all;
}

test("a question whose bytes are changed is another claim's: no provider need answer it, or its answer is its own truth", async () => {
	const draw = numbersFrom(3);
	const kinds = new Set<string>();
	let refused = 0;
	const asked = await askedQuestions();
	for (const { of, lie, question } of asked) {
		kinds.add(question.kind);
		const { answers } = of.run(lie);
		const part = { program: of.program, first: 0, states: answers.states };
		const bytes = encodeChainQuestion(question);
		assert.deepEqual(decodeChainQuestion(bytes), question);
		for (let again = 0; again < 6; again++) {
			const at = draw(bytes.length);
			const other = decodeChainQuestion(bytes.map((byte, i) => (i === at ? byte ^ (1 << draw(8)) : byte)));
			if (other === null) continue;
			const answer = await chainAnswer(part, (one) => answerTo(answers, one), other);
			if (answer === null) refused += 1;
			else assert.ok(await isTrue(answers, other, answer), JSON.stringify(other));
		}
		assert.equal(decodeChainQuestion(bytes.subarray(0, -1))?.kind === question.kind, false);
	}
	assert.ok(refused > asked.length, `${refused} of ${asked.length}`);
	assert.deepEqual([...kinds].sort(), ["leaf", "nodes", "op", "roots", "trace", "transcript", "writer"]);
});

/** What is answered leads to what the question names. */
async function isTrue(answers: Answers, question: ChainQuestion, answer: Uint8Array): Promise<boolean> {
	if (question.kind === "transcript") return answer.length === 8 * question.numbers;
	if (question.kind === "trace" && question.hint === undefined)
		return answer.length === 32 * nodesBelow(question.count, depthOf(question.count), 0);
	if (question.kind === "trace") return answer.length > 32;
	if (question.kind === "writer") return answer.length === 4;
	if (question.kind === "roots") return bytesToHex(answers.states[question.segment]!) === bytesToHex(question.state);
	return question.kind !== "nodes" || question.tree !== "segments";
}

test("a provider names the writer of every tensor in both phases, whichever segments its part has", async () => {
	const { answers } = mixed.run(null);
	const part = { program: mixed.program, first: 2, states: answers.states.slice(2) };
	const ask = () => Promise.reject(new Error("nobody need be asked"));
	for (const phase of [0, 1])
		for (const tensor of [...mixed.program.tensors.keys(), 99]) {
			const answer = await chainAnswer(part, ask, { kind: "writer", phase, tensor });
			assert.equal(answer?.length, tensor === 99 ? undefined : 4);
		}
});

test("by a hint an answer goes on where the two differ, and says nothing else than answers without it", async () => {
	const [, of, lie] = LIES[2]!;
	const { answers } = of.run(null);
	const liar = of.run(lie).answers;
	const part = { program: of.program, first: 0, states: liar.states };
	const ask = (question: JobQuestion) => answerTo(liar, question);
	let [more, leaves] = [0, 0];
	for (const { question } of (await play(of, lie, () => true)).chain) {
		const plain = plainOf(question);
		const hinted = await withHint(plain, answers, 9);
		const answer = (await chainAnswer(part, ask, hinted))!;
		const told = withoutHint(hinted, answer);
		assert.deepEqual(told[0], { question: plain, answer: await chainAnswer(part, ask, plain) });
		for (const { question: one, answer: said } of told.slice(1)) {
			assert.deepEqual(await chainAnswer(part, ask, one), said);
			more += 1;
			if (one.kind === "leaf") leaves += 1;
			// Where it goes on is where the accuser's own run differs.
			const own = { ...part, states: answers.states };
			assert.equal(await chainAnswer(own, (asked) => answerTo(answers, asked), one), null);
		}
	}
	assert.ok(more > 0 && leaves > 0, `${more} ${leaves}`);
});

test("first words have one name on both roads", () => {
	// What a question tells only for its check is not in the name.
	const named = (question: ChainQuestion, end?: number) =>
		`0x${bytesToHex(keccak(encodeChainQuestion(question).subarray(0, end)))}`;
	assert.equal(named({ kind: "trace", segment: 7, count: 9 }, 10), traceQuestion(7));
	assert.equal(named({ kind: "trace", segment: 7, count: 9, hint: new Uint8Array(33) }, 10), traceQuestion(7));
	const place = { segment: 7, step: 3, op: 2 };
	const transcript = { kind: "transcript", ...place, element: 11, turns: [4, 0], numbers: 5 } as const;
	assert.equal(named(transcript, -4), transcriptQuestion(7, { step: 3, op: 2 }, 11, [4, 0]));
	assert.equal(named({ kind: "writer", phase: 1, tensor: 6 }), writerQuestion("step", 6));
});
