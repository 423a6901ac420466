// Collecting on the real engine: toy cards and a toy CPU under roots of our own give a whole round; a host without any of it says by which
// path or answer.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { runCommand } from "../../src/cli/run-command.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { collectRound } from "../../src/engine/client/collect-round.ts";
import { createEngineClient } from "../../src/engine/client/create-engine-client.ts";
import { createLocalLink } from "../../src/engine/links/create-local-link.ts";
import { createToyLink } from "../../src/engine/links/toy-link.test-kit.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { nodeSignatures } from "../../src/platform/node-signatures.ts";
import { reportDataOf, setOf } from "../../src/protocol/attest/binding.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { mintedSettings } from "../../src/verify/attestation/mint/minted-rounds.test-kit.ts";
import { verifyFiles } from "../../src/verify/attestation/verify-files.ts";
import { rememberSignatures } from "../../src/verify/attestation/x509/signature.ts";
import { createToyHost, type ToyHost, toyCard } from "./toy/toy-host.test-kit.ts";

let host: ToyHost;
let engine = "";
before(async () => {
	engine = (await findEngine(hostPlatform())).path;
	host = await createToyHost([toyCard(0), toyCard(1), { ...toyCard(2), answer: 3 }]);
});
after(() => host.close());

const { clockUs, randomBytes } = realEnvironment();
const BIND = new Uint8Array(32).fill(7);
const settings = mintedSettings("2026-11-17T00:00:00Z", rememberSignatures(nodeSignatures));

async function roundOf(args: readonly string[], env: Readonly<Record<string, string>>) {
	const link = await createLocalLink({ command: engine, args, env: { ...process.env, ...env } });
	const client = await createEngineClient(link, { clockUs, randomBytes, readyDeadlineMs: 60_000 });
	try {
		return await collectRound(client, BIND);
	} finally {
		await client.close();
	}
}

test("toy cards and a toy CPU give a round that is valid under our own roots alone, and is bound", async () => {
	const { gpus, cpu, says, end } = await roundOf(["--toy-tsm", host.tsm], host.env);
	assert.equal(end, "complete");
	assert.deepEqual(
		gpus.map(({ device }) => device),
		[0, 1],
	);
	assert.deepEqual(says, [
		"gpu 2: nvmlDeviceGetConfComputeGpuAttestationReport answered 3 (Not Supported); confidential computing is on",
	]);
	assert.equal(cpu?.kind, "toy tdx_guest");
	const files = [...gpus.flatMap(({ report, chain }) => [report, chain]), cpu.quote];
	const judge = (these: readonly Uint8Array[], nonce: Uint8Array) =>
		verifyFiles(these, { require: null, nonce }, settings);
	const verdict = judge(files, BIND);
	assert.deepEqual([verdict.status, verdict.subject, verdict.level], ["valid", "hosted devices", "none"]);
	assert.ok(verdict.findings.some(({ code }) => code === "SIMULATED_ROOTS"));
	assert.equal(judge(files, new Uint8Array(32)).code, "NONCE_WRONG");
	assert.equal(judge(files.slice(2), BIND).code, "BINDING_WRONG", "a cut set");
	const guest = verdict.facts.guest as { readonly reportData: string };
	assert.equal(guest.reportData, bytesToHex(reportDataOf(BIND, setOf(gpus))));
});

test("a host without any of it says by which path", async () => {
	const { gpus, cpu, says, end } = await roundOf([], {});
	assert.equal(end, "complete");
	// A test machine may have cards or a confidential guest of its own.
	if (gpus.length === 0)
		assert.match(says[0]!, /^gpu 0: (libnvidia-ml\.so\.1 is not there|nvml\w+ answered \d+|NVML )/);
	if (cpu === null) assert.match(says.at(-1)!, /^cpu: .*(tsm|sev-guest)/);
});

test("assay attest collect leaves a file a part, and verify takes them", async () => {
	const folder = await mkdtemp(join(tmpdir(), "assay-collect-"));
	const written = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ write: (words: string) => (written[name] += words), isTTY: false }) as unknown as NodeJS.WriteStream;
	const io = {
		...{ out: stream("out"), err: stream("err"), cwd: folder, interrupted: new AbortController().signal },
		env: { ...process.env, ...host.env, NO_COLOR: "1", ASSAY_HOME: folder },
	};
	const nonce = bytesToHex(BIND);
	const code = await runCommand(["attest", "collect", "--nonce", nonce, "--json"], io);
	const { files, ...told } = JSON.parse(written.out) as { readonly files: readonly string[] };
	assert.deepEqual([code, files.length], [0, 4], JSON.stringify(told));
	written.out = "";
	// The program trusts the vendors' roots alone, and says so.
	assert.equal(await runCommand(["attest", "verify", ...files, "--nonce", nonce], io), 1);
	assert.match(written.out, /^INVALID {2}ATTEST_CHAIN/);
	await rm(folder, { recursive: true });
});

test("an engine that floods, repeats itself or knows no ATTEST costs bounded room and is told", async () => {
	const client = (onRequest: Parameters<typeof createToyLink>[0]) => {
		const { link, peer } = createToyLink(onRequest);
		peer.reply(0, { kind: "ready", version: 3, engineVersion: "toy" });
		return createEngineClient(link, { clockUs, randomBytes, readyDeadlineMs: 60_000, keepAliveMs: 0 });
	};
	const bytes = new Uint8Array(64 << 10);
	const endless = await client((peer, id) => {
		for (let i = 0; i < 40; i++) peer.reply(id, { kind: "report", index: 0, part: "report", bytes });
	});
	let round = await collectRound(endless, BIND);
	assert.deepEqual([round.end, round.gpus.length], ["garbage", 0]);
	assert.match(round.says[0]!, /more reports than a host has devices/);
	const old = await client((peer, id) => void peer.reply(id, { kind: "error", code: 1, message: "unknown kind 22" }));
	round = await collectRound(old, BIND);
	assert.deepEqual([round.end, round.says], ["refused", ["gpu: error 1: unknown kind 22"]]);
	await old.close();
	// A report without its chain is no report.
	const half = await client((peer, id) => {
		for (let i = 0; i < 3; i++) peer.reply(id, { kind: "report", index: i, part: "report", bytes: Uint8Array.of(1) });
		peer.reply(id, { kind: "done", count: 3, cancelled: false });
	});
	round = await collectRound(half, BIND);
	assert.deepEqual([round.end, round.gpus, round.cpu], ["complete", [], null]);
	await half.close();
});
