// The silent road of docs/disputes.md: what a claimant does not answer off chain it is asked on chain, with a
// deposit, and every later question too. What anybody was answered there counts. Silence past the clock
// convicts. Nothing is kept: after a crash the chain has all of it.
import {
	askCall,
	bookOf,
	openGameCall,
	readGame,
	readGames,
	readIsCleared,
	type Sitting,
	timeoutCall,
} from "../../../chain/contracts/dispute-games.ts";
import { readJobPart } from "../../../chain/contracts/job-escrow.ts";
import { readChainTime } from "../../../chain/node/chain-clock.ts";
import type { Call } from "../../../chain/sending/sign.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { type Hex, toHex } from "../../../protocol/chain/hex.ts";
import { keccak, keccakLeaf, keccakTree } from "../../../protocol/hash/keccak-tree.ts";
import {
	type ChainQuestion,
	decodeChainQuestion,
	encodeChainQuestion,
} from "../../../protocol/network/chain-question.ts";
import type { JobQuestion } from "../../../protocol/network/job-question.ts";
import { type Answers, noAnswer } from "../../../verify/optimistic/answers.ts";
import { plainOf, withHint } from "../../../verify/optimistic/chain-hint.ts";
import { type ChainAnswer, chainQuestionOf, knownOf, withChainAnswers } from "../../../verify/optimistic/chain-road.ts";
import { traceQuestion } from "../../../verify/optimistic/fraud/fraud-proof.ts";
import { type Accused, questionKey } from "../../../verify/optimistic/next-question.ts";
import { questionBasis } from "../../../verify/optimistic/question-basis.ts";
import type { Ask } from "../../../verify/optimistic/questions.ts";
import { encodeHead, encodeLeaves } from "../../../work/program/encode.ts";
import type { Program } from "../../../work/program/shapes.ts";
import { type ClaimAtHand, type EvidenceChain, type EvidenceMeans, wordsOf } from "../evidence/claim-at-hand.ts";
import { SegmentCleared } from "./cleared-claim.ts";

/** Thrown: the claimant was silent past its clock, and the chain convicted it. */
export class SilenceConvicted extends Error {
	readonly transaction: Hex;

	constructor(transaction: Hex) {
		super("it was silent past its clock");
		this.transaction = transaction;
	}
}

interface Road {
	readonly chain: EvidenceChain;
	/** Words that were signed off chain. */
	readonly answers: EvidenceMeans["answers"];
	readonly sleep: (ms: number) => Promise<void>;
	readonly everyMs: number;
	/** Before each wait for an answer. */
	readonly onWait?: () => Promise<void>;
	readonly onAsked: (question: ChainQuestion) => void;
}

const isNoAnswer = (error: unknown): boolean => error instanceof AssayError && error.code === "NO_ANSWER";
const ZERO: Hex = `0x${"00".repeat(32)}`;
class Game {
	private readonly road: Road;
	private readonly at: ClaimAtHand;
	private readonly program: Program;
	readonly said = new Map<string, Uint8Array>();

	constructor(road: Road, at: ClaimAtHand, program: Program) {
		this.road = road;
		this.at = at;
		this.program = program;
	}

	private get accused(): Accused {
		return { claim: this.at.claim, states: this.at.states, audit: null, said: this.said };
	}

	/** Nobody knew it when the claim was made, and another process of this watcher finds the same. */
	private hintPlace(question: ChainQuestion): number {
		return keccak(this.road.chain.secret, encodeChainQuestion(question))[0]! % 31;
	}

	/**
	 * Everything that anybody asked about this attempt and that was answered, by the question without its hint,
	 * and one's own game.
	 */
	private async hear(sitting: Sitting) {
		const games = await readGames(this.road.chain.contracts, { book: bookOf(sitting) });
		const rounds = games.flatMap((game) => game.rounds);
		const { account } = this.road.chain;
		const own = games.find(({ accuser }) => accuser.toLowerCase() === account.toLowerCase()) ?? null;
		const answers = new Map<Hex, ChainAnswer>();
		for (const round of rounds) {
			const question = decodeChainQuestion(hexToBytes(round.question.slice(2))!);
			if (round.answer === null || question === null) continue;
			const heard = { question, answer: hexToBytes(round.answer.slice(2))! };
			answers.set(toHex(encodeChainQuestion(plainOf(question))), heard);
		}
		return { own, answers };
	}

	async ask(question: JobQuestion, mine: Answers | null): Promise<Uint8Array> {
		const { contracts, send } = this.road.chain;
		const job = this.at.claim.job;
		const { part } = this.at;
		const { attempt, provider } = await readJobPart(contracts, job, part);
		const sitting: Sitting = { job, part, attempt, provider };
		for (;;) {
			const known = this.said.get(questionKey(question));
			if (known !== undefined) return known;
			const { own, answers } = await this.hear(sitting);
			const plain = await chainQuestionOf(this.program, this.accused, question);
			const answer = answers.get(toHex(encodeChainQuestion(plain)));
			if (answer !== undefined) return this.take(question, answer);
			const last = own?.rounds.at(-1);
			const asked = mine === null ? plain : await withHint(plain, mine, this.hintPlace(plain));
			const bytes = toHex(encodeChainQuestion(asked));
			// A question that an earlier process asked is waited for first.
			if (last === undefined || last.answer !== null) {
				this.road.onAsked(asked);
				await send(
					own === null ? await openGameCall(contracts, { job, part }, bytes) : await askCall(contracts, sitting, bytes),
				);
			}
			await this.wait(sitting, last === undefined || last.answer !== null ? bytes : last.question);
		}
	}

	/**
	 * The answer to this very question: the chain has checked that it is one. A claimant may ask itself
	 * anything and answer that, about nodes that are nowhere in its trees: such answers are to other questions
	 * and count for nothing.
	 */
	private async take(question: JobQuestion, heard: ChainAnswer): Promise<Uint8Array> {
		for (const [key, bytes] of (await withChainAnswers(this.program, this.accused, [heard])).said)
			this.said.set(key, bytes);
		const found = this.said.get(questionKey(question));
		if (found === undefined) throw noAnswer("what was answered on chain is no answer to what was asked");
		return found;
	}

	/**
	 * Until it is answered; past its clock the claimant is convicted. Throws SilenceConvicted, SegmentCleared.
	 */
	private async wait(sitting: Sitting, question: Hex): Promise<void> {
		const { contracts, account, send } = this.road.chain;
		await this.road.onWait?.();
		const asked = decodeChainQuestion(hexToBytes(question.slice(2))!)!;
		for (;;) {
			const { deadlineS } = await readGame(contracts, sitting, account);
			if (deadlineS === null) return;
			// Silence about a proven segment convicts nobody.
			if ("segment" in asked && (await readIsCleared(contracts, sitting, asked.segment)))
				throw new SegmentCleared(sitting, asked.segment);
			// A chain on which nobody sends anything makes no blocks: the time that our own would have counts.
			if ((await readChainTime(contracts.client, 0)) > deadlineS)
				throw new SilenceConvicted(await send(await this.silenceCall(question)));
			await this.road.sleep(this.road.everyMs);
		}
	}

	private async silenceCall(question: Hex): Promise<Call> {
		const { at, program, accused } = this;
		const { contracts, account } = this.road.chain;
		const { tensors, ops } = encodeLeaves(program);
		const asked = decodeChainQuestion(hexToBytes(question.slice(2))!)!;
		const segment = "segment" in asked ? asked.segment : at.claim.first;
		const rootOf = (leaves: readonly Uint8Array[]) => toHex(keccakTree(leaves.map(keccakLeaf)).root);
		const shown = {
			...{ terms: at.escrow!, part: at.part, last: toHex(at.states.at(-1)!), segment: BigInt(segment) },
			...{ segmentRoot: toHex(at.claim.segmentRoot), resultRoot: toHex(at.claim.resultRoot) },
			...{ head: toHex(encodeHead(program)), tensors: rootOf(tensors), ops: rootOf(ops) },
			...(await this.traceWord(segment)),
		};
		const basis = await questionBasis(program, accused, asked);
		return timeoutCall(contracts, shown, { accuser: account, question }, basis);
	}

	/** What lies below a trace is asked of one that it gave: signed, or on the chain (no signature). */
	private async traceWord(segment: number): Promise<{ readonly trace: Hex; readonly traceSignature: Hex }> {
		const trace = await knownOf(this.program, this.accused)
			.traceRoot(segment)
			.catch(() => null);
		if (trace === null) return { trace: ZERO, traceSignature: "0x" };
		const told = await this.road.answers.of(wordsOf(this.at), traceQuestion(segment).slice(2));
		const answerHash = bytesToHex(keccak(trace));
		const signature = told.find((one) => one.answerHash === answerHash)?.signature ?? "";
		return { trace: toHex(trace), traceSignature: `0x${signature}` };
	}
}

/** `ask` until it fails; from then on the chain. */
export function silentRoad(road: Road, at: ClaimAtHand, program: Program, ask: Ask): Ask {
	const game = new Game(road, at, program);
	let isSilent = false;
	return async (question, own) => {
		// Bytes of states are never asked on chain.
		if (question.kind === "state") return ask(question);
		if (!isSilent)
			try {
				const bytes = await ask(question);
				game.said.set(questionKey(question), bytes);
				return bytes;
			} catch (error) {
				if (!isNoAnswer(error)) throw error;
				isSilent = true;
			}
		return game.ask(question, own ?? null);
	};
}

/** On chain, once it is silent off chain: for whoever accuses, a watcher or the validator itself. */
export const roadOnChain =
	(
		means: Pick<EvidenceMeans, "answers" | "sleep" | "askEveryMs" | "beforeWaits">,
		chain: EvidenceChain,
		onAsked: Road["onAsked"],
	): NonNullable<EvidenceMeans["road"]> =>
	(at, program, ask) => {
		const { answers, sleep, askEveryMs: everyMs } = means;
		const onWait = async () => {
			for (const rest of means.beforeWaits ?? []) await rest();
		};
		return silentRoad({ chain, answers, sleep, everyMs, onWait, onAsked }, at, program, ask);
	};
