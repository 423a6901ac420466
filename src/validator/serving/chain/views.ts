// The chain's epochs as the API shows them: phases by the clock, reports and proposals from events, leaves
// from the archive. Decides nothing and sends nothing; loaded only where there is a chain. How often a node
// is asked is reader.ts's affair. Page: docs/chain.md.
import { join } from "node:path";
import type { Chain, ChainEpoch, ChainEpochSummary, ChainTransaction } from "../../../api/types.ts";
import { read } from "../../../chain/contracts/contracts.ts";
import type { HistoryEvent, PastEpoch, PastReport } from "../../../chain/history/chain-history.ts";
import type { Rpc } from "../../../chain/node/rpc.ts";
import type { Environment } from "../../../platform/environment.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { safeText } from "../../../protocol/bytes/safe-text.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import type { ChainHome } from "../../settlement/home.ts";
import { archivePath, createReportArchive } from "../../settlement/report-archive.ts";
import { readGlance } from "./glance.ts";
import { ChainLeaves, type EpochLeaves, standing } from "./leaves.ts";
import { type ChainConstants, ChainPhases, countedOf, isQuorum } from "./phases.ts";
import { type ChainReader, createChainReader } from "./reader.ts";

/** How many final epochs are looked through for what an account may claim. */
const CLAIMABLE_EPOCHS = 16;

const WHAT: Readonly<Record<string, ChainTransaction["what"]>> = {
	Committed: "commit",
	Revealed: "reveal",
	WithheldVoted: "vote",
	ReportVoided: "void",
	Proposed: "propose",
	ProposalRejected: "reject",
	Claimed: "claim",
	CarriedOver: "carry-over",
	ConflictProven: "fraud",
};

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

	chain(): Promise<Chain> {
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
		const isOver = this.env.nowMs() >= summary.endsAtMs && (await reader.head()).atMs > summary.endsAtMs;
		const voting = await this.votingIn(past, summary.endsAtMs / 1000, isOver);
		const counted = countedOf(past);
		const total = isOver
			? await phases.totalAtEnd(summary.endsAtMs / 1000)
			: voting.reduce((sum, { stake }) => sum + stake, 0n);
		const { finalAtMs } = summary;
		return {
			...summary,
			countedStake: String(counted),
			totalStake: String(total),
			hasQuorum: isQuorum(chainConstants, counted, total),
			reportsOf: await Promise.all(
				voting.map(({ account, stake }) => this.reportView(number, account, stake, past.reports.get(account), leaves)),
			),
			proposal: proposalView(number, past, leaves, finalAtMs),
			rejected: past.proposals.flatMap(({ proposer, digest, rejected }) =>
				rejected === null
					? []
					: [{ proposer, digest, by: rejected.by, slashed: String(rejected.slashed), at: rejected.at }],
			),
			claimsUntilMs: finalAtMs === null ? null : claimsEndMs(chainConstants, finalAtMs),
			isSwept: past.isSwept,
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

	/** Shares of final epochs, newest first, as far as they can still be claimed. */
	async claimable(account: Hex): Promise<readonly { readonly epoch: number; readonly amount: bigint }[]> {
		await this.reader.head();
		const chainConstants = await this.phases.constants();
		const history = this.reader.history();
		const found: { epoch: number; amount: bigint }[] = [];
		let seen = 0;
		for (let epoch = history.lastFixed() ?? -1; epoch >= history.oldestEpoch() && seen < CLAIMABLE_EPOCHS; epoch--) {
			const past = history.epoch(epoch);
			const last = standing(past);
			if (last === null || past.isSwept) continue;
			const finalAtMs = await this.phases.finalOf(chainConstants, last.at.block);
			if (this.env.nowMs() < finalAtMs) continue;
			if (this.env.nowMs() >= claimsEndMs(chainConstants, finalAtMs)) break;
			seen++;
			const amount = past.claims.has(account) ? 0n : ((await this.leaves.of(epoch, past)).shares.get(account) ?? 0n);
			if (amount > 0n) found.push({ epoch, amount });
		}
		return found;
	}

	private async summaryOf(chainConstants: ChainConstants, number: number, past: PastEpoch): Promise<ChainEpochSummary> {
		const counted = [...past.reports.values()].filter(({ root, voided }) => root !== null && voided === null);
		return {
			...(await this.phases.windows(chainConstants, number, past)),
			reports: counted.length,
			providers: standing(past)?.proposal.count ?? null,
			pot: past.pot === null ? null : String(past.pot),
			paid: String(past.paid),
			claims: past.claims.size,
		};
	}

	/** Whoever has a vote in the epoch, with its stake at the epoch's end, or of now while that is not over. */
	private async votingIn(past: PastEpoch, endsAt: number, isOver: boolean) {
		const { reader } = this;
		const stakeAt = (account: Hex, timeS: number) =>
			read(reader.contracts, "registry", "votingStakeAt", account, BigInt(timeS));
		const stakeOf = (account: Hex): Promise<bigint> =>
			isOver
				? reader.once(`stake ${account} ${endsAt}`, () => stakeAt(account, endsAt))
				: reader.atHead(`stake ${account}`, ({ atMs }) => stakeAt(account, Math.floor(atMs / 1000)));
		const revealed = [...past.reports].filter(([, { root }]) => root !== null).map(([validator]) => validator);
		const accounts = [...new Set([...reader.history().validators(), ...revealed])].sort();
		const all = await Promise.all(
			accounts.map(async (account) => ({
				account,
				stake: past.reports.get(account)?.stake ?? (await stakeOf(account)),
			})),
		);
		return all.filter(({ stake }) => stake > 0n);
	}

	private async reportView(
		number: number,
		account: Hex,
		stake: bigint,
		report: PastReport | undefined,
		{ states }: EpochLeaves,
	): Promise<ChainEpoch["reportsOf"][number]> {
		const events = this.reader.history().account(account);
		const endpoint = events.findLast(({ args }) => typeof args.endpoint === "string")?.args.endpoint;
		const file = states.get(account);
		const reasonsBytes = await this.leaves.reasonsBytes(number, account);
		return {
			account,
			isSelf: account === this.home.account.address.toLowerCase(),
			endpoint: safeText(String(endpoint ?? "").slice(0, 200)),
			stake: String(stake),
			state: stateOf(report),
			root: report?.root ?? null,
			committed: report?.committed ?? null,
			revealed: report?.revealed ?? null,
			voided: report?.voided ?? null,
			scores: file?.count ?? null,
			leaves: file?.state ?? "none",
			leavesPath: file === undefined ? null : archivePath(number, "report", account),
			reasonsPath: reasonsBytes === null ? null : archivePath(number, "reasons", account),
			reasonsBytes,
		};
	}

	private async transactionView({ name, hash, block, logIndex, args }: HistoryEvent): Promise<ChainTransaction> {
		// Without it the list is still right: a node may keep no receipts.
		const sent = await this.reader.transaction(hash, block).catch(() => null);
		const about = args.validator ?? args.subject ?? args.proposer ?? args.provider;
		const amount = args.amount ?? args.slashed;
		const ofProvider = this.reader.history().account(args.provider as Hex);
		return {
			hash,
			block,
			logIndex,
			what: WHAT[name]!,
			about: typeof about === "string" ? about : null,
			amount: typeof amount === "bigint" ? String(amount) : null,
			isPaid: name === "Claimed" && ofProvider.some((event) => event.name === "Collected" && event.hash === hash),
			atMs: sent?.atMs ?? null,
			from: sent?.from ?? null,
			gasUsed: sent?.gasUsed ?? null,
		};
	}
}

const claimsEndMs = ({ emission }: ChainConstants, finalAtMs: number): number =>
	finalAtMs + Number(emission.claimSeconds) * 1000;

function stateOf(report: PastReport | undefined): ChainEpoch["reportsOf"][number]["state"] {
	if (report === undefined || report.committed === null) return "none";
	if (report.voided !== null) return "voided";
	return report.root === null ? "committed" : "revealed";
}

function proposalView(
	number: number,
	past: PastEpoch,
	{ proposed }: EpochLeaves,
	finalAtMs: number | null,
): ChainEpoch["proposal"] {
	const last = standing(past);
	if (last === null) return null;
	const { proposal } = last;
	return {
		...proposal,
		proposer: last.proposer,
		digest: last.digest,
		totalWeight: String(proposal.totalWeight),
		emission: String(proposal.emission),
		thresholdRemainder: String(proposal.thresholdRemainder),
		finalAtMs: finalAtMs ?? 0,
		proposed: last.at,
		leaves: proposed,
		leavesPath: archivePath(number, "weights", last.proposer),
	};
}
