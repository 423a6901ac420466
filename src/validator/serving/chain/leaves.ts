// The leaves behind an epoch's roots as a table: what each validator said of each provider, the median, the
// weight that was proposed, its share. Files of the archive are believed when they give the root on chain,
// and never otherwise. Tables are kept for few epochs; whether a file is right is remembered for many, as
// long as the file is the same.
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { PastEpoch, PastProposal } from "../../../chain/history/chain-history.ts";
import { malformedAt, type ScoreReport, scoreLeafHash } from "../../../market/epochs/score-report.ts";
import {
	type CountedReport,
	createWeightProposal,
	medianWeights,
	shareOf,
	weightLeafHash,
} from "../../../market/epochs/weight-proposal.ts";
import { BoundedMap } from "../../../platform/bounded-map.ts";
import { createMutex } from "../../../platform/keyed-mutex.ts";
import type { ScoreLeaf, WeightLeaf } from "../../../protocol/chain/epoch-shapes.ts";
import { keptRoot } from "../../../protocol/chain/epoch-shapes.ts";
import { type Hex, packed, toHex } from "../../../protocol/chain/hex.ts";
import { keccak, keccakTree } from "../../../protocol/hash/keccak-tree.ts";
import type { ReportArchive } from "../../settlement/report-archive.ts";

export type LeafState = "none" | "right" | "wrong";

interface WeightRow {
	readonly account: Hex;
	/** In the order of `validators`. */
	readonly scores: readonly (number | null)[];
	readonly medianPpm: number | null;
	readonly weightPpm: number | null;
	readonly share: bigint | null;
}

export interface EpochLeaves {
	/** Of every report that was revealed. */
	readonly states: ReadonlyMap<Hex, { readonly state: LeafState; readonly count: number | null }>;
	/** Of the proposal that stands: its file, or what the reports give when that has its root. */
	readonly proposed: LeafState;
	/** Those whose leaves are here and right, voided ones left out. */
	readonly validators: readonly Hex[];
	/** Greatest weight first. */
	readonly rows: readonly WeightRow[];
	readonly shares: ReadonlyMap<Hex, bigint>;
}

/** The proposal that was not rejected, if any. */
export const standing = ({ proposals }: PastEpoch): PastProposal | null => {
	const last = proposals.at(-1);
	return last === undefined || last.rejected !== null ? null : last;
};

/** 10,000 providers make some 5 MB of rows. */
const MAX_EPOCHS = 16;
const MAX_VERDICTS = 10_000;

/** A report whose leaves are here and give its root. */
interface RightReport extends CountedReport {
	readonly scores: ReadonlyMap<Hex, number>;
}

interface Reports extends Pick<EpochLeaves, "states"> {
	/** Voided ones left out. */
	readonly right: readonly RightReport[];
	/** No other report counts. */
	readonly isComplete: boolean;
}

interface Weights {
	readonly state: LeafState;
	readonly leaves: readonly WeightLeaf[] | null;
}

/** By name: what says whether a file is still the same; empty when there is none. */
type Files = ReadonlyMap<string, string>;

export class ChainLeaves {
	private readonly archive: ReportArchive;
	private readonly folder: string;
	private readonly verdicts = new BoundedMap<string, { readonly file: string; readonly state: LeafState }>(
		MAX_VERDICTS,
	);
	private readonly made = new BoundedMap<number, { readonly key: string; readonly leaves: Promise<EpochLeaves> }>(
		MAX_EPOCHS,
	);
	private readonly mutex = createMutex();

	constructor(archive: ReportArchive, folder: string) {
		this.archive = archive;
		this.folder = folder;
	}

	/** Null when they are not here. */
	async reasonsBytes(epoch: number, validator: Hex): Promise<number | null> {
		const found = await stat(join(this.folder, String(epoch), `reasons-${validator}.json.gz`)).catch(() => null);
		return found?.size ?? null;
	}

	/** Made again when the epoch's events or its files have changed since. */
	async of(epoch: number, past: PastEpoch): Promise<EpochLeaves> {
		const last = standing(past);
		const revealed = [...past.reports].filter(([, { root }]) => root !== null);
		const names = [
			...revealed.map(([validator]) => reportName(validator)),
			...(last === null ? [] : [weightsName(last.proposer)]),
		].sort();
		const files = new Map(
			await Promise.all(names.map(async (name) => [name, await this.fileOf(epoch, name)] as const)),
		);
		const voided = [...past.reports.values()].filter((report) => report.voided !== null).length;
		const key = JSON.stringify([[...files], last?.digest ?? null, voided]);
		const found = this.made.get(epoch);
		if (found?.key === key) return found.leaves;
		// One epoch at a time: whoever asks for many of them waits, and nobody else does.
		const leaves = this.mutex.run(() => this.read(epoch, past, files));
		this.made.set(epoch, { key, leaves });
		leaves.catch(() => this.made.delete(epoch));
		return leaves;
	}

	private async fileOf(epoch: number, name: string): Promise<string> {
		const found = await stat(join(this.folder, String(epoch), name), { bigint: true }).catch(() => null);
		return found === null ? "" : `${found.mtimeNs} ${found.size} ${found.ino}`;
	}

	private async judged(key: string, file: string, isRight: () => Promise<boolean>): Promise<LeafState> {
		const known = this.verdicts.get(key);
		if (known?.file === file) return known.state;
		// Throws for what can be no leaf.
		const state = (await isRight().catch(() => false)) ? "right" : "wrong";
		this.verdicts.set(key, { file, state });
		return state;
	}

	private async read(epoch: number, past: PastEpoch, files: Files): Promise<EpochLeaves> {
		const { states, right, isComplete } = await this.reportsOf(epoch, past, files);
		const last = standing(past);
		const counted = isComplete ? right : null;
		const weights: Weights =
			last === null ? { state: "none", leaves: null } : await this.weightsOf(epoch, last, counted, files);
		const shares = new Map<Hex, bigint>();
		for (const leaf of weights.leaves ?? []) shares.set(leaf.provider, shareOf(last!.proposal, leaf));
		const validators = right.map(({ validator }) => validator);
		return { states, proposed: weights.state, validators, rows: rowsOf(right, isComplete, weights, shares), shares };
	}

	private async reportsOf(epoch: number, past: PastEpoch, files: Files): Promise<Reports> {
		const states = new Map<Hex, { state: LeafState; count: number | null }>();
		const right: RightReport[] = [];
		let isComplete = true;
		for (const [validator, { root, stake, voided }] of [...past.reports].sort(([a], [b]) => (a < b ? -1 : 1))) {
			if (root === null) continue;
			const name = reportName(validator);
			const leaves = await this.archive.report(epoch, validator);
			const state =
				leaves === null
					? missing(files, name)
					: await this.judged(`${epoch}/${name}/${root}`, files.get(name)!, () => isReport(leaves, root));
			states.set(validator, { state, count: leaves?.length ?? null });
			if (voided !== null) continue;
			if (leaves === null || state !== "right") {
				isComplete = false;
				continue;
			}
			right.push({
				validator,
				stake: stake ?? 0n,
				// Medians look at the leaves alone; the tree, 20,000 hashes of it, was judged before.
				report: { leaves } as ScoreReport,
				scores: new Map(leaves.map(({ provider, scorePpm }) => [provider, scorePpm])),
			});
		}
		return { states, right, isComplete };
	}

	private async weightsOf(
		epoch: number,
		{ proposer, proposal }: PastProposal,
		counted: readonly CountedReport[] | null,
		files: Files,
	): Promise<Weights> {
		const name = weightsName(proposer);
		const leaves = await this.archive.weights(epoch, proposer);
		if (leaves !== null) {
			const isRight = async () =>
				leaves.length === proposal.count && toHex(await treeRoot(leaves, weightLeafHash)) === proposal.root;
			const state = await this.judged(`${epoch}/${name}/${proposal.root}`, files.get(name)!, isRight);
			if (state === "right") return { state, leaves };
		}
		// Whoever did not propose has no file of it, and needs none: the reports give the same leaves, or the
		// root tells that they do not.
		const right = counted === null ? null : createWeightProposal(counted, proposal.emission);
		return { state: missing(files, name), leaves: right?.proposal.root === proposal.root ? right.leaves : null };
	}
}

const reportName = (validator: Hex): string => `report-${validator}.json`;
const weightsName = (proposer: Hex): string => `weights-${proposer}.json`;
/** Of a file that gave nothing: there is none, or it is no such file. */
const missing = (files: Files, name: string): LeafState => (files.get(name) === "" ? "none" : "wrong");

function rowsOf(
	right: readonly RightReport[],
	isComplete: boolean,
	weights: Weights,
	shares: ReadonlyMap<Hex, bigint>,
): readonly WeightRow[] {
	const medians = new Map(medianWeights(right).map(({ provider, weightPpm }) => [provider, weightPpm]));
	const proposed = new Map(weights.leaves?.map(({ provider, weightPpm }) => [provider, weightPpm]));
	const accounts = new Set([...right.flatMap(({ scores }) => [...scores.keys()]), ...proposed.keys()]);
	const rows = [...accounts].map((account): WeightRow => {
		const weightPpm = weights.leaves === null ? null : (proposed.get(account) ?? 0);
		return {
			account,
			scores: right.map(({ scores }) => scores.get(account) ?? null),
			medianPpm: isComplete && right.length > 0 ? (medians.get(account) ?? 0) : null,
			weightPpm,
			share: weightPpm === null ? null : (shares.get(account) ?? 0n),
		};
	});
	const size = ({ weightPpm, medianPpm }: WeightRow) => weightPpm ?? medianPpm ?? 0;
	return rows.sort((a, b) => size(b) - size(a) || (a.account < b.account ? -1 : 1));
}

/** A power of two: the roots of so many leaves each are then nodes of the whole tree. */
const AT_ONCE = 256;

/** As keccakTree, a part at a time: 10,000 leaves at once would hold up others for half a second. */
async function treeRoot<Leaf>(leaves: readonly Leaf[], hash: (leaf: Leaf) => Uint8Array): Promise<Uint8Array> {
	const parts: Uint8Array[] = [];
	for (let from = 0; from < leaves.length; from += AT_ONCE) {
		parts.push(keccakTree(leaves.slice(from, from + AT_ONCE).map(hash)).root);
		await new Promise<void>((resolve) => setImmediate(resolve));
	}
	return keccakTree(parts).root;
}

/** Two answers about one provider can be shown from a report that is out of order: as good as none. */
async function isReport(leaves: readonly ScoreLeaf[], root: Hex): Promise<boolean> {
	if (malformedAt({ leaves }) !== null) return false;
	const found = keccak(Uint8Array.of(2), packed(leaves.length, 4), await treeRoot(leaves, scoreLeafHash));
	return keptRoot(toHex(found)) === keptRoot(root);
}
