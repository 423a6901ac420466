// The leaves behind an epoch's roots as a table: what each validator said of each provider, the median, the
// weight that was posted, what it earned. Files of the archive are believed when they give the root on chain,
// and never otherwise. Tables are kept for few epochs; whether a file is right is remembered for many, as
// long as the file is the same.
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type PastEpoch, type PastPost, standing } from "../../../chain/history/chain-history.ts";
import { malformedAt, type ScoreReport, scoreLeafHash } from "../../../market/epochs/score-report.ts";
import { isInSet, setOf } from "../../../market/epochs/seat-set.ts";
import { medianWeights, rewardLeafHash } from "../../../market/epochs/weights.ts";
import { BoundedMap } from "../../../platform/bounded-map.ts";
import { createMutex } from "../../../platform/keyed-mutex.ts";
import type { RewardLeaf, ScoreLeaf } from "../../../protocol/chain/epoch-shapes.ts";
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
	readonly earned: bigint | null;
	readonly total: bigint | null;
}

export interface EpochLeaves {
	/** Of every report that was revealed. */
	readonly states: ReadonlyMap<Hex, { readonly state: LeafState; readonly count: number | null }>;
	/** Of the weights that stand. */
	readonly posted: LeafState;
	/** Those whose leaves are here and right, and count. */
	readonly validators: readonly Hex[];
	/** Greatest weight first, then who earned most. */
	readonly rows: readonly WeightRow[];
	/** What each account has earned up to this epoch; null: the leaves are not here. */
	readonly totals: ReadonlyMap<Hex, bigint> | null;
}

/** 10,000 providers make some 5 MB of rows. */
const MAX_EPOCHS = 16;
const MAX_VERDICTS = 10_000;

/** A report that counts, and whose leaves are here and give its root. */
interface RightReport {
	readonly validator: Hex;
	readonly scores: ReadonlyMap<Hex, number>;
}

interface Reports extends Pick<EpochLeaves, "states"> {
	/** Of the set, or of all before weights are posted. */
	readonly right: readonly RightReport[];
	/** Null: the leaves of a report that counts are not here, or none counts. */
	readonly medians: ReadonlyMap<Hex, number> | null;
}

interface Posted {
	readonly state: LeafState;
	readonly leaves: readonly RewardLeaf[] | null;
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
		const names = [
			...past.seats.map(({ validator }) => reportName(validator)),
			...(last === null ? [] : [rewardsName(last.id)]),
		].sort();
		const files = new Map(
			await Promise.all(names.map(async (name) => [name, await this.fileOf(epoch, name)] as const)),
		);
		const key = JSON.stringify([[...files], last?.id ?? null]);
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
		const last = standing(past);
		const { states, right, medians } = await this.reportsOf(epoch, past, files);
		const posted: Posted = last === null ? { state: "none", leaves: null } : await this.postedOf(epoch, last, files);
		return {
			states,
			posted: posted.state,
			validators: right.map(({ validator }) => validator),
			rows: rowsOf(right, medians, posted),
			totals: posted.leaves && new Map(posted.leaves.map(({ account, total }) => [account, total])),
		};
	}

	private async reportsOf(epoch: number, past: PastEpoch, files: Files): Promise<Reports> {
		const states = new Map<Hex, { state: LeafState; count: number | null }>();
		const right: RightReport[] = [];
		const { seats } = past;
		const set = standing(past)?.weights.set ?? setOf(seats.keys());
		const reports: (ScoreReport | null)[] = [];
		for (const [seat, { validator, root }] of seats.entries()) {
			const name = reportName(validator);
			const leaves = await this.archive.report(epoch, validator);
			const state =
				leaves === null
					? missing(files, name)
					: await this.judged(`${epoch}/${name}/${root}`, files.get(name)!, () => isReport(leaves, root));
			states.set(validator, { state, count: leaves?.length ?? null });
			const isRight = leaves !== null && state === "right";
			// Medians look at the leaves alone; the tree, 20,000 hashes of it, was judged before.
			reports.push(isRight ? ({ leaves } as ScoreReport) : null);
			if (!isRight || !isInSet(set, seat)) continue;
			right.push({ validator, scores: new Map(leaves.map(({ provider, scorePpm }) => [provider, scorePpm])) });
		}
		const isComplete = reports.every((report, seat) => report !== null || !isInSet(set, seat));
		const isAny = isComplete && right.length > 0 && set >> BigInt(seats.length) === 0n;
		return { states, right, medians: isAny ? medianWeights(set, { seats, reports }) : null };
	}

	private async postedOf(epoch: number, { id, weights }: PastPost, files: Files): Promise<Posted> {
		const name = rewardsName(id);
		const leaves = await this.archive.rewards(epoch, id);
		if (leaves === null) return { state: missing(files, name), leaves: null };
		const isRight = async () =>
			leaves.length === weights.count && toHex(await treeRoot(leaves, rewardLeafHash)) === weights.root;
		const state = await this.judged(`${epoch}/${name}`, files.get(name)!, isRight);
		return { state, leaves: state === "right" ? leaves : null };
	}
}

const reportName = (validator: Hex): string => `report-${validator}.json`;
const rewardsName = (id: Hex): string => `rewards-${id}.json`;
/** Of a file that gave nothing: there is none, or it is no such file. */
const missing = (files: Files, name: string): LeafState => (files.get(name) === "" ? "none" : "wrong");

function rowsOf(right: readonly RightReport[], medians: Reports["medians"], posted: Posted): readonly WeightRow[] {
	const stated = new Map(posted.leaves?.map((leaf) => [leaf.account, leaf]));
	const accounts = new Set([...right.flatMap(({ scores }) => [...scores.keys()]), ...stated.keys()]);
	const rows = [...accounts].map((account): WeightRow => {
		const { weightPpm = 0, earned = 0n, total = 0n } = stated.get(account) ?? {};
		return {
			account,
			scores: right.map(({ scores }) => scores.get(account) ?? null),
			medianPpm: medians && (medians.get(account) ?? 0),
			...(posted.leaves === null ? { weightPpm: null, earned: null, total: null } : { weightPpm, earned, total }),
		};
	});
	const size = ({ weightPpm, medianPpm }: WeightRow) => weightPpm ?? medianPpm ?? 0;
	const byEarned = (a: WeightRow, b: WeightRow) =>
		Number((b.earned ?? 0n) > (a.earned ?? 0n)) - Number((a.earned ?? 0n) > (b.earned ?? 0n));
	return rows.sort((a, b) => size(b) - size(a) || byEarned(a, b) || (a.account < b.account ? -1 : 1));
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
	return toHex(found) === root;
}
