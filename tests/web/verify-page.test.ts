// The verify page in a real Chromium: the H200's evidence gives the verdict of the CLI, a spoiled file is
// refused with its code, offline too.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Page } from "playwright-core";
import { buildWeb, compress, ensureBuilt } from "../../scripts/build-web.ts";
import type { ApiServer } from "../../src/api/server/create-server.ts";
import { nodeSignatures } from "../../src/platform/node-signatures.ts";
import type { Verdict } from "../../src/protocol/probe/verdict.ts";
import { mintedRounds } from "../../src/verify/attestation/mint/minted-rounds.test-kit.ts";
import type { AttestationVerdict } from "../../src/verify/attestation/verdict.ts";
import { rememberSignatures } from "../../src/verify/attestation/x509/signature.ts";
import { verifyEvidence } from "../../src/verify/hardware/verify.ts";
import { fraudSamples } from "../../src/verify/optimistic/fraud/fraud-samples.test-kit.ts";
import { tamperedFrauds } from "../../src/verify/optimistic/fraud/fraud-tampers.test-kit.ts";
import type { FraudVerdict } from "../../src/verify/optimistic/fraud/fraud-verdict.ts";
import { verifyFraud } from "../../src/verify/optimistic/fraud/judge-fraud.ts";
import { encodeProofFile, openProofFile } from "../../src/verify/zk/proof-file.ts";
import { forgedRun, REAL_POINT } from "../../src/verify/zk/run/forged-run.test-kit.ts";
import { proofSizes } from "../../src/verify/zk/verify-segment.ts";
import { mixedSample } from "../../src/work/builder/samples.test-kit.ts";
import { encodeProgram } from "../../src/work/program/encode.ts";
import { printProgram } from "../../src/work/program/print-text.ts";
import { formatFigure } from "../../web/parts/format.ts";
import { judgeAttestation, judgeQuickly } from "../../web/verify/judge-attestation.ts";
import { startToyApi } from "../api/toy-api.test-kit.ts";
import { differences } from "../attestation/judge-case.test-kit.ts";
import { judge, realCases, sample as realSample, samplesMissing } from "../attestation/real-cases.test-kit.ts";
import { answeredCall, openRollChain } from "../roll-call-chain.test-kit.ts";
import { type Browser, seriousFindings, startBrowser } from "./browser.test-kit.ts";
import { evidenceFiles } from "./evidence-files.test-kit.ts";
import { layoutFaults } from "./layout.test-kit.ts";
import { assertAlike, shownByPage, toldByCli } from "./told-alike.test-kit.ts";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const sample = join(root, "vectors/h200.assay");
let server: ApiServer;
let browser: Browser;
let url: string;
before(async () => {
	await ensureBuilt();
	// Its clock stands still, and with it the limits of an address.
	({ server, url } = await startToyApi({ dashboard: join(root, "build/web"), limits: { readsPerS: 100_000 } }));
	browser = await startBrowser({ keepsFiles: true });
});
after(async () => {
	await browser?.close();
	await server?.close();
});
afterEach(async () => {
	await browser.closePages();
	browser.check();
});

/** What `assay verify --json` says. */
async function cliVerdict(path: string): Promise<Verdict> {
	const child = spawn(process.execPath, [join(root, "src/cli/main.ts"), "verify", "--json", path], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	let text = "";
	for await (const chunk of child.stdout) text += chunk;
	return JSON.parse(text) as Verdict;
}

const choose = (page: Page, name: string, buffer: Buffer) =>
	page.getByLabel("Evidence file").setInputFiles({ name, mimeType: "application/octet-stream", buffer });

test("the H200's evidence: the same verdict and figures as the CLI's", async () => {
	const [page, cli] = await Promise.all([browser.open(`${url}/verify`), cliVerdict(sample)]);
	assert.equal(cli.status, "valid");
	await choose(page, "h200.assay", readFileSync(sample));
	await page.locator(".verify[data-status=valid]").waitFor();
	assert.ok(cli.status === "valid");
	for (const device of new Set(cli.figures.map((figure) => figure.device))) {
		const block = page.locator(".device-block", { has: page.getByRole("heading", { name: `Device ${device}:` }) });
		const shown = await block
			.locator("[data-figure]")
			.evaluateAll((all) => all.map((one) => [one.getAttribute("data-figure"), one.textContent]));
		const told: string[][] = cli.figures
			.filter((figure) => figure.device === device)
			.map((figure) => [figure.name, formatFigure(figure.value, figure.unit, figure.name)]);
		assert.deepEqual(shown, told);
	}
	await page.getByRole("heading", { name: /Device 0: H200/ }).waitFor();
	await page.locator("summary", { hasText: "spot checks right" }).click();
	await page.getByText("Leads to the committed root").waitFor();
	assert.deepEqual(await seriousFindings(page), []);
});

test("a proof of training over real powers is valid; a changed one is refused; test parameters and a run of no named key prove nothing", async () => {
	const good = readFileSync(join(root, "vectors/mlp-segment.proof"));
	const page = await browser.open(`${url}/verify`);
	await choose(page, "segment-1.proof", good);
	await page.locator(".verify[data-status=valid]").getByText("steps 0 to 3 of an MLP of 16-16-4").waitFor();
	await page.getByText("Whose data and weights these are is not shown by the proof alone").waitFor();
	await page.getByText("It begins with the weights that the program makes of its seed.").waitFor();
	await page.getByText("the Ignition ceremony's powers").waitFor();
	assert.deepEqual(await seriousFindings(page), []);
	for (const [name, file, status, code] of spoiledProofs(good)) {
		await choose(page, name, file);
		await page.locator(`.verify[data-status=${status}]`).getByText(code).first().waitFor();
	}
	// Nothing tells a forged key from an honest one: what it is said to prove is shown as said.
	await choose(page, "run-1-2.proof", Buffer.from(forgedRun(REAL_POINT)));
	const shown = page.locator(".verify[data-status=inconclusive]", { hasText: "KEY_UNNAMED" });
	await shown.getByText("nobody has named the key").waitFor();
	await shown.getByText("Said").waitFor();
	assert.equal(await shown.getByText("Proven", { exact: true }).count(), 0);
	assert.deepEqual(await seriousFindings(page), []);
});

/** One byte of the proof; test parameters, of a segment and of the key of a wrapped run. */
function spoiledProofs(good: Uint8Array): readonly [name: string, file: Buffer, status: string, code: string][] {
	const opened = openProofFile(good, { isDevAllowed: false });
	assert.equal(opened.status, "valid");
	if (opened.status !== "valid") return [];
	const { program, plan, statement } = opened;
	const proof = good.subarray(good.length - proofSizes(plan).bytes);
	const encoded = (change: Partial<typeof statement>, bytes = proof) =>
		Buffer.from(encodeProofFile(program, plan.chunkBits, { statement: { ...statement, ...change }, proof: bytes }));
	const flipped = proof.slice();
	flipped[flipped.length - 1]! ^= 1;
	return [
		["other-job.proof", encoded({ job: "1" }), "invalid", "PROOF_LOOKUPS"],
		["test.proof", encoded({ srs: "dev" }), "inconclusive", "SRS_DEV"],
		["flipped.proof", encoded({}, flipped), "invalid", "PROOF_FORM"],
		["wrapped.proof", readFileSync(join(root, "tests/zk/wrapped-mlp.proof")), "inconclusive", "SRS_DEV"],
	];
}

test("spoiled files are refused with the code of what is wrong", async () => {
	const page = await browser.open(`${url}/verify`);
	const good = readFileSync(sample);
	const flipped = Buffer.from(good);
	flipped[good.length - 100]! ^= 1;
	await choose(page, "flipped.assay", flipped);
	await page.locator(".verify[data-status=invalid]").getByText("ATTACHMENT_HASH").waitFor();
	await choose(page, "cut.assay", good.subarray(0, 1000));
	await page.locator(".verify[data-status=invalid]").getByText("cut.assay").waitFor();
	await choose(page, "<img src=x onerror=alert(1)>.assay", Buffer.from("<b>no evidence</b>"));
	await page.locator(".verify[data-status=invalid]").getByText("<img src=x onerror=alert(1)>.assay").waitFor();
	await choose(page, "<img src=x>.txt", Buffer.from("no <b>evidence</b>"));
	await page.locator(".not-judged").getByText("<img src=x>.txt").waitFor();
	assert.equal(await page.locator("main img, main b").count(), 0);
});

test("several files at once, of any kind: each its verdict, the same as the CLI's; too large ones are not even read", async () => {
	const page = await browser.open(`${url}/verify`);
	const good = readFileSync(join(root, "vectors/devices/four-cpus.assay"));
	const swapped = Buffer.from(good);
	swapped.set(good.subarray(good.length - 200, good.length - 100), good.length - 100);
	const noise = Buffer.alloc(1 << 20, "no evidence ");
	const named = [
		{ name: "good.assay", buffer: good },
		{ name: "tampered.assay", buffer: swapped },
		{ name: "picture.png", buffer: noise },
		{ name: "empty", buffer: Buffer.alloc(0) },
	];
	await page
		.getByLabel("Evidence file")
		.setInputFiles(named.map(({ name, buffer }) => ({ name, buffer, mimeType: "application/octet-stream" })));
	await page.getByText("4 of 4 verified").waitFor();
	const folder = await mkdtemp(join(tmpdir(), "assay-verify-"));
	try {
		for (const { name, buffer } of named) {
			const row = page.locator(".files li", { has: page.getByRole("button", { name, exact: true }) });
			if (name === "picture.png" || name === "empty") {
				assert.equal(await row.locator(".badge").textContent(), "·not judged", name);
				continue;
			}
			// The CLI is asked about one of them: it costs a process.
			const path = join(folder, name);
			if (name === "tampered.assay") await writeFile(path, buffer);
			const told = name === "tampered.assay" ? await cliVerdict(path) : verifyEvidence(buffer);
			assert.equal(
				await row.locator(".badge").textContent(),
				told.status === "valid" ? "✓valid" : `✕invalid${told.code}`,
				name,
			);
		}
	} finally {
		await rm(folder, { recursive: true });
	}
	await page.getByRole("button", { name: "good.assay" }).click();
	await page.locator(".verify[data-status=valid]").waitFor();
	assert.deepEqual(await seriousFindings(page), []);
	// By drag and drop, too; and one that no evidence is as large as.
	await page.evaluate(() => {
		const drop = (file: File) => {
			const data = new DataTransfer();
			data.items.add(file);
			document.querySelector(".drop")?.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
		};
		drop(new File([new Blob([new ArrayBuffer(257 * 2 ** 20)])], "huge.assay"));
	});
	await page.getByRole("alert").getByText("huge.assay has 257 MiB: larger than any evidence").waitFor();
	await page.evaluate(() => {
		const data = new DataTransfer();
		data.items.add(new File(["dropped"], "dropped.assay"));
		document.querySelector(".drop")?.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
	});
	await page.locator(".not-judged").getByText("dropped.assay").waitFor();
});

/** Made once: it costs a search each. */
let made: ReturnType<typeof fraudSamples> | undefined;
const frauds = () => (made ??= fraudSamples());

test("files of every kind, good, bad and odd: no statement of verdict, command line, JSON and page denies another", async () => {
	const files = await evidenceFiles(await frauds());
	assert.ok(files.length >= 40, `${files.length} files`);
	const page = await browser.open(`${url}/verify`);
	const folder = await mkdtemp(join(tmpdir(), "assay-alike-"));
	const outcomes = new Set<string>();
	try {
		for (const file of files) {
			const [told, shown] = await Promise.all([toldByCli(file, folder), shownByPage(page, file)]);
			assertAlike(file, told, shown);
			outcomes.add("error" in told.json ? told.json.error.code : `${told.json.status} ${told.json.code ?? ""}`);
		}
	} finally {
		await rm(folder, { recursive: true });
	}
	// A comparison of many files that all end alike would show little.
	for (const status of ["valid", "invalid", "inconclusive"])
		assert.ok(
			[...outcomes].some((one) => one.startsWith(status)),
			status,
		);
	assert.ok(outcomes.size > 20, [...outcomes].join(", "));
	assert.equal(await page.locator("main img").count(), 0);
});

/** A node for browsers: those of others answer any page, the embedded chain's server answers none. */
async function nodeForPages(to: string): Promise<{ url: string; close(): void }> {
	const node = createServer(async (request, response) => {
		const headers = { "access-control-allow-origin": "*", "access-control-allow-headers": "content-type" };
		if (request.method === "OPTIONS") return response.writeHead(204, headers).end();
		let body = "";
		for await (const chunk of request) body += chunk;
		const answer = await fetch(to, { method: "POST", body, headers: { "content-type": "application/json" } });
		return response.writeHead(200, headers).end(await answer.text());
	});
	await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
	return { url: `http://127.0.0.1:${(node.address() as AddressInfo).port}`, close: () => node.close() };
}

test("a fraud file of every operator and kind: place, numbers and workings as the CLI has them; changed ones are refused with its code", async () => {
	const samples = await frauds();
	const file = Buffer.from(samples.get("element chunk")!);
	const folder = await mkdtemp(join(tmpdir(), "assay-fraud-page-"));
	const page = await browser.open(`${url}/verify`);
	const valid = page.locator(".verify[data-status=valid]");
	try {
		await writeFile(join(folder, "claim.fraud"), file);
		const told = (await cliVerdict(join(folder, "claim.fraud"))) as unknown as FraudVerdict;
		assert.ok(told.status === "valid");
		await choose(page, "claim.fraud", file);
		await valid.getByText("segment 2, step 1, step op 0 (matmul), element 3").waitFor();
		assert.equal(await valid.locator("[data-fraud=said]").textContent(), told.said);
		assert.equal(await valid.locator("[data-fraud=right]").textContent(), told.right);
	} finally {
		await rm(folder, { recursive: true });
	}
	await valid.getByText("ANSWERS_UNSIGNED").waitFor();
	const stops = await valid
		.locator("[data-stop]")
		.evaluateAll((all) => all.map((one) => [one.dataset.stop, one.dataset.at]));
	assert.deepEqual(stops.join(), "segment,2,step,1,operator,0,leaf,0,element,3");
	await valid.getByRole("button", { name: "Show 176 more places" }).click();
	const rows = await valid.locator(".working tbody tr").allTextContents();
	assert.equal(rows.length, 188);
	assert.ok(rows.at(-1)!.endsWith((verifyFraud(file) as { right: string }).right));
	assert.deepEqual(await seriousFindings(page), []);
	// Every kind, one after the other.
	for (const [name, bytes] of samples) {
		const verdict = verifyFraud(bytes);
		assert.ok(verdict.status === "valid");
		await choose(page, `${name.replaceAll(" ", "-")}.fraud`, Buffer.from(bytes));
		const panel = page.locator(".verify", { hasText: `${name.replaceAll(" ", "-")}.fraud` });
		await panel.and(valid).waitFor();
		const shown = [panel.locator("[data-fraud=said]"), panel.locator("[data-fraud=right]")];
		assert.deepEqual(await Promise.all(shown.map((one) => one.textContent())), [verdict.said, verdict.right], name);
	}
	// Changed anywhere, all at once: each with the code that Node gives it.
	const changed = ["element chunk", "element turn", "wire state", "end without a writer", "start"].flatMap((name) => {
		const all = [...tamperedFrauds(samples.get(name)!)];
		return all.filter((_, i) => i % Math.ceil(all.length / 10) === 0).slice(0, 10);
	});
	await page
		.getByLabel("Evidence file")
		.setInputFiles(
			changed.map(({ file: bytes }, i) => ({ name: `${i}.fraud`, mimeType: "", buffer: Buffer.from(bytes) })),
		);
	await page.getByText(`${changed.length} of ${changed.length} verified`).waitFor();
	const codes = await page
		.locator(".files li")
		.evaluateAll((all) => all.map((one) => one.querySelector(".badge-code")?.textContent ?? "valid"));
	const wanted = changed
		.map(({ file: bytes }) => verifyFraud(bytes))
		.map((one) => (one.status === "valid" ? "valid" : one.code));
	assert.deepEqual(codes, wanted);
	assert.ok(new Set(codes).size > 5, `${new Set(codes).size} codes`);
});

test("programs: a list of ops with shapes, intervals and work, from bytes or text; two compared; what may not run is refused with its code", async () => {
	const [mixed, other] = [mixedSample().program, mixedSample(3).program];
	const page = await browser.open(`${url}/programs`);
	const chosen = (...files: readonly (readonly [string, Uint8Array | string])[]) =>
		page
			.getByLabel("Program files")
			.setInputFiles(files.map(([name, held]) => ({ name, mimeType: "", buffer: Buffer.from(held) })));
	await page.getByText("No program yet").waitFor();
	await chosen(["program.bin", encodeProgram(mixed)]);
	const ops = page.getByRole("list", { name: "Operators" });
	await ops.locator("[data-op='step 0']").getByText("matmul", { exact: true }).waitFor();
	assert.equal(await ops.locator("li").count(), mixed.init.length + mixed.step.length);
	await ops.locator("[data-op='step 0'] summary").press("Enter");
	await ops.locator("[data-op='step 0'] pre").getByText("%0 = matmul(").waitFor();
	assert.deepEqual(await seriousFindings(page), []);
	await chosen(["a.bin", encodeProgram(mixed)], ["b.txt", printProgram(other)]);
	await page.getByText(/ops are in both, \d+ only in the first/).waitFor();
	for (const mark of ["first", "second"]) assert.ok((await page.locator(`.ops .is-in-${mark}`).count()) > 0);
	await page.setViewportSize({ width: 390, height: 800 });
	assert.deepEqual(await layoutFaults(page), []);
	await page.emulateMedia({ colorScheme: "dark" });
	assert.deepEqual(await seriousFindings(page), []);
	await chosen(["same.bin", encodeProgram(mixed)], ["same.txt", printProgram(mixed)]);
	await page.getByText("They are the same program").waitFor();
	await chosen(['<img src=x onerror="window.hit=1">.bin', "<b>no program</b>"]);
	await page.getByRole("alert").getByText("PROGRAM_MALFORMED").waitFor();
	assert.equal(await page.evaluate(() => (window as { hit?: number }).hit), undefined);
	// A name of a tensor is a plain one, or no program's: markup in it is refused, and told as words.
	const evil = printProgram(mixed).replace(/^(input|constant|state) \w+/m, '$1 <img/src=x/onerror="window.hit=1">');
	await chosen(["evil.txt", evil]);
	await page.getByRole("alert").getByText("PROGRAM_TEXT").waitFor();
	// A sample by its address.
	await page.goto(`${url}/programs?sample=nbody&sample=%3Cimg%20src%3Dx%3E`);
	await ops.locator("[data-op='step 135']").waitFor();
	assert.equal(await ops.locator("[data-op^='step ']").count(), 136);
	assert.equal(await page.evaluate(() => (window as { hit?: number }).hit), undefined);
	assert.equal(await page.locator("main img, main b").count(), 0);
});

test("a roll call: on its maker's word alone, public with a node's URL, invalid with another chain's", async () => {
	const chains = [await openRollChain(424_242), await openRollChain(535_353)] as const;
	const nodes = [await nodeForPages(chains[0].url), await nodeForPages(chains[1].url)] as const;
	browser.allow(/^asked elsewhere: http:\/\/127\.0\.0\.1:/);
	try {
		const file = Buffer.from(await answeredCall(chains[0]));
		const page = await browser.open(`${url}/verify`);
		await choose(page, "call.assay", file);
		await page
			.locator(".verify[data-status=valid]")
			.getByText("private: whoever made the file could have made it up")
			.waitFor();
		await page.getByText("CHAIN_UNASKED").waitFor();
		await page.getByText("Check a roll call against its chain").click();
		const against = async (node: string) => {
			await page.getByLabel("Node of the chain").fill(node);
			await page.getByLabel("Node of the chain").press("Tab");
		};
		await against(nodes[0].url);
		await page
			.locator(".verify[data-status=valid]")
			.getByText(/^public: the work was done between two blocks/)
			.waitFor();
		assert.match((await page.locator("[data-figure='memory.held']").textContent())!, /384 KiB/);
		assert.deepEqual(await seriousFindings(page), []);
		await against(nodes[1].url);
		await page.locator(".verify[data-status=invalid]").getByText("CALL_CHAIN_OTHER").waitFor();
		// A probe's file shows a chain nothing.
		await choose(page, "probe.assay", readFileSync(join(root, "vectors/devices/four-cpus.assay")));
		await page.locator(".verify[data-status=invalid]").getByText("NOT_PUBLIC").waitFor();
		browser.allow(/404|Failed to load/);
		await choose(page, "call.assay", file);
		await against(`${url}/none`);
		await page.getByText("does not answer as a node does").waitFor();
	} finally {
		for (const one of [...nodes, ...chains]) await one.close();
	}
});

test("works without a network once it was open", async () => {
	const page = await browser.open(`${url}/verify`);
	await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
	await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
	await browser.context.setOffline(true);
	browser.allow(/ERR_INTERNET_DISCONNECTED|Failed to load resource/);
	try {
		await page.reload();
		await page.getByRole("heading", { name: "Verify evidence" }).waitFor();
		await choose(page, "h200.assay", readFileSync(sample));
		await page.locator(".verify[data-status=valid]").waitFor();
	} finally {
		await browser.context.setOffline(false);
	}
});

test("files go out compressed, named by their hash, under a policy without inline code; unknown ones do not", async () => {
	const page = await fetch(`${url}/`, { headers: { "accept-encoding": "br" } });
	assert.deepEqual(
		[page.status, page.headers.get("content-encoding"), page.headers.get("cache-control")],
		[200, "br", "no-cache"],
	);
	const policy = page.headers.get("content-security-policy") ?? "";
	for (const part of [
		"default-src 'none'",
		"script-src 'self'",
		"style-src 'self'",
		"connect-src 'self'",
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
		"require-trusted-types-for 'script'",
	])
		assert.ok(policy.split(";").includes(part), `${part} in ${policy}`);
	assert.doesNotMatch(policy, /unsafe|https?:|data:|blob:|\*/);
	for (const [name, value] of [
		["x-content-type-options", "nosniff"],
		["referrer-policy", "no-referrer"],
		["cross-origin-opener-policy", "same-origin"],
		["cross-origin-resource-policy", "same-origin"],
		["cross-origin-embedder-policy", "require-corp"],
	])
		assert.equal(page.headers.get(name!), value);
	const html = await page.text();
	assert.doesNotMatch(html, /<script>|<style|style=|onload=/);
	const [, main] = /src="(\/main-[A-Z0-9]+\.js)"/.exec(html)!;
	for (const [accepted, encoding] of [
		["gzip, deflate", "gzip"],
		["br;q=0, identity", null],
	] as const) {
		const file = await fetch(url + main, { headers: { "accept-encoding": accepted } });
		assert.equal(file.headers.get("content-encoding"), encoding);
		assert.match(file.headers.get("cache-control") ?? "", /immutable/);
		assert.match(await file.text(), /createElement|function|=>/);
	}
	// WebAssembly is for the worker alone, and the worker may do nothing else.
	const worker = (await readdir(join(root, "build/web"))).find((name) => /^verifier-worker-.*\.js$/.test(name));
	const itsPolicy = (await fetch(`${url}/${worker}`)).headers.get("content-security-policy");
	assert.equal(itsPolicy, "default-src 'none';script-src 'wasm-unsafe-eval'");
	// The one for roll calls may ask a node, too.
	const rollCall = (await readdir(join(root, "build/web"))).find((name) => /^roll-call-worker-.*\.js$/.test(name));
	assert.equal(
		(await fetch(`${url}/${rollCall}`)).headers.get("content-security-policy"),
		"default-src 'none';script-src 'wasm-unsafe-eval';connect-src https: http:",
	);
	// As the browser reads the two: an empty program, compiled under each.
	const compiles = async (path: string) => {
		const opened = await browser.open(url + path);
		return opened.evaluate(() => {
			try {
				return new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)) instanceof WebAssembly.Module;
			} catch {
				return false;
			}
		});
	};
	browser.allow(/wasm|WebAssembly/);
	assert.deepEqual([await compiles(`/${worker}`), await compiles("/verify")], [true, false]);
	for (const path of ["/main.js", "/providers/a/b", "/v1/providers.html", "/web/index.html"])
		assert.equal((await fetch(url + path)).status, 404, path);
	const lost = await fetch(`${url}/nowhere/at/all`, { headers: { accept: "text/html,*/*" } });
	assert.deepEqual([lost.status, lost.headers.get("content-type")], [404, "text/html; charset=utf-8"]);
	const program = await fetch(`${url}/nowhere/at/all`);
	assert.deepEqual(
		[program.status, program.headers.get("content-type")],
		[404, "application/problem+json; charset=utf-8"],
	);
});

const attach = (page: Page, name: string, files: readonly Uint8Array[]) =>
	page
		.getByLabel("Evidence file")
		.setInputFiles(files.map((file, i) => ({ name: `${name}-${i}`, mimeType: "", buffer: Buffer.from(file) })));

test("reports and quotes of every kind: judged together, level, key, firmware and reasons as in Node", async () => {
	const page = await browser.open(`${url}/verify`);
	await page.getByText("Ask more of a report").click();
	await page.getByLabel("Moment at which it held").fill("2025-06-20T12:00:00");
	const atMs = Date.UTC(2025, 5, 20, 12);
	for (const { name, files } of mintedRounds(nodeSignatures)) {
		const question = { files, nonce: null, atMs };
		const judged = judgeAttestation(question, rememberSignatures(nodeSignatures));
		const { verdict, deviceKey } = judged;
		// By the curves of the platform, as in the worker; and where something is false.
		assert.deepEqual(await judgeQuickly(question), judged, name);
		const flipped = files.map((file, i) => (i === 0 ? file.with(file.length - 600, file.at(-600)! ^ 1) : file));
		const wrong = judgeAttestation({ ...question, files: flipped }, nodeSignatures);
		assert.equal(wrong.verdict.status, "invalid", name);
		assert.deepEqual(await judgeQuickly({ ...question, files: flipped }), wrong, name);
		assert.equal(verdict.status, "valid", `${name}: ${verdict.detail}`);
		await attach(page, name, files);
		const shown = page.locator(".verify[data-status=valid]", { hasText: `${name}-0` });
		await shown.getByText(`${verdict.subject}, as of`).waitFor();
		await shown.getByText("SIMULATED_ROOTS").waitFor();
		await shown.locator(`[data-attested=${verdict.level}]`).waitFor();
		if (deviceKey !== null) await shown.getByText(deviceKey.slice(0, 8)).first().waitFor();
		for (const [fact, value] of Object.entries(verdict.facts))
			assert.equal(
				await shown.locator(`[data-fact=${fact}]`).textContent(),
				typeof value === "string" ? value : JSON.stringify(value),
			);
	}
	const [gpu] = mintedRounds(nodeSignatures);
	await attach(page, "again", gpu!.files);
	await page.getByLabel("Nonce or report data").fill("22".repeat(32));
	await page.locator(".verify[data-status=invalid]").getByText("NONCE_WRONG").waitFor();
	await page.getByLabel("Nonce or report data").fill("22");
	await page.getByRole("alert").getByText("32 or 64 bytes of hex").waitFor();
	assert.deepEqual(await seriousFindings(page), []);
});

test("every real case has its status, code and facts in this browser too", { skip: samplesMissing }, async () => {
	const { outputFiles } = await build({
		...{ bundle: true, minify: true, write: false, format: "iife", platform: "browser" },
		stdin: {
			resolveDir: join(root, "tests/attestation"),
			contents: `import { judgeCase } from "./judge-case.test-kit.ts";
				import { nobleSignatures, rememberSignatures } from "../../src/verify/attestation/x509/signature.ts";
				globalThis.judgeAll = (cases, samples) => {
					const verify = rememberSignatures(nobleSignatures);
					const read = (name) => Uint8Array.from(atob(samples[name]), (one) => one.charCodeAt(0));
					return cases.map((one) => judgeCase(one, verify, read));
				};`,
		},
	});
	const cases = realCases();
	const samples: Record<string, string> = {};
	for (const one of cases)
		judge(
			one,
			() => true,
			(name) => {
				samples[name] = Buffer.from(realSample(name)).toString("base64");
				return realSample(name);
			},
		);
	const page = await browser.context.newPage();
	await page.evaluate(outputFiles[0]!.text);
	const verdicts = await page.evaluate(
		([all, bytes]) =>
			(globalThis as unknown as { judgeAll: (cases: unknown, samples: unknown) => unknown }).judgeAll(all, bytes),
		[cases, samples] as const,
	);
	assert.deepEqual(
		cases.flatMap((one, i) => differences(one, (verdicts as AttestationVerdict[])[i]!)),
		[],
	);
});

test("the first view stays small", async () => {
	const { files, firstView, firstSources } = await buildWeb();
	const bytes = firstView.reduce((sum, name) => sum + (compress(files.get(name)!).br ?? files.get(name)!).length, 0);
	assert.ok(bytes < 58_000, `${bytes} bytes`);
	assert.ok(![...firstView].some((name) => name.startsWith("verifier-worker")), "the verifier is loaded when asked");
	assert.ok(firstSources.includes("web/main.tsx"), "sources are named");
	assert.deepEqual(
		firstSources.filter((name) => /^src\/verify\/attestation\/|^web\/verify\/.*(attest|signature)/.test(name)),
		[],
		"nor has it anything of attestation",
	);
});
