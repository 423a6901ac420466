// Scoreboard.sol: what its views mean, the windows of an epoch, what its events tell of it, and the calls of
// the game: weights signed, posted, challenged, their signers punished. The rest is `read` and `callOf` of
// contracts.ts by name; docs/epochs.md. Whatever depends on the clock is read in the pending block.
import type { ContractFunctionReturnType, Hex } from "viem";
import type { Opening, RewardLeaf, ScoreLeaf, Seat, Weights } from "../../protocol/chain/epoch-shapes.ts";
import { compactSignature } from "../../protocol/chain/typed-data.ts";
import type { scoreboardAbi } from "../abi/scoreboard-abi.ts";
import { blockAt } from "../node/block-at.ts";
import type { Call, ChainAccount } from "../sending/sign.ts";
import { type Contracts, callOf, read, readEvents, readPending } from "./contracts.ts";

export interface EpochWindows {
	/** All in seconds since 1970; each window ends where the next begins. */
	readonly endsAt: number;
	readonly revealsAt: number;
	/** From here on weights are signed and posted. */
	readonly signsAt: number;
	readonly signsUntil: number;
}

type Stored = ContractFunctionReturnType<typeof scoreboardAbi, "view", "params">;
/** Seconds, seconds since 1970 (`genesis`) and millionths; stakes in the token's smallest unit. */
export type EpochParams = { readonly [Name in Exclude<keyof Stored, "stakePerWeight">]: number } & {
	readonly stakePerWeight: bigint;
};

export async function readEpochParams(contracts: Contracts): Promise<EpochParams> {
	const { stakePerWeight, ...stored } = await read(contracts, "scoreboard", "params");
	const numbers = Object.fromEntries(Object.entries(stored).map(([name, value]) => [name, Number(value)]));
	return { ...numbers, stakePerWeight } as EpochParams;
}

/** What windows follow from. */
export type EpochTimes = Pick<
	EpochParams,
	"genesis" | "epochSeconds" | "commitSeconds" | "revealSeconds" | "signSeconds"
>;

export function windowsOf(times: EpochTimes, epoch: number): EpochWindows {
	const endsAt = times.genesis + (epoch + 1) * times.epochSeconds;
	const revealsAt = endsAt + times.commitSeconds;
	const signsAt = revealsAt + times.revealSeconds;
	return { endsAt, revealsAt, signsAt, signsUntil: signsAt + times.signSeconds };
}

/**
 * `digest` is 0 before a commitment, then the commitment, then the root that was revealed, but for its last
 * bit.
 */
export async function readReport(contracts: Contracts, epoch: number, signer: Hex) {
	const [digest, revealed] = await read(contracts, "scoreboard", "reportOf", BigInt(epoch), signer);
	return { digest, revealed };
}

/** The newest epoch with weights that stand; null before the first. */
export async function readHead(contracts: Contracts): Promise<number | null> {
	const [any, epoch] = await read(contracts, "scoreboard", "head");
	return any ? Number(epoch) : null;
}

export interface PostedWeights {
	readonly id: Hex;
	/** Seconds since 1970. */
	readonly finalAt: number;
	/** What all accounts have earned with them, in all epochs. */
	readonly total: bigint;
	/** The epoch that they continue; null: they are the first. */
	readonly previous: number | null;
}

/** What stands for an epoch; null: nothing. */
export async function readPosted(contracts: Contracts, epoch: number): Promise<PostedWeights | null> {
	const [id, finalAt, total, any, previous] = await read(contracts, "scoreboard", "postedOf", BigInt(epoch));
	if (BigInt(id) === 0n) return null;
	return { id, finalAt: Number(finalAt), total, previous: any ? Number(previous) : null };
}

/** What of an epoch stands and can no longer be dropped, as of now; null: nothing. */
export async function readFinal(contracts: Contracts, epoch: number): Promise<(PostedWeights & StatedWeights) | null> {
	const posted = await readPosted(contracts, epoch);
	const stated = posted === null ? null : await readStated(contracts, epoch, posted.id);
	if (posted === null || stated === null) return null;
	return (await readPending(contracts, "scoreboard", "isFinal", stated.weights)) ? { ...posted, ...stated } : null;
}

export interface StatedWeights {
	readonly weights: Weights;
	/** Bit i: seat i signed them. */
	readonly signers: bigint;
	readonly sender: Hex;
	readonly transaction: Hex;
}

/** Events of one epoch, from the block at its end on. Oldest first. */
async function eventsOf<const E extends "Committed" | "Revealed" | "Posted" | "ProvenWrong" | "Dropped" | "Punished">(
	contracts: Contracts,
	epoch: number,
	eventName: E,
) {
	const endsAt = Number(await read(contracts, "scoreboard", "epochEnd", BigInt(epoch)));
	const fromBlock = await blockAt(contracts.client, endsAt, contracts.addresses.deployedAtBlock);
	return readEvents(contracts, "scoreboard", eventName, { epoch: BigInt(epoch) } as never, fromBlock);
}

/** The weights behind an id, as they were posted; null when they were not. */
export async function readStated(contracts: Contracts, epoch: number, id: Hex): Promise<StatedWeights | null> {
	const found = (await eventsOf(contracts, epoch, "Posted")).findLast(({ args }) => args.id === id);
	if (found === undefined) return null;
	const { weights, signers, sender } = found.args;
	return { weights, signers, sender: sender.toLowerCase() as Hex, transaction: found.transactionHash };
}

/** Who has revealed a report of the epoch: its seats, in order. */
export async function readSeats(contracts: Contracts, epoch: number): Promise<readonly Seat[]> {
	return (await eventsOf(contracts, epoch, "Revealed")).map(({ args }) => seatOf(args));
}

export const seatOf = ({ validator, signer, stake, root }: Seat): Seat => ({
	validator: validator.toLowerCase() as Hex,
	signer: signer.toLowerCase() as Hex,
	stake,
	root,
});

/** Who committed to a report of an epoch, by signer in lower case, and in which block. */
export async function readCommits(contracts: Contracts, epoch: number): Promise<ReadonlyMap<Hex, number>> {
	const logs = await eventsOf(contracts, epoch, "Committed");
	return new Map(logs.map(({ args, blockNumber }) => [args.signer.toLowerCase() as Hex, Number(blockNumber)]));
}

const WEIGHTS_TYPES = {
	Weights: [
		{ name: "epoch", type: "uint64" },
		{ name: "base", type: "bytes32" },
		{ name: "set", type: "uint64" },
		{ name: "count", type: "uint32" },
		{ name: "totalWeight", type: "uint64" },
		{ name: "paid", type: "uint128" },
		{ name: "root", type: "bytes32" },
	],
} as const;

/** Only of weights that this validator computed itself: who signs wrong ones loses its stake. */
export const signWeights = (
	account: ChainAccount,
	{ chainId, scoreboard }: Contracts["addresses"],
	message: Weights,
): Promise<Hex> =>
	account.signTypedData({
		domain: { name: "assay", version: "1", chainId, verifyingContract: scoreboard },
		types: WEIGHTS_TYPES,
		primaryType: "Weights",
		message,
	});

/** As the chain takes seats. */
const chainSeats = (seats: readonly Seat[]) => seats.map(({ signer, stake, root }) => ({ signer, stake, root }));

/** `signatures` by the order of the seats in `signers`. */
export const postCall = (
	contracts: Pick<Contracts, "addresses">,
	{
		weights,
		seats,
		signers,
		signatures,
	}: {
		readonly weights: Weights;
		readonly seats: readonly Seat[];
		readonly signers: bigint;
		readonly signatures: readonly Hex[];
	},
): Call =>
	callOf(contracts, "scoreboard", "post", weights, chainSeats(seats), signers, signatures.map(compactSignature));

export const punishCall = (
	contracts: Pick<Contracts, "addresses">,
	weights: Weights,
	signatures: readonly Hex[],
): Call => callOf(contracts, "scoreboard", "punish", weights, signatures.map(compactSignature));

interface OpenedReport {
	readonly seat: number;
	readonly count: number;
	readonly openings: readonly Opening<ScoreLeaf>[];
}
type OpenedRewards = readonly Opening<RewardLeaf>[];

/** What shows that weights are wrong: the kinds of market/epochs/weights-fault.ts. */
export type Challenge =
	| { readonly kind: "set" }
	| { readonly kind: "report"; readonly report: OpenedReport }
	| { readonly kind: "shape"; readonly opened: OpenedRewards }
	| {
			readonly kind: "weight";
			readonly account: Hex;
			readonly opened: OpenedRewards;
			readonly reports: readonly OpenedReport[];
	  }
	| { readonly kind: "earned"; readonly account: Hex; readonly opened: OpenedRewards }
	| {
			readonly kind: "total";
			readonly account: Hex;
			readonly opened: OpenedRewards;
			readonly openedBase: OpenedRewards;
	  };

/** `base`: the weights that these continue; asked for only where totals are shown. */
export function challengeCall(
	contracts: Pick<Contracts, "addresses">,
	challenge: Challenge,
	{
		weights,
		base,
		seats,
		salt,
	}: {
		readonly weights: Weights;
		readonly base: Weights;
		readonly seats: readonly Seat[];
		readonly salt: Hex;
	},
): Call {
	const all = chainSeats(seats);
	if (challenge.kind === "set") return callOf(contracts, "scoreboard", "challengeSet", weights, all, [], salt);
	if (challenge.kind === "report")
		return callOf(contracts, "scoreboard", "challengeSet", weights, all, [challenge.report], salt);
	const { opened } = challenge;
	if (challenge.kind === "shape") return callOf(contracts, "scoreboard", "challengeShape", weights, opened, salt);
	const { account } = challenge;
	if (challenge.kind === "weight")
		return callOf(contracts, "scoreboard", "challengeWeight", weights, all, account, opened, challenge.reports, salt);
	if (challenge.kind === "earned")
		return callOf(contracts, "scoreboard", "challengeEarned", weights, all, account, opened, salt);
	const { openedBase } = challenge;
	return callOf(contracts, "scoreboard", "challengeTotal", weights, base, account, opened, openedBase, salt);
}
