// A watcher of this machine, for `assay watch` and `assay up`: its folder, its account, its engine. What it does is src/validator/jobs/watch/.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ApiClient } from "../../api/create-client.ts";
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { accountOf, type ChainAccount } from "../../chain/sending/sign.ts";
import { sleep } from "../../platform/abortable.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { loadAccountKey } from "../../platform/key-file.ts";
import { bytesToHex, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import { ownEngine } from "../../validator/jobs/evidence/own-engine.ts";
import { openWatchBook } from "../../validator/jobs/watch/watch-book.ts";
import { openWatchChain } from "../../validator/jobs/watch/watch-chain.ts";
import { createWatcher, type WatcherOptions } from "../../validator/jobs/watch/watcher.ts";

interface Watching extends Pick<WatcherOptions, "api" | "policy" | "isDry" | "onEvent"> {
	readonly api: ApiClient;
	readonly chain: { readonly contracts: Contracts; readonly account: ChainAccount } | null;
	readonly engine: { readonly command: string; readonly args: readonly string[] };
	readonly folder: string;
	readonly mostMinutes: number;
	readonly gasADay: number;
	readonly signal: AbortSignal;
}

/** The account that a watcher sends from, unless another one is named. */
export async function watcherAccount(folder: string): Promise<ChainAccount> {
	const { randomBytes } = realEnvironment();
	const file = { name: "the watcher's account on the chain", elsewhere: "Name with --folder", randomBytes };
	return accountOf(`0x${bytesToHex(await loadAccountKey({ ...file, path: join(folder, "watch-account.key") }))}`);
}

export async function openWatcher(o: Watching) {
	const env = realEnvironment();
	// What a process that was killed left behind.
	await rm(join(o.folder, "scratch"), { recursive: true, force: true });
	const book = await openWatchBook(join(o.folder, "watched.jsonl"), env.nowMs);
	const draws = await watcherAccount(o.folder);
	const watcher = createWatcher({
		...{ api: o.api, policy: o.policy, isDry: o.isDry, onEvent: o.onEvent, folder: o.folder, book, nowMs: env.nowMs },
		chain: o.chain && (await openWatchChain(o.chain.contracts, o.chain.account, { gasADay: o.gasADay, book })),
		engine: { ...ownEngine(o.engine, env), mostMs: 60_000 * o.mostMinutes },
		secret: sha256Of(utf8ToBytes(await draws.signMessage({ message: "assay/watcher-draw/1" }))),
		sleep: async (ms) => void (await sleep(ms, o.signal)),
		signal: o.signal,
	});
	return { ...watcher, gasSpent: () => book.gasSpent() };
}
