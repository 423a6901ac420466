// The validator's side of the chain while it runs: gives probes a beacon, stakes, and at each epoch's end
// reports its scores and sees them through to weights. Loaded only where a chain is configured. What is done
// when is market/epochs/next-moves.ts; where the chain is, home.ts. Page: docs/chain.md.
import { join } from "node:path";
import type { StaticFile } from "../../api/server/server-options.ts";
import { type EpochParams, readEpochParams } from "../../chain/contracts/scoreboard.ts";
import { openProviderBook } from "../../chain/history/provider-book.ts";
import { readChainTime } from "../../chain/node/chain-clock.ts";
import { lookAgain } from "../../chain/sending/publish.ts";
import { isInTime } from "../../platform/abortable.ts";
import { repeat } from "../../platform/repeat.ts";
import type { Beacon } from "../../protocol/probe/challenge-seed.ts";
import { ProbeReceipts } from "../receipts/probe-receipts.ts";
import { createPaidRentals, type PaidRentals } from "../rentals/paid-rentals.ts";
import { failure, type KeyHolders, SLOW_TURN_MS, type ValidatorContext } from "../validator-context.ts";
import { createDeviceBindings } from "./device-bindings.ts";
import { createEpochGame } from "./epoch-game.ts";
import { createLeafFetcher } from "./fetch-leaves.ts";
import { createFinalWatch, type FinalEpoch } from "./final-watch.ts";
import { type Accused, createFraudKeeper } from "./fraud-keeper.ts";
import { type ChainHome, ensureStaked, keepEndpoint, openChainHome } from "./home.ts";
import { createKeyHolders } from "./key-holders.ts";
import { openChainMemory } from "./memory.ts";
import { createChainPublicFiles } from "./public-files.ts";
import { createReportArchive } from "./report-archive.ts";
import { createReportScores } from "./report-scores.ts";

const LEASE = "chain";
const BEACON_WITHIN_MS = 2000;
const KEEP_SECONDS = 90 * 86_400;

type KeeperContext = Omit<ValidatorContext, "agents" | "beacon" | "receipts" | "keyHolders">;

type Parts = Awaited<ReturnType<typeof createParts>>;

export async function openChainKeeper(context: KeeperContext): Promise<ChainKeeper> {
	const { config, env } = context;
	const home = await openChainHome({
		dataDir: config.dataDir,
		settings: config.chain!,
		mayDeploy: true,
		nowMs: env.nowMs,
		randomBytes: env.randomBytes,
	});
	try {
		return new ChainKeeper(context, home, await createParts(context, home));
	} catch (error) {
		await home.close();
		throw error;
	}
}

async function createParts(context: KeeperContext, home: ChainHome) {
	const { config, env, store, log } = context;
	const { contracts, account, keptAccountOf, saltSecret } = home;
	const { addresses } = contracts;
	const { nowMs, after } = env;
	const archive = createReportArchive(join(home.folder, "epochs"));
	const { journal, book: bookKeeper } = openChainMemory({ store, addresses, account: account.address, lease: LEASE });
	const book = await openProviderBook(contracts, bookKeeper);
	const receipts = new ProbeReceipts({
		dataDir: config.dataDir,
		bucket: config.bucket,
		folder: home.folder,
		domain: addresses,
		book,
		hasEvidence: (sha256) => store.evidence.has(sha256),
		after,
		nowMs,
	});
	const frauds = createFraudKeeper({
		contracts,
		account,
		journal,
		saltSecret,
		receipts,
		evidence: (sha256) => store.evidence.get(sha256),
		nowMs,
		tell: (accused) => tellAccused(context, accused),
		onLeft: ({ probeId, evidence }, why) => log.warn({ probe: probeId, evidence, why }, "nobody is accused"),
	});
	/** The embedded chain's blocks are made by this clock. */
	const ownS = () => Math.floor(nowMs() / 1000);
	const game = await createEpochGame({
		contracts,
		account,
		saltSecret,
		journal,
		archive,
		nowS: () => (home.isEmbedded ? ownS() : readChainTime(contracts.client, ownS())),
		nowMs,
		scores: createReportScores({
			store,
			book,
			keptAccountOf,
			archive,
			params: await readEpochParams(contracts),
			maxAgeMs: config.params.maxAgeMs,
			scoring: { ...config.params },
			nowMs,
			reported: (explanation) => receipts.reported(explanation),
		}),
		fetched: createLeafFetcher(contracts),
		providers: () => book.count(),
		tell: (event) => tellEvent(context, event),
		onError: (what, error) => log.warn({ what, err: error }, "chain: left for later"),
	});
	/** Nobody else comes back to what was sent for a job that is over. */
	const leftovers = everyNow(nowMs, LOOK_AGAIN_MS, () =>
		lookAgain(contracts.client, journal, (id, error) => log.warn({ what: id, err: error }, "chain: not settled yet")),
	);
	return { archive, book, receipts, frauds, game, leftovers, finals: createFinalWatch(contracts) };
}

const SEND_EVERY_MS = 5000;
/** At what was signed and is not settled. First at the start: another process may have left it. */
const LOOK_AGAIN_MS = 10 * 60_000;

function everyNow(nowMs: () => number, everyMs: number, act: () => Promise<void>): () => Promise<void> {
	let nextMs = 0;
	return async () => {
		if (nowMs() < nextMs) return;
		nextMs = nowMs() + everyMs;
		await act();
	};
}

export class ChainKeeper {
	readonly home: ChainHome;
	/** Whoever holds it sends. */
	readonly lease = LEASE;
	readonly params: EpochParams;
	readonly receipts: ProbeReceipts;
	/** The newest epoch with final weights, and its unclaimed rewards; null before the first. */
	readonly newestFinal: () => FinalEpoch | null;
	/** Leaves behind the roots on chain, for everyone. */
	readonly staticFile: (path: string) => Promise<StaticFile | null>;
	readonly paid: PaidRentals;
	readonly keyHolders: KeyHolders;
	private readonly context: KeeperContext;
	private readonly parts: Parts;
	private turning: { readonly stop: () => Promise<void> } | null = null;
	private sending: { readonly stop: () => Promise<void> } | null = null;
	private hasStake = false;
	private isStopping = false;
	private prunedBelow = 0;

	constructor(context: KeeperContext, home: ChainHome, parts: Parts) {
		const { addresses } = home.contracts;
		const { archive, book, receipts, game, finals } = parts;
		this.context = context;
		this.home = home;
		this.parts = parts;
		this.params = game.params;
		this.receipts = receipts;
		this.newestFinal = finals.newest;
		const bindings = createDeviceBindings({ ...context, addresses, account: home.account, book });
		this.staticFile = createChainPublicFiles({ addresses, archive, bindings });
		this.keyHolders = createKeyHolders(home.contracts, context);
		this.paid = createPaidRentals({ contracts: home.contracts, book, nowMs: context.env.nowMs });
	}

	/** Whether reports of this validator counted when it began. */
	isStaked(): boolean {
		return this.hasStake;
	}

	/** Stakes and begins, once others can reach us at this URL. */
	async start(url: string): Promise<void> {
		const { home, params } = this;
		const { config, env, store, log, signer } = this.context;
		this.hasStake = await ensureStaked(home, signer, url, config.chain!.stakeTokens);
		if (!this.hasStake)
			log.warn({ account: home.account.address }, "this validator has no stake on chain: `assay stake` gives it one");
		await keepEndpoint(home, url);
		// A process that was killed holds its lease for half a minute more, and a window of the embedded chain is
		// shorter.
		if (home.isHost) await store.leases.seize(LEASE);
		const tellFailure = failure(this.context, "chain");
		const onError = (error: unknown) => {
			if (!this.isStopping) tellFailure(error);
		};
		const everyMs = Math.max(100, Math.min(2000, params.commitSeconds * 100));
		const turns = this.context.watchdog.watch("chain", SLOW_TURN_MS);
		this.turning = repeat({ everyMs, after: env.after, onError, turns }, () => this.turn());
		// Nobody waits for the bucket; what it refuses is tried again.
		const { receipts } = this.parts;
		const sending = { everyMs: SEND_EVERY_MS, after: env.after, onError };
		if (config.bucket !== null) this.sending = repeat(sending, () => receipts.sendUnsent());
	}

	private async turn(): Promise<void> {
		const { env, store } = this.context;
		const { game, frauds, leftovers, finals, archive } = this.parts;
		// One process of a network sends; the others serve.
		const isSender = await store.leases.acquire(LEASE);
		// Trouble with an epoch keeps nobody's fraud waiting.
		if (isSender) await game.turn().finally(() => frauds.turn().finally(() => leftovers()));
		const final = await finals.look();
		if (!isSender) return;
		if (final !== null) tellEvent(this.context, { kind: "final", epoch: final.epoch, detail: String(final.claimable) });
		const { genesis, epochSeconds } = this.params;
		const oldest = (nowS: number) =>
			Math.floor((nowS - genesis) / epochSeconds) - Math.ceil(KEEP_SECONDS / epochSeconds);
		if (oldest(env.nowMs() / 1000) <= this.prunedBelow) return;
		// By the chain's time: a clock that is wrong must not cost anybody a claim.
		const { timestamp } = await this.home.contracts.client.viem.getBlock();
		this.prunedBelow = oldest(Math.min(Number(timestamp), env.nowMs() / 1000));
		// Rewards do not lapse: whoever claims late, or continues these weights, needs their leaves.
		await archive.prune(this.prunedBelow, game.view().head?.epoch ?? null);
	}

	async stop(): Promise<void> {
		// Somebody else's node may not answer for minutes; whatever was to be sent is in the journal.
		this.isStopping = true;
		this.home.stopWaiting();
		await this.turning?.stop();
		await this.sending?.stop();
		await this.parts.game.stop();
		await this.context.store.leases.release(LEASE);
		await this.home.close();
	}

	/** A recent block: the challenge is younger. Null when the node is slow: probes do not wait for it. */
	async beacon(): Promise<Beacon> {
		const block = recentBlock(this.home);
		const isThere = await isInTime(block, BEACON_WITHIN_MS, this.context.env.after).catch(() => false);
		return isThere ? block : null;
	}
}

/** So deep that it will not be taken back. */
async function recentBlock({ contracts: { client } }: ChainHome): Promise<Beacon> {
	const head = await client.viem.getBlockNumber();
	const deep = head - BigInt(client.confirmations - 1);
	const { hash, number } = await client.viem.getBlock({ blockNumber: deep > 0n ? deep : 0n });
	return { kind: "evm-block", value: `${client.chainId}:${number}:${hash}` };
}

function tellEvent(
	{ log, hub }: KeeperContext,
	{ kind, epoch, detail }: { readonly kind: string; readonly epoch: number; readonly detail: string },
): void {
	log.info({ epoch, detail }, `chain: ${kind}`);
	hub.tell({ kind: `chain.${kind}`, subject: String(epoch), providerId: null, detail: { epoch, detail } });
}

function tellAccused({ log, hub }: KeeperContext, accused: Accused): void {
	const { probeId, providerId, evidence, challenge, account, slashed } = accused;
	const { amount = null, toAccuser = null, transaction = null } = slashed ?? {};
	const detail = { evidence, account, challenge, transaction };
	log.warn({ probe: probeId, provider: providerId, ...detail, amount: String(amount) }, "chain: accused");
	const amounts = { amount: amount?.toString() ?? null, toAccuser: toAccuser?.toString() ?? null };
	hub.tell({ kind: "chain.accused", subject: probeId, providerId, detail: { ...detail, ...amounts } });
}
