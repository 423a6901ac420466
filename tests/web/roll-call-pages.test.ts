// The pages of roll calls in a real Chromium: the list, one call with who answered, a public file verified
// here, and a provider's presence.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { ensureBuilt } from "../../scripts/build-web.ts";
import { attestation, probeByHand } from "../../src/store/sample-rows.test-kit.ts";
import {
	CALLED,
	CHAIN,
	COMMITTED,
	DRAWN,
	HOST,
	label,
	toyCall,
} from "../../src/verify/roll-call/toy-roll-call.test-kit.ts";
import { makeDataDir, startToyValidator, type ToyValidator } from "../validator/toy-agent.test-kit.ts";
import { type Browser, followLink, seriousFindings, startBrowser } from "./browser.test-kit.ts";

const data = makeDataDir();
const ABSENT = label("somebody else");
const ID = { chainId: CHAIN.id, contract: CHAIN.contract, call: CALLED.number };
let validator: ToyValidator;
let browser: Browser;

before(async () => {
	await ensureBuilt();
	validator = await startToyValidator({ dataDir: data.path, probes: false });
	const { store } = validator;
	const by = { nowMs: 1000, actor: "test" };
	for (const [id, name] of [
		[HOST.key, "here"],
		[ABSENT, "not here"],
	] as const)
		await store.providers.register(
			{ id, link: "agent", target: "", name, pricePerHourMicros: 0, rentable: false, ssh: false, claim: null },
			by,
		);
	const shown = attestation([label("card")], { level: "none", isSimulated: true });
	await probeByHand(store, HOST.key, "attested", { attestation: shown, validator: validator.key });
	const { file } = toyCall();
	const sha256 = await store.evidence.keep(file);
	const nowMs = Date.now();
	await store.rollCalls.open({ ...ID, beta0: CALLED.hash, calledAtMs: nowMs, deadlineMs: 24_000, b0AtS: CALLED.atS });
	const made = {
		b1: COMMITTED.number,
		b1AtS: COMMITTED.atS,
		root: label("root"),
		leaves: 1,
		transaction: `0x${label("t")}`,
	};
	await store.rollCalls.commit(ID, made);
	const nothing = { code: null, paidPpm: null, ms: null, leaf: null, reply: null, files: [], megaOps: 0, bytes: 0 };
	const files = [{ device: 0, sha256, bytes: file.length }];
	await store.rollCalls.finish(ID, {
		...{ b2: DRAWN.number, b2AtS: DRAWN.atS, beta2: DRAWN.hash, nowMs },
		answers: [
			{ ...nothing, providerId: HOST.key, state: "answered", ms: 17_000, files, megaOps: 2.4e10, bytes: 129e9 },
			{ ...nothing, providerId: ABSENT, state: "absent", code: "PROVIDER_BUSY" },
		],
	});
	browser = await startBrowser();
});
after(async () => {
	await browser?.close();
	await validator?.stop();
	await data.remove();
});
afterEach(async () => {
	await browser.closePages();
	browser.check();
});

test("the list says what the network proved together, and leads to one call", async () => {
	const page = await browser.open(`${validator.url}/roll-calls`);
	await page.getByText("one device answered").waitFor();
	// 24,000 TOP in the 24 s between the two blocks.
	await page.getByText("1.00 POPS").first().waitFor();
	await page.getByText("1 of 2").first().waitFor();
	assert.deepEqual(await seriousFindings(page), []);
	await page.getByRole("region", { name: "Proved together" }).getByRole("link").click();
	await page.getByRole("heading", { name: `Roll call ${CALLED.number}` }).waitFor();
	// Who was busy is not accused: the word says it, and the colour is no cheater's.
	await page
		.locator(".badge.is-inconclusive", { hasText: "PROVIDER_BUSY" })
		.getByText("busy", { exact: true })
		.waitFor();
	assert.equal(await page.locator(".badge.is-invalid").count(), 0);
	await page.locator(".badge", { hasText: "measured" }).getByText("simulated", { exact: true }).waitFor();
	assert.deepEqual(await seriousFindings(page), []);
});

test("a public file is fetched and verified in the browser", async () => {
	const page = await browser.open(`${validator.url}/roll-calls/${CALLED.number}`);
	await page.getByRole("button", { name: "Verify device 0" }).click();
	await page.locator('.verify[data-status="valid"]').waitFor();
});

test("a provider's page shows its presence", async () => {
	const page = await browser.open(`${validator.url}/providers/${HOST.key}`);
	// It was never scored.
	browser.allow(/404/);
	const panel = page.getByRole("region", { name: "Presence" });
	await panel.getByText("1 of the last 1 roll calls answered").waitFor();
	await panel.getByText("answered", { exact: true }).waitFor();
});

test("on a phone nothing spills over; what is no call is said to be none", async () => {
	const page = await browser.open(`${validator.url}/roll-calls`);
	await page.setViewportSize({ width: 390, height: 800 });
	browser.allow(/404/);
	for (const path of ["/roll-calls", `/roll-calls/${CALLED.number}`, "/roll-calls/7", "/roll-calls/x"]) {
		if (new URL(page.url()).pathname !== path) await followLink(page, path);
		await page.locator("h1").waitFor();
		await page.locator(".loading").first().waitFor({ state: "detached" });
		const width = await page.evaluate(() => document.documentElement.scrollWidth);
		assert.ok(width <= 390, `${path} is ${width} px wide`);
		assert.deepEqual(await seriousFindings(page), [], path);
	}
	await page.getByRole("heading", { name: "No such roll call" }).waitFor();
});
