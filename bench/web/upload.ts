// A large upload from the form of a real Chromium to a real validator, over three reloads and a network that
// is cut: does it go on by itself, and is anything sent again that had arrived? And a file that cannot be
// right: is it named before a byte is sent?
//   bash scripts/node.sh bench/web/upload.ts [--mib 1024] [--reloads 3] [--away 15]
// Exit code 1 when a piece was taken twice or one is missing. Results: bench/results/web-upload-….json.
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import { ensureBuilt } from "../../scripts/build-web.ts";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { pieceCount } from "../../src/protocol/hash/blob-tree.ts";
import { openStage } from "../../tests/jobs/job-stage.test-kit.ts";
import { startBrowser } from "../../tests/web/browser.test-kit.ts";
import { heapBytes } from "./browser-times.ts";
import { type CountingProxy, startCountingProxy } from "./counting-proxy.ts";
import { writeWebResult } from "./web-result.ts";

const { values } = parseArgs({
	options: {
		mib: { type: "string", default: "1024" },
		reloads: { type: "string", default: "3" },
		away: { type: "string", default: "15" },
	},
});
/** Of the job's largest blob: each byte of a text is a token of 16 bits. */
const BYTES = Number(values.mib) * 2 ** 20;
const RELOADS = Number(values.reloads);
const HOUR_MS = 3_600_000;
const seconds = (fromMs: number) => Number(((performance.now() - fromMs) / 1000).toFixed(1));

async function makeText(path: string, size: number): Promise<void> {
	const file = await open(path, "w");
	// No two MiB are the same.
	const block = Buffer.alloc(1 << 20, randomBytes(3 << 18).toString("base64"));
	for (let at = 0; at < size; at += block.length) {
		block.write(String(at).padStart(16, "0"));
		await file.write(block, 0, Math.min(block.length, size - at));
	}
	await file.close();
}

const priceButton = (page: Page) => page.getByRole("button", { name: /^Upload .*and get the price$/ });

/** Until so many pieces are there. */
async function until(proxy: CountingProxy, pieces: number): Promise<void> {
	const began = performance.now();
	while (proxy.taken.size < pieces) {
		if (performance.now() - began > HOUR_MS) throw new Error(`${proxy.taken.size} of ${pieces} pieces after an hour`);
		await new Promise((done) => setTimeout(done, 100));
	}
}

/** Chooses the text in the form and waits until the job is built of it. */
async function choose(page: Page, path: string) {
	await page.getByRole("radio", { name: /^Train/ }).check();
	// The form of the workload before is still there until the sample has come. The driver copies large files
	// before it hands them over, which is not the page's time.
	const input = page.locator(".slot", { hasText: "Training text" }).locator("input[type=file]");
	await page.locator("[data-built]:not([aria-busy=true])").waitFor();
	await page.evaluate(() => {
		addEventListener("change", () => performance.mark("chosen"), { capture: true });
		new MutationObserver(() => {
			if (document.querySelector("progress") && performance.getEntriesByName("told").length === 0)
				performance.mark("told");
		}).observe(document.body, { childList: true, subtree: true });
	});
	await input.setInputFiles([path]);
	await page.getByText(formatBytes(BYTES)).first().waitFor();
	await page.locator("[data-built]:not([aria-busy=true])").waitFor();
	const [chosen, told, now] = await page.evaluate(() => [
		performance.getEntriesByName("chosen").at(-1)!.startTime,
		performance.getEntriesByName("told")[0]?.startTime ?? null,
		performance.now(),
	]);
	const since = (at: number | null | undefined) => (at == null ? null : Number(((at - chosen!) / 1000).toFixed(2)));
	return { progressShownAfterS: since(told), builtAfterS: since(now) };
}

/** A model whose tensors belong to another: named in how many seconds, and how much was sent by then. */
async function wrongFile(page: Page, proxy: CountingProxy) {
	await page.getByRole("radio", { name: /^Generate text/ }).check();
	const began = performance.now();
	const files = ["samples/tiny-llama/config.json", "samples/tiny-bert/model.safetensors"];
	await page.locator(".slot input[type=file]").setInputFiles(files);
	await page.getByText("MODEL_TENSOR_MISSING").first().waitFor();
	return { code: "MODEL_TENSOR_MISSING", namedAfterS: seconds(began), bytesSentBefore: proxy.sentBytes() };
}

/** Of processes that show pages and that this one started, now and then. */
function watchMemory(): { stop(): number } {
	let mostMiB = 0;
	const look = () => {
		const of = new Map<number, { readonly parent: number; readonly isPage: boolean; readonly MiB: number }>();
		for (const pid of readdirSync("/proc")
			.filter((name) => /^\d+$/.test(name))
			.map(Number))
			try {
				const status = readFileSync(`/proc/${pid}/status`, "utf8");
				const number = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
				const isPage = readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("--type=renderer");
				of.set(pid, { parent: number("PPid"), isPage, MiB: number("VmRSS") / 1024 });
			} catch {
				// It has ended.
			}
		const isOurs = (pid: number): boolean => pid === process.pid || (of.has(pid) && isOurs(of.get(pid)!.parent));
		const pages = [...of].filter(([pid, { isPage }]) => isPage && isOurs(pid));
		mostMiB = Math.max(mostMiB, Math.round(pages.reduce((sum, [, { MiB }]) => sum + MiB, 0)));
	};
	const timer = setInterval(look, 1000);
	return {
		stop() {
			clearInterval(timer);
			return mostMiB;
		},
	};
}

async function upload(page: Page, proxy: CountingProxy, text: string) {
	const memory = watchMemory();
	const built = await choose(page, text);
	console.log("chosen", built);
	const pieces = pieceCount(BYTES);
	const began = performance.now();
	await priceButton(page).click();
	for (let n = 1; n <= RELOADS; n++) {
		await until(proxy, Math.floor((n * pieces) / (RELOADS + 2)));
		await page.getByText("You may close or reload this page").waitFor();
		await page.reload();
		// It goes on by itself: nobody presses anything.
		await page.getByText("Uploading …").waitFor();
		console.log(`reload ${n}: ${proxy.taken.size} pieces were there, going on after ${seconds(began)} s`);
	}
	await until(proxy, Math.floor(((RELOADS + 1) * pieces) / (RELOADS + 2)));
	await proxy.away(1000 * Number(values.away));
	await until(proxy, pieces);
	await page.getByText("Uploading …").waitFor({ state: "detached" });
	const tookS = seconds(began);
	const mostMiB = memory.stop();
	const heap = await heapBytes(await page.context().newCDPSession(page));
	const twice = [...proxy.taken.values()].filter((times) => times > 1).length;
	const sent = proxy.sentBytes();
	return {
		...{ bytes: BYTES, pieces, piecesOfAllBlobsTaken: proxy.taken.size, piecesTakenTwice: twice, reloads: RELOADS },
		...{ awayS: Number(values.away), ...built, uploadS: tookS, MBPerS: Number((sent / 1e6 / tookS).toFixed(1)) },
		// Of all blobs of the job, pieces that were cut on the way included.
		bytesSent: sent,
		// All of the browser's processes for pages, and the page's own objects at the end; bytes of files and
		// tensors are in the first only.
		...{ pageProcessesMostMiB: mostMiB, pageHeapMiB: Number((heap / 2 ** 20).toFixed(1)) },
	};
}

await ensureBuilt();
const folder = mkdtempSync(join(tmpdir(), "assay-upload-"));
const text = join(folder, "own.txt");
await makeText(text, BYTES / 2);
const stage = await openStage({ hasChain: false });
const proxy = await startCountingProxy(stage.validator.url);
const browser = await startBrowser({ keepsFiles: true });
let figures: Awaited<ReturnType<typeof upload>>;
let wrong: Awaited<ReturnType<typeof wrongFile>>;
try {
	for (const n of [1, 2]) await stage.worker(n);
	await browser.context.addInitScript((seed) => localStorage.setItem("customer-key", seed), "77".repeat(32));
	const page = await browser.open(`${proxy.url}/jobs/new`);
	page.setDefaultTimeout(HOUR_MS);
	wrong = await wrongFile(page, proxy);
	console.log("a wrong model", wrong);
	figures = await upload(page, proxy, text);
	console.log("an upload", figures);
} finally {
	await browser.close();
	await proxy.close();
	await stage.close();
	rmSync(folder, { recursive: true });
}
writeWebResult("web-upload", "an upload from Chromium", { upload: figures, wrongFile: wrong });
if (figures.piecesTakenTwice > 0 || figures.piecesOfAllBlobsTaken < figures.pieces) process.exitCode = 1;
