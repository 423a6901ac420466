// Where an audit finds the public files of epochs: this machine's archive, the validators' own addresses.
// Hostile, all of it: the audit believes what gives a root on chain, or has a signature, and nothing else.

import type { ReportReasons } from "../../market/epochs/reasons-file.ts";
import type { RewardLeaf, ScoreLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { SignedWeights } from "../../protocol/chain/statements-file.ts";
import type { FetchFrom, LeafFetcher } from "../settlement/fetch-leaves.ts";
import type { ReportArchive } from "../settlement/report-archive.ts";

/** The public files of any epoch. `peers`: who may have them. */
export interface AuditSource {
	report(epoch: number, validator: Hex, peers: readonly Hex[]): Promise<readonly ScoreLeaf[] | null>;
	rewards(epoch: number, id: Hex, peers: readonly Hex[]): Promise<readonly RewardLeaf[] | null>;
	reasons(epoch: number, validator: Hex): Promise<ReportReasons | null>;
	statements(epoch: number, peers: readonly Hex[]): Promise<readonly SignedWeights[]>;
}

/** Whom one file is asked of, besides its author. */
const MOST_PEERS = 4;

/** Files of one's own data folder, own ones and those that were fetched when they counted. */
export const archiveSource = (archive: ReportArchive): AuditSource => ({
	report: archive.report,
	rewards: archive.rewards,
	reasons: archive.reasonsOf,
	statements: async (epoch) => (await archive.statements(epoch)) ?? [],
});

/** From the validators: a report from its author, or from others that hold it. */
export function peerSource(fetched: LeafFetcher, onFailure: (from: Hex, error: unknown) => void): AuditSource {
	/** ATTACK: who is silent costs one wait, not one for each file. */
	const silent = new Set<Hex>();
	async function first<T>(peers: readonly Hex[], ask: (from: FetchFrom) => Promise<T | null>): Promise<T | null> {
		const asked = [...new Set(peers)].filter((peer) => !silent.has(peer)).slice(0, MOST_PEERS);
		for (const from of asked) {
			const found = await ask({ from }).catch((error: unknown) => {
				silent.add(from);
				onFailure(from, error);
				return null;
			});
			if (found !== null) return found;
		}
		return null;
	}
	return {
		report: (epoch, validator, peers) => first([validator, ...peers], (from) => fetched.report(epoch, validator, from)),
		rewards: (epoch, id, peers) => first(peers, (from) => fetched.rewards(epoch, id, from)),
		reasons: (epoch, validator) => first([validator], (from) => fetched.reasons(epoch, validator, from)),
		async statements(epoch, peers) {
			const all = await Promise.all(peers.map((from) => first([from], (one) => fetched.statements(epoch, one))));
			return all.flatMap((found) => found ?? []);
		},
	};
}

/** What the first has; else the second. Statements of both. */
export const either = (kept: AuditSource, other: AuditSource): AuditSource => ({
	report: async (...one) => (await kept.report(...one)) ?? other.report(...one),
	rewards: async (...one) => (await kept.rewards(...one)) ?? other.rewards(...one),
	reasons: async (...one) => (await kept.reasons(...one)) ?? other.reasons(...one),
	statements: async (...one) => [...(await kept.statements(...one)), ...(await other.statements(...one))],
});
