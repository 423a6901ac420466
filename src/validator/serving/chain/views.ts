// The chain's epochs as the API shows them: phases by the clock, reports and weights from events, leaves
// from the archive. Decides nothing and sends nothing; loaded only where there is a chain. How often a node
// is asked is reader.ts's affair. Page: docs/chain.md.
import { join } from "node:path";
import type { ChainEpoch, ChainEpochSummary, ChainTransaction } from "../../../api/types.ts";
import { read } from "../../../chain/contracts/contracts.ts";
import {
	type HistoryEvent,
	type PastEpoch,
	type PastPost,
	type PastSeat,
	standing,
} from "../../../chain/history/chain-history.ts";
import { readPostedSignatures } from "../../../chain/history/posted-signatures.ts";
import type { Rpc } from "../../../chain/node/rpc.ts";
import { isInSet, stakeOfSet } from "../../../market/epochs/seat-set.ts";
import type { Environment } from "../../../platform/environment.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { safeText } from "../../../protocol/bytes/safe-text.ts";
import type { Weights } from "../../../protocol/chain/epoch-shapes.ts";
import { type Hex, toHex } from "../../../protocol/chain/hex.ts";
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import type { ChainHome } from "../../settlement/home.ts";
import { archivePath, createReportArchive, statementsPath } from "../../settlement/report-archive.ts";
import { type Glance, readEarned, readGlance } from "./glance.ts";
import { ChainLeaves, type EpochLeaves } from "./leaves.ts";
import { type ChainConstants, ChainPhases, isQuorum, reportedStake } from "./phases.ts";
import { type ChainReader, createChainReader } from "./reader.ts";

const WHAT: Readonly<Record<string, ChainTransaction["what"]>> = {
	Committed: "commit",
	Revealed: "reveal",
	Posted: "post",
	ProvenWrong: "wrong",
	Dropped: "drop",
	Punished: "punish",
};

/** Names of challenges by their hashes, as the contract tells them. */
const REASONS: ReadonlyMap<string, string> = new Map(
	["weight", "shape", "earned", "total", "set"].map((name) => [toHex(keccak(utf8ToBytes(name))), name]),
);

type Clock = Pick<Environment, "nowMs" | "ratesClockUs" | "after">;

export async function createChainViews(home: ChainHome, env: Clock, node?: Rpc): Promise<ChainViews> {
	return new ChainViews(home, await createChainReader(home, env, node), env);
}

export class ChainViews {
	readonly reader: ChainReader;
	readonly leaves: ChainLeaves;
	private readonly home: ChainHome;
	private readonly env: Clock;
	private readonly phases: ChainPhases;

	constructor(home: ChainHome, reader: ChainReader, env: Clock) {
		const folder = join(home.folder, "epochs");
		this.home = home;
		this.reader = reader;
		this.env = env;
		this.leaves = new ChainLeaves(createReportArchive(folder), folder);
		this.phases = new ChainPhases(reader, env);
	}

	chain(): Promise<Glance> {
		return readGlance(this.home, this.reader, this.phases, this.env);
	}

	/** Newest first, numbers below `before`. */
	async epochs({ limit, before }: { readonly limit: number; readonly before: number | null }) {
		await this.reader.head();
		const chainConstants = await this.phases.constants();
		const current = this.phases.currentOf(chainConstants);
		const first = Math.min(current ?? -1, (before ?? Number.POSITIVE_INFINITY) - 1);
		const least = Math.max(this.reader.history().oldestEpoch(), first - limit + 1);
		const numbers = Array.from({ length: Math.max(0, first - least + 1) }, (_, i) => first - i);
		return Promise.all(
			numbers.map((number) => this.summaryOf(chainConstants, number, this.reader.history().epoch(number))),
		);
	}

	/** What happened in an epoch. EPOCH_UNKNOWN for one that has not begun or is forgotten. */
	async past(number: number): Promise<PastEpoch> {
		await this.reader.head();
		const current = this.phases.currentOf(await this.phases.constants());
		const oldest = this.reader.history().oldestEpoch();
		if (current === null || number > current) throw new AssayError("EPOCH_UNKNOWN", `epoch ${number} has not begun`);
		if (number < oldest)
			throw new AssayError("EPOCH_UNKNOWN", `epoch ${number} is too old to be kept here`, {
				hint: `The oldest one is ${oldest}; \`assay audit\` asks the chain itself.`,
			});
		return this.reader.history().epoch(number);
	}

	async epoch(number: number): Promise<ChainEpoch> {
		const { reader, phases } = this;
		const past = await this.past(number);
		const chainConstants = await phases.constants();
		const summary = await this.summaryOf(chainConstants, number, past);
		const leaves = await this.leaves.of(number, past);
		const endsAt = summary.endsAtMs / 1000;
		const isOver = this.env.nowMs() >= summary.endsAtMs && (await reader.head()).atMs > summary.endsAtMs;
		const voting = await this.votingIn(past, endsAt, isOver);
		const reported = reportedStake(past);
		const total = isOver ? await phases.totalAtEnd(endsAt) : voting.reduce((sum, { stake }) => sum + stake, 0n);
		const last = standing(past);
		const { pot, funded, earned } = await this.potOf(number, endsAt, last);
		return {
			...summary,
			pot: String(pot),
			funded: String(funded),
			reportedStake: String(reported),
			totalStake: String(total),
			hasQuorum: isQuorum(chainConstants, reported, total),
			reportsOf: await Promise.all(voting.map((one) => this.reportView(number, one, past, leaves))),
			posted:
				last && (await this.postedView(number, past, last, leaves, { total: earned, finalAtMs: summary.finalAtMs })),
			base: await this.baseView(number, last?.weights.base ?? null),
			statementsPath: statementsPath(number),
			wrong: past.wrong.map(({ id, challenger, reason, punished, at }) => ({
				id,
				reason: REASONS.get(reason) ?? reason,
				isPosted: past.posts.some((post) => post.id === id),
				by: challenger,
				punished: punished.map(({ account, amount }) => ({ account, amount: String(amount) })),
				at,
			})),
			dropped: past.posts.flatMap(({ id, dropped }) => (dropped === null ? [] : [{ id, at: dropped }])),
		};
	}

	/** Newest first. */
	async transactions(
		number: number,
		from: number,
		limit: number,
	): Promise<{ readonly rows: ChainTransaction[]; readonly more: boolean }> {
		const { events } = await this.past(number);
		const acts = events.filter(({ name }) => WHAT[name] !== undefined).toReversed();
		const rows = await Promise.all(acts.slice(from, from + limit).map((event) => this.transactionView(event)));
		return { rows, more: from + limit < acts.length };
	}

	/**
	 * What an account has earned by the newest weights that are final, and by those that stand. Null: their
	 * leaves are not here.
	 */
	async earnedBy(account: Hex): Promise<{
		readonly finalEpoch: number | null;
		readonly final: bigint | null;
		readonly posted: bigint | null;
	}> {
		await this.reader.head();
		const chainConstants = await this.phases.constants();
		const history = this.reader.history();
		const totalIn = async (epoch: number): Promise<bigint | null> => {
			const { totals } = await this.leaves.of(epoch, history.epoch(epoch));
			return totals && (totals.get(account) ?? 0n);
		};
		const newest = history.lastPosted();
		const posted = newest === null ? 0n : await totalIn(newest);
		for (let epoch = newest; epoch !== null; epoch = history.lastPosted(epoch)) {
			const { at } = standing(history.epoch(epoch))!;
			if (this.env.nowMs() >= (await this.phases.finalOf(chainConstants, at.block)))
				return { finalEpoch: epoch, final: epoch === newest ? posted : await totalIn(epoch), posted };
		}
		return { finalEpoch: null, final: 0n, posted };
	}

	/**
	 * What accounts were paid before the weights that follow the epoch's were posted: by these, or by earlier
	 * ones.
	 */
	claimedIn(number: number): (account: Hex) => bigint {
		const history = this.reader.history();
		const next = history.nextPosted(number);
		const upTo = next === null ? undefined : standing(history.epoch(next))!.at.block - 1;
		return (account) => history.claimedOf(account, upTo);
	}

	private async summaryOf(chainConstants: ChainConstants, number: number, past: PastEpoch): Promise<ChainEpochSummary> {
		const last = standing(past);
		return {
			...(await this.phases.windows(chainConstants, number, past)),
			reports: past.seats.length,
			accounts: last?.weights.count ?? null,
			earned: last && String(last.weights.paid),
		};
	}

	/** What the epoch may pay, with what all have earned by its weights, or by those that stand now. */
	private potOf(number: number, endsAt: number, last: PastPost | null) {
		const { contracts } = this.reader;
		return this.reader.atHead(`pot ${number} ${last?.id}`, async () => {
			const earned =
				last === null
					? await readEarned(contracts)
					: (await read(contracts, "scoreboard", "postedOf", BigInt(number)))[2];
			const [pot, funded] = await Promise.all([
				read(contracts, "scoreboard", "potOf", BigInt(number), earned - (last?.weights.paid ?? 0n)),
				read(contracts, "rewards", "fundedAt", BigInt(endsAt - 1)),
			]);
			return { pot, funded, earned };
		});
	}

	/** Whoever has a vote in the epoch, with its stake at the epoch's end, or of now while that is not over. */
	private async votingIn(past: PastEpoch, endsAt: number, isOver: boolean): Promise<readonly Voter[]> {
		const { reader } = this;
		const { scoreboard } = reader.contracts.addresses;
		const stakeAt = (account: Hex, timeS: number) =>
			read(reader.contracts, "registry", "votingStakeAt", scoreboard, account, BigInt(timeS));
		const stakeOf = (account: Hex): Promise<bigint> =>
			isOver
				? reader.once(`stake ${account} ${endsAt}`, () => stakeAt(account, endsAt - 1))
				: reader.atHead(`stake ${account}`, ({ atMs }) => stakeAt(account, Math.floor(atMs / 1000)));
		const seated = past.seats.map((seat, number) => ({
			account: seat.validator,
			stake: seat.stake,
			seat: { ...seat, number },
		}));
		const taken = new Set(seated.map(({ account }) => account));
		const others = reader
			.history()
			.validators()
			.filter((account) => !taken.has(account));
		const without = await Promise.all(
			others.map(async (account) => ({ account, stake: await stakeOf(account), seat: null })),
		);
		return [...seated, ...without.filter(({ stake }) => stake > 0n)];
	}

	private async reportView(
		number: number,
		{ account, stake, seat }: Voter,
		past: PastEpoch,
		{ states }: EpochLeaves,
	): Promise<ChainEpoch["reportsOf"][number]> {
		const history = this.reader.history();
		const endpoint = history.account(account).findLast(({ args }) => typeof args.endpoint === "string")?.args.endpoint;
		const file = states.get(account);
		const reasonsBytes = await this.leaves.reasonsBytes(number, account);
		const last = standing(past);
		const bit = (bits: bigint | undefined) => (bits === undefined ? null : seat !== null && isInSet(bits, seat.number));
		const signer =
			seat?.signer ?? [...past.commits.keys()].find((one) => history.accountOfSigner(one) === account) ?? account;
		const committed = past.commits.get(signer) ?? null;
		return {
			account,
			signer,
			isSelf: account === history.accountOfSigner(this.home.account.address.toLowerCase() as Hex),
			endpoint: safeText(String(endpoint ?? "").slice(0, 200)),
			stake: String(stake),
			seat: seat?.number ?? null,
			state: seat !== null ? "revealed" : committed === null ? "none" : "committed",
			isCounted: bit(last?.weights.set),
			hasSigned: bit(last?.signers),
			root: seat?.root ?? null,
			committed,
			revealed: seat?.at ?? null,
			scores: file?.count ?? null,
			leaves: file?.state ?? "none",
			leavesPath: file === undefined ? null : archivePath(number, "report", account),
			reasonsPath: reasonsBytes === null ? null : archivePath(number, "reasons", account),
			reasonsBytes,
		};
	}

	private async postedView(
		number: number,
		{ seats }: PastEpoch,
		last: PastPost,
		leaves: EpochLeaves,
		{ total, finalAtMs }: { readonly total: bigint; readonly finalAtMs: number | null },
	): Promise<NonNullable<ChainEpoch["posted"]>> {
		const { id, sender, weights, signers, at } = last;
		const { contracts } = this.reader;
		const signatures = await this.reader.atHead(`signatures ${at.hash}`, () =>
			// Without them the rest is still right: a node may keep no transactions.
			readPostedSignatures(contracts, { hash: at.hash, signers, seats }).catch(() => null),
		);
		return {
			id,
			sender,
			weights: statementView(weights),
			signers: String(signers),
			signatures: signatures?.map((one) => ({ ...one })) ?? null,
			setStake: String(stakeOfSet(weights.set, seats)),
			signedStake: String(stakeOfSet(signers, seats)),
			total: String(total),
			finalAtMs: finalAtMs ?? 0,
			at,
			leaves: leaves.posted,
			leavesPath: archivePath(number, "rewards", id),
		};
	}

	/** The weights of this id, or the newest before the epoch. */
	private async baseView(number: number, id: Hex | null): Promise<ChainEpoch["base"]> {
		const { contracts } = this.reader;
		const history = this.reader.history();
		for (let epoch = history.lastPosted(number); epoch !== null; epoch = history.lastPosted(epoch)) {
			const past = history.epoch(epoch);
			const found = standing(past)!;
			if (id !== null && found.id !== id) continue;
			const of = BigInt(epoch);
			const [, , total] = await this.reader.atHead(`posted ${epoch} ${found.id}`, () =>
				read(contracts, "scoreboard", "postedOf", of),
			);
			const { posted: leaves } = await this.leaves.of(epoch, past);
			const leavesPath = archivePath(epoch, "rewards", found.id);
			return { id: found.id, weights: statementView(found.weights), total: String(total), leaves, leavesPath };
		}
		return null;
	}

	private async transactionView({ name, hash, block, logIndex, args }: HistoryEvent): Promise<ChainTransaction> {
		// Without it the list is still right: a node may keep no receipts.
		const sent = await this.reader.transaction(hash, block).catch(() => null);
		const signer = name === "Committed" ? this.reader.history().accountOfSigner(args.signer as Hex) : null;
		const about = args.account ?? args.validator ?? args.challenger ?? args.sender ?? signer;
		return {
			hash,
			block,
			logIndex,
			what: WHAT[name]!,
			about: typeof about === "string" ? about : null,
			amount: typeof args.amount === "bigint" ? String(args.amount) : null,
			atMs: sent?.atMs ?? null,
			from: sent?.from ?? null,
			gasUsed: sent?.gasUsed ?? null,
		};
	}
}

interface Voter {
	readonly account: Hex;
	readonly stake: bigint;
	readonly seat: (PastSeat & { readonly number: number }) | null;
}

const statementView = ({ epoch, base, set, count, totalWeight, paid, root }: Weights) => ({
	epoch: Number(epoch),
	base,
	set: String(set),
	count,
	totalWeight: String(totalWeight),
	paid: String(paid),
	root,
});
