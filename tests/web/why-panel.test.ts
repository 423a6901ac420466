// "Why it is right" in a real Chromium: the smallest GPT of the samples, trained by a real provider and run again by another; the claim's tree and both roots, the draws
// done again, and a segment run in the browser itself. A validator that changed a draw is named. How a lie is seen is in dispute-pages.test.ts.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { ensureBuilt } from "../../scripts/build-web.ts";
import { buildWorkload } from "../../src/work/workloads/build-workload.ts";
import { readJob } from "../../src/work/workloads/read-job.ts";
import { jobOver, submit } from "../jobs/job-stage.test-kit.ts";
import { seriousFindings } from "./browser.test-kit.ts";
import { type JobNetwork, openJobNetwork } from "./job-network.test-kit.ts";

const samples = join(import.meta.dirname, "../../samples");
/** Of job-stage's customer. */
const CUSTOMER_SEED = "5a".repeat(32);
let network: JobNetwork;
before(async () => {
	await ensureBuilt();
	network = await openJobNetwork({ jobCheckedMs: 1000 });
	for (const n of [1, 2]) await network.provider(n);
});
after(() => network?.close());
afterEach(async () => {
	await network.browser.closePages();
	network.browser.check();
});

async function gptMini(steps: number) {
	const json = { ...JSON.parse(readFileSync(join(samples, "gpt-mini.json"), "utf8")), steps };
	return buildWorkload(readJob(json), (name) => readFileSync(join(samples, name)));
}

test("the smallest GPT: its claim, who ran it again, the draws, and a segment run in the browser", async () => {
	const { stage, browser, url } = network;
	const { id } = await submit(stage, { method: { name: "redundant", count: 2 }, workload: await gptMini(3) });
	const job = await jobOver(stage.customer, id);
	const { claim } = job.record.parts[0]!;
	// The customer's key, as this browser would have kept it.
	await browser.context.addInitScript((seed) => localStorage.setItem("customer-key", seed), CUSTOMER_SEED);
	const page = await browser.open(`${url}/jobs/${id}`);
	const why = page.locator("section", { has: page.getByRole("heading", { name: "Why it is right" }) });
	await why.getByText("computed here from the job’s terms").waitFor();
	await why.getByText("5 states fold to it, computed here").waitFor();
	await why.getByRole("img", { name: "4 of 4 segments were run again and found equal" }).waitFor();
	const rows = why.getByRole("region", { name: "Segments that were run again" }).locator("tbody tr");
	const roots = await rows
		.first()
		.locator("code")
		.evaluateAll((all) => all.map((one) => one.getAttribute("title")));
	assert.equal(roots.length, 3, "auditor, claimed, found");
	assert.equal(roots[1], roots[2], "both roots, the first computed here");
	await why.locator("[data-draws=as-drawn]").waitFor();
	await why.getByLabel(/^Segment, 0 to 3/).fill("1");
	await why.getByRole("button", { name: "Check it here" }).click();
	await why.locator("[data-check=equal]").getByText("Segment 1 (one step)").waitFor();
	const took = await why
		.getByRole("region", { name: "Segments run here" })
		.locator("tbody tr")
		.last()
		.locator("td")
		.last()
		.textContent();
	assert.match(took!, /^\d+(\.\d)? (ms|s)$/);
	assert.deepEqual(await seriousFindings(page), []);
	assert.equal(claim?.length, 64);

	// On a phone and in the dark, as a stranger: what is public alone.
	await browser.context.addInitScript(() => localStorage.removeItem("customer-key"));
	await page.setViewportSize({ width: 390, height: 800 });
	await page.reload();
	await page.getByRole("button", { name: "Use the dark theme" }).click();
	await why.getByText("for its parties").first().waitFor();
	await why.locator("[data-draws=as-drawn]").waitFor();
	const width = await page.evaluate(() => document.documentElement.scrollWidth);
	assert.ok(width <= 390, `${width} px wide`);
	assert.deepEqual(await seriousFindings(page), []);

	// A validator that changed afterwards who was drawn, or what it signed, is named by this browser.
	const drawn = await stage.customer.getJobDraws({ params: { id } });
	for (const [changed, what] of [
		[{ ...drawn, draws: drawn.draws.map((one) => ({ ...one, drawn: one.drawn.toReversed() })) }, "drawn"],
		[{ ...drawn, offer: { ...drawn.offer, perWindow: drawn.offer.perWindow + 1 } }, "secret"],
	] as const) {
		await page.route(`**/v1/jobs/${id}/draws`, (route) => route.fulfill({ json: changed }));
		await page.reload();
		await why.locator("[data-draws=changed]").locator(".findings code").getByText(what).first().waitFor();
		await page.unroute(`**/v1/jobs/${id}/draws`);
	}
});
