// What an epoch's audit (market/epochs/audit-epoch.ts, the same as of `assay audit`) needs, as this validator's
// API gives it. The chain's own words come over that API too and are hostile: chain-elsewhere.ts says how to ask
// any node. Loaded when somebody audits: hashing and curves stay out of the first view.
import type { Chain, ChainEpoch, ChainWeight } from "../../src/api/types.ts";
import { type AuditCheck, auditEpoch, type EpochFiles, type EpochView } from "../../src/market/epochs/audit-epoch.ts";
import type { AuditDifference } from "../../src/market/epochs/audit-scores.ts";
import { parseReasons, type ReportReasons } from "../../src/market/epochs/reasons-file.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import { parseSignedReport, parseWeights } from "../../src/protocol/chain/leaf-files.ts";

export interface ChainAudit {
	readonly checks: readonly AuditCheck[];
	readonly differences: readonly AuditDifference[];
	readonly notes: readonly string[];
	readonly isEqual: boolean;
}

export interface AuditSource {
	readonly chain: Pick<Chain, "chainId" | "contracts" | "params">;
	readonly epoch: ChainEpoch;
	/** Every row of the epoch's table. */
	readonly rows: readonly ChainWeight[];
	/** Bytes of a public file of the validator; null when it is not there. */
	readonly file: (path: string) => Promise<Uint8Array | null>;
	readonly onStep: (title: string) => void | Promise<void>;
}

/** Reasons of thousands of providers are a matter for the command line. */
const MAX_REASONS_BYTES = 4_000_000;
const MAX_UNPACKED_BYTES = 200_000_000;

export async function auditChainEpoch(o: AuditSource): Promise<ChainAudit> {
	const { checks, differences, notes } = await auditEpoch(viewOf(o), filesOf(o), { onStep: o.onStep, evidence: null });
	const isEqual = checks.every(({ state }) => state === "equal") && differences.length === 0;
	return { checks, differences, notes, isEqual };
}

function viewOf({ chain, epoch, rows }: AuditSource): EpochView {
	const { proposal } = epoch;
	const payments = (amountOf: (row: ChainWeight) => string | null) =>
		rows.flatMap((row) => {
			const amount = amountOf(row);
			return amount === null ? [] : [{ provider: row.account as Hex, amount: BigInt(amount) }];
		});
	return {
		epoch: epoch.number,
		domain: { chainId: chain.chainId, slashing: chain.contracts.slashing as Hex },
		reports: epoch.reportsOf.flatMap(({ account, root, stake, state }) =>
			root === null
				? []
				: [{ validator: account as Hex, root: root as Hex, stake: BigInt(stake), voided: state === "voided" }],
		),
		totalStake: BigInt(epoch.totalStake),
		quorumPpm: chain.params.quorumPpm,
		proposal: proposal && {
			proposer: proposal.proposer as Hex,
			digest: proposal.digest as Hex,
			stated: {
				count: proposal.count,
				totalWeight: BigInt(proposal.totalWeight),
				emission: BigInt(proposal.emission),
				thresholdRemainder: BigInt(proposal.thresholdRemainder),
				thresholdProvider: proposal.thresholdProvider as Hex,
				root: proposal.root as Hex,
			},
		},
		pot: BigInt(epoch.pot ?? proposal?.emission ?? 0),
		claims: payments(({ claimed }) => claimed?.amount ?? null),
		shares: payments(({ share }) => share),
	};
}

function filesOf({ epoch, file }: AuditSource): EpochFiles {
	const of = (validator: Hex) => epoch.reportsOf.find(({ account }) => account === validator);
	return {
		async report(validator) {
			const { leavesPath = null, leaves } = of(validator) ?? {};
			const bytes = leavesPath === null || leaves === "none" ? null : await file(leavesPath);
			return bytes === null ? null : (parseSignedReport(bytes) ?? "unreadable");
		},
		async weights() {
			const { leaves, leavesPath } = epoch.proposal!;
			const bytes = leaves === "none" ? null : await file(leavesPath);
			return bytes === null ? null : parseWeights(bytes);
		},
		async reasons(validator) {
			const { reasonsPath = null, reasonsBytes = null } = of(validator) ?? {};
			if (reasonsPath === null || reasonsBytes === null || reasonsBytes > MAX_REASONS_BYTES) return null;
			return (await parseReasons((await file(reasonsPath)) ?? new Uint8Array(), MAX_UNPACKED_BYTES)) ?? UNREADABLE;
		},
	};
}

/** A file that the validator says it has, and that is none. */
const UNREADABLE: ReportReasons = {
	params: null,
	// biome-ignore lint/correctness/useYield: there is nothing to give.
	async *entries() {
		throw new RangeError("its reasons cannot be read");
	},
};
