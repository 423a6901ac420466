// Jobs in a real browser, before a real validator with its database, engine and embedded chain: made on the
// form, by keyboard alone too, watched until they are paid, their results opened, with why they are right;
// uploads that are cut; models that do not fit; and strangers' words in every place. The other workloads are
// in the deep tier; how a lie is seen is in dispute-pages.test.ts.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import type { ElementHandle, Page } from "playwright-core";
import { ensureBuilt } from "../../scripts/build-web.ts";
import { createApiClient } from "../../src/api/create-client.ts";
import { read } from "../../src/chain/contracts/contracts.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { takeResult } from "../../src/cli/jobs/take-result.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import type { JobOffer } from "../../src/protocol/network/job-offer.ts";
import { createSigner } from "../../src/protocol/probe/signer.ts";
import { serverFolder } from "../../src/store/open-store.ts";
import { ensureEmbeddedServer } from "../../src/store/postgres/embedded-server.ts";
import { jobModel } from "../../src/work/imports/open-model.ts";
import { weightsReport } from "../../src/work/imports/weights-report.ts";
import { buildWorkload } from "../../src/work/workloads/build-workload.ts";
import { readJob } from "../../src/work/workloads/read-job.ts";
import { jobOver, PAYER, submit } from "../jobs/job-stage.test-kit.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { followLink, seriousFindings } from "./browser.test-kit.ts";
import { askPrice, type JobNetwork, openJobNetwork, signIn, watchToPaid } from "./job-network.test-kit.ts";
import { layoutFaults, settledFaults } from "./layout.test-kit.ts";

/** Of job-stage's customer. */
const CUSTOMER_SEED = "5a".repeat(32);
let network: JobNetwork;
before(async () => {
	await ensureBuilt();
	network = await openJobNetwork();
	await Promise.all([network.provider(1), network.provider(2)]);
	await signIn(network);
});
after(() => network?.close());
afterEach(async () => {
	await network.browser.closePages();
	network.browser.check();
});

const sampleOf = (path: string) => fileURLToPath(import.meta.resolve(`../../samples/${path}`));
const newJob = () => network.browser.open(`${network.url}/jobs/new`);
const priceButton = (page: Page) => page.getByRole("button", { name: /^Upload .*and get the price$/ });
const idOf = (page: Page) => /[0-9a-f]{64}$/.exec(new URL(page.url()).pathname)![0];

/** Presses Tab until something with such a name has the focus. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
	const seen: string[] = [];
	for (let i = 0; i < 80; i++) {
		await page.keyboard.press("Tab");
		const focused = await page.evaluate(() => {
			const { activeElement: at } = document;
			const label = (at as HTMLInputElement | null)?.labels?.[0]?.textContent ?? at?.textContent ?? "";
			return (at as HTMLButtonElement | null)?.disabled ? "" : label;
		});
		if (name.test(focused)) return;
		seen.push(focused.slice(0, 40));
	}
	assert.fail(`nothing called ${name} by Tab: ${seen.join(" | ")}`);
}

test("training, by keyboard alone: from the form to the result, with the curve on the way", async () => {
	const page = await newJob();
	await page.locator("h1").focus();
	await tabTo(page, /^Fine-tune with LoRA/);
	await page.keyboard.press("ArrowRight");
	await page.getByLabel("Start from").waitFor();
	await tabTo(page, /^Start from/);
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowDown");
	await page.waitForFunction(() => [...document.querySelectorAll("input")].some(({ value }) => value === "mlp-adamw"));
	await tabTo(page, /^Steps/);
	await page.keyboard.press("Control+a");
	await page.keyboard.type("16");
	await tabTo(page, /^Spot checks/);
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowDown");
	await page.getByText(/, of 16 program steps together, and one that makes the first state$/).waitFor();
	// By the parameters of this network, not by those that a network has by itself.
	const choice = (key: string) => page.locator("label.choice", { hasText: key });
	await choice("redundant:2").getByText("paid 1 s after the check").waitFor();
	await choice("optimistic").getByText("anyone can prove a lie for 10 min").waitFor();
	await priceButton(page).waitFor();
	await tabTo(page, /and get the price$/);
	await page.keyboard.press("Enter");
	// The focus is on the only thing to decide.
	await page.getByRole("button", { name: /^Hand in for at most .* ASSAY$/ }).waitFor();
	await page.keyboard.press("Enter");
	await page.waitForURL(/\/jobs\/[0-9a-f]{64}$/);
	await watchToPaid(page);
	const job = await network.stage.validator.store.jobs.get(idOf(page));
	assert.deepEqual(
		[job?.title, job?.kind, job?.record.terms.method],
		["mlp-adamw", "train", { name: "redundant", count: 2 }],
	);
	await page
		.getByText(/^step 16: /)
		.first()
		.waitFor();
	await page.getByRole("row", { name: /weights\.safetensors/ }).waitFor();
	const saved = page.waitForEvent("download");
	await page.getByRole("link", { name: "Save weights.safetensors" }).click();
	assert.ok(readFileSync(await (await saved).path()).length > 1000);
	assert.deepEqual(await seriousFindings(page), []);
	await page.getByRole("link", { name: "Its program" }).click();
	await page.getByRole("list", { name: "Operators" }).locator("[data-op='step 0']").waitFor();
	await page.locator(".tile code").getByText(job!.record.terms.program.slice(0, 8)).waitFor();
});

test("signed by the hardware: who would be drawn, for how much, and that it is simulated here, within its own lines", async () => {
	const page = await newJob();
	await askPrice(page, { card: "Simulate", method: "Signed by the hardware" });
	const choice = page.locator("label.choice", { hasText: "Signed by the hardware" });
	await choice.getByText("Only hosts in a confidential guest that the validator allows").waitFor();
	await page.getByText("a guest that was broken into and skips a tenth").waitFor();
	// Beside the choice and beside the price, each no wider than what it stands in.
	const told = page.getByText("Simulated here: these hosts sign under roots that anybody can sign under");
	assert.equal(await told.count(), 2);
	for (const one of await told.all())
		assert.ok(
			await one.evaluate(
				(at) => at.getBoundingClientRect().right <= at.parentElement!.parentElement!.getBoundingClientRect().right,
			),
		);
	assert.deepEqual(await seriousFindings(page), []);
	// An offer that is not taken stays with the form.
	await page.getByRole("button", { name: "Change the job" }).click();
	await priceButton(page).waitFor();
	assert.equal((await keptIds(page)).includes("draft"), false);
	// Pressed before the browser has drawn what was typed: what was built before is not sent.
	const frames = (await page.getByLabel("Frames").elementHandle()) as ElementHandle<HTMLInputElement>;
	await (await priceButton(page).elementHandle())!.evaluate(async (button: HTMLButtonElement, field) => {
		field.value = "4";
		field.dispatchEvent(new InputEvent("input", { bubbles: true }));
		await new Promise((done) => setTimeout(done));
		button.click();
	}, frames);
	await page.locator("[data-built]:not([aria-busy=true])").waitFor();
	await priceButton(page).click();
	await page.getByRole("button", { name: /^Hand in for at most/ }).waitFor();
	await page.getByRole("button", { name: "Change the job" }).click();
	await priceButton(page).waitFor();
});

test("a price for an hour of work goes into the job file, is asked for, and an offer above it is refused", async () => {
	const page = await newJob();
	const price = page.getByLabel(/^Price of an hour of work/);
	const wish = { card: "Simulate", method: "Run twice", fields: { Frames: "2" } };
	await page.getByRole("radio", { name: /^Simulate/ }).check();
	await price.fill("2.5");
	await page.getByText("A part is paid as 60 s at least").waitFor();
	await page.getByText("The whole job file").click();
	assert.match(await page.getByLabel("Job file").inputValue(), /"pricePerHour": 2\.5/);
	await askPrice(page, { ...wish, fields: { ...wish.fields, "Price of an hour of work": "2.5" } });
	// A minute of it, which is the least that is paid.
	await page.locator("dt", { hasText: "For the work" }).locator("xpath=following-sibling::dd[1]").waitFor();
	assert.match(await page.locator(".facts", { hasText: "For the work" }).innerText(), /0\.041667\sASSAY/);
	assert.deepEqual(await seriousFindings(page), []);
	await page.getByRole("button", { name: "Change the job" }).click();
	// A validator that takes more than was asked for.
	await network.browser.answer(page, /\/v1\/jobs\/quote$/, (quote: { offer: JobOffer }) => {
		const { terms } = quote.offer;
		return { ...quote, offer: { ...quote.offer, terms: { ...terms, priceMicros: terms.priceMicros + 1 } } };
	});
	await priceButton(page).click();
	await page.getByText(/are what it is worth at 2\.5 tokens an hour, a part being paid as 60 s at least/).waitFor();
	await page.getByText("JOB_PRICE").waitFor();
	await page.unrouteAll();
	await page.getByRole("button", { name: "Change the job" }).click();
	await price.fill("");
	await page.locator("[data-built]:not([aria-busy=true])").waitFor();
	assert.doesNotMatch(await page.getByLabel("Job file").inputValue(), /pricePerHour/);
});

test("without a wallet: the page makes an account, the trial network funds it, and the job is paid", async () => {
	const page = await newJob();
	await page.addInitScript(() => Reflect.deleteProperty(globalThis, "ethereum"));
	await page.reload();
	const others = await keptIds(page);
	const wish = { card: "Simulate", method: "Run twice", fields: { Frames: "2" } };
	await askPrice(page, wish);
	// The answer to the transaction that pays is lost, and not the transaction.
	let sent = 0;
	network.browser.allow(/ERR_FAILED/);
	await page.route("**/v1/chain/trial-transactions", async (route) => {
		sent += 1;
		if (sent === 1) return route.continue();
		await route.fetch();
		await route.abort();
	});
	await page.getByRole("button", { name: /^Hand in for at most/ }).click();
	await page.getByText("CHAIN_UNKNOWN").waitFor();
	const sentBefore = sent;
	const kept = (await keptIds(page)).filter((one) => !others.includes(one));
	assert.match(String(kept), /^[0-9a-f]{64}$/, "it is kept as it was accepted: there may be money in it");
	await page.getByRole("button", { name: /^Hand in for at most/ }).click();
	await page.waitForURL(/\/jobs\/[0-9a-f]{64}$/);
	assert.equal(sent, sentBefore, "nobody pays twice");
	const id = idOf(page);
	await watchToPaid(page);
	const { offer } = (await network.stage.validator.store.jobs.get(id))!;
	const { terms } = (offer as unknown as JobOffer).escrow!;
	const key = await page.evaluate(() => localStorage.getItem("trial-account"));
	assert.equal(terms.customer.toLowerCase(), accountOf(key as `0x${string}`).address.toLowerCase());
	assert.notEqual(terms.customer.toLowerCase(), PAYER.address.toLowerCase());

	// Paid for, and the validator cannot be reached any more: the page gives the money back.
	await page.unroute("**/v1/chain/trial-transactions");
	await page.goto(`${network.url}/jobs/new`);
	await page.route("**/v1/jobs", (route) => (route.request().method() === "POST" ? route.abort() : route.continue()));
	await askPrice(page, wish);
	await page.getByRole("button", { name: /^Hand in for at most/ }).click();
	await page.getByText("API_UNREACHABLE").waitFor();
	const paid = (await keptIds(page)).find((one) => one !== id && !others.includes(one)) as string;
	const { contracts } = network.stage.chain!;
	const endOf = async () => (await read(contracts, "jobEscrow", "jobOf", BigInt(`0x${paid}`))).end;
	assert.equal(await endOf(), 1);
	await page.reload();
	await page.getByRole("button", { name: "Take the money back" }).click();
	await page.getByRole("button", { name: "Take the money back" }).waitFor({ state: "detached" });
	assert.deepEqual([await endOf(), (await keptIds(page)).includes(paid)], [0, false]);
});

/** Jobs that this browser keeps, and a draft whose upload goes on when the page is opened again. */
const keptIds = (page: Page) =>
	page.evaluate(
		() =>
			new Promise<readonly IDBValidKey[]>((resolve) => {
				indexedDB.open("assay-jobs", 1).onsuccess = ({ target }) => {
					const { result } = target as IDBOpenDBRequest;
					result.transaction("jobs").objectStore("jobs").getAllKeys().onsuccess = (read) => {
						result.close();
						resolve((read.target as IDBRequest<IDBValidKey[]>).result);
					};
				};
			}),
	);

/** What the command line makes of the job with the browser's own key. */
async function takenBy(page: Page, id: string) {
	const seed = await page.evaluate(() => localStorage.getItem("customer-key"));
	const api = createApiClient({ baseUrl: network.url, signer: createSigner(hexToBytes(seed!, 32)!) });
	const cwd = mkdtempSync(join(tmpdir(), "assay-taken-"));
	try {
		const { claim, state } = await takeResult(api, await api.getJob({ params: { id } }), { cwd, env: {} }, undefined);
		return { claim, state };
	} finally {
		rmSync(cwd, { recursive: true });
	}
}

test("a picture grows pass by pass; what is opened is what the command line takes", async () => {
	const page = await newJob();
	// The page goes away after the money went into the escrow: the offer is handed in when it is back.
	let isAway = true;
	await page.route("**/v1/jobs", (route) =>
		isAway && route.request().method() === "POST" ? route.abort() : route.continue(),
	);
	network.browser.allow(/ERR_FAILED/);
	const fields = { "Width pixels": "48", "Height pixels": "48", "Passes paths a pixel": "6" };
	await askPrice(page, { card: "Render", method: "Run twice", fields });
	await page.getByRole("button", { name: /^Hand in for at most/ }).click();
	await page.getByText("API_UNREACHABLE").waitFor();
	isAway = false;
	// What is accepted is no draft any more: nobody is asked to pay for it a second time.
	assert.equal((await keptIds(page)).includes("draft"), false);
	await page.reload();
	await page.getByRole("button", { name: "Hand it in" }).click();
	await page.waitForURL(/\/jobs\/[0-9a-f]{64}$/);
	const growing = page.getByRole("img", { name: /^Picture, pass by pass, \d+ of \d+$/ });
	await growing.waitFor();
	// The first one may be black: no light has come yet.
	await page.waitForFunction(() => {
		const canvas = document.querySelector<HTMLCanvasElement>(".player canvas")!;
		const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
		return canvas.width === 48 && canvas.height === 48 && new Set(data).size > 10;
	});
	await page.getByRole("heading", { name: "Curve: light" }).waitFor();
	await watchToPaid(page);
	const shown = await page
		.locator(".result .facts code")
		.evaluateAll((all) => all.map((one) => one.getAttribute("title")));
	const { claim, state } = await takenBy(page, idOf(page));
	assert.deepEqual(shown, [claim, state]);
	// A job of another browser: its file is not here, and the picture is seen all the same.
	await page.evaluate(() => void indexedDB.deleteDatabase("assay-jobs"));
	await page.reload();
	await growing.waitFor();
	await page.getByRole("button", { name: "Open the result" }).click();
	await page.getByText("plain arrays were made").waitFor();
	await page.getByRole("row", { name: /^picture\.png/ }).waitFor();
	assert.deepEqual(await seriousFindings(page), []);
	await hostileFiles(page);
});

/** What strangers computed, had it become markup: a text, a picture that is none, names of files. */
async function hostileFiles(page: Page): Promise<void> {
	await page.addInitScript(() => {
		const evil = `<img src=x onerror="window.hit=1"><svg onload="window.hit=1">${"W".repeat(500)}\u202e<b>`;
		const bytes = new TextEncoder().encode(evil);
		const files = ["txt", "png", "jsonl"].map((end) => ({ name: `${evil}.${end}`, bytes }));
		const result = { files, claim: evil, state: evil, parts: 1, ofParts: 1, isWhole: true };
		const Real = Worker;
		globalThis.Worker = class extends Real {
			override postMessage(asked: { id: number; ask: string }, ...more: never[]) {
				if (asked.ask !== "preview" && asked.ask !== "result") return super.postMessage(asked, ...more);
				const data = { id: asked.id, ok: true, value: asked.ask === "result" ? result : files };
				setTimeout(() => this.onmessage?.(new MessageEvent("message", { data })));
			}
		};
	});
	await page.reload();
	await page.getByText("This is no picture.").first().waitFor();
	await page.locator("pre.said", { hasText: "<img src=x onerror" }).first().waitFor();
	await page.getByRole("button", { name: "Open the result" }).click();
	await page.getByText("These bytes are what was claimed").waitFor();
	for (const width of [390, 1280]) {
		await page.setViewportSize({ width, height: 800 });
		assert.deepEqual(await settledFaults(page), [], `${width} px`);
		await nothingInjected(page);
	}
}

test("a model that does not fit is named before a byte is sent, and its tensors are listed", async () => {
	const page = await newJob();
	const sent: string[] = [];
	page.on("request", (request) => {
		if (request.url().includes("/v1/blobs")) sent.push(request.url());
	});
	await page.getByRole("radio", { name: /^Generate text/ }).check();
	const slot = page
		.locator(".slot", { hasText: "Model" })
		.getByRole("textbox")
		.or(page.locator(".slot input[type=file]"));
	await slot.setInputFiles([sampleOf("tiny-llama/config.json"), sampleOf("tiny-bert/model.safetensors")]);
	await page.getByText("MODEL_TENSOR_MISSING").first().waitFor();
	await page.getByText(/^\d+ tensors$/).click();
	await page.getByRole("cell", { name: /embeddings\.word_embeddings\.weight/ }).waitFor();
	assert.equal(await priceButton(page).isEnabled(), false);
	await slot.setInputFiles([sampleOf("tiny-llama/config.json"), sampleOf("tiny-llama/model.safetensors")]);
	await page.getByText(/^llama, 2 layers of width 64, 256 tokens/).waitFor();
	await page.getByRole("button", { name: "What do whole-number weights cost?" }).click();
	const files = (name: string) => {
		if (!name.endsWith(".index.json")) return readFileSync(sampleOf(name));
		throw new AssayError("FILE_UNREADABLE", name);
	};
	const reports = [...weightsReport(await jobModel("tiny-llama", files))];
	const worst = Math.min(...reports.flatMap(({ i8Db }) => i8Db ?? []));
	await page.getByText(`With i8 weights the worst matrix keeps ${worst.toFixed(1)} dB`).waitFor();
	await page.getByText(/To upload/).waitFor();
	// Names of tensors and files are strangers' words too.
	const evil = "<img src=x onerror=window.hit=1>";
	const header = new TextEncoder().encode(
		JSON.stringify({ [evil]: { dtype: "F32", shape: [1], data_offsets: [0, 4] } }),
	);
	const file = Buffer.concat([
		Buffer.from(new BigUint64Array([BigInt(header.length)]).buffer),
		header,
		Buffer.alloc(4),
	]);
	await slot.setInputFiles([{ name: `${evil}.safetensors`, mimeType: "", buffer: file }]);
	await page.getByText("has a tensor whose name is not plain").first().waitFor();
	await page.getByLabel(/^Prompts/).fill(`${evil}\n<script>window.hit=1</script>`);
	await nothingInjected(page);
	assert.deepEqual(sent, []);
});

async function nothingInjected(page: Page): Promise<void> {
	const seen = await page.evaluate(() => ({
		hit: (globalThis as { hit?: number }).hit,
		elements: document.querySelectorAll("main img, main script, main b, main iframe, [onerror], [onclick]").length,
		isWide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
	}));
	assert.deepEqual(seen, { hit: undefined, elements: 0, isWide: false });
}

test("an upload that is paused, cut off and reloaded goes on, and sends nothing twice that arrived", async () => {
	const page = await newJob();
	await page.getByRole("radio", { name: /^Generate text/ }).check();
	const before = (await page.locator(".slot input[type=file]").elementHandle())!;
	await page.getByRole("radio", { name: /^Train/ }).check();
	await page.locator(".slot", { hasText: "Training text" }).waitFor();
	// A file that was chosen in a form which has gone comes too late: large ones take a while.
	await before.evaluate((input: HTMLInputElement) => {
		const late = new DataTransfer();
		late.items.add(new File(["{}"], "config.json"));
		input.files = late.files;
		input.dispatchEvent(new Event("change", { bubbles: true }));
	});
	const text = Buffer.alloc(1_300_000, "In the beginning God created the heaven and the earth. ");
	await page
		.locator(".slot", { hasText: "Training text" })
		.locator("input[type=file]")
		.setInputFiles([{ name: "own.txt", mimeType: "text/plain", buffer: text }]);
	await page.getByText(/^(\d\d\.\d|\d\.\d\d) MiB in 9 blobs$/).waitFor();
	// Counted here, where the server has answered: of a page that is left the browser does not tell what it
	// heard.
	const arrived = new Map<string, number>();
	let left = 3;
	await network.browser.context.route(/\/v1\/blobs\/.*offset=/, async (route) => {
		// The fourth piece on never arrives, while it is cut.
		if (left-- <= 0) return route.abort();
		const response = await route.fetch();
		const url = route.request().url();
		if (response.ok()) arrived.set(url, (arrived.get(url) ?? 0) + 1);
		await route.fulfill({ response }).catch(() => undefined);
	});
	network.browser.allow(/ERR_FAILED/);
	await priceButton(page).click();
	await page.getByText("Uploading …").waitFor();
	await eventually(async () => arrived.size === 3);
	await page.getByText("You may close or reload this page").waitFor();
	await chosenMeanwhile(page);
	await page.reload();
	await page.getByText("Uploading …").waitFor();
	await page.getByRole("button", { name: "Pause" }).click();
	left = Number.POSITIVE_INFINITY;
	await page.getByText("You may close or reload this page").waitFor();
	await page.reload();
	await page.getByText(/^own\.txt$/).waitFor();
	await priceButton(page).click();
	await page.getByRole("button", { name: /^Hand in for at most/ }).waitFor();
	await network.browser.context.unroute(/\/v1\/blobs\/.*offset=/);
	assert.ok(arrived.size >= 8, `${arrived.size} pieces`);
	assert.deepEqual(
		[...arrived.values()].filter((times) => times > 1),
		[],
	);
	assert.ok((await keptIds(page)).includes("draft"));
	await page.getByRole("button", { name: "Change the job" }).click();
	await priceButton(page).waitFor();
	assert.equal((await keptIds(page)).includes("draft"), false);
});

/**
 * The page is opened again, and this browser's database is slow: the upload that was begun neither replaces
 * what is chosen meanwhile, nor goes on with it.
 */
async function chosenMeanwhile(page: Page): Promise<void> {
	await page.evaluate(() => sessionStorage.setItem("slow", "once"));
	await page.addInitScript(() => {
		if (sessionStorage.getItem("slow") === null) return;
		sessionStorage.removeItem("slow");
		const { open } = IDBFactory.prototype;
		const { promise, resolve } = Promise.withResolvers<void>();
		IDBFactory.prototype.open = (...what) => {
			const asked = {} as { onsuccess(): void; result: IDBDatabase };
			void promise.then(() => {
				const request = open.apply(indexedDB, what);
				request.onsuccess = () => {
					asked.result = request.result;
					asked.onsuccess();
				};
			});
			return asked as unknown as IDBOpenDBRequest;
		};
		Object.assign(globalThis, {
			answers() {
				IDBFactory.prototype.open = open;
				resolve();
			},
		});
	});
	await page.reload();
	await page.getByRole("radio", { name: /^Render/ }).check();
	await page.getByLabel("Width pixels").waitFor();
	// Whoever would write waits for those who read.
	await page.evaluate(async () => {
		(globalThis as unknown as { answers(): void }).answers();
		await null;
		await new Promise<void>((done) => {
			const request = indexedDB.open("assay-jobs", 1);
			request.onsuccess = () => {
				const written = request.result.transaction("jobs", "readwrite");
				written.objectStore("jobs").delete("nothing");
				written.oncomplete = () => done(request.result.close());
			};
		});
	});
	const shown = [page.getByText(/^own\.txt$/), page.getByLabel("Width pixels")].map((one) => one.count());
	assert.deepEqual(await Promise.all(shown), [0, 1]);
	await page.locator("[data-built]:not([aria-busy=true])").waitFor();
	await priceButton(page).waitFor();
}

async function gptMini(steps: number) {
	const json = { ...JSON.parse(readFileSync(sampleOf("gpt-mini.json"), "utf8")), steps };
	return buildWorkload(readJob(json), (name) => readFileSync(sampleOf(name)));
}

test("the smallest GPT: its claim, who ran it again, the draws, and a segment run in the browser", async () => {
	const { stage, browser, url } = network;
	const { id } = await submit(stage, { method: { name: "redundant", count: 2 }, workload: await gptMini(3) });
	const job = await jobOver(stage.customer, id);
	const { claim } = job.record.parts[0]!;
	const page = await browser.open(`${url}/verify`);
	const ownKey = await page.evaluate(() => localStorage.getItem("customer-key"));
	const keepKey = (key: string | null) =>
		page.evaluate((value) => {
			if (value === null) localStorage.removeItem("customer-key");
			else localStorage.setItem("customer-key", value);
		}, key);
	// The customer's key, as this browser would have kept it.
	await keepKey(CUSTOMER_SEED);
	await page.goto(`${url}/jobs/${id}`);
	const why = page.locator("section", { has: page.getByRole("heading", { name: "How it is checked" }) });
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
	// Its checkpoints, by the claim's own list: the last one is what the claim ends with.
	await page.getByText(/^Part 1: \d+ checkpoints?$/).click();
	const kept = page.getByRole("region", { name: "Checkpoints of part 1" }).locator("tbody tr");
	const { rows: claims } = await stage.customer.listClaims({ query: { job: id, limit: 10 } });
	assert.equal(await kept.last().locator("code").first().getAttribute("title"), claims[0]!.ends!.last);
	assert.equal(await kept.count(), Math.ceil(4 / job.offer.perWindow));
	assert.deepEqual(await seriousFindings(page), []);
	assert.equal(claim?.length, 64);

	// On a phone and in the dark, as a stranger: what is public alone.
	await keepKey(null);
	await page.setViewportSize({ width: 390, height: 800 });
	await page.reload();
	await page.getByRole("button", { name: "Use the dark theme" }).click();
	await why.getByText("for its parties").first().waitFor();
	await why.locator("[data-draws=as-drawn]").waitFor();
	assert.deepEqual(await layoutFaults(page), []);
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
	await keepKey(ownKey);
});

/** Straight into the tables, behind every check of the store. */
async function sql(text: string, values: readonly unknown[] = []): Promise<void> {
	const client = new pg.Client(await ensureEmbeddedServer({ folder: serverFolder(network.stage.data.path) }));
	await client.connect();
	try {
		await client.query("SET search_path = assay");
		await client.query(text, [...values]);
	} finally {
		await client.end();
	}
}

/**
 * The panel of proofs with as many as a long job has: what the API says is written here, how it looks is the
 * page's.
 */
async function provenPanel(page: Page, id: string): Promise<void> {
	const proofs = Array.from({ length: 64 }, (_, i) => ({
		...{ segment: i + 1, prover: `0x${"ab".repeat(20)}`, amount: `${10n ** 18n}`, gas: 700_000 + i },
		transaction: `0x${"cd".repeat(32)}`,
	}));
	await page.route(`**/v1/jobs/${id}/proofs`, (route) => route.fulfill({ json: { segments: 128, proofs } }));
	await page.reload();
	await page.getByText(/^64 of 128 segments proven/).waitFor();
	const link = page.locator('[data-proof="64"] a');
	assert.equal(await link.getAttribute("href"), `/v1/jobs/${id}/proofs/64`);
	assert.deepEqual(await seriousFindings(page), []);
	assert.deepEqual(await layoutFaults(page), []);
}

test("thousands of jobs: few rows in the document, filters by the server; on a phone and in the dark nothing spills over", async () => {
	const copies = `INSERT INTO jobs (id, customer, title, kind, spec, offer, record, version, is_over, created_at_ms, ended_at_ms)
		SELECT lpad(to_hex(n), 64, '0'), customer, 'copy ' || n, kind, spec, offer, record, version, is_over, created_at_ms - n, ended_at_ms
		FROM (SELECT * FROM jobs WHERE kind = 'render' LIMIT 1) j, generate_series(1, 3000) n`;
	await sql(copies);
	const page = await network.browser.open(`${network.url}/jobs`);
	const table = page.getByRole("region", { name: "Jobs" });
	await table.waitFor();
	assert.ok((await table.locator("tbody tr").count()) < 60);
	await page.getByText(/^200\+ jobs$/).waitFor();
	await page.getByLabel("Search").fill("copy 2999");
	await table.getByRole("link", { name: "copy 2999" }).waitFor();
	await page.getByText("1 job", { exact: true }).waitFor();
	await page.getByLabel("Search").fill("");
	await page.getByLabel("Workload").selectOption("train");
	await table.getByRole("link", { name: "mlp-adamw" }).waitFor();
	await page.getByRole("button", { name: "Clear" }).click();
	const evil = "<img src=x onerror=window.hit=1>";
	const id = `${"0".repeat(61)}001`;
	await sql(
		`UPDATE jobs SET title = $1, spec = jsonb_set(jsonb_set(spec, '{title}', to_jsonb($1::text)), '{metrics,0,label}', to_jsonb($1::text)) WHERE id = $2`,
		[evil, id],
	);
	// Paid by proof: the chain knows of no proof of this one.
	const zkId = `${"0".repeat(61)}002`;
	await sql(`UPDATE jobs SET offer = jsonb_set(offer, '{terms,method}', '{"name":"zk","count":0}') WHERE id = $1`, [
		zkId,
	]);
	const event = "INSERT INTO job_events (job, at_ms, kind, part, detail) VALUES ($1, 5, $2, 0, $3)";
	const said = { why: `${evil}\u202e${"W".repeat(400)}`, provider: evil, metrics: [{ step: 0, values: [1] }] };
	for (const kind of [evil.slice(0, 20), "reopened", "metrics"]) await sql(event, [id, kind, JSON.stringify(said)]);
	await page.setViewportSize({ width: 390, height: 800 });
	for (const path of ["/jobs", "/jobs/new", `/jobs/${id}`, `/jobs/${zkId}`]) {
		await (new URL(page.url()).pathname === path ? page.reload() : followLink(page, path));
		await page.locator("h1").waitFor();
		if (path === "/jobs/new") await page.getByRole("radio", { name: /^Generate text/ }).check();
		if (path === "/jobs/new") await page.getByText("assay job submit job.json --method zk").waitFor();
		if (path.endsWith(id)) await page.getByText("Log").waitFor();
		if (path.endsWith(zkId)) await page.getByText("Nothing is proven yet").waitFor();
		await page.locator(".loading").first().waitFor({ state: "detached" });
		await nothingInjected(page);
		for (const colorScheme of ["light", "dark"] as const) {
			await page.emulateMedia({ colorScheme });
			assert.deepEqual(await seriousFindings(page), [], `${path} ${colorScheme}`);
		}
		assert.deepEqual(await layoutFaults(page), [], path);
		await page.setViewportSize({ width: 1280, height: 800 });
		assert.deepEqual(await settledFaults(page), [], `${path}, wide`);
		await page.setViewportSize({ width: 390, height: 800 });
	}
	await provenPanel(page, zkId);
	await sql("DELETE FROM job_events WHERE job = $1", [id]);
	await sql("DELETE FROM jobs WHERE title LIKE 'copy %' OR id = $1", [id]);
});
