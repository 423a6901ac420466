// `assay attest verify | show` as people call it: kinds by content, exit codes, JSON.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { CliIo } from "../../src/cli/command.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { SAMPLES, samplesMissing } from "./real-cases.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-attest-"));
after(() => rmSync(scratch, { recursive: true, force: true }));

async function assay(...args: string[]): Promise<{ code: number; out: string; err: string }> {
	const written = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ write: (words: string) => (written[name] += words), isTTY: false }) as unknown as NodeJS.WriteStream;
	const interrupted = new AbortController().signal;
	const io: CliIo = {
		out: stream("out"),
		err: stream("err"),
		env: { NO_COLOR: "1", ASSAY_HOME: scratch },
		cwd: scratch,
		interrupted,
	};
	return { code: await runCommand(["attest", ...args], io), ...written };
}

test("a file of no known kind accuses nobody, one that is not there is unreadable, a wrong option usage", async () => {
	const strange = join(scratch, "strange.bin");
	writeFileSync(strange, "hello, this is not a report of any kind");
	const run = await assay("verify", strange);
	assert.equal(run.code, 66);
	assert.match(run.out, /^INCONCLUSIVE {2}ATTEST_FILES at files\n {2}file 1 is of no kind that is known here\n/);
	assert.equal((await assay("verify", join(scratch, "gone"))).code, 66);
	assert.equal((await assay("verify", strange, "--at", "yesterday")).code, 64);
	assert.equal((await assay("verify", strange, "--nonce", "xyz")).code, 64);
	assert.match((await assay("show", strange)).out, /^unknown \(unchecked\)\n/);
	// Verdicts say by which rules they were reached, and the rules are printed.
	const [, policy] = /by policy ([0-9a-f]{64})\n/.exec(run.out) ?? [];
	assert.match((await assay("policy")).out, new RegExp(`^${policy} {2}policy, by the vendors' roots\\n`));
});

test("a list of allowed guests that cannot be used is refused by its entry, before anything is judged", async () => {
	const path = join(scratch, "guests.json");
	const run = async (guests: string) => {
		writeFileSync(path, guests);
		return assay("verify", path, "--guests", path);
	};
	const td = { name: "image 12", tee: "tdx", mrtd: "00".repeat(48) };
	const bad = await run(JSON.stringify({ version: 1, guests: [{ ...td, rtmr: Array(4).fill(null) }, td] }));
	assert.equal(bad.code, 66);
	assert.match(bad.err, /GUESTS_BAD/);
	assert.match(bad.err, /guests\.json cannot be used: guests\[1\]: rtmr must be the four registers/);
	assert.match(bad.err, /docs\/attestation\.md/);
	const good = await run(JSON.stringify({ version: 1, guests: [{ ...td, rtmr: Array(4).fill(null) }] }));
	assert.equal(good.code, 66, "the list itself is no evidence");
	assert.equal((await assay("verify", path, "--guests", join(scratch, "gone"))).code, 66);
});

test("files that are longer than anything, or never end, are not read", async () => {
	const long = join(scratch, "long.bin");
	writeFileSync(long, "");
	truncateSync(long, 2 ** 30);
	for (const path of [long, "/dev/zero"])
		for (const verb of ["verify", "show"]) {
			const run = await assay(verb, path);
			assert.equal(run.code, 66, run.out);
			assert.match(run.err, /at most 8388608 are read|goes on after 8388608 bytes/);
		}
});

test("in 2036 the same files, judged at their time, give the same verdict", { skip: samplesMissing }, async (t) => {
	const gpu = join(SAMPLES, "nvidia/gpu/h100-550.90.07");
	const rims = ["NV_GPU_DRIVER_GH100_550.90.07", "NV_GPU_VBIOS_1010_0200_882_96009F0001"];
	const files = [...["report.bin", "chain.pem"].map((one) => join(gpu, one))];
	const all = [...files, ...rims.map((one) => join(SAMPLES, `nvidia/rim/${one}.xml`))];
	const judge = async () => {
		const run = await assay("verify", ...all, "--at", "2025-08-21T12:00:00Z", "--json");
		return { code: run.code, ...JSON.parse(run.out), verifyUs: 0 };
	};
	t.mock.method(globalThis, "fetch", () => assert.fail("a request was made"));
	const now = await judge();
	assert.equal(now.level, "measured");
	t.mock.timers.enable({ apis: ["Date"], now: Date.parse("2036-01-01T00:00:00Z") });
	assert.deepEqual(await judge(), now);
});

test("real files are recognised and judged together", { skip: samplesMissing }, async () => {
	const gpu = join(SAMPLES, "nvidia/gpu/h100-550.90.07");
	const rims = ["NV_GPU_DRIVER_GH100_550.90.07", "NV_GPU_VBIOS_1010_0200_882_96009F0001"].map((name) =>
		join(SAMPLES, `nvidia/rim/${name}.xml`),
	);
	const files = [join(gpu, "report.bin"), join(gpu, "chain.pem"), ...rims];
	const then = ["--at", "2025-08-21T12:00:00Z"];
	const good = await assay("verify", ...files, ...then, "--json");
	assert.equal(good.code, 0, good.out + good.err);
	const { status, level, facts } = JSON.parse(good.out);
	assert.deepEqual([status, level, facts.measurements], ["valid", "measured", 32]);
	const late = await assay("verify", ...files, "--at", "2026-11-15T00:00:00Z");
	assert.equal(late.code, 2);
	assert.match(late.out, /^INCONCLUSIVE {2}COLLATERAL_STALE/);
	const other = await assay("verify", ...files, ...then, "--nonce", "00".repeat(32));
	assert.equal(other.code, 1);
	assert.match(other.out, /^INVALID {2}NONCE_WRONG/);
	const snp = ["report.bin", "leaf.pem"].map((name) => join(SAMPLES, "amd/genoa", name));
	const cpu = await assay("verify", ...snp, join(SAMPLES, "roots/amd-genoa.pem"), "--at", "2026-06-01T00:00:00Z");
	assert.equal(cpu.code, 0, cpu.out);
	assert.match(cpu.out, /^VALID {2}SNP report, level genuine\n/);
	const low = await assay("verify", ...snp, join(SAMPLES, "roots/amd-genoa.pem"), "--require", "measured");
	assert.equal(low.code, 2, "a report of a CPU alone shows no measured firmware");
	const shown = await assay("show", files[0]!);
	assert.match(shown.out, /^device report \(unchecked\)\n {2}device {9}gpu\n/);
});
