// What somebody does in the browser after `assay up`, beginning on the first page each time, without a wallet
// and without a command: a job from the form until it is paid and its result is shown, a rental of this
// machine, and with --liar a lie from the job to the number that is explained. In the deep tier: `up` proves
// this machine several times over before there is somebody to hire. The single pages, with every turn that
// they can take: job-pages, dashboard and dispute-pages.test.ts.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { ensureBuilt } from "../../scripts/build-web.ts";
import { isDeep } from "../fuzz.test-kit.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { type Browser, startBrowser } from "./browser.test-kit.ts";
import { handIn, watchToPaid } from "./job-network.test-kit.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "assay-first-page-"));
const PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
let browser: Browser;

before(async () => {
	if (isDeep) await ensureBuilt();
});
after(() => rmSync(scratch, { recursive: true, force: true }));

/** A network of `assay up`, as a program of its own, and a browser that knows nothing. */
async function startUp(name: string, ...args: string[]) {
	const env = {
		...{ ...process.env, HOME: scratch, ASSAY_HOME: join(scratch, name), NO_COLOR: "1" },
		...{ DATABASE_URL: "", ASSAY_API: "", ASSAY_TOKEN: "" },
	};
	const up = spawn(process.execPath, [main, "up", ...args], { cwd: scratch, env });
	const ended = new Promise<void>((resolve) => up.once("close", () => resolve()));
	const lines: string[] = [];
	for (const input of [up.stdout, up.stderr]) createInterface({ input }).on("line", (line) => lines.push(line));
	const said = (pattern: RegExp): Promise<RegExpExecArray> =>
		eventually(async () => {
			assert.equal(up.exitCode, null, `up ended before ${pattern}:\n${lines.join("\n")}`);
			return lines.map((line) => pattern.exec(line)).find((found) => found !== null);
		});
	const [, url] = await said(/^dashboard +(\S+)/);
	browser = await startBrowser();
	return {
		said,
		firstPage: () => browser.open(url!),
		async close() {
			browser.check();
			await browser.close();
			up.kill("SIGTERM");
			await ended;
		},
	};
}

/** By the step of this title on the first page. */
async function follow(page: Page, title: string): Promise<void> {
	const step = page.locator(".step", { has: page.getByRole("heading", { name: title }) });
	await step.getByRole("link").click();
}

const skip = isDeep ? false : "in the deep tier: `up` proves this machine several times over";

test("from the first page: a job until it is paid and its result is shown, and a rental, without a wallet", {
	skip,
}, async () => {
	const network = await startUp("honest");
	const page = await network.firstPage();
	await page.getByText("it costs nothing, and you need no wallet").waitFor();
	await follow(page, "Run a job");
	await network.said(/^jobs +3 hosts ready/);
	await handIn(page, { card: "Simulate", method: "Run twice", fields: { Frames: "2" } });
	await watchToPaid(page);
	await page.close();

	const second = await network.firstPage();
	await follow(second, "Rent a GPU");
	await second.getByText("One host without a GPU can be rented").waitFor();
	await second.getByLabel("Also hosts without a GPU").check();
	await second.getByRole("button", { name: /^Rent / }).click();
	await second.getByLabel("Your SSH public key").fill(PUBLIC_KEY);
	await second.getByRole("button", { name: /^Reserve for / }).click();
	await second.getByText(/^ssh .*@/).waitFor();
	await second.getByRole("button", { name: "Release" }).click();
	await second.locator("[data-rental=ended]").waitFor();
	await network.close();
});

test("from the first page: a liar is convicted, its number is explained, and the job is done anew and paid", {
	skip,
}, async () => {
	const network = await startUp("liar", "--liar");
	const page = await network.firstPage();
	await follow(page, "Run a job");
	await network.said(/^liar +it is ready/);
	await handIn(page, { card: "Simulate", method: "On trust", fields: { Frames: "2" } });
	const second = await network.firstPage();
	await second.getByText("A provider of this network claimed a number that is false").waitFor();
	await follow(second, "See a liar caught");
	await second.getByText("convicted by proof").waitFor();
	const [said, right] = await Promise.all(
		["said", "right"].map((word) => second.locator(`[data-fraud=${word}]`).first().textContent()),
	);
	assert.notEqual(said, right);
	await watchToPaid(page);
	await network.close();
});
