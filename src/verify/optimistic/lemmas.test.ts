// The two lemmas of docs/disputes.md over random small programs: a claim with one change of any kind is
// convicted by the search, in a bounded number of questions, and the file names what was changed; against a
// claim without a change no search finds anything. And the search keeps nothing: it goes on from whatever
// answers are known.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeep, scaled, seed as testSeed } from "../../../tests/fuzz.test-kit.ts";
import { programBytes } from "../../../vectors/naive-work.ts";
import { type Draw, givenOf, quickNumbers, randomProgram, seedOf } from "../../../vectors/work-programs.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { elementsOf, mixedSample } from "../../work/builder/samples.test-kit.ts";
import { elementCount, TENSOR_TYPES } from "../../work/operators/tensor-type.ts";
import type { CheckedProgram } from "../../work/program/check-program.ts";
import { orThrow } from "../../work/program/fault.ts";
import { openProgram, sealProgram } from "../../work/program/open-program.ts";
import type { Program } from "../../work/program/shapes.ts";
import type { Answers } from "./answers.ts";
import { verifyFraud } from "./fraud/judge-fraud.ts";
import {
	isSameClaim,
	type Lie,
	otherWords,
	otherWriter,
	type RunInMemory,
	runInMemory,
	silentAt,
} from "./liars.test-kit.ts";
import { interrogate, narrow, nextQuestion, questionKey } from "./next-question.ts";
import { answerTo } from "./questions.ts";

const SEED = seedOf("lemmas");
const SEGMENTS = 3;
// Not fewer in `npm run check`: it is counted how many tell, and in which ways.
const PROGRAMS = scaled(isDeep ? 400 : 40);
const drawing = (text: string): Draw => quickNumbers(isDeep ? `${text} ${testSeed}` : text);

interface Case {
	readonly checked: CheckedProgram;
	readonly honest: RunInMemory;
	run(lie: Lie): RunInMemory | null;
}

function randomCase(draw: Draw): Case {
	const naive = randomProgram(draw, SEED, true);
	const checked = orThrow(openProgram(programBytes(naive)));
	const given = Object.fromEntries(
		[...givenOf(naive, SEED)].map(([i, values]) => [
			naive.tensors[i]!.name,
			elementsOf(TENSOR_TYPES[naive.tensors[i]!.type]!, values),
		]),
	);
	const run = (lie: Lie | null) => runInMemory(checked, given, SEED, SEGMENTS, lie);
	return { checked, honest: run(null)!, run };
}

/** A place of any segment, step and op. */
function anywhere(program: Program, draw: Draw) {
	const segment = program.init.length > 0 && draw(4) === 0 ? 0 : 1 + draw(SEGMENTS - 1);
	const phase = segment === 0 ? "init" : "step";
	const op = draw(program[phase].length);
	return { segment, step: segment === 0 ? 0 : draw(program.k), op, of: program[phase][op]! };
}

function drawnLie(program: Program, draw: Draw): Lie {
	const { of, ...place } = anywhere(program, draw);
	const element = draw(elementCount(of.output.dims));
	const kind = draw(12);
	if (kind < 4) return { kind: "element", ...place, element };
	if (kind < 6) return { kind: "lone element", ...place, element };
	if (kind === 6) return { kind: "filling", ...place };
	if (kind < 9) return { kind: "wire", ...place, operand: draw(Math.max(1, of.operands.length)) };
	const kept = (which: "state" | "result") => program.tensors.filter((one) => one.kind === which).length;
	if (kind === 9) {
		const which = kept("result") > 0 && draw(3) === 0 ? "result" : "state";
		return { kind: "state", of: which, segment: draw(SEGMENTS + 1) - 1, at: draw(Math.max(1, kept(which))) };
	}
	const inputs = program.tensors.filter((one) => one.kind === "input");
	if (kind === 10 && inputs.length > 0) return { kind: "data", input: inputs[draw(inputs.length)]!.name };
	return { kind: "result" };
}

/** Where to look: the whole claim, or the segment whose trace alone tells. */
const segmentOf = (lie: Lie, isSame: boolean): number | null => (isSame && "segment" in lie ? lie.segment : null);

interface Tried {
	readonly shows: string;
	readonly questions: number;
}

async function tryLie(at: Case, lie: Lie, draw: Draw): Promise<Tried | null> {
	const liar = at.run(lie);
	if (liar === null) return null;
	const isSame = isSameClaim(at.honest.answers, liar.answers);
	// A state that nothing depends on, or an empty list of states: no claim was changed.
	if (isSame && (lie.kind === "state" || lie.kind === "data")) return null;
	let said: Answers = liar.answers;
	if (draw(2) === 0) said = otherWords(said, (length) => draw(length + 1));
	const own = { job: at.honest.job, answers: at.honest.answers, segment: segmentOf(lie, isSame) };
	let questions = 0;
	const accused = { claim: said.claim, states: said.states, audit: null };
	const end = await interrogate(own, accused, (question) => {
		questions += 1;
		return answerTo(said, question);
	});
	const what = JSON.stringify(lie);
	assert.ok(end.move === "prove", `${what}: ${JSON.stringify(end)}`);
	const verdict = verifyFraud(end.file);
	assert.ok(verdict.status === "valid", `${what}: ${JSON.stringify(verdict)}`);
	assert.notEqual(verdict.said, verdict.right);
	if (lie.kind === "element" || lie.kind === "lone element" || lie.kind === "filling") {
		assert.deepEqual(
			[verdict.kind, verdict.segment, verdict.step, verdict.op],
			["element", lie.segment, lie.step, lie.op],
			what,
		);
		if (lie.kind !== "filling") assert.equal(verdict.element, lie.element, what);
	}
	if (lie.kind === "wire")
		assert.deepEqual(
			[verdict.kind, verdict.step, verdict.op, verdict.operand],
			["wire", lie.step, lie.op, lie.operand],
			what,
		);
	if (lie.kind === "result") assert.equal(verdict.kind, "result");
	if (lie.kind === "data") assert.deepEqual([verdict.kind, verdict.shows], ["wire", "input"], what);
	return { shows: `${verdict.kind} ${verdict.shows}`, questions };
}

test("sound: a claim with one change of any kind is convicted; complete: one without a change never is", async () => {
	const shown = new Map<string, number>();
	let most = 0;
	let told = 0;
	for (let i = 0; i < PROGRAMS; i++) {
		const draw = drawing(`lemma ${i}`);
		const at = randomCase(draw);
		const lie = drawnLie(at.checked.program, draw);
		const tried = await tryLie(at, lie, draw);
		if (tried !== null) {
			told += 1;
			most = Math.max(most, tried.questions);
			shown.set(tried.shows, (shown.get(tried.shows) ?? 0) + 1);
		}
		// The same honest run against itself, over the whole claim and segment by segment.
		const { job, answers } = at.honest;
		for (const segment of [null, 0, 1, 2]) assert.equal(await narrow(job, answers, answers, segment), null);
	}
	if (isDeep) console.log(`${told} of ${PROGRAMS} programs, at most ${most} questions:`, Object.fromEntries(shown));
	assert.ok(told > 0.8 * PROGRAMS, `${told}`);
	assert.ok(most <= 15, `${most} questions`);
	const usual = ["element end", "element chunk", "result state"];
	for (const kind of isDeep
		? [...usual, "wire op", "wire input", "wire state", "wire zero", "end op", "end state"]
		: usual)
		assert.ok(shown.has(kind), `${kind}: ${[...shown.keys()]}`);
});

const mixed = () => {
	const { program, given } = mixedSample();
	const checked = orThrow(sealProgram(program));
	const run = (lie: Lie | null) => runInMemory(checked, given, SEED, SEGMENTS, lie)!;
	return { program, run };
};

test("the search keeps nothing: with any answers known it asks for what is missing, and ends with the same file", async () => {
	const { run } = mixed();
	const { job, answers } = run(null);
	const { answers: accused } = run({ kind: "element", segment: 2, step: 1, op: 8, element: 7 });
	const own = { job, answers, segment: null };
	const said = new Map<string, Uint8Array>();
	const asked: string[] = [];
	let file: Uint8Array | null = null;
	while (file === null) {
		const next = await nextQuestion(own, { ...accused, audit: null, said });
		// Asked twice it says the same.
		assert.deepEqual(await nextQuestion(own, { ...accused, audit: null, said: new Map(said) }), next);
		if (next.move === "prove") file = next.file;
		else {
			assert.ok(next.move === "ask");
			asked.push(next.question.kind);
			said.set(questionKey(next.question), await answerTo(accused, next.question));
		}
	}
	assert.equal(asked[0], "trace");
	assert.equal(verifyFraud(file).status, "valid");
	// Without any one of the answers that one is asked for, and nothing else.
	for (const name of said.keys()) {
		const fewer = new Map([...said].filter(([one]) => one !== name));
		const next = await nextQuestion(own, { ...accused, audit: null, said: fewer });
		assert.ok(next.move === "ask" && questionKey(next.question) === name, name);
	}
	// An answer that was changed on the way is none; a changed word leads to another contradiction or none.
	for (const [name, bytes] of said) {
		const other = new Map(said).set(
			name,
			bytes.map((byte, i) => (i === 3 ? byte ^ 1 : byte)),
		);
		const next = await nextQuestion(own, { ...accused, audit: null, said: other });
		if (!/"kind":"(trace|transcript)"/.test(name)) assert.equal(next.move, "misfit", name);
		const cut = await nextQuestion(own, { ...accused, audit: null, said: new Map(said).set(name, bytes.subarray(1)) });
		assert.equal(cut.move, "misfit", name);
	}
});

test("silent at each level: the question that nobody answered is known", async () => {
	const { run, program } = mixed();
	const { job, answers } = run(null);
	const noise = program.tensors.findIndex(({ name }) => name === "noise");
	const lies: readonly [Lie, readonly string[]][] = [
		[{ kind: "element", segment: 2, step: 1, op: 8, element: 7 }, ["trace", "nodes", "op", "leaf", "transcript"]],
		[{ kind: "state", of: "state", segment: 1, at: 1 }, ["trace", "roots", "writer"]],
	];
	assert.ok(noise >= 0);
	for (const [lie, kinds] of lies)
		for (const kind of kinds) {
			const { answers: accused } = run(lie);
			const ask = silentAt(kind as "trace", (question) => answerTo(accused, question));
			await assert.rejects(
				interrogate({ job, answers, segment: null }, { ...accused, audit: null }, ask),
				(error) => error instanceof AssayError && error.code === "NO_ANSWER" && error.message.endsWith(kind),
				`${lie.kind} ${kind}`,
			);
		}
});

test("whoever names a writer of what nothing writes is convicted by the program", async () => {
	const { run } = mixed();
	const { job, answers } = run(null);
	const { answers: accused } = run({ kind: "state", of: "state", segment: 1, at: 1 });
	const end = verifyFraud((await narrow(job, answers, accused))!);
	assert.ok(end.status === "valid" && end.kind === "end" && end.shows === "state", JSON.stringify(end));
	const verdict = verifyFraud((await narrow(job, answers, otherWriter(accused)))!);
	assert.ok(verdict.status === "valid", JSON.stringify(verdict));
	assert.deepEqual([verdict.kind, verdict.said, verdict.right], ["writer", "op 0", "not op 0"]);
});
