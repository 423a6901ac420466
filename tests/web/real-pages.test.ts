// Pages with real evidence behind them, counted by a real validator: curves, maps and marks against what the
// files say; hostile words in every row; many providers; the keyboard alone from a filter to a released
// rental; and a validator that goes away and comes back.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import pg from "pg";
import type { Page } from "playwright-core";
import { ensureBuilt } from "../../scripts/build-web.ts";
import { freePort } from "../../src/engine/links/test-sshd.test-kit.ts";
import { formatRate, rateUnit } from "../../src/protocol/format-number.ts";
import { decodeEvidence } from "../../src/protocol/probe/evidence-codec.ts";
import { serverFolder } from "../../src/store/open-store.ts";
import { ensureEmbeddedServer } from "../../src/store/postgres/embedded-server.ts";
import { attestation } from "../../src/store/sample-rows.test-kit.ts";
import { sustainedRuns } from "../../src/verify/hardware/throughput-curve.ts";
import { verifyEvidence } from "../../src/verify/hardware/verify.ts";
import {
	makeDataDir,
	signerOf,
	startToyAgent,
	startToyValidator,
	type ToyValidator,
} from "../validator/toy-agent.test-kit.ts";
import { type Browser, CALM, followLink, seriousFindings, startBrowser } from "./browser.test-kit.ts";
import { h200AsTwo, partOfH200 } from "./changed-h200.test-kit.ts";
import { type CountedFile, countFile } from "./count-file.test-kit.ts";

const data = makeDataDir();
let validator: ToyValidator;
let browser: Browser;
let files: Record<"h200" | "part" | "two" | "four", CountedFile>;
const closing: (() => Promise<void> | void)[] = [];
before(async () => {
	await ensureBuilt();
	const listen = { port: await freePort() };
	validator = await startToyValidator({ dataDir: data.path, name: "the only one", listen, ...CALM });
	browser = await startBrowser({ keepsFiles: true });
	const count = (file: string | Uint8Array, name: string) => countFile(validator, { file, name });
	files = {
		h200: await count("h200.assay", "full"),
		part: await count(partOfH200(), "in part"),
		two: await count(h200AsTwo(), "as two"),
		four: await count("devices/four-cpus.assay", "four"),
	};
});
after(async () => {
	await browser?.close();
	for (const close of closing) await close();
	await validator?.stop();
	await data.remove();
});
afterEach(async () => {
	await browser.closePages();
	browser.check();
});

/** Straight into the tables, behind every check of the store. */
async function sql(text: string, values: readonly unknown[] = []): Promise<void> {
	const client = new pg.Client(await ensureEmbeddedServer({ folder: serverFolder(data.path) }));
	await client.connect();
	try {
		await client.query("SET search_path = assay");
		await client.query(text, [...values]);
	} finally {
		await client.end();
	}
}

const providerPage = (one: CountedFile) => browser.open(`${validator.url}/providers/${one.providerId}`);

test("the sustained curve: what the evidence says, second by second", async () => {
	const page = await providerPage(files.four);
	const decoded = decodeEvidence(files.four.bytes);
	assert.ok(decoded.ok);
	const runs = sustainedRuns(decoded.evidence);
	assert.equal(runs.length, 4);
	for (const { spec, curve: points } of runs) {
		const last = formatRate(points.at(-1)!.opsPerS, rateUnit(spec.precision));
		const name = `Sustained speed of device ${spec.device}: ${points.length} points, last ${last}`;
		await page.getByRole("img", { name, exact: true }).waitFor();
		const chart = page.locator("figure", { has: page.getByRole("img", { name }) });
		await chart.getByText("As a table").click();
		const shown = await chart.locator("tbody td.num").allTextContents();
		assert.deepEqual(
			shown,
			points.map(({ opsPerS }) => formatRate(opsPerS, rateUnit(spec.precision))),
		);
		assert.equal(await chart.locator("title").count(), points.length, "each point says its value on hover");
	}
	assert.deepEqual(await seriousFindings(page), []);
	const other = await providerPage(files.h200);
	await other.getByRole("heading", { name: "Figures over time" }).waitFor();
	assert.equal(await other.getByRole("heading", { name: "Sustained speed" }).count(), 0);
});

test("the map between devices: every pair that was proven, none that was not", async () => {
	const verdict = verifyEvidence(files.four.bytes);
	assert.ok(verdict.status === "valid");
	const page = await providerPage(files.four);
	const map = page.locator("table.heat");
	await map.waitFor();
	const cells = await map
		.locator("tbody tr")
		.evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent)));
	const speed = (reader: number, from: number) =>
		verdict.figures.find(({ device, name }) => device === reader && name === `peer.bandwidth.${from}`)?.value;
	assert.equal(cells.length, 4);
	for (const [reader, row] of cells.entries())
		for (const [from, cell] of row.entries()) {
			const value = speed(reader, from);
			assert.equal(cell, value === undefined ? "–" : formatRate(value, "B/s"), `${reader} reads ${from}`);
			assert.equal(value === undefined, reader === from);
		}
	// The fastest pair is the darkest, and each cell has its words without the colour.
	const fastest = map.locator("td[style*='--heat: 46%']").first();
	assert.match((await fastest.getAttribute("title")) ?? "", /^device \d reads device \d at /);
	const other = await providerPage(files.h200);
	await other.getByRole("heading", { name: "Figures over time" }).waitFor();
	assert.equal(await other.locator("table.heat").count(), 0);
});

test("claimed beside proven: a mark where they differ, another where the proof was refused", async () => {
	const page = await providerPage(files.part);
	const memory = page.getByRole("row", { name: /^Memory 559 GiB 134 GiB/ });
	await memory.getByText("≠ differs: 24 % proven").waitFor();
	await page.getByRole("row", { name: /^Card NVIDIA H200 possibly H200 \? not confirmed/ }).waitFor();
	await followLink(page, `/providers/${files.two.providerId}`);
	const refused = page.getByRole("row", { name: /Card NVIDIA H200 – ≠ differs: the proof was refused/ });
	await refused.first().waitFor();
	assert.equal(await refused.count(), 2, "both cards that are one");
	await followLink(page, `/providers/${files.h200.providerId}`);
	await page.getByText("✓ confirmed; cannot be told from: ").waitFor();
	assert.equal(await page.locator(".differs").count(), 0);
});

test("nothing in any row becomes markup, however it came there", async (t) => {
	const agent = await startToyAgent({ url: validator.url, signer: signerOf(21), name: "soon hostile" });
	closing.push(() => agent.close());
	const id = agent.id;
	const rendered: string[] = [];
	const evil = `"><img src=x onerror="window.hit=1"><script>window.hit=1</script>\u202e<b>\n</b>javascript:alert(1)${"W".repeat(3000)}`;
	const probeId = await waitForProbe(id);
	const texts = "claimed_name = $1, uuid = $1, profile = $1";
	await sql("UPDATE providers SET name = $1, model = $1 WHERE id = $2", [evil, id]);
	await sql(`UPDATE devices SET ${texts} WHERE provider_id = $2`, [evil, id]);
	await sql("UPDATE figures SET unit = $1 WHERE provider_id = $2", [evil, id]);
	await sql("UPDATE holdings SET model = $1 WHERE provider_id = $2", [evil, id]);
	const card = { chip: evil, driver: evil, firmware: evil };
	const signed = attestation(["a".repeat(64)]);
	const guest = { tee: evil, measurement: evil, tcb: evil };
	const words = { guest, says: [evil], reasons: [{ code: "RELAYABLE", detail: evil }], elsewhere: [] };
	const shown = { ...signed, devices: [{ ...signed.devices[0], ...card }], ...words };
	await sql("UPDATE providers SET attestation = $1 WHERE id = $2", [JSON.stringify(shown), id]);
	await sql("UPDATE probes SET attestation = $1 WHERE id = $2", [JSON.stringify(shown), probeId]);
	await sql("UPDATE probes SET detail = $1, findings = $3 WHERE id = $2", [
		evil,
		probeId,
		JSON.stringify([{ code: "LOW_SAMPLES", detail: evil }]),
	]);
	await sql(
		`UPDATE claims SET claim = jsonb_set(jsonb_set(claim, '{host,os}', $1), '{host,cpu}', $1) WHERE provider_id = $2`,
		[JSON.stringify(evil), id],
	);
	await validator.store.events.publish({
		kind: "probe.progress",
		subject: probeId,
		atMs: Date.now(),
		detail: { providerId: id, detail: { step: evil.slice(0, 900), name: evil.slice(0, 900) } },
	});
	t.after(() => sql("UPDATE providers SET name = 'tame', model = NULL WHERE id = $1", [id]));
	const page = await browser.open(`${validator.url}/verify`);
	for (const path of [
		"/",
		"/providers",
		`/providers/${id}`,
		"/probes",
		`/probes/${probeId}`,
		`/compare?a=${id}&b=${files.h200.providerId}`,
		"/epochs",
		"/rent",
		`/providers?q=${encodeURIComponent(evil.slice(0, 90))}&model=${encodeURIComponent(evil)}&sort=%3Cb%3E&minDevices=%3Cb%3E`,
		`/rent?provider=${id}`,
		`/probes?verdict=${encodeURIComponent(evil)}`,
	]) {
		await followLink(page, path);
		await page.locator("h1").waitFor();
		await page.locator(".loading").first().waitFor({ state: "detached" });
		const seen = await page.evaluate(() => ({
			hit: (globalThis as { hit?: number }).hit,
			elements: document.querySelectorAll("main img, main script, main b, main iframe, [onerror], [onclick]").length,
			links: [...document.querySelectorAll("a")].filter((link) => !/^(https?:|$)/.test(link.protocol)).length,
			isText: document.body.textContent.includes('<img src=x onerror="window.hit=1">'),
			wide:
				document.documentElement.scrollWidth <= document.documentElement.clientWidth
					? []
					: [...document.querySelectorAll("main *")]
							.filter(
								(one) => one.getBoundingClientRect().right > innerWidth && one.closest(".table-box, .scroll") === null,
							)
							.map((one) => `${one.tagName}.${one.getAttribute("class")}`)
							.slice(0, 8),
			title: document.title,
		}));
		assert.deepEqual([seen.hit, seen.elements, seen.links], [undefined, 0, 0], path);
		assert.deepEqual(seen.wide, [], path);
		assert.match(seen.title, /^[^\p{C}]{1,100} · assay$/u, "nothing invisible, nothing endless in the tab");
		if (seen.isText) rendered.push(path.split("?")[0]!);
	}
	assert.ok(rendered.includes("/providers") && rendered.includes(`/providers/${id}`), rendered.join(", "));
	assert.ok(rendered.includes(`/probes/${probeId}`) && rendered.includes("/compare"), rendered.join(", "));
});

async function waitForProbe(providerId: string): Promise<string> {
	for (;;) {
		const { rows } = await validator.client.listProbes({ query: { providerId } });
		if (rows[0]?.state === "done") return rows[0].id;
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
}

test("thousands of providers: few rows in the document, and only as many made as come into sight", async (t) => {
	await sql(`INSERT INTO providers (id, name, link, target, state, price_per_hour_micros, rentable, ssh, registered_at_ms, next_probe_at_ms, last_verdict,
			last_probe_at_ms, last_valid_at_ms, reliability_ppm, uptime_ppm, score_ppm, model, gpu_count, memory_bytes, fp16_ops_per_s, memory_bytes_per_s)
		SELECT encode(sha256(convert_to('many ' || n, 'UTF8')), 'hex'), 'many ' || n, 'agent', '', 'active', n, true, true, n, 9e15::bigint, 'valid', n, n, 900000,
			900000, n, 'H200', 8, 150000000000, 1000000000000000, 4000000000000 FROM generate_series(1, 2000) n`);
	t.after(() => sql("DELETE FROM providers WHERE name LIKE 'many %'"));
	const page = await browser.open(`${validator.url}/providers?q=many&sort=name`);
	const table = page.getByRole("region", { name: "Providers" });
	await table.getByRole("link").first().waitFor();
	await page.evaluate(() => {
		const body = document.querySelector(".table-box tbody")!;
		const seen = { rows: 0 };
		(globalThis as { made?: typeof seen }).made = seen;
		new MutationObserver((records) => {
			for (const { addedNodes } of records)
				for (const node of addedNodes)
					if (node.nodeName === "TR" && !(node as Element).matches(".spacer")) seen.rows += 1;
		}).observe(body, { childList: true });
	});
	const made = () =>
		page.evaluate(() => {
			const { made: seen } = globalThis as unknown as { made: { rows: number } };
			const { rows } = seen;
			seen.rows = 0;
			return rows;
		});
	const scrollBy = (px: number, steps: number) =>
		page.evaluate(
			async ([by, times]) => {
				const box = document.querySelector(".table-box")!;
				for (let i = 0; i < times!; i++) {
					box.scrollTop += by!;
					await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
				}
			},
			[px, steps],
		);
	await made();
	// A pixel at a time, within a row's height: nothing is made.
	await scrollBy(1, 20);
	assert.equal(await made(), 0);
	// Through twenty rows: those twenty and the step they come in.
	await scrollBy(40, 20);
	await page.waitForFunction(() => document.querySelector(".table-box tr[aria-rowindex='42']") !== null);
	const twenty = await made();
	assert.ok(twenty >= 16 && twenty <= 28, `${twenty} rows`);
	// Far away: pages of rows come, the document holds a screen of them.
	await page.waitForFunction(() => {
		// Again and again: on a busy machine the next page comes later than the end of the last one is reached.
		document.querySelector(".table-box")!.scrollTop += 4000;
		return Number(document.querySelector(".table-box tr[aria-rowindex]")?.ariaRowIndex) > 400;
	});
	const rows = await table.locator("tbody tr[aria-rowindex]").count();
	assert.ok(rows > 10 && rows < 60, `${rows} rows`);
	// What is typed and changes no answer makes no row again; one that changes it makes no more than a screen.
	await page.evaluate(() => document.querySelector(".table-box")!.scrollTo(0, 0));
	await page.waitForFunction(() => document.querySelector(".table-box tr[aria-rowindex='2']") !== null);
	await made();
	await page.getByLabel("Search").fill("many ");
	await page.getByLabel("Search").fill("many 19");
	await table.getByRole("link", { name: "many 19", exact: true }).waitFor();
	const typed = await made();
	assert.ok(typed < 80, `${typed} rows`);
});

test("by keyboard alone: filter, sort, open, rent, release; then a probe, verified", async () => {
	const agent = await startToyAgent({ url: validator.url, signer: signerOf(22), name: "to let", rentable: true });
	closing.push(() => agent.close());
	await waitForProbe(agent.id);
	const page = await browser.open(`${validator.url}/providers`);
	await page.getByRole("link", { name: "to let" }).waitFor();
	await tabTo(page, (name) => name === "Search");
	await page.keyboard.type("to let");
	await page.getByRole("link", { name: "full" }).waitFor({ state: "detached" });
	await tabTo(page, (name) => name.startsWith("Score"));
	await page.keyboard.press("Enter");
	await page.locator("th[aria-sort=ascending]").waitFor();
	await tabTo(page, (name) => name === "to let");
	await page.keyboard.press("Enter");
	await page.getByRole("heading", { name: "to let" }).waitFor();
	await page.waitForFunction(() => document.activeElement?.tagName === "H1");
	await tabTo(page, (name) => name === "Rent it");
	await page.keyboard.press("Enter");
	await page.getByRole("heading", { name: "Reserve" }).waitFor();
	await tabTo(page, (name) => name === "Your SSH public key");
	await page.keyboard.type("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f someone");
	await tabTo(page, (name) => name.startsWith("Reserve for"));
	await page.keyboard.press("Enter");
	await page.locator("[data-rental=active]").waitFor();
	await page.getByText("(a key kept in this browser)").waitFor();
	assert.deepEqual(await seriousFindings(page), []);
	await tabTo(page, (name) => name === "One hour more", true);
	await page.keyboard.press("Enter");
	await page.getByText(/^1:5\d:\d\d$/).waitFor();
	await tabTo(page, (name) => name === "Release");
	await page.keyboard.press("Enter");
	await page
		.locator("[data-rental=ended]")
		.getByText(/^released/)
		.waitFor();

	await page.goto(`${validator.url}/probes/${files.four.probeId}`);
	await page.getByRole("button", { name: "Verify in my browser" }).waitFor();
	await tabTo(page, (name) => name === "Verify in my browser");
	await page.keyboard.press("Enter");
	await page.locator(".verify[data-status=valid]").waitFor();
	await tabTo(page, (name) => name.includes("spot checks right"));
	await page.keyboard.press("Enter");
	await tabTo(page, (name) => name === "Opened place");
	await page.keyboard.press("ArrowDown");
	await page.getByText("Leads to the committed root").waitFor();
	assert.deepEqual(await seriousFindings(page), []);
});

/** Tab (or Shift+Tab) until the focused element has a name like this; each must show where it is. */
async function tabTo(page: Page, isIt: (name: string) => boolean, back = false): Promise<void> {
	for (let i = 0; i < 80; i++) {
		await page.keyboard.press(back ? "Shift+Tab" : "Tab");
		const { name, outline } = await page.evaluate(() => {
			const one = document.activeElement as HTMLElement;
			const label = one.closest("label")?.firstChild?.textContent ?? "";
			const text = one.getAttribute("aria-label") ?? (label || one.textContent);
			return { name: (text ?? "").trim(), outline: getComputedStyle(one).outlineStyle };
		});
		if (!isIt(name)) continue;
		assert.notEqual(outline, "none", `${name} has the focus and does not show it`);
		return;
	}
	assert.fail("no way there by Tab");
}

test("a validator that goes away is said to have, what it said last stays, and everything goes on when it is back", async () => {
	const page = await browser.open(`${validator.url}/providers`);
	await page.getByRole("link", { name: "four", exact: true }).waitFor();
	await page.locator(".live.is-live").waitFor();
	const { port } = new URL(validator.url);
	for (const close of closing.splice(0)) await close();
	await validator.stop();
	browser.allow(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|Failed to load|ERR_EMPTY/);
	await page.getByRole("alert").getByText("The validator cannot be reached.").waitFor();
	await page.getByRole("link", { name: "four", exact: true }).waitFor();
	assert.deepEqual(await seriousFindings(page), []);
	// A page that must read now says what is wrong and how to go on.
	await page.getByRole("link", { name: "four", exact: true }).click();
	const failed = page.locator(".state.failed");
	await failed.waitFor();
	// Its own next try may come before the button is pressed: none gets through until then.
	await page.evaluate(() => addEventListener("click", () => document.body.classList.add("clicked"), { capture: true }));
	await page.route("**/v1/**", async (route) =>
		(await page.locator("body.clicked").count()) > 0 ? route.continue() : route.abort("connectionrefused"),
	);
	validator = await startToyValidator({ dataDir: data.path, name: "the only one", listen: { port: Number(port) } });
	await page.getByRole("button", { name: "Try now" }).click();
	await page.getByRole("heading", { name: "Claimed and proven" }).waitFor();
	await page.getByText("The validator cannot be reached.").waitFor({ state: "detached" });
	await page.unrouteAll({ behavior: "wait" });
});
