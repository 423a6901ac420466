// From a lie in a run to its conviction on the embedded chain: funded, assigned and claimed by real
// transactions, found by the referee's questions to a provider that signs its answers, judged by verifyFraud,
// proven by `Disputes`, the bond split. One lie in each operator; two answers to one question; and what the
// chain does not judge yet.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { callOf, read } from "../../src/chain/contracts/contracts.ts";
import {
	answerQuestionsCall,
	askCall,
	openGameCall,
	readGames,
	type Sitting,
} from "../../src/chain/contracts/dispute-games.ts";
import { signAnswer } from "../../src/chain/contracts/disputes.ts";
import {
	approveJobsCall,
	assignPartCall,
	claimPartCall,
	fundJobCall,
	type JobTerms,
	jobIdOf,
	readJobPart,
	signAssignment,
	signStored,
} from "../../src/chain/contracts/job-escrow.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import type { Cheat } from "../../src/engine/client/toy-work-session.test-kit.ts";
import { convict, newJob } from "../../src/market/jobs/job-rules.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { bytesToHex, concatBytes, hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import { fromHex, type Hex, toHex } from "../../src/protocol/chain/hex.ts";
import { keccak, keccakNode } from "../../src/protocol/hash/keccak-tree.ts";
import {
	type ChainQuestion,
	decodeChainQuestion,
	encodeChainQuestion,
} from "../../src/protocol/network/chain-question.ts";
import {
	type JobQuestion,
	questionText,
	readQuestion,
	type SaidAnswer,
} from "../../src/protocol/network/job-question.ts";
import type { ClaimAtHand, EvidenceMeans } from "../../src/validator/jobs/evidence/claim-at-hand.ts";
import { createEvidence } from "../../src/validator/jobs/evidence/evidence.ts";
import {
	claimOf,
	letAnswer,
	type OnChain,
	partyName,
	type Runner,
	runnerOf,
	toyNetwork,
} from "../../src/validator/jobs/evidence/toy-claim.test-kit.ts";
import { SilenceConvicted, silentRoad } from "../../src/validator/jobs/watch/silent-road.ts";
import { chainAnswer } from "../../src/verify/optimistic/chain-road.ts";
import { traceQuestion } from "../../src/verify/optimistic/fraud/fraud-proof.ts";
import { verifyFraud } from "../../src/verify/optimistic/fraud/judge-fraud.ts";
import { mixedSample, mlpSample } from "../../src/work/builder/samples.test-kit.ts";
import { elementCount } from "../../src/work/operators/tensor-type.ts";
import { rootBytes } from "../../src/work/runs/journal.ts";
import { claimHash, numbered, rootsTree, segmentTree } from "../../src/work/trace/commitments.ts";
import { NO_TERMS } from "./disputes.test-kit.ts";
import { openTestNetwork, type TestNetwork, UNIT } from "./network.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-job-frauds-"));
/** In the one a lie in every operator but matmul shows in S, in the other one in matmul. */
const SAMPLES = { mixed: mixedSample(40), mlp: mlpSample() };
const LAST = 3;
const SEGMENT = 2;
const BOND = 10n * UNIT;
const hash = (text: string): Hex => toHex(new Uint8Array(createHash("sha256").update(text).digest()));

let network: TestNetwork;
const honest = {} as Record<keyof typeof SAMPLES, Runner>;
before(async () => {
	network = await openTestNetwork(1);
	const { contracts, send, provider, treasurer } = network;
	await send(treasurer, callOf(contracts, "token", "transfer", provider.address, 1000n * UNIT));
	for (const account of [treasurer, provider]) await send(account, approveJobsCall(contracts, 10n ** 30n));
	await send(provider, callOf(contracts, "jobEscrow", "deposit", 800n * UNIT));
	for (const name of ["mixed", "mlp"] as const) honest[name] = await runnerOf(scratch, SAMPLES[name], LAST);
});
after(async () => {
	await network.close();
	rmSync(scratch, { recursive: true, force: true });
});

/** Funded, assigned, and claimed as this runner has it. */
async function claimed(of: Runner, salt: string): Promise<{ readonly chain: OnChain; readonly terms: JobTerms }> {
	const { contracts, send, treasurer, provider } = network;
	const [validator] = network.validators;
	const { run, segments } = of;
	const nowS = Number((await contracts.client.viem.getBlock()).timestamp);
	const terms: JobTerms = {
		...NO_TERMS,
		...{ customer: treasurer.address, salt: hash(salt), spec: hash("spec"), start: toHex(run.states[0]!) },
		...{ program: toHex(run.claim.program), inputs: toHex(run.claim.inputs), seed: toHex(run.seed) },
		...{ segments: BigInt(segments), parts: 1, price: UNIT, fee: UNIT / 50n, audit: UNIT / 5n, bond: BOND },
		...{ startBy: BigInt(nowS + 86_400), workSeconds: 1200, windowSeconds: 86_400, checkedSeconds: 600, quorum: 1 },
		validators: [validator!.address],
	};
	const job = jobIdOf(terms);
	await send(treasurer, fundJobCall(contracts, terms));
	const assignment = { part: 0, attempt: 1, until: terms.startBy, draw: hash("draw") };
	const drawn = await signAssignment(validator!, contracts, job, provider.address, assignment);
	await send(provider, assignPartCall(contracts, terms, assignment, [drawn]));
	const { chainId, jobEscrow } = contracts.addresses;
	const where = { chainId: BigInt(chainId), escrow: fromHex(jobEscrow.toLowerCase(), 20), job };
	const tree = segmentTree(run.states);
	const { state, results } = run.journal.segments.at(-1)!;
	const resultRoot = rootsTree(numbered(run.program, "result", rootBytes(results))).root;
	const made = { ...run.claim, ...where, part: 0, first: 0, segments, segmentRoot: tree.root, resultRoot };
	const claim = toHex(claimHash(made));
	const stored = await signStored(validator!, contracts, { job, part: 0, attempt: 1 }, claim);
	const shown = {
		...{ segmentRoot: toHex(tree.root), resultRoot: toHex(resultRoot), first: terms.start, previous: hash("") },
		...{ firstPath: tree.path(0).map(toHex), lastPath: tree.path(segments).map(toHex) },
		lastStates: toHex(rootsTree(numbered(run.program, "state", rootBytes(state))).root),
	};
	await send(provider, claimPartCall(contracts, terms, 0, shown, [stored]));
	const sign: OnChain["sign"] = (one, answer) => signAnswer(provider, contracts, { claim: one, ...answer });
	return { terms, chain: { where, sign, account: provider.address.toLowerCase() as Hex, escrow: terms } };
}

type Wrap = (answer: (text: string) => Promise<SaidAnswer>) => (text: string) => Promise<SaidAnswer>;

/** A claim on the chain, with its provider at hand to answer. */
async function accused(of: Runner, salt: string, more: Partial<EvidenceMeans> = {}, wrap: Wrap = (one) => one) {
	const { contracts, validators } = network;
	const { chain, terms } = await claimed(of, salt);
	const sent: number[] = [];
	const accuser = validators[0]!;
	const send: NonNullable<EvidenceMeans["chain"]>["send"] = async (call) => {
		const { gasUsed, transactionHash } = await sendCall(contracts.client, accuser, call);
		sent.push(Number(gasUsed));
		return transactionHash;
	};
	const means = { chain: { contracts, account: accuser.address, secret: new Uint8Array(32).fill(7), send }, ...more };
	const right = of.sample === SAMPLES.mlp ? honest.mlp : honest.mixed;
	const net = await toyNetwork(scratch, right, means);
	const at = claimOf(of, net.spec, 0, 0, of.segments, chain);
	const answerer = letAnswer(net, of, at, chain);
	net.answerers.set(partyName(at.provider, null), { answer: wrap((text) => answerer.answer(text)) });
	const audit = { at: 0, auditor: null, first: 1, count: 2, states: right.run.states.slice(1, 4) };
	return { at, terms, audit, net, sent, evidence: createEvidence({ ...net.means, drawBelow: () => 0 }) };
}

const partOf = async (terms: JobTerms) => readJobPart(network.contracts, jobIdOf(terms), 0);
const owedTo = (account: Hex) => read(network.contracts, "jobEscrow", "owedTo", account);

async function mustFall({ at, terms, evidence, sent }: Awaited<ReturnType<typeof accused>>, file: Uint8Array) {
	const { validators, treasurer } = network;
	const before = await Promise.all([validators[0]!.address, treasurer.address].map(owedTo));
	const proven = await evidence.prove({ claim: at, file });
	assert.match(proven!.transaction, /^0x[0-9a-f]{64}$/);
	assert.equal(sent.length, 2, "announced, then proven");
	const costs = UNIT / 10n;
	const quarter = (BOND - costs) / 4n;
	const now = await Promise.all([validators[0]!.address, treasurer.address].map(owedTo));
	assert.deepEqual(
		now.map((one, i) => one - before[i]!),
		[costs + quarter, quarter],
	);
	assert.equal((await partOf(terms)).state, "open");
	// Once more changes nothing and costs nothing.
	assert.equal(await evidence.prove({ claim: at, file }), null);
	assert.equal(sent.length, 2);
	return sent[1]!;
}

/** The first element of this operator whose change shows in S. */
async function liarIn(operator: string): Promise<{ readonly liar: Runner; readonly cheat: Cheat }> {
	const name = operator === "matmul" ? "mlp" : "mixed";
	const sample = SAMPLES[name];
	for (const [op, { output }] of [...sample.program.step.entries()].filter(([, one]) => one.operator === operator)) {
		const cheat = { segment: SEGMENT, step: 1, op, element: elementCount(output.dims) - 1, value: output.hi };
		const liar = await runnerOf(scratch, sample, LAST, cheat);
		if (!Buffer.from(liar.run.hash).equals(honest[name].run.hash)) return { liar, cheat };
	}
	return assert.fail(`no lie in ${operator} shows`);
}

const TRACE: JobQuestion = { audit: null, page: 0, kind: "trace", segment: SEGMENT };
/** What somebody said to it. */
const traceWord = ({ claim, provider }: Pick<ClaimAtHand, "claim" | "provider">, answer: Uint8Array) => ({
	...{ claim: bytesToHex(claimHash(claim)), provider, question: traceQuestion(SEGMENT).slice(2) },
	...{ answer, answerHash: bytesToHex(keccak(answer)) },
});
const heard = async ({ at, net }: Awaited<ReturnType<typeof accused>>) =>
	net.answerers.get(partyName(at.provider, null))!.answer(questionText(TRACE));

for (const operator of ["matmul", "reduce", "scatter_add", "map"])
	test(`a lie in ${operator}: fraud file, proof, bond split, part open again, liar excluded`, async () => {
		const { liar, cheat } = await liarIn(operator);
		const one = await accused(liar, operator);
		const { at, audit, evidence, net } = one;
		// Somebody claimed the same before it, and said the same: those are not this one's words.
		const word = traceWord({ ...at, provider: "ab".repeat(32) }, fromHex(`0x${(await heard(one)).answer}`, 32));
		await net.means.answers.keep({ ...word, signature: `${"11".repeat(64)}1b` }, { nowMs: 0 });
		const rerun = await evidence.rerun({ claim: at, window: audit });
		assert.ok(rerun.kind === "ran" && rerun.states.map(bytesToHex).join() === audit.states.map(bytesToHex).join());
		const ruling = await evidence.referee({ claim: at, audit });
		assert.deepEqual([ruling.verdict, ruling.isProvable], ["provider", true], ruling.why);
		const verdict = verifyFraud(ruling.file!, { claim: bytesToHex(claimHash(at.claim)) });
		assert.ok(verdict.status === "valid");
		const { segment, step: where, op, element, signer } = verdict;
		assert.deepEqual({ segment, step: where, op, element, value: cheat.value }, cheat);
		assert.equal(`0x${signer}`, at.account);
		assert.deepEqual(verdict.findings, []);
		const gas = await mustFall(one, ruling.file!);
		assert.ok(gas <= 500_000, `${gas}`);
		const terms = { segments: 4, parts: 1 } as Parameters<typeof newJob>[1];
		const job = newJob("job", terms);
		const claimedPart = { ...job.parts[0]!, state: "claimed", provider: at.provider, attempt: 1 } as const;
		const [part] = convict({ ...job, parts: [claimedPart] }, 0).parts;
		assert.deepEqual([part!.state, part!.excluded], ["open", [at.provider]]);
	});

test("two answers to one question convict, though both may be true of something", async () => {
	const { liar } = await liarIn("map");
	/** It signs another root than it did before. */
	const another: Wrap = (answer) => async (text) => {
		if (readQuestion(text).kind !== "trace") return answer(text);
		const other = fromHex(hash("another trace"), 32);
		const { claim, question, answerHash } = traceWord(one.at, other);
		const word = { claim: `0x${claim}`, question: `0x${question}`, answerHash: `0x${answerHash}` } as const;
		const signature = await signAnswer(network.provider, network.contracts, word);
		return { answer: bytesToHex(other), signature: signature.slice(2) };
	};
	let first: Wrap = (answer) => answer;
	const one = await accused(liar, "two words", {}, (answer) => (text) => first(answer)(text));
	const { at, audit, evidence, net } = one;
	// Somebody heard its first word before.
	const { answer: said, signature } = await heard(one);
	await net.means.answers.keep({ ...traceWord(at, fromHex(`0x${said}`, 32)), signature }, { nowMs: 0 });
	first = another;
	const ruling = await evidence.referee({ claim: at, audit });
	assert.deepEqual([ruling.verdict, ruling.isProvable], ["provider", true], ruling.why);
	const verdict = verifyFraud(ruling.file!);
	assert.ok(verdict.status === "valid" && verdict.kind === "words" && `0x${verdict.signer}` === at.account);
	assert.ok((await mustFall(one, ruling.file!)) <= 500_000);
});

test("without its signature, by another's, or in silence nobody is convicted on the chain, and none of it clears the claim", async () => {
	const { liar } = await liarIn("map");
	const other: Wrap = (answer) => async (text) => {
		const said = await answer(text);
		return said.signature === null ? said : { ...said, signature: `${"11".repeat(64)}1b` };
	};
	const bare: Wrap = (answer) => async (text) => ({ ...(await answer(text)), signature: null });
	const silent: Wrap = (answer) => async (text) => {
		if (readQuestion(text).kind === "transcript") throw new Error("never");
		return answer(text);
	};
	for (const [name, wrap] of [
		["other", other],
		["bare", bare],
	] as const) {
		const { at, audit, evidence, terms } = await accused(liar, name, {}, wrap);
		const ruling = await evidence.referee({ claim: at, audit });
		assert.deepEqual([ruling.verdict, ruling.file, ruling.isProvable], ["provider", null, false], ruling.why);
		assert.equal((await partOf(terms)).state, "claimed");
	}
	// What is nobody's answer is thrown: asked again later.
	const one = await accused(liar, "silent", {}, silent);
	await assert.rejects(one.evidence.referee({ claim: one.at, audit: one.audit }), /never/);
});

type Poison = (sitting: Sitting) => readonly { readonly question: ChainQuestion; readonly answer: Uint8Array }[];

/** By a friend's questions, before anybody else asks: answers that the chain takes, and that lead nowhere. */
async function poison(sitting: Sitting, answers: ReturnType<Poison>): Promise<void> {
	const { contracts, send, provider, treasurer } = network;
	for (const [i, { question, answer }] of answers.entries()) {
		const asked = toHex(encodeChainQuestion(question));
		await send(
			treasurer,
			i === 0 ? await openGameCall(contracts, sitting, asked) : await askCall(contracts, sitting, asked),
		);
		const reply = { sitting, accuser: treasurer.address, question: asked, answer: toHex(answer) };
		await send(provider, answerQuestionsCall(contracts, [reply]));
	}
}

/** It signs so many answers off chain, gives so many on the chain, and is silent then. */
async function fallSilent(
	liar: Runner,
	salt: string,
	{ signed, onChain, poisoned }: { signed: number; onChain: number; poisoned?: Poison },
) {
	const { contracts, validators, provider, send, wait } = network;
	const silent = new AssayError("NO_ANSWER", "it does not answer");
	let [offChain, given] = [signed, onChain];
	let honestly: (text: string) => Promise<SaidAnswer> = () => Promise.reject(silent);
	const kinds: string[] = [];
	const road: EvidenceMeans["road"] = (at, program, ask) => {
		const words = async (question: JobQuestion) => hexToBytes((await honestly(questionText(question))).answer)!;
		const part = { program, first: at.claim.first, states: at.states };
		/** Time passes, or it answers what was asked last. */
		const sleep = async () => {
			const { job } = at.claim;
			const [game] = (await readGames(contracts, { accuser: accuser.address })).filter(
				(one) => one.sitting.job === job,
			);
			const { question } = game!.rounds.at(-1)!;
			const answer =
				given-- > 0 ? await chainAnswer(part, words, decodeChainQuestion(hexToBytes(question.slice(2))!)!) : null;
			if (answer === null) wait(7200);
			else
				await send(
					provider,
					answerQuestionsCall(contracts, [
						{ sitting: game!.sitting, accuser: game!.accuser, question, answer: toHex(answer) },
					]),
				);
		};
		const { answers, chain } = one.net.means;
		const onAsked = ({ kind }: { readonly kind: string }) => void kinds.push(kind);
		return silentRoad({ chain: chain!, answers, sleep, everyMs: 0, onAsked }, at, program, ask);
	};
	const accuser = validators[0]!;
	const wrap: Wrap = (answer) => (text) => {
		honestly = answer;
		return offChain-- > 0 ? answer(text) : Promise.reject(silent);
	};
	const one = await accused(liar, salt, { road, patienceMs: 0 }, wrap);
	if (poisoned !== undefined) {
		const sitting = { job: one.at.claim.job, part: 0, attempt: 1, provider: provider.address };
		await poison(sitting, poisoned(sitting));
	}
	// From the beginning, as a watcher does: no state is asked for.
	const audit = { ...one.audit, first: 0, count: 3, states: honest.mixed.run.states.slice(0, 4) };
	const ended = await one.evidence
		.referee({ claim: one.at, audit })
		.then(({ isProvable }) => `asked to the end, ${isProvable}`)
		.catch((error: unknown) => {
			if (!(error instanceof SilenceConvicted)) throw error;
			return "silent";
		});
	return { ended, kinds, state: (await partOf(one.terms)).state };
}

test("attack: silence at any level, after any number of answers on either road, convicts", async () => {
	const { liar } = await liarIn("map");
	/**
	 * Answers signed, answers on chain, then silence: what it was asked on chain. There one answer goes down
	 * two levels, or to the leaf.
	 */
	const ways = {
		"0 0": "trace",
		"0 1": "trace op",
		"0 2": "trace op transcript",
		"1 0": "nodes",
		"1 1": "nodes op",
		"2 0": "nodes",
		"3 1": "op transcript",
		"4 0": "leaf",
		"4 1": "leaf transcript",
		"5 0": "transcript",
	};
	for (const [way, asked] of Object.entries(ways)) {
		const [signed, onChain] = way.split(" ").map(Number) as [number, number];
		const { ended, kinds, state } = await fallSilent(liar, `silent ${way}`, { signed, onChain });
		assert.deepEqual([ended, kinds.join(" "), state], ["silent", asked, "open"], way);
	}
});

test("attack: a liar's friend asks first, and the liar answers with what leads nowhere: nobody is kept from asking rightly", async () => {
	const { liar, cheat } = await liarIn("map");
	const { program } = SAMPLES.mixed;
	const place = { segment: cheat.segment, step: cheat.step, op: cheat.op };
	const numbers = (n: number) => new Uint8Array(8 * n).fill(9);
	const nowhere = [new Uint8Array(32).fill(3), new Uint8Array(32).fill(4)];
	const count = program.k * program.step.length;
	const ways: readonly [asked: string, signed: number, poisoned: Poison][] = [
		// Trace, nodes twice, op and leaf are signed; the transcript has a length that no transcript of it has.
		[
			...(["transcript", 5] as const),
			() => [
				{
					question: { kind: "transcript", ...place, element: cheat.element, turns: [], numbers: 1 },
					answer: numbers(1),
				},
			],
		],
		["trace", 0, () => [{ question: { kind: "trace", segment: cheat.segment, count: 1 }, answer: nowhere[0]! }]],
		// Nodes under one that is in no tree of its own.
		[
			...(["nodes op transcript", 1] as const),
			() => [
				{
					question: {
						...{ kind: "nodes", tree: "trace", segment: cheat.segment, step: 0, op: 0, height: 1, index: 0, count },
						node: keccakNode(nowhere[0]!, nowhere[1]!),
					},
					answer: concatBytes(...nowhere),
				},
			],
		],
	];
	for (const [asked, signed, poisoned] of ways) {
		const onChain = asked.split(" ").length - 1;
		const { ended, kinds, state } = await fallSilent(liar, `poisoned ${asked}`, { signed, onChain, poisoned });
		assert.deepEqual([ended, kinds.join(" "), state], ["silent", asked, "open"]);
	}
});

test("an honest claim is not convicted by a lying auditor, nor by any file that was made against another", async () => {
	const { liar } = await liarIn("map");
	const guilty = await accused(liar, "guilty");
	const { file } = await guilty.evidence.referee({ claim: guilty.at, audit: guilty.audit });
	const good = await accused(honest.mixed, "good");
	const audit = { ...good.audit, states: liar.run.states.slice(1, 4) };
	const ruling = await good.evidence.referee({ claim: good.at, audit });
	assert.deepEqual([ruling.verdict, ruling.file], ["auditor", null], ruling.why);
	const stolen: ClaimAtHand = { ...good.at };
	await assert.rejects(good.evidence.prove({ claim: stolen, file: file! }), /refuses/);
	assert.equal((await partOf(good.terms)).state, "claimed");
});
