// Pictures of the dashboard: a real validator with its embedded chain and the sample network of
// tests/web/sample-network.test-kit.ts, in a real Chromium.
//   node scripts/screenshots.ts                those of README and docs, into docs/images
//   node scripts/screenshots.ts --jobs         of those, the jobs alone
//   node scripts/screenshots.ts --all FOLDER   every page at 1280 and 390 px, light and dark
//   node scripts/screenshots.ts --work FOLDER  of those, a job and a dispute
import { mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { makeDataDir, startToyValidator } from "../tests/validator/toy-agent.test-kit.ts";
import { type Browser, startBrowser } from "../tests/web/browser.test-kit.ts";
import { handIn, openJobNetwork, signIn } from "../tests/web/job-network.test-kit.ts";
import { openLyingStage } from "../tests/web/lying-stage.test-kit.ts";
import { fillNetwork, type SampleNetwork } from "../tests/web/sample-network.test-kit.ts";
import { ensureBuilt } from "./build-web.ts";
import { shootDispute } from "./dispute-screenshots.ts";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const SIZES = [
	{ width: 1280, height: 800 },
	{ width: 390, height: 844 },
] as const;
/** Of a picture of a whole page: lists go on for long. */
const MOST_PX = 3000;

const pathsOf = (ids: SampleNetwork): Readonly<Record<string, string>> => ({
	overview: "/",
	rent: "/rent",
	reserve: `/rent?provider=${ids.provider}`,
	providers: "/providers",
	provider: `/providers/${ids.provider}`,
	"provider-eight": `/providers/${ids.eight}`,
	"provider-failed": `/providers/${ids.cheat}`,
	compare: `/compare?a=${ids.provider}&b=${ids.other}`,
	"compare-inconclusive": `/compare?a=${ids.provider}&b=${ids.silent}`,
	probes: "/probes",
	probe: `/probes/${ids.probe}`,
	"probe-invalid": `/probes/${ids.invalidProbe}`,
	verify: "/verify",
	"verify-shared": `/verify?probe=${ids.probe}`,
	jobs: "/jobs",
	"new-job": "/jobs/new",
	disputes: "/disputes",
	market: "/market",
	programs: "/programs",
	program: "/programs?sample=mlp-adamw",
	"programs-two": "/programs?sample=mlp-adamw&sample=gpt-mini",
	"roll-calls": "/roll-calls",
	"roll-call": `/roll-calls/${ids.rollCall}`,
	epochs: "/epochs",
	epoch: "/epochs/0",
	nowhere: "/epochs/none",
});

async function settled(page: Page): Promise<void> {
	await page.locator("h1").waitFor();
	await page.locator(".loading, .verify[data-status=running]").first().waitFor({ state: "detached" });
}

async function shootPages(
	browser: Browser,
	url: string,
	paths: Readonly<Record<string, string>>,
	out: string,
): Promise<void> {
	const page = await browser.open(`${url}/`);
	for (const theme of ["light", "dark"] as const) {
		await page.evaluate((name) => localStorage.setItem("theme", name), theme);
		for (const size of SIZES) {
			await page.setViewportSize(size);
			for (const [name, path] of Object.entries(paths)) {
				await page.goto(url + path);
				await settled(page);
				const height = await page.evaluate(() => document.documentElement.scrollHeight);
				const clip = { x: 0, y: 0, width: size.width, height: Math.min(height, MOST_PX) };
				await page.screenshot({ path: join(out, `${name}-${size.width}-${theme}.png`), fullPage: true, clip });
			}
		}
	}
}

async function shootReadme(browser: Browser, url: string, ids: SampleNetwork, out: string): Promise<void> {
	const shoot = async (name: string) => {
		await settled(page);
		await page.screenshot({ path: join(out, `${name}.png`) });
	};
	const page = await browser.open(`${url}/`);
	await page.goto(`${url}/providers/${ids.provider}`);
	await page.getByText("Claimed and proven").waitFor();
	await shoot("provider");
	await page.goto(`${url}/programs?sample=mlp-adamw`);
	await page.locator("[data-op='step 13'] summary").click();
	await page.getByRole("heading", { name: "Operators" }).evaluate((one) => one.scrollIntoView());
	await page.evaluate(() => scrollBy(0, -70));
	await shoot("program");
	await page.getByRole("button", { name: "Use the dark theme" }).click();
	await page.goto(`${url}/verify?probe=${ids.probe}`);
	await page.locator(".verify[data-status=valid]").waitFor();
	await shoot("verify-dark");
	await page.goto(`${url}/`);
	await page.getByRole("heading", { name: "GPUs by model" }).waitFor();
	await shoot("overview-dark");
}

/**
 * A picture while it grows, and a training run that was paid, by providers that run the real engine here.
 * Minutes.
 */
async function shootJobs(out: string): Promise<void> {
	const network = await openJobNetwork();
	try {
		await Promise.all([network.provider(1), network.provider(2)]);
		await signIn(network);
		const page = await network.browser.open(`${network.url}/jobs/new`);
		const size = { "Width pixels": "128", "Height pixels": "128", "Passes paths a pixel": "64" };
		await handIn(page, { card: "Render", method: "Run twice", fields: size });
		await page.getByRole("img", { name: /pass by pass, \d+ of (1\d|[2-9]\d)$/ }).waitFor({ timeout: JOB_MS });
		await page.setViewportSize({ width: 1280, height: 1120 });
		await page.screenshot({ path: join(out, "job-picture.png") });
		await page.locator("[data-story=paid]").waitFor({ timeout: JOB_MS });
		await page.goto(`${network.url}/jobs/new`);
		await handIn(page, { card: "Train", method: "Run twice" });
		await page.locator("[data-story=paid]").waitFor({ timeout: JOB_MS });
		await page.setViewportSize({ width: 1280, height: 1000 });
		await page.screenshot({ path: join(out, "job.png") });
	} finally {
		await network.close();
	}
}
const JOB_MS = 600_000;

/**
 * A job that was paid, with its result open; and a dispute that was decided, with the liar's part of the
 * market.
 */
async function shootWork(out: string): Promise<void> {
	const network = await openJobNetwork();
	try {
		await Promise.all([network.provider(1), network.provider(2)]);
		await signIn(network);
		const page = await network.browser.open(`${network.url}/jobs/new`);
		const id = await handIn(page, { card: "Generate text", method: "Run twice", fields: {} });
		await page.locator("[data-story=paid]").waitFor({ timeout: JOB_MS });
		const paths = { job: `/jobs/${id}`, "jobs-own": "/jobs", "new-job-own": "/jobs/new" };
		await shootPages(network.browser, network.url, paths, out);
	} finally {
		await network.close();
	}
	const browser = await startBrowser(SIZES[0]);
	const lying = await openLyingStage({ segment: 4, step: 1, op: 0, element: 3 });
	try {
		const { job, claim } = await lying.claimOf({ method: { name: "optimistic", count: 0 } });
		await lying.watch();
		const { url } = lying.stage.validator;
		const paths = { dispute: `/disputes/${claim}`, "job-public": `/jobs/${job}`, "disputes-some": "/disputes" };
		await shootPages(browser, url, { ...paths, "market-some": "/market", liar: `/providers/${lying.liar}` }, out);
	} finally {
		await browser.close();
		await lying.close();
	}
}

async function main([option, folder]: readonly string[]): Promise<void> {
	const isPages = option === "--all" || option === "--work";
	const out = isPages ? resolve(folder ?? "screenshots") : join(root, "docs/images");
	await ensureBuilt();
	mkdirSync(out, { recursive: true });
	if (option === "--jobs") return shootJobs(out);
	if (option === "--work") return shootWork(out);
	const data = makeDataDir();
	// Nobody is dialled before the next proof is due, or called: the sample hosts are nowhere.
	const validator = await startToyValidator({
		...{ dataDir: data.path, name: "validator", dispatchEveryMs: 60_000 },
		...{ chain: { epochSeconds: 3600 }, rollCalls: { isOn: false } },
	});
	const browser = await startBrowser(SIZES[0]);
	try {
		const ids = await fillNetwork(validator);
		if (option === "--all") await shootPages(browser, validator.url, pathsOf(ids), out);
		else {
			await shootReadme(browser, validator.url, ids, out);
			await shootDispute(browser, out);
		}
	} finally {
		await browser.close();
		await validator.stop();
		await data.remove();
	}
	await (option === "--all" ? shootWork : shootJobs)(out);
}

if (import.meta.main) await main(process.argv.slice(2));
