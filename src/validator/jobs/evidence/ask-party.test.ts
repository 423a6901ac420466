// How often somebody is asked: again while it is away, until the patience is over; not again once its answer
// is final, nor by a validator that is being stopped.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accountOf } from "../../../chain/sending/sign.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { type Hex, toHex } from "../../../protocol/chain/hex.ts";
import { typedDigest } from "../../../protocol/chain/typed-data.ts";
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import { ANSWER_TYPE, traceQuestion } from "../../../verify/optimistic/fraud/fraud-proof.ts";
import { mlpSample } from "../../../work/builder/samples.test-kit.ts";
import { askParty, TwoWords } from "./ask-party.ts";
import { hashOfClaim, wordsOf } from "./claim-at-hand.ts";
import { memoryAnswers } from "./memory-answers.ts";

const PATIENCE = 10;

function asking(code: "AGENT_CLOSED" | "RUN_UNSTEADY", rest: (nowMs: number) => Promise<void> = async () => {}) {
	let nowMs = 0;
	let asked = 0;
	const means = {
		ask: async () => {
			asked += 1;
			throw new AssayError(code, "no");
		},
		...{ patienceMs: PATIENCE, askEveryMs: 1, nowMs: () => nowMs, answers: null as never, chain: null },
		sleep: (ms: number) => {
			nowMs += ms;
			return rest(nowMs);
		},
	};
	const claim = { job: "ab".repeat(32), part: 0, attempt: 1 } as never;
	const party = { provider: "cd".repeat(32), audit: null, first: 0, segments: 4 };
	const ask = askParty(means, claim, mlpSample().program, party);
	return { tried: () => ask({ kind: "roots", segment: 1 } as never), asked: () => asked };
}

const isNoAnswer = (error: unknown) => error instanceof AssayError && error.code === "NO_ANSWER";

test("who is away is asked again until the patience is over, who can never answer once", async () => {
	const away = asking("AGENT_CLOSED");
	await assert.rejects(away.tried(), isNoAnswer);
	assert.equal(away.asked(), PATIENCE + 1);
	const broken = asking("RUN_UNSTEADY");
	await assert.rejects(broken.tried(), isNoAnswer);
	assert.equal(broken.asked(), 1);
});

test("a validator that is being stopped asks nobody again, and calls nobody silent", async () => {
	const stopped = asking("AGENT_CLOSED", () => Promise.reject(new Error("stopping")));
	await assert.rejects(stopped.tried(), /stopping/);
	assert.equal(stopped.asked(), 1);
});

test("a first word counts with its claimant's signature alone, and a second one convicts", async () => {
	const [claimant, stranger] = ["a1", "a2"].map((byte) => accountOf(`0x${byte.repeat(32)}`)) as [Account, Account];
	const zeros = new Uint8Array(32);
	const claim = {
		...{ chainId: 1n, escrow: new Uint8Array(20), job: 1n, part: 0, program: zeros, inputs: zeros },
		...{ first: 0, segments: 4, segmentRoot: zeros, resultRoot: zeros },
	};
	const provider = "cd".repeat(32);
	const at = { job: "ab".repeat(32), part: 0, attempt: 1, claim, provider, account: claimant.address } as never;
	const addresses = { chainId: 7373, disputes: `0x${"d1".repeat(20)}` as Hex };
	const question = traceQuestion(1);
	const signed = async (by: Account, answer: Uint8Array, about: Hex = question) => {
		const fields = [toHex(hexToBytes(hashOfClaim(at))!), about, toHex(keccak(answer))];
		const hash = toHex(typedDigest(addresses.chainId, addresses.disputes, ANSWER_TYPE, fields));
		return (await by.sign({ hash })).slice(2);
	};
	const answers = memoryAnswers();
	const say = (answer: Uint8Array, signature: string | null) => {
		const means = {
			ask: async () => ({ answer: bytesToHex(answer), signature }),
			...{ patienceMs: 0, askEveryMs: 1, nowMs: () => 0, answers, sleep: async () => {} },
			chain: { contracts: { addresses } } as never,
		};
		const party = { provider, audit: null, first: 0, segments: 4 };
		return askParty(means, at, mlpSample().program, party)({ kind: "trace", segment: 1 } as never);
	};
	const [one, two] = [zeros, new Uint8Array(32).fill(1)];
	await assert.rejects(say(one, null), isNoAnswer);
	await assert.rejects(say(one, await signed(stranger, one)), isNoAnswer);
	await assert.rejects(say(one, await signed(claimant, two)), isNoAnswer);
	await assert.rejects(say(one, await signed(claimant, one, traceQuestion(2))), isNoAnswer);
	assert.deepEqual(await answers.of(wordsOf(at), question.slice(2)), []);
	assert.deepEqual(await say(one, await signed(claimant, one)), one);
	// Of another length it is no word.
	await say(two.slice(1), await signed(claimant, two.slice(1)));
	assert.equal((await answers.of(wordsOf(at), question.slice(2))).length, 1);
	await assert.rejects(say(two, await signed(claimant, two)), TwoWords);
});

type Account = ReturnType<typeof accountOf>;
