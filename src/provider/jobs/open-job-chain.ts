// A provider's acts on chain for jobs, over the contracts of its network and with its own key.
import { type Contracts, lastingRead, read } from "../../chain/contracts/contracts.ts";
import {
	answerQuestionsCall,
	bookOf,
	collectDepositsCall,
	readBook,
	readDisputeParams,
	readGame,
	readGames,
	type Sitting,
} from "../../chain/contracts/dispute-games.ts";
import { signAnswer } from "../../chain/contracts/disputes.ts";
import { signJobConsent } from "../../chain/contracts/job-account.ts";
import {
	assignPartCall,
	claimPartCall,
	jobIdOf,
	readJobDeposit,
	readJobPart,
	releasePartCall,
	type ShownClaim,
	settlePartCall,
} from "../../chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../chain/contracts/job-terms-text.ts";
import { readChainTime } from "../../chain/node/chain-clock.ts";
import { sendGuarded } from "../../chain/sending/send-call.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import { concatBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { type Hex, toHex } from "../../protocol/chain/hex.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import { openDisputeChain } from "../proofs/hybrid/dispute-chain.ts";
import { openProofChain } from "../proofs/proof-chain.ts";
import type { JobChain } from "./job-chain.ts";

const PER_MICRO = 10n ** 12n;

export async function openJobChain(
	contracts: Contracts,
	account: ChainAccount,
	providerKey: string,
): Promise<JobChain> {
	const { client, addresses } = contracts;
	const own = account.address.toLowerCase();
	const numberOf = (job: string) => BigInt(`0x${job}`);
	const part: JobChain["part"] = async (job, number, isLasting = false) =>
		readJobPart(contracts, numberOf(job), number, isLasting ? await lastingRead(contracts) : read);
	const idOf: JobChain["idOf"] = (terms) => jobIdOf(jobTermsFromText(terms)).toString(16).padStart(64, "0");
	const sittingOf = (job: string, number: number, attempt: number): Sitting => ({
		...{ job: numberOf(job), part: number, attempt, provider: account.address },
	});
	return {
		...{ chainId: addresses.chainId, escrow: addresses.jobEscrow.toLowerCase(), account: own, idOf, part },
		zk: openProofChain(contracts, account),
		disputes: openDisputeChain(contracts, account),
		consent: await signJobConsent(account, providerKey),
		async freeBondMicros() {
			const { free } = await readJobDeposit(contracts, account.address);
			return Number(free / PER_MICRO);
		},
		traceMs: async () => 1000 * (await readDisputeParams(contracts)).traceSeconds,
		async isEndOfPartBefore(job, number, previous, start) {
			const { base, state, attempt } = await read(contracts, "jobEscrow", "partOf", numberOf(job), number);
			const before = await read(contracts, "jobEscrow", "partOf", numberOf(job), number - 1);
			// Assigned already: it is built on that attempt. Else on the newest one.
			const on = state === ASSIGNED && attempt > 0 ? base : before.attempt;
			const kept = await read(contracts, "jobEscrow", "commitmentOf", numberOf(job), number - 1, on);
			return kept === toHex(keccak(concatBytes(hexToBytes(previous, 32)!, hexToBytes(start, 32)!)));
		},
		async assign(text, { part: number, attempt, until, draw, signatures }) {
			const found = await part(idOf(text), number);
			if (found.provider === own && found.attempt === attempt) return;
			const assignment = { part: number, attempt, until: BigInt(until), draw: draw as Hex };
			const call = assignPartCall(contracts, jobTermsFromText(text), assignment, signatures as Hex[]);
			await sendGuarded(client, account, call);
		},
		async release(text, number, attempt) {
			const found = await part(idOf(text), number);
			if (found.provider !== own || found.state !== "assigned" || found.attempt !== attempt) return;
			const call = releasePartCall(contracts, jobTermsFromText(text), { part: number, attempt }, []);
			await sendGuarded(client, account, call);
		},
		async claim(text, number, claim, signatures) {
			const found = await part(idOf(text), number);
			if (found.provider !== own || found.state !== "assigned") return;
			const call = claimPartCall(contracts, jobTermsFromText(text), number, claim as ShownClaim, signatures as Hex[]);
			await sendGuarded(client, account, call);
		},
		async questions(job, number, attempt) {
			const sitting = sittingOf(job, number, attempt);
			// One slot tells whether anybody plays: events are read only then.
			if ((await readBook(contracts, sitting)).open === 0) return [];
			const games = await readGames(contracts, { book: bookOf(sitting) });
			// The chain's clock, not this machine's.
			const nowS = Number((await client.viem.getBlock()).timestamp);
			return games.flatMap(({ accuser, rounds }) => {
				const last = rounds.at(-1);
				return last === undefined || last.answer !== null ? [] : [{ accuser, ...last, isLate: nowS > last.deadlineS }];
			});
		},
		async answer(job, number, attempt, replies) {
			const sitting = sittingOf(job, number, attempt);
			const all = replies.map((reply) => ({ sitting, ...reply }));
			return Number((await sendGuarded(client, account, answerQuestionsCall(contracts, all))).gasUsed);
		},
		async settle(text, number, attempt, afterS) {
			const terms = jobTermsFromText(text);
			const id = jobIdOf(terms);
			const found = await readJobPart(contracts, id, number);
			if (found.state !== "claimed" || found.provider !== own || found.attempt !== attempt) return false;
			if ((await readChainTime(client, 0)) <= found.untilS + afterS) return false;
			// While somebody asks about it, and before the part before it is paid, the escrow pays nobody.
			if (await read(contracts, "disputes", "isHeld", id, number, attempt, account.address)) return false;
			if (number > 0 && (await readJobPart(contracts, id, number - 1)).state === "claimed") return false;
			await sendGuarded(client, account, settlePartCall(contracts, terms, number));
			return true;
		},
		async collectDeposits(job, number, attempt) {
			const sitting = sittingOf(job, number, attempt);
			if ((await readBook(contracts, sitting)).games === 0) return;
			for (const { accuser, rounds } of await readGames(contracts, { book: bookOf(sitting) })) {
				if ((await readGame(contracts, sitting, accuser)).isPaid) continue;
				const last = rounds.at(-1);
				const unanswered = last === undefined || last.answer !== null ? null : last.question;
				await sendGuarded(client, account, collectDepositsCall(contracts, sitting, accuser, unanswered));
			}
		},
		signAnswer: (claim, answer) => signAnswer(account, contracts, { claim, ...answer }),
	};
}

/** In the order of the contract's states. */
const ASSIGNED = 2;
