// A lie in a real Chromium, from the first mismatch to the conviction: a real provider whose engine changes
// one number, a watcher that runs the claim again, the embedded chain. The page follows question by question,
// and at the end shows the number, worked out again from the fraud file.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import pg from "pg";
import type { Page } from "playwright-core";
import { ensureBuilt } from "../../scripts/build-web.ts";
import { serverFolder } from "../../src/store/open-store.ts";
import { ensureEmbeddedServer } from "../../src/store/postgres/embedded-server.ts";
import { verifyFraud } from "../../src/verify/optimistic/fraud/judge-fraud.ts";
import { mlpSample } from "../../src/work/builder/samples.test-kit.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { type Browser, followLink, seriousFindings, startBrowser } from "./browser.test-kit.ts";
import { layoutFaults, settledFaults } from "./layout.test-kit.ts";
import { type LyingStage, openLyingStage } from "./lying-stage.test-kit.ts";

const { program } = mlpSample();
const LIE = { segment: 4, step: 1, op: program.step.length - 1, element: 3 };
let lying: LyingStage;
let browser: Browser;
before(async () => {
	await ensureBuilt();
	lying = await openLyingStage(LIE);
	browser = await startBrowser();
});
after(async () => {
	await browser?.close();
	await lying?.close();
});
afterEach(async () => {
	await browser.closePages();
	browser.check();
});

const stops = (page: Page) =>
	page.locator(".way [data-stop]").evaluateAll((all) => all.map((one) => `${one.dataset.stop} ${one.dataset.at}`));

/**
 * Whoever has a key runs the segments of an optimistic job in its own browser, and sees which one ends
 * elsewhere.
 */
async function seenByItsCheck(job: string): Promise<void> {
	await browser.context.addInitScript(() => localStorage.setItem("customer-key", "77".repeat(32)));
	const page = await browser.open(`${lying.stage.validator.url}/jobs/${job}`);
	const why = page.locator("section", { has: page.getByRole("heading", { name: "How it is checked" }) });
	await why.getByLabel(/^Segment, 0 to 5/).fill("5");
	await why.getByRole("button", { name: "Check it here" }).click();
	await why.locator("[data-check=differs]").getByText("Segment 4").waitFor();
	assert.equal(await why.getByRole("region", { name: "Segments run here" }).locator(".agrees").count(), 4);
	await page.close();
}

const EVIL = `"><img src=x onerror="window.hit=1"><svg onload="window.hit=1"><b>`;

async function nothingInjected(page: Page): Promise<void> {
	const seen = await page.evaluate(() => ({
		hit: (globalThis as { hit?: number }).hit,
		elements: document.querySelectorAll("main img, main b, main script, [onload], [onerror]").length,
	}));
	assert.deepEqual(seen, { hit: undefined, elements: 0 });
}

/** Each text that is no number, hash or name of a state is markup. */
function withMarkup(value: unknown, isAll: boolean): unknown {
	if (typeof value === "string") return isAll || !/^(0x)?[0-9a-f]*$|^[a-z]{1,12}$/.test(value) ? EVIL : value;
	if (Array.isArray(value)) return value.map((one) => withMarkup(one, isAll));
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withMarkup(one, isAll)]));
}

/**
 * A validator whose every word is markup: pages of disputes, claims and draws show words, or say that they
 * cannot.
 */
async function lyingWords(page: Page, job: string, claim: string): Promise<void> {
	const told = /\/v1\/(claims|frauds|jobs|job-hosts)(\/|\?|$)/;
	for (const isAll of [false, true]) {
		await browser.answer(page, told, (json) => withMarkup(json, isAll));
		for (const path of [`/disputes/${claim}`, `/jobs/${job}`]) {
			await followLink(page, path);
			await page.locator("h1").waitFor();
			await page.locator(".loading").first().waitFor({ state: "detached" });
			if (isAll) await page.getByText("API_REPLY_BAD").first().waitFor();
			await nothingInjected(page);
		}
		await page.unrouteAll({ behavior: "wait" });
	}
}

/** The same claim, had its provider been silent: who was convicted by what, and that there is no number. */
async function bySilence(page: Page, claim: string): Promise<void> {
	type Told = { readonly chain: { readonly conviction: object }; readonly frauds: readonly unknown[] };
	await browser.answer(page, /\/v1\/claims\/[0-9a-f]{64}\/dispute$/, ({ chain, ...told }: Told) => ({
		...{ ...told, frauds: [], chain: { ...chain, conviction: { ...chain.conviction, by: "silence" } } },
	}));
	await followLink(page, `/disputes/${claim}`);
	await page.getByText("convicted by silence").waitFor();
	await page.getByText("Its provider did not answer before the clock ended").waitFor();
	await page.getByRole("heading", { name: "Where the bond went" }).waitFor();
	assert.deepEqual(await settledFaults(page), []);
	await page.unrouteAll({ behavior: "wait" });
}

/** The market, and the liar's own page; strangers' words stay words. */
async function marketPages(page: Page): Promise<void> {
	const { stage, liar } = lying;
	const evil = EVIL;
	const database = await ensureEmbeddedServer({ folder: serverFolder(stage.data.path) });
	const client = new pg.Client(database);
	await client.connect();
	await client.query("UPDATE assay.jobs SET kind = $1, title = $1", [evil]);
	await client.query("UPDATE assay.frauds SET body = jsonb_build_object('why', $1::text)", [evil]);
	await client.end();
	const looked = async (name: string) => {
		for (const width of [390, 1280]) {
			await page.setViewportSize({ width, height: 800 });
			assert.deepEqual(await settledFaults(page), [], `${name} at ${width} px`);
			assert.deepEqual(await seriousFindings(page), [], `${name} at ${width} px`);
		}
		await nothingInjected(page);
	};
	await page.goto(`${stage.validator.url}/market`);
	await page.getByRole("region", { name: "Prices by workload" }).getByText(evil).waitFor();
	const row = page
		.getByRole("region", { name: "Work done, by provider" })
		.locator("tr", { has: page.locator(`[title="${liar}"]`) });
	await row.locator(".badge", { hasText: "1" }).waitFor();
	await page
		.getByRole("region", { name: "Cheats caught" })
		.getByRole("link", { name: /^the number/ })
		.first()
		.waitFor();
	await page.getByRole("region", { name: "Accusers" }).locator("tbody tr").first().waitFor();
	await looked("market");
	await followLink(page, `/providers/${liar}`);
	const shown = page.locator("section", { has: page.getByRole("heading", { name: "Work", exact: true }) });
	await shown.getByText("no work for 90 d after a conviction").waitFor();
	await shown
		.getByRole("region", { name: "What became of its parts" })
		.locator(".badge", { hasText: "convicted" })
		.waitFor();
	await looked("provider");
	const work = await stage.customer.getProviderWork({ params: { id: liar } });
	assert.deepEqual([work.reputation.counts.convicted, work.reputation.isBarred, work.claims], [1, true, []]);
}

test("a lie is watched from the first question to the conviction, and ends with the element, as `assay verify` has it", async () => {
	const { stage } = lying;
	const { job, claim } = await lying.claimOf({ method: { name: "optimistic", count: 0 } });
	const page = await browser.open(`${stage.validator.url}/disputes/${claim}`);
	await page.getByRole("heading", { name: /^Dispute about claim/ }).waitFor();
	const found = await stage.customer.getDispute({ params: { hash: claim } });
	// One claim in a hundred the validator itself draws, and convicts.
	if (found.claim.state !== "fallen") {
		await page.getByText("Nobody has asked about this claim").waitFor();
		assert.deepEqual(await seriousFindings(page), []);
		await seenByItsCheck(job);
		let isHeld = false;
		const events = await lying.watch(async ({ kind }) => {
			if (kind !== "transcript" || isHeld) return;
			isHeld = true;
			// Held here, the page shows how far the search is.
			await page.locator("[data-stop=leaf]").waitFor();
			await page.getByText("root of the trace of segment 4").waitFor();
			assert.deepEqual((await stops(page)).slice(0, 3), ["segment 4", "step 1", `operator ${LIE.op}`]);
			await page.getByText("not asked yet").waitFor();
			await page.locator(".badge", { hasText: "stands" }).waitFor();
			assert.deepEqual(await seriousFindings(page), []);
		});
		assert.deepEqual([...new Set(events.map(({ state }) => state))], ["checking", "false", "proven"]);
		assert.ok(isHeld);
	}
	await page.getByText("convicted by proof").waitFor();
	const panel = page.locator(".verify[data-status=valid]");
	await panel.waitFor();
	const { frauds, chain } = await eventually(async () => {
		const seen = await stage.customer.getDispute({ params: { hash: claim } });
		return seen.frauds.length > 0 && seen;
	});
	const verdict = verifyFraud(await stage.customer.getFraud({ params: { hash: frauds[0]!.hash } }));
	assert.ok(verdict.status === "valid");
	const { segment, step, op, element } = verdict;
	assert.deepEqual({ segment, step, op, element }, LIE);
	assert.equal(await panel.locator("[data-fraud=said]").textContent(), verdict.said);
	assert.equal(await panel.locator("[data-fraud=right]").textContent(), verdict.right);
	const at = (await stops(page)).filter((one) => !one.startsWith("leaf"));
	assert.deepEqual(at, ["segment 4", "step 1", `operator ${op}`, "element 3"]);
	await panel.getByText(`0x${verdict.signer}`).waitFor();
	await page.getByRole("heading", { name: "Where the bond went" }).waitFor();
	assert.ok(chain?.conviction != null && BigInt(chain.conviction.burned) > 0n);
	assert.deepEqual(await seriousFindings(page), []);

	// On a phone, in the dark, and among all of them.
	await page.setViewportSize({ width: 390, height: 800 });
	await page.getByRole("button", { name: "Use the dark theme" }).click();
	for (const path of [`/disputes/${claim}`, "/disputes", "/disputes/nothing", `/disputes/${"0".repeat(64)}`]) {
		if (new URL(page.url()).pathname !== path) await followLink(page, path);
		await page.locator("h1").waitFor();
		if (path.endsWith(claim)) await panel.waitFor();
		await page.locator(".loading").first().waitFor({ state: "detached" });
		assert.deepEqual(await layoutFaults(page), [], path);
		assert.deepEqual(await seriousFindings(page), [], path);
	}
	await page.getByText("CLAIM_UNKNOWN").waitFor();
	browser.allow(/404/);
	await bySilence(page, claim);
	await marketPages(page);
	await lyingWords(page, job, claim);
	// By keyboard from the list to the dispute.
	await page.goto(`${stage.validator.url}/disputes`);
	const link = page.getByRole("region", { name: "Fraud files" }).getByRole("link").first();
	await link.waitFor();
	await link.focus();
	await page.keyboard.press("Enter");
	await page.getByRole("heading", { name: /^Dispute about claim/ }).waitFor();
	assert.equal(new URL(page.url()).pathname, `/disputes/${claim}`);
	assert.ok(job.length === 64);
});
