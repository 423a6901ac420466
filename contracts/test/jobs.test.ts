// Jobs on the embedded chain through src/chain: funded, assigned, claimed, checked, settled, and convicted by
// signed answers, with what each act costs in gas. The rules one by one are Solidity tests (test/jobs), what
// the judge finds is judge.test.ts.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { callOf, read, readEvents } from "../../src/chain/contracts/contracts.ts";
import {
	type AccusedCase,
	announcementOf,
	type ElementFault,
	proveCall,
	signAnswer,
} from "../../src/chain/contracts/disputes.ts";
import {
	approveJobsCall,
	assignPartCall,
	checkPartCall,
	claimPartCall,
	expirePartCall,
	fundJobCall,
	type JobTerms,
	jobCost,
	jobIdOf,
	readJobDeposit,
	readJobPart,
	releasePartCall,
	settlePartCall,
	signAssignment,
	signChecked,
	signReleased,
	signStored,
} from "../../src/chain/contracts/job-escrow.ts";
import type { Call } from "../../src/chain/sending/sign.ts";
import { fromHex, type Hex, toHex } from "../../src/protocol/chain/hex.ts";
import { keccakNode } from "../../src/protocol/hash/keccak-tree.ts";
import { rootFromPath } from "../../src/protocol/hash/merkle.ts";
import { philoxKey } from "../../src/protocol/hash/philox.ts";
import { mixedSample } from "../../src/work/builder/samples.test-kit.ts";
import type { Elements } from "../../src/work/operators/tensor-type.ts";
import { decodeOp } from "../../src/work/program/decode.ts";
import { encodeOp } from "../../src/work/program/encode.ts";
import { orThrow } from "../../src/work/program/fault.ts";
import { sealProgram } from "../../src/work/program/open-program.ts";
import { createMachine } from "../../src/work/program/run-program.ts";
import { LIMITS, type MapOp, type Op } from "../../src/work/program/shapes.ts";
import { claimHash, stateHashFrom } from "../../src/work/trace/commitments.ts";
import { type Contradiction, judgeElement, type Words } from "../../src/work/trace/judge.ts";
import { spanLength, transcriptLength } from "../../src/work/trace/layout.ts";
import { traceSegment } from "../../src/work/trace/run-trace.ts";
import { createSpanTranscript, createTranscript } from "../../src/work/trace/transcript.ts";
import { type Asked, caseOf, drawnLeaf, NO_TERMS } from "./disputes.test-kit.ts";
import { checkGas } from "./gas.test-kit.ts";
import { openTestNetwork, type TestNetwork, UNIT } from "./network.test-kit.ts";

const gas: Record<string, number> = {};
const digest = (text: string): Uint8Array => new Uint8Array(createHash("sha256").update(text).digest());
const hash = (text: string): Hex => toHex(digest(text));
const SEED = digest("seed");

let network: TestNetwork;
/** In the order of the terms. */
let validators: TestNetwork["validators"];
before(async () => {
	network = await openTestNetwork();
	const { contracts, send, provider, treasurer } = network;
	validators = network.validators.toSorted((a, b) => (a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1));
	await send(treasurer, callOf(contracts, "token", "transfer", provider.address, 1000n * UNIT));
	for (const account of [treasurer, provider]) await send(account, approveJobsCall(contracts, 10n ** 30n));
	gas.jobDeposit = await send(provider, callOf(contracts, "jobEscrow", "deposit", 300n * UNIT));
});
after(() => network.close());

const nowS = async () => Number((await network.contracts.client.viem.getBlock()).timestamp);

/** One part of so many segments; two of three must sign. */
async function someTerms(salt: string, more: Partial<JobTerms> = {}): Promise<JobTerms> {
	return {
		...NO_TERMS,
		...{ customer: network.treasurer.address, salt: hash(salt), start: hash("start"), seed: toHex(SEED) },
		...{ program: hash("program"), inputs: hash("inputs"), spec: hash("spec"), segments: 1024n, parts: 1 },
		...{ price: UNIT, fee: UNIT / 50n, audit: UNIT / 5n, bond: 10n * UNIT, startBy: BigInt((await nowS()) + 86_400) },
		...{ workSeconds: 1200, windowSeconds: 86_400, checkedSeconds: 600, method: 1, quorum: 2 },
		validators: validators.map(({ address }) => address),
		...more,
	};
}

/** A claim that nobody ran: its first and last state are what they must be. */
function claimOf(terms: JobTerms) {
	const { addresses } = network.contracts;
	const segments = Number(terms.segments);
	const [states, results] = [digest("states"), digest("results")];
	const last = stateHashFrom(segments, states, results);
	// A power of two and one leaf more: the last one is a half of its own. All leaves between are drawn.
	const first = fromHex(terms.start, 32);
	const path = Array.from({ length: Math.log2(segments) }, (_, i) => digest(`node ${i}`));
	const half = rootFromPath(first, 0, segments, path, keccakNode)!;
	const segmentRoot = keccakNode(half, last);
	const claim = claimHash({
		...{ chainId: BigInt(addresses.chainId), escrow: fromHex(addresses.jobEscrow.toLowerCase(), 20) },
		...{ job: jobIdOf(terms), part: 0, program: fromHex(terms.program, 32), inputs: fromHex(terms.inputs, 32) },
		...{ first: 0, segments, segmentRoot, resultRoot: results },
	});
	const shown = {
		...{ segmentRoot: toHex(segmentRoot), resultRoot: toHex(results), first: terms.start, previous: hash("") },
		...{ firstPath: [...path, last].map(toHex), lastStates: toHex(states), lastPath: [toHex(half)] },
	};
	return { claim: toHex(claim), last: toHex(last), shown };
}

/** By a quorum. */
const signTwo = <T>(one: (validator: (typeof validators)[0]) => Promise<T>): Promise<T[]> =>
	Promise.all([validators[0]!, validators[2]!].map(one));

/** To the provider; the gas that it took. */
async function assign(terms: JobTerms, attempt: number): Promise<number> {
	const { contracts, send, provider } = network;
	const assignment = { part: 0, attempt, until: terms.startBy, draw: hash("draw") };
	const drawn = await signTwo((one) => signAssignment(one, contracts, jobIdOf(terms), provider.address, assignment));
	return send(provider, assignPartCall(contracts, terms, assignment, drawn));
}

/** Funded, assigned and claimed; gas under the names, if any. */
async function claimed(terms: JobTerms, names: readonly string[] = []) {
	const { contracts, send, treasurer, provider } = network;
	const job = jobIdOf(terms);
	const costs = [await send(treasurer, fundJobCall(contracts, terms)), await assign(terms, 1)];
	const { claim, last, shown } = claimOf(terms);
	const stored = await signTwo((one) => signStored(one, contracts, { job, part: 0, attempt: 1 }, claim));
	costs.push(await send(provider, claimPartCall(contracts, terms, 0, shown, stored)));
	for (const [i, name] of names.entries()) gas[name] = costs[i]!;
	return { job, claim, last, shown };
}

test("a job is funded, assigned, claimed, checked, settled, and everyone collects", async () => {
	const { contracts, send, wait, treasurer, provider } = network;
	const terms = await someTerms("first");
	const paidBefore = await read(contracts, "token", "balanceOf", contracts.addresses.jobEscrow);
	const { job, claim, last } = await claimed(terms, ["jobFund", "jobAssign", "jobClaim"]);
	assert.equal(await read(contracts, "jobEscrow", "jobIdOf", terms), job);
	assert.equal(
		(await read(contracts, "token", "balanceOf", contracts.addresses.jobEscrow)) - paidBefore,
		jobCost(terms),
	);
	const audits = [{ auditor: validators[1]!.address, pay: UNIT / 10n }];
	const checks = await Promise.all(
		[1, 2].map((i) => signChecked(validators[i]!, contracts, { job, part: 0, attempt: 1 }, { claim, audits })),
	);
	gas.jobCheck = await send(treasurer, checkPartCall(contracts, terms, 0, { claim, last, audits }, checks));
	const part = await readJobPart(contracts, job, 0);
	assert.deepEqual([part.state, part.isChecked, part.provider], ["claimed", true, provider.address.toLowerCase()]);
	assert.equal((await readJobDeposit(contracts, provider.address)).locked, terms.bond);
	await assert.rejects(send(treasurer, settlePartCall(contracts, terms, 0)), /TooEarly/);
	await assert.rejects(send(treasurer, expirePartCall(contracts, terms, 0)), /WrongState/);
	wait(700);
	gas.jobSettle = await send(treasurer, settlePartCall(contracts, terms, 0));
	gas.jobShare = await send(treasurer, callOf(contracts, "jobEscrow", "share", terms));
	const had = await read(contracts, "token", "balanceOf", provider.address);
	gas.jobCollect = await send(provider, callOf(contracts, "jobEscrow", "collect", provider.address));
	assert.equal((await read(contracts, "token", "balanceOf", provider.address)) - had, terms.price);
	const share = terms.fee / 3n;
	for (const [i, more] of [terms.fee - 3n * share, UNIT / 10n, 0n].entries())
		assert.equal(await read(contracts, "jobEscrow", "owedTo", validators[i]!.address), share + more);
	assert.equal(await read(contracts, "jobEscrow", "owedTo", treasurer.address), UNIT / 10n);
	// A long list of segments.
	const large = await someTerms("large", { segments: 2n ** 17n });
	await claimed(large, ["", "", "jobClaimLargest"]);
	delete gas[""];
});

test("a part whose host is gone is released by the quorum's word; its host hands one back by itself", async () => {
	const { contracts, send, treasurer, provider } = network;
	const terms = await someTerms("released");
	const job = jobIdOf(terms);
	await send(treasurer, fundJobCall(contracts, terms));
	await assign(terms, 1);
	const locked = async () => (await readJobDeposit(contracts, provider.address)).locked;
	const before = await locked();
	const word = (attempt: number) => signTwo((one) => signReleased(one, contracts, { job, part: 0, attempt }));
	const release = async (by: typeof treasurer, attempt: number, signed: readonly Hex[]) =>
		send(by, releasePartCall(contracts, terms, { part: 0, attempt }, signed));
	const first = await word(1);
	await assert.rejects(release(treasurer, 1, []), /SignaturesInvalid/);
	await assert.rejects(release(treasurer, 1, first.slice(1)), /SignaturesInvalid/);
	await assert.rejects(release(treasurer, 2, await word(2)), /WrongAttempt/);
	gas.jobRelease = await release(treasurer, 1, first);
	assert.deepEqual([(await readJobPart(contracts, job, 0)).state, before - (await locked())], ["open", terms.bond]);
	await assert.rejects(release(treasurer, 1, first), /WrongState/);
	await assign(terms, 2);
	await assert.rejects(release(treasurer, 1, first), /WrongAttempt/);
	await assert.rejects(release(treasurer, 2, first), /SignaturesInvalid/);
	await release(provider, 2, []);
	assert.deepEqual([(await readJobPart(contracts, job, 0)).state, before - (await locked())], ["open", terms.bond]);
	await send(treasurer, expirePartCall(contracts, terms, 0));
});

/** Everything of a case that the accused signs. */
async function proofOf(name: string, asked: Asked, words: Words, shown: Contradiction) {
	const { contracts, provider } = network;
	const moment = { segment: asked.segment, step: asked.step, k: asked.k, key: philoxKey(asked.seed) };
	const here = judgeElement({ ...asked, moment }, words, shown);
	assert.ok(
		here.convicts,
		JSON.stringify(here, (_, value) => String(value)),
	);
	const made = caseOf(asked, words, shown, 1024, await someTerms(name));
	const { terms } = made.accused;
	const { claim, last, shown: claimShown } = await claimed(terms);
	const signatures = await Promise.all(
		made.answers.map((answer) => signAnswer(provider, contracts, { claim, ...answer })),
	);
	const { segmentRoot, resultRoot } = claimShown;
	const accused: AccusedCase = { ...made.accused, segmentRoot, resultRoot, last, traceSignature: signatures[0]! };
	const fault: ElementFault = { ...made.fault, signatures: signatures.slice(1) };
	return { terms, claim, accused, fault };
}

/** Convicts, and the bond is shared as docs/chain.md §11 says. */
async function mustConvict(name: string, asked: Asked, words: Words, shown: Contradiction): Promise<void> {
	const { contracts, send, provider } = network;
	const accuser = network.validators[0]!;
	const { terms, claim, accused, fault } = await proofOf(name, asked, words, shown);
	const proof = proveCall(contracts, hash("salt"), accused, fault);
	await send(accuser, callOf(contracts, "disputes", "announce", announcementOf(accuser.address, proof, hash("salt"))));
	const owed = await read(contracts, "jobEscrow", "owedTo", accuser.address);
	gas[name] = await send(accuser, proof);
	const costs = UNIT / 10n;
	const quarter = (terms.bond - costs) / 4n;
	assert.equal((await read(contracts, "jobEscrow", "owedTo", accuser.address)) - owed, costs + quarter);
	assert.equal((await readJobPart(contracts, jobIdOf(terms), 0)).state, "open");
	const [event] = (await readEvents(contracts, "disputes", "Proven", { claim })).slice(-1);
	assert.equal(event?.args.provider, provider.address);
	// The claim is dead: the same proof does not convict again.
	await assert.rejects(send(accuser, proof), /WrongState/);
}

const bytesFrom = (name: string, size: number) =>
	Uint8Array.from({ length: size }, (_, i) => digest(`${name} ${i >> 5}`)[i & 31]!);
const at = { segment: 700, step: 17, k: 32, seed: SEED };
const i64 = { lo: -(2n ** 63n), hi: 2n ** 63n - 1n };

/** Of an op with its shown leaves; the first running number is one too high. */
function sumCase(op: Op, leaves: readonly ReturnType<typeof drawnLeaf>[], numbers: number, element = 0) {
	const inputs = leaves.map(({ root }) => root);
	const asked = { ...at, op, inputs, output: digest("output"), element };
	const words = { transcript: Array.from({ length: numbers }, () => 12_345_678n) };
	return [asked, words, { kind: "chunk", chunk: 0, leaves: leaves.map(({ leaf }) => leaf) }] as const;
}

test("a lie in a product of 16 MiB matrices, K = 4,096", async () => {
	const operand = { source: "input", index: 0, type: "i8", dims: [1, 4096, 4096] } as const;
	const output = { type: "i32", dims: [1, 4096, 4096], lo: -(2n ** 31n), hi: 2n ** 31n - 1n } as const;
	const op: Op = { operator: "matmul", output, target: null, operands: [operand, operand] };
	const leaves = ["A", "B"].map((name) => drawnLeaf(bytesFrom(name, 1024), name === "A" ? 4 * 1000 : 4 * 77, 16_384));
	await mustConvict("proveMatmul", ...sumCase(op, leaves, 4, 1000 * 4096 + 77));
});

const A_LEAF = { i8: 1024, i16: 512, i32: 256 } as const;

test("lies in products of two types, and of i32, K = 4,096", async () => {
	for (const [name, ...types] of [
		["proveMatmul8By16", "i8", "i16"],
		["proveMatmul16By32", "i16", "i32"],
		["proveMatmul32", "i32", "i32"],
	] as const) {
		const operands = types.map((type, index) => ({ source: "input", index, type, dims: [1, 4096, 4096] }) as const);
		const op: Op = {
			...{ operator: "matmul", output: { type: "i64", dims: [1, 4096, 4096], ...i64 }, target: null, operands },
		};
		const rows = types.map((type) => 4096 / A_LEAF[type]);
		const leaves = rows.map((row, i) => drawnLeaf(bytesFrom(`${name} ${i}`, 1024), row * [1000, 77][i]!, row * 4096));
		await mustConvict(name, ...sumCase(op, leaves, Math.max(...rows), 1000 * 4096 + 77));
	}
});

/**
 * What a call costs in the EVM alone, without its bytes: the code of a contract that makes it while it is
 * created, and tells.
 */
async function gasInside({ to, data }: Call): Promise<number> {
	const size = ((data.length - 2) / 2).toString(16).padStart(4, "0");
	const code = `61${size}60305f395a5f5f61${size}5f73${to!.slice(2)}5afa505a90035f5260205ff3`;
	const padded = code.padEnd(2 * 0x30, "0");
	const { data: told } = await network.contracts.client.viem.call({ data: `0x${padded}${data.slice(2)}` });
	return Number(told);
}

test("a product of i16 alone, from chunks of 512 and of 256 of them", async () => {
	const { contracts } = network;
	const used: number[] = [];
	for (const [rows, length] of [
		[512, 512],
		[1024, 256],
	] as const) {
		const operand = { source: "input", index: 0, type: "i16", dims: [1, rows, length] } as const;
		const output = { type: "i64", dims: [1, rows, rows], ...i64 } as const;
		const op: Op = { operator: "matmul", output, target: null, operands: [operand, operand] };
		const leaves = ["A", "B"].map((name) => drawnLeaf(bytesFrom(name, 1024), 0, 512));
		const made = caseOf(...sumCase(op, leaves, 1), 1024);
		await read(contracts, "judge", "judgeElement", hash("salt"), made.accused, made.fault);
		used.push(await gasInside(callOf(contracts, "judge", "judgeElement", hash("salt"), made.accused, made.fault)));
	}
	gas.judgeProduct16 = Math.ceil((used[0]! - used[1]!) / 256);
});

test("a lie in a reduction of 4,096 elements", async () => {
	const operand = { source: "input", index: 0, type: "i8", dims: [4096, 4096] } as const;
	const op: Op = {
		...{ operator: "reduce", reduction: "argmax", output: { type: "i32", dims: [4096], lo: 0n, hi: 4095n } },
		...{ target: null, operands: [operand] },
	};
	await mustConvict("proveReduce", ...sumCase(op, [drawnLeaf(bytesFrom("X", 1024), 4 * 9, 16_384)], 7, 9));
});

test("a lie in a largest of 4,096 elements of i16, and in a scattered sum of i8 by i8", async () => {
	const wide = { source: "input", index: 0, type: "i16", dims: [4096, 4096] } as const;
	const most: Op = {
		...{ operator: "reduce", reduction: "max", output: { type: "i64", dims: [4096], ...i64 } },
		...{ target: null, operands: [wide] },
	};
	await mustConvict("proveReduce16", ...sumCase(most, [drawnLeaf(bytesFrom("X16", 1024), 8 * 9, 32_768)], 8, 9));
	const x = { source: "input", index: 0, type: "i8", dims: [128, 4096] } as const;
	const index = { source: "input", index: 1, type: "i8", dims: [4096] } as const;
	const op: Op = {
		...{ operator: "scatter_add", output: { type: "i64", dims: [100, 128], ...i64 } },
		...{ target: null, operands: [x, index] },
	};
	const leaves = [drawnLeaf(bytesFrom("X8", 1024), 4 * 5, 512), drawnLeaf(bytesFrom("index8", 1024), 0, 4)];
	await mustConvict("proveScatterAdd8", ...sumCase(op, leaves, 4, 128 * 3 + 5));
});

test("a lie in a scattered sum of 65,536 rows", async () => {
	const x = { source: "input", index: 0, type: "i16", dims: [128, 65_536] } as const;
	const index = { source: "input", index: 1, type: "i32", dims: [65_536] } as const;
	const op: Op = {
		...{ operator: "scatter_add", output: { type: "i64", dims: [500, 128], ...i64 } },
		...{ target: null, operands: [x, index] },
	};
	const leaves = [drawnLeaf(bytesFrom("X", 1024), 128 * 5, 16_384), drawnLeaf(bytesFrom("index", 1024), 0, 256)];
	// Cuts at every 256 places: 255 of them.
	await mustConvict("proveScatterAdd", ...sumCase(op, leaves, 256, 128 * 3 + 5));
});

test("a scattered sum costs the same where every place has the wanted index: 512 of them, and 128 of i64", async () => {
	for (const [name, type, indexType] of [
		["proveScatterAddAll", "i16", "i16"],
		["proveScatterAddAll64", "i64", "i64"],
	] as const) {
		const [size, rows] = [{ i16: 2, i64: 8 }[type], 16_384];
		const x = { source: "input", index: 0, type, dims: [128, rows] } as const;
		const index = { source: "input", index: 1, type: indexType, dims: [rows] } as const;
		const op: Op = {
			...{ operator: "scatter_add", output: { type: "i64", dims: [500, 128], ...i64 } },
			...{ target: null, operands: [x, index] },
		};
		const threes = Uint8Array.from({ length: 1024 }, (_, i) => (i % size === 0 ? 3 : 0));
		const perRow = (rows * size) / 1024;
		const leaves = [drawnLeaf(bytesFrom(name, 1024), perRow * 5, perRow * 128), drawnLeaf(threes, 0, perRow)];
		await mustConvict(name, ...sumCase(op, leaves, perRow, 128 * 3 + 5));
	}
});

test("a lie about the end of a turn of a map", async () => {
	const { program, given } = mixedSample();
	const machine = createMachine(orThrow(sealProgram(program)), SEED, given);
	machine.runSegment();
	const number = program.step.findIndex((one) => one.operator === "map" && one.code.turns > 0);
	const op = program.step[number] as MapOp;
	let inputs: readonly Elements[] = [];
	traceSegment(machine, (leaf, read) => {
		if (leaf.op === number && leaf.step === 0) inputs = read;
	});
	const moment = { segment: at.segment, step: 0, k: at.k, key: philoxKey(SEED) };
	const element = 13;
	const transcript = [...createTranscript(op, element, moment, inputs)];
	// The end of part 5 is false.
	transcript[1 + op.code.before.length + 5 * op.code.carried.length]! += 1n;
	const path = [5, 4];
	const told = createSpanTranscript(op, element, moment, inputs, path);
	const asked = { ...at, step: 0, op, inputs: inputs.map(() => digest("input")), output: digest("output"), element };
	const words = { transcript: told, path, marked: { depth: 0, transcript } };
	await mustConvict("proveMap", asked, words, { kind: "turn" });
});

const registersOf = ({ code: { before, carried, body, after } }: MapOp): number =>
	before.length + carried.length + body.length + after.length;

/** So many numbers without a zero byte in most of them. */
const wideNumbers = (name: string, count: number): bigint[] => {
	const view = new DataView(bytesFrom(name, 8 * count).buffer);
	return Array.from({ length: count }, (_, i) => view.getBigInt64(8 * i));
};

test("a lie in a map that is as long as it may be: whatever its instructions and numbers are", async () => {
	const dims = [16_384, 8192];
	const element = 8192 * 1000 + 77;
	const { leaf, root } = drawnLeaf(bytesFrom("tensor", 1024), Math.floor((element * 8) / 1024), 1_048_576);
	const place = [0, 1].map((of) => ({ edge: "inside", register: null, constant: 0, terms: [{ of, times: 1 }] }));
	const load = { op: "load", operand: 0, place };
	const list = <T>(count: number, one: (i: number) => T) => Array.from({ length: count }, (_, i) => one(i));
	const mapOf = (code: object, operands = 1) =>
		({
			...{ operator: "map", output: { type: "i64", dims, ...i64 }, target: null, code },
			operands: list(operands, () => ({ source: "input", index: 0x1234, type: "i64", dims })),
		}) as unknown as MapOp;
	/** With as many instructions as there may be. */
	const filled = (of: (count: number) => MapOp): MapOp => {
		const found = list(256, of)
			.filter((op) => registersOf(op) <= 256)
			.findLast((op) => decodeOp(encodeOp(op, "step")).ok)!;
		const next = of(registersOf(found) - registersOf(of(0)) + 1);
		if (registersOf(next) <= 256) assert.ok(!decodeOp(encodeOp(next, "step")).ok);
		return found;
	};
	const straight = (one: (i: number) => object, operands = 1) =>
		filled((count) =>
			mapOf({ before: [load, ...list(count, one)], turns: 0, carried: [], body: [], after: [] }, operands),
		);
	const caseAt = (op: MapOp) => ({
		...{ ...at, op, inputs: op.operands.map(() => root) },
		...{ output: digest("output"), element },
	});
	const mustCost = (name: string, op: MapOp, register: number, path: readonly number[] = []) => {
		const numbers = path.length > 0 ? spanLength(op, 1) : transcriptLength(op, element);
		const words = { transcript: wideNumbers(name, numbers), ...(path.length > 0 && { path }) };
		const isLoad = register === 0 || path.length > 0;
		return mustConvict(name, caseAt(op), words, { kind: "instruction", register, leaf: isLoad ? leaf : null });
	};
	const domain = 0x12345678;
	const select = (i: number) => ({ op: "select", a: i, b: i, c: i });
	const by = (register: number) => ({ edge: "wrap", register, constant: domain, terms: [] });
	const adds = straight((i) => ({ op: "add", a: i, b: i }));
	await mustCost("proveMapAdds", adds, registersOf(adds) - 1);
	const rands = straight((i) => ({ op: "rand", a: i, domain }));
	await mustCost("proveMapRands", rands, registersOf(rands) - 1);
	await mustCost("proveMapSelects", straight(select), 0);
	await mustCost("proveMapSelects8", straight(select, 8), 0);
	await mustCost(
		"proveMapLoads",
		straight((i) => ({ op: "load", operand: 0, place: [by(i), by(i)] })),
		0,
	);
	const line = (register: number | null) => ({ edge: "wrap", register, constant: domain, terms: [] });
	const flat = (op: MapOp): MapOp => ({ ...op, operands: [{ ...op.operands[0]!, dims: [dims[0]! * dims[1]!] }] });
	const first = { op: "load", operand: 0, place: [{ ...line(null), constant: element, edge: "inside" }] };
	const loads1 = filled((count) =>
		flat(
			mapOf({
				before: [first, ...list(count, () => ({ op: "load", operand: 0, place: [line(null)] }))],
				...{ turns: 0, carried: [], body: [], after: [] },
			}),
		),
	);
	await mustCost("proveMapLoads1", loads1, 0);
	const turning = (before: number) =>
		filled((count) =>
			mapOf({
				...{ before: [load, ...list(before - 1, select)], turns: 4096, after: [{ op: "add", a: before, b: 0 }] },
				carried: list(16, () => ({ from: 0, next: 0, lo: -domain, hi: domain })),
				body: [load, ...list(count, (i) => select(before + 16 + i))],
			}),
		);
	await mustCost("proveMapTurn", turning(1), 17, [1, 2, 3, 2, 1, 0]);
	// The end of a turn, by the transcript of the whole and that of the turn: both tell the registers of
	// before.
	const most = turning(LIMITS.beforeTurns);
	const turn = wideNumbers("turn", spanLength(most, 1));
	const whole = wideNumbers("whole", transcriptLength(most, element));
	// All carried values but the last are what they must be.
	const next = turn[0]! < 0 ? -domain : domain;
	for (let i = 0; i < 15; i++) whole[1 + LIMITS.beforeTurns + 16 + i] = BigInt(next);
	const words = { transcript: turn, path: [1, 3, 3, 3, 3, 3], marked: { depth: 0, transcript: whole } };
	await mustConvict("proveMapTurnEnd", caseAt(most), words, { kind: "turn" });
});

test("only what the provider signed of this claim convicts, and only whoever announced it is paid", async () => {
	const { contracts, send, provider, treasurer } = network;
	const operand = { source: "input", index: 0, type: "i8", dims: [4, 16] } as const;
	const op: Op = {
		...{ operator: "reduce", reduction: "sum", output: { type: "i32", dims: [4], lo: -2048n, hi: 2032n } },
		...{ target: null, operands: [operand] },
	};
	const sum = sumCase(op, [drawnLeaf(bytesFrom("X", 1024), 0, 1)], 1, 1);
	const { terms, claim, accused, fault } = await proofOf("signed", ...sum);
	const other = await proofOf("signed elsewhere", ...sum);
	const prove = (one: AccusedCase, two: ElementFault, from = treasurer) =>
		send(from, proveCall(contracts, hash("salt"), one, two));
	// Answers of another claim, by another key, for another question, none.
	const { traceSignature } = other.accused;
	await assert.rejects(prove({ ...accused, traceSignature }, fault), /AnswerUnsigned/);
	await assert.rejects(prove(accused, { ...fault, signatures: other.fault.signatures }), /AnswerUnsigned/);
	await assert.rejects(prove(accused, { ...fault, signatures: [accused.traceSignature] }), /AnswerUnsigned/);
	await assert.rejects(prove(accused, { ...fault, signatures: [] }), /AnswerUnsigned/);
	await assert.rejects(prove({ ...accused, traceSignature: "0x" }, fault), /AnswerUnsigned/);
	// Another last state, segment root, part, segment: not the claim, or not of it.
	await assert.rejects(prove({ ...accused, last: hash("last") }, fault), /ClaimUnknown/);
	await assert.rejects(prove({ ...accused, segmentRoot: hash("root") }, fault), /AnswerUnsigned/);
	await assert.rejects(prove({ ...accused, part: 1 }, fault), /refuses/);
	await assert.rejects(prove({ ...accused, segment: 1024n }, fault), /AnswerUnsigned/);
	await assert.rejects(prove({ ...accused, trace: hash("trace") }, fault), /AnswerUnsigned/);
	await assert.rejects(prove({ ...accused, ops: hash("ops") }, fault), /ProgramMismatch/);
	await assert.rejects(prove(accused, { ...fault, inputs: hash("others") }), /InputsMismatch/);
	await assert.rejects(prove(accused, { ...fault, leaf: { ...fault.leaf, output: hash("x") } }), /TraceMismatch/);
	const longer = { ...fault.op, leaf: `${fault.op.leaf}00` as Hex };
	await assert.rejects(prove(accused, { ...fault, op: longer }), /OpUnknown/);
	// Announced by one, copied by another: it convicts, and the copier gets nothing.
	const [watcher, copier] = [network.validators[0]!, network.validators[1]!];
	const proof = proveCall(contracts, hash("salt"), accused, fault);
	await send(watcher, callOf(contracts, "disputes", "announce", announcementOf(watcher.address, proof, hash("salt"))));
	const owed = await Promise.all([watcher, copier].map((one) => read(contracts, "jobEscrow", "owedTo", one.address)));
	await send(copier, proof);
	assert.equal((await readJobPart(contracts, jobIdOf(terms), 0)).state, "open");
	for (const [i, one] of [watcher, copier].entries())
		assert.equal(await read(contracts, "jobEscrow", "owedTo", one.address), owed[i]);
	// Two answers to one question convict, whatever they say; one twice does not.
	const question = hash("question");
	const answers = [hash("yes"), hash("no")] as const;
	const signed = (one: Hex, by = provider) =>
		signAnswer(by, contracts, { claim: other.claim, question, answerHash: one });
	const [yes, no] = await Promise.all(answers.map((one) => signed(one)));
	const twoWords = (said: readonly [Hex, Hex], signatures: readonly [Hex, Hex]) =>
		send(
			watcher,
			callOf(contracts, "disputes", "proveTwoWords", hash("salt"), other.accused, question, said, signatures),
		);
	await assert.rejects(twoWords([answers[0], answers[0]], [yes!, yes!]), /NothingShown/);
	await assert.rejects(twoWords([...answers], [yes!, await signed(answers[1], watcher)]), /AnswerUnsigned/);
	gas.proveTwoWords = await twoWords([...answers], [yes!, no!]);
	assert.equal((await readJobPart(contracts, jobIdOf(other.terms), 0)).state, "open");
	assert.notEqual(claim, other.claim);
});

test("gas is what contracts/gas.json says, and within its limits", () => {
	const least = { jobFund: 180_000, jobAssign: 90_000, jobClaim: 120_000, jobClaimLargest: 120_000, jobSettle: 90_000 };
	const proofs = Object.keys(gas).filter((act) => act.startsWith("prove"));
	assert.ok(proofs.length >= 10);
	const most = { ...least, judgeProduct16: 45, ...Object.fromEntries(proofs.map((one) => [one, 300_000])) };
	for (const [act, limit] of Object.entries(most)) assert.ok(gas[act]! <= limit, `${act}: ${gas[act]} above ${limit}`);
	checkGas("jobs", gas);
});
