// Pictures of a dispute for docs/disputes.md: docs/images/dispute.png while it is searched, fraud-element.png
// when one number has decided it. A real provider whose engine changes one number of a matrix product, a
// watcher, and the embedded chain. Called by screenshots.ts; also by itself:
//   node scripts/dispute-screenshots.ts [FOLDER]
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { mlpSample } from "../src/work/builder/samples.test-kit.ts";
import { type Browser, startBrowser } from "../tests/web/browser.test-kit.ts";
import { openLyingStage } from "../tests/web/lying-stage.test-kit.ts";
import { ensureBuilt } from "./build-web.ts";

export async function shootDispute(browser: Browser, out: string): Promise<void> {
	const { program } = mlpSample();
	const op = program.step.findIndex(({ operator }) => operator === "matmul");
	const lying = await openLyingStage({ segment: 4, step: 1, op, element: 3, isFar: true });
	try {
		const { claim } = await lying.claimOf({ method: { name: "optimistic", count: 0 } });
		const page = await browser.open(`${lying.stage.validator.url}/disputes/${claim}`);
		const events = await lying.watch(async ({ kind }) => {
			if (kind !== "transcript") return;
			await page.locator("[data-stop=leaf]").waitFor();
			await page.screenshot({ path: join(out, "dispute.png") });
		});
		if (!events.some(({ state }) => state === "proven")) throw new Error(JSON.stringify(events));
		await page.locator(".verify[data-status=valid] [data-fraud=said]").waitFor();
		await page.getByRole("heading", { name: "One number decided" }).evaluate((one) => one.scrollIntoView());
		await page.evaluate(() => scrollBy(0, -70));
		await page.screenshot({ path: join(out, "fraud-element.png") });
		await page.close();
	} finally {
		await lying.close();
	}
}

if (import.meta.main) {
	const out = resolve(process.argv[2] ?? "docs/images");
	mkdirSync(out, { recursive: true });
	await ensureBuilt();
	const browser = await startBrowser({ width: 1280, height: 800 });
	try {
		await shootDispute(browser, out);
	} finally {
		await browser.close();
	}
}
