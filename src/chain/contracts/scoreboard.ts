// Scoreboard.sol: what its views mean, and an epoch's reports and proposals from its events. The rest is
// `read` and `callOf` of contracts.ts by name; docs/chain.md. Whatever depends on the clock is read in the
// pending block.
import type { ContractFunctionReturnType, Hex } from "viem";
import type { Proposal, RevealedReport } from "../../protocol/chain/epoch-shapes.ts";
import type { scoreboardAbi } from "../abi/scoreboard-abi.ts";
import { type Contracts, read, readEvents, readPending } from "./contracts.ts";

export interface EpochWindows {
	/** All in seconds since 1970; each window ends where the next begins. */
	readonly endsAt: number;
	readonly revealsAt: number;
	readonly voidsAt: number;
	readonly proposesAt: number;
}

type Stored = ContractFunctionReturnType<typeof scoreboardAbi, "view", "params">;
/** Seconds, seconds since 1970 (`genesis`) and millionths. */
export type EpochParams = { readonly [Name in keyof Stored]: number };

export async function readEpochParams(contracts: Contracts): Promise<EpochParams> {
	const stored = await read(contracts, "scoreboard", "params");
	return Object.fromEntries(Object.entries(stored).map(([name, value]) => [name, Number(value)])) as EpochParams;
}

/** What windows follow from. */
export type EpochTimes = Pick<
	EpochParams,
	"genesis" | "epochSeconds" | "commitSeconds" | "revealSeconds" | "voidSeconds"
>;

export function windowsOf(times: EpochTimes, epoch: number): EpochWindows {
	const endsAt = times.genesis + (epoch + 1) * times.epochSeconds;
	const revealsAt = endsAt + times.commitSeconds;
	const voidsAt = revealsAt + times.revealSeconds;
	return { endsAt, revealsAt, voidsAt, proposesAt: voidsAt + times.voidSeconds };
}

/** `digest` is 0 before a commitment, then the commitment, then the root that was revealed. */
export async function readReport(contracts: Contracts, epoch: number, validator: Hex) {
	const [digest, revealed, voided] = await read(contracts, "scoreboard", "reportOf", BigInt(epoch), validator);
	return { digest, revealed, voided };
}

/** Whether the reports that count have enough of the stake between them. */
export async function readQuorum(contracts: Contracts, epoch: number): Promise<boolean> {
	const [, , quorum] = await read(contracts, "scoreboard", "stakesOf", BigInt(epoch));
	return quorum;
}

export interface StandingProposal {
	/** Null: there is none. */
	readonly digest: Hex | null;
	readonly proposer: Hex;
	/** Seconds since 1970. */
	readonly finalAt: number;
}

export async function readProposal(contracts: Contracts, epoch: number): Promise<StandingProposal> {
	const [digest, proposer, finalAt] = await read(contracts, "scoreboard", "proposalOf", BigInt(epoch));
	return { digest: orNull(digest), proposer, finalAt: Number(finalAt) };
}

/** Null before it is final. */
export async function readFinal(contracts: Contracts, epoch: number): Promise<Hex | null> {
	const [digest] = await readPending(contracts, "scoreboard", "finalOf", BigInt(epoch));
	return orNull(digest);
}

const orNull = (digest: Hex): Hex | null => (BigInt(digest) === 0n ? null : digest);

/** Every revealed report of an epoch with its current state, sorted by validator, in lower case. */
export async function readRevealed(contracts: Contracts, epoch: number): Promise<readonly RevealedReport[]> {
	const logs = await readEvents(contracts, "scoreboard", "Revealed", { epoch: BigInt(epoch) });
	const found = await Promise.all(
		logs.map(async ({ args: { validator, root, stake } }) => {
			const { voided } = await readReport(contracts, epoch, validator);
			return { validator: validator.toLowerCase() as Hex, root, stake, voided };
		}),
	);
	return found.sort((a, b) => (a.validator < b.validator ? -1 : 1));
}

/** Who committed to a report of an epoch, with or without stake, in lower case, and in which block. */
export async function readCommits(contracts: Contracts, epoch: number): Promise<ReadonlyMap<Hex, number>> {
	const logs = await readEvents(contracts, "scoreboard", "Committed", { epoch: BigInt(epoch) });
	return new Map(logs.map(({ args, blockNumber }) => [args.validator.toLowerCase() as Hex, Number(blockNumber)]));
}

/** The proposal behind a digest, as in its event; null when there is none. */
export async function readProposed(contracts: Contracts, epoch: number, digest: Hex): Promise<Proposal | null> {
	const logs = await readEvents(contracts, "scoreboard", "Proposed", { epoch: BigInt(epoch) });
	const found = logs.findLast(({ args }) => args.digest === digest)?.args.proposal;
	return found === undefined ? null : { ...found, thresholdProvider: found.thresholdProvider.toLowerCase() as Hex };
}
