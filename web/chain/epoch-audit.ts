// An epoch worked out again from its signed reports: signatures, medians, shares. What the validator published must be what comes out. Pure.
import { isReportSigned } from "../../src/api/report-hash.ts";
import type { EpochScore } from "../../src/api/types.ts";
import { networkWeights } from "../../src/market/epochs/network-weights.ts";
import { rewardShares } from "../../src/market/epochs/reward-shares.ts";
import { createParams } from "../../src/market/params.ts";

export interface SignedReport {
	readonly validator: string;
	readonly epoch: number;
	readonly scores: Readonly<Record<string, number>>;
	readonly signature: string;
}

export interface AuditedRow {
	readonly providerId: string;
	/** By validator, in the order of the reports; null where it said nothing of this provider. */
	readonly scores: readonly (number | null)[];
	readonly medianPpm: number;
	readonly publishedPpm: number | null;
	readonly shareMicros: number | null;
	readonly isEqual: boolean;
}

export interface Audit {
	readonly unsigned: readonly string[];
	readonly quorum: boolean;
	readonly rows: readonly AuditedRow[];
	readonly wrong: number;
}

export function auditEpoch(o: {
	readonly reports: readonly SignedReport[];
	readonly stakes: ReadonlyMap<string, number>;
	readonly published: readonly EpochScore[];
	readonly emissionMicros: number;
	readonly clipPpm: number;
	readonly quorumPpm: number;
}): Audit {
	const unsigned = o.reports.filter((report) => !isReportSigned(report as never)).map(({ validator }) => validator);
	const params = createParams({ clipPpm: o.clipPpm, quorumPpm: o.quorumPpm });
	const voters = [...new Set([...o.stakes.keys(), ...o.reports.map(({ validator }) => validator)])];
	const result = networkWeights(
		voters.map((validatorId) => ({
			validatorId,
			stake: BigInt(o.stakes.get(validatorId) ?? 0),
			scores: o.reports.find(({ validator }) => validator === validatorId)?.scores ?? null,
		})),
		params,
	);
	const shares = new Map(
		rewardShares(result.weights, BigInt(o.emissionMicros)).shares.map(({ providerId, amount }) => [
			providerId,
			Number(amount),
		]),
	);
	const published = new Map(o.published.map((row) => [row.providerId, row]));
	const medians = new Map(result.weights.map((row) => [row.providerId, row.weightPpm]));
	const ids = [...new Set([...medians.keys(), ...published.keys()])];
	const rows = ids.map((providerId) => {
		const row = published.get(providerId);
		const medianPpm = medians.get(providerId) ?? 0;
		return {
			providerId,
			scores: o.reports.map(({ scores }) => scores[providerId] ?? null),
			medianPpm,
			publishedPpm: row?.weightPpm ?? null,
			shareMicros: row?.shareMicros ?? null,
			isEqual: (row?.weightPpm ?? 0) === medianPpm && (row?.shareMicros ?? 0) === (shares.get(providerId) ?? 0),
		};
	});
	rows.sort((a, b) => b.medianPpm - a.medianPpm || (a.providerId < b.providerId ? -1 : 1));
	return { unsigned, quorum: result.quorum, rows, wrong: rows.filter(({ isEqual }) => !isEqual).length };
}
