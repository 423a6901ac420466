// A network with one liar, for pages and pictures of a dispute: validator, embedded chain, a real provider
// whose engine changes one number, a customer's job, and a watcher with an engine of its own that can be held
// before any of its questions.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiClient } from "../../src/api/create-client.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { lyingEngine } from "../../src/engine/lying-engine.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { type JobQuestion, readQuestion } from "../../src/protocol/network/job-question.ts";
import type { Provider } from "../../src/provider/create-provider.ts";
import { ownEngine } from "../../src/validator/jobs/evidence/own-engine.ts";
import { openWatchBook } from "../../src/validator/jobs/watch/watch-book.ts";
import { openWatchChain } from "../../src/validator/jobs/watch/watch-chain.ts";
import { createWatcher, type WatchEvent } from "../../src/validator/jobs/watch/watcher.ts";
import { type Order, openStage, type Stage, submit } from "../jobs/job-stage.test-kit.ts";
import { prove } from "../jobs/prove-host.test-kit.ts";
import { openRealProvider } from "../jobs/real-provider.test-kit.ts";
import { endow } from "../jobs/toy-worker.test-kit.ts";
import { DISPUTE_PARAMS } from "../jobs/whole-dispute.test-kit.ts";
import { eventually, signerOf } from "../validator/toy-agent.test-kit.ts";

const UNIT = 10n ** 18n;
const LIAR = { signer: signerOf(231), account: accountOf(`0x${"e8".repeat(32)}`) };
const WATCHER = { signer: signerOf(232), account: accountOf(`0x${"e9".repeat(32)}`) };

export interface LyingStage {
	readonly stage: Stage;
	/** Its provider's id. */
	readonly liar: string;
	/** Hands the job in and waits for its claim, open to everybody. */
	claimOf(order: Order): Promise<{ readonly job: string; readonly claim: string }>;
	/** Until the claim has fallen; `before` is waited for before each question. */
	watch(before?: (question: JobQuestion) => Promise<void>): Promise<readonly WatchEvent[]>;
	close(): Promise<void>;
}

export async function openLyingStage(lie: {
	readonly segment: number;
	readonly step: number;
	readonly op: number;
	readonly element: number;
	readonly isFar?: boolean;
}): Promise<LyingStage> {
	const scratch = mkdtempSync(join(tmpdir(), "assay-lying-"));
	const engine = { command: (await findEngine(hostPlatform())).path, args: [] };
	const stage = await openStage({ hasChain: true, params: DISPUTE_PARAMS, settings: { engine } });
	const { contracts, treasurer } = stage.chain!;
	const providers: Provider[] = [];
	await endow(contracts, treasurer, WATCHER.account, 0n, 0n);
	await endow(contracts, treasurer, LIAR.account, 0n, 1000n * UNIT);
	providers.push(
		await openRealProvider({
			...{ url: stage.validator.url, signer: LIAR.signer, dataFolder: join(scratch, "liar") },
			...{ engine: lyingEngine(engine.command, lie), onEvent: () => {}, chain: { contracts, account: LIAR.account } },
		}),
	);
	await eventually(async () => (await stage.validator.store.providers.get(LIAR.signer.key))?.connectedTo != null);
	await prove(stage.validator.store, LIAR.signer.key);
	return {
		...{ stage, liar: LIAR.signer.key },
		async claimOf(order) {
			const { id } = await eventually(() =>
				submit(stage, order).catch((error: unknown) => {
					// A validator may know of a new host a moment later.
					if (error instanceof AssayError && error.code === "JOB_NO_PROVIDER") return null;
					throw error;
				}),
			);
			const claim = await eventually(async () => {
				const { rows } = await stage.customer.listClaims({ query: { job: id, limit: 10 } });
				return rows.find(({ ends, state }) => ends !== null || state === "fallen")?.hash;
			});
			return { job: id, claim };
		},
		async watch(before) {
			const events: WatchEvent[] = [];
			const folder = join(scratch, "watch");
			const book = await openWatchBook(join(folder, "watched.jsonl"), Date.now);
			const client = createApiClient({ baseUrl: stage.validator.url, signer: WATCHER.signer });
			const askClaim: typeof client.askClaim = async (call, options) => {
				await before?.(readQuestion(call.body.question));
				return client.askClaim(call, options);
			};
			const watcher = createWatcher({
				...{ api: { ...client, askClaim }, folder, book, engine: ownEngine(engine, realEnvironment()) },
				chain: await openWatchChain(contracts, WATCHER.account, { gasADay: 1e8, book }),
				...{ policy: { jobs: "all", sharePpm: 0 }, isDry: false, secret: new Uint8Array(32), nowMs: Date.now },
				sleep: (ms) => new Promise((awake) => setTimeout(awake, Math.min(ms, 200))),
				onEvent: (event) => events.push(event),
			});
			await watcher.round();
			await watcher.settle();
			return events;
		},
		async close() {
			for (const provider of providers) await provider.stop();
			await stage.close();
			rmSync(scratch, { recursive: true, force: true });
		},
	};
}
