// For tests of the job pages: a validator with its database, its embedded chain and its engine, providers
// that owners run, and a wallet for the browser. Of the wallet only its windows are missing: what the page
// asks for is signed with a real account and sent to the chain.
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { httpRpc } from "../../src/chain/node/http-rpc.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import type { ParamOverrides } from "../../src/market/params.ts";
import { attestation } from "../../src/store/sample-rows.test-kit.ts";
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
	/** All that are there now go. */
	closeProviders(): Promise<void>;
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
		params: { jobWindowMs: 600_000, jobBeatMs: 6000, jobBeatMisses: 100, jobLeastWorkMs: 600_000, ...params },
		settings: { engine: { command, args: [] }, jobs: { isLoopbackApart: true, takesSimulated: true } },
	});
	const browser = await startBrowser();
	await giveWallet(browser, stage);
	const running: RealProvider[] = [];
	const closeProviders = async () => {
		for (const one of running.splice(0)) await one.close();
	};
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
			// Of the first a probe was attested, under roots of our own.
			const signed = attestation([], { level: "none", shown: "hosted", isSimulated: true });
			if (isNew) await prove(validator.store, id, { attestation: n === 1 ? signed : null });
			return one;
		},
		closeProviders,
		async close() {
			await browser.close();
			await closeProviders();
			await stage.close();
			await rm(scratch, { recursive: true, force: true });
		},
	};
}

export interface Wish {
	/** How its card begins: "Render". */
	readonly card: string;
	/** How its way of verifying begins: "Run twice". */
	readonly method: string;
	/** Values by label. */
	readonly fields?: Readonly<Record<string, string>>;
}

/** Fills in the form and waits for the price. */
export async function askPrice(page: Page, { card, method, fields = {} }: Wish): Promise<void> {
	await page.getByRole("radio", { name: new RegExp(`^${card}`) }).check();
	await page.getByRole("radio", { name: new RegExp(`^${method}`) }).check();
	for (const [label, value] of Object.entries(fields)) await page.getByLabel(label).fill(value);
	// What was typed is in the job that was built.
	await page.locator("[data-built]:not([aria-busy=true])").waitFor();
	await page.getByRole("button", { name: /^Upload .*and get the price$/ }).click();
	await page.getByRole("button", { name: /^Hand in for at most/ }).waitFor();
}

/** As askPrice, and hands it in: the page is the job's then. */
export async function handIn(page: Page, wish: Wish): Promise<string> {
	await askPrice(page, wish);
	await page.getByRole("button", { name: /^Hand in for at most/ }).click();
	await page.waitForURL(/\/jobs\/[0-9a-f]{64}$/);
	return new URL(page.url()).pathname.slice("/jobs/".length);
}

/** Watches the job's page until it is paid, and opens the result. */
export async function watchToPaid(page: Page): Promise<void> {
	await page.locator("[data-story=paid]").waitFor();
	await page.getByRole("button", { name: "Open the result" }).click();
	await page.getByText("These bytes are what was claimed").waitFor();
}

/** A key of this browser's own, as a visitor makes it. */
export async function signIn({ browser, url }: JobNetwork): Promise<void> {
	const page = await browser.open(`${url}/jobs/new`);
	await page.getByRole("button", { name: "Create a browser key" }).click();
	await page.getByText("a key kept in this browser").waitFor();
	await page.close();
}
