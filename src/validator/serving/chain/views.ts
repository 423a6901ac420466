// The chain's epochs as the API shows them: phases by the clock, reports and proposals from events, leaves from the archive. Decides nothing and sends nothing; loaded only where
// there is a chain. How often a node is asked is chain-reader.ts's affair. Page: docs/chain.md.
import { join } from "node:path";
import type { Chain, ChainEpoch, ChainEpochSummary, ChainTransaction } from "../../../api/types.ts";
import { read } from "../../../chain/contracts/contracts.ts";
import { windowsOf } from "../../../chain/contracts/scoreboard.ts";
import type { HistoryEvent, PastEpoch, PastReport } from "../../../chain/history/chain-history.ts";
import type { Rpc } from "../../../chain/node/rpc.ts";
import type { Environment } from "../../../platform/environment.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { safeText } from "../../../protocol/bytes/safe-text.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import type { ChainHome } from "../../settlement/home.ts";
import { archivePath, createReportArchive } from "../../settlement/report-archive.ts";
import { createChainGlance } from "./glance.ts";
import { type ChainLeaves, createChainLeaves, standing } from "./leaves.ts";
import { countedOf, createChainPhases, type FixedChain, PPM } from "./phases.ts";
import { type ChainReader, createChainReader } from "./reader.ts";

export interface ChainViews {
	readonly reader: ChainReader;
	readonly leaves: ChainLeaves;
	chain(): Promise<Chain>;
	/** Newest first, numbers below `before`. */
	epochs(o: { readonly limit: number; readonly before: number | null }): Promise<readonly ChainEpochSummary[]>;
	/** EPOCH_UNKNOWN for one that has not begun or is forgotten. */
	epoch(number: number): Promise<ChainEpoch>;
	past(number: number): Promise<PastEpoch>;
	/** Newest first. */
	transactions(number: number, from: number, limit: number): Promise<{ rows: ChainTransaction[]; more: boolean }>;
	/** Shares of final epochs, newest first, as far as they can still be claimed. */
	claimable(account: Hex): Promise<readonly { readonly epoch: number; readonly amount: bigint }[]>;
}

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

export async function createChainViews(
	home: ChainHome,
	env: Pick<Environment, "nowMs" | "ratesClockUs" | "after">,
	node?: Rpc,
): Promise<ChainViews> {
	const self = home.account.address.toLowerCase() as Hex;
	const reader = await createChainReader(home, env, node);
	const { contracts } = reader;
	const folder = join(home.folder, "epochs");
	const leaves = createChainLeaves(createReportArchive(folder), folder);
	const phases = createChainPhases(reader, env);
	const { fixed, currentOf, totalAtEnd, windows, finalOf } = phases;

	async function summaryOf(f: FixedChain, number: number, past: PastEpoch): Promise<ChainEpochSummary> {
		const counted = [...past.reports.values()].filter(({ root, voided }) => root !== null && voided === null);
		return {
			...(await windows(f, number, past)),
			reports: counted.length,
			providers: standing(past)?.proposal.count ?? null,
			pot: past.pot === null ? null : String(past.pot),
			paid: String(past.paid),
			claims: past.claims.size,
		};
	}

	async function past(number: number): Promise<PastEpoch> {
		await reader.head();
		const current = currentOf(await fixed());
		const oldest = reader.history().oldestEpoch();
		if (current === null || number > current) throw new AssayError("EPOCH_UNKNOWN", `epoch ${number} has not begun`);
		if (number < oldest)
			throw new AssayError("EPOCH_UNKNOWN", `epoch ${number} is too old to be kept here`, {
				hint: `The oldest one is ${oldest}; \`assay audit\` asks the chain itself.`,
			});
		return reader.history().epoch(number);
	}

	const stakeAt = (account: Hex, timeS: number) => read(contracts, "registry", "votingStakeAt", account, BigInt(timeS));

	async function reportView(f: FixedChain, number: number, account: Hex, report: PastReport | undefined) {
		const { endsAt } = windowsOf(f.epochs, number);
		const isOver = env.nowMs() / 1000 >= endsAt;
		const stake =
			report?.stake ??
			(isOver && (await reader.head()).atMs / 1000 > endsAt
				? await reader.once(`stake ${account} ${endsAt}`, () => stakeAt(account, endsAt))
				: await reader.atHead(`stake ${account}`, async ({ atMs }) => stakeAt(account, Math.floor(atMs / 1000))));
		const endpoint = reader
			.history()
			.account(account)
			.findLast(({ args }) => typeof args.endpoint === "string")?.args.endpoint;
		const state =
			report === undefined || report.committed === null
				? ("none" as const)
				: report.voided !== null
					? ("voided" as const)
					: report.root !== null
						? ("revealed" as const)
						: ("committed" as const);
		return {
			account,
			isSelf: account === self,
			endpoint: safeText(String(endpoint ?? "").slice(0, 200)),
			stake,
			state,
		};
	}

	const isCollectedIn = (hash: Hex, provider: Hex): boolean =>
		reader
			.history()
			.account(provider)
			.some((event) => event.name === "Collected" && event.hash === hash);

	async function whenOf({ hash, block }: HistoryEvent) {
		// Without it the list is still right: a node may keep no receipts.
		return reader.transaction(hash, block).catch(() => null);
	}

	return {
		reader,
		leaves,
		past,
		chain: createChainGlance(home, reader, phases, env),

		async epochs({ limit, before }) {
			await reader.head();
			const f = await fixed();
			const current = currentOf(f);
			const first = Math.min(current ?? -1, (before ?? Number.POSITIVE_INFINITY) - 1);
			const least = Math.max(reader.history().oldestEpoch(), first - limit + 1);
			const numbers = Array.from({ length: Math.max(0, first - least + 1) }, (_, i) => first - i);
			return Promise.all(numbers.map((number) => summaryOf(f, number, reader.history().epoch(number))));
		},

		async epoch(number) {
			const found = await past(number);
			const f = await fixed();
			const last = standing(found);
			const summary = await summaryOf(f, number, found);
			const shown = await leaves.of(number, found);
			const accounts = [...new Set([...reader.history().validators(), ...revealedBy(found)])].sort();
			const reports = await Promise.all(accounts.map((one) => reportView(f, number, one, found.reports.get(one))));
			const isOver = env.nowMs() >= summary.endsAtMs && (await reader.head()).atMs > summary.endsAtMs;
			const voting = reports.filter(({ stake }) => stake > 0n);
			const total = isOver
				? await totalAtEnd(summary.endsAtMs / 1000)
				: voting.reduce((sum, { stake }) => sum + stake, 0n);
			const counted = countedOf(found);
			const reasons = await Promise.all(voting.map(({ account }) => leaves.reasonsBytes(number, account)));
			return {
				...summary,
				countedStake: String(counted),
				totalStake: String(total),
				hasQuorum: counted > 0n && counted * PPM >= total * BigInt(f.epochs.quorumPpm),
				reportsOf: voting.map(({ stake, ...one }, i) => {
					const report = found.reports.get(one.account);
					const file = shown.states.get(one.account);
					return {
						...one,
						stake: String(stake),
						root: report?.root ?? null,
						committed: report?.committed ?? null,
						revealed: report?.revealed ?? null,
						voided: report?.voided ?? null,
						scores: file?.count ?? null,
						leaves: file?.state ?? "none",
						leavesPath: file === undefined ? null : archivePath(number, "report", one.account),
						reasonsPath: reasons[i] == null ? null : archivePath(number, "reasons", one.account),
						reasonsBytes: reasons[i] ?? null,
					};
				}),
				proposal:
					last === null
						? null
						: {
								proposer: last.proposer,
								digest: last.digest,
								root: last.proposal.root,
								count: last.proposal.count,
								totalWeight: String(last.proposal.totalWeight),
								emission: String(last.proposal.emission),
								thresholdRemainder: String(last.proposal.thresholdRemainder),
								thresholdProvider: last.proposal.thresholdProvider,
								finalAtMs: summary.finalAtMs ?? 0,
								proposed: last.at,
								leaves: shown.proposed,
								leavesPath: archivePath(number, "weights", last.proposer),
							},
				rejected: found.proposals.flatMap(({ proposer, digest, rejected }) =>
					rejected === null
						? []
						: [{ proposer, digest, by: rejected.by, slashed: String(rejected.slashed), at: rejected.at }],
				),
				claimsUntilMs: summary.finalAtMs === null ? null : summary.finalAtMs + Number(f.emission.claimSeconds) * 1000,
				isSwept: found.isSwept,
			};
		},

		async transactions(number, from, limit) {
			const { events } = await past(number);
			const acts = events.filter(({ name }) => WHAT[name] !== undefined).toReversed();
			const wanted = acts.slice(from, from + limit);
			const sent = await Promise.all(wanted.map(whenOf));
			const rows = wanted.map(({ name, hash, block, logIndex, args }, i) => {
				const about = args.validator ?? args.subject ?? args.proposer ?? args.provider;
				const amount = args.amount ?? args.slashed;
				return {
					hash,
					block,
					logIndex,
					what: WHAT[name]!,
					about: typeof about === "string" ? about : null,
					amount: typeof amount === "bigint" ? String(amount) : null,
					isPaid: name === "Claimed" && isCollectedIn(hash, args.provider as Hex),
					atMs: sent[i]?.atMs ?? null,
					from: sent[i]?.from ?? null,
					gasUsed: sent[i]?.gasUsed ?? null,
				};
			});
			return { rows, more: from + limit < acts.length };
		},

		async claimable(account) {
			await reader.head();
			const f = await fixed();
			const found: { epoch: number; amount: bigint }[] = [];
			const last = reader.history().lastFixed();
			for (
				let epoch = last ?? -1, seen = 0;
				epoch >= reader.history().oldestEpoch() && seen < CLAIMABLE_EPOCHS;
				epoch--
			) {
				const one = reader.history().epoch(epoch);
				const stands = standing(one);
				if (stands === null || one.isSwept) continue;
				const finalAtMs = await finalOf(f, stands.at.block);
				if (env.nowMs() < finalAtMs) continue;
				if (env.nowMs() >= finalAtMs + Number(f.emission.claimSeconds) * 1000) break;
				seen++;
				const amount = one.claims.has(account) ? 0n : ((await leaves.of(epoch, one)).shares.get(account) ?? 0n);
				if (amount > 0n) found.push({ epoch, amount });
			}
			return found;
		},
	};
}

const revealedBy = (past: PastEpoch): readonly Hex[] =>
	[...past.reports].filter(([, { root }]) => root !== null).map(([validator]) => validator);
