// Answers on chain to whoever asks there about a claim, docs/chain.md §12: every question that is about the
// claim is answered before its clock, those whose time ends first before the others, within what its owner
// allows. Silence costs the bond, so whatever stays without an answer is told.
import { AssayError } from "../../protocol/assay-error.ts";
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import { toHex } from "../../protocol/chain/hex.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { answerGas, type ChainQuestion, decodeChainQuestion } from "../../protocol/network/chain-question.ts";
import type { ChainReply, JobChain } from "./job-chain.ts";

interface GameMeans {
	readonly chain: Pick<JobChain, "questions" | "answer">;
	readonly nowMs: () => number;
	/** In 24 hours; absent: whatever it takes. Counted since this process began. */
	readonly mostGas: number | undefined;
	readonly onTrouble: (error: unknown) => void;
}

interface ClaimAsked {
	/** Of the part's entry. */
	readonly name: string;
	readonly job: string;
	readonly part: number;
	/** The escrow's. */
	readonly attempt: number;
}

/** With the most gas that it takes. */
interface Costing extends ChainReply {
	readonly gas: number;
}
const gasOf = (all: readonly { readonly gas: number }[]): number => all.reduce((sum, { gas }) => sum + gas, 0);

/** Answers in one transaction: a block takes some thirty million gas, an answer some hundred thousand. */
const REPLIES_AT_ONCE = 16;
const DAY_MS = 86_400_000;

const unanswered = (why: string): AssayError => codedError("JOB_UNANSWERED", why);

export class GameAnswers {
	private readonly means: GameMeans;
	/** Questions that are none of a claim, and those that were told to be late. */
	private readonly ignored = new Set<string>();
	private readonly late = new Set<string>();
	private spent: { readonly atMs: number; readonly gas: number }[] = [];
	/** Of answers that are on their way: claims send theirs at once. */
	private reserved = 0;

	constructor(means: GameMeans) {
		this.means = means;
	}

	/**
	 * `answerTo`: null where it is not about the claim; `proven`: about a segment whose proof is on chain.
	 * Neither need be answered. Gives what sends the answers: until they are deep enough in the chain minutes
	 * may pass, and the clocks of other claims go on. Both throw what the chain throws.
	 */
	async answer(
		about: ClaimAsked,
		answerTo: (question: ChainQuestion) => Promise<Uint8Array | "proven" | null>,
		tell: (detail: string) => void,
	): Promise<() => Promise<void>> {
		const { chain, onTrouble } = this.means;
		const replies: Costing[] = [];
		const open = [...(await chain.questions(about.job, about.part, about.attempt))];
		for (const { accuser, question, deadlineS, isLate } of open.sort((a, b) => a.deadlineS - b.deadlineS)) {
			const name = `${about.name} ${accuser} ${question}`;
			if (this.ignored.has(name)) continue;
			// The chain would take none of those that are sent with it.
			if (isLate) {
				if (!this.late.has(name)) onTrouble(unanswered(`it is too late for an answer to ${accuser} on chain`));
				this.late.add(name);
				continue;
			}
			const read = decodeChainQuestion(hexToBytes(question.slice(2)) ?? new Uint8Array());
			const answer = read && (await answerTo(read));
			if (answer === null || answer === "proven") {
				this.ignored.add(name);
				const why = answer === null ? "what is none of this claim" : "about a segment that is proven there";
				tell(`${accuser} asks on chain ${why}: not answered`);
				continue;
			}
			const until = new Date(1000 * deadlineS).toISOString();
			tell(`${accuser} asks on chain: ${read!.kind}; answered before ${until}`);
			replies.push({ accuser, question, answer: toHex(answer), gas: answerGas(read!) });
		}
		return async () => {
			for (let left = replies; left.length > 0; ) {
				const some = this.affordable(left);
				if (some.length === 0) return;
				const gas = gasOf(some);
				this.reserved += gas;
				try {
					await this.send(
						about,
						some.map(({ gas: _, ...reply }) => reply),
					);
				} finally {
					this.reserved -= gas;
				}
				left = left.slice(some.length);
			}
		};
	}

	/**
	 * As many of the first ones as the owner's gas is enough for, whatever the others that are on their way
	 * come to; of none the owner is told.
	 */
	private affordable(waiting: readonly Costing[]): readonly Costing[] {
		const { nowMs, mostGas = Number.POSITIVE_INFINITY, onTrouble } = this.means;
		this.spent = this.spent.filter(({ atMs }) => atMs > nowMs() - DAY_MS);
		const spent = gasOf(this.spent);
		let some = waiting.slice(0, REPLIES_AT_ONCE);
		while (some.length > 0 && spent + this.reserved + gasOf(some) > mostGas) some = some.slice(0, -1);
		if (some.length > 0) return some;
		const onTheWay = this.reserved > 0 ? `, ${this.reserved} are on their way` : "";
		const why = `${waiting.length} questions on chain wait, the next for up to ${waiting[0]!.gas} gas: ${spent} were spent in 24 hours${onTheWay}, ${mostGas} are allowed`;
		onTrouble(unanswered(why));
		return some;
	}

	private async send({ job, part, attempt }: ClaimAsked, replies: readonly ChainReply[]): Promise<void> {
		const { chain, nowMs, onTrouble } = this.means;
		const send = async (some: readonly ChainReply[]) => {
			const gas = await chain.answer(job, part, attempt, some);
			// Not before: others may have made the list anew meanwhile.
			this.spent.push({ gas, atMs: nowMs() });
		};
		try {
			await send(replies);
		} catch (error) {
			if (replies.length === 1 || !(error instanceof AssayError && error.code === "CHAIN_REFUSED")) throw error;
			// One that the chain does not take must not keep it from the others.
			for (const one of replies) await send([one]).catch(onTrouble);
		}
	}
}
