// The validator's side of the chain while it runs: gives probes a beacon, stakes, and at each epoch's end reports its scores and sees them through to weights.
// Loaded only where a chain is configured. What is done when is chain-round.ts; where the chain is, chain-home.ts. Page: docs/chain.md.
import { join } from "node:path";
import type { StaticFile } from "../../api/server/server-options.ts";
import * as board from "../../chain/contracts/scoreboard.ts";
import { openProviderBook } from "../../chain/history/provider-book.ts";
import { readChainTime } from "../../chain/node/chain-clock.ts";
import { repeat } from "../../platform/repeat.ts";
import type { Beacon } from "../../protocol/probe/challenge-seed.ts";
import { ProbeReceipts } from "../receipts/probe-receipts.ts";
import { failure, type ValidatorContext } from "../validator-context.ts";
import { createDeviceAttester } from "./device-bindings.ts";
import { createEpochRound } from "./epoch-round.ts";
import { createLeafFetcher } from "./fetch-leaves.ts";
import { createFinalWatch, type FinalEpoch } from "./final-watch.ts";
import { createFraudKeeper } from "./fraud-keeper.ts";
import { type ChainHome, ensureStaked, openChainHome, treasurerOf } from "./home.ts";
import { keepEndpoint } from "./keep-endpoint.ts";
import { openChainMemory } from "./memory.ts";
import { createChainPublicFiles } from "./public-files.ts";
import { createReportArchive } from "./report-archive.ts";
import { createReportScores } from "./report-scores.ts";

export interface ChainKeeper {
	/** A recent block: whoever knows it did not make the challenge earlier. Null when the node does not answer at once: probes do not wait for it. */
	beacon(): Promise<Beacon>;
	/** Leaves behind the roots on chain, for everyone. */
	staticFile(path: string): Promise<StaticFile | null>;
	/** Stakes and begins, once others can reach us at this URL. */
	start(url: string): Promise<void>;
	turn(): Promise<void>;
	stop(): Promise<void>;
	/** The newest epoch whose weights are final, and what of its rewards nobody has claimed; null before the first. */
	readonly newestFinal: () => FinalEpoch | null;
	/** Whether reports of this validator counted when it began. */
	readonly isStaked: () => boolean;
	readonly params: board.EpochParams;
	readonly receipts: ProbeReceipts;
	readonly home: ChainHome;
}

const LEASE = "chain";
const BEACON_WITHIN_MS = 2000;
const KEEP_SECONDS = 90 * 86_400;

export async function openChainKeeper(
	x: Omit<ValidatorContext, "agents" | "beacon" | "receipts">,
): Promise<ChainKeeper> {
	const { config, env } = x;
	const home = await openChainHome({
		dataDir: config.dataDir,
		settings: config.chain!,
		mayDeploy: true,
		nowMs: env.nowMs,
		randomBytes: env.randomBytes,
	});
	try {
		return await createChainKeeper(x, home);
	} catch (error) {
		await home.close();
		throw error;
	}
}

async function createChainKeeper(
	x: Omit<ValidatorContext, "agents" | "beacon" | "receipts">,
	home: ChainHome,
): Promise<ChainKeeper> {
	const { config, env, store, log, hub } = x;
	const { contracts, account } = home;
	const archive = createReportArchive(join(home.folder, "epochs"));
	const memory = openChainMemory({
		store,
		addresses: contracts.addresses,
		account: account.address,
		lease: LEASE,
	});
	const book = await openProviderBook(contracts, memory.book);

	const receipts = new ProbeReceipts({
		dataDir: config.dataDir,
		folder: home.folder,
		domain: contracts.addresses,
		book,
		hasEvidence: (sha256) => store.evidence.has(sha256),
		after: env.after,
		nowMs: env.nowMs,
	});
	const frauds = createFraudKeeper({
		contracts,
		account,
		journal: memory.journal,
		receipts,
		evidence: (sha256) => store.evidence.get(sha256),
		nowMs: env.nowMs,
		tell({ probeId, providerId, evidence, challenge, account: accused, slashed }) {
			const { amount = null, toAccuser = null, transaction = null } = slashed ?? {};
			const detail = { evidence, account: accused, challenge, transaction };
			log.warn({ probe: probeId, provider: providerId, ...detail, amount: String(amount) }, "chain: accused");
			const amounts = { amount: amount?.toString() ?? null, toAccuser: toAccuser?.toString() ?? null };
			hub.tell({ kind: "chain.accused", subject: probeId, providerId, detail: { ...detail, ...amounts } });
		},
		onLeft: ({ probeId, evidence }, why) => log.warn({ probe: probeId, evidence, why }, "nobody is accused"),
	});

	const fetched = createLeafFetcher(contracts, (from, error) =>
		log.warn({ from, err: error }, "leaves could not be fetched"),
	);

	const params = await board.readEpochParams(contracts);
	/** The embedded chain's blocks are made by this clock. */
	const ownS = () => Math.floor(env.nowMs() / 1000);
	const round = await createEpochRound({
		contracts,
		account,
		saltSecret: home.saltSecret,
		journal: memory.journal,
		archive,
		nowS: () => (home.isEmbedded ? ownS() : readChainTime(contracts.client, ownS())),
		scores: createReportScores({
			store,
			book,
			keptAccountOf: home.keptAccountOf,
			archive,
			params,
			maxAgeMs: config.params.maxAgeMs,
			scoring: { ...config.params },
			nowMs: env.nowMs,
			reported: (explanation) => receipts.reported(explanation),
		}),
		fetchReport: fetched.report,
		fetchWeights: fetched.weights,
		tell,
	});
	const finals = createFinalWatch(contracts);

	function tell({ kind, epoch, detail }: { readonly kind: string; readonly epoch: number; readonly detail: string }) {
		log.info({ epoch, detail }, `chain: ${kind}`);
		hub.tell({ kind: `chain.${kind}`, subject: String(epoch), providerId: null, detail: { epoch, detail } });
	}

	async function turn(): Promise<void> {
		// One process of a network sends; the others serve.
		const isSender = await store.leases.acquire(LEASE);
		// Trouble with an epoch keeps nobody's fraud waiting.
		if (isSender) await round.turn().finally(() => frauds.turn());
		const final = await finals.look();
		if (!isSender) return;
		if (final !== null) tell({ kind: "final", epoch: final.epoch, detail: String(final.claimable) });
		const { genesis, epochSeconds } = params;
		const current = Math.floor((env.nowMs() / 1000 - genesis) / epochSeconds);
		await archive.prune(current - Math.ceil(KEEP_SECONDS / epochSeconds));
	}

	let isStaked = false;
	let isStopping = false;
	const tellFailure = failure(x, "chain");
	const onError = (error: unknown) => {
		if (!isStopping) tellFailure(error);
	};
	let turning: { readonly stop: () => Promise<void> } | null = null;
	return {
		home,
		params,
		receipts,
		turn,
		newestFinal: finals.newest,
		isStaked: () => isStaked,
		async start(url) {
			isStaked = await ensureStaked(home, {
				signer: x.signer,
				endpoint: url,
				stakeTokens: config.chain!.stakeTokens,
				treasurer: await treasurerOf(home),
			});
			if (!isStaked)
				log.warn({ account: account.address }, "this validator has no stake on chain: `assay stake` gives it one");
			await keepEndpoint(home, url);
			// A process that was killed holds its lease for half a minute more, and a window of the embedded chain is shorter.
			if (home.isHost) await store.leases.seize(LEASE);
			const everyMs = Math.max(100, Math.min(2000, params.commitSeconds * 100));
			turning = repeat({ everyMs, after: env.after, onError }, turn);
		},
		async stop() {
			// Somebody else's node may not answer for minutes; whatever was to be sent is in the journal.
			isStopping = true;
			home.stopWaiting();
			await turning?.stop();
			await store.leases.release(LEASE);
			await home.close();
		},
		async beacon() {
			const block = recentBlock(home);
			const late = new Promise<null>((resolve) => env.after(BEACON_WITHIN_MS, () => resolve(null)));
			return Promise.race([block, late]).catch(() => null);
		},
		staticFile: createChainPublicFiles({
			addresses: contracts.addresses,
			archive,
			attestations: createDeviceAttester({ ...x, addresses: contracts.addresses, account, book }),
		}),
	};
}

/** So deep that it will not be taken back. */
async function recentBlock({ contracts: { client } }: ChainHome): Promise<Beacon> {
	const head = await client.viem.getBlockNumber();
	const deep = head - BigInt(client.confirmations - 1);
	const { hash, number } = await client.viem.getBlock({ blockNumber: deep > 0n ? deep : 0n });
	return { kind: "evm-block", value: `${client.chainId}:${number}:${hash}` };
}
