// Every workload from the form to its result, a provider that is killed half-way, and a job that is cancelled
// by keyboard: in the deep tier. Training and pictures are in job-pages.test.ts.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { ensureBuilt } from "../../scripts/build-web.ts";
import { isDeep } from "../fuzz.test-kit.ts";
import { askPrice, handIn, type JobNetwork, openJobNetwork, signIn, watchToPaid } from "./job-network.test-kit.ts";

const KINDS = [
	{ card: "Fine-tune with LoRA", fields: { Steps: "4" }, file: /adapter_model\.safetensors/, sees: "Curve: loss" },
	{ card: "Generate text", fields: { "New tokens for each prompt": "8" }, file: /text\.jsonl/, sees: "text.jsonl" },
	{ card: "Embed", fields: {}, file: /embeddings\.npy/, sees: "files" },
	{ card: "Simulate", fields: { Steps: "80" }, file: /frames\/0001\.png/, sees: "8 of 8" },
];

if (!isDeep) test("every workload from the form to its result", { skip: "in the deep tier: it takes some minutes" });
else
	describe("in the deep tier", () => {
		let network: JobNetwork;
		before(async () => {
			await ensureBuilt();
			// A host that falls silent is given up after ten seconds, and on the chain after forty.
			network = await openJobNetwork({ jobBeatMs: 500, jobBeatMisses: 20, jobLeastWorkMs: 40_000 });
			await signIn(network);
		});
		after(() => network?.close());
		afterEach(async () => {
			await network.browser.closePages();
			network.browser.check();
		});
		const newJob = () => network.browser.open(`${network.url}/jobs/new`);

		for (const { card, fields, file, sees } of KINDS)
			test(`${card}: handed in, watched to paid, its result opened`, async () => {
				if (card === KINDS[0]!.card) await Promise.all([network.provider(1), network.provider(2)]);
				const page = await newJob();
				await handIn(page, { card, method: "Run twice", fields: fields as never });
				await watchToPaid(page);
				// A list of many files is closed at first.
				await page.locator("td code", { hasText: file }).first().waitFor({ state: "attached" });
				await page.getByText(sees).first().waitFor();
			});

		test("a provider that is killed while it works: the page tells it, another goes on, the job is paid", async () => {
			const third = await network.provider(3);
			const page = await newJob();
			const all = [third];
			for (const one of all) await one.dieAtWork();
			// Until the third one is drawn for it.
			for (let tries = 0; tries < 12; tries++) {
				const steps = { Steps: "320" };
				await page.goto(`${network.url}/jobs/new`);
				await page.getByRole("radio", { name: /^Train/ }).check();
				await page.getByLabel("Start from").selectOption("mlp-adamw");
				await handIn(page, { card: "Train", method: "A few spot checks", fields: steps });
				const story = page.locator("[data-story=lost], [data-story=paid]");
				await story.waitFor();
				if ((await story.getAttribute("data-story")) === "lost") break;
			}
			await page.locator("[data-story=lost]").waitFor();
			await page.getByText(/fell silent: the part goes to another/).waitFor();
			await watchToPaid(page);
			await page.getByText("attempt 2").first().waitFor();
		});

		test("by keyboard alone a job that nobody has is cancelled, and its money comes back", async () => {
			const page = await newJob();
			await askPrice(page, { card: "Simulate", method: "Spot checks" });
			await network.closeProviders();
			await page.keyboard.press("Enter");
			await page.locator("[data-story=waiting]").waitFor();
			await page.getByRole("button", { name: "Cancel the job" }).focus();
			await page.keyboard.press("Enter");
			await page.getByRole("button", { name: "Yes, cancel it" }).focus();
			await page.keyboard.press("Enter");
			await page.locator("[data-story=refunded]").waitFor();
			const id = new URL(page.url()).pathname.slice("/jobs/".length);
			const job = await network.stage.validator.store.jobs.get(id);
			assert.deepEqual([job?.isOver, job?.record.parts[0]?.state], [true, "refunded"]);
		});
	});
