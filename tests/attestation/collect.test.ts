// Collecting on the real engine: toy cards and a toy CPU under roots of our own give a whole round; a host
// without any of it says by which path or answer.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runCommand } from "../../src/cli/run-command.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { collectRound } from "../../src/engine/client/collect-round.ts";
import { createEngineClient, type EngineClient } from "../../src/engine/client/create-engine-client.ts";
import { createLocalLink } from "../../src/engine/links/create-local-link.ts";
import { createToyLink } from "../../src/engine/links/toy-link.test-kit.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { nodeSignatures } from "../../src/platform/node-signatures.ts";
import { reportDataOf, setOf } from "../../src/protocol/attest/binding.ts";
import { bytesToHex, bytesToUtf8, concatBytes } from "../../src/protocol/bytes/bytes.ts";
import { mintedSettings } from "../../src/verify/attestation/mint/minted-rounds.test-kit.ts";
import { verifyFiles } from "../../src/verify/attestation/verify-files.ts";
import { verifyRound } from "../../src/verify/attestation/verify-round.ts";
import { rememberSignatures } from "../../src/verify/attestation/x509/signature.ts";
import { AZURE_GUEST, type AzureFaults, azureCommand, createToyAzure, tpmAnswer } from "./toy/toy-azure.test-kit.ts";
import { createToyHost, TOY_GUEST, type ToyHost, toyCard, toyItems, toySwitch } from "./toy/toy-host.test-kit.ts";

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

async function withEngine<T>(args: readonly string[], env: ToyHost["env"], use: (client: EngineClient) => Promise<T>) {
	const link = await createLocalLink({ command: engine, args, env: { ...process.env, ...env } });
	const client = await createEngineClient(link, { clockUs, randomBytes, readyDeadlineMs: 600_000 });
	try {
		return await use(client);
	} finally {
		await client.close();
	}
}
const roundOf = (args: readonly string[], env: ToyHost["env"]) =>
	withEngine(args, env, (client) => collectRound(client, BIND));

test("toy cards and a toy CPU give a round that is valid under our own roots alone, and is bound", async () => {
	const { gpus, cpu, says, end } = await roundOf(["--toy-tsm", host.tsm], host.env);
	assert.equal(end, "complete");
	assert.deepEqual(
		gpus.map(({ device }) => device),
		[0, 1],
	);
	assert.deepEqual(says, [
		"gpu 2: nvmlDeviceGetConfComputeGpuAttestationReport answered 3 (Not Supported); confidential computing is on",
		"switch 0: libnvidia-nscq.so.2 is not there",
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

test("switches in protected PCIe mode sign too: one machine; those outside of it, and broken ones, are told and not asked", async () => {
	const [a, b] = [toyCard(0), toyCard(1)];
	const switches = [0, 1].map((number) => toySwitch(number, [a.pdi, b.pdi]));
	const links = switches.map(({ pdi }) => pdi);
	const linked = [a, b].map((card) => ({ ...card, links }));
	const off = { ...toySwitch(2, []), answer: 0 };
	const broken = { ...toySwitch(3, []), answer: 0xf9 };
	const judged = async () => {
		const round = await roundOf(["--toy-tsm", host.tsm], host.env);
		const of = (kind: "gpu" | "switch", all: typeof round.gpus) => all.map((one) => ({ kind, ...one }));
		const devices = [...of("gpu", round.gpus), ...of("switch", round.switches)];
		const evidence = { devices, guest: round.cpu, collateral: toyItems() };
		const question = { bind: BIND, atMs: settings.atMs, verify: settings.verify, guests: [TOY_GUEST] };
		const without = { ...evidence, devices: devices.slice(0, -1) };
		return { ...round, verdict: verifyRound(evidence, question), cut: verifyRound(without, question) };
	};
	try {
		await host.setCards(linked, [...switches, off, broken]);
		const { gpus, switches: signed, says, verdict, cut } = await judged();
		assert.deepEqual([gpus.length, signed.length, verdict.fault, verdict.shown], [2, 2, null, "hosted"], says.join());
		assert.deepEqual(says, ["switch 2: protected PCIe is off (0)", "switch 3: /config/pcie_mode answered -7"]);
		assert.equal(cut.fault?.code, "TOPOLOGY_WRONG", "a switch is left out");
		// Nobody names a switch that is in no fabric, and it is not asked.
		await host.setCards([a, b], [off]);
		const plain = await judged();
		assert.deepEqual([plain.switches.length, plain.verdict.fault, plain.verdict.shown], [0, null, "hosted"]);
	} finally {
		await host.setCards([a, b, { ...toyCard(2), answer: 3 }]);
	}
});

test("a guest of Azure signs through its virtual TPM: the same round, hosted by the registers that it names", async () => {
	const parent = await mkdtemp(join(tmpdir(), "assay-azure-"));
	await chmod(parent, 0o755);
	const azure = await createToyAzure(parent);
	try {
		const { gpus, cpu, says, end } = await roundOf(["--toy-azure", azure.folder], host.env);
		assert.deepEqual([end, cpu?.kind, says.length], ["complete", "toy azure_vtpm", 2], says.join());
		const devices = gpus.map(({ report, chain }) => ({ kind: "gpu" as const, report, chain }));
		const round = { devices, guest: cpu, collateral: toyItems() };
		const judged = (of: typeof round, bind: Uint8Array, guests = [AZURE_GUEST]) =>
			verifyRound(of, { bind, atMs: settings.atMs, verify: settings.verify, guests });
		const verdict = judged(round, BIND);
		assert.deepEqual([verdict.fault, verdict.shown, verdict.isSimulated], [null, "hosted", true]);
		assert.deepEqual(verdict.guest, { tee: "azure-snp", measurement: AZURE_GUEST.measurement, tcb: null });
		const registers = AZURE_GUEST.registers!.with(4, "00".repeat(32));
		assert.equal(judged(round, BIND, [{ ...AZURE_GUEST, registers }]).shown, "measured", "another kernel");
		assert.equal(judged({ ...round, devices: devices.slice(1) }, BIND).fault?.code, "BINDING_WRONG", "a cut set");
		assert.equal(judged({ ...round, devices: [] }, new Uint8Array(32)).fault?.code, "NONCE_WRONG");
		const files = [...gpus.flatMap(({ report, chain }) => [report, chain]), cpu!.quote, cpu!.certificates!];
		const together = verifyFiles(files, { require: null, nonce: BIND }, settings);
		assert.deepEqual([together.status, together.subject], ["valid", "hosted devices"], together.detail);
	} finally {
		await azure.close();
		await rm(parent, { recursive: true });
	}
});

test("whatever is wrong with Azure's TPM is said, and the cards' reports are there all the same", async () => {
	const parent = await mkdtemp(join(tmpdir(), "assay-azure-"));
	await chmod(parent, 0o755);
	const azure = await createToyAzure(parent);
	const { nvRead, quote, nvReadPublic, pcrRead } = azureCommand;
	const instead = (of: number, bytes: (right: Uint8Array) => Uint8Array) => ({
		answer: (code: number, right: () => Uint8Array) => (code === of ? bytes(right()) : right()),
	});
	const none = new Uint8Array(0);
	const cases: readonly (readonly [AzureFaults, RegExp])[] = [
		[instead(quote, () => tpmAnswer(0x921, none)), /tpmrm0: TPM2_Quote answered 0x921 \(locked\)$/],
		[instead(nvReadPublic, () => tpmAnswer(0x18b, none)), /TPM2_NV_ReadPublic answered 0x18b \(no such handle\)$/],
		[{ report: (right) => right.subarray(0, 1000) }, /NV 0x1400001 has 1000 bytes: no report/],
		[{ report: (right) => concatBytes(right, new Uint8Array(16_384)) }, /NV 0x1400001 has \d+ bytes: no report/],
		[{ report: (right) => new Uint8Array(right.length) }, /holds no report of Azure's paravisor/],
		[{ report: (right) => right.with(1224, 4) }, /an Azure guest that is not SNP/],
		[instead(nvRead, (right) => right.subarray(0, 20)), /TPM2_NV_Read: the answer ends before its last byte/],
		[instead(nvRead, (right) => concatBytes(right, Uint8Array.of(1))), /more follows/],
		[instead(nvRead, () => new Uint8Array(1 << 20).fill(0xff)), /TPM2_NV_Read: an answer of 4294967295 bytes/],
		[instead(quote, () => new Uint8Array(1 << 20)), /TPM2_Quote: an answer of 0 bytes/],
		[instead(quote, (right) => right.with(15, right[15]! ^ 1)), /TPM2_Quote: not a quote signed by RSA/],
		[instead(pcrRead, (right) => right.with(right.length - 1, right.at(-1)! ^ 1)), /not those that it signed/],
		[instead(pcrRead, (right) => right.with(20, 0)), /TPM2_PCR_Read gave other registers/],
	];
	const pages = [
		["HTTP/1.1 404 Not Found\r\n\r\n", /certificate \(169\.254\.169\.254\): answered HTTP\/1\.1 404 Not Found$/],
		[`HTTP/1.1 200 OK\r\n\r\n${"x".repeat(100_000)}`, /an answer without end$/],
		['HTTP/1.1 200 OK\r\n\r\n{"vcekCert":"-----BEGIN CERTIFICATE-----\\u0041"}', /no certificate in its answer$/],
	] as const;
	const noDevices = { what: "guest", nonce: BIND, set: setOf([]) } as const;
	try {
		await withEngine(["--toy-azure", azure.folder], host.env, async (client) => {
			for (const [faults, why] of cases) {
				azure.faults = faults;
				const { end, parts } = await client.attest(noDevices, { deadlineMs: 600_000 });
				assert.deepEqual([end, ...parts.map(({ part }) => part)], ["complete", "nothing"], String(why));
				assert.match(bytesToUtf8(parts[0]!.bytes)!, why);
			}
			for (const [page, why] of pages) {
				azure.faults = { page };
				const { gpus, cpu, says } = await collectRound(client, BIND);
				assert.match(says.at(-1)!, why);
				const devices = gpus.map(({ report, chain }) => ({ kind: "gpu" as const, report, chain }));
				const question = { bind: BIND, atMs: settings.atMs, verify: settings.verify, guests: [AZURE_GUEST] };
				const verdict = verifyRound({ devices, guest: cpu, collateral: toyItems() }, question);
				assert.deepEqual([verdict.fault, verdict.shown], [null, "measured"]);
				assert.ok(verdict.reasons.some(({ code }) => code === "COLLATERAL_MISSING"));
			}
			await azure.close();
			const { gpus, says } = await collectRound(client, BIND);
			assert.deepEqual([gpus.length, says.at(-1)], [2, "cpu: /dev/tpmrm0: No such file or directory"]);
		});
	} finally {
		await azure.close();
		await rm(parent, { recursive: true });
	}
});

test("a host without any of it says by which path", async () => {
	const { gpus, cpu, says, end } = await roundOf([], {});
	assert.equal(end, "complete");
	// A test machine may have cards or a confidential guest of its own.
	if (gpus.length === 0)
		assert.match(says[0]!, /^gpu 0: (libnvidia-ml\.so\.1 is not there|nvml\w+ answered \d+|NVML )/);
	if (cpu === null) assert.match(says.at(-1)!, /^cpu: .*(tsm|sev-guest|tpmrm0)/);
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
		return createEngineClient(link, { clockUs, randomBytes, readyDeadlineMs: 600_000, keepAliveMs: 0 });
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

test("the host for trying it out: what it says to type gives a whole round, and it ends at a word", async () => {
	const folder = await mkdtemp(join(tmpdir(), "assay-trying-"));
	const script = fileURLToPath(new URL("./toy/attested-host.ts", import.meta.url));
	const child = spawn(process.execPath, [script, folder], { stdio: ["ignore", "pipe", "inherit"] });
	let said = "";
	for await (const text of child.stdout.setEncoding("utf8")) {
		said += text;
		if (/assay provide .*\n/.test(said)) break;
	}
	try {
		const written = { out: "" };
		const out = { write: (words: string) => (written.out += words), isTTY: false } as unknown as NodeJS.WriteStream;
		const interrupted = new AbortController().signal;
		const io = { out, err: out, env: { NO_COLOR: "1", ASSAY_HOME: folder }, cwd: folder, interrupted };
		const [, program = ""] = /attest collect --engine (\S+)/.exec(said) ?? [];
		assert.equal(await runCommand(["attest", "collect", "--engine", program, "--json"], io), 0, written.out);
		const files: string[] = JSON.parse(written.out).files;
		assert.equal(files.length, 3, files.join(" "));
		written.out = "";
		assert.equal(await runCommand(["attest", "verify", ...files, "--json"], io), 1);
		const verdict = JSON.parse(written.out);
		assert.deepEqual([verdict.code, verdict.findings[0].code], ["ATTEST_CHAIN", "SIMULATED_ROOTS"]);
	} finally {
		child.kill("SIGTERM");
		await new Promise((resolve) => (child.exitCode === null ? child.once("exit", resolve) : resolve(null)));
		await rm(folder, { recursive: true, force: true });
	}
});
