// What an epoch's audit (market/audit/audit-epoch.ts, the same as of `assay audit`) needs, as this
// validator's API gives it. The chain's own words come over that API too and are hostile: chain-elsewhere.ts
// says how to ask any node. Loaded when somebody audits: hashing and curves stay out of the first view.
import type { Chain, ChainEpoch, ChainWeight } from "../../src/api/types.ts";
import { auditEpoch } from "../../src/market/audit/audit-epoch.ts";
import type { AuditCheck } from "../../src/market/audit/audit-log.ts";
import type { AuditDifference } from "../../src/market/audit/audit-scores.ts";
import type { AuditView, EpochFiles } from "../../src/market/audit/audit-view.ts";
import { parseReasons, type ReportReasons } from "../../src/market/epochs/reasons-file.ts";
import type { Weights, WeightsSignature } from "../../src/protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import { parseReport, parseRewards } from "../../src/protocol/chain/leaf-files.ts";
import { parseStatements } from "../../src/protocol/chain/statements-file.ts";

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

function viewOf({ chain, epoch, rows }: AuditSource): AuditView {
	const { posted, base } = epoch;
	const { params } = chain;
	const seats = epoch.reportsOf.filter(({ seat }) => seat !== null).sort((a, b) => a.seat! - b.seat!);
	return {
		epoch: epoch.number,
		domain: { chainId: chain.chainId, scoreboard: chain.contracts.scoreboard as Hex },
		rules: {
			...params,
			targetWeight: BigInt(params.targetWeight),
			emissionPerEpoch: BigInt(params.emissionPerEpoch),
		},
		seats: seats.map(({ account, signer, stake, root }) => ({
			validator: account as Hex,
			signer: signer as Hex,
			stake: BigInt(stake),
			root: root as Hex,
		})),
		totalStake: BigInt(epoch.totalStake),
		funded: BigInt(epoch.funded),
		posted: posted && {
			id: posted.id as Hex,
			weights: weightsOf(posted.weights),
			signers: BigInt(posted.signers),
			signatures: posted.signatures as readonly WeightsSignature[] | null,
			total: BigInt(posted.total),
		},
		base: base && { id: base.id as Hex, weights: weightsOf(base.weights), total: BigInt(base.total) },
		payments: rows.map(({ account, claimed }) => ({ account: account as Hex, amount: BigInt(claimed) })),
		shown: rows.flatMap(({ account, weightPpm, earned, total }) =>
			weightPpm === null || earned === null || total === null
				? []
				: [{ account: account as Hex, weightPpm, earned: BigInt(earned), total: BigInt(total) }],
		),
	};
}

const weightsOf = (stated: NonNullable<ChainEpoch["posted"]>["weights"]): Weights => ({
	epoch: BigInt(stated.epoch),
	base: stated.base as Hex,
	set: BigInt(stated.set),
	count: stated.count,
	totalWeight: BigInt(stated.totalWeight),
	paid: BigInt(stated.paid),
	root: stated.root as Hex,
});

function filesOf({ epoch, file }: AuditSource): EpochFiles {
	const of = (validator: Hex) => epoch.reportsOf.find(({ account }) => account === validator);
	const { posted, base } = epoch;
	return {
		async report(validator) {
			const { leavesPath = null, leaves } = of(validator) ?? {};
			const bytes = leavesPath === null || leaves === "none" ? null : await file(leavesPath);
			return bytes === null ? null : (parseReport(bytes) ?? "unreadable");
		},
		async rewards(_, id) {
			const one = [posted, base].find((known) => known?.id === id) ?? null;
			const bytes = one === null || one.leaves === "none" ? null : await file(one.leavesPath);
			return bytes === null ? null : (parseRewards(bytes) ?? "unreadable");
		},
		async reasons(validator) {
			const { reasonsPath = null, reasonsBytes = null } = of(validator) ?? {};
			if (reasonsPath === null || reasonsBytes === null || reasonsBytes > MAX_REASONS_BYTES) return null;
			return (await parseReasons((await file(reasonsPath)) ?? new Uint8Array(), MAX_UNPACKED_BYTES)) ?? UNREADABLE;
		},
		async statements() {
			const bytes = await file(epoch.statementsPath);
			return bytes === null ? [] : (parseStatements(bytes) ?? []);
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
