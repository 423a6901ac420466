// What a validator does on chain for an epoch: commit, reveal, look at the others' reports, propose weights
// or check the proposal that stands. Decides from the chain's state and the clock alone, so a process that
// comes back after a crash goes on where the chain is. Rules are market's and the contracts'; docs/chain.md.
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { callOf, read } from "../../chain/contracts/contracts.ts";
import { readEmission, readLastFixed } from "../../chain/contracts/rewards.ts";
import * as board from "../../chain/contracts/scoreboard.ts";
import { signReport } from "../../chain/contracts/slashing.ts";
import { type IntentJournal, publish } from "../../chain/sending/publish.ts";
import { refusedBecause } from "../../chain/sending/refusal.ts";
import type { Call, ChainAccount } from "../../chain/sending/sign.ts";
import { createScoreReport, malformedAt, readScoreReport, type ScoreReport } from "../../market/epochs/score-report.ts";
import {
	type CountedReport,
	createWeightProposal,
	faultOf,
	proposalDigest,
	type WeightProposal,
} from "../../market/epochs/weight-proposal.ts";
import { keptRoot, type RevealedReport, type ScoreLeaf, type WeightLeaf } from "../../protocol/chain/epoch-shapes.ts";
import { fromHex, type Hex, packed, toHex } from "../../protocol/chain/hex.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import type { FetchedReport } from "./fetch-leaves.ts";
import type { ReportArchive } from "./report-archive.ts";
import { createReportConflicts, type ReportConflicts } from "./report-conflicts.ts";

export interface EpochRoundOptions {
	readonly contracts: Contracts;
	readonly account: ChainAccount;
	/** Makes the salts; whoever has it can open our commitments early. */
	readonly saltSecret: Uint8Array;
	readonly journal: IntentJournal;
	readonly archive: ReportArchive;
	/** Seconds since 1970, by the chain's clock. */
	readonly nowS: () => number | Promise<number>;
	/** Our scores of an epoch that has ended. Null: none yet, ask again. */
	readonly scores: (epoch: number) => Promise<readonly ScoreLeaf[] | null>;
	/** Somebody else's leaves: hostile, but the fetcher has checked the validator's signature. */
	readonly fetchReport: (epoch: number, validator: Hex) => Promise<FetchedReport | null>;
	readonly fetchWeights: (epoch: number, proposer: Hex) => Promise<readonly WeightLeaf[] | null>;
	readonly tell: (event: ChainEvent) => void;
}

export type ChainEvent = {
	readonly kind: "committed" | "revealed" | "voided" | "proposed" | "challenged" | "voted" | "conflict";
	readonly epoch: number;
	readonly detail: string;
};

export type EpochRound = Awaited<ReturnType<typeof createEpochRound>>;

/** The options, and what this process remembers to save itself questions. */
interface Round extends EpochRoundOptions {
	readonly self: Hex;
	readonly params: board.EpochParams;
	readonly conflicts: ReportConflicts;
	/** Epochs with nothing left to do. */
	readonly settled: Set<number>;
	/** Epochs whose own report is signed and public. */
	readonly published: Set<number>;
	/** By epoch and validator: how often the files of one that did not reveal were asked for. */
	readonly looked: Map<string, number>;
	readonly voted: Set<string>;
}

const MAX_LOOKS = 3;
/** A vote that leaves are withheld is cast late in its window: until then they may still come. */
const VOTE_AFTER = 0.6;
const MAX_EPOCHS_BACK = 64;

export async function createEpochRound(options: EpochRoundOptions) {
	const params = await board.readEpochParams(options.contracts);
	const round: Round = {
		...options,
		self: options.account.address.toLowerCase() as Hex,
		params,
		conflicts: createReportConflicts(options),
		settled: new Set(),
		published: new Set(),
		looked: new Map(),
		voted: new Set(),
	};
	/** How far back something can still be open: all windows, and a day of slack for proposals. */
	const openSeconds =
		params.commitSeconds + params.revealSeconds + params.voidSeconds + params.challengeSeconds + 86_400;
	const lookBack = Math.min(MAX_EPOCHS_BACK, Math.ceil(openSeconds / params.epochSeconds));
	return {
		params,
		/** The proposal that we would make; null when not all reports can be had or too little stake reported. */
		rightProposal: (epoch: number) => rightProposal(round, epoch),
		/** Whatever is due now. An epoch's error is thrown after the other epochs had their turn. */
		async turn(): Promise<void> {
			const current = Math.floor(((await round.nowS()) - params.genesis) / params.epochSeconds);
			let failed: { readonly error: unknown } | null = null;
			for (let epoch = Math.max(0, current - lookBack); epoch < current; epoch++) {
				if (round.settled.has(epoch)) continue;
				try {
					await turnEpoch(round, epoch);
				} catch (error) {
					failed ??= { error };
				}
			}
			if (failed !== null) throw failed.error;
		},
	};
}

async function turnEpoch(round: Round, epoch: number): Promise<void> {
	const { contracts, params, self, settled } = round;
	const nowS = await round.nowS();
	const { endsAt, revealsAt, voidsAt, proposesAt } = board.windowsOf(params, epoch);
	if (nowS < endsAt) return;
	if ((await votingStake(round, self, endsAt)) === 0n) {
		// What it was at the epoch's end cannot change any more once blocks are later than that.
		if (nowS >= revealsAt) settled.add(epoch);
		return;
	}
	if (nowS < revealsAt) return commit(round, epoch);
	if (nowS < voidsAt) return reveal(round, epoch);
	await publishOwn(round, epoch);
	if (nowS < proposesAt) return judgeReports(round, epoch, nowS >= voidsAt + params.voidSeconds * VOTE_AFTER);
	const standing = await board.readProposal(contracts, epoch);
	const { digest } = standing;
	if (digest === null) return propose(round, epoch);
	if (nowS >= standing.finalAt) return void settled.add(epoch);
	if (standing.proposer.toLowerCase() !== self) return checkProposal(round, epoch, { ...standing, digest });
}

const votingStake = ({ contracts }: Round, validator: Hex, timeS: number): Promise<bigint> =>
	read(contracts, "registry", "votingStakeAt", validator, BigInt(timeS));

const send = ({ contracts, account, journal }: Round, id: string, call: Call, isDone: () => Promise<boolean>) =>
	publish(contracts.client, account, journal, { id, call, isDone });

/** The leaves on disk decide: whatever dies when, there is one report for an epoch. */
const keptReport = async ({ archive, self }: Round, epoch: number) =>
	(await archive.draft(epoch, self)) ?? (await archive.report(epoch, self));

async function ownReport(round: Round, epoch: number): Promise<ScoreReport | null> {
	const kept = await keptReport(round, epoch);
	if (kept !== null) return readScoreReport(kept);
	const scores = await round.scores(epoch);
	if (scores === null) return null;
	const report = createScoreReport(scores);
	// Durable before the commitment: a root without its leaves could never be opened.
	await round.archive.putDraft(epoch, round.self, report.leaves);
	return report;
}

const saltOf = ({ saltSecret, contracts }: Round, epoch: number): Hex =>
	toHex(keccak(saltSecret, fromHex(contracts.addresses.scoreboard.toLowerCase(), 20), packed(epoch, 8)));

async function commit(round: Round, epoch: number): Promise<void> {
	const { contracts, self } = round;
	const isDone = async () => BigInt((await board.readReport(contracts, epoch, self)).digest) !== 0n;
	if (await isDone()) return;
	const own = await ownReport(round, epoch);
	if (own === null) return;
	const number = BigInt(epoch);
	const salt = saltOf(round, epoch);
	const commitment = await read(contracts, "scoreboard", "commitmentOf", number, self, own.reportRoot, salt);
	const call = callOf(contracts, "scoreboard", "commit", number, commitment);
	const sent = await send(round, `commit/${epoch}`, call, isDone);
	if (sent !== null) round.tell({ kind: "committed", epoch, detail: `${own.leaves.length} scores` });
}

async function reveal(round: Round, epoch: number): Promise<void> {
	const { contracts, self } = round;
	const { digest, revealed } = await board.readReport(contracts, epoch, self);
	if (revealed) return publishOwn(round, epoch);
	const kept = BigInt(digest) === 0n ? null : await keptReport(round, epoch);
	if (kept === null) return;
	const { reportRoot: root } = readScoreReport(kept);
	const call = callOf(contracts, "scoreboard", "reveal", BigInt(epoch), root, saltOf(round, epoch));
	const isDone = async () => (await board.readReport(contracts, epoch, self)).revealed;
	const sent = await send(round, `reveal/${epoch}`, call, isDone);
	if (sent !== null) round.tell({ kind: "revealed", epoch, detail: root });
	await publishOwn(round, epoch);
}

/**
 * Signs and gives out our report once the chain shows that we revealed it, and nothing else ever: so no two
 * signatures of ours can contradict each other or the chain, whatever crashed in between, and nobody could
 * copy our scores before they were committed to.
 */
async function publishOwn(round: Round, epoch: number): Promise<void> {
	const { contracts, account, archive, self, published } = round;
	if (published.has(epoch)) return;
	const before = await archive.signedReport(epoch, self);
	if (before === null || before.signature === null) {
		const { digest, revealed } = await board.readReport(contracts, epoch, self);
		const leaves = revealed ? await keptReport(round, epoch) : null;
		if (leaves === null) return;
		const { reportRoot: root } = readScoreReport(leaves);
		if (keptRoot(root) !== keptRoot(digest)) return;
		const report = { validator: self, epoch: BigInt(epoch), root };
		const signature = await signReport(account, contracts.addresses, report);
		await archive.publishReasons(epoch, self);
		await archive.putReport(epoch, self, leaves, signature);
	}
	published.add(epoch);
}

/** The leaves of a revealed report. Null: they cannot be had, or are others; their signer is accused. */
async function leavesOf(round: Round, epoch: number, { validator, root }: RevealedReport): Promise<ScoreReport | null> {
	const { archive, conflicts, self } = round;
	const kept = await archive.report(epoch, validator);
	const report = kept === null ? null : readScoreReport(kept);
	if (report !== null && keptRoot(report.reportRoot) === keptRoot(root)) return report;
	const fetched = validator === self ? null : await round.fetchReport(epoch, validator);
	if (fetched === null) return null;
	const given = readScoreReport(fetched.leaves);
	if (keptRoot(given.reportRoot) === keptRoot(root)) {
		await archive.putReport(epoch, validator, fetched.leaves, fetched.signature);
		return given;
	}
	const signed = { root: given.reportRoot, signature: fetched.signature };
	if (await conflicts.againstReveal(epoch, validator, root, signed))
		round.tell({ kind: "conflict", epoch, detail: `${validator}: signed another report than it revealed` });
	return null;
}

async function judgeReports(round: Round, epoch: number, mayVote: boolean): Promise<void> {
	const { contracts, self } = round;
	const all = await board.readRevealed(contracts, epoch);
	await judgeUnrevealed(round, epoch, all);
	for (const revealed of all) {
		const { validator } = revealed;
		if (revealed.voided || validator === self) continue;
		const report = await leavesOf(round, epoch, revealed);
		const isDone = async () => (await board.readReport(contracts, epoch, validator)).voided;
		const places = report === null ? null : malformedAt(report);
		if (report !== null && places !== null) {
			const openings = places.map((index) => report.open(index));
			const opened = { validator, count: report.leaves.length, openings };
			const call = callOf(contracts, "scoreboard", "voidMalformed", BigInt(epoch), opened);
			await send(round, `void/${epoch}/${validator}`, call, isDone);
			round.tell({ kind: "voided", epoch, detail: validator });
		} else if (report === null && mayVote) {
			const call = callOf(contracts, "scoreboard", "voteWithheld", BigInt(epoch), validator);
			await vote(round, epoch, validator, `withheld/${epoch}/${validator}`, call, isDone);
		}
	}
}

/** Those who committed and never opened it gain nothing; but who signs two reports meanwhile pays for it. */
async function judgeUnrevealed(round: Round, epoch: number, revealed: readonly RevealedReport[]): Promise<void> {
	const { contracts, archive, conflicts, params, self, looked } = round;
	const { endsAt } = board.windowsOf(params, epoch);
	for (const validator of (await board.readCommits(contracts, epoch)).keys()) {
		if (validator === self || revealed.some((one) => one.validator === validator)) continue;
		// Anyone can commit, with an endpoint that keeps us waiting; stake is what makes it expensive.
		const looks = looked.get(`${epoch}/${validator}`) ?? 0;
		if (looks >= MAX_LOOKS || (await votingStake(round, validator, endsAt)) === 0n) continue;
		looked.set(`${epoch}/${validator}`, looks + 1);
		const fetched = await round.fetchReport(epoch, validator);
		if (fetched === null) continue;
		const second = { root: readScoreReport(fetched.leaves).reportRoot, signature: fetched.signature };
		const before = await archive.signedReport(epoch, validator);
		if (before === null || before.signature === null)
			await archive.putReport(epoch, validator, fetched.leaves, fetched.signature);
		else {
			const first = { root: readScoreReport(before.leaves).reportRoot, signature: before.signature };
			if (await conflicts.againstSigned(epoch, validator, first, second))
				round.tell({ kind: "conflict", epoch, detail: `${validator}: signed two reports` });
		}
	}
}

/** Once: a vote cannot be seen in the chain's state, and the contract refuses a second one. */
async function vote(
	round: Round,
	epoch: number,
	detail: string,
	id: string,
	call: Call,
	isDone: () => Promise<boolean>,
): Promise<void> {
	if (round.voted.has(id)) return;
	try {
		await send(round, id, call, isDone);
		round.tell({ kind: "voted", epoch, detail });
	} catch (error) {
		if (refusedBecause(error) !== "AlreadyVoted") throw error;
	}
	round.voted.add(id);
}

/** Reports that count, and the stake of those that count but cannot be had or are malformed. */
async function countedReports(round: Round, epoch: number) {
	const reports: CountedReport[] = [];
	let unknownStake = 0n;
	for (const revealed of await board.readRevealed(round.contracts, epoch)) {
		if (revealed.voided) continue;
		const report = await leavesOf(round, epoch, revealed);
		if (report === null || malformedAt(report) !== null) unknownStake += revealed.stake;
		else reports.push({ validator: revealed.validator, stake: revealed.stake, report });
	}
	return { reports, unknownStake };
}

async function rightProposal(round: Round, epoch: number): Promise<WeightProposal | null> {
	const { contracts } = round;
	if (!(await board.readQuorum(contracts, epoch))) return null;
	const { reports, unknownStake } = await countedReports(round, epoch);
	return unknownStake > 0n ? null : createWeightProposal(reports, await readEmission(contracts, epoch));
}

async function propose(round: Round, epoch: number): Promise<void> {
	const { contracts, archive, self, settled } = round;
	const last = await readLastFixed(contracts);
	if (last !== null && epoch < last) return void settled.add(epoch);
	// Without a quorum there is none any more: reports can no longer come.
	if (!(await board.readQuorum(contracts, epoch))) return void settled.add(epoch);
	const right = await rightProposal(round, epoch);
	if (right === null) return;
	await archive.putWeights(epoch, self, right.leaves);
	const call = callOf(contracts, "scoreboard", "propose", BigInt(epoch), right.proposal);
	const isDone = async () => (await board.readProposal(contracts, epoch)).digest !== null;
	const sent = await send(round, `propose/${epoch}`, call, isDone);
	if (sent !== null) round.tell({ kind: "proposed", epoch, detail: `${right.leaves.length} providers` });
}

/** Checks another's proposal: proves it wrong, or votes against it when its leaves are withheld. */
async function checkProposal(
	round: Round,
	epoch: number,
	standing: board.StandingProposal & { readonly digest: Hex },
): Promise<void> {
	const { contracts, params } = round;
	const number = BigInt(epoch);
	const { reports, unknownStake } = await countedReports(round, epoch);
	if (unknownStake === 0n) {
		const { proposal } = createWeightProposal(reports, await readEmission(contracts, epoch));
		if (proposalDigest(epoch, proposal) === standing.digest) return;
	}
	const proposer = standing.proposer.toLowerCase() as Hex;
	const proposal = await board.readProposed(contracts, epoch, standing.digest);
	if (proposal === null) return;
	const leaves = await round.fetchWeights(epoch, proposer);
	const fault = leaves === null ? ({ kind: "withheld" } as const) : faultOf(proposal, leaves, reports, unknownStake);
	// Other bytes with the same weights (a threshold that nobody lies between): as good as ours.
	if (fault === null) return;
	const isGone = async () => (await board.readProposal(contracts, epoch)).digest !== standing.digest;
	if (fault.kind === "withheld") {
		const left = standing.finalAt - (await round.nowS());
		if (left > params.challengeSeconds * (1 - VOTE_AFTER)) return;
		const call = callOf(contracts, "scoreboard", "voteUnavailable", number, standing.digest);
		return vote(round, epoch, proposer, `unavailable/${epoch}/${standing.digest}`, call, isGone);
	}
	const { weights } = fault;
	const call =
		fault.kind === "shape"
			? callOf(contracts, "scoreboard", "challengeShape", number, proposal, weights)
			: callOf(contracts, "scoreboard", "challengeWeight", number, proposal, fault.provider, weights, fault.reports);
	const sent = await send(round, `challenge/${epoch}/${standing.digest}`, call, isGone);
	if (sent !== null) round.tell({ kind: "challenged", epoch, detail: `${proposer}: ${fault.kind}` });
}
