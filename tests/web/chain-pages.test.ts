// The chain's pages in a real Chromium against a real validator, PostgreSQL and the embedded chain with its
// contracts. The clock is moved, never waited for: an epoch goes from open to final before the visitor's
// eyes, rewards are claimed, and an audit in the browser names the row that somebody changed on disk.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { ensureBuilt } from "../../scripts/build-web.ts";
import { callOf } from "../../src/chain/contracts/contracts.ts";
import { approveCall, registerCall, signDevice, statementOf } from "../../src/chain/contracts/registry.ts";
import { claimCall, readClaimed } from "../../src/chain/contracts/rewards.ts";
import * as board from "../../src/chain/contracts/scoreboard.ts";
import { createChainClient } from "../../src/chain/node/chain-client.ts";
import { httpRpc } from "../../src/chain/node/http-rpc.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { createScoreReport } from "../../src/market/epochs/score-report.ts";
import { createWeights, type SignableWeights } from "../../src/market/epochs/weights.ts";
import { given } from "../../src/market/scores/recompute.ts";
import type { Json } from "../../src/protocol/bytes/canonical-json.ts";
import { type Hex, toHex } from "../../src/protocol/chain/hex.ts";
import { signChainKey } from "../../src/protocol/chain/key-binding.ts";
import { weightsId } from "../../src/protocol/chain/weights-statement.ts";
import { withoutLogin } from "../../src/protocol/network/without-login.ts";
import { attestation, probeByHand } from "../../src/store/sample-rows.test-kit.ts";
import { accuseSigners } from "../../src/validator/audit/accuse-signers.ts";
import { auditEpoch } from "../../src/validator/audit/audit-epoch.ts";
import { archiveSource } from "../../src/validator/audit/audit-source.ts";
import { chainFolder, loadChainKey, readContracts, treasurerOf } from "../../src/validator/settlement/home.ts";
import { createReportArchive } from "../../src/validator/settlement/report-archive.ts";
import { exactAmount, shortAccount, shortAmount } from "../../web/chain/chain-format.ts";
import {
	eventually,
	makeDataDir,
	signerOf,
	startToyValidator,
	type ToyValidator,
} from "../validator/toy-agent.test-kit.ts";
import { type Browser, followLink, seriousFindings, startBrowser } from "./browser.test-kit.ts";

const data = makeDataDir();
let validator: ToyValidator;
let browser: Browser;
/** Stands still between two steps: no window passes by itself, however slow the machine is. */
let clockMs = Date.now();
const nowMs = () => clockMs;
const goTo = (atMs: number): void => {
	clockMs = Math.max(clockMs, atMs + 50);
};

/** Scores as if they were proven: toys are worth nothing. */
const SCORES = [600_000, 300_000, 100_001];
/** The last one has an account of its own on the chain, for which its key vouches. */
const own = signerOf(30);
const ownAccount = accountOf(`0x${"3d".repeat(32)}`);
const idOf = (i: number) => (i === 2 ? own.key : `a${i}`.repeat(32));

before(async () => {
	await ensureBuilt();
	validator = await startToyValidator(
		{
			dataDir: data.path,
			params: { maxAgeMs: 36_000_000 },
			// Turns are a tenth of a window.
			chain: { epochSeconds: 3600, windowSeconds: 2 },
			probes: false,
		},
		{ nowMs },
	);
	const by = { nowMs: nowMs(), actor: "test" };
	for (const [i, scorePpm] of SCORES.entries()) {
		const offer = { name: `host ${i}`, pricePerHourMicros: 0, rentable: false, ssh: false, claim: null } as const;
		await validator.store.providers.register({ id: idOf(i), link: "agent", target: "", ...offer }, by);
		const root = given("score", "ppm", scorePpm);
		const terms = { version: 1, providerId: idOf(i), mode: "holistic", evidence: null, scorePpm, why: "", root };
		const score = { providerId: idOf(i), atMs: nowMs(), scorePpm, mode: "holistic", terms: terms as unknown as Json };
		await validator.store.scores.put([score]);
	}
	const attested = { attestation: attestation([idOf(9)], { level: "none", isSimulated: true }) };
	await probeByHand(validator.store, idOf(0), "attested", { ...attested, validator: validator.key });
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

async function reach() {
	const addresses = (await readContracts(join(chainFolder(data.path), "contracts.json")))!;
	const client = await createChainClient(httpRpc(validator.chain!.url), { confirmations: 1, pollMs: 20 });
	const treasurer = (await treasurerOf({ folder: chainFolder(data.path), isEmbedded: true }))!;
	return { contracts: { client, addresses }, treasurer };
}
const self = () => validator.chain!.account.toLowerCase() as Hex;
const EMISSION = 1000n * 10n ** 18n;
const shown = (amount: bigint) => `${shortAmount(String(amount), 18)} ASSAY`;

/** The last provider registers with a stake of its own and binds a device that this validator vouches for. */
async function bindDevice(): Promise<void> {
	const { contracts, treasurer } = await reach();
	const { client } = contracts;
	const stake = 25n * 10n ** 18n;
	await sendCall(client, treasurer, { to: ownAccount.address, data: "0x", value: 10n ** 18n });
	await sendCall(client, treasurer, callOf(contracts, "token", "transfer", ownAccount.address, stake));
	await sendCall(client, ownAccount, approveCall(contracts, stake));
	const named = {
		chainId: contracts.addresses.chainId,
		registry: contracts.addresses.registry,
		account: ownAccount.address,
		number: 1,
	};
	await sendCall(
		client,
		ownAccount,
		registerCall(contracts, {
			role: "provider",
			signingKey: `0x${own.key}`,
			keyNumber: 1,
			keyProof: signChainKey(own, named),
			endpoint: "",
			amount: stake,
		}),
	);
	const secret = await loadChainKey(chainFolder(data.path), "account", () => new Uint8Array(8));
	const attestation = {
		device: toHex(new Uint8Array(32).fill(0xd1)),
		provider: ownAccount.address,
		evidenceSha256: toHex(new Uint8Array(32).fill(0xe1)),
		issuedAt: BigInt(Math.floor(nowMs() / 1000)),
	};
	const signature = await signDevice(accountOf(toHex(secret)), contracts.addresses, attestation);
	const statement = statementOf(contracts.addresses, attestation);
	await sendCall(client, ownAccount, callOf(contracts, "registry", "bindDevice", statement, [signature]));
}

/** What the epoch must come to, from its published leaves and the chain alone: the chain has its id. */
async function rightWeights(epoch: number): Promise<SignableWeights> {
	const { contracts } = await reach();
	const published = await fetch(`${validator.url}/chain/${epoch}/report-${self()}.json`);
	const { leaves } = (await published.json()) as { leaves: [Hex, number, Hex][] };
	const report = createScoreReport(
		leaves.map(([provider, scorePpm, evidenceSha256]) => ({ provider, scorePpm, evidenceSha256 })),
	);
	const params = await board.readEpochParams(contracts);
	const right = createWeights(1n, {
		epoch: BigInt(epoch),
		base: null,
		seats: await board.readSeats(contracts, epoch),
		reports: [report],
		pot: EMISSION,
		totalStake: 14_000n * 10n ** 18n,
		rules: { ...params, targetWeight: BigInt(params.targetWeight) },
	});
	assert.equal((await board.readPosted(contracts, epoch))!.id, weightsId(contracts.addresses, right.weights));
	return right;
}

test("an epoch goes from open to final before the visitor's eyes, with weights and rewards as the chain has them", async () => {
	const { contracts, treasurer } = await reach();
	const { client } = contracts;
	// Another validator that has stake and never reports: less than a third.
	const silent = accountOf(`0x${"5e".repeat(32)}`);
	const amount = 4000n * 10n ** 18n;
	await sendCall(client, treasurer, { to: silent.address, data: "0x", value: 10n ** 18n });
	await sendCall(client, treasurer, callOf(contracts, "token", "transfer", silent.address, amount));
	await sendCall(client, silent, approveCall(contracts, amount));
	const signingKey = toHex(new Uint8Array(32).fill(7));
	const registration = { role: "validator", signingKey, keyProof: "0x", endpoint: "<b>x</b>", amount } as const;
	await sendCall(client, silent, registerCall(contracts, registration));
	await bindDevice();

	const overview = await browser.open(`${validator.url}/`);
	const line = overview.locator(".chain-line");
	await line.getByText(String(contracts.addresses.chainId)).waitFor();
	await line.getByRole("link", { name: "Epoch 0" }).waitFor();
	const page = await browser.open(`${validator.url}/epochs/0`);
	const now = page.getByRole("list", { name: "Epoch 0, step by step" }).locator("[aria-current=step]");
	await now.getByText("open").waitFor();
	await page.getByText("No weights yet").waitFor();
	await page.getByText("Nothing was sent for this epoch yet").waitFor();

	const { endsAt, revealsAt, signsAt } = board.windowsOf(await board.readEpochParams(contracts), 0);
	const reports = page.getByRole("region", { name: "Reports of all validators" });
	goTo(endsAt * 1000);
	await reports.getByText("committed").waitFor();
	await now.getByText("commit").waitFor();
	goTo(revealsAt * 1000);
	await reports.getByText("revealed").waitFor();
	await reports.getByText("✓ give the root").waitFor();
	assert.equal(
		await reports
			.getByRole("row")
			.filter({ hasText: shortAccount(silent.address.toLowerCase()) })
			.getByText("nothing yet")
			.count(),
		1,
	);
	goTo(signsAt * 1000);
	await now.getByText("challenge").waitFor();
	await reports.getByText("✓ in the set").waitFor();
	await reports.getByText("✓ signed").waitFor();
	await page.getByRole("region", { name: "Weights", exact: true }).getByText("71.4 % of the stake").first().waitFor();
	const { finalAt } = (await board.readPosted(contracts, 0))!;
	goTo(finalAt * 1000);
	await page.locator(".rail .is-final.is-done").waitFor();
	await line.getByRole("link", { name: "Epoch 0", exact: true }).waitFor({ state: "detached" });

	const right = await rightWeights(0);
	const table = page.getByRole("region", { name: "Weights and rewards of all accounts" });
	assert.equal(right.leaves.length, 4, "three providers and the validator, which earns too");
	const attested = table.locator(".badge", { hasText: "measured" });
	await attested.getByText("simulated", { exact: true }).waitFor();
	assert.equal(await attested.count(), 1);
	for (const { account, weightPpm, earned, total } of right.leaves) {
		const row = table.getByRole("row").filter({ hasText: shortAccount(account) });
		const score = (weightPpm / 1e6).toFixed(4);
		const cells = (await row.getByRole("cell").allTextContents()).map((text) => text.trim());
		const figures = account === self() ? ["–", "–", "–"] : [score, score, score];
		assert.deepEqual(cells.slice(1), [...figures, shown(earned), shown(total), "not yet"]);
		assert.equal(
			await row.locator(".amount").first().getAttribute("title"),
			`${exactAmount(String(earned), 18)} ASSAY`,
		);
	}
	const { paid } = right.weights;
	assert.ok(paid <= EMISSION && EMISSION - paid < 4n, "all of it but what does not divide");
	// Of all that was sent: block, gas, age.
	const sent = page.getByRole("region", { name: "Transactions, newest first" });
	for (const what of ["committed to a report", "revealed its root", "posted weights"]) {
		const cells = await sent.getByRole("row").filter({ hasText: what }).getByRole("cell").allTextContents();
		assert.match(cells[3]!, /^\d+$/);
		assert.match(cells[4]!, /^\d{2,3}\u202f\d{3}$/);
		assert.match(cells[5]!, /ago|now/);
	}
	assert.equal(await page.locator("main b").count(), 0, "an endpoint is text");
});

test("a paid reward shows as paid, in the epoch and on the provider's page", async () => {
	const { contracts, treasurer } = await reach();
	const { client } = contracts;
	const right = await rightWeights(0);
	const account = (await validator.client.getProviderChain({ params: { id: idOf(0) } })).account!.account as Hex;
	const [opening] = right.openAccount(account);
	const { earned } = opening!.leaf;
	const page = await browser.open(`${validator.url}/providers/${idOf(0)}`);
	const panel = page.getByRole("region", { name: "On chain" });
	await panel.getByText("one claim pays all of it").waitFor();
	const tile = (name: string) => panel.locator(".tile").filter({ has: page.getByText(name, { exact: true }) });
	const figureOf = (name: string) => tile(name).locator(".tile-value").textContent();
	assert.deepEqual(
		[await figureOf("Earned"), await figureOf("To be claimed"), await figureOf("Paid")],
		[shown(earned), shown(earned), "0 ASSAY"],
	);
	assert.deepEqual(await seriousFindings(page), []);

	await sendCall(client, treasurer, claimCall(contracts, { weights: right.weights, opening: opening! }));
	assert.equal(await readClaimed(contracts, account), earned);
	// Nobody reloads.
	await tile("Paid").getByText(shown(earned)).first().waitFor();
	await panel.getByText("nothing waits").waitFor();
	await panel.getByText("kept by the embedded chain’s owner").waitFor();
	await panel.getByRole("region", { name: "Paid to it" }).getByText(shown(earned)).waitFor();
	assert.equal(await panel.getByText("Devices bound to it").count(), 0);
	await followLink(page, `/providers/${own.key}`);
	await panel.getByText(shortAccount(ownAccount.address.toLowerCase())).waitFor();
	assert.equal(await tile("Stake").locator(".tile-value").textContent(), "25 ASSAY");
	await panel
		.getByRole("region", { name: "Devices bound to it" })
		.getByText(`0x${"d1".repeat(3)}…d1d1`)
		.waitFor();
	assert.deepEqual(await seriousFindings(page), []);
	await followLink(page, "/epochs/0");
	const row = page.getByRole("row").filter({ hasText: shortAccount(account) });
	await row.getByText("✓ all paid").waitFor();
	assert.equal(await page.getByText("✓ all paid").count(), 1);
});

test("the audit, by keyboard: equal; and when somebody changes a leaf on disk it names the row", async () => {
	const page = await browser.open(`${validator.url}/epochs/0`);
	await page.getByRole("button", { name: "Audit this epoch" }).waitFor();
	const equal = page.locator("[data-audit=equal]");
	// A page that is drawn anew may lose the focus, and an audit that began while it was drawn is asked for
	// again.
	for (let i = 0; i < 240 && !(await equal.isVisible()); i++) {
		await page.keyboard.press("Tab");
		const focused = (await page.evaluate(() => document.activeElement?.textContent)) ?? "";
		if (!/^Audit (this epoch|again)$/.test(focused)) continue;
		await page.keyboard.press("Enter");
		await equal.waitFor({ timeout: 20_000 }).catch(() => {});
	}
	await equal.waitFor();
	const checks = page.getByRole("list", { name: "Checks of the audit" });
	for (const what of [
		"Report of",
		"Scores of",
		"Quorum",
		"Base",
		"Id",
		"Set",
		"Signatures",
		"Stake behind them",
		"Published weights",
		"Root",
		"Sums",
		"Medians",
		"Earned",
		"Totals",
		"Payments",
		"Table",
	])
		assert.equal(await checks.locator(".is-equal .audit-title", { hasText: new RegExp(`^${what}`) }).count(), 1, what);
	await page.getByText("Without this validator’s word").click();
	await page.getByText("assay audit 0", { exact: true }).waitFor();
	// The commands ask the chain for what the page says it has.
	const { id } = (await validator.client.getChainEpoch({ params: { number: 0 } })).posted!;
	const command = await page.locator("pre").nth(1).textContent();
	const [, body] = / -d '(.*)'$/.exec(command!)!;
	const asked = await fetch(withoutLogin(validator.chain!.url), {
		method: "POST",
		body: body!,
		headers: { "content-type": "application/json" },
	});
	assert.ok(((await asked.json()) as { result: string }).result.startsWith(id));
	assert.deepEqual(await seriousFindings(page), []);

	for (const [kind, name] of [
		["report", self()],
		["rewards", id],
	]) {
		const path = join(chainFolder(data.path), "epochs", "0", `${kind}-${name}.json`);
		const whole = await readFile(path, "utf8");
		const file = JSON.parse(whole) as { leaves: [string, number, ...string[]][] };
		const leaf = file.leaves[1]!;
		leaf[1] += 1;
		await writeFile(path, JSON.stringify(file));
		try {
			await page.getByRole("button", { name: "Audit again" }).click();
			await page.locator("[data-audit=differs]").waitFor();
			const found = page.getByRole("region", { name: "What differs" });
			const rows = found.getByRole("row").filter({ hasText: shortAccount(leaf[0]) });
			// Nor do a report's terms give it.
			const what = kind === "report" ? "score" : "weight";
			await rows.filter({ hasText: what }).getByText(String(leaf[1]), { exact: true }).waitFor();
			const root = kind === "report" ? "leaves give" : "another root";
			assert.equal(await found.getByRole("row").filter({ hasText: root }).count(), 1);
			for (const [other] of file.leaves.filter((one) => one !== leaf))
				assert.equal(await found.getByText(shortAccount(other)).count(), 0, "nobody else is named");
		} finally {
			await writeFile(path, whole);
		}
	}
	await page.getByRole("button", { name: "Audit again" }).click();
	await page.locator("[data-audit=equal]").waitFor();
});

test("the epochs' list, an unknown epoch, a phone in the dark: nothing spills over, nothing serious found", async () => {
	const page = await browser.open(`${validator.url}/epochs`);
	const list = page.getByRole("region", { name: "Epochs" });
	await list.getByRole("row").filter({ hasText: "final" }).getByRole("link", { name: "0", exact: true }).click();
	await page.getByRole("heading", { name: "Epoch 0" }).waitFor();
	await followLink(page, "/epochs/4000000000");
	await page.getByRole("alert").getByText("EPOCH_UNKNOWN").waitFor();
	browser.allow(/404/);
	await followLink(page, "/epochs/first");
	await page.getByText("An epoch has a number").waitFor();
	await page.setViewportSize({ width: 390, height: 800 });
	await page.getByRole("button", { name: "Use the dark theme" }).click();
	for (const path of ["/", "/epochs", "/epochs/0"]) {
		await followLink(page, path);
		await page.locator(".rail, .chain-line").first().waitFor();
		await page.locator(".loading").first().waitFor({ state: "detached" });
		const width = await page.evaluate(() => document.documentElement.scrollWidth);
		assert.ok(width <= 390, `${path} is ${width} px wide`);
		assert.deepEqual(await seriousFindings(page), [], path);
	}
});

test("a node that is silent: the pages say so, and what was there stays", async () => {
	const page = await browser.open(`${validator.url}/epochs/0`);
	await page.getByText("✓ all paid").waitFor();
	// The API's own answer is serving/chain/views.test.ts; here it is what a visitor sees of it.
	const problem = {
		type: "x",
		title: "x",
		status: 503,
		code: "CHAIN_UNREACHABLE",
		detail: "the node is away",
		hint: "wait",
		requestId: "1",
	};
	await page.route("**/v1/chain**", (route) =>
		route.fulfill({ status: 503, contentType: "application/problem+json", body: JSON.stringify(problem) }),
	);
	browser.allow(/503/);
	await page.getByText("does not answer").waitFor();
	assert.equal(await page.getByText("✓ all paid").count(), 1);
	await page.goto(`${validator.url}/epochs`);
	await page.getByRole("alert").getByText("CHAIN_UNREACHABLE").waitFor();
	await page.unroute("**/v1/chain**");
	// Nobody clicks: the page asks again by itself.
	await page.getByRole("region", { name: "Epochs" }).waitFor();
});

test("the API: pages of epochs, weights and transactions; cursors and numbers that are none", async () => {
	const { client } = validator;
	const one = await client.listChainWeights({ params: { number: 0 }, query: { limit: 2 } });
	const two = await client.listChainWeights({ params: { number: 0 }, query: { limit: 2, cursor: one.cursor! } });
	assert.deepEqual([one.rows.length, two.rows.length, two.cursor], [2, 2, null]);
	assert.deepEqual(
		[...one.rows, ...two.rows].map(({ providerId }) => providerId),
		[idOf(0), idOf(1), idOf(2), null],
	);
	const epochs = await client.listChainEpochs({ query: { limit: 1 } });
	const older = await client.listChainEpochs({ query: { limit: 1, cursor: epochs.cursor! } });
	assert.deepEqual([epochs.rows[0]!.number, older.rows[0]!.number, older.cursor], [1, 0, null]);
	const sent = await client.listChainTransactions({ params: { number: 0 }, query: { limit: 3 } });
	assert.deepEqual(
		sent.rows.map(({ what }) => what),
		["post", "reveal", "commit"],
	);
	await assert.rejects(client.listChainEpochs({ query: { cursor: "abc" } }), { code: "CURSOR_BAD" });
	await assert.rejects(client.getChainEpoch({ params: { number: 2 } }), { code: "EPOCH_UNKNOWN" });
	const nobody = await client.getChainAccount({ params: { account: `0x${"9".repeat(40)}` } });
	assert.deepEqual([nobody.role, nobody.stake, nobody.claims], ["none", "0", []]);
	const own = await client.getChainAccount({ params: { account: self() } });
	assert.deepEqual([own.role, own.stake, own.providerId], ["validator", String(10_000n * 10n ** 18n), null]);
	await eventually(async () => (await client.getChain()).chain !== null);
});

test("weights that somebody signed and that are wrong: who proved it, who lost what", async () => {
	const { contracts, treasurer } = await reach();
	const secret = await loadChainKey(chainFolder(data.path), "account", () => new Uint8Array(8));
	const signer = accountOf(toHex(secret));
	const weights = { ...(await rightWeights(0)).weights, set: 3n };
	const signature = await board.signWeights(signer, contracts.addresses, weights);
	const kept = archiveSource(createReportArchive(join(chainFolder(data.path), "epochs")));
	const { view, wrong } = await auditEpoch({
		contracts,
		epoch: 0,
		source: { ...kept, statements: async () => [{ weights, signatures: [{ signer: self(), signature }] }] },
		evidence: null,
	});
	assert.deepEqual(await accuseSigners(contracts, treasurer, { view, wrong, secret: new Uint8Array(32) }), [self()]);
	const page = await browser.open(`${validator.url}/epochs/0`);
	const panel = page.getByRole("region", { name: "Proven wrong" });
	await panel.getByText("signed and not posted").waitFor();
	await panel.getByText("the set of reports is wrong").waitFor();
	await panel.getByText(shown(5000n * 10n ** 18n)).waitFor();
	await page.getByRole("row").filter({ hasText: "signer punished" }).waitFor();
	assert.deepEqual(await seriousFindings(page), []);
	await page.setViewportSize({ width: 390, height: 800 });
	assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
	assert.equal(await page.locator(".rail .is-final.is-done").count(), 1, "what was final stays so");
});
