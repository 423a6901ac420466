// The dashboard in a real Chromium against a real validator: embedded PostgreSQL, agents over WebSockets, toy
// engines behind. Each test leaves its providers in the network; the browser's own complaints (policy,
// exceptions) fail whichever test caused them.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import type { Page } from "playwright-core";
import { ensureBuilt } from "../../scripts/build-web.ts";
import { createApiClient } from "../../src/api/create-client.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import type { AgentHandlers } from "../../src/engine/agent/dial-agent.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { createLocalLink } from "../../src/engine/links/create-local-link.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { sha256Of } from "../../src/protocol/hash/tagged-hash.ts";
import type { Finding } from "../../src/protocol/probe/verdict.ts";
import { verifyEvidence } from "../../src/verify/hardware/verify.ts";
import { createToyHost, mintedBundle, TOY_GUEST, toyCard } from "../attestation/toy/toy-host.test-kit.ts";
import { toyClaim } from "../toy/toy-claim.ts";
import {
	createToyLink,
	eventually,
	makeDataDir,
	signerOf,
	startToyAgent,
	startToyValidator,
	type ToyValidator,
	toyClaimOf,
} from "../validator/toy-agent.test-kit.ts";
import { type Browser, CALM, followLink, seriousFindings, startBrowser } from "./browser.test-kit.ts";
import { layoutFaults, settledFaults } from "./layout.test-kit.ts";
import { assertAlike, shownByPage, toldByCli } from "./told-alike.test-kit.ts";

const data = makeDataDir();
let validator: ToyValidator;
let browser: Browser;
const closing: (() => Promise<void> | void)[] = [];
before(async () => {
	await ensureBuilt();
	const collateral = join(data.path, "collateral.assay");
	writeFileSync(collateral, mintedBundle());
	validator = await startToyValidator({
		dataDir: data.path,
		name: "the first",
		...CALM,
		params: { retries: 0 },
		collateral: [collateral],
		guests: [TOY_GUEST],
	});
	browser = await startBrowser();
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

const scored = (id: string) =>
	eventually(async () => {
		const provider = await validator.client.getProvider({ params: { id } }).catch(() => null);
		return provider !== null && provider.scorePpm !== null && provider;
	});

type AgentOptions = Omit<Parameters<typeof startToyAgent>[0], "url" | "signer">;
async function joinIn(n: number, options: AgentOptions = {}): Promise<string> {
	const agent = await startToyAgent({ url: validator.url, signer: signerOf(n), ...options });
	closing.push(() => agent.close());
	return agent.id;
}

const badges = (page: Page, word: string) => page.locator(".badge").getByText(word, { exact: true });

test("an empty network is shown as one, and fills by itself", async () => {
	const page = await browser.open(`${validator.url}/`);
	await page.getByRole("heading", { name: "A network of proven GPUs" }).waitFor();
	await page.getByText("No GPU is proven yet").waitFor();
	await page.getByText("No probe yet").waitFor();
	await scored(await joinIn(11, { name: "honest one" }));
	// Nobody reloads: the event stream does it.
	await page.getByRole("list", { name: "Newest probes" }).getByText("valid", { exact: true }).waitFor();
	// What it says it is, also in the first minute of a network.
	await page.locator(".tile", { hasText: "Probes, last hour" }).locator(".tile-value").getByText(/^1$/).waitFor();
	await page.getByRole("link", { name: "Providers", exact: true }).click();
	await page.getByRole("link", { name: "honest one" }).waitFor();
});

test("a live probe from its start to its verdict, then verified here", async () => {
	const [begin, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
	const claim = toyClaimOf("GPU-live");
	const id = await joinIn(12, {
		name: "live one",
		openLink: async () => {
			await begin.promise;
			return createToyLink(claim, {
				// The second challenge is not begun before it may.
				request: async (_toy, _id, { kind }) => {
					if (kind === "fma") await goOn.promise;
					return false;
				},
			});
		},
	});
	const probe = await eventually(async () => {
		const { rows } = await validator.client.listProbes({ query: { providerId: id } });
		return rows[0];
	});
	const page = await browser.open(`${validator.url}/probes/${probe.id}`);
	await page.getByRole("heading", { name: "Running now" }).waitFor();
	await badges(page, "running").first().waitFor();
	begin.resolve();
	const challengesOf = (one: Page) => one.getByRole("list", { name: "Challenges" });
	const firstOf = (one: Page) => challengesOf(one).locator("[data-challenge='0']");
	await firstOf(page).getByText("4 places opened").waitFor();
	await firstOf(page).getByText("2 of 2 roots").waitFor();
	await challengesOf(page).locator("[data-challenge='1'][data-state=asked]").waitFor();
	assert.deepEqual(await seriousFindings(page), []);
	// Who comes late sees what has happened, not only what comes.
	const late = await browser.open(`${validator.url}/probes/${probe.id}`);
	await firstOf(late).getByText("4 places opened").waitFor();
	await challengesOf(late).getByText("gpu fill").waitFor();
	goOn.resolve();
	for (const one of [page, late]) {
		await badges(one, "valid").first().waitFor();
		await firstOf(one).getByText("✓ 4 spot checks right").waitFor();
		await challengesOf(one).getByText("✓ 2 spot checks right").waitFor();
		await one.getByText("evidence went to the verifier").waitFor();
	}
	// And who comes after it.
	await late.reload();
	await late.getByRole("heading", { name: "As it ran" }).waitFor();
	await firstOf(late).getByText("✓ 4 spot checks right").waitFor();
	await late.close();

	const [download] = await Promise.all([
		page.waitForEvent("download"),
		page.getByRole("link", { name: "Download evidence" }).click(),
	]);
	const told = await validator.client.getProbe({ params: { id: probe.id } });
	assert.equal(bytesToHex(sha256Of(readFileSync(await download.path()))), told.evidenceSha256);

	await page.getByRole("button", { name: "Verify in my browser" }).click();
	const verify = page.locator(".verify[data-status=valid]");
	await verify.waitFor();
	const checks = page.getByRole("list", { name: "Checks" });
	// What was found right is a line until somebody wants to see it.
	assert.equal(await checks.isVisible(), false);
	await verify.getByText("17 checks passed, 6 spot checks right").click();
	await verify.locator("[data-challenge='0']").getByText("✓ 4 spot checks right").waitFor();
	assert.equal(await verify.locator(".cells i.is-right").count(), 6);
	assert.equal(await checks.locator(".check.is-passed").count(), 17);
	await page.getByText("Leads to the committed root").waitFor();
	assert.deepEqual(await layoutFaults(page), []);
	await page.getByText("As a list, with whole hashes").click();
	assert.match((await page.locator(".path-list li").last().textContent()) ?? "", /^Root: [0-9a-f]{64}$/);
	await page.getByLabel("Opened place").selectOption({ index: 1 });
	await page.getByText("Leads to the committed root").waitFor();
	assert.deepEqual(await seriousFindings(page), []);
});

test("a cheater is shown with its code, in the list, the feed and on its page", async () => {
	const id = await joinIn(13, { name: "a cheat", cheat: "smaller-k" });
	await scored(id);
	const page = await browser.open(`${validator.url}/probes?verdict=invalid`);
	await page.getByText("ELEMENT_WRONG").first().waitFor();
	assert.equal(await badges(page, "valid").count(), 0);
	await followLink(page, `/providers/${id}`);
	await page.getByText("ELEMENT_WRONG").first().waitFor();
	await page.getByText("Nothing is known of this host yet").or(page.getByText("not proven").first()).first().waitFor();
	await page
		.getByRole("link", { name: /^Probe / })
		.first()
		.click();
	const why = page.getByRole("region", { name: "Why it is invalid" });
	await why.getByText("An element of a product is not what its seed gives.").waitFor();
	await why.getByText("No honest host can cause this").waitFor();
	await why.getByText("Is it your host?").waitFor();
	await page.getByRole("button", { name: "Verify in my browser" }).click();
	await page.locator(".verify[data-status=invalid]").waitFor();
	await page.locator(".verify").getByText("“Openings” failed").waitFor();
	assert.equal(await page.locator(".check.is-failed").getByText("Openings", { exact: true }).count(), 1);
	// The very opening is marked: what the validator's own check told, and what this browser finds.
	for (const list of [page.locator("section", { has: page.getByText("As it ran") }), page.locator(".verify")]) {
		await list
			.locator("[data-state=wrong]")
			.getByText(/✕ spot check \d of 4 is wrong/)
			.waitFor();
		assert.equal(await list.locator(".cells i.is-wrong").count(), 1);
	}
});

test("a provider's page: claimed beside proven, figures, score worked out again, probes", async () => {
	const page = await browser.open(`${validator.url}/providers/${signerOf(11).key}`);
	await page.getByRole("heading", { name: "honest one" }).waitFor();
	const table = page.locator("section", { has: page.getByRole("heading", { name: "Claimed and proven" }) });
	await table.getByRole("cell", { name: "Toy card", exact: true }).waitFor();
	await table.getByText("the claimed name is in no profile").waitFor();
	await table.getByText("int8 matrix").first().waitFor();
	await page.getByText("worked out again in this browser: equal").waitFor();
	await page.getByRole("img", { name: /int8 matrix: \d+ points?/ }).waitFor();
	await page.getByRole("region", { name: "Probes" }).getByRole("link").first().waitFor();
	assert.deepEqual(await seriousFindings(page), []);
	await page.goto(`${validator.url}/providers/${"0".repeat(64)}`);
	await page.getByRole("alert").getByText("PROVIDER_UNKNOWN").waitFor();
	browser.allow(/404/);
});

test("filters, search, order and comparison", async () => {
	await scored(await joinIn(14, { name: "another honest one" }));
	const page = await browser.open(`${validator.url}/providers`);
	const table = page.getByRole("region", { name: "Providers" });
	await table.getByRole("link", { name: "a cheat" }).waitFor();
	await page.getByLabel("Search").fill("honest");
	await table.getByRole("link", { name: "a cheat" }).waitFor({ state: "detached" });
	assert.equal(await table.getByRole("link").count(), 2);
	assert.match(page.url(), /q=honest/);
	await page.getByLabel(/^GPUs/).fill("2");
	await page.getByText("No matching hosts").waitFor();
	await page.getByRole("button", { name: "Clear" }).click();
	await table.getByRole("link", { name: "a cheat" }).waitFor();
	await table.getByRole("button", { name: "Host" }).click();
	await eventually(async () => (await table.getByRole("link").first().textContent()) === "a cheat");
	assert.equal(await table.locator("th[aria-sort=ascending]").textContent(), "Host ↑");
	await table.getByRole("button", { name: "Host" }).click();
	await eventually(async () => (await table.getByRole("link").last().textContent()) === "a cheat");

	await page.getByLabel("Compare honest one").check();
	await page.getByLabel("Compare another honest one").check();
	assert.deepEqual(await seriousFindings(page), []);
	await page.getByRole("button", { name: "Compare these two" }).click();
	await page.getByRole("heading", { name: "Compare" }).waitFor();
	await page
		.getByRole("row", { name: /int8 matrix/ })
		.getByText("×")
		.waitFor();
	assert.deepEqual(await seriousFindings(page), []);
});

test("nothing that a provider says becomes markup", async () => {
	const evil = `<img src=x onerror="window.hit=1"><script>window.hit=1</script>`;
	const claim = toyClaimOf("GPU-evil");
	const devices = claim.devices.map((device) => ({ ...device, name: "<b onclick=window.hit=1>card</b>" }));
	const host = { ...claim.host, os: "<svg onload=window.hit=1>", cpu: "javascript:window.hit=1" };
	const id = await joinIn(15, { name: evil.slice(0, 90), claim: { ...claim, host, devices } });
	await scored(id);
	const page = await browser.open(`${validator.url}/providers?q=${encodeURIComponent("<img")}`);
	await page.getByRole("link", { name: /^<img src=x/ }).click();
	await page.getByRole("heading", { name: /^<img src=x/ }).waitFor();
	await page.getByText("<b onclick=window.hit=1>card</b>").first().waitFor();
	await page.goto(`${validator.url}/compare?a=${id}&b=${signerOf(11).key}`);
	await page.getByRole("link", { name: /^<img src=x/ }).waitFor();
	// A probe that proved nothing, either way, is said beside figures of the one before.
	const path = `**/v1/providers/${id}`;
	const silent = { lastVerdict: "inconclusive", lastCode: "CHALLENGE_SILENT" };
	await browser.answer(page, path, (json: object) => ({ ...json, ...silent }));
	await page.reload();
	await page.getByText("was probed and nothing was proven, either way").getByText("CHALLENGE_SILENT").waitFor();
	await page.unrouteAll({ behavior: "wait" });
	// Addresses are hostile, too.
	await page.goto(`${validator.url}/providers?model=${encodeURIComponent(evil)}&sort=%3Cb%3E`);
	await page.getByRole("heading", { name: "Providers" }).waitFor();
	assert.equal(await page.evaluate(() => (window as { hit?: number }).hit), undefined);
	assert.equal(await page.locator("main img, main script, main b").count(), 0);
});

test("epochs: without a chain there are none, and the page says so", async () => {
	for (const path of ["/epochs", "/epochs/7"]) {
		const page = await browser.open(`${validator.url}${path}`);
		await page.getByText("There are no epochs without a chain").waitFor();
		assert.deepEqual(await seriousFindings(page), []);
	}
});

test("rent: a key made here, reserved, the way in, released", async () => {
	const page = await browser.open(`${validator.url}/rent`);
	await page.getByText("Nobody offers a host for rent here").waitFor();
	const claim = toyClaim(0, 1);
	const cores = signerOf(29);
	await scored(await joinIn(29, { name: "cores", rentable: true, claim }));
	await page.getByText("One host without a GPU can be rented").waitFor();
	await page.getByLabel("Also hosts without a GPU").check();
	await page.getByRole("button", { name: "Rent cores" }).waitFor();
	await page.getByLabel("Also hosts without a GPU").uncheck();
	const owner = createApiClient({ baseUrl: validator.url, signer: cores });
	await owner.changeProvider({ params: { id: cores.key }, body: { rentable: false } });
	const id = await joinIn(16, { name: "to let", rentable: true });
	await scored(id);
	await page.getByRole("button", { name: "Rent to let" }).click();
	await page.getByText("No account is needed").waitFor();
	assert.equal(await page.evaluate(() => localStorage.getItem("customer-key")), null, "looking costs no key");
	await page
		.getByLabel("Your SSH public key")
		.fill("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f someone@somewhere");
	await page.getByLabel("Hours").fill("2");
	assert.deepEqual(await seriousFindings(page), []);
	await page.getByRole("button", { name: "Reserve for 7.20" }).click();
	await page.getByText("ssh -p 2222 renter@127.0.0.1").waitFor();
	await page.getByText("(a key kept in this browser)").waitFor();
	await page.getByText("One host is for rent here, 1 rented now.").waitFor();
	await page.getByText(/^1:5\d:\d\d$/).waitFor();
	await page.getByRole("button", { name: "Release" }).click();
	await page.locator("[data-rental=ended]").waitFor();
	assert.equal((await validator.client.getProvider({ params: { id } })).rented, false);
});

/** What a command says of this network. */
async function assay(...args: string[]): Promise<string> {
	const said: string[] = [];
	const stream = { write: (words: string) => said.push(words), isTTY: false } as unknown as NodeJS.WriteStream;
	const { signal: interrupted } = new AbortController();
	const io = { out: stream, err: stream, env: { NO_COLOR: "1" }, cwd: data.path, interrupted };
	assert.equal(await runCommand([...args, "--api", validator.url], io), 0, said.join(""));
	return said.join("");
}

test("an attested host joins: its level, marked simulated, is on every page and in no score; a relayed card counts once", async () => {
	const host = await createToyHost([toyCard(0)]);
	closing.push(() => host.close());
	const { path: command } = await findEngine(hostPlatform());
	const env = { ...process.env, ...host.env };
	const openLink = () => createLocalLink({ command, args: ["--no-disk", "--toy-tsm", host.tsm], env });
	const told: Finding[] = [];
	const verdict: AgentHandlers["verdict"] = ({ findings }) => void told.push(...findings);
	const id = await joinIn(17, { name: "attested one", rentable: true, openLink });
	const { attestation, scorePpm } = await scored(id);
	assert.ok(attestation !== null);
	assert.deepEqual(
		[attestation.level, attestation.shown, attestation.isSimulated, attestation.elsewhere],
		["none", "hosted", true, []],
	);
	const [device] = attestation.devices;
	assert.deepEqual([device?.chip, device?.level], ["GH100", "measured"]);
	assert.ok(attestation.reasons.some(({ code }) => code === "SIMULATED_ROOTS"));
	// In no score: no term of it, and no more than a host of the same engine without such cards.
	const { terms } = await validator.client.getProviderScore({ params: { id } });
	assert.doesNotMatch(JSON.stringify(terms), /attest|hosted|measured|simulated/i);
	assert.equal(scorePpm, 0, "a host without a GPU");

	// The vendors' files are in the evidence: whoever has it sees the same, at any time.
	const [probe] = (await validator.client.listProviderProbes({ params: { id }, query: {} })).rows;
	const evidence = await validator.client.getProbeEvidence({ params: { id: probe!.id } });
	const again = verifyEvidence(evidence, { signers: [validator.key] });
	assert.equal(
		again.status === "valid" && again.attestation?.shown,
		"measured",
		"which guests are allowed is not in it",
	);
	assert.ok(again.status === "valid" && again.attestation?.reasons.some(({ code }) => code === "RELAYABLE"));
	const own = verifyEvidence(evidence, { guests: [TOY_GUEST] });
	assert.equal(own.status === "valid" && own.attestation?.shown, "hosted");
	assert.match(await assay("providers"), /^.* attested one .* hosted, simulated .*$/m);
	for (const [verb, subject] of [
		["providers show", id],
		["probes", probe!.id],
	] as const)
		assert.match(
			await assay(...verb.split(" "), subject),
			/attestation {2}SIMULATED: hosted under roots of a mint, which counts for nothing\n {4}gpu GH100, key .*, measured,/,
		);

	const second = await joinIn(18, { name: "relays it", openLink, handlers: { verdict } });
	const relayed = await scored(second);
	assert.deepEqual(relayed.attestation?.elsewhere, [{ key: device!.key, providerId: id }]);
	const [other] = (await validator.client.listProviderProbes({ params: { id: second }, query: {} })).rows;
	const { findings } = await validator.client.getProbe({ params: { id: other!.id } });
	const elsewhere = findings.find(({ code }) => code === "DEVICE_ELSEWHERE");
	assert.match(elsewhere?.detail ?? "", new RegExp(`^simulated: counted already: [0-9a-f]{16} for ${id}$`));
	await eventually(async () => told.some(({ code }) => code === "DEVICE_ELSEWHERE"));
	assert.deepEqual((await scored(id)).attestation?.elsewhere, [], "who showed it first is not touched");

	const page = await browser.open(`${validator.url}/`);
	const badge = page.locator(".badge", { hasText: "hosted" }).getByText("simulated", { exact: true });
	const paths = ["/", "/providers", `/providers/${id}`, "/probes", `/probes/${probe!.id}`, "/rent?noGpu=1"];
	for (const path of [...paths, `/compare?a=${second}&b=${id}`, `/rent?provider=${id}`]) {
		if (path !== "/") await followLink(page, path);
		await badge.first().waitFor();
		if (path === `/providers/${id}`) {
			await page.getByRole("cell", { name: "measured, simulated" }).waitFor();
			await page.getByRole("cell", { name: device!.firmware! }).waitFor();
			assert.deepEqual(await seriousFindings(page), []);
		}
	}
	// The browser judges the same, by its own curves.
	await followLink(page, "/verify");
	const file = { name: "attested.assay", bytes: evidence };
	assertAlike(file, await toldByCli(file, data.path), await shownByPage(page, file));
	await page.locator(".verify[data-status=valid]").getByText("SIMULATED_ROOTS").first().waitFor();
	for (const path of [`/providers/${second}`, `/probes/${other!.id}`]) {
		await followLink(page, path);
		await page.getByText("A card counts for one provider, so the level here is none.").waitFor();
	}
});

test("by keyboard alone: skip, walk, sort, open", async () => {
	const page = await browser.open(`${validator.url}/`);
	await page.getByRole("heading", { name: "A network of proven GPUs" }).waitFor();
	const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");
	const tabTo = async (name: string) => {
		for (let i = 0; i < 60; i++) {
			await page.keyboard.press("Tab");
			if ((await focused()) === name) return;
		}
		assert.fail(`no way to ${name} by Tab`);
	};
	await page.keyboard.press("Tab");
	assert.equal(await focused(), "Skip to content");
	await page.keyboard.press("Enter");
	await page.waitForFunction(() => document.activeElement?.id === "main");
	await page.goto(`${validator.url}/`);
	await tabTo("Providers");
	await page.keyboard.press("Enter");
	await page.getByRole("heading", { name: "Providers" }).waitFor();
	await page.getByRole("link", { name: "a cheat" }).waitFor();
	await tabTo("Host");
	await page.keyboard.press("Enter");
	await page.locator("th[aria-sort=ascending]").waitFor();
	await tabTo("a cheat");
	await page.keyboard.press("Enter");
	await page.getByRole("heading", { name: "a cheat" }).waitFor();
	// The focus follows to the new page.
	await page.waitForFunction(() => document.activeElement?.textContent === "a cheat");
});

test("every page, narrow and dark, then wide: no text cut, none on another, nothing spills over, nothing serious found", async () => {
	const page = await browser.open(`${validator.url}/`);
	const id = signerOf(11).key;
	const { rows } = await validator.client.listProbes({ query: { providerId: id } });
	const { rows: failed } = await validator.client.listProbes({ query: { verdict: "invalid" } });
	browser.allow(/404/);
	const paths = ["/providers", `/providers/${id}`, `/providers/${"0".repeat(64)}`, "/providers?q=nobody-at-all"];
	paths.push("/probes", `/probes/${rows[0]!.id}`, `/probes/${failed[0]!.id}`, "/epochs", "/roll-calls", "/disputes");
	paths.push("/rent", "/verify", `/rent?provider=${id}`, `/verify?probe=${rows[0]!.id}`, "/nowhere", "/market");
	paths.push(`/compare?a=${id}&b=${signerOf(14).key}`, "/programs", "/compare", "/jobs");
	// A phone by night; in the light every page is looked at by its own test, which also loads it by its
	// address.
	await page.evaluate(() => localStorage.setItem("theme", "dark"));
	await page.reload();
	for (const path of ["/", ...paths]) {
		await page.setViewportSize({ width: 390, height: 800 });
		// What no other test loads by its address is loaded here.
		if (/^\/(nowhere|compare|rent\?.*|verify\?.*)$/.test(path)) await page.goto(validator.url + path);
		else if (path !== "/") await followLink(page, path);
		await page.locator("h1").waitFor();
		await page.locator(".loading, .verify[data-status=running]").first().waitFor({ state: "detached" });
		assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
		assert.deepEqual(await layoutFaults(page), [], `${path}, narrow`);
		assert.deepEqual(await seriousFindings(page), [], path);
		await page.setViewportSize({ width: 1280, height: 800 });
		assert.deepEqual(await settledFaults(page), [], `${path}, wide`);
	}
	// And the measure measures.
	await page.evaluate(() => {
		const [cut, over] = [document.createElement("p"), document.createElement("p")];
		cut.textContent = "a text that is far too long for its box";
		cut.style.cssText = "width: 80px; overflow: hidden; white-space: nowrap";
		over.textContent = "on the other";
		over.style.marginTop = "-2.6rem";
		document.querySelector("main")?.append(cut, over);
	});
	assert.deepEqual(
		(await layoutFaults(page)).map((fault) => fault.split(":")[0]),
		["is cut", "overlap"],
	);
});
