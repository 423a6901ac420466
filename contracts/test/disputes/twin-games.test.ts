// The book of games of Disputes.sol and its twin, src/verify/optimistic/game-book.ts, move by move: random
// games of several accusers against many claims at once, at moments on, before and after every clock. Each
// move succeeds in both or is refused by both for one reason, and in the end both have the same games, the
// same claims held and the same coins. The escrow and the judges are stand-ins: what they decide is other
// tests'.
import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeDeployData, encodeFunctionData, type Hex, prepareEncodeFunctionData, toFunctionSelector } from "viem";
import { disputesCode } from "../../../src/chain/abi/creation-code.ts";
import { disputesAbi } from "../../../src/chain/abi/disputes-abi.ts";
import { jobIdOf } from "../../../src/chain/contracts/job-escrow.ts";
import { createChainClient } from "../../../src/chain/node/chain-client.ts";
import { createEdrProvider } from "../../../src/chain/node/edr-provider.ts";
import { TOY_GENESIS_S, TREASURER } from "../../../src/chain/node/toy-node.test-kit.ts";
import { toHex } from "../../../src/protocol/chain/hex.ts";
import { keccak } from "../../../src/protocol/hash/keccak-tree.ts";
import {
	answerGame,
	askGame,
	closeGame,
	EMPTY_BOOK,
	type GameBook,
	type GameParams,
	isAsked,
	isHeld,
	isSilent,
	openGame,
	payGame,
} from "../../../src/verify/optimistic/game-book.ts";
import { isDeep, scaled, seed as testSeed } from "../../../tests/fuzz.test-kit.ts";
import { type Draw, quickNumbers } from "../../../vectors/work-programs.ts";
import { NO_TERMS } from "../disputes.test-kit.ts";

/** A deep run has 100,000. */
const GAMES = scaled(isDeep ? 4000 : 40);
/** Claims of one chain, and rounds: in each every account moves once in every claim, or not. */
const CLAIMS = isDeep ? 150 : 12;
const ROUNDS = 14;
/** More than a flood's sixteen. */
const ACCUSERS = 18;
const PARAMS: GameParams = {
	...{ questionSeconds: 100, traceSeconds: 200, replySeconds: 500, extraSeconds: 300, gameSeconds: 2000 },
};
/** Clocks end at these, so that moves come a second before, on and after them. */
const WAITS = [0, 0, 1, 1, 50, 50, 99, 100, 101, 199, 200, 300, 400, 500, 501, 1500, 2001];
const CLAIM_WINDOW_S = 700;

/**
 * An account that makes calls, one after another: in the call data a target's address in a word, then of each
 * call its length, its coins and its bytes. Logs two words a call: whether it succeeded, and the first word
 * that came back. Takes coins.
 */
const ACTOR =
	"60006020" + // o = 0, p = 32
	"5b36811015603e57" + // while p < calldatasize, else to the end
	"803590602001803590602001" + // length, coins; p += 64
	"828161800037" + // copy the bytes to 0x8000
	"60208460200184618000856000" + // call with 2 M gas, its first word to o + 32
	"35621e8480f1" +
	"8452" + // whether it succeeded, to o
	"90500190604001906004" + // p += length, o += 64
	"56" +
	"5b506000a000"; // log o bytes
/**
 * Knows of each job what it was told: its last moment to accuse, shifted by a byte, and its part's state. The
 * provider is always this one.
 */
const escrowOf = (provider: Hex): string =>
	`60003560e01c63${toFunctionSelector("partOf(uint256,uint32)").slice(2)}146017576024356004355500` +
	`5b73${provider.slice(2).toLowerCase()}6000526001602052600435548060081c60605260ff1660805260e06000f3`;
/** Agrees with everything. */
const JUDGE = "600160005260206000f3";
const createOf = (code: string): Hex =>
	`0x60${(code.length / 2).toString(16).padStart(2, "0")}80600b6000396000f3${code}`;
const [CLAIMED, SETTLED, REFUNDED] = [3, 4, 5];
const WORD = 64;
const word = (value: bigint | number): string => value.toString(16).padStart(WORD, "0");

const ERRORS = new Map(
	disputesAbi.flatMap((item) =>
		item.type === "error"
			? [[toFunctionSelector(`${item.name}(${item.inputs.map(({ type }) => type).join()})`), item.name] as const]
			: [],
	),
);

interface Question {
	readonly bytes: Hex;
	readonly isTrace: boolean;
	readonly answer: Hex;
	readonly deposit: number;
}

/** Of a trace of one leaf, or of a tensor's writer. */
const questionOf = (isTrace: boolean, number: number, deposits: Ground["deposits"]): Question =>
	isTrace
		? { bytes: traceOf(number), isTrace, answer: `0x${"5a".repeat(32)}`, deposit: deposits.trace }
		: { bytes: writerOf(number), isTrace, answer: "0x00000007", deposit: deposits.writer };
const traceOf = (segment: number): Hex => `0x0700${word(segment).slice(-16)}${word(1).slice(-16)}`;
const writerOf = (tensor: number): Hex => `0x070201${word(tensor).slice(-4)}`;

interface Claim {
	readonly terms: typeof NO_TERMS;
	readonly job: bigint;
	readonly book: Hex;
	/** Who takes part in it. */
	readonly accusers: number;
	state: number;
	until: number;
	twin: GameBook;
	/** Every question that was asked in it. */
	readonly asked: Map<string, Question>;
	coins: number;
}

interface Move {
	readonly what: string;
	readonly data: Hex;
	readonly value: number;
	/** What the twin says: a refusal, or "" and the word that comes back. */
	readonly wanted: string;
}

/** Selectors are worked out once. */
const prepared = new Map<string, object>();
function encode(functionName: string, args: readonly unknown[]): Hex {
	const known = prepared.get(functionName) ?? prepareEncodeFunctionData({ abi: disputesAbi, functionName } as never);
	prepared.set(functionName, known);
	return encodeFunctionData({ ...known, args } as never);
}

interface Receipt {
	readonly status: string;
	readonly contractAddress: Hex;
	readonly logs: readonly { readonly address: string; readonly data: string }[];
}

/** A chain with Disputes between stand-ins, and the accounts that play. */
async function openGround() {
	const clock = { nowS: TOY_GENESIS_S };
	const treasurer = TREASURER.address.toLowerCase();
	const rpc = await createEdrProvider({ chainId: 7373, timestamp: clock.nowS, treasurer });
	const client = await createChainClient(rpc);
	let nonce = 0;
	/** In a block of the clock's second. */
	const send = async (to: Hex | null, data: Hex, value = 0n): Promise<Receipt> => {
		const fee = { maxFeePerGas: 10n ** 13n, maxPriorityFeePerGas: 1n, type: "eip1559" } as const;
		const signed = await TREASURER.signTransaction({
			...{ ...fee, chainId: client.chainId, nonce: nonce++, gas: 58_000_000n, to, data, value },
		});
		await rpc("hardhat_setNextBlockBaseFeePerGas", ["0x1"]);
		const hash = await rpc("eth_sendRawTransaction", [signed]);
		await rpc("evm_mine", [clock.nowS]);
		return (await rpc("eth_getTransactionReceipt", [hash])) as Receipt;
	};
	const put = async (data: Hex) => (await send(null, data)).contractAddress;
	const actors: Hex[] = [];
	for (let i = 0; i <= ACCUSERS; i++) {
		actors.push(await put(createOf(ACTOR)));
		await send(actors[i]!, "0x", 10n ** 20n);
	}
	const provider = actors[ACCUSERS]!;
	const escrow = await put(createOf(escrowOf(provider)));
	const judge = await put(createOf(JUDGE));
	const args = [escrow, judge, judge, [], { ...PARAMS, gasPrice: 1n }] as const;
	const disputes = await put(encodeDeployData({ abi: disputesAbi, bytecode: disputesCode, args }));
	const depositFor = async (question: Hex): Promise<number> =>
		Number(
			await client.viem.readContract({
				...{ address: disputes, abi: disputesAbi, functionName: "depositFor", args: [question] },
			}),
		);
	const deposits = { trace: await depositFor(traceOf(0)), writer: await depositFor(writerOf(0)) };
	/** What each move came to: a refusal, or the word that came back. */
	const play = async (actor: number, moves: readonly Move[], target = disputes): Promise<string[]> => {
		let data = `0x${word(BigInt(target))}`;
		for (const move of moves) data += word((move.data.length - 2) / 2) + word(move.value) + move.data.slice(2);
		const { status, logs } = await send(actors[actor]!, data as Hex);
		const log = logs.findLast(({ address, data: found }) => address === actors[actor]!.toLowerCase() && found !== "0x");
		assert.ok(status === "0x1" && log !== undefined, "the moves ran out of gas");
		return moves.map((_, i) => {
			const [success, back] = [0, 1].map((at) => log.data.slice(2 + (2 * i + at) * WORD, 2 + (2 * i + at + 1) * WORD));
			if (BigInt(`0x${success}`) === 1n) return `${BigInt(`0x${back}`)}`;
			return ERRORS.get(`0x${back!.slice(0, 8)}`) ?? `0x${back}`;
		});
	};
	const tell = (claims: readonly Claim[]) =>
		play(
			0,
			claims.map(({ job, until, state }) => {
				const data = `0x00000000${word(job)}${word((BigInt(until) << 8n) | BigInt(state))}` as const;
				return { what: "told", data, value: 0, wanted: "0" };
			}),
			escrow,
		);
	return { deposits, clock, client, actors, disputes, provider, play, tell };
}

type Ground = Awaited<ReturnType<typeof openGround>>;

/** All moves of one account, and what the twin makes of them. */
class Player {
	readonly ground: Ground;
	readonly draw: Draw;
	readonly actor: number;
	readonly now: number;

	constructor(ground: Ground, draw: Draw, actor: number, now: number) {
		[this.ground, this.draw, this.actor, this.now] = [ground, draw, actor, now];
	}

	private pick<T>(list: readonly T[]): T {
		return list[this.draw(list.length)]!;
	}

	/** One that was asked in this claim, mostly that of the game. */
	private known(claim: Claim, accuser: string): Question {
		const current = claim.asked.get(claim.twin.games.get(accuser)?.question ?? "");
		return current !== undefined && this.draw(10) > 0
			? current
			: questionOf(this.draw(2) === 0, this.draw(3), this.ground.deposits);
	}

	/** Null: it does nothing here. */
	move(claim: Claim): Move | null {
		const isProvider = this.actor === ACCUSERS;
		if (!isProvider && this.actor >= claim.accusers) return null;
		const accuser = isProvider ? this.draw(claim.accusers) : this.actor;
		const kind = this.draw(24);
		if (kind < 3) return null;
		if (kind === 3) return this.held(claim);
		if (kind < 6) return this.close(claim, accuser);
		if (kind < 8) return this.timeout(claim, accuser);
		if (kind < 10) return this.collect(claim, accuser);
		return isProvider ? this.answer(claim) : this.ask(claim);
	}

	private held({ job, twin }: Claim): Move {
		const data = encode("isHeld", [job, 0, 1, this.ground.provider]);
		return { what: "isHeld", data, value: 0, wanted: isHeld(twin, this.now) ? "1" : "0" };
	}

	private close(claim: Claim, accuser: number): Move {
		const closed = closeGame(PARAMS, claim.twin, `${accuser}`, this.now);
		if (typeof closed !== "string") claim.twin = closed;
		const data = encode("close", [claim.book, this.ground.actors[accuser]]);
		return { what: "close", data, value: 0, wanted: typeof closed === "string" ? closed : "0" };
	}

	/** The stand-ins judge nothing: it succeeds when the clock says so. */
	private timeout(claim: Claim, accuser: number): Move {
		const { bytes } = this.known(claim, `${accuser}`);
		const game = claim.twin.games.get(`${accuser}`);
		const isOpen = game !== undefined && isAsked(game) && game.question === bytes;
		const isOver = isSilent(claim.twin, `${accuser}`, bytes, this.now);
		const accused = { ...NO_CASE, terms: claim.terms };
		const data = encode("timeout", [accused, this.ground.actors[accuser], bytes, NO_BASIS]);
		return { what: "timeout", data, value: 0, wanted: isOver ? "0" : isOpen ? "WrongTime" : "QuestionState" };
	}

	private collect(claim: Claim, accuser: number): Move {
		const game = claim.twin.games.get(`${accuser}`);
		const question = game !== undefined && isAsked(game) ? this.known(claim, `${accuser}`) : null;
		const sitting = { job: claim.job, part: 0, attempt: 1, provider: this.ground.provider };
		const data = encode("collect", [sitting, this.ground.actors[accuser], question?.bytes ?? "0x"]);
		const done = (wanted: string): Move => ({ what: "collect", data, value: 0, wanted });
		if (claim.state === CLAIMED) return done("NotFinal");
		const paid = payGame(claim.twin, `${accuser}`, question?.bytes ?? "", question?.deposit ?? 0);
		if (typeof paid === "string") return done(paid);
		claim.twin = paid.book;
		claim.coins -= paid.amount;
		return done("0");
	}

	private ask(claim: Claim): Move {
		const accuser = `${this.actor}`;
		const question = questionOf(this.draw(3) === 0, this.draw(3), this.ground.deposits);
		const isWrong = this.draw(20) === 0;
		const value = question.deposit + (isWrong ? 1 : 0);
		const isFirst = !claim.twin.games.has(accuser) ? this.draw(12) > 0 : this.draw(12) === 0;
		const data = isFirst ? encode("open", [claim.job, 0, question.bytes]) : encode("ask", [claim.book, question.bytes]);
		const done = (wanted: string): Move => ({ what: isFirst ? "open" : "ask", data, value, wanted });
		if (isFirst && (claim.state !== CLAIMED || this.now > claim.until)) return done("NotOpen");
		const opened = isFirst ? openGame(PARAMS, claim.twin, accuser, this.now) : claim.twin;
		if (typeof opened === "string") return done(opened);
		if (isWrong) return done("DepositWrong");
		const asked = askGame(PARAMS, opened, accuser, question.bytes, question.isTrace, this.now);
		if (typeof asked === "string") return done(asked);
		claim.twin = asked;
		claim.coins += question.deposit;
		claim.asked.set(question.bytes, question);
		return done(isFirst ? `${BigInt(claim.book)}` : "0");
	}

	private answer(claim: Claim): Move {
		// Mostly somebody who waits for one.
		const waiting = [...claim.twin.games].flatMap(([name, game]) => (isAsked(game) ? [name] : []));
		const accuser = waiting.length > 0 && this.draw(8) > 0 ? this.pick(waiting) : `${this.draw(claim.accusers)}`;
		const { bytes, answer, deposit } = this.known(claim, accuser);
		const isWrong = this.draw(16) === 0;
		const said = isWrong ? `${answer}00` : answer;
		const data = encode("answer", [claim.job, 0, 1, this.ground.actors[Number(accuser)], bytes, said]);
		const answered = answerGame(PARAMS, claim.twin, accuser, bytes, deposit, this.now);
		const done = (wanted: string): Move => ({ what: "answer", data, value: 0, wanted });
		if (typeof answered === "string") return done(answered);
		if (isWrong) return done("AnswerInvalid");
		claim.twin = answered;
		return done("0");
	}
}

const ZERO: Hex = `0x${"00".repeat(32)}`;
const NO_CASE = {
	...{ part: 0, segmentRoot: ZERO, resultRoot: ZERO, last: ZERO, head: `0x${"00".repeat(20)}`, tensors: ZERO },
	...{ ops: ZERO, segment: 0n, trace: ZERO, traceSignature: "0x" },
};
const NO_BASIS = {
	op: { number: 0, leaf: "0x", path: [] },
	leaf: { step: 0, op: 0, inputs: [], output: ZERO, path: [] },
	...{ path: [], tensors: [] },
};

function newClaim(ground: Ground, draw: Draw, salt: string): Claim {
	const terms = { ...NO_TERMS, salt: toHex(keccak(new TextEncoder().encode(salt))) };
	const job = jobIdOf(terms);
	const book = `0x${word(job)}${word(0)}${word(1)}${word(BigInt(ground.provider))}`;
	const until = ground.clock.nowS + CLAIM_WINDOW_S;
	const accusers = draw(12) === 0 ? ACCUSERS : 1 + draw(3);
	return {
		...{ terms, job, accusers, until, state: CLAIMED, twin: EMPTY_BOOK, asked: new Map(), coins: 0 },
		book: toHex(keccak(Uint8Array.from(Buffer.from(book.slice(2), "hex")))),
	};
}

/** Both have the same games, and the same coins. */
async function compareEnds(
	{ client, disputes, actors }: Ground,
	claims: readonly Claim[],
	isAll: boolean,
): Promise<void> {
	const read = (functionName: string, args: readonly unknown[]): Promise<unknown> =>
		client.viem.readContract({ address: disputes, abi: disputesAbi, functionName, args } as never);
	for (const { book, twin } of isAll ? claims : claims.slice(0, 20)) {
		const { open, count, heldUntil } = twin;
		assert.deepEqual(await read("booked", [book]), { open, games: count, heldUntil });
		for (const [name, game] of twin.games) {
			const { opened, since, answers, extra, deposits, isClosed, isPaid, asks, askedExtra, deadline, question } = game;
			const [kept, asking] = (await read("gameOf", [book, actors[Number(name)]])) as [object, { question: string }];
			const wanted = { opened, since, answers, extra, deposits: BigInt(deposits), isClosed, isPaid };
			assert.deepEqual(kept, wanted);
			const hashOf = (hex: string) => toHex(keccak(Uint8Array.from(Buffer.from(hex, "hex"))));
			const mark = hashOf(
				`${book.slice(2)}${word(BigInt(actors[Number(name)]!))}${hashOf(question.slice(2)).slice(2)}`,
			);
			assert.deepEqual(asking, {
				question: mark.slice(0, 2 + 54),
				asks,
				extra: askedExtra,
				deadline: deadline - opened,
			});
		}
	}
	const coins = claims.reduce((sum, claim) => sum + claim.coins, 0);
	assert.equal(await client.viem.getBalance({ address: disputes }), BigInt(coins));
}

test("random games: Disputes and its twin make the same of every move", async () => {
	const seen = new Map<string, number>();
	let games = 0;
	for (let batch = 0; games < GAMES; batch++) {
		const label = isDeep ? `games ${batch} ${testSeed}` : `games ${batch}`;
		const draw = quickNumbers(label);
		const ground = await openGround();
		const claims = Array.from({ length: CLAIMS }, (_, i) => newClaim(ground, draw, `${label} ${i}`));
		await ground.tell(claims);
		for (let round = 0; round < ROUNDS; round++) {
			ground.clock.nowS += WAITS[draw(WAITS.length - (round < 8 ? 2 : 0))]!;
			const actors = Array.from({ length: ACCUSERS + 1 }, (_, i) => i).sort(() => draw(3) - 1);
			for (const actor of actors) {
				const player = new Player(ground, draw, actor, ground.clock.nowS);
				const moves = claims.flatMap((claim) => player.move(claim) ?? []);
				if (moves.length === 0) continue;
				const found = await ground.play(actor, moves);
				for (const [i, { what, wanted }] of moves.entries()) {
					assert.equal(found[i], wanted, `${what} in round ${round} of ${label}`);
					const end = /^\d+$/.test(wanted) ? "done" : wanted;
					seen.set(`${what} ${end}`, (seen.get(`${what} ${end}`) ?? 0) + 1);
				}
			}
			const over = claims.filter(({ state }) => state === CLAIMED && round > 5 && draw(5) === 0);
			for (const claim of over) claim.state = draw(2) === 0 ? SETTLED : REFUNDED;
			if (over.length > 0) await ground.tell(over);
		}
		await compareEnds(ground, claims, true);
		games += claims.reduce((sum, { twin }) => sum + twin.games.size, 0);
	}
	if (isDeep) console.log(`${games} games:`, Object.fromEntries([...seen].sort()));
	for (const wanted of [
		"open done",
		"ask done",
		"answer done",
		"answer WrongTime",
		"timeout done",
		"close done",
		"collect done",
	])
		assert.ok(seen.has(wanted), `${wanted}: ${[...seen.keys()]}`);
});
