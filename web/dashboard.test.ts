// The dashboard in a real Chromium against a real validator: embedded PostgreSQL, agents over WebSockets, toy engines behind.
import { after, afterEach, before, test } from "node:test";
import { ensureBuilt } from "../scripts/build-web.ts";
import {
	eventually,
	makeDataDir,
	signerOf,
	startToyAgent,
	startToyValidator,
	type ToyValidator,
} from "../src/validator/service/toy-agent.test-kit.ts";
import { type Browser, startBrowser } from "./browser.test-kit.ts";

const data = makeDataDir();
let validator: ToyValidator;
let browser: Browser;
before(async () => {
	await ensureBuilt();
	validator = await startToyValidator({ dataDir: data.path, params: { retries: 0 } });
	browser = await startBrowser();
});
after(async () => {
	await browser?.close();
	await validator?.stop();
	await data.remove();
});
afterEach(async () => {
	for (const page of browser.context.pages().slice(1)) await page.close();
	browser.check();
});

const scored = (id: string) =>
	eventually(async () => {
		const provider = await validator.client.getProvider({ params: { id } }).catch(() => null);
		return provider !== null && provider.scorePpm !== null && provider;
	});

test("an empty network is shown as one, and fills by itself", async () => {
	const page = await browser.open(`${validator.url}/`);
	await page.getByRole("heading", { name: "The network now" }).waitFor();
	await page.getByText("No GPU is proven yet").waitFor();
	await page.getByText("No probe yet").waitFor();
	const agent = await startToyAgent({ url: validator.url, signer: signerOf(11), name: "first" });
	await scored(agent.id);
	// Nobody reloads: the event stream does it.
	await page.getByRole("list", { name: "Newest probes" }).getByText("valid", { exact: true }).waitFor();
	await page.getByRole("link", { name: "Providers" }).click();
	await page.getByRole("link", { name: "first" }).waitFor();
	await agent.close();
});
