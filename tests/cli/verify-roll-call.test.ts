// `assay verify FILE --chain URL` against a real chain with the real contracts, as a stranger meets it: a
// process, its output, its exit code.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { exitCodes } from "../../src/cli/exit-codes.ts";
import { answerStages, STAGES, sign } from "../../src/verify/hardware/honest-evidence.test-kit.ts";
import { HOST } from "../../src/verify/roll-call/toy-roll-call.test-kit.ts";
import { atEnd } from "../at-end.test-kit.ts";
import { answeredCall, openRollChain, type RollChain, VALIDATOR_ADDRESS } from "../roll-call-chain.test-kit.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "assay-verify-"));
const file = join(scratch, "call.assay");

/** Not spawnSync: the chain answers from this process. */
function assay(...args: string[]): Promise<{ code: number; out: string; err: string }> {
	const env = { ...process.env, ASSAY_HOME: join(scratch, "home"), NO_COLOR: "1" };
	return new Promise((resolve) =>
		execFile(process.execPath, [main, ...args], { env, cwd: scratch }, (error, out, err) =>
			resolve({ code: error === null ? 0 : Number(error.code), out, err }),
		),
	);
}

let chain: RollChain;
let other: RollChain;
before(async () => {
	chain = await openRollChain(424_242);
	other = await openRollChain(0x4000_1234);
	writeFileSync(file, await answeredCall(chain));
});
after(async () => {
	await chain.close();
	await other.close();
	rmSync(scratch, { recursive: true, force: true });
});

test("a stranger with a node's URL: VALID on nobody's word, with what was shown at least", async () => {
	const run = await assay("verify", file, "--chain", chain.url);
	assert.equal(run.code, exitCodes.valid.code, run.out + run.err);
	const [first, second] = run.out.split("\n");
	assert.equal(first, "VALID");
	assert.match(second!, /^ {2}strength public: the work was done between two blocks/);
	assert.match(run.out, /device 0 {2}matrix int8 at least .*OPS\n.*memory held at least/i);
	assert.match(run.out, /any contract accepted/);
	const pinned = ["--roll-call", chain.chain.contract.toUpperCase().replace("0X", "0x"), "--host", HOST.key];
	const json = await assay("verify", file, "--chain", chain.url, ...pinned, "--json");
	assert.equal(json.code, 0, json.err);
	const verdict = JSON.parse(json.out);
	assert.deepEqual([verdict.status, verdict.strength, verdict.validator], ["valid", "public", VALIDATOR_ADDRESS]);
});

test("without a node it is on the word of whoever made it; so it is on a chain of a validator's own", async () => {
	const alone = await assay("verify", file);
	assert.equal(alone.code, 0);
	assert.match(alone.out, /^VALID, on the word of whoever made the file\n {2}strength private/);
	assert.match(alone.out, /CHAIN_UNASKED/);
	const home = join(scratch, "home.assay");
	writeFileSync(home, await answeredCall(other));
	const run = await assay("verify", home, "--chain", other.url);
	assert.match(run.out, /^VALID, on the word of whoever makes the blocks of this chain\n {2}strength private/);
	assert.match(run.out, /CHAIN_EMBEDDED/);
});

test("another chain, another contract or host, a probe's file: INVALID with its code", async () => {
	const code = async (...args: string[]) => {
		const run = await assay("verify", ...args, "--json");
		assert.equal(run.code, exitCodes.invalid.code, run.out + run.err);
		return JSON.parse(run.out).code;
	};
	assert.equal(await code(file, "--chain", other.url), "CALL_CHAIN_OTHER");
	const stranger = `0x${"00".repeat(20)}`;
	assert.equal(await code(file, "--chain", chain.url, "--roll-call", stranger), "CALL_UNEXPECTED");
	assert.equal(await code(file, "--host", "00".repeat(32)), "CALL_UNEXPECTED");
	const probe = join(scratch, "probe.assay");
	writeFileSync(probe, sign(answerStages(STAGES.slice(0, 1))));
	assert.equal(await code(probe, "--chain", chain.url), "NOT_PUBLIC");
	assert.equal((await assay("verify", probe)).code, exitCodes.valid.code);
});

test("options that do not fit the file are usage errors; a node that is none is told apart from a false file", async (t) => {
	assert.equal((await assay("verify", file, "--signer", "00".repeat(32))).code, exitCodes.usage.code);
	assert.equal((await assay("verify", file, "--chain", "ftp://x")).code, exitCodes.usage.code);
	const probe = join(scratch, "probe.assay");
	assert.equal((await assay("verify", probe, "--host", "00".repeat(32))).code, exitCodes.usage.code);
	const liar = createServer((request, response) => {
		let text = "";
		request.on("data", (chunk) => (text += chunk));
		request.on("end", () => {
			const { id, method } = JSON.parse(text);
			const result = method === "eth_chainId" ? "0x67932" : "0x";
			response.end(
				JSON.stringify({ jsonrpc: "2.0", id, result: method === "eth_call" ? `0x${"0".repeat(190)}1` : result }),
			);
		});
	});
	await new Promise<void>((resolve) => liar.listen(0, "127.0.0.1", resolve));
	atEnd(t, () => liar.close());
	const { port } = liar.address() as AddressInfo;
	const run = await assay("verify", file, "--chain", `http://127.0.0.1:${port}`);
	assert.equal(run.code, exitCodes.unavailable.code, run.out);
	assert.match(run.err, /CHAIN_NODE/);
	const dead = await assay("verify", file, "--chain", "http://127.0.0.1:1");
	assert.equal(dead.code, exitCodes.unavailable.code, dead.out);
	assert.match(dead.err, /no node answers at .*\[CHAIN_UNREACHABLE\]\n {2}Check --chain/);
	assert.doesNotMatch(dead.err, /tried again/);
});
