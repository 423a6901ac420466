// For tests of the job pages: a validator with its database, its embedded chain and its engine, providers that owners run, and a wallet for the browser. Of the
// wallet only its windows are missing: what the page asks for is signed with a real account and sent to the chain.
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { httpRpc } from "../../src/chain/node/http-rpc.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import type { ParamOverrides } from "../../src/market/params.ts";
import { openStage, PAYER, type Stage } from "../jobs/job-stage.test-kit.ts";
import { prove } from "../jobs/prove-host.test-kit.ts";
import { type RealProvider, startRealProvider } from "../jobs/real-provider.test-kit.ts";
import { endow } from "../jobs/toy-worker.test-kit.ts";
import { eventually, signerOf } from "../validator/toy-agent.test-kit.ts";
import { type Browser, startBrowser } from "./browser.test-kit.ts";

export interface JobNetwork {
	readonly stage: Stage;
	readonly browser: Browser;
	readonly url: string;
	/** Joins, and has proven enough to be drawn. */
	provider(n: number): Promise<RealProvider>;
	close(): Promise<void>;
}

const UNIT = 10n ** 18n;

/** The browser's wallet: EIP-1193 over the embedded chain. */
async function giveWallet(browser: Browser, { chain, validator }: Stage): Promise<void> {
	const { client } = chain!.contracts;
	const rpc = httpRpc(validator.chain!.url);
	await browser.context.exposeFunction("askWallet", async (method: string, params: readonly unknown[]) => {
		if (method === "eth_requestAccounts") return [PAYER.address];
		if (method === "eth_sendTransaction") {
			const { to, data } = params[0] as { to: `0x${string}`; data: `0x${string}` };
			return (await sendCall(client, PAYER, { to, data })).transactionHash;
		}
		return await rpc(method, params);
	});
	await browser.context.addInitScript(() => {
		const scope = globalThis as unknown as { askWallet(method: string, params: unknown): Promise<unknown> };
		Object.assign(globalThis, {
			ethereum: {
				request: (ask: { method: string; params?: unknown }) => scope.askWallet(ask.method, ask.params ?? []),
			},
		});
	});
}

export async function openJobNetwork(params: ParamOverrides = {}): Promise<JobNetwork> {
	const scratch = mkdtempSync(join(tmpdir(), "assay-job-pages-"));
	const command = (await findEngine(hostPlatform())).path;
	const stage = await openStage({
		hasChain: true,
		// Times of a machine that does much else; what is checked is paid a second later.
		params: { jobWindowMs: 600_000, jobBeatMs: 500, jobBeatMisses: 100, jobLeastWorkMs: 600_000, ...params },
		settings: { engine: { command, args: [] } },
	});
	const browser = await startBrowser();
	await giveWallet(browser, stage);
	const running: RealProvider[] = [];
	return {
		...{ stage, browser, url: stage.validator.url },
		async provider(n) {
			const { chain, validator } = stage;
			const key = `0x${(0xd0 + n).toString(16).repeat(32)}` as const;
			const id = signerOf(200 + n).key;
			const isNew = (await validator.store.providers.get(id)) === null;
			if (isNew) await endow(chain!.contracts, chain!.treasurer, accountOf(key), 0n, 1000n * UNIT);
			const one = await startRealProvider({
				...{ url: validator.url, signer: 200 + n, dataFolder: join(scratch, String(n)) },
				chain: { url: validator.chain!.url, contracts: chain!.contracts.addresses, key },
			});
			running.push(one);
			await eventually(async () => (await validator.store.providers.get(id))?.connectedTo != null);
			if (isNew) await prove(validator.store, id);
			return one;
		},
		async close() {
			await browser.close();
			for (const one of running) await one.close();
			await stage.close();
			await rm(scratch, { recursive: true, force: true });
		},
	};
}
