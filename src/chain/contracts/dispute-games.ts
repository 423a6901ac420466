// Games of Disputes.sol: who is asked what about which claim, by when, and what was answered. docs/chain.md
// §12. Questions are bytes here (src/protocol/network/chain-question.ts reads them); what to ask and what to
// answer is src/verify/optimistic.
import { type ContractFunctionArgs, encodeAbiParameters, type Hex, keccak256, parseAbiParameters } from "viem";
import type { disputesAbi } from "../abi/disputes-abi.ts";
import type { Call } from "../sending/sign.ts";
import { type Contracts, callOf, read, readEvents } from "./contracts.ts";
import type { AccusedCase } from "./disputes.ts";

type Addressed = Pick<Contracts, "addresses">;

/** One attempt at a part. */
export interface Sitting {
	readonly job: bigint;
	readonly part: number;
	readonly attempt: number;
	readonly provider: Hex;
}

/** What shows that a question could be answered; empty where the kind needs it not. */
export type QuestionBasis = ContractFunctionArgs<typeof disputesAbi, "nonpayable", "timeout">[3];

/** The number under which the chain keeps what there is against an attempt. */
export const bookOf = ({ job, part, attempt, provider }: Sitting): Hex =>
	keccak256(
		encodeAbiParameters(parseAbiParameters("uint256, uint32, uint16, address"), [job, part, attempt, provider]),
	);

/** Coins that go with a question, to the unit. */
export const depositFor = (contracts: Contracts, question: Hex): Promise<bigint> =>
	read(contracts, "disputes", "depositFor", question);

export const readDisputeParams = (contracts: Contracts) => read(contracts, "disputes", "params");

/** Opens the sender's game against the claim that stands, with its first question. */
export async function openGameCall(
	contracts: Contracts,
	{ job, part }: Pick<Sitting, "job" | "part">,
	question: Hex,
): Promise<Call> {
	const value = await depositFor(contracts, question);
	return { ...callOf(contracts, "disputes", "open", job, part, question), value };
}

/** The next question of the sender's game. */
export async function askCall(contracts: Contracts, sitting: Sitting, question: Hex): Promise<Call> {
	const value = await depositFor(contracts, question);
	return { ...callOf(contracts, "disputes", "ask", bookOf(sitting), question), value };
}

/** An answer, and whose question it answers. */
export interface GameReply {
	readonly sitting: Sitting;
	readonly accuser: Hex;
	readonly question: Hex;
	readonly answer: Hex;
}

/** By the provider of the sittings: one, or many at once. */
export function answerQuestionsCall(contracts: Addressed, replies: readonly GameReply[]): Call {
	const [one, ...more] = replies;
	if (one !== undefined && more.length === 0) {
		const { job, part, attempt } = one.sitting;
		return callOf(contracts, "disputes", "answer", job, part, attempt, one.accuser, one.question, one.answer);
	}
	const all = replies.map(({ sitting: { job, part, attempt }, ...rest }) => ({ job, part, attempt, ...rest }));
	return callOf(contracts, "disputes", "answerMany", all);
}

/** Convicts a provider that was silent to a question that it could answer. By anyone. */
export const timeoutCall = (
	contracts: Addressed,
	accused: AccusedCase,
	{ accuser, question }: { readonly accuser: Hex; readonly question: Hex },
	basis: QuestionBasis,
): Call => callOf(contracts, "disputes", "timeout", accused, accuser, question, basis);

/** Whether a proof has cleared the segment of questions: silence about it convicts nobody. */
export const readIsCleared = (contracts: Contracts, sitting: Sitting, segment: number): Promise<boolean> =>
	read(contracts, "disputes", "isCleared", bookOf(sitting), BigInt(segment));

/**
 * The deposits of a game, once the claim is paid (to its provider) or dead (to the accuser). `unanswered`:
 * the question that stayed open.
 */
export const collectDepositsCall = (
	contracts: Addressed,
	sitting: Sitting,
	accuser: Hex,
	unanswered: Hex | null = null,
): Call => callOf(contracts, "disputes", "collect", sitting, accuser, unanswered ?? "0x");

export interface DisputeGame {
	/** Seconds since 1970; 0: there is no such game. */
	readonly openedS: number;
	/** When the accuser's turn began. */
	readonly sinceS: number;
	readonly answers: number;
	readonly deposits: bigint;
	readonly isClosed: boolean;
	readonly isPaid: boolean;
	/** Last moment to answer the open question; null: none is open. */
	readonly deadlineS: number | null;
}

export async function readGame(contracts: Contracts, sitting: Sitting, accuser: Hex): Promise<DisputeGame> {
	const [game, asking] = await read(contracts, "disputes", "gameOf", bookOf(sitting), accuser);
	const { opened, since, answers, deposits, isClosed, isPaid } = game;
	const deadlineS = asking.asks === answers ? null : opened + asking.deadline;
	return { openedS: opened, sinceS: since, answers, deposits, isClosed, isPaid, deadlineS };
}

/** Games against an attempt: open ones, all, and until when they hold the claim. */
export const readBook = (contracts: Contracts, sitting: Sitting) =>
	read(contracts, "disputes", "booked", bookOf(sitting));

/**
 * Hash of the word that was given on the chain; null: none. `question` is the hash that a signature would
 * name.
 */
export async function readWord(contracts: Contracts, sitting: Sitting, question: Hex): Promise<Hex | null> {
	const word = await read(contracts, "disputes", "wordOf", bookOf(sitting), question);
	return BigInt(word) === 0n ? null : word;
}

/** What was asked about an attempt on the chain so far, and when first, in seconds; null: nothing was. */
export async function readAsked(
	contracts: Contracts,
	sitting: Sitting,
): Promise<{ readonly sinceS: number; readonly questions: readonly Hex[] } | null> {
	const asked = await readEvents(contracts, "disputes", "Asked", { book: bookOf(sitting) });
	const [first] = asked;
	if (first === undefined) return null;
	const { timestamp } = await contracts.client.viem.getBlock({ blockNumber: first.blockNumber });
	return { sinceS: Number(timestamp), questions: asked.map(({ args }) => args.question) };
}

/** A game as its events tell it. */
export interface GameOnChain {
	readonly sitting: Sitting;
	readonly book: Hex;
	readonly accuser: Hex;
	readonly untilS: number;
	/** Oldest first. An answer of null: open, or never given. */
	readonly rounds: readonly {
		readonly question: Hex;
		readonly deadlineS: number;
		readonly answer: Hex | null;
		/** Transactions. */
		readonly askedIn: Hex;
		readonly answeredIn: Hex | null;
	}[];
}

/**
 * Every game against a provider, of an accuser, or about one attempt, oldest first, with all that was asked
 * and answered.
 */
export async function readGames(
	contracts: Contracts,
	of: { readonly provider: Hex } | { readonly accuser: Hex } | { readonly book: Hex },
	sinceBlock: number = contracts.addresses.deployedAtBlock,
): Promise<readonly GameOnChain[]> {
	const opened = await readEvents(contracts, "disputes", "Opened", of, sinceBlock);
	if (opened.length === 0) return [];
	const books = [...new Set(opened.map(({ args }) => args.book))];
	const narrowed = { book: books } as never;
	const [asked, answered] = await Promise.all([
		readEvents(contracts, "disputes", "Asked", narrowed, sinceBlock),
		readEvents(contracts, "disputes", "Answered", narrowed, sinceBlock),
	]);
	return opened.map(({ args: { book, provider, accuser, job, part, attempt, until } }) => {
		const isOfIt = ({ args }: { readonly args: { readonly book: Hex; readonly accuser: Hex } }) =>
			args.book === book && args.accuser === accuser;
		// One question at a time: the n-th answer is that of the n-th question.
		const answers = answered.filter(isOfIt);
		const rounds = asked.filter(isOfIt).map(({ args: { question, deadline }, transactionHash }, i) => ({
			...{ question, deadlineS: deadline, answer: answers[i]?.args.answer ?? null },
			...{ askedIn: transactionHash, answeredIn: answers[i]?.transactionHash ?? null },
		}));
		return { sitting: { job, part, attempt, provider }, book, accuser, untilS: until, rounds };
	});
}
