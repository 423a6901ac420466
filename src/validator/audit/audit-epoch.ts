// `assay audit` of an epoch: what the chain says of it, from events and views, for the audit of
// market/audit/audit-epoch.ts, and the evidence behind its scores. Nothing here needs an account or a word of
// trust. docs/epochs.md §6.
import { type Contracts, read, readEvents } from "../../chain/contracts/contracts.ts";
import { readAccount } from "../../chain/contracts/registry.ts";
import { readClaims } from "../../chain/contracts/rewards.ts";
import * as board from "../../chain/contracts/scoreboard.ts";
import { readPostedSignatures } from "../../chain/history/posted-signatures.ts";
import { type AuditedEpoch, auditEpoch as auditView } from "../../market/audit/audit-epoch.ts";
import type { AuditDifference } from "../../market/audit/audit-scores.ts";
import type { AuditView, EpochFiles, EvidenceSteps } from "../../market/audit/audit-view.ts";
import type { ScoreLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { EvidenceAudit, ProofTime } from "./audit-evidence.ts";
import type { AuditSource } from "./audit-source.ts";

export interface EpochAudit extends Pick<AuditedEpoch, "scores" | "differences" | "notes" | "wrong"> {
	readonly epoch: number;
	/** "none": no weights are posted; "posted": they may still be proven wrong; "final". */
	readonly weights: "none" | "posted" | "final";
	/** Revealed reports; those that count; whose authors signed the posted weights. */
	readonly validators: number;
	readonly counted: number;
	readonly signed: number;
	readonly providers: number;
	readonly evidenceFiles: number;
	/** Accounts that were paid. */
	readonly paid: number;
	/** When the proofs were made whose evidence was verified. */
	readonly made: readonly ProofTime[];
	/** What was compared with the chain. */
	readonly view: AuditView;
}

export interface AuditOptions {
	readonly contracts: Contracts;
	readonly epoch: number;
	readonly source: AuditSource;
	/** Null: evidence is not looked at. */
	readonly evidence: EvidenceAudit | null;
	/** Which leaves' evidence is looked at; all without it. */
	readonly choose?: (leaves: readonly ScoreLeaf[]) => readonly ScoreLeaf[];
}

export async function auditEpoch(o: AuditOptions): Promise<EpochAudit> {
	const { contracts, epoch, source } = o;
	const view = await readView(contracts, epoch);
	const seen: Seen = { made: [], evidenceFiles: 0 };
	const peers = view.seats.map(({ validator }) => validator);
	// First, of all at once: who is silent is known then, and nobody waits for it again.
	const statements = await source.statements(epoch, peers);
	const files: EpochFiles = {
		report: (who) => source.report(epoch, who, peers),
		rewards: (of, id) => source.rewards(of, id, peers),
		reasons: (who) => source.reasons(epoch, who),
		statements: async () => statements,
	};
	const found = await auditView(view, files, { onStep() {}, evidence: evidenceSteps(o, view, seen) });
	const nowS = Number((await contracts.client.viem.getBlock({ blockTag: "latest" })).timestamp);
	const { posted, seats } = view;
	const bits = (set: bigint | undefined) => seats.filter((_, i) => ((set ?? 0n) >> BigInt(i)) & 1n).length;
	const finalAt = posted === null ? 0 : ((await board.readPosted(contracts, epoch))?.finalAt ?? 0);
	return {
		epoch,
		weights: posted === null ? "none" : nowS >= finalAt ? "final" : "posted",
		validators: seats.length,
		counted: bits(posted?.weights.set),
		signed: bits(posted?.signers),
		providers: found.providers.size,
		scores: found.scores,
		evidenceFiles: seen.evidenceFiles,
		paid: view.payments.length,
		differences: [...found.missing, ...found.differences],
		notes: seats.length === 0 ? [await emptiness(contracts, epoch, nowS), ...found.notes] : found.notes,
		made: seen.made,
		wrong: found.wrong,
		view,
	};
}

async function readView(contracts: Contracts, epoch: number): Promise<AuditView> {
	const { scoreboard, chainId } = contracts.addresses;
	const params = await board.readEpochParams(contracts);
	const lastS = BigInt(board.windowsOf(params, epoch).endsAt - 1);
	const seats = await board.readSeats(contracts, epoch);
	const posted = await readStanding(contracts, epoch);
	const head = posted === null ? await board.readHead(contracts) : posted.previous;
	const base = head === null || head >= epoch ? null : await readStanding(contracts, head);
	return {
		epoch,
		domain: { chainId, scoreboard },
		rules: {
			...params,
			targetWeight: BigInt(params.targetWeight),
			emissionPerEpoch: await read(contracts, "rewards", "emissionPerEpoch"),
		},
		seats,
		totalStake: await read(contracts, "registry", "totalVotingStakeAt", scoreboard, lastS),
		funded: await read(contracts, "rewards", "fundedAt", lastS),
		posted: posted && {
			...posted,
			signatures: await readPostedSignatures(contracts, { ...posted, hash: posted.transaction, seats }).catch(
				() => null,
			),
		},
		base,
		payments: posted === null ? [] : await readPayments(contracts, posted.id),
		shown: [],
	};
}

/** Null: nothing stands, or no event tells what. */
async function readStanding(contracts: Contracts, epoch: number) {
	const posted = await board.readPosted(contracts, epoch);
	const stated = posted === null ? null : await board.readStated(contracts, epoch, posted.id);
	return posted === null || stated === null ? null : { ...posted, ...stated };
}

/** What each account was paid in all before the weights that continue these were posted, or by now. */
async function readPayments(contracts: Contracts, id: `0x${string}`): Promise<AuditView["payments"]> {
	const next = (await readEvents(contracts, "scoreboard", "Posted")).filter(({ args }) => args.weights.base === id);
	const standing = await Promise.all(
		next.map(async ({ args }) => (await board.readPosted(contracts, Number(args.epoch)))?.id === args.id),
	);
	const until = next.find((_, i) => standing[i])?.blockNumber ?? null;
	const paid = new Map<`0x${string}`, bigint>();
	for (const { account, amount, block } of await readClaims(contracts))
		if (until === null || block < Number(until)) paid.set(account, (paid.get(account) ?? 0n) + amount);
	return [...paid].map(([account, amount]) => ({ account, amount }));
}

/** Why there is nothing to audit. */
async function emptiness(contracts: Contracts, epoch: number, nowS: number): Promise<string> {
	const { endsAt } = board.windowsOf(await board.readEpochParams(contracts), epoch);
	if (nowS < endsAt) return `epoch ${epoch} ends at ${new Date(endsAt * 1000).toISOString()}`;
	const { size } = await board.readCommits(contracts, epoch);
	return size === 0 ? "nobody committed to a report" : `${size} committed to a report and nobody revealed one`;
}

interface Seen {
	readonly made: ProofTime[];
	evidenceFiles: number;
}

function evidenceSteps(o: AuditOptions, { seats, epoch }: AuditView, seen: Seen): EvidenceSteps | null {
	const { contracts, evidence } = o;
	if (evidence === null) return null;
	return {
		choose: o.choose ?? ((leaves) => leaves),
		async check({ validator, chosen, reasons, params }) {
			const signingKey = (await readAccount(contracts, validator)).signingKey.slice(2);
			const commits = await board.readCommits(contracts, epoch);
			const block = commits.get(seats.find((seat) => seat.validator === validator)!.signer);
			const at = block === undefined ? null : await contracts.client.viem.getBlock({ blockNumber: BigInt(block) });
			const committed = at === null ? null : { block: block!, timeS: Number(at.timestamp) };
			const differences: AuditDifference[] = [];
			for (const leaf of chosen) {
				const reason = reasons.get(leaf.provider) ?? null;
				const checked = await evidence.check({ validator, signingKey, leaf, reason, params, committed });
				if (checked === null) continue;
				if (BigInt(leaf.evidenceSha256) !== 0n) seen.evidenceFiles++;
				differences.push(...checked.differences);
				if (checked.made !== null) seen.made.push(checked.made);
			}
			return differences;
		},
	};
}
