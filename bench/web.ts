// The dashboard's table with 10,000 providers in a real Chromium: how long a keystroke in a filter, a sort and a step of scrolling keep the page busy, and
// how long until the rows are there. Prints milliseconds (median, worst); asserts nothing. Run: node bench/web.ts [providers]
import pg from "pg";
import { ensureBuilt } from "../scripts/build-web.ts";
import { serverFolder } from "../src/store/open-store.ts";
import { ensureEmbeddedServer } from "../src/store/postgres/embedded-server.ts";
import { makeDataDir, startToyValidator } from "../tests/validator/toy-agent.test-kit.ts";
import { startBrowser } from "../tests/web/browser.test-kit.ts";

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

const browser = await startBrowser();
const print = (what: string, times: readonly number[]) => {
	const sorted = [...times].sort((a, b) => a - b);
	const at = (n: number) => (sorted[n] ?? 0).toFixed(0).padStart(5);
	console.log(
		`${what.padEnd(44)} median ${at(Math.floor(sorted.length / 2))} ms  worst ${at(sorted.length - 1)} ms  (${sorted.length})`,
	);
};
try {
	const page = await browser.open(`${validator.url}/providers`);
	const started = await page.evaluate(() => {
		const [entry] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
		return entry?.domContentLoadedEventEnd ?? 0;
	});
	print("first view, navigation to document ready", [started]);
	await page
		.getByRole("link", { name: /^host / })
		.first()
		.waitFor();
	await page.evaluate(() => {
		const seen: number[] = [];
		(globalThis as { interactions?: number[] }).interactions = seen;
		new PerformanceObserver((list) => {
			for (const entry of list.getEntries())
				if ("interactionId" in entry && entry.interactionId) seen.push(entry.duration);
		}).observe({ type: "event", durationThreshold: 16 } as PerformanceObserverInit);
	});
	const interactions = () =>
		page.evaluate(() => (globalThis as { interactions?: number[] }).interactions?.splice(0) ?? []);
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
	print("typing a search, each keystroke to next paint", await interactions());
	print("whole search with its typing, rows there", answers);
	await page.getByLabel("Search").fill("");
	await settled();
	await interactions();
	const sorts: number[] = [];
	for (const name of ["Memory", "fp16", "Uptime", "Score", "Name", "Bandwidth"]) {
		const began = performance.now();
		await page.getByRole("columnheader", { name }).getByRole("button").click();
		await settled();
		sorts.push(performance.now() - began);
	}
	print("sorting, click to next paint", await interactions());
	print("sorting, rows there", sorts);
	const frames = await page.evaluate(async () => {
		const box = document.querySelector(".table-box")!;
		const gaps: number[] = [];
		let before = performance.now();
		for (let i = 0; i < 400; i++) {
			box.scrollTop += 900;
			await new Promise(requestAnimationFrame);
			const now = performance.now();
			gaps.push(now - before);
			before = now;
		}
		return {
			gaps,
			rows: document.querySelectorAll(".table-box tbody tr").length,
			text: document.querySelector(".bar")?.textContent,
		};
	});
	print("scrolling 900 px a frame, between frames", frames.gaps);
	console.log(`rows in the document ${frames.rows}; ${frames.text}`);
} finally {
	await browser.close();
	await validator.stop();
	await data.remove();
}
