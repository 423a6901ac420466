// For the dashboard's tests: one real Chromium on a real validator. Every page is watched: an exception, a refused policy or a word on the console
// that is an error makes the test fail, whatever else it looked for.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";

const PROGRAMS = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const FLAGS = [
	"--no-sandbox",
	"--disable-gpu",
	"--disable-quic",
	"--no-first-run",
	"--disable-background-networking",
	"--disable-component-update",
	"--disable-sync",
];

export interface Browser {
	readonly context: BrowserContext;
	/** A page that is watched; `allow` names what may go wrong on the console in this test. */
	open(url: string, allow?: RegExp): Promise<Page>;
	/** Throws what any page did wrong so far, and forgets it. */
	check(): void;
	close(): Promise<void>;
}

export async function startBrowser(
	options: { readonly width?: number; readonly height?: number } = {},
): Promise<Browser> {
	const program = PROGRAMS.find((one) => one !== undefined && existsSync(one));
	assert.ok(program, "no Chromium here; on Debian or Ubuntu: apt-get install chromium (or set CHROMIUM)");
	const profile = mkdtempSync(join(tmpdir(), "assay-browser-"));
	const context = await chromium.launchPersistentContext(profile, {
		executablePath: program,
		headless: true,
		args: FLAGS,
		viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
		reducedMotion: "reduce",
		acceptDownloads: true,
	});
	const wrong: string[] = [];
	return {
		context,
		async open(url, allow) {
			const page = await context.newPage();
			page.setDefaultTimeout(20_000);
			page.on("pageerror", (error) => wrong.push(`exception: ${error.message}`));
			page.on("console", (message) => {
				if (message.type() === "error" && !allow?.test(message.text())) wrong.push(`console: ${message.text()}`);
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
			assert.deepEqual(wrong.splice(0), []);
		},
		async close() {
			await context.close();
			await rm(profile, { recursive: true, force: true });
		},
	};
}
