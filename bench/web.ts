// The dashboard's table with 10,000 providers in a real Chromium: how long a keystroke in a filter, a sort
// and a step of scrolling keep the page busy, and how long until the rows are there. Milliseconds (median,
// worst) go to bench/results/web-….json with the load; asserts nothing. Pages of jobs: bench/web/jobs.ts.
//   bash scripts/node.sh bench/web.ts [PROVIDERS]
import pg from "pg";
import { ensureBuilt } from "../scripts/build-web.ts";
import { serverFolder } from "../src/store/open-store.ts";
import { ensureEmbeddedServer } from "../src/store/postgres/embedded-server.ts";
import { makeDataDir, startToyValidator } from "../tests/validator/toy-agent.test-kit.ts";
import { startBrowser } from "../tests/web/browser.test-kit.ts";
import { scrollFrames, watchInteractions } from "./web/browser-times.ts";
import { createFigures, writeWebResult } from "./web/web-result.ts";

const { put, figures } = createFigures();
const providers = Number(process.argv[2] ?? 10_000);
await ensureBuilt();
const data = makeDataDir();
const validator = await startToyValidator({ dataDir: data.path, probes: false });
const client = new pg.Client(await ensureEmbeddedServer({ folder: serverFolder(data.path) }));
await client.connect();
const id = "encode(sha256(convert_to('provider ' || n, 'UTF8')), 'hex')";
await client.query(`
	SET search_path = assay;
	INSERT INTO providers (id, name, link, target, state, price_per_hour_micros, rentable, ssh, registered_at_ms, next_probe_at_ms, last_verdict, last_probe_at_ms,
		last_valid_at_ms, reliability_ppm, uptime_ppm, score_ppm, model, gpu_count, memory_bytes, fp16_ops_per_s, memory_bytes_per_s)
	SELECT ${id}, 'host ' || n, 'ssh', 'ssh://host-' || n, 'active', (n * 7919) % 5000000, n % 10 > 0, true, n, n, 'valid', n, n, 900000, (n * 31) % 1000000,
		(n * 104729) % 1000000, 'model-' || n % 40, 4, (20 + n % 120) * 1000000000::bigint, (40 + n % 700) * 1000000000000::bigint, (n % 4000) * 1000000000::bigint
	FROM generate_series(1, ${providers}) n;
	INSERT INTO holdings SELECT ${id}, 'model-' || n % 40, 4, (20 + n % 120) * 1000000000::bigint, (40 + n % 700) * 1000000000000::bigint,
		(n % 4000) * 1000000000::bigint, '{}' FROM generate_series(1, ${providers}) n;
	ANALYZE;`);
await client.end();

const browser = await startBrowser({ keepsFiles: true });
try {
	const page = await browser.open(`${validator.url}/providers`);
	const started = await page.evaluate(() => {
		const [entry] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
		return entry?.domContentLoadedEventEnd ?? 0;
	});
	put("first view, navigation to document ready", [started]);
	await page
		.getByRole("link", { name: /^host / })
		.first()
		.waitFor();
	const interactions = await watchInteractions(page);
	const settled = () => page.waitForFunction(() => !document.querySelector(".bar")?.textContent?.includes("loading"));

	const answers: number[] = [];
	for (const text of ["host 77", "host 1", "host 99", "host"]) {
		const began = performance.now();
		await page.getByLabel("Search").fill("");
		await page.getByLabel("Search").pressSequentially(text, { delay: 30 });
		await page
			.getByRole("link", { name: new RegExp(`^${text}`) })
			.first()
			.waitFor();
		await settled();
		answers.push(performance.now() - began);
	}
	put("typing a search, each keystroke to next paint", (await interactions()).toPaint);
	put("whole search with its typing, rows there", answers);
	await page.getByLabel("Search").fill("");
	await settled();
	await interactions();
	const sorts: number[] = [];
	for (const name of ["Memory", "fp16", "Uptime", "Score", "Host", "Bandwidth"]) {
		const began = performance.now();
		await page.getByRole("columnheader", { name }).getByRole("button").click();
		await settled();
		sorts.push(performance.now() - began);
	}
	put("sorting, click to next paint", (await interactions()).toPaint);
	put("sorting, rows there", sorts);
	put("scrolling 900 px a frame, between frames", await scrollFrames(page, ".table-box", 900, 400));
	const rows = await page.locator(".table-box tbody tr").count();
	console.log(`rows in the document ${rows}; ${await page.locator(".bar").first().textContent()}`);
} finally {
	await browser.close();
	await validator.stop();
	await data.remove();
}
writeWebResult("web", `the dashboard's table with ${providers} providers in Chromium`, { figures });
