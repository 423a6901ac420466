// Pages of jobs in a real Chromium before a real validator: first views; a job with 10,000 steps, 1,000
// segments and 60 events a second, its interactions and its memory; a segment of the smallest GPT run again
// in the page; a list of 10,000 jobs.
//   bash scripts/node.sh bench/web/jobs.ts [--seconds 60] [--segments 1000] [--jobs 10000] [--only
//     views,live,replay,list]
// Growth of memory is measured over --seconds and carried on to 30 minutes; --seconds 1800 measures it.
// Results: bench/results/web-jobs-….json. Asserts nothing; times mean little on a busy machine, so the load
// is in the result.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import pg from "pg";
import { ensureBuilt } from "../../scripts/build-web.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { serverFolder } from "../../src/store/open-store.ts";
import { ensureEmbeddedServer } from "../../src/store/postgres/embedded-server.ts";
import { mlpSample } from "../../src/work/builder/samples.test-kit.ts";
import { buildWorkload } from "../../src/work/workloads/build-workload.ts";
import { readJob } from "../../src/work/workloads/read-job.ts";
import { type Order, openStage, type Stage, submit } from "../../tests/jobs/job-stage.test-kit.ts";
import { eventually } from "../../tests/validator/toy-agent.test-kit.ts";
import { type Browser, startBrowser } from "../../tests/web/browser.test-kit.ts";
import { heapBytes, scrollFrames, watchInteractions } from "./browser-times.ts";
import { createFigures, writeWebResult } from "./web-result.ts";

const { values } = parseArgs({
	options: {
		seconds: { type: "string", default: "60" },
		segments: { type: "string", default: "1000" },
		jobs: { type: "string", default: "10000" },
		only: { type: "string", default: "views,live,replay,list" },
	},
});
const only = new Set(values.only.split(","));
/** Of job-stage's customer. */
const CUSTOMER_SEED = "5a".repeat(32);
const EVENTS_A_SECOND = 60;
const STEPS = 10_000;
const SEGMENTS = Number(values.segments);
const { put, figures } = createFigures();

async function sql<Row extends object>(stage: Stage, text: string, given: readonly unknown[] = []): Promise<Row[]> {
	const client = new pg.Client(await ensureEmbeddedServer({ folder: serverFolder(stage.data.path) }));
	await client.connect();
	await client.query("SET search_path = assay");
	const { rows } = await client.query(text, [...given]);
	await client.end();
	return rows as Row[];
}

/** Handed in and claimed; it stays open until its window ends. */
async function claimed(stage: Stage, order: Order): Promise<string> {
	// A validator may know of a new host a moment later.
	const { id } = await eventually(() => submit(stage, order).catch(() => null));
	await eventually(async () => {
		const { rows } = await stage.customer.listClaims({ query: { job: id, limit: 10 } });
		return rows.some(({ state }) => state !== "stored");
	});
	return id;
}

/** From the address to a page that answers: its title is there, and a task of its own has run after that. */
async function firstViews(browser: Browser, stage: Stage, job: string): Promise<void> {
	for (const path of ["/", "/jobs", "/jobs/new", `/jobs/${job}`, "/market", "/disputes", "/programs"]) {
		const times: number[] = [];
		for (let i = 0; i < 5; i++) {
			const page = await browser.open(stage.validator.url + path);
			times.push(
				await page.evaluate(async () => {
					while (document.querySelector("h1") === null) await new Promise(requestAnimationFrame);
					await new Promise((done) => setTimeout(done));
					return performance.now();
				}),
			);
			await page.close();
		}
		put(`first view of ${path.replace(job, "JOB")}, interactive`, times);
	}
}

/** As beats write them, and told as they are. */
async function streamEvents(stage: Stage, job: string, seconds: number): Promise<number> {
	const { jobs } = stage.validator.store;
	let now = (await jobs.get(job))!;
	const began = performance.now();
	let sent = 0;
	for (; performance.now() - began < 1000 * seconds; sent++) {
		const value = 3 * Math.exp(-sent / 4000) + 0.1 * Math.sin(sent);
		const events = [
			{ kind: "metrics", part: 0, detail: { metrics: [{ step: STEPS + sent, values: [value] }] } },
			{ kind: "progress", part: 0, detail: { done: sent % SEGMENTS } },
		];
		const { id, version, record } = now;
		const changed = await jobs.change({ id, version, record, atMs: Date.now(), events });
		now = changed === null ? (await jobs.get(job))! : { ...now, ...changed };
		const waitMs = began + ((2 * sent + 2) * 1000) / EVENTS_A_SECOND - performance.now();
		if (waitMs > 0) await new Promise((done) => setTimeout(done, waitMs));
	}
	return 2 * sent;
}

async function liveJob(browser: Browser, stage: Stage, job: string): Promise<void> {
	const seconds = Number(values.seconds);
	await sql(
		stage,
		`INSERT INTO job_events (job, at_ms, kind, part, detail) SELECT $1, $2::bigint + n * 10, 'metrics', 0,
			jsonb_build_object('metrics', jsonb_build_array(jsonb_build_object('step', n, 'values', jsonb_build_array(3 * exp(-n / 4000.0)))))
			FROM generate_series(0, ${STEPS - 1}) n`,
		[job, Date.now() - 100_000],
	);
	const page = await browser.open(`${stage.validator.url}/jobs/${job}`);
	await page
		.getByText(`step ${STEPS.toLocaleString("en-US").replace(",", "\u202f")}`)
		.or(page.getByText(/^step \d/))
		.first()
		.waitFor();
	const session = await browser.context.newCDPSession(page);
	const interactions = await watchInteractions(page);
	const before = await heapBytes(session);
	const streaming = streamEvents(stage, job, seconds);
	const ended = streaming.then(() => true);
	while (!(await Promise.race([ended, new Promise<false>((done) => setTimeout(() => done(false), 700))]))) {
		await page.getByRole("button", { name: /^Against (time|steps)$/ }).click();
		await page.getByLabel(/^Segment, 0 to/).fill(String(Math.floor(Math.random() * SEGMENTS)));
		await page.getByLabel(/^Segment, 0 to/).press("ArrowUp");
	}
	const events = await streaming;
	const after = await heapBytes(session);
	const { toPaint, handled } = await interactions();
	put("a live job, click or key to next paint", toPaint);
	put("a live job, click or key until it is handled", handled);
	const slow = toPaint.filter((ms) => ms >= 100).length;
	console.log(`of ${toPaint.length} events ${slow} took 100 ms or more`);
	figures["a live job, events of 100 ms or more"] = slow;
	const [mb, later] = [before / 1e6, after / 1e6];
	const at30 = later + ((later - mb) * (1800 - seconds)) / seconds;
	figures["a live job, JavaScript heap"] = {
		...{ atFirstMB: Number(mb.toFixed(1)), afterMB: Number(later.toFixed(1)), seconds },
		...{
			events,
			eventsPerS: Math.round(events / seconds),
			carriedOnTo30MinutesMB: Number(Math.max(later, at30).toFixed(1)),
		},
	};
	console.log("a live job, JavaScript heap", figures["a live job, JavaScript heap"]);
	await page.close();
}

/** samples/gpt-mini.json, three steps of it: each of its segments is a step of training. */
async function replay(browser: Browser, stage: Stage): Promise<void> {
	const json = { ...JSON.parse(readFileSync("samples/gpt-mini.json", "utf8")), steps: 3 };
	const workload = await buildWorkload(readJob(json), (name) => readFileSync(`samples/${name}`));
	const job = await claimed(stage, { method: { name: "optimistic", count: 0 }, workload, salt: "5b".repeat(32) });
	const page = await browser.open(`${stage.validator.url}/jobs/${job}`);
	const pressed: number[] = [];
	const segments: number[] = [];
	for (let n = 0; n < 3; n++) {
		await page.getByLabel(/^Segment, 0 to/).fill("3");
		const began = performance.now();
		await page.getByRole("button", { name: "Check it here" }).click();
		await page.locator("[data-check=equal]").getByText("Segment 3 (one step)").waitFor();
		pressed.push(performance.now() - began);
		const rows = page.getByRole("region", { name: "Segments run here" }).locator("tbody tr");
		// The first one sets the weights; the others are steps.
		const took = await rows.locator("td:last-child").allTextContents();
		segments.push(...took.slice(1).map((text) => Number.parseFloat(text) * (text.endsWith(" ms") ? 1 : 1000)));
		await page.reload();
	}
	put("a segment of samples/gpt-mini.json, run in the page", segments);
	put("its button to three segments found equal, inputs fetched", pressed);
	await page.close();
}

async function jobList(browser: Browser, stage: Stage, job: string): Promise<void> {
	await sql(
		stage,
		`INSERT INTO jobs (id, customer, title, kind, spec, offer, record, version, is_over, created_at_ms, ended_at_ms)
			SELECT lpad(to_hex(n), 64, '0'), customer, 'copy ' || n, kind, spec, offer, record, version, is_over, created_at_ms - n, ended_at_ms
			FROM (SELECT * FROM jobs WHERE id = $1) j, generate_series(1, ${Number(values.jobs)}) n`,
		[job],
	);
	await sql(stage, "ANALYZE");
	const page = await browser.open(`${stage.validator.url}/jobs`);
	await page
		.getByRole("link", { name: /^copy / })
		.first()
		.waitFor();
	const interactions = await watchInteractions(page);
	const whole: number[] = [];
	for (const text of ["copy 77", "copy 1", "copy 999"]) {
		const began = performance.now();
		await page.getByLabel("Search").fill("");
		await page.getByLabel("Search").pressSequentially(text, { delay: 30 });
		await page
			.getByRole("link", { name: new RegExp(`^${text}`) })
			.first()
			.waitFor();
		whole.push(performance.now() - began);
	}
	put(`a list of ${values.jobs} jobs, each key to next paint`, (await interactions()).toPaint);
	put("its search with the typing, rows there", whole);
	await page.getByLabel("Search").fill("");
	await page
		.getByRole("link", { name: /^copy / })
		.first()
		.waitFor();
	put("its scrolling 900 px a frame, between frames", await scrollFrames(page, ".table-box", 900, 200));
	console.log(`rows in the document: ${await page.locator(".table-box tbody tr").count()}`);
	await page.close();
}

await ensureBuilt();
const engine = { command: (await findEngine(hostPlatform())).path, args: [] };
const params = { jobWindowMs: 7_200_000, jobBeatMisses: 100, jobLeastWorkMs: 3_600_000 };
const stage = await openStage({ hasChain: false, params, settings: { engine } });
const browser = await startBrowser({ keepsFiles: true });
try {
	// A sign of life with each segment, as toys give it, would be a thousand transactions one after the other.
	for (const n of [1, 2]) await stage.worker(n, { beatEvery: 50 });
	await browser.context.addInitScript((seed) => localStorage.setItem("customer-key", seed), CUSTOMER_SEED);
	const order = { method: { name: "optimistic", count: 0 }, sample: mlpSample(), segments: SEGMENTS - 1 } as const;
	const needsJob = ["views", "live", "list"].some((one) => only.has(one));
	const job = needsJob ? await claimed(stage, order) : "";
	if (only.has("views")) await firstViews(browser, stage, job);
	if (only.has("live")) await liveJob(browser, stage, job);
	if (only.has("replay")) await replay(browser, stage);
	if (only.has("list")) await jobList(browser, stage, job);
} finally {
	await browser.close();
	await stage.close();
}
writeWebResult("web-jobs", "pages of jobs in Chromium", { figures });
