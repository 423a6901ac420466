// The account of a watcher on its chain: what it sends stays within a budget of gas a day, and what
// convictions brought it is collected.
import { type Contracts, callOf, read } from "../../../chain/contracts/contracts.ts";
import { collectDepositsCall, readGame, readGames } from "../../../chain/contracts/dispute-games.ts";
import { readJobPart } from "../../../chain/contracts/job-escrow.ts";
import { sendGuarded } from "../../../chain/sending/send-call.ts";
import type { Call, ChainAccount } from "../../../chain/sending/sign.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { codes } from "../../../protocol/codes.ts";
import { sha256Of } from "../../../protocol/hash/tagged-hash.ts";
import type { EvidenceChain } from "../evidence/claim-at-hand.ts";
import type { WatchBook } from "./watch-book.ts";

export interface WatchChain {
	readonly evidence: EvidenceChain;
	/**
	 * What is owed to this account for convictions, and the deposits of its games about claims that fell, by
	 * whomever and whenever.
	 */
	collect(): Promise<void>;
}

/** `gasADay`: what may be spent in 24 hours. */
export async function openWatchChain(
	contracts: Contracts,
	account: ChainAccount,
	{ gasADay, book }: { readonly gasADay: number; readonly book: WatchBook },
): Promise<WatchChain> {
	const { client } = contracts;
	// Ethereum's signatures are the same each time: one that is never told is a secret that only the key's
	// holder can make.
	const secret = sha256Of(utf8ToBytes(await account.signMessage({ message: "assay/watcher-salt/1" })));
	const send = async (call: Call): Promise<Hex> => {
		const request = {
			from: account.address,
			to: call.to!,
			data: call.data,
			value: `0x${(call.value ?? 0n).toString(16)}`,
		};
		// Whatever the node says here, a refusal comes again, with its reason, when it is signed.
		const estimate = Number(await client.rpc("eth_estimateGas", [request, "pending"]).catch(() => 0));
		if (book.gasSpent() + estimate > gasADay)
			throw new AssayError("WATCH_BUDGET", `${estimate} gas more than the ${gasADay} a day that are allowed`, {
				hint: codes.WATCH_BUDGET.hint,
			});
		const { transactionHash, gasUsed } = await sendGuarded(client, account, call);
		await book.spendGas(Number(gasUsed));
		return transactionHash;
	};
	return {
		evidence: { contracts, account: account.address as Hex, secret, send },
		async collect() {
			if ((await read(contracts, "jobEscrow", "owedTo", account.address)) > 0n)
				await send(callOf(contracts, "jobEscrow", "collect", account.address));
			await collectDeposits({ contracts, account: account.address as Hex, send });
		},
	};
}

/** The deposits of an accuser's games about claims that fell. */
export async function collectDeposits({
	contracts,
	account,
	send,
}: Pick<EvidenceChain, "contracts" | "account" | "send">): Promise<void> {
	for (const { sitting, accuser, rounds } of await readGames(contracts, { accuser: account })) {
		if ((await readGame(contracts, sitting, accuser)).isPaid) continue;
		const { state, attempt } = await readJobPart(contracts, sitting.job, sitting.part);
		// While the claim stands they lie there; of one that was paid they are its provider's.
		if (attempt === sitting.attempt && (state === "claimed" || state === "settled")) continue;
		const last = rounds.at(-1);
		const unanswered = last === undefined || last.answer !== null ? null : last.question;
		await send(collectDepositsCall(contracts, sitting, accuser, unanswered));
	}
}
