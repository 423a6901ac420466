// The job market's side of the chain: what the escrow says of a job, what this validator signs, what it
// sends. The chain is asked, nobody's word is taken; what is sent is journalled, and looked up on chain
// before it is sent again. docs/chain.md §11.
import { type Contracts, callOf, lastingRead, read, readEvents } from "../../../chain/contracts/contracts.ts";
import {
	type AttemptOf,
	type JobPart as ChainPart,
	type CheckedClaim,
	checkPartCall,
	type JobTerms as EscrowTerms,
	expirePartCall,
	jobIdOf,
	readJobDeposit,
	readJobPart,
	releasePartCall,
	settlePartCall,
	signAssignment,
	signChecked,
	signReleased,
	signStored,
} from "../../../chain/contracts/job-escrow.ts";
import { readChainTime } from "../../../chain/node/chain-clock.ts";
import { type IntentJournal, publish } from "../../../chain/sending/publish.ts";
import { sendCall } from "../../../chain/sending/send-call.ts";
import type { Call } from "../../../chain/sending/sign.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import type { ChainHome } from "../../settlement/home.ts";
import { createZkChain } from "../proofs/zk-chain.ts";

/** One micro-unit of the record in the token's smallest unit. */
export const PER_MICRO = 10n ** 12n;

/** What the chain knows of a job's parts. */
export interface ChainJob {
	readonly isFunded: boolean;
	/** Parts below were assigned at least once; those from `end` on were cancelled. */
	readonly touched: number;
	readonly end: number;
	/** Settled parts whose fees wait to be shared, and what auditors left of them. */
	readonly unshared: number;
	readonly unspent: bigint;
}

/**
 * What `share` would give anybody: where fees round to nothing, it may be nothing, and the contract refuses.
 */
export const restOf = ({ fee }: Pick<EscrowTerms, "fee">, { unshared, unspent }: ChainJob): bigint =>
	BigInt(unshared) * fee + unspent;

export type JobChain = ReturnType<typeof createJobChain>;

export function createJobChain({
	home,
	journal,
	nowMs,
}: {
	readonly home: Pick<ChainHome, "contracts" | "account" | "isEmbedded" | "lateness">;
	readonly journal: IntentJournal;
	readonly nowMs: () => number;
}) {
	const { contracts, account } = home;
	const { client, addresses } = contracts;
	const part = (job: bigint, number: number, reading = read): Promise<ChainPart> =>
		readJobPart(contracts, job, number, reading);

	/** Once, whoever did it; false: the contract would not. */
	const send: Send = (id, call, isDone, isPayment = false) =>
		publish(client, account, journal, { id: `job/${id}`, call, isDone, isPayment });

	async function job(id: bigint, reading = read): Promise<ChainJob> {
		const { isFunded, touched, end, unshared, unspent } = await reading(contracts, "jobEscrow", "jobOf", id);
		return { isFunded, touched, end, unshared, unspent };
	}

	return {
		contracts: contracts as Contracts,
		account: account.address.toLowerCase() as Hex,
		chainId: addresses.chainId,
		escrow: addresses.jobEscrow.toLowerCase() as Hex,
		...{ job, part, lateness: home.lateness },
		...{ ...lastingSide(contracts), ...blockSide(home, nowMs) },
		zk: createZkChain(contracts),
		/** keccak256(claim ‖ last state) of an attempt; zeros: there was no claim. */
		commitment: (id: bigint, number: number, attempt: number): Promise<Hex> =>
			read(contracts, "jobEscrow", "commitmentOf", id, number, attempt),
		/** What the account has not locked, and all that it may lock again. */
		bondOf: async (of: Hex): Promise<{ readonly freeMicros: number; readonly wholeMicros: number }> => {
			const { free, locked } = await readJobDeposit(contracts, of);
			const micros = (units: bigint) => Math.min(Number(units / PER_MICRO), Number.MAX_SAFE_INTEGER);
			return { freeMicros: micros(free), wholeMicros: micros(free + locked) };
		},
		/** What auditors of the part have had already: it stays spent when a checked claim falls. */
		auditSpent: (id: bigint, number: number): Promise<bigint> => read(contracts, "jobEscrow", "auditSpent", id, number),
		/** Somebody asks on chain about the claim that stands: it is not paid before that is over. */
		isHeld: (id: bigint, number: number, { attempt, provider }: Pick<ChainPart, "attempt" | "provider">) =>
			read(contracts, "disputes", "isHeld", id, number, attempt, provider as Hex),
		...wordSide(home, send),
		async settle(terms: EscrowTerms, { job: id, part: number, attempt }: AttemptOf): Promise<void> {
			await send(
				`${id.toString(16)}/${number}/${attempt}/settle`,
				settlePartCall(contracts, terms, number),
				async () => {
					const found = await part(id, number);
					return found.state === "settled" || found.attempt !== attempt;
				},
			);
		},
		/** Late or fallen: open. Open: refunded. */
		async expire(terms: EscrowTerms, { job: id, part: number, attempt }: AttemptOf, from: ChainPart["state"]) {
			const name = `${id.toString(16)}/${number}/${attempt}/expire-${from}`;
			await send(name, expirePartCall(contracts, terms, number), async () => {
				const found = await part(id, number);
				return found.state !== from || found.attempt !== attempt;
			});
		},
		/** What nobody ever had is the customer's again, after `startBy`. */
		async cancel(terms: EscrowTerms): Promise<void> {
			const id = jobIdOf(terms);
			await send(`${id.toString(16)}/cancel`, callOf(contracts, "jobEscrow", "cancel", terms), async () => {
				const { touched, end } = await job(id);
				return touched === end;
			});
		},
		...accuserSide(home, send),
		/** Fees to the validators, what auditors left to the customer. */
		async share(terms: EscrowTerms): Promise<void> {
			const id = jobIdOf(terms);
			await send(`${id.toString(16)}/share`, callOf(contracts, "jobEscrow", "share", terms), async () => {
				return restOf(terms, await job(id)) === 0n;
			});
		},
	};
}

function blockSide(
	{ contracts: { client }, account, isEmbedded }: Pick<ChainHome, "contracts" | "account" | "isEmbedded">,
	nowMs: () => number,
) {
	const ownS = () => Math.floor(nowMs() / 1000);
	return {
		/** Seconds, as a transaction of now would see them. */
		nowS: () => (isEmbedded ? Promise.resolve(ownS()) : readChainTime(client, ownS())),
		newestBlock: async (): Promise<number> => Number(await client.viem.getBlockNumber()),
		/** The hash of a block, 64 hex digits, once it is deep enough to stay; null: not yet. */
		async blockHash(number: number): Promise<string | null> {
			const newest = Number(await client.viem.getBlockNumber());
			if (newest < number + client.confirmations - 1) {
				// The embedded chain makes a block when somebody sends something; nobody else may.
				if (isEmbedded) await sendCall(client, account, { to: account.address, data: "0x" });
				else return null;
			}
			const block = await client.viem.getBlock({ blockNumber: BigInt(number) }).catch(() => null);
			return block?.hash?.slice(2) ?? null;
		},
	};
}

/** What nobody takes back any more: by it alone the record goes back, or is over. */
function lastingSide(contracts: Contracts) {
	const { viem, confirmations } = contracts.client;
	const deepest = async () => (await viem.getBlockNumber()) - BigInt(confirmations) + 1n;
	return {
		lasting: () => lastingRead(contracts),
		/** The event that ended a provider's claim; null: none is known. A provider has a part once. */
		async ending(id: bigint, number: number, provider: Hex) {
			const block = await deepest();
			const one = { job: id, part: number, provider };
			const convicted = await readEvents(contracts, "jobEscrow", "Convicted", one);
			const found = convicted.at(-1) ?? (await readEvents(contracts, "jobEscrow", "Reopened", one)).at(-1);
			if (found === undefined) return null;
			return { isConviction: convicted.length > 0, lasts: found.blockNumber <= block };
		},
	};
}

type Send = (id: string, call: Call, isDone: () => Promise<boolean>, isPayment?: boolean) => Promise<unknown>;

/** What this validator signs, and what it sends with its own word. */
function wordSide({ contracts, account }: Pick<ChainHome, "contracts" | "account">, send: Send) {
	return {
		signAssignment: (terms: EscrowTerms, provider: Hex, assignment: Parameters<typeof signAssignment>[4]) =>
			signAssignment(account, contracts, jobIdOf(terms), provider, assignment),
		signStored: (attempt: AttemptOf, claim: Hex) => signStored(account, contracts, attempt, claim),
		async check(terms: EscrowTerms, attempt: AttemptOf, claim: CheckedClaim): Promise<void> {
			const signature = await signChecked(account, contracts, attempt, claim);
			const call = checkPartCall(contracts, terms, attempt.part, claim, [signature]);
			await send(`${attempt.job.toString(16)}/${attempt.part}/${attempt.attempt}/check`, call, async () => {
				const found = await readJobPart(contracts, attempt.job, attempt.part);
				return found.state !== "claimed" || found.isChecked || found.attempt !== attempt.attempt;
			});
		},
		/** Its provider is gone, gets nowhere, or handed it back. */
		async release(terms: EscrowTerms, attempt: AttemptOf): Promise<void> {
			const { job: id, part: number } = attempt;
			const signature = await signReleased(account, contracts, attempt);
			const call = releasePartCall(contracts, terms, attempt, [signature]);
			await send(`${id.toString(16)}/${number}/${attempt.attempt}/release`, call, async () => {
				const found = await readJobPart(contracts, id, number);
				return found.state !== "assigned" || found.attempt !== attempt.attempt;
			});
		},
	};
}

/** What came of our accusations, and what we pay on. */
function accuserSide({ contracts, account }: Pick<ChainHome, "contracts" | "account">, send: Send) {
	/** Of the contract's making, and so asked for once. */
	let costs: Promise<number> | null = null;
	async function accuserCosts(): Promise<number> {
		costs ??= read(contracts, "jobEscrow", "params").then((params) => Number(params.accuserCosts / PER_MICRO));
		return costs.catch((error: unknown) => {
			costs = null;
			throw error;
		});
	}
	return {
		/** What the escrow gives to an accuser before the bond is shared, in micro-units. */
		accuserCosts,
		/**
		 * How a claim fell by a proof; null: it did not. `quarter`: what its accuser has of the bond beyond its
		 * costs.
		 */
		async conviction(id: bigint, number: number, provider: Hex) {
			const all = await readEvents(contracts, "jobEscrow", "Convicted", { job: id, part: number, provider });
			const found = all.at(-1);
			if (found === undefined) return null;
			const { accuser, toAccuser, toCustomer } = found.args;
			const quarter = toCustomer < toAccuser ? toCustomer : toAccuser;
			return { accuser: accuser.toLowerCase() as Hex, quarter, block: Number(found.blockNumber) };
		},
		/**
		 * Tokens of our own, once. A transfer has no place that says what it was for: the tag behind its
		 * arguments, which no token reads, makes it ours among those since that block. A node that is behind does
		 * not show it yet: so the journal keeps what was paid.
		 */
		async pay(name: string, to: Hex, amount: bigint, { tag, since }: { readonly tag: Hex; readonly since: number }) {
			const owed = () => read(contracts, "jobEscrow", "owedTo", account.address);
			const isShort = (await read(contracts, "token", "balanceOf", account.address)) < amount;
			if (isShort && (await owed()) > 0n)
				await send(`${name}/collect`, callOf(contracts, "jobEscrow", "collect", account.address), async () => {
					return (await owed()) === 0n;
				});
			const { to: token, data } = callOf(contracts, "token", "transfer", to, amount);
			const call: Call = { to: token, data: `${data!}${tag.slice(2)}` };
			await send(
				name,
				call,
				async () => {
					const moved = await readEvents(contracts, "token", "Transfer", { from: account.address, to }, since);
					for (const { transactionHash } of moved)
						if ((await contracts.client.viem.getTransaction({ hash: transactionHash! })).input === call.data)
							return true;
					return false;
				},
				true,
			);
		},
	};
}
