// The validator's side of the chain while it runs: gives probes a beacon, stakes, and at each epoch's end reports its scores and sees them through to weights.
// Loaded only where a chain is configured. What is done when is chain-round.ts; where the chain is, chain-home.ts. Page: docs/chain.md.
import { join } from "node:path";
import type { StaticFile } from "../../api/server-options.ts";
import { openProviderBook } from "../../chain/provider-book.ts";
import type { Explanation } from "../../market/explanation.ts";
import type { ScoreLeaf } from "../../market/score-report.ts";
import type { Hex } from "../../market/sorted-openings.ts";
import type { Beacon } from "../../protocol/challenge-seed.ts";
import { readText, writeWhole } from "./chain-files.ts";
import { type ChainHome, ensureStaked, openChainHome, treasurerOf } from "./chain-home.ts";
import { createChainRound } from "./chain-round.ts";
import { createLeafFetcher } from "./fetch-leaves.ts";
import { createReportArchive } from "./report-archive.ts";
import { failure, type ServiceContext } from "./service-context.ts";
import { repeat } from "./surroundings.ts";

export interface ChainKeeper {
	/** A recent block: whoever knows it did not make the challenge earlier. Null when the node does not answer at once: probes do not wait for it. */
	beacon(): Promise<Beacon>;
	/** Leaves behind the roots on chain, for everyone. */
	staticFile(path: string): Promise<StaticFile | null>;
	/** Stakes and begins, once others can reach us at this URL. */
	start(url: string): Promise<void>;
	turn(): Promise<void>;
	stop(): Promise<void>;
	readonly home: ChainHome;
}

const LEASE = "chain";
const BEACON_WITHIN_MS = 2000;
const KEEP_SECONDS = 90 * 86_400;
const NO_EVIDENCE: Hex = `0x${"0".repeat(64)}`;

export async function openChainKeeper(x: Omit<ServiceContext, "agents" | "beacon">): Promise<ChainKeeper> {
	const { config, here, store, log, hub } = x;
	const home = await openChainHome({
		dataDir: config.dataDir,
		settings: config.chain!,
		epochSeconds: Math.max(1, Math.round(config.epoch.lengthMs / 1000)),
		nowMs: here.nowMs,
		randomBytes: here.randomBytes,
	});
	const { client, at, account } = home;
	const archive = createReportArchive(join(home.folder, "epochs"));
	const bookPath = join(home.folder, "providers.json");
	const book = await openProviderBook(client, at, {
		async load() {
			const text = await readText(bookPath);
			return text === null ? null : JSON.parse(text);
		},
		save: (state) => writeWhole(bookPath, `${JSON.stringify(state)}\n`),
	});

	/** Every current score whose provider has an account; of several providers with one account the best counts. */
	async function scores(epoch: number): Promise<readonly ScoreLeaf[]> {
		await book.refresh();
		const fresh = await store.scores.all({ sinceMs: Math.max(0, here.nowMs() - config.params.maxAgeMs) });
		const wanted = new Set(fresh.map(({ providerId }) => providerId));
		const leaves = new Map<Hex, ScoreLeaf>();
		const reasons: Record<Hex, Explanation> = {};
		let cursor: string | null = null;
		do {
			const page: Awaited<ReturnType<typeof store.scores.list>> = await store.scores.list({ limit: 500, cursor });
			for (const { providerId, scorePpm, terms } of page.rows) {
				const provider =
					book.accountOf(providerId) ?? (home.keptAccountOf?.(providerId).address.toLowerCase() as Hex | undefined);
				if (provider === undefined || !wanted.has(providerId)) continue;
				if ((leaves.get(provider)?.scorePpm ?? -1) >= scorePpm) continue;
				const explanation = terms as unknown as Explanation;
				const evidenceSha256: Hex = explanation.evidence === null ? NO_EVIDENCE : `0x${explanation.evidence}`;
				leaves.set(provider, { provider, scorePpm, evidenceSha256 });
				reasons[provider] = explanation;
			}
			cursor = page.cursor;
		} while (cursor !== null);
		await archive.putReasons(epoch, reasons);
		return [...leaves.values()];
	}

	const fetched = createLeafFetcher(client, at, (from, error) =>
		log.warn({ from, err: error }, "leaves could not be fetched"),
	);

	const round = await createChainRound({
		client,
		at,
		account,
		saltSecret: home.saltSecret,
		journal: home.journal,
		archive,
		nowS: () => Math.floor(here.nowMs() / 1000),
		scores,
		fetchReport: fetched.report,
		fetchWeights: fetched.weights,
		tell({ kind, epoch, detail }) {
			log.info({ epoch, detail }, `chain: ${kind}`);
			hub.tell({ kind: `chain.${kind}`, subject: String(epoch), providerId: null, detail: { epoch, detail } });
		},
	});
	const { commitSeconds, epochSeconds, genesis } = round.params;

	async function turn(): Promise<void> {
		// One process of a network sends; the others serve.
		if (!(await store.leases.acquire(LEASE))) return;
		await round.turn();
		const current = Math.floor((here.nowMs() / 1000 - genesis) / epochSeconds);
		await archive.prune(current - Math.ceil(KEEP_SECONDS / epochSeconds));
	}

	let turning: { readonly stop: () => Promise<void> } | null = null;
	return {
		home,
		turn,
		async start(url) {
			const staked = await ensureStaked(home, {
				signer: x.signer,
				endpoint: url,
				stakeTokens: config.chain!.stakeTokens,
				treasurer: await treasurerOf(home),
			});
			if (!staked)
				log.warn({ account: account.address }, "this validator has no stake on chain: `assay stake` gives it one");
			const everyMs = Math.max(100, Math.min(2000, commitSeconds * 100));
			turning = repeat({ everyMs, after: here.after, onError: failure(x, "chain") }, turn);
		},
		async stop() {
			await turning?.stop();
			await store.leases.release(LEASE);
			await home.close();
		},
		async beacon() {
			const block = recentBlock(home);
			const late = new Promise<null>((resolve) => here.after(BEACON_WITHIN_MS, () => resolve(null)));
			return Promise.race([block, late]).catch(() => null);
		},
		async staticFile(path) {
			const bytes = await archive.publicFile(path);
			return bytes === null ? null : { bytes, contentType: "application/json", cacheControl: "public, max-age=60" };
		},
	};
}

/** So deep that it will not be taken back. */
async function recentBlock({ client }: ChainHome): Promise<Beacon> {
	const head = await client.viem.getBlockNumber();
	const deep = head - BigInt(client.confirmations - 1);
	const { hash, number } = await client.viem.getBlock({ blockNumber: deep > 0n ? deep : 0n });
	return { kind: "evm-block", value: `${client.chainId}:${number}:${hash}` };
}
