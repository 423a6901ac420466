// A watcher of this machine, for `assay watch` and `assay up`: its folder, its account, its engine. What it
// does is src/validator/jobs/watch/.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ApiClient } from "../../api/create-client.ts";
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { accountOf, type ChainAccount } from "../../chain/sending/sign.ts";
import { sleep } from "../../platform/abortable.ts";
import { makeFolder } from "../../platform/durable-file.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { loadAccountKey } from "../../platform/key-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import { type OwnEngine, ownEngine } from "../../validator/jobs/evidence/own-engine.ts";
import type { ClearedClaim, Contested } from "../../validator/jobs/watch/cleared-claim.ts";
import { openWatchBook } from "../../validator/jobs/watch/watch-book.ts";
import { openWatchChain, type WatchChain } from "../../validator/jobs/watch/watch-chain.ts";
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
	const chain = o.chain && (await openWatchChain(o.chain.contracts, o.chain.account, { gasADay: o.gasADay, book }));
	const engine = { ...ownEngine(o.engine, env), mostMs: 60_000 * o.mostMinutes };
	const rest = async (ms: number) => void (await sleep(ms, o.signal));
	const watcher = createWatcher({
		...{ api: o.api, policy: o.policy, isDry: o.isDry, onEvent: o.onEvent, folder: o.folder, book, nowMs: env.nowMs },
		...{ chain, engine, ...(chain && { contest: contestBy(chain.evidence, engine, join(o.folder, "scratch"), rest) }) },
		secret: sha256Of(utf8ToBytes(await draws.signMessage({ message: "assay/watcher-draw/1" }))),
		sleep: rest,
		signal: o.signal,
	});
	return { ...watcher, gasSpent: () => book.gasSpent() };
}

/**
 * What is false of a claim whose segments are proven, shown by this machine's engine. Its code is loaded when
 * there is such a claim.
 */
export const contestBy =
	(chain: WatchChain["evidence"], engine: OwnEngine, scratch: string, rest: (ms: number) => Promise<void>) =>
	async (claim: ClearedClaim): Promise<Contested> => {
		const { contestClaim } = await import("../../provider/proofs/hybrid/contest-claim.ts");
		const { powersOf } = await import("../../provider/proofs/powers.ts");
		const { contracts, account, secret, send } = chain;
		const folder = join(scratch, `contest-${claim.sitting.job}`);
		const startEngine = async () => {
			await makeFolder(folder);
			const started = await engine.start(folder);
			const { openProof } = started;
			if (openProof === undefined) throw new AssayError("JOB_METHOD", "this engine makes no proofs");
			return { ...started, openProof };
		};
		const powersFor = powersOf(contracts.addresses.chainId, realEnvironment().env.ASSAY_POWERS ?? null);
		try {
			const means = { contracts, account, secret, send, startEngine, powersFor, folder, sleep: rest };
			return await contestClaim(means, claim);
		} finally {
			await rm(folder, { recursive: true, force: true });
		}
	};
