// A lie in one of many steps of training, generation, rendering and simulation: asked by the signed road, by
// the silent one and by both, its provider gives the words that convict it, and the chain's judge finds the
// number that it said and the right one. Deep tier: chain-road.test.ts has the roads, and
// tests/jobs/watch.test.ts a whole dispute, in every run.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToHex } from "../../../src/protocol/bytes/bytes.ts";
import type { JobQuestion } from "../../../src/protocol/network/job-question.ts";
import {
	type ChainAnswer,
	chainAnswer,
	chainQuestionOf,
	withChainAnswers,
} from "../../../src/verify/optimistic/chain-road.ts";
import { verifyFraud } from "../../../src/verify/optimistic/fraud/judge-fraud.ts";
import { isSameClaim, type Lie, runInMemory } from "../../../src/verify/optimistic/liars.test-kit.ts";
import { nextQuestion, questionKey } from "../../../src/verify/optimistic/next-question.ts";
import { answerTo } from "../../../src/verify/optimistic/questions.ts";
import { mlpSample, numbersFrom, type Sample } from "../../../src/work/builder/samples.test-kit.ts";
import { type Generation, generateProgram } from "../../../src/work/inference/generate-program.ts";
import { promptElements } from "../../../src/work/inference/sequences.ts";
import { drawnPrompts, MINI, modelOf } from "../../../src/work/inference/tiny-runs.test-kit.ts";
import { elementCount } from "../../../src/work/operators/tensor-type.ts";
import { orThrow } from "../../../src/work/program/fault.ts";
import { sealProgram } from "../../../src/work/program/open-program.ts";
import { pathProgram } from "../../../src/work/render/path-program.ts";
import { placeScene } from "../../../src/work/render/place-scene.ts";
import { sceneOf } from "../../../src/work/render/render.test-kit.ts";
import { lifeSimulation } from "../../../src/work/simulate/life.ts";
import { paceOf } from "../../../src/work/simulate/pace.ts";
import { isDeep } from "../../../tests/fuzz.test-kit.ts";
import { type Draw, quickNumbers } from "../../../vectors/work-programs.ts";
import { askedOf } from "../judge-vectors.test-kit.ts";
import { openTestNetwork } from "../network.test-kit.ts";
import { openBatchJudge } from "./judge-batch.test-kit.ts";

const SEED = Uint8Array.from({ length: 32 }, (_, i) => 3 * i + 11);
const LIES = 6;
const skip = isDeep ? false : "in the deep tier: whole jobs";

function generation(): Sample {
	const shape = { sequences: 4, batch: 2, prompt: 4, fresh: 3, weights: "i16" } as const;
	const of: Generation = { architecture: MINI.llama, sampling: { kind: "seeded", temperature: 3 }, ...shape };
	const { program, constants, weights } = generateProgram(of, false);
	const prompts = drawnPrompts(numbersFrom(5), of.sequences, of.prompt, MINI.llama.vocabulary);
	return { program, given: { ...constants, ...weights(modelOf(MINI.llama)), ...promptElements(of, prompts) } };
}

function render(): Sample {
	const scene = sceneOf({
		camera: { position: [1.5, 1.2, 4], target: [0, 0, 0], fov: 36 },
		background: { below: [0, 0, 0], above: [1, 1, 1] },
		materials: { a: { kind: "glass", index: 1.5 } },
		spheres: [{ center: [0, 0, 0], radius: 1.2, material: "a" }],
	});
	const of = { width: 8, height: 8, bounces: 3, k: 2, exposure: 1 };
	return pathProgram(placeScene(scene, new Map(), 1).scene, of);
}

function simulation(steps: number): Sample {
	const life = { size: [12, 12], edge: "wrap", rule: "B3/S23", start: { density: 0.4 } } as const;
	return lifeSimulation(life, paceOf({ steps, frames: 0, stepsPerSegment: 25 }));
}

/** Each with its segments: all steps of a job. */
const KINDS: Readonly<Record<string, () => readonly [Sample, number]>> = {
	simulation: () => [simulation(1000), 41],
	training: () => [mlpSample(), 101],
	generation: () => [generation(), 3],
	render: () => [render(), 6],
};

/** One element of any op of any step, with all that follows from it. */
function drawnLie({ program }: Sample, segments: number, draw: Draw): Lie {
	const segment = 1 + draw(segments - 1);
	const op = draw(program.step.length);
	const element = draw(elementCount(program.step[op]!.output.dims));
	return { kind: "element", segment, step: draw(program.k), op, element };
}

type Ran = NonNullable<ReturnType<typeof runInMemory>>;

/** The file that convicts, and how often it was asked. */
async function convicting(
	honest: Ran,
	{ answers: liar }: Ran,
	lie: Lie,
	isOnChain: (question: JobQuestion) => boolean,
) {
	const { job, answers } = honest;
	const { program } = job;
	const segment = isSameClaim(answers, liar) && "segment" in lie ? lie.segment : null;
	const said = new Map<string, Uint8Array>();
	const chain: ChainAnswer[] = [];
	for (let asked = 0; asked <= 15; asked++) {
		const accused = await withChainAnswers(program, { ...liar, audit: null, said }, chain);
		const next = await nextQuestion({ job, answers, segment }, accused);
		if (next.move === "prove") return next.file;
		assert.ok(next.move === "ask", JSON.stringify(next));
		const { question } = next;
		if (!isOnChain(question)) {
			said.set(questionKey(question), await answerTo(liar, question));
			continue;
		}
		const onChain = await chainQuestionOf(program, accused, question);
		const part = { program, first: 0, states: liar.states };
		const answer = await chainAnswer(part, (one) => answerTo(liar, one), onChain);
		assert.ok(answer !== null, JSON.stringify(question));
		chain.push({ question: onChain, answer });
	}
	return assert.fail("more than fifteen questions");
}

for (const [kind, make] of Object.entries(KINDS))
	test(`a lie in one step of a job of ${kind} is convicted by every road`, { skip }, async (t) => {
		const network = await openTestNetwork(1);
		t.after(() => network.close());
		const judgeAll = await openBatchJudge(network);
		const [sample, segments] = make();
		const checked = orThrow(sealProgram(sample.program));
		const run = (lie: Lie | null) => runInMemory(checked, sample.given, SEED, segments, lie);
		const honest = run(null)!;
		const draw = quickNumbers(`kinds ${kind}`);
		for (let told = 0; told < LIES; ) {
			const lie = drawnLie(sample, segments, draw);
			const liar = run(lie);
			// An op that has only one number to give.
			if (liar === null) continue;
			told += 1;
			const files: string[] = [];
			for (const isOnChain of [() => false, () => true, () => draw(2) === 0]) {
				const file = await convicting(honest, liar, lie, isOnChain);
				files.push(bytesToHex(file));
				const verdict = verifyFraud(file);
				assert.ok(verdict.status === "valid", JSON.stringify(verdict));
				const { segment, step, op, element } = verdict;
				assert.deepEqual({ kind: "element", segment, step, op, element }, lie);
				const [found] = await judgeAll([askedOf(file)!]);
				assert.deepEqual(found, { said: BigInt(verdict.said), right: BigInt(verdict.right) });
			}
			assert.equal(new Set(files).size, 1);
		}
	});
