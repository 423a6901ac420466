// Scoreboard.sol: commitments, revealed roots, proposals and challenges. Typed reads and calls; docs/chain.md.
// Reads that depend on the clock ask for the pending block: the newest one may be minutes old where nobody sends anything.
import type { Hex } from "viem";
import { scoreboardAbi } from "../abi/scoreboard-abi.ts";
import type { ChainClient } from "../node/chain-client.ts";
import { type Call, callOf } from "../sending/sign.ts";
import type { ContractAddresses } from "./deploy.ts";

export interface EpochWindows {
	/** All in seconds since 1970; each window ends where the next begins. */
	readonly endsAt: number;
	readonly revealsAt: number;
	readonly voidsAt: number;
	readonly proposesAt: number;
}

export interface EpochParams {
	readonly genesis: number;
	readonly epochSeconds: number;
	readonly commitSeconds: number;
	readonly revealSeconds: number;
	readonly voidSeconds: number;
	readonly challengeSeconds: number;
	readonly quorumPpm: number;
	readonly proposerSlashPpm: number;
}

/** As in Scoreboard.Proposal. */
export interface ChainProposal {
	readonly count: number;
	readonly totalWeight: bigint;
	readonly emission: bigint;
	readonly thresholdRemainder: bigint;
	readonly thresholdProvider: Hex;
	readonly root: Hex;
}

export interface ChainOpening<Leaf> {
	readonly index: number;
	readonly leaf: Leaf;
	readonly path: readonly Hex[];
}

export interface ChainWeightLeaf {
	readonly provider: Hex;
	readonly weightPpm: number;
	readonly weightBefore: bigint;
	readonly amountBefore: bigint;
}

export interface ChainReportOpening {
	readonly validator: Hex;
	readonly count: number;
	readonly openings: readonly ChainOpening<{ provider: Hex; scorePpm: number; evidenceSha256: Hex }>[];
}

export async function readEpochParams({ viem }: ChainClient, at: ContractAddresses): Promise<EpochParams> {
	const p = await viem.readContract({ address: at.scoreboard, abi: scoreboardAbi, functionName: "params" });
	return {
		genesis: Number(p.genesis),
		epochSeconds: Number(p.epochSeconds),
		commitSeconds: Number(p.commitSeconds),
		revealSeconds: Number(p.revealSeconds),
		voidSeconds: Number(p.voidSeconds),
		challengeSeconds: Number(p.challengeSeconds),
		quorumPpm: p.quorumPpm,
		proposerSlashPpm: p.proposerSlashPpm,
	};
}

/** What windows follow from. */
export type EpochTimes = Pick<
	EpochParams,
	"genesis" | "epochSeconds" | "commitSeconds" | "revealSeconds" | "voidSeconds"
>;

export function windowsOf(p: EpochTimes, epoch: number): EpochWindows {
	const endsAt = p.genesis + (epoch + 1) * p.epochSeconds;
	const revealsAt = endsAt + p.commitSeconds;
	const voidsAt = revealsAt + p.revealSeconds;
	return { endsAt, revealsAt, voidsAt, proposesAt: voidsAt + p.voidSeconds };
}

export async function readReport(
	{ viem }: ChainClient,
	at: ContractAddresses,
	epoch: number,
	validator: Hex,
): Promise<{ readonly digest: Hex; readonly revealed: boolean; readonly voided: boolean }> {
	const [digest, revealed, voided] = await viem.readContract({
		address: at.scoreboard,
		abi: scoreboardAbi,
		functionName: "reportOf",
		args: [BigInt(epoch), validator],
	});
	return { digest, revealed, voided };
}

/** The last bit of a kept root says that it is one: compare roots only so. */
export const keptRoot = (root: Hex): Hex => `0x${(BigInt(root) | 1n).toString(16).padStart(64, "0")}`;

export async function readStakes({ viem }: ChainClient, at: ContractAddresses, epoch: number) {
	const [counted, total, quorum] = await viem.readContract({
		address: at.scoreboard,
		abi: scoreboardAbi,
		functionName: "stakesOf",
		args: [BigInt(epoch)],
	});
	return { counted, total, quorum };
}

export interface StandingProposal {
	/** Null: there is none. */
	readonly digest: Hex | null;
	readonly proposer: Hex;
	/** Seconds since 1970. */
	readonly finalAt: number;
}

export async function readProposal(
	{ viem }: ChainClient,
	at: ContractAddresses,
	epoch: number,
): Promise<StandingProposal> {
	const [digest, proposer, finalAt] = await viem.readContract({
		address: at.scoreboard,
		abi: scoreboardAbi,
		functionName: "proposalOf",
		args: [BigInt(epoch)],
	});
	return { digest: BigInt(digest) === 0n ? null : digest, proposer, finalAt: Number(finalAt) };
}

/** Null before it is final. */
export async function readFinal({ viem }: ChainClient, at: ContractAddresses, epoch: number): Promise<Hex | null> {
	const [digest] = await viem.readContract({
		address: at.scoreboard,
		abi: scoreboardAbi,
		functionName: "finalOf",
		args: [BigInt(epoch)],
		blockTag: "pending",
	});
	return BigInt(digest) === 0n ? null : digest;
}

export const readCommitmentOf = (
	{ viem }: ChainClient,
	at: ContractAddresses,
	o: { readonly epoch: number; readonly validator: Hex; readonly root: Hex; readonly salt: Hex },
) =>
	viem.readContract({
		address: at.scoreboard,
		abi: scoreboardAbi,
		functionName: "commitmentOf",
		args: [BigInt(o.epoch), o.validator, o.root, o.salt],
	});

export const readProposalDigest = ({ viem }: ChainClient, at: ContractAddresses, epoch: number, p: ChainProposal) =>
	viem.readContract({
		address: at.scoreboard,
		abi: scoreboardAbi,
		functionName: "proposalDigest",
		args: [BigInt(epoch), p],
	});

export interface RevealedReport {
	readonly validator: Hex;
	readonly root: Hex;
	readonly stake: bigint;
	readonly voided: boolean;
}

/** Every revealed report of an epoch, from its events and the state now. Sorted by validator, addresses in lower case. */
export async function readRevealed(
	client: ChainClient,
	at: ContractAddresses,
	epoch: number,
): Promise<readonly RevealedReport[]> {
	const logs = await client.viem.getContractEvents({
		address: at.scoreboard,
		abi: scoreboardAbi,
		eventName: "Revealed",
		args: { epoch: BigInt(epoch) },
		fromBlock: BigInt(at.deployedAtBlock),
		strict: true,
	});
	const found = await Promise.all(
		logs.map(async ({ args }) => ({
			validator: args.validator.toLowerCase() as Hex,
			root: args.root,
			stake: args.stake,
			voided: (await readReport(client, at, epoch, args.validator)).voided,
		})),
	);
	return found.sort((a, b) => (a.validator < b.validator ? -1 : 1));
}

/** Every account that committed to a report of an epoch, in lower case, and the block in which it did; whether it has stake is another matter. */
export async function readCommits(
	{ viem }: ChainClient,
	at: ContractAddresses,
	epoch: number,
): Promise<ReadonlyMap<Hex, number>> {
	const logs = await viem.getContractEvents({
		address: at.scoreboard,
		abi: scoreboardAbi,
		eventName: "Committed",
		args: { epoch: BigInt(epoch) },
		fromBlock: BigInt(at.deployedAtBlock),
		strict: true,
	});
	return new Map(logs.map(({ args, blockNumber }) => [args.validator.toLowerCase() as Hex, Number(blockNumber)]));
}

/** Whether any report was ever opened, of whatever epoch. */
export async function readAnyRevealed({ viem }: ChainClient, at: ContractAddresses): Promise<boolean> {
	const logs = await viem.getContractEvents({
		address: at.scoreboard,
		abi: scoreboardAbi,
		eventName: "Revealed",
		fromBlock: BigInt(at.deployedAtBlock),
		strict: true,
	});
	return logs.length > 0;
}

/** The proposal behind a digest, as its event told it; null when no event did. */
export async function readProposed(
	{ viem }: ChainClient,
	at: ContractAddresses,
	epoch: number,
	digest: Hex,
): Promise<ChainProposal | null> {
	const logs = await viem.getContractEvents({
		address: at.scoreboard,
		abi: scoreboardAbi,
		eventName: "Proposed",
		args: { epoch: BigInt(epoch) },
		fromBlock: BigInt(at.deployedAtBlock),
		strict: true,
	});
	const found = logs.findLast(({ args }) => args.digest === digest)?.args.proposal;
	return found === undefined ? null : { ...found, thresholdProvider: found.thresholdProvider.toLowerCase() as Hex };
}

export const commitCall = (at: ContractAddresses, epoch: number, commitment: Hex): Call =>
	callOf(at.scoreboard, { abi: scoreboardAbi, functionName: "commit", args: [BigInt(epoch), commitment] });

export const revealCall = (at: ContractAddresses, epoch: number, root: Hex, salt: Hex): Call =>
	callOf(at.scoreboard, { abi: scoreboardAbi, functionName: "reveal", args: [BigInt(epoch), root, salt] });

export const proposeCall = (at: ContractAddresses, epoch: number, proposal: ChainProposal): Call =>
	callOf(at.scoreboard, { abi: scoreboardAbi, functionName: "propose", args: [BigInt(epoch), proposal] });

export const voteWithheldCall = (at: ContractAddresses, epoch: number, validator: Hex): Call =>
	callOf(at.scoreboard, { abi: scoreboardAbi, functionName: "voteWithheld", args: [BigInt(epoch), validator] });

export const voidMalformedCall = (at: ContractAddresses, epoch: number, report: ChainReportOpening): Call =>
	callOf(at.scoreboard, { abi: scoreboardAbi, functionName: "voidMalformed", args: [BigInt(epoch), report] });

export const voteUnavailableCall = (at: ContractAddresses, epoch: number, digest: Hex): Call =>
	callOf(at.scoreboard, { abi: scoreboardAbi, functionName: "voteUnavailable", args: [BigInt(epoch), digest] });

export const challengeWeightCall = (
	at: ContractAddresses,
	epoch: number,
	proposal: ChainProposal,
	provider: Hex,
	weights: readonly ChainOpening<ChainWeightLeaf>[],
	reports: readonly ChainReportOpening[],
): Call =>
	callOf(at.scoreboard, {
		abi: scoreboardAbi,
		functionName: "challengeWeight",
		args: [BigInt(epoch), proposal, provider, weights, reports],
	});

export const challengeShapeCall = (
	at: ContractAddresses,
	epoch: number,
	proposal: ChainProposal,
	weights: readonly ChainOpening<ChainWeightLeaf>[],
): Call =>
	callOf(at.scoreboard, {
		abi: scoreboardAbi,
		functionName: "challengeShape",
		args: [BigInt(epoch), proposal, weights],
	});
