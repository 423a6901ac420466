// The referee: of two that differ, whoever contradicts itself or arithmetic is named, never whoever stands
// alone; by the validator's own engine, and without one by the two themselves. Silence and answers that do
// not fit lose as well.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Cheat } from "../../../engine/client/toy-work-session.test-kit.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import { type JobQuestion, readQuestion } from "../../../protocol/network/job-question.ts";
import { traceQuestion } from "../../../verify/optimistic/fraud/fraud-proof.ts";
import { verifyFraud } from "../../../verify/optimistic/fraud/judge-fraud.ts";
import { mixedSample, type Sample } from "../../../work/builder/samples.test-kit.ts";
import { elementCount } from "../../../work/operators/tensor-type.ts";
import type { AuditAtHand } from "./auditor-of.ts";
import { type EvidenceMeans, hashOfClaim } from "./claim-at-hand.ts";
import { memoryAnswers } from "./memory-answers.ts";
import { type Ruling, referee } from "./referee.ts";
import {
	answererOf,
	claimOf,
	flipHex,
	giveState,
	JOB,
	letAnswer,
	partyName,
	type Runner,
	runnerOf,
	toyEngine,
	toyNetwork,
} from "./toy-claim.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-referee-"));
after(() => rmSync(scratch, { recursive: true, force: true }));

const LAST = 5;
const AUDITOR = "ee".repeat(32);
/** Part 1: segments 2 to 5; the audit is of its last three. */
const [FIRST, COUNT] = [2, 4];
const WINDOW = { first: 1, count: 3 };
const sample: Sample = mixedSample(5);
const { step } = sample.program;

const opOf = (operator: string): number => step.findIndex((op) => op.operator === operator);
/** In segment 4; whether it shows in S is another matter. */
const lieIn = (op: number, segment = 4): Cheat => ({
	...{ segment, step: 0, op, element: Math.floor(elementCount(step[op]!.output.dims) / 2) },
});

let honest: Runner;
/** Its state after segment 4 is another. */
let liar: Runner;
let lie: Cheat;
before(async () => {
	honest = await runnerOf(scratch, sample, LAST);
	for (const [op] of [...step.entries()].filter(([, one]) => one.target !== null)) {
		lie = lieIn(op);
		liar = await runnerOf(scratch, sample, LAST, lie);
		if (Buffer.compare(liar.run.states[5]!, honest.run.states[5]!) !== 0) return;
	}
	assert.fail("no lie shows");
});

type Tell = (question: JobQuestion, text: string) => Promise<{ answer: string; signature: string | null }>;

async function dispute(
	of: { readonly provider: Runner; readonly auditor: Runner | null },
	more: Partial<EvidenceMeans> = {},
	change: {
		readonly provider?: (tell: Tell) => Tell;
		readonly auditor?: (tell: Tell) => Tell;
		states?: (audit: AuditAtHand) => AuditAtHand;
	} = {},
): Promise<Ruling & { readonly asked: number }> {
	const net = await toyNetwork(scratch, honest, more);
	const at = claimOf(of.provider, net.spec, 1, FIRST, COUNT);
	await giveState(net.blobs, `job-${JOB}`, of.provider, FIRST);
	const states = (of.auditor ?? honest).run.states.slice(FIRST + WINDOW.first, FIRST + WINDOW.first + WINDOW.count + 1);
	const auditor = of.auditor === null ? null : AUDITOR;
	const plain: AuditAtHand = { ...WINDOW, at: 3, auditor, states };
	const audit = change.states?.(plain) ?? plain;
	const wrapped = (answerer: { answer(text: string): ReturnType<Tell> }, wrap?: (tell: Tell) => Tell) => {
		const tell: Tell = (_, text) => answerer.answer(text);
		const told = wrap?.(tell) ?? tell;
		return { answer: (text: string) => told(readQuestion(text), text) };
	};
	net.answerers.set(partyName(at.provider, null), wrapped(letAnswer(net, of.provider, at), change.provider));
	if (of.auditor !== null) {
		const about = { first: FIRST + WINDOW.first, states: audit.states, holder: AUDITOR };
		net.answerers.set(partyName(AUDITOR, 3), wrapped(answererOf(net.blobs, of.auditor, about), change.auditor));
	}
	const ruling = await referee(net.means, at, audit);
	return { ...ruling, asked: net.asked.length };
}

const mustConvict = (ruling: Ruling, where: Partial<Cheat> = lie) => {
	assert.equal(ruling.verdict, "provider", ruling.why);
	assert.ok(ruling.file !== null, ruling.why);
	const verdict = verifyFraud(ruling.file);
	assert.ok(verdict.status === "valid", JSON.stringify(verdict));
	const { segment, step: at, op, element } = verdict;
	assert.deepEqual({ segment, step: at, op, element }, { element, step: at, op, ...where });
};
const none = { engine: null };

test("a provider that lied is convicted by an auditor, with the validator's engine and without it", async () => {
	for (const more of [{}, none]) mustConvict(await dispute({ provider: liar, auditor: honest }, more));
	mustConvict(await dispute({ provider: liar, auditor: null }));
	const alone = await dispute({ provider: liar, auditor: null }, none);
	assert.equal(alone.verdict, "none", "nobody is left to ask");
});

test("an auditor that lied is named, and the provider keeps its claim", async () => {
	for (const more of [{}, none]) {
		const ruling = await dispute({ provider: honest, auditor: liar }, more);
		assert.equal(ruling.verdict, "auditor", ruling.why);
		assert.equal(ruling.file, null);
	}
});

test("both lied, each in its own way: both are named where an engine tells, and the provider falls without one", async () => {
	const other = await runnerOf(scratch, sample, LAST, { ...lie, element: lie.element + 1 });
	const ruling = await dispute({ provider: liar, auditor: other });
	assert.equal(ruling.verdict, "both", ruling.why);
	assert.ok(ruling.file !== null && verifyFraud(ruling.file).status === "valid");
	assert.notEqual((await dispute({ provider: liar, auditor: other }, none)).verdict, "none");
	// Who agrees with a liar in an earlier segment is found by an engine alone.
	const early = await runnerOf(scratch, sample, LAST, { ...lie, segment: 3 });
	const both = await dispute({ provider: early, auditor: await twice(early) });
	assert.equal(both.verdict, "both", both.why);
});

test("what another said who claimed the same before is not held against this one", async () => {
	const at = claimOf(honest, {} as never, 1, FIRST, COUNT);
	const answer = new Uint8Array(32).fill(9);
	const word = { question: traceQuestion(lie.segment).slice(2), answer, answerHash: bytesToHex(keccak(answer)) };
	const ruled = async (provider: string) => {
		const answers = memoryAnswers();
		await answers.keep({ claim: hashOfClaim(at), provider, ...word, signature: null }, { nowMs: 0 });
		return (await dispute({ provider: honest, auditor: liar }, { ...none, answers })).verdict;
	};
	assert.equal(await ruled("ff".repeat(32)), "auditor");
	assert.equal(await ruled(at.provider), "provider", "its own is");
});

/** Says what another said, but for its last state. */
const twice = async (of: Runner): Promise<Runner> => {
	const states = of.run.states.with(-1, new Uint8Array(32).fill(9));
	return { ...of, run: { ...of.run, states } };
};

test("an auditor that only makes states up, echoes half of them, or begins elsewhere is named", async () => {
	const forged = {
		...honest,
		run: { ...honest.run, states: honest.run.states.map((one, i) => (i > 3 ? one.map((byte) => byte ^ 1) : one)) },
	};
	for (const more of [{}, none])
		assert.equal((await dispute({ provider: honest, auditor: forged }, more)).verdict, "auditor");
	const elsewhere = {
		...honest,
		run: { ...honest.run, states: honest.run.states.map((one, i) => (i === 3 ? one.map((byte) => byte ^ 1) : one)) },
	};
	assert.equal((await dispute({ provider: honest, auditor: elsewhere })).verdict, "auditor");
	const short = { states: (audit: AuditAtHand) => ({ ...audit, states: audit.states.slice(1) }) };
	assert.equal((await dispute({ provider: honest, auditor: honest }, {}, short)).verdict, "auditor");
	assert.equal((await dispute({ provider: honest, auditor: honest })).verdict, "none");
});

const refuse =
	(...kinds: readonly JobQuestion["kind"][]) =>
	(tell: Tell): Tell =>
	async (question, text) => {
		if (kinds.includes(question.kind)) throw new AssayError("AGENT_CLOSED", "gone");
		return tell(question, text);
	};
const change =
	(...kinds: readonly JobQuestion["kind"][]) =>
	(tell: Tell): Tell =>
	async (question, text) => {
		const said = await tell(question, text);
		return kinds.includes(question.kind) ? { ...said, answer: flipHex(said.answer) } : said;
	};

test("who is silent, or answers what does not fit its own words, loses without a file; an honest one on the other side does not", async () => {
	const lost = async (provider: (tell: Tell) => Tell, more: Partial<EvidenceMeans>) => {
		const ruling = await dispute({ provider: liar, auditor: honest }, more, { provider });
		assert.deepEqual([ruling.verdict, ruling.file, ruling.isProvable], ["provider", null, false], ruling.why);
	};
	for (const provider of [refuse("trace"), refuse("transcript"), change("nodes"), change("op"), change("leaf")])
		await lost(provider, {});
	for (const provider of [refuse("nodes"), refuse("op"), refuse("leaf"), change("trace")]) await lost(provider, none);
	assert.equal(
		(await dispute({ provider: liar, auditor: honest }, {}, { provider: refuse("state") })).verdict,
		"provider",
	);
	// The auditor leads or follows the search: silent in either, it is the one that loses.
	for (const auditor of [refuse("trace"), change("nodes"), refuse("op"), change("leaf")]) {
		const ruling = await dispute({ provider: honest, auditor: liar }, none, { auditor });
		assert.equal(ruling.verdict, "auditor", ruling.why);
	}
	for (const auditor of [refuse("nodes"), change("op")])
		assert.equal((await dispute({ provider: liar, auditor: honest }, none, { auditor })).verdict, "auditor");
});

test("another transcript than the machine's convicts by another number, and a provider that was right then and tells otherwise now by its own words", async () => {
	const ruling = await dispute({ provider: liar, auditor: honest }, {}, { provider: change("transcript") });
	mustConvict(ruling);
	// Its machine is right by now: it notices, and says nothing.
	const mended = { ...liar, cheat: undefined };
	const silent = await dispute({ provider: mended, auditor: honest });
	assert.deepEqual([silent.verdict, silent.file], ["provider", null]);
});

test("a broken engine here accuses nobody: the two answer for themselves", async () => {
	const broken = { ...toyEngine(), start: async () => Promise.reject(new AssayError("ENGINE_NOT_STARTED", "no")) };
	assert.equal((await dispute({ provider: honest, auditor: liar }, { engine: broken })).verdict, "auditor");
	await assert.rejects(dispute({ provider: liar, auditor: null }, { engine: broken }), /no/);
});

test("a lie in every operator is found with some forty questions, with and without an engine", async () => {
	for (const operator of ["matmul", "reduce", "scatter_add", "map"]) {
		const cheat = lieIn(opOf(operator));
		const one = await runnerOf(scratch, sample, LAST, cheat);
		// What no state depends on nobody claimed falsely.
		if (Buffer.compare(one.run.states[5]!, honest.run.states[5]!) === 0) continue;
		for (const more of [{}, none]) {
			const ruling = await dispute({ provider: one, auditor: honest }, more);
			mustConvict(ruling, cheat);
			assert.ok(ruling.asked < 80, `${operator}: ${ruling.asked} questions`);
		}
	}
});

test("an auditor that tells more or fewer states than its window has, or begins elsewhere, has lied; nobody is asked", async () => {
	const states = Array.from({ length: 5 }, (_, i) => new Uint8Array(32).fill(i));
	const at = { states } as never;
	const ruled = (said: readonly Uint8Array[], first = 1) =>
		referee(null as never, at, { at: 0, auditor: AUDITOR, first, count: 2, states: said } as never);
	const [one, other] = [states.slice(1, 4), new Uint8Array(32).fill(9)];
	assert.equal((await ruled(one)).verdict, "none");
	for (const said of [one.slice(1), [...one, other], [other, ...one.slice(1)]])
		assert.equal((await ruled(said)).verdict, "auditor");
	// A window that goes on behind the claim's end.
	assert.equal((await ruled(one, 4)).verdict, "auditor");
});
