// The command line as a user meets it: a process, its output, its exit code.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { CLI_PAGE, cliPage } from "../../src/cli/cli-page.test-kit.ts";
import { exitCodes } from "../../src/cli/exit-codes.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "assay-cli-"));
const OWN = { ASSAY_HOME: join(scratch, "home"), NO_COLOR: "1" };
after(() => rmSync(scratch, { recursive: true, force: true }));

/** A process of its own. Loading it takes most of its time: where that is not what is looked at, `assay`. */
function started(...args: string[]) {
	const run = spawnSync(process.execPath, [main, ...args], {
		encoding: "utf8",
		cwd: scratch,
		env: { ...process.env, ...OWN },
		timeout: 600_000,
	});
	return { code: run.status, out: run.stdout, err: run.stderr };
}

/** The same command in this process. */
async function assay(...args: string[]) {
	const said = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ isTTY: false, write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
	const env = { ...process.env, ...OWN };
	const io = { out: stream("out"), err: stream("err"), env, cwd: scratch, interrupted: new AbortController().signal };
	return { code: await runCommand(args, io), ...said };
}

test("no command, an unknown command and a bad option are usage errors with a hint", async () => {
	assert.equal(started().code, exitCodes.usage.code);
	const unknown = started("improve");
	assert.equal(unknown.code, exitCodes.usage.code);
	assert.match(unknown.err, /no command 'improve'.*\[USAGE\]/);
	for (const args of [
		["verify"],
		["verify", "a", "b"],
		["probe", "--sustain", "soon"],
		["probe", "--nonsense"],
		["probe", "ftp://x"],
		["doctor", "x"],
	])
		assert.equal((await assay(...args)).code, exitCodes.usage.code, args.join(" "));
});

test("help names every command and goes to standard output", async () => {
	const help = started("--help");
	assert.equal(help.code, 0);
	const network = [
		"up",
		"providers",
		"history",
		"probes",
		"evidence",
		"scores",
		"rent",
		"db",
		"chain",
		"stake",
		"deposit",
		"unstake",
		"claim",
		"audit",
		"accuse",
		"watch",
		"prove",
		"dispute",
		"tokens",
		"provide",
		"validate",
	];
	const listed = [...help.out.matchAll(/^ {2}([a-z]+) {2,}/gm)].map((m) => m[1]);
	const here = ["probe", "verify", "report", "attest", "devices", "job", "program", "model", "doctor", "config"];
	assert.deepEqual(listed, [...here, ...network]);
	for (const name of ["probe", "verify", "attest", "devices", "doctor", "up", "rent"]) {
		assert.match(help.out, new RegExp(`^  ${name} `, "m"));
		const own = await assay(name, "--help");
		assert.equal(own.code, 0);
		assert.match(own.out, new RegExp(`^usage: assay ${name}`));
	}
});

test("a missing file is exit 66, and so is one of noise or an empty one; what says that it is evidence and is none is invalid", async () => {
	assert.equal((await assay("verify", join(scratch, "absent"))).code, exitCodes.input.code);
	for (const bytes of [new Uint8Array(0), new Uint8Array(4096).fill(7)]) {
		const path = join(scratch, "noise");
		writeFileSync(path, bytes);
		const run = await assay("verify", path, "--json");
		assert.equal(run.code, exitCodes.input.code);
		assert.equal(JSON.parse(run.out).error.code, "FILE_KIND");
	}
	for (const rest of ["", "\0\0\0\x02{}", "noise".repeat(100)]) {
		const path = join(scratch, "forged");
		writeFileSync(path, `ASSAYEV1${rest}`);
		const run = await assay("verify", path, "--json");
		assert.equal(run.code, exitCodes.invalid.code);
		assert.equal(JSON.parse(run.out).status, "invalid");
	}
});

test("probe, then verify: the file it leaves is valid, and one flipped bit makes it invalid", async () => {
	const file = join(scratch, "local.assay");
	const probe = started("probe", "local", "--quick", "--json", "--out", file);
	assert.equal(probe.code, exitCodes.valid.code, probe.err);
	const result = JSON.parse(probe.out);
	assert.equal(result.verdict.status, "valid");
	assert.equal(result.evidence.path, file);

	const good = await assay("verify", file, "--json", "--signer", result.verdict.signer);
	assert.equal(good.code, exitCodes.valid.code, good.out);
	assert.deepEqual(JSON.parse(good.out).figures, result.verdict.figures);
	assert.equal((await assay("verify", file, "--json", "--signer", "0".repeat(64))).code, exitCodes.invalid.code);

	const again = await assay(
		"probe",
		"local",
		"--quick",
		"--json",
		"--out",
		join(scratch, "again.assay"),
		"--compare",
		file,
	);
	assert.equal(again.code, exitCodes.valid.code, again.err);
	const compared = JSON.parse(again.out).comparison as { name: string; before: number; now: number }[];
	assert.ok(compared.some(({ name, before, now }) => name === "gemm.int8" && before > 0 && now > 0));

	const bytes = readFileSync(file);
	bytes[bytes.length >> 1]! ^= 1;
	writeFileSync(file, bytes);
	const bad = started("verify", file);
	assert.equal(bad.code, exitCodes.invalid.code);
	assert.match(bad.out, /^INVALID {2}[A-Z_]+ at /);
	assert.equal((await assay("probe", "local", "--quick", "--compare", file)).code, exitCodes.input.code);
});

test("--max-age: a young valid file of our own will do; a spoilt or foreign one is made again", async () => {
	const out = join(scratch, "kept.assay");
	const probe = (...args: string[]) => assay("probe", "--quick", "--out", out, ...args);
	assert.match((await probe("--max-age", "1")).out, /local, in /);
	const first = readFileSync(out);
	assert.match((await probe("--max-age", "1")).out, /not probed again/);
	assert.deepEqual(readFileSync(out), first);
	// Somebody else's file, however good.
	writeFileSync(out, readFileSync(new URL("../../vectors/h200.assay", import.meta.url)));
	assert.match((await probe("--max-age", "36500")).out, /local, in /);
	first[first.length >> 1]! ^= 1;
	writeFileSync(out, first);
	assert.match((await probe("--max-age", "1")).out, /local, in /);
	assert.equal((await assay("probe", "--max-age", "1")).code, exitCodes.usage.code);
	assert.equal((await probe("--max-age", "1", "--sustain", "1")).code, exitCodes.usage.code);
});

test("--device: only that one is asked; one that is not there is named with those that are", async () => {
	// A host of three devices: this machine's cores in three parts. Cards of another vendor lie beside them.
	const engine = join(scratch, "three-devices");
	const { path: real } = await findEngine(hostPlatform());
	const bus = join(scratch, "bus");
	for (const address of ["0000:05:00.0", "0000:15:00.0"]) {
		mkdirSync(join(bus, address), { recursive: true });
		for (const [name, value] of Object.entries({ vendor: "0x1002", device: "0x74a1", class: "0x120000" }))
			writeFileSync(join(bus, address, name), `${value}\n`);
	}
	const flags = `--cpu-devices 3 --threads 3 --no-disk --toy-pci '${bus}'`;
	writeFileSync(engine, `#!/bin/sh\nexec '${real}' ${flags} "$@"\n`, { mode: 0o755 });
	const AMD = "2 × AMD Instinct MI300X: not supported yet; only NVIDIA cards can be proven";
	assert.ok((await assay("devices", "--engine", engine)).out.includes(`gpu –  ${AMD}\n`));
	const out = join(scratch, "one-of-three.assay");
	const probe = (...args: string[]) => assay("probe", "--quick", "--json", "--engine", engine, "--out", out, ...args);
	const one = await probe("--device", "1");
	assert.equal(one.code, exitCodes.valid.code, one.err);
	const { verdict, claim } = JSON.parse(one.out);
	assert.equal(claim.devices.length, 3);
	assert.deepEqual([...new Set(verdict.figures.map(({ device }: { device: number }) => device))], [1]);
	const told = verdict.findings.filter(({ code }: { code: string }) => code === "GPU_UNSUPPORTED");
	assert.deepEqual(told, [{ code: "GPU_UNSUPPORTED", detail: AMD }]);
	// It is good enough for itself, and not for the whole host, nor for another device.
	const first = readFileSync(out);
	const ordered = await probe("--device", "1", "--max-age", "1", "--expect", "1xH200");
	assert.deepEqual(readFileSync(out), first);
	assert.equal(ordered.code, exitCodes.invalid.code);
	assert.equal(JSON.parse(ordered.out).order.reason, `ordered: 1 × H200; proven: 0 of 1; no GPU was proven; ${AMD}`);
	for (const wrong of ["3", "999"]) {
		const none = await probe("--device", wrong);
		assert.equal(none.code, exitCodes.unknown.code, none.out);
		assert.match(none.err, /there is no device \d+ on the host; it shows 0 \(cpu, .*2 \(cpu, .*\[DEVICE_MISSING\]/);
		assert.match(none.err, /`assay devices local` lists them/);
	}
	assert.equal((await probe("--device", "first")).code, exitCodes.usage.code);
	assert.deepEqual(readFileSync(out), first);
	assert.equal((await probe("--device", "2", "--max-age", "1")).code, exitCodes.valid.code);
	assert.notDeepEqual(readFileSync(out), first);
});

test("devices lists this machine's CPU as a claim", async () => {
	const run = await assay("devices", "local", "--json");
	assert.equal(run.code, 0, run.err);
	assert.ok(JSON.parse(run.out).devices.some(({ kind }: { kind: string }) => kind === "cpu"));
});

test("doctor answers in both forms", async () => {
	assert.match((await assay("doctor")).out, /node/);
	assert.equal(typeof JSON.parse((await assay("doctor", "--json")).out).ready, "boolean");
});

test("a host that cannot be reached is 69, with a hint", async () => {
	// Port 1 on loopback: nothing listens there.
	const run = await assay("probe", "ssh://nobody@127.0.0.1:1");
	assert.equal(run.code, exitCodes.unavailable.code, run.err);
	assert.match(run.err, /\[HOST_UNREACHABLE\]/);
});

test("docs/cli.md is what the commands' rows make of it", async () => {
	assert.equal(readFileSync(CLI_PAGE, "utf8"), await cliPage(), "run node src/cli/cli-page.test-kit.ts");
	const stale = "<!-- made: exit codes -->\n| 3 | stale row |\n<!-- end -->\n";
	assert.match(await cliPage(stale), /^\| 64 \| usage \|/m);
	assert.doesNotMatch(await cliPage(stale), /stale row/);
});
