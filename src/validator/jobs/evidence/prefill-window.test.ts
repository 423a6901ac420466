// Windows of generated text, run again by prefill on toy sessions: the states are those of a re-run, without
// generating anything; whatever does not fit is run again as any other window, and a lie is seen there.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Cheat } from "../../../engine/client/toy-work-session.test-kit.ts";
import { bytesToHex, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { type Generation, generateProgram, prefillProgram } from "../../../work/inference/generate-program.ts";
import { generationText } from "../../../work/inference/generation-file.ts";
import { promptElements } from "../../../work/inference/sequences.ts";
import { MINI, modelOf } from "../../../work/inference/tiny-runs.test-kit.ts";
import { encodeProgram } from "../../../work/program/encode.ts";
import type { OwnEngine } from "./own-engine.ts";
import { rerun } from "./rerun.ts";
import {
	claimOf,
	endOf,
	giveState,
	JOB,
	letAnswer,
	putBlob,
	type Runner,
	runnerOf,
	toyEngine,
	toyNetwork,
} from "./toy-claim.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-prefill-"));
after(() => rmSync(scratch, { recursive: true, force: true }));

const OF: Generation = {
	architecture: { ...MINI.llama, layers: 1 },
	...{ weights: "i16", sampling: { kind: "seeded", temperature: 2 }, sequences: 4, batch: 2, prompt: 3, fresh: 3 },
};
const PROMPTS = [[1, 2, 3], [4], [5, 6], [7, 8, 9]];
const made = generateProgram(OF);
const sample = {
	program: made.program,
	given: { ...made.constants, ...made.weights(modelOf(OF.architecture)), ...promptElements(OF, PROMPTS) },
};
const [generating, prefilling] = [made.program, prefillProgram(OF).program].map((one) =>
	bytesToHex(encodeProgram(one)),
);
const opOf = (target: string): number =>
	made.program.step.findIndex((op) => op.target !== null && made.program.tensors[op.target]!.name === target);

let honest: Runner;
before(async () => {
	honest = await runnerOf(scratch, sample, 2);
});

/** The whole job as one part; which programs the validator's engine was given. */
async function claimed(of: Runner, text = generationText(OF)) {
	const opened: string[] = [];
	const plain = toyEngine();
	const engine: OwnEngine = {
		...plain,
		// Longer than anything takes here: what is late would be run again in another way.
		mostMs: 600_000,
		async start(path) {
			const { open, ...more } = await plain.start(path);
			return {
				...more,
				open: (work) => {
					const program = bytesToHex(work.program);
					opened.push(program === prefilling ? "prefill" : program === generating ? "again" : "another");
					return open(work);
				},
			};
		},
	};
	const net = await toyNetwork(scratch, of, { engine });
	const generation = await putBlob(net.blobs, `job-${JOB}`, utf8ToBytes(text));
	await giveState(net.blobs, `audit-${JOB}`, of, 3);
	const at = {
		...claimOf(of, { ...net.spec, generation }, 0, 0, 3),
		end: { ...endOf(of, 3)!, holder: `audit-${JOB}` },
	};
	letAnswer(net, of, at);
	const run = async (first: number, count: number) => {
		opened.length = 0;
		const found = await rerun(net.means, at, { first, count });
		assert.ok(found.kind === "ran", JSON.stringify(found));
		const said = at.states.slice(first, first + count + 1).map(bytesToHex);
		return { opened: [...opened], agrees: found.states.map((state, i) => bytesToHex(state) === said[i]) };
	};
	return { net, at, run };
}
const lie = (more: Partial<Cheat>) => runnerOf(scratch, sample, 2, { segment: 2, step: 0, op: 0, element: 1, ...more });

test("every window of an honest run has the claim's states by prefill alone, and nobody is asked for a state", async () => {
	const { net, run } = await claimed(honest);
	for (const [first, count] of [
		[0, 1],
		[0, 3],
		[1, 1],
		[2, 1],
	] as const)
		assert.deepEqual(await run(first, count), { opened: ["prefill"], agrees: Array(count + 1).fill(true) });
	assert.deepEqual(net.asked, []);
});

test("attack: a token that the model does not give is seen by prefill, and proven by running the window again", async () => {
	const { run } = await claimed(await lie({ step: 2, op: opOf("next") }));
	assert.deepEqual(await run(2, 1), { opened: ["prefill", "again"], agrees: [true, false] });
	// Of the batch before nothing is false.
	assert.deepEqual(await run(0, 2), { opened: ["prefill"], agrees: [true, true, true] });
});

test("attack: tokens of an earlier batch that are changed at the end, and noise of another seed", async () => {
	const changed = await claimed(await lie({ step: 4, op: opOf("tokens") }));
	assert.deepEqual((await changed.run(2, 1)).agrees, [true, false]);
	assert.deepEqual((await changed.run(0, 2)).agrees, [true, true, true], "by running it again");
	const init = made.program.init.findIndex(({ target }) => target !== null);
	const noisy = await claimed(await lie({ segment: 0, op: init, element: 4, value: 5n }));
	assert.deepEqual((await noisy.run(0, 1)).agrees, [true, false]);
});

test("attack: a description of another program, of none, or too large to be built: the window is run again", async () => {
	const right = generationText(OF);
	for (const text of [
		right.replace('"temperature": 2', '"temperature": 3'),
		right.replace('"layers": 1', '"layers": 256'),
		right.replace('"fresh": 3', '"fresh": 4'),
		"x".repeat(70_000),
	]) {
		assert.notEqual(text, right);
		const { run } = await claimed(honest, text);
		assert.deepEqual(await run(2, 1), { opened: ["again"], agrees: [true, true] });
	}
	// The end of the claim is not here.
	const { net, at } = await claimed(honest);
	const found = await rerun(net.means, { ...at, end: { ...at.end, holder: "audit-nobody" } }, { first: 2, count: 1 });
	assert.equal(found.kind, "ran");
});
