// For the dashboard's tests: one real Chromium on a real validator. Every page is watched: an exception, a
// refused policy or a word on the console that is an error makes the test fail, whatever else it looked for.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BrowserContext, chromium, type Page } from "playwright-core";

const PROGRAMS = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/** Only ends what hangs: a busy machine may need a while for any of it. */
const PATIENCE_MS = 900_000;
const FLAGS = [
	"--no-sandbox",
	"--disable-gpu",
	// One process for all pages: each new one would load and compile everything again.
	"--renderer-process-limit=1",
	"--disable-site-isolation-trials",
	"--disable-quic",
	"--no-first-run",
	"--disable-background-networking",
	"--disable-component-update",
	"--disable-sync",
];

/**
 * For a validator that is looked at: it looks for work as seldom as a real one does, where nobody waits for
 * it.
 */
export const CALM = { dispatchEveryMs: 300, recoverEveryMs: 30_000 } as const;

export interface Browser {
	readonly context: BrowserContext;
	/** A page that is watched. */
	open(url: string): Promise<Page>;
	/** Lets what a page reads say something else. Whoever is done with it calls unrouteAll. */
	answer(page: Page, path: string | RegExp, change: (json: never) => unknown): Promise<unknown>;
	/** What may be said on the console until the next check, before or after this call. */
	allow(said: RegExp): void;
	closePages(): Promise<void>;
	/** Throws what any page did wrong so far, and forgets it. */
	check(): void;
	close(): Promise<void>;
}

export async function startBrowser(
	options: {
		readonly width?: number;
		readonly height?: number;
		/**
		 * With the worker that keeps the dashboard's files for use without a network: it makes every load dearer
		 * by a quarter.
		 */
		readonly keepsFiles?: boolean;
	} = {},
): Promise<Browser> {
	const program = PROGRAMS.find((one) => one !== undefined && existsSync(one));
	assert.ok(program, "no Chromium here; on Debian or Ubuntu: apt-get install chromium (or set CHROMIUM)");
	const profile = mkdtempSync(join(tmpdir(), "assay-browser-"));
	const context = await chromium.launchPersistentContext(profile, {
		executablePath: program,
		headless: true,
		args: FLAGS,
		timeout: PATIENCE_MS,
		viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
		reducedMotion: "reduce",
		serviceWorkers: options.keepsFiles ? "allow" : "block",
		acceptDownloads: true,
	});
	context.setDefaultTimeout(PATIENCE_MS);
	let wrong: string[] = [];
	let allowed: RegExp[] = [];
	return {
		context,
		allow(said) {
			allowed.push(said);
		},
		answer: (page, path, change) =>
			page.route(path, async (route) => {
				try {
					const response = await route.fetch();
					const isJson = response.headers()["content-type"]?.includes("json");
					await route.fulfill(isJson ? { response, json: change((await response.json()) as never) } : { response });
				} catch (error) {
					// Thrown from here it would belong to no test. A page that has gone asks no longer.
					if (!page.isClosed()) wrong.push(`answer to ${route.request().url()}: ${error}`);
				}
			}),
		async closePages() {
			// The first one keeps the browser open.
			for (const page of context.pages().slice(1)) await page.close();
		},
		async open(url) {
			const page = await context.newPage();
			page.on("pageerror", (error) => wrong.push(`exception: ${error.message}`));
			page.on("console", (message) => {
				if (message.type() === "error") wrong.push(`console: ${message.text()}`);
			});
			page.on("request", (request) => {
				const to = new URL(request.url());
				if (to.origin !== new URL(url).origin && !["data:", "blob:"].includes(to.protocol))
					wrong.push(`asked elsewhere: ${request.url()}`);
			});
			// The policy's own report, besides the console's.
			await page.addInitScript(() => {
				addEventListener("securitypolicyviolation", (event) =>
					console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
				);
			});
			await page.goto(url);
			return page;
		},
		check() {
			const left = wrong.filter((text) => !allowed.some((said) => said.test(text)));
			wrong = [];
			allowed = [];
			assert.deepEqual(left, []);
		},
		async close() {
			await context.close();
			// What it started may write for a moment longer.
			await rm(profile, { recursive: true, force: true, maxRetries: 10 });
		},
	};
}

/**
 * To another page of the dashboard by a link in it: costs a fifth of a load, and what was put into the
 * document stays there. Whoever changes only the query loads it: lists keep their old rows until the new ones
 * come.
 */
export async function followLink(page: Page, path: string): Promise<void> {
	await page.evaluate(async (href) => {
		const link = document.createElement("a");
		link.href = href;
		if (link.pathname === location.pathname) throw new Error(`${href} is the page that is open`);
		document.body.append(link);
		link.click();
		link.remove();
		// The old page goes before anything else happens.
		await new Promise((done) => setTimeout(done));
	}, path);
}

const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

interface AxeResult {
	readonly violations: readonly {
		readonly id: string;
		readonly impact: string | null;
		readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
	}[];
}

/** What axe calls serious or critical on the page as it is now, contrast included. */
export async function seriousFindings(page: Page): Promise<string[]> {
	if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
	const { violations } = await page.evaluate(() => {
		const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<AxeResult> } };
		return axe.run({ resultTypes: ["violations"], selectors: false });
	});
	return violations
		.filter(({ impact }) => impact === "serious" || impact === "critical")
		.flatMap(({ id, nodes }) =>
			nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary?.slice(0, 200)}`),
		);
}
