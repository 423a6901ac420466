// Windows of a claim run again: from states that its claimant uploads and that fold to its own S, on the
// validator's engine. And what a provider answers.
import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { markOwnProcess } from "../../../platform/living-process.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { type JobQuestion, questionText } from "../../../protocol/network/job-question.ts";
import { mlpSample } from "../../../work/builder/samples.test-kit.ts";
import { claimHash } from "../../../work/trace/commitments.ts";
import type { ClaimAtHand, EvidenceMeans } from "./claim-at-hand.ts";
import { clearReruns } from "./own-run.ts";
import { rerun } from "./rerun.ts";
import {
	answererOf,
	bookOf,
	claimOf,
	flipHex,
	giveState,
	JOB,
	letAnswer,
	partyName,
	type Runner,
	runnerOf,
	type ToyNetwork,
	toyEngine,
	toyNetwork,
} from "./toy-claim.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-rerun-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
const LAST = 8;
const code = (expected: string) => (error: unknown) => error instanceof AssayError && error.code === expected;

let honest: Runner;
before(async () => {
	honest = await runnerOf(scratch, mlpSample(), LAST);
});

test("L2: at the start folders of killed re-runs go, whose links keep blobs on disk; those of the living stay", async () => {
	const folder = join(scratch, "left");
	const { pid, startTicks } = await markOwnProcess();
	const living = `rerun-${pid}-${startTicks}-abcdef`;
	for (const name of [living, `rerun-${pid}-1-abcdef`, "rerun-999999999-5-abcdef", "other"])
		mkdirSync(join(folder, name, "store"), { recursive: true });
	await clearReruns(folder);
	assert.deepEqual(readdirSync(folder).sort(), ["other", living].sort());
	await clearReruns(join(scratch, "not there"));
});

/** A part of the honest run, claimed and answerable. */
async function part(first: number, count: number, more: Partial<EvidenceMeans> = {}, of = honest) {
	const net = await toyNetwork(scratch, of, more);
	const at = claimOf(of, net.spec, first === 0 ? 0 : 1, first, count);
	await giveState(net.blobs, `job-${JOB}`, of, first);
	const answerer = letAnswer(net, of, at);
	return { net, at, answerer };
}
const hexes = (states: readonly Uint8Array[]) => states.map(bytesToHex);
const said = (at: ClaimAtHand, first: number, count: number) => hexes(at.states.slice(first, first + count + 1));

test("every window of a first and of a later part gives the claim's states, each from the state before it", async () => {
	for (const [first, segments] of [
		[0, 4],
		[4, 5],
	] as const) {
		const { net, at } = await part(first, segments);
		for (let from = 0; from < segments; from++) {
			const found = await rerun(net.means, at, { first: from, count: Math.min(2, segments - from) });
			assert.ok(found.kind === "ran", JSON.stringify(found));
			assert.deepEqual(hexes(found.states), said(at, from, Math.min(2, segments - from)));
		}
		// The start needs no question.
		const before = net.asked.length;
		assert.equal((await rerun(net.means, at, { first: 0, count: 1 })).kind, "ran");
		assert.equal(net.asked.length, before);
	}
});

test("a lie in a window is seen in it, and only there", async () => {
	const op = mlpSample().program.step.length - 1;
	const liar = await runnerOf(scratch, mlpSample(), LAST, { segment: 5, step: 0, op, element: 3 });
	const { net, at } = await part(0, 9, {}, liar);
	const at5 = await rerun(net.means, at, { first: 4, count: 2 });
	assert.ok(at5.kind === "ran");
	assert.deepEqual(
		hexes(at5.states).map((one, i) => one === said(at, 4, 2)[i]),
		[true, true, false],
	);
	for (const first of [0, 2, 6]) {
		const found = await rerun(net.means, at, { first, count: 2 });
		assert.ok(found.kind === "ran");
		assert.deepEqual(hexes(found.states), said(at, first, 2));
	}
});

const answering = (
	net: ToyNetwork,
	at: ClaimAtHand,
	answer: (question: string) => Promise<{ answer: string; signature: string | null }>,
) => net.answerers.set(partyName(at.provider, null), { answer });

test("a state that does not come, or does not fold to the claim's S, is the claimant's fault; an engine that is absent, small or slow is nobody's", async () => {
	const window = { first: 2, count: 1 };
	const { net, at, answerer } = await part(0, 9);
	const refused = (code: string) => async (): Promise<never> => {
		throw new AssayError(code, "no");
	};
	for (const [what, answer] of [
		["silent", refused("AGENT_CLOSED")],
		["at odds with itself", refused("RUN_UNSTEADY")],
		[
			"other roots",
			async (question: string) => ({
				...(await answerer.answer(question)),
				answer: flipHex((await answerer.answer(question)).answer),
			}),
		],
		["half an answer", async () => ({ answer: "00", signature: null })],
		["no hex", async () => ({ answer: "what?", signature: null })],
	] as const) {
		answering(net, at, answer);
		const found = await rerun(net.means, at, window);
		assert.equal(found.kind, "withheld", `${what}: ${JSON.stringify(found)}`);
	}
	// Right roots, and nothing uploaded.
	const nobody = "ef".repeat(32);
	answering(net, at, (question) => answerer.answer(question));
	net.answerers.set(partyName(nobody, null), answerer);
	assert.equal((await rerun(net.means, { ...at, provider: nobody }, window)).kind, "withheld");
	// Busy for a while.
	let asked = 0;
	answering(net, at, async (question) => {
		if (asked++ < 3) throw new AssayError("PROVIDER_BUSY", "in a minute");
		return answerer.answer(question);
	});
	assert.equal((await rerun(net.means, at, window)).kind, "ran");
	for (const engine of [
		null,
		{ ...toyEngine(), mostBytes: 100 },
		{
			...toyEngine(),
			mostMs: 1,
			start: async () => ({ open: () => new Promise<never>(() => {}), device: 0, close: async () => {} }),
		},
		{ ...toyEngine(), start: refused("ENGINE_NOT_STARTED") },
	])
		assert.equal((await rerun({ ...net.means, engine }, at, window)).kind, "unable");
});

const about = { audit: null, page: 0 } as const;

test("first words are said once: from the book, over restarts, and never two of them", async () => {
	const { net, at, answerer } = await part(0, 9);
	const question: JobQuestion = { ...about, kind: "trace", segment: 3 };
	const transcript: JobQuestion = { ...about, kind: "transcript", segment: 3, step: 1, op: 2, element: 5, path: [] };
	const [first, words] = [
		await answerer.answer(questionText(question)),
		await answerer.answer(questionText(transcript)),
	];
	const claim = bytesToHex(claimHash(at.claim));
	const book = bookOf(honest, claim);
	assert.equal(readFileSync(book, "utf8").split("\n").length, 3);
	// A torn line was never told.
	appendFileSync(book, '{"question":"00');
	const of = { first: 0, states: at.states, holder: at.provider, claim };
	const again = answererOf(net.blobs, honest, of);
	assert.deepEqual(await again.answer(questionText(question)), first);
	assert.equal(readFileSync(book, "utf8").split("\n").length, 3);
	// This machine computes something else by now: it answers what it said before, and nothing new.
	const broken = { ...honest, cheat: { segment: 3, step: 0, op: 0, element: 1 } };
	const later = answererOf(net.blobs, broken, of);
	assert.deepEqual(await later.answer(questionText(question)), first);
	assert.deepEqual(await later.answer(questionText(transcript)), words);
	const op: JobQuestion = { ...about, kind: "op", segment: 3, step: 0, op: 0 };
	await assert.rejects(later.answer(questionText(op)), code("RUN_UNSTEADY"));
	await assert.rejects(later.answer(questionText({ ...transcript, element: 6 })), code("RUN_UNSTEADY"));
	appendFileSync(book, "what?\n");
	assert.throws(() => answererOf(net.blobs, honest, of), code("RUN_DAMAGED"));
});

test("questions about what is not there are refused, and none is answered in part", async () => {
	const { at, answerer } = await part(4, 5);
	const { step } = mlpSample().program;
	const place = { ...about, segment: 5, step: 0, op: 1 };
	const bad: readonly unknown[] = [
		"{}",
		"",
		" ",
		"[".repeat(5000),
		{ ...about, kind: "what", segment: 5 },
		{ ...about, kind: "trace", segment: 3 },
		{ ...about, kind: "trace", segment: 9 },
		{ ...about, kind: "roots", segment: 10 },
		{ ...about, kind: "roots", segment: 3 },
		{ ...about, kind: "trace", segment: 5, page: 1 },
		{ ...about, kind: "trace", segment: 5, more: 1 },
		{ ...about, kind: "nodes", segment: 5, level: 0, index: 0 },
		{ ...about, kind: "nodes", segment: 5, level: 9, index: 0 },
		{ ...about, kind: "nodes", segment: 5, level: 1, index: 99 },
		{ ...place, kind: "op", op: step.length },
		{ ...place, kind: "op", step: 2 },
		{ ...place, kind: "leaf", of: null, leaf: 1 },
		{ ...place, kind: "leaf", of: 7, leaf: 0 },
		{ ...place, kind: "transcript", element: 1e9, path: [] },
		{ ...place, kind: "transcript", element: 0, path: [0] },
		{ ...place, kind: "transcript", element: -1, path: [] },
	];
	for (const one of bad) {
		const text = typeof one === "string" ? one : questionText(one as JobQuestion);
		await assert.rejects(answerer.answer(text), code("JOB_QUESTION"), text);
	}
	// What is there is answered whole, over every page.
	const roots = await answerer.answer(questionText({ ...about, kind: "roots", segment: 9 }));
	assert.equal(hexToBytes(roots.answer)!.length, 64);
	assert.equal(at.claim.first, 4);
});
