// What a validator does on chain for an epoch: commit, reveal, look at the others' reports, propose weights or hold the one that did to them. Decides from the
// chain's state and the clock alone, so a process that comes back after a crash goes on where the chain is. Rules are market's and the contracts'; docs/chain.md.

import type { ContractAddresses } from "../../chain/contracts/deploy.ts";
import { readVotingStake } from "../../chain/contracts/registry.ts";
import { readEmission, readLastFixed } from "../../chain/contracts/rewards.ts";
import * as board from "../../chain/contracts/scoreboard.ts";
import { signReport } from "../../chain/contracts/slashing.ts";
import type { ChainClient } from "../../chain/node/chain-client.ts";
import { type IntentJournal, publish } from "../../chain/sending/publish.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import {
	createScoreReport,
	malformedAt,
	readScoreReport,
	type ScoreLeaf,
	type ScoreReport,
} from "../../market/epochs/score-report.ts";
import {
	type CountedReport,
	createWeightProposal,
	faultOf,
	type WeightLeaf,
	type WeightProposal,
} from "../../market/epochs/weight-proposal.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { fromHex, type Hex, packed, toHex } from "../../protocol/chain/hex.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import type { FetchedReport } from "./fetch-leaves.ts";
import type { ReportArchive } from "./report-archive.ts";
import { createReportConflicts } from "./report-conflicts.ts";

export interface ChainRoundOptions {
	readonly client: ChainClient;
	readonly at: ContractAddresses;
	readonly account: ChainAccount;
	/** Makes the salts; whoever has it can open our commitments early. */
	readonly saltSecret: Uint8Array;
	readonly journal: IntentJournal;
	readonly archive: ReportArchive;
	/** Seconds since 1970, by the chain's clock. */
	readonly nowS: () => number | Promise<number>;
	/** What we say of this epoch; asked when it has ended, until it is told. Null: nothing yet, ask again. */
	readonly scores: (epoch: number) => Promise<readonly ScoreLeaf[] | null>;
	/** Somebody else's leaves, from wherever they may be had. Hostile, but signed by that validator: whoever fetches has checked it. */
	readonly fetchReport: (epoch: number, validator: Hex) => Promise<FetchedReport | null>;
	readonly fetchWeights: (epoch: number, proposer: Hex) => Promise<readonly WeightLeaf[] | null>;
	readonly tell: (event: ChainEvent) => void;
}

export type ChainEvent = {
	readonly kind: "committed" | "revealed" | "voided" | "proposed" | "challenged" | "voted" | "conflict";
	readonly epoch: number;
	readonly detail: string;
};

export interface ChainRound {
	/** Whatever is due now. One epoch's trouble does not keep the others waiting: the first error is thrown at the end. */
	turn(): Promise<void>;
	/** The proposal that we would make for an epoch; null when not all reports can be had or too little stake reported. */
	rightProposal(epoch: number): Promise<WeightProposal | null>;
	readonly params: board.EpochParams;
}

/** Files of a validator that did not reveal are asked for so often. */
const MAX_LOOKS = 3;
/** Votes that leaves cannot be had are cast in the last part of their window: until then they may still come. */
const VOTE_AFTER = 0.6;

export async function createChainRound(o: ChainRoundOptions): Promise<ChainRound> {
	const { client, at, account, journal, archive } = o;
	const self = account.address.toLowerCase() as Hex;
	const params = await board.readEpochParams(client, at);
	const send = (id: string, isDone: () => Promise<boolean>, call: Parameters<typeof publish>[3]["call"]) =>
		publish(client, account, journal, { id, isDone, call });
	const conflicts = createReportConflicts({ client, at, account, journal });
	/** Epochs with nothing left to do. */
	const settled = new Set<number>();
	/** Epochs whose own report is signed and public. */
	const published = new Set<number>();

	/** The leaves on disk decide: whatever dies when, there is one report for an epoch. */
	const keptReport = async (epoch: number) => (await archive.draft(epoch, self)) ?? (await archive.report(epoch, self));

	async function ownReport(epoch: number): Promise<ScoreReport | null> {
		const kept = await keptReport(epoch);
		if (kept !== null) return readScoreReport(kept);
		const scores = await o.scores(epoch);
		if (scores === null) return null;
		const report = createScoreReport(scores);
		// Durable before the commitment: a root without its leaves could never be opened.
		await archive.putDraft(epoch, self, report.leaves);
		return report;
	}

	/**
	 * Signs and gives out our report once the chain shows that we revealed it, and nothing else ever: so no two signatures of ours can contradict each other or the
	 * chain, whatever crashed in between, and nobody could copy our scores before they were committed to.
	 */
	async function publishOwn(epoch: number): Promise<void> {
		if (published.has(epoch)) return;
		const before = await archive.signedReport(epoch, self);
		if (before === null || before.signature === null) {
			const { digest, revealed } = await board.readReport(client, at, epoch, self);
			const leaves = revealed ? await keptReport(epoch) : null;
			if (leaves === null) return;
			const { reportRoot: root } = readScoreReport(leaves);
			if (board.keptRoot(root) !== board.keptRoot(digest)) return;
			const signature = await signReport(account, at, { validator: self, epoch: BigInt(epoch), root });
			await archive.publishReasons(epoch, self);
			await archive.putReport(epoch, self, leaves, signature);
		}
		published.add(epoch);
	}

	async function commit(epoch: number): Promise<void> {
		const isDone = async () => BigInt((await board.readReport(client, at, epoch, self)).digest) !== 0n;
		if (await isDone()) return;
		const own = await ownReport(epoch);
		if (own === null) return;
		const { reportRoot: root, leaves } = own;
		const commitment = await commitmentOf(epoch, root);
		const sent = await send(`commit/${epoch}`, isDone, async () => board.commitCall(at, epoch, commitment));
		if (sent !== null) o.tell({ kind: "committed", epoch, detail: `${leaves.length} scores` });
	}

	const saltOf = (epoch: number): Hex =>
		toHex(keccak(o.saltSecret, fromHex(at.scoreboard.toLowerCase(), 20), packed(epoch, 8)));
	const commitmentOf = (epoch: number, root: Hex) =>
		board.readCommitmentOf(client, at, { epoch, validator: self, root, salt: saltOf(epoch) });

	async function reveal(epoch: number): Promise<void> {
		const { digest, revealed } = await board.readReport(client, at, epoch, self);
		if (revealed) return publishOwn(epoch);
		const kept = BigInt(digest) === 0n ? null : await keptReport(epoch);
		if (kept === null) return;
		const { reportRoot: root } = readScoreReport(kept);
		const isDone = async () => (await board.readReport(client, at, epoch, self)).revealed;
		const sent = await send(`reveal/${epoch}`, isDone, async () => board.revealCall(at, epoch, root, saltOf(epoch)));
		if (sent !== null) o.tell({ kind: "revealed", epoch, detail: root });
		await publishOwn(epoch);
	}

	/** The leaves of a revealed report, kept from then on; null when they cannot be had or are others. Who signed others is accused. */
	async function leavesOf(epoch: number, { validator, root }: board.RevealedReport): Promise<ScoreReport | null> {
		const kept = await archive.report(epoch, validator);
		const report = kept === null ? null : readScoreReport(kept);
		if (report !== null && board.keptRoot(report.reportRoot) === board.keptRoot(root)) return report;
		const fetched = validator === self ? null : await o.fetchReport(epoch, validator);
		if (fetched === null) return null;
		const given = readScoreReport(fetched.leaves);
		if (board.keptRoot(given.reportRoot) === board.keptRoot(root)) {
			await archive.putReport(epoch, validator, fetched.leaves, fetched.signature);
			return given;
		}
		const signed = { root: given.reportRoot, signature: fetched.signature };
		if (await conflicts.againstReveal(epoch, validator, root, signed))
			o.tell({ kind: "conflict", epoch, detail: `${validator}: signed another report than it revealed` });
		return null;
	}

	const looked = new Map<string, number>();
	/** Those who committed and never opened it gain nothing; but who signs two reports meanwhile pays for it. */
	async function judgeUnrevealed(epoch: number, revealed: readonly board.RevealedReport[]): Promise<void> {
		const { endsAt } = board.windowsOf(params, epoch);
		for (const validator of (await board.readCommits(client, at, epoch)).keys()) {
			if (validator === self || revealed.some((one) => one.validator === validator)) continue;
			// Anyone can commit, with an endpoint that keeps us waiting; stake is what makes it dear.
			const looks = looked.get(`${epoch}/${validator}`) ?? 0;
			if (looks >= MAX_LOOKS || (await readVotingStake(client, at, validator, endsAt)) === 0n) continue;
			looked.set(`${epoch}/${validator}`, looks + 1);
			const fetched = await o.fetchReport(epoch, validator);
			if (fetched === null) continue;
			const second = { root: readScoreReport(fetched.leaves).reportRoot, signature: fetched.signature };
			const before = await archive.signedReport(epoch, validator);
			if (before === null || before.signature === null)
				await archive.putReport(epoch, validator, fetched.leaves, fetched.signature);
			else {
				const first = { root: readScoreReport(before.leaves).reportRoot, signature: before.signature };
				if (await conflicts.againstSigned(epoch, validator, first, second))
					o.tell({ kind: "conflict", epoch, detail: `${validator}: signed two reports` });
			}
		}
	}

	async function judgeReports(epoch: number, mayVote: boolean): Promise<void> {
		const all = await board.readRevealed(client, at, epoch);
		await judgeUnrevealed(epoch, all);
		for (const revealed of all) {
			const { validator } = revealed;
			if (revealed.voided || validator === self) continue;
			const report = await leavesOf(epoch, revealed);
			const isDone = async () => (await board.readReport(client, at, epoch, validator)).voided;
			const places = report === null ? null : malformedAt(report);
			if (report !== null && places !== null) {
				const openings = places.map((index) => report.open(index));
				const opened = { validator, count: report.leaves.length, openings };
				await send(`void/${epoch}/${validator}`, isDone, async () => board.voidMalformedCall(at, epoch, opened));
				o.tell({ kind: "voided", epoch, detail: validator });
			} else if (report === null && mayVote) {
				await once(`withheld/${epoch}/${validator}`, epoch, validator, () =>
					send(`withheld/${epoch}/${validator}`, isDone, async () => board.voteWithheldCall(at, epoch, validator)),
				);
			}
		}
	}

	const voted = new Set<string>();
	/** A vote cannot be seen in the chain's state; the contract refuses a second one. */
	async function once(name: string, epoch: number, detail: string, vote: () => Promise<unknown>): Promise<void> {
		if (voted.has(name)) return;
		try {
			await vote();
			o.tell({ kind: "voted", epoch, detail });
		} catch (error) {
			if (!(error instanceof AssayError && error.message.includes("AlreadyVoted"))) throw error;
		}
		voted.add(name);
	}

	/** Reports that count and can be had, and the stake of those that count and cannot, or that nobody voided although two answers could be shown from them. */
	async function countedReports(epoch: number): Promise<{ reports: readonly CountedReport[]; unknownStake: bigint }> {
		const reports: CountedReport[] = [];
		let unknownStake = 0n;
		for (const revealed of await board.readRevealed(client, at, epoch)) {
			if (revealed.voided) continue;
			const report = await leavesOf(epoch, revealed);
			if (report === null || malformedAt(report) !== null) unknownStake += revealed.stake;
			else reports.push({ validator: revealed.validator, stake: revealed.stake, report });
		}
		return { reports, unknownStake };
	}

	async function rightProposal(epoch: number): Promise<WeightProposal | null> {
		if (!(await board.readStakes(client, at, epoch)).quorum) return null;
		const { reports, unknownStake } = await countedReports(epoch);
		return unknownStake > 0n ? null : createWeightProposal(reports, await readEmission(client, at, epoch));
	}

	async function propose(epoch: number): Promise<void> {
		const last = await readLastFixed(client, at);
		if (last !== null && epoch < last) return void settled.add(epoch);
		const { quorum } = await board.readStakes(client, at, epoch);
		// Reports can no longer come.
		if (!quorum) return void settled.add(epoch);
		const right = await rightProposal(epoch);
		if (right === null) return;
		await archive.putWeights(epoch, self, right.leaves);
		const isDone = async () => (await board.readProposal(client, at, epoch)).digest !== null;
		const sent = await send(`propose/${epoch}`, isDone, async () => board.proposeCall(at, epoch, right.proposal));
		if (sent !== null) o.tell({ kind: "proposed", epoch, detail: `${right.leaves.length} providers` });
	}

	async function challenge(epoch: number, standing: board.StandingProposal & { readonly digest: Hex }): Promise<void> {
		const { reports, unknownStake } = await countedReports(epoch);
		if (unknownStake === 0n) {
			const { proposal } = createWeightProposal(reports, await readEmission(client, at, epoch));
			if ((await board.readProposalDigest(client, at, epoch, proposal)) === standing.digest) return;
		}
		const proposer = standing.proposer.toLowerCase() as Hex;
		const proposal = await board.readProposed(client, at, epoch, standing.digest);
		if (proposal === null) return;
		const leaves = await o.fetchWeights(epoch, proposer);
		const fault = leaves === null ? ({ kind: "withheld" } as const) : faultOf(proposal, leaves, reports, unknownStake);
		// Other bytes with the same weights (a threshold that nobody lies between): as good as ours.
		if (fault === null) return;
		const isGone = async () => (await board.readProposal(client, at, epoch)).digest !== standing.digest;
		if (fault.kind === "withheld") {
			const left = standing.finalAt - (await o.nowS());
			if (left > params.challengeSeconds * (1 - VOTE_AFTER)) return;
			const name = `unavailable/${epoch}/${standing.digest}`;
			return once(name, epoch, proposer, () =>
				send(name, isGone, async () => board.voteUnavailableCall(at, epoch, standing.digest)),
			);
		}
		const call =
			fault.kind === "shape"
				? board.challengeShapeCall(at, epoch, proposal, fault.weights)
				: board.challengeWeightCall(at, epoch, proposal, fault.provider, fault.weights, fault.reports);
		const sent = await send(`challenge/${epoch}/${standing.digest}`, isGone, async () => call);
		if (sent !== null) o.tell({ kind: "challenged", epoch, detail: `${proposer}: ${fault.kind}` });
	}

	async function turnEpoch(epoch: number): Promise<void> {
		const nowS = await o.nowS();
		const { endsAt, revealsAt, voidsAt, proposesAt } = board.windowsOf(params, epoch);
		if (nowS < endsAt) return;
		if ((await readVotingStake(client, at, self, endsAt)) === 0n) {
			// What it was at the epoch's end cannot change any more once blocks are later than that.
			if (nowS >= revealsAt) settled.add(epoch);
			return;
		}
		if (nowS < revealsAt) return commit(epoch);
		if (nowS < voidsAt) return reveal(epoch);
		await publishOwn(epoch);
		if (nowS < proposesAt) return judgeReports(epoch, nowS >= voidsAt + params.voidSeconds * VOTE_AFTER);
		const standing = await board.readProposal(client, at, epoch);
		const { digest } = standing;
		if (digest === null) return propose(epoch);
		if (nowS >= standing.finalAt) return void settled.add(epoch);
		if (standing.proposer.toLowerCase() !== self) return challenge(epoch, { ...standing, digest });
	}

	/** How far back something can still be open: all windows, and a day of slack for proposals. */
	const lookBack = Math.ceil(
		(params.commitSeconds + params.revealSeconds + params.voidSeconds + params.challengeSeconds + 86_400) /
			params.epochSeconds,
	);
	return {
		params,
		rightProposal,
		async turn() {
			const current = Math.floor(((await o.nowS()) - params.genesis) / params.epochSeconds);
			let failed: { readonly error: unknown } | null = null;
			for (let epoch = Math.max(0, current - Math.min(lookBack, 64)); epoch < current; epoch++) {
				if (settled.has(epoch)) continue;
				try {
					await turnEpoch(epoch);
				} catch (error) {
					failed ??= { error };
				}
			}
			if (failed !== null) throw failed.error;
		},
	};
}
