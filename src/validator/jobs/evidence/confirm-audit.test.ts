// An auditor that says what the claim says is asked for what only who ran its window knows; and the referee,
// where all states agree and the inside of a segment does not.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { AssayError } from "../../../protocol/assay-error.ts";
import { hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { type Hex, toHex } from "../../../protocol/chain/hex.ts";
import { type ChainQuestion, encodeChainQuestion } from "../../../protocol/network/chain-question.ts";
import { type JobQuestion, readQuestion } from "../../../protocol/network/job-question.ts";
import { mixedSample, type Sample } from "../../../work/builder/samples.test-kit.ts";
import { elementCount } from "../../../work/operators/tensor-type.ts";
import { type Confirmed, confirmAudit } from "./confirm-audit.ts";
import { referee } from "./referee.ts";
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
	toyNetwork,
} from "./toy-claim.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-confirm-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
const LAST = 5;
const AUDITOR = "ee".repeat(32);
/** Part 1: segments 2 to 5; the audit is of its last three. */
const [FIRST, COUNT] = [2, 4];
const WINDOW = { first: 1, count: 3 };
const sample: Sample = mixedSample(5);
const { step } = sample.program;

let honest: Runner;
/** Lies inside segment 5, and no state shows it. */
let hidden: Runner;
before(async () => {
	honest = await runnerOf(scratch, sample, LAST);
	for (const [op, { output }] of step.entries()) {
		const lie = { segment: LAST, step: sample.program.k - 1, op, element: Math.floor(elementCount(output.dims) / 2) };
		hidden = await runnerOf(scratch, sample, LAST, lie);
		if (hidden.run.states.every((state, i) => Buffer.compare(state, honest.run.states[i]!) === 0)) return;
	}
	assert.fail("every lie shows");
});

interface Scene {
	readonly claimant?: Runner;
	readonly auditor?: Runner;
	/** Throws what it refuses with. */
	readonly hear?: (question: JobQuestion) => void;
	readonly change?: (question: JobQuestion, answer: string) => string;
	readonly drawBelow?: (most: number) => number;
	/** By how often it was read before. */
	readonly asked?: (times: number, questions: readonly JobQuestion[]) => readonly ChainQuestion[];
	readonly inside?: number;
}

async function scene({ claimant = honest, auditor = honest, ...of }: Scene) {
	const net = await toyNetwork(scratch, honest, { engine: null });
	const at = claimOf(claimant, net.spec, 1, FIRST, COUNT);
	await giveState(net.blobs, `job-${JOB}`, claimant, FIRST);
	letAnswer(net, claimant, at);
	const states = at.states.slice(WINDOW.first, WINDOW.first + WINDOW.count + 1);
	const own = answererOf(net.blobs, auditor, { first: FIRST + WINDOW.first, states, holder: AUDITOR });
	const heard: JobQuestion[] = [];
	const wrap = (by: string, tell: (text: string) => ReturnType<typeof own.answer>) => ({
		async answer(text: string) {
			const question = readQuestion(text);
			heard.push(question);
			of.hear?.(question);
			const said = await tell(text);
			return { ...said, answer: by === AUDITOR ? (of.change?.(question, said.answer) ?? said.answer) : said.answer };
		},
	});
	const first = net.answerers.get(partyName(at.provider, null))!;
	net.answerers.set(
		partyName(at.provider, null),
		wrap(at.provider, (text) => first.answer(text)),
	);
	net.answerers.set(
		partyName(AUDITOR, 3),
		wrap(AUDITOR, (text) => own.answer(text)),
	);
	let times = 0;
	const askedOnChain = async (): Promise<Hex[]> =>
		(of.asked?.(times++, heard) ?? []).map((one) => toHex(encodeChainQuestion(one)));
	const audit = { ...WINDOW, at: 3, auditor: AUDITOR, states, inside: of.inside };
	const means = { ...net.means, drawBelow: of.drawBelow ?? ((most: number) => most - 1) };
	return {
		heard,
		confirmed: (): Promise<Confirmed> => confirmAudit(means, at, audit, askedOnChain),
		ruled: () => referee(net.means, at, audit),
	};
}
const confirmed = async (of: Scene): Promise<Confirmed> => (await scene(of)).confirmed();
const gone = (...kinds: readonly JobQuestion["kind"][]) => ({
	hear: ({ kind, audit }: JobQuestion) => {
		if (audit !== null && kinds.includes(kind)) throw new AssayError("AGENT_CLOSED", "gone");
	},
});

test("who ran its window shows it at any place, and the claimant hears of the segment afterwards", async () => {
	for (const drawBelow of [() => 0, (most: number) => most - 1, (most: number) => most >> 1]) {
		const { heard, confirmed: found } = await scene({ drawBelow });
		assert.deepEqual(await found(), { kind: "ran" });
		assert.ok(
			heard.every(({ segment }) => segment === LAST),
			"in the last segment of the window",
		);
		const kinds = heard.map(({ kind, audit }) => [kind, audit]);
		assert.deepEqual(kinds.at(-1), ["trace", null]);
		assert.deepEqual(kinds[0], ["trace", 3]);
		assert.ok(heard.length < 12, `${heard.length} questions`);
	}
});

test("who says nothing, or what leads to no trace, has shown nothing", async () => {
	for (const one of [gone("trace"), gone("op"), gone("leaf")]) assert.equal((await confirmed(one)).kind, "unshown");
	for (const wrong of ["nodes", "op", "leaf"]) {
		const change = ({ kind }: JobQuestion, answer: string) => (kind === wrong ? flipHex(answer) : answer);
		assert.equal((await confirmed({ change })).kind, "unshown", wrong);
	}
});

const OP = { kind: "op", operands: 0, leaves: 1, hash: hexToBytes("00".repeat(32))! } as const;
const places = (segment: number): ChainQuestion[] =>
	Array.from({ length: sample.program.k }, (_, at) => step.map((_op, op) => ({ ...OP, segment, step: at, op }))).flat();

test("what the chain was asked about is not asked, and what it is asked about meanwhile does not count", async () => {
	// A griefer that asks for every op of the last segment: another segment is taken.
	const { heard, confirmed: found } = await scene({ asked: () => places(LAST) });
	assert.deepEqual(await found(), { kind: "ran" });
	assert.ok(heard.every(({ segment }) => segment === LAST - 1));
	const all = [3, 4, 5].flatMap(places);
	assert.deepEqual(await confirmed({ asked: () => all }), {
		kind: "unshown",
		why: "the chain was asked about every op of its window",
	});
	// It asks the chain for what it was asked itself.
	const meanwhile = (times: number, questions: readonly JobQuestion[]): ChainQuestion[] =>
		times === 0
			? []
			: questions.flatMap((one) =>
					one.kind === "leaf" ? [{ ...OP, segment: one.segment, step: one.step, op: one.op }] : [],
				);
	assert.equal((await confirmed({ asked: meanwhile })).kind, "unshown");
	// Nodes of the list of states and of traces say nothing of what an op gave.
	const nodes = { kind: "nodes", height: 1, index: 0, count: 2, node: OP.hash, segment: LAST, step: 0, op: 0 } as const;
	assert.deepEqual(await confirmed({ asked: () => [{ ...nodes, tree: "segments" }] }), { kind: "ran" });
});

test("a claimant that says nothing, or has another trace, is told from an auditor that has", async () => {
	const silent = await confirmed({
		hear: ({ audit }) => {
			if (audit === null) throw new AssayError("AGENT_CLOSED", "gone");
		},
	});
	assert.ok(silent.kind === "differs" && silent.isSilent && silent.segment === LAST - FIRST);
	for (const one of [{ claimant: hidden }, { auditor: hidden }]) {
		const found = await confirmed(one);
		assert.ok(found.kind === "differs" && !found.isSilent, JSON.stringify(found));
	}
});

test("the referee finds who lied inside a segment whose states agree", async () => {
	const ruled = async (of: Scene) => (await (await scene({ ...of, inside: LAST - FIRST })).ruled()).verdict;
	assert.equal(await ruled({ claimant: hidden }), "provider");
	assert.equal(await ruled({ auditor: hidden }), "auditor");
	assert.equal(await ruled({}), "none");
});
