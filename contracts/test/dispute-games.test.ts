// The silent road on the embedded chain through src/chain: a provider that answers no one off chain is asked
// on chain, level by level, and convicted by its own words, or at any level by its silence. What each move
// costs is in contracts/gas.json. Clocks and deposits one by one are Solidity tests (test/disputes).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { PrivateKeyAccount } from "viem/accounts";
import { callOf, read } from "../../src/chain/contracts/contracts.ts";
import {
	answerQuestionsCall,
	askCall,
	bookOf,
	collectDepositsCall,
	depositFor,
	openGameCall,
	readBook,
	readDisputeParams,
	readGame,
	readGames,
	readWord,
	type Sitting,
	timeoutCall,
} from "../../src/chain/contracts/dispute-games.ts";
import { proveCall, proveTwoWordsCall, proveWireCall, signAnswer } from "../../src/chain/contracts/disputes.ts";
import {
	approveJobsCall,
	assignPartCall,
	claimPartCall,
	fundJobCall,
	type JobTerms,
	jobIdOf,
	readJobPart,
	settlePartCall,
	signAssignment,
	signStored,
} from "../../src/chain/contracts/job-escrow.ts";
import { refusedBecause } from "../../src/chain/sending/refusal.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { fromHex, type Hex, toHex } from "../../src/protocol/chain/hex.ts";
import { keccak } from "../../src/protocol/hash/keccak-tree.ts";
import { answerGas, decodeChainQuestion, HINT_BYTES } from "../../src/protocol/network/chain-question.ts";
import { traceQuestion } from "../../src/verify/optimistic/fraud/fraud-proof.ts";
import type { Op } from "../../src/work/program/shapes.ts";
import { claimHash } from "../../src/work/trace/commitments.ts";
import { encodeTranscript } from "../../src/work/trace/transcript.ts";
import { isDeep } from "../../tests/fuzz.test-kit.ts";
import { NO_TERMS } from "./disputes.test-kit.ts";
import { digest, drawnClaim, type Round } from "./drawn-claim.test-kit.ts";
import { checkGas } from "./gas.test-kit.ts";
import { openTestNetwork, type TestNetwork, UNIT } from "./network.test-kit.ts";

const gas: Record<string, number> = {};
const SEED = digest("seed");
const hash = (text: string): Hex => toHex(digest(text));

let network: TestNetwork;
let accuser: PrivateKeyAccount;
before(async () => {
	network = await openTestNetwork(2);
	const { contracts, send, provider, treasurer } = network;
	accuser = network.validators[1]!;
	await send(treasurer, callOf(contracts, "token", "transfer", provider.address, 1000n * UNIT));
	for (const account of [treasurer, provider]) await send(account, approveJobsCall(contracts, 10n ** 30n));
	await send(provider, callOf(contracts, "jobEscrow", "deposit", 100n * UNIT));
	// Somebody was convicted before: only the very first burning of a deployment makes an entry, of 17,100 gas.
	// The customer's is gone again.
	await send(accuser, await twoWordsCall());
	await send(treasurer, callOf(contracts, "jobEscrow", "collect", treasurer.address));
});
after(() => network.close());

const bytesFrom = (name: string, size: number) =>
	Uint8Array.from({ length: size }, (_, i) => digest(`${name} ${i >> 5}`)[i & 31]!);

/** A product with K = 4,096 and a trace of 2¹⁵ leaves, in a job of so many segments. */
async function claimed(name: string, segments: number, rows: number, columns: number, isListWithheld: boolean) {
	const { contracts, send, treasurer, provider, validators } = network;
	const K = 4096;
	const operand = (index: number, dim: number) => ({ source: "input", index, type: "i8", dims: [1, dim, K] }) as const;
	const output = { type: "i32", dims: [1, rows, columns], lo: -(2n ** 31n), hi: 2n ** 31n - 1n } as const;
	const op: Op = { operator: "matmul", output, target: null, operands: [operand(0, rows), operand(1, columns)] };
	const [row, column] = [rows - 3, columns - 5];
	const nowS = Number((await contracts.client.viem.getBlock()).timestamp);
	const validator = validators[0]!;
	const terms: JobTerms = {
		...NO_TERMS,
		...{ customer: treasurer.address, salt: hash(name), spec: hash("spec") },
		...{ parts: 1, price: UNIT, fee: UNIT / 50n, audit: UNIT / 5n, bond: 10n * UNIT, quorum: 1 },
		...{ startBy: BigInt(nowS + 86_400), workSeconds: 1200, windowSeconds: 600, checkedSeconds: 600 },
		validators: [validator.address],
	};
	const made = drawnClaim(
		{
			...{ segments, ops: 1024, k: 32, segment: Math.floor(segments * 0.7), step: 17, op, seed: SEED },
			...{ element: row * columns + column, outputLeaves: (rows * columns * 4) / 1024 },
			operands: [
				{ bytes: bytesFrom("A", 1024), index: row * 4, count: rows * 4 },
				{ bytes: bytesFrom("B", 1024), index: column * 4, count: columns * 4 },
			],
			transcript: encodeTranscript([1n, 2n, 3n, 4n]),
		},
		terms,
		isListWithheld,
	);
	const job = jobIdOf(made.accused.terms);
	await send(treasurer, fundJobCall(contracts, made.accused.terms));
	const assignment = { part: 0, attempt: 1, until: terms.startBy, draw: hash("draw") };
	const drawn = await signAssignment(validator, contracts, job, provider.address, assignment);
	await send(provider, assignPartCall(contracts, made.accused.terms, assignment, [drawn]));
	const { addresses } = contracts;
	const claim = claimHash({
		...{ chainId: BigInt(addresses.chainId), escrow: fromHex(addresses.jobEscrow.toLowerCase(), 20), job, part: 0 },
		...{ program: fromHex(made.accused.terms.program, 32), inputs: fromHex(made.accused.terms.inputs, 32) },
		...{ first: 0, segments, segmentRoot: fromHex(made.claim.segmentRoot, 32) },
		resultRoot: fromHex(made.claim.resultRoot, 32),
	});
	const stored = await signStored(validator, contracts, { job, part: 0, attempt: 1 }, toHex(claim));
	await send(provider, claimPartCall(contracts, made.accused.terms, 0, made.claim, [stored]));
	return {
		...made,
		claimHash: toHex(claim),
		sitting: { job, part: 0, attempt: 1, provider: provider.address } satisfies Sitting,
	};
}

/** Convicts a claim by two words to one question. */
async function twoWordsCall() {
	const { contracts, provider } = network;
	const { accused, claimHash: claim } = await claimed("two words", 2 ** 10, 512, 512, false);
	const question = traceQuestion(3);
	const answers = [hash("one"), hash("other")] as const;
	const sign = (answerHash: Hex) => signAnswer(provider, contracts, { claim, question, answerHash });
	return proveTwoWordsCall(contracts, hash("salt"), accused, {
		question,
		answers,
		signatures: [await sign(answers[0]), await sign(answers[1])],
	});
}

/** Asked and answered; gas of both. */
async function play(sitting: Sitting, { question, answer }: Round, isFirst: boolean) {
	const { contracts, send, provider } = network;
	const call = isFirst ? await openGameCall(contracts, sitting, question) : await askCall(contracts, sitting, question);
	const asked = await send(accuser, call);
	const reply = { sitting, accuser: accuser.address, question, answer };
	const answered = await send(provider, answerQuestionsCall(contracts, [reply]));
	// What an answer costs at the fee cap is less than its deposit.
	const { gasPrice } = await readDisputeParams(contracts);
	const worth = Number((await depositFor(contracts, question)) / gasPrice);
	assert.equal(answerGas(decodeChainQuestion(fromHex(question, (question.length - 2) / 2))!), worth);
	assert.ok(answered <= worth, `${answered} of ${worth}`);
	return [asked, answered] as const;
}

async function playAll(claim: Awaited<ReturnType<typeof claimed>>) {
	const { contracts, send } = network;
	const { sitting, rounds, accused, fault } = claim;
	let total = 0;
	const costs = new Map<string, readonly [number, number]>();
	for (const [i, round] of rounds.entries()) {
		const both = await play(sitting, round, i === 0);
		costs.set(round.name, both);
		total += both[0] + both[1];
	}
	const proof = await send(accuser, proveCall(contracts, hash("salt"), accused, fault));
	assert.equal((await readJobPart(contracts, sitting.job, 0)).state, "open");
	return { total: total + proof, costs, proof };
}

test("trace and a tensor of 1 MiB withheld: asked, answered, convicted by the provider's own words", async () => {
	const { contracts, send } = network;
	const claim = await claimed("withheld", 2 ** 17, 512, 512, false);
	const { sitting, rounds } = claim;
	const had = await contracts.client.viem.getBalance({ address: accuser.address });
	const { total, costs, proof } = await playAll(claim);
	gas.gameSilent = total;
	[gas.gameOpen, gas.gameTrace] = costs.get("trace")!;
	[gas.gameAsk, gas.gameNodes] = costs.get("trace 7")!;
	gas.gameLeaf = costs.get("tensor 2")![1];
	gas.gameOp = costs.get("op")![1];
	gas.gameTranscript = costs.get("transcript")![1];
	gas.gameProve = proof;
	// All of it can be read from events, by provider and by accuser.
	const [game] = await readGames(contracts, { book: bookOf(sitting) });
	assert.deepEqual(
		game!.rounds.map(({ question, answer }) => ({ question, answer })),
		rounds.map(({ question, answer }) => ({ question, answer })),
	);
	assert.deepEqual(await readGames(contracts, { provider: sitting.provider }), [game]);
	assert.deepEqual(await readGames(contracts, { accuser: accuser.address }), [game]);
	assert.notEqual(await readWord(contracts, sitting, traceQuestion(Number(claim.accused.segment))), null);
	assert.equal(await readWord(contracts, sitting, traceQuestion(3)), null);
	// The claim is dead: the accuser has its deposits again.
	const between = await contracts.client.viem.getBalance({ address: accuser.address });
	await send(network.treasurer, collectDepositsCall(contracts, sitting, accuser.address));
	const deposits = (await contracts.client.viem.getBalance({ address: accuser.address })) - between;
	let sum = 0n;
	for (const { question } of rounds) sum += await depositFor(contracts, question);
	assert.equal(deposits, sum);
	assert.ok(between < had);
	assert.equal((await readGame(contracts, sitting, accuser.address)).isPaid, true);
});

test("everything withheld: a list of 2¹⁷ segments, a trace of 2¹⁵ leaves, a tensor of 1 GiB", async () => {
	const { total, costs } = await playAll(await claimed("everything", 2 ** 17, 16_384, 16_384, true));
	gas.gameEverything = total;
	gas.gameTensorNodes = costs.get("tensor 12")![1];
});

test("without hints, too, an answer costs less than its deposit", async () => {
	const { sitting, rounds, leafRound } = await claimed("plain", 2 ** 10, 512, 512, false);
	const plain = rounds
		.filter(({ name }) => name !== "transcript")
		.map((round) => {
			const [inputs, below] = [round.name === "op" ? 2 : 0, round.name === "tensor 2" ? 4 : 16];
			const answer = round.answer.slice(0, 2 + 64 * (inputs + below)) as Hex;
			return { ...round, question: round.question.slice(0, -2 * HINT_BYTES) as Hex, answer };
		});
	for (const [i, round] of [...plain, leafRound].entries()) await play(sitting, round, i === 0);
});

test("attack: withheld at each level. Every question of the way down could be answered, and none that is not so", async () => {
	const { contracts } = network;
	const { accused, rounds, leafRound } = await claimed("each level", 2 ** 10, 512, 512, true);
	const judged = (question: Hex, basis: Round["basis"], of = accused) =>
		read(contracts, "wireJudge", "judgeQuestion", of, accuser.address, question, basis).then(
			() => "so",
			(error: unknown) => refusedBecause(error) ?? "Panic",
		);
	const names = new Set<string>();
	for (const { name, question, basis } of [...rounds, leafRound]) {
		assert.equal(await judged(question, basis), "so", name);
		names.add(name.split(" ")[0]!);
		// Any other byte says something else of the claim. Where the list is asked for, the segment counts for
		// nothing.
		const bytes = Buffer.from(question.slice(2), "hex");
		// What the asker hints is so whatever it is.
		const end = bytes.length - (name === "leaf" || name === "transcript" ? 0 : HINT_BYTES);
		for (let at = isDeep ? 0 : names.size % 5; at < end; at += isDeep ? 1 : 5) {
			if (name.startsWith("list") && at >= 3 && at < 19) continue;
			if (name.startsWith("trace ") && at >= 11 && at < 19) continue;
			if (name === "transcript" && at >= 25 && at < 26) continue;
			const other = Buffer.from(bytes);
			other[at]! ^= 1;
			const found = await judged(`0x${other.toString("hex")}`, basis);
			// Another element of the same row, or another step, is a question too.
			const isAnother = name === "transcript" && ((at >= 10 && at < 14) || (at >= 18 && at < 26));
			assert.ok(found !== "so" || isAnother, `${name}: byte ${at}`);
		}
		for (const [i] of isDeep ? basis.path.entries() : basis.path.slice(-1).entries()) {
			const path = basis.path.with(i, hash("other"));
			assert.notEqual(await judged(question, { ...basis, path }), "so", name);
		}
		const more = { ...basis, path: [...basis.path, hash("other")] };
		if (name !== "trace" && name !== "transcript") assert.notEqual(await judged(question, more), "so", name);
	}
	assert.deepEqual([...names].sort(), ["leaf", "list", "op", "tensor", "trace", "transcript"]);
	const { question, basis } = rounds.find(({ name }) => name === "op")!;
	assert.equal(await judged(question, basis, { ...accused, trace: hash("other") }), "QuestionInvalid");
	assert.equal(await judged(question, basis, { ...accused, ops: hash("other") }), "ProgramMismatch");
	const malformed = { ...basis, op: { ...basis.op, leaf: `${basis.op.leaf}00` as Hex } };
	assert.equal(await judged(question, malformed), "OpUnknown");
});

test("a false wire convicts by a signed trace; one that is right, or shown from elsewhere, does not", async () => {
	const { contracts, send, provider } = network;
	const { accused, wire, sitting, claimHash: claim } = await claimed("wire", 2 ** 10, 512, 512, false);
	const judged = (fault: typeof wire) => read(contracts, "wireJudge", "judgeWire", hash("salt"), accused, fault);
	const [said, right] = await judged(wire);
	assert.deepEqual([said, right], [wire.leaf.inputs[0], wire.fromRoot.root]);
	const refused = (fault: typeof wire) =>
		judged(fault).then(
			() => null,
			(error: unknown) => refusedBecause(error),
		);
	assert.equal(await refused({ ...wire, origin: 1 }), "PlaceInvalid");
	assert.equal(await refused({ ...wire, operand: 1 }), "PlaceInvalid");
	assert.equal(await refused({ ...wire, operand: 2 }), "PlaceInvalid");
	assert.equal(await refused({ ...wire, inputs: hash("other") }), "InputsMismatch");
	assert.equal(await refused({ ...wire, fromRoot: { ...wire.fromRoot, root: said } }), "TraceMismatch");
	await assert.rejects(send(accuser, proveWireCall(contracts, hash("salt"), accused, wire)), /AnswerUnsigned/);
	const word = {
		question: traceQuestion(Number(accused.segment)),
		answerHash: toHex(keccak(fromHex(accused.trace, 32))),
	};
	const traceSignature = await signAnswer(provider, contracts, { claim, ...word });
	gas.proveWire = await send(accuser, proveWireCall(contracts, hash("salt"), { ...accused, traceSignature }, wire));
	assert.equal((await readJobPart(contracts, sitting.job, 0)).state, "open");
});

test("silence convicts: after a question's time anyone brings the end about, and the accuser is paid", async () => {
	const { contracts, send, wait, treasurer, provider } = network;
	const { accused, rounds, sitting } = await claimed("silent", 2 ** 10, 512, 512, false);
	const [trace, nodes] = rounds;
	await play(sitting, trace!, true);
	await send(accuser, await askCall(contracts, sitting, nodes!.question));
	const { deadlineS } = await readGame(contracts, sitting, accuser.address);
	const { questionSeconds } = await readDisputeParams(contracts);
	assert.ok(deadlineS !== null);
	const asked = { accuser: accuser.address, question: nodes!.question };
	await assert.rejects(send(treasurer, timeoutCall(contracts, accused, asked, nodes!.basis)), /WrongTime/);
	wait(questionSeconds + 30);
	const late = { sitting, accuser: accuser.address, question: nodes!.question, answer: nodes!.answer };
	await assert.rejects(send(provider, answerQuestionsCall(contracts, [late])), /WrongTime/);
	const owed = await read(contracts, "jobEscrow", "owedTo", accuser.address);
	gas.gameTimeout = await send(treasurer, timeoutCall(contracts, accused, asked, nodes!.basis));
	assert.equal((await readJobPart(contracts, sitting.job, 0)).state, "open");
	const costs = UNIT / 10n;
	assert.equal(
		(await read(contracts, "jobEscrow", "owedTo", accuser.address)) - owed,
		costs + (accused.terms.bond - costs) / 4n,
	);
	await send(treasurer, collectDepositsCall(contracts, sitting, accuser.address, nodes!.question));
});

test("20 false accusers, in a deep run 100: every question is answered, the claim is paid in time, and the honest one has more coins than before", async () => {
	const { contracts, send, wait, treasurer, provider } = network;
	const { accused, rounds, sitting } = await claimed("flooded", 2 ** 10, 512, 512, false);
	const { question, answer } = rounds[0]!;
	const count = isDeep ? 100 : 20;
	const fee = 20n * 10n ** 9n;
	const spentOf: number[] = [];
	const accusers: PrivateKeyAccount[] = [];
	for (let i = 0; i < count; i++) {
		const one = accountOf(`0x${"c0".repeat(31)}${i.toString(16).padStart(2, "0")}`);
		accusers.push(one);
		await send(treasurer, { to: one.address, data: "0x", value: 10n ** 17n });
		await send(one, await openGameCall(contracts, sitting, question));
	}
	const had = await contracts.client.viem.getBalance({ address: provider.address });
	for (let i = 0; i < count; i += 20) {
		const replies = accusers.slice(i, i + 20).map((one) => ({ sitting, accuser: one.address, question, answer }));
		spentOf.push(await send(provider, answerQuestionsCall(contracts, replies)));
	}
	gas.gameAnswerMany20 = spentOf[0]!;
	const spent = BigInt(spentOf.reduce((sum, one) => sum + one, 0));
	const paidForGas = had - (await contracts.client.viem.getBalance({ address: provider.address }));
	await assert.rejects(send(treasurer, settlePartCall(contracts, accused.terms, 0)), /TooEarly|Held/);
	const { replySeconds, gameSeconds } = await readDisputeParams(contracts);
	wait(accused.terms.windowSeconds + 30);
	await assert.rejects(send(treasurer, settlePartCall(contracts, accused.terms, 0)), /Held/);
	assert.ok(replySeconds < gameSeconds);
	const { heldUntil, open } = await readBook(contracts, sitting);
	assert.equal(open, count);
	// One that did not go on is closed; the others hold the claim until the end of their games.
	wait(replySeconds);
	gas.gameClose = await send(treasurer, callOf(contracts, "disputes", "close", bookOf(sitting), accusers[0]!.address));
	const nowS = Number((await contracts.client.viem.getBlock()).timestamp);
	wait(heldUntil - nowS + 30);
	await send(treasurer, settlePartCall(contracts, accused.terms, 0));
	const before = await contracts.client.viem.getBalance({ address: provider.address });
	for (const one of accusers) {
		const used = await send(treasurer, collectDepositsCall(contracts, sitting, one.address));
		gas.gameCollect = used;
	}
	const gained = (await contracts.client.viem.getBalance({ address: provider.address })) - before;
	assert.equal(gained, BigInt(count) * (await depositFor(contracts, question)));
	// Also if every unit of gas had cost the fee cap.
	assert.ok(gained > paidForGas && gained > spent * fee, `${gained} ${paidForGas} ${spent * fee}`);
});

test("gas is what contracts/gas.json says, and within its limits", () => {
	checkGas("games", gas);
	assert.ok(gas.gameSilent! <= 900_000, `${gas.gameSilent}`);
	assert.ok(gas.gameEverything! <= 1_600_000, `${gas.gameEverything}`);
	assert.ok(gas.gameTimeout! <= 350_000, `${gas.gameTimeout}`);
});
