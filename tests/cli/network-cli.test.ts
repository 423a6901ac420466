// The network's commands as a user meets them: one `assay up` with the real engine and an embedded database
// for the whole file, every command against it, its table, its JSON, its errors. Not here: what the validator
// decides (src/validator/), what the API refuses (api).
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { exitCodes } from "../../src/cli/exit-codes.ts";
import { plural } from "../../src/cli/print/table.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { atEnd } from "../at-end.test-kit.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "assay-network-"));
const home = join(scratch, "home");
const env: Record<string, string | undefined> = {
	...process.env,
	HOME: scratch,
	ASSAY_HOME: home,
	NO_COLOR: "1",
	DATABASE_URL: "",
	ASSAY_API: "",
	ASSAY_TOKEN: "",
};

interface Run {
	readonly code: number | null;
	readonly out: string;
	readonly err: string;
}

/**
 * In this process: a hundred commands would be a hundred starts of Node. What needs a process of its own is
 * started below.
 */
async function assayWith(more: Record<string, string>, ...args: string[]): Promise<Run> {
	const said = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ isTTY: false, write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
	const interrupted = new AbortController().signal;
	const io = { out: stream("out"), err: stream("err"), env: { ...env, ...more }, cwd: scratch, interrupted };
	return { code: await runCommand(args, io), ...said };
}
/** As a program. */
async function assayProcess(...args: string[]): Promise<Run> {
	const child = spawn(process.execPath, [main, ...args], { cwd: scratch, env });
	let [out, err] = ["", ""];
	child.stdout.on("data", (chunk) => (out += chunk));
	child.stderr.on("data", (chunk) => (err += chunk));
	return new Promise((resolve) => child.once("close", (code) => resolve({ code, out, err })));
}
const assay = (...args: string[]) => assayWith({}, ...args);
const json = async (...args: string[]) => {
	const run = await assay(...args, "--json");
	assert.equal(run.code, 0, run.err);
	return JSON.parse(run.out);
};

const ups: { stop(): Promise<unknown> }[] = [];

/** Starts `up` and gives its lines as they come; `until` waits for one that matches, or for the end. */
function startUp(...args: string[]) {
	const child: ChildProcess = spawn(process.execPath, [main, "up", "--providers", "1", ...args], { cwd: scratch, env });
	const lines: string[] = [];
	let err = "";
	child.stderr!.on("data", (chunk) => (err += chunk));
	const waiting = new Set<() => void>();
	createInterface({ input: child.stdout! }).on("line", (line) => {
		lines.push(line);
		for (const look of waiting) look();
	});
	const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
	const started = {
		lines,
		said: () => `${lines.join("\n")}\n${err}`,
		child,
		ended,
		until: (pattern: RegExp) =>
			new Promise<string>((resolve, reject) => {
				const look = () => {
					const found = lines.find((line) => pattern.test(line));
					if (found === undefined) return;
					waiting.delete(look);
					resolve(found);
				};
				waiting.add(look);
				look();
				void ended.then(() => reject(new Error(`up ended before ${pattern}: ${lines.join("\n")}\n${err}`)));
			}),
		async stop() {
			// Twice, as where npm passes on what the whole group got.
			child.kill("SIGTERM");
			setTimeout(() => child.kill("SIGTERM"), 20).unref();
			return ended;
		},
	};
	ups.push(started);
	return started;
}

/** A zombie has ended too: not every container has somebody who collects them. */
function isGone(pid: number | string): boolean {
	try {
		return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
	} catch {
		return true;
	}
}

type Up = ReturnType<typeof startUp>;
let first: Up;
let up: Up;
let url = "";

before(async () => {
	mkdirSync(home);
	// Ends by itself at the first score; what it printed and left is looked at below.
	first = startUp("--quick", "--until-scored", "--name", "this machine", "--price", "1.5");
	assert.equal(await first.ended, 0, first.lines.join("\n"));
	up = startUp("--quick", "--name", "this machine", "--price", "1.5");
	url = /http:\S+/.exec(await up.until(/^dashboard /))![0];
	await up.until(/^joined /);
});
after(async () => {
	for (const one of ups) await one.stop();
	rmSync(scratch, { recursive: true, force: true });
});

test("up tells what starts, who joins, what is proven, and the score", () => {
	const text = first.lines.join("\n");
	for (const part of [/^database /m, /^dashboard http:\/\/127\.0\.0\.1:\d+/m, /^joined .*this machine/m])
		assert.match(text, part);
	assert.match(text, /^VALID .*this machine, probe [0-9a-f]{12} in/m);
	assert.match(text, /matrix int8 [\d.]+ [GT]OPS/);
	// With or without a GPU here: on a trial network both count.
	assert.match(text, /^score {5}this machine 0\.0*[1-9]/m);
	assert.match(text, /^score {5}this machine \d\.\d{6} = (gpu|host only) .* × host .* × reliability/m);
	assert.match(text, /^ {10}trial network: a host without a GPU counts 1 %/m);
	// Not a terminal: plain lines.
	assert.ok(!text.includes("\u001b"));
	// A fresh folder: nothing was there to be found.
	assert.doesNotMatch(text, /^found /m);
});

test("a second start finds everything; while it runs another one is told where it is", async () => {
	// One probe; more where the machine grew slower after it, and was late for the roll call.
	const verdicts = first.lines.filter((line) => /^(VALID|INVALID|INCONCLUSIVE) /.test(line));
	const valid = verdicts.filter((line) => line.startsWith("VALID ")).length;
	const files = verdicts.filter((line) => / {2}evidence /.test(line)).length;
	const found = `1 provider, ${plural(verdicts.length, "probe")} (${valid} valid), ${plural(files, "evidence file")}`;
	assert.ok((await up.until(/^found /)).includes(`${found};`), `${found} in ${await up.until(/^found /)}`);
	const refused = await assayProcess("up", "--json");
	assert.equal(refused.code, exitCodes.busy.code);
	const { error } = JSON.parse(refused.out);
	assert.equal(error.code, "UP_RUNNING");
	assert.ok(error.message.includes(url), error.message);
	assert.notEqual(error.hint, "");
	// What a dead process left is no network: see the last test. What is none of ours neither.
	const other = join(scratch, "other");
	mkdirSync(other);
	writeFileSync(join(other, "up.json"), '{"pid":1,"startTicks":"1","url":"http://127.0.0.1:9"}');
	assert.equal((await assay("providers", "--data", other)).code, exitCodes.unavailable.code);
});

test("providers: table, JSON, filters, one of them", async (t) => {
	const table = await assay("providers");
	assert.equal(table.code, 0, table.err);
	assert.match(table.out, /^ {2}id .*verdict.*score/);
	assert.match(table.out, /this machine +no GPU .*valid/);
	const { rows } = await json("providers", "--sort", "name", "--connected");
	assert.equal(rows.length, 1);
	assert.deepEqual(
		[rows[0].name, rows[0].lastVerdict, rows[0].pricePerHourMicros],
		["this machine", "valid", 1_500_000],
	);
	assert.equal((await json("providers", "--min-memory", "80")).rows.length, 0);
	assert.match((await assay("providers", "--model", "h200")).out, /no provider matches/);
	const shown = await assay("providers", "show", rows[0].id.slice(0, 8));
	assert.match(shown.out, new RegExp(`this machine {2}${rows[0].id}`));
	assert.match(shown.out, /claims\n +cpu/);
	// --watch ends with 0 when it is interrupted, and has shown more than one round by then.
	const watching = spawn(process.execPath, [main, "providers", "--watch", "--every", "0.1", "--json"], {
		cwd: scratch,
		env,
	});
	atEnd(t, () => watching.kill("SIGKILL"));
	let rounds = 0;
	for await (const line of createInterface({ input: watching.stdout })) {
		assert.equal(JSON.parse(line).rows.length, 1);
		if (++rounds === 2) watching.kill("SIGINT");
	}
	assert.equal(await new Promise((resolve) => watching.once("exit", resolve)), 0);
	assert.ok(rounds >= 2);
});

test("probes, evidence, verify: what the API hands out is valid, and a changed byte is not", async () => {
	const { rows } = await json("probes", "--provider", "this machine", "--verdict", "valid");
	const { id, evidenceSha256 } = rows[0];
	assert.match((await assay("probes")).out, new RegExp(`^ {2}${id.slice(0, 12)} .*valid`, "m"));
	assert.match((await assay("probes", id.slice(0, 8))).out, new RegExp(`^VALID {2}probe ${id}`));
	assert.deepEqual((await json("probes", "--verdict", "invalid")).rows, []);
	const file = join(scratch, "fetched.assay");
	const fetched = await json("evidence", id.slice(0, 8), "--out", file);
	assert.equal(fetched.sha256, evidenceSha256);
	const verified = await assay("verify", file, "--probe", id);
	assert.equal(verified.code, exitCodes.valid.code, verified.out);
	assert.equal((await assay("evidence", evidenceSha256, "--out", join(scratch, "again.assay"))).code, 0);
	assert.deepEqual(readFileSync(join(scratch, "again.assay")), readFileSync(file));
	const bytes = readFileSync(file);
	bytes[bytes.length >> 1]! ^= 1;
	writeFileSync(file, bytes);
	assert.equal((await assay("verify", file)).code, exitCodes.invalid.code);
	assert.equal((await assay("evidence", id, "--out", join(scratch, "no", "folder"))).code, exitCodes.output.code);
	assert.equal((await assay("evidence", "0".repeat(64))).code, exitCodes.unknown.code);
	assert.equal((await assay("probes", "f".repeat(32))).code, exitCodes.unknown.code);
});

test("history and scores: curves, terms, evidence hashes, epochs", async () => {
	const history = await assay("history", "this machine");
	assert.match(history.out, /of the last \d+ probes? \d+ valid/);
	assert.match(history.out, /matrix int8 .*[▁▂▃▄▅▆▇█]/);
	const told = await json("history", "this machine", "--limit", "1");
	assert.equal(told.probes.length, 1);
	const score = await json("scores", "this machine");
	const tree = await assay("scores", "this machine");
	assert.ok(tree.out.includes(`evidence ${score.terms.evidence}`));
	assert.match(tree.out, new RegExp(`gemm.int8 .* from evidence ${score.terms.evidence.slice(0, 12)}`));
	assert.match(tree.out, /from params:reliabilityStepPpm/);
	assert.match((await assay("scores")).out, /this machine +\d\.\d{6}/);
	assert.match((await assay("scores", "--epoch", "last")).out, /no epoch is final yet|^epoch /);
	assert.equal((await assay("scores", "--epoch", "4294967295")).code, exitCodes.unknown.code);
});

test("a provider's owner and others: pause, resume, add, remove need the local admin's token", async () => {
	assert.equal((await json("providers", "pause", "this machine")).state, "paused");
	assert.match((await assay("providers")).out, /paused/);
	assert.equal((await json("providers", "resume", "this machine")).state, "active");
	// Port 1: it is registered all the same, and its probes say that nobody answers.
	const added = await json("providers", "add", "ssh://nobody@127.0.0.1:1", "--name", "far away");
	assert.deepEqual([added.link, added.name], ["ssh", "far away"]);
	const again = await assay("providers", "add", "ssh://nobody@127.0.0.1:1", "--json");
	assert.equal(again.code, exitCodes.busy.code);
	assert.equal(JSON.parse(again.out).error.code, "PROVIDER_KNOWN");
	const [one, other] = (await json("providers")).rows.map(({ id }: { id: string }) => id);
	const common = [...one].findIndex((digit, i) => digit !== other[i]);
	if (common > 0) assert.equal((await assay("history", one.slice(0, common))).code, exitCodes.unknown.code);
	assert.equal((await json("providers", "remove", "far away")).state, "removed");
	// By URL alone the folder's token is still found; with another folder, or with a wrong token, it is not.
	const elsewhere = ["--api", url, "--data", join(scratch, "nobody")];
	const refused = await assay("providers", "pause", "this machine", ...elsewhere, "--json");
	assert.equal(refused.code, exitCodes.refused.code, refused.err);
	assert.equal(JSON.parse(refused.out).error.code, "CREDENTIALS_MISSING");
	assert.match(refused.err, /ASSAY_TOKEN/);
	const wrong = await assayWith({ ASSAY_TOKEN: `assay_${"x".repeat(40)}` }, "tokens", ...elsewhere);
	assert.equal(wrong.code, exitCodes.refused.code);
	assert.match(wrong.err, /\[CREDENTIALS_REFUSED\]/);
});

test("tokens: a reader's may read and not pause; a revoked one is refused", async () => {
	const made = await json("tokens", "add", "auditor", "--role", "reader", "--days", "1");
	assert.match((await assay("tokens")).out, /auditor +reader/);
	const asReader = { ASSAY_TOKEN: made.secret };
	const elsewhere = ["--api", url, "--data", join(scratch, "nobody")];
	assert.equal((await assayWith(asReader, "providers", ...elsewhere)).code, 0);
	const refused = await assayWith(asReader, "providers", "pause", "this machine", ...elsewhere);
	assert.equal(refused.code, exitCodes.refused.code);
	assert.match(refused.err, /\[ROLE_WRONG\]/);
	assert.notEqual((await json("tokens", "revoke", made.token.id.slice(0, 10))).rows[0].revokedAtMs, null);
	assert.match((await assayWith(asReader, "tokens", ...elsewhere)).err, /\[CREDENTIALS_REFUSED\]/);
	assert.equal((await assay("tokens", "revoke", "ffff")).code, exitCodes.unknown.code);
});

test("rent: a customer with a key of its own, from the search to the release", async () => {
	const keyFile = join(scratch, "id_ed25519");
	spawnSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", keyFile]);
	assert.equal((await assay("rent", "start", "this machine", "--for", "10m")).code, exitCodes.input.code);
	const bad = await assay("rent", "start", "this machine", "--for", "10m", "--ssh-key", keyFile);
	assert.match(bad.err, /\[PUBLIC_KEY_BAD\]/);
	assert.equal((await json("rent", "list")).rows.length, 0);
	const asked = ["--for", "10m", "--ssh-key", `${keyFile}.pub`];
	const dear = await assay("rent", "start", "this machine", ...asked, "--max-price", "1");
	const none = await assay("rent", "start", "--model", "h200", ...asked);
	// Without a word about GPUs one is meant, and this machine has none.
	assert.equal((await assay("rent", "start", ...asked)).code, exitCodes.unknown.code);
	assert.equal(none.code, exitCodes.unknown.code);
	assert.match(none.err, /\[OFFER_NONE\]/);
	assert.deepEqual((await json("rent", "search")).rows, []);
	const offers = (await json("rent", "search", "--min-gpus", "0")).rows;
	if (offers.length === 0) {
		// Without root nothing can be rented here, and that is what is said.
		assert.notEqual(process.getuid?.(), 0);
		assert.equal((await assay("rent", "start", "this machine", ...asked)).code, exitCodes.busy.code);
		return;
	}
	assert.equal(dear.code, exitCodes.busy.code);
	assert.match(dear.err, /\[OFFER_DEARER\]/);
	assert.match((await assay("rent", "search", "--min-gpus", "0")).out, /this machine .* 1\.50$/m);
	const started = await assay("rent", "start", "this machine", ...asked, "--max-price", "2");
	assert.equal(started.code, 0, started.err);
	assert.match(started.out, /^ {2}ssh -p \d+ -i \S+ assay-[0-9a-f]+@127\.0\.0\.1$/m);
	const [rental] = (await json("rent", "list")).rows;
	assert.equal(rental.state, "active");
	// With the key that it was begun with, which is not the user's first one.
	const whoami = await assayProcess("rent", "ssh", rental.id.slice(0, 8), "--", "id", "-un");
	assert.equal(whoami.out.trim(), rental.access.user, whoami.err);
	assert.match((await assay("providers")).out, /rented/);
	const twice = await assay("rent", "start", "this machine", ...asked);
	assert.equal(twice.code, exitCodes.busy.code);
	const longer = await json("rent", "extend", rental.id.slice(0, 8), "--for", "5m");
	assert.equal(longer.untilMs - rental.untilMs, 5 * 60_000);
	// Another customer does not even learn that it exists; the admin sees all.
	const stranger = await assay("rent", "release", rental.id, "--key", join(scratch, "stranger.key"));
	assert.equal(stranger.code, exitCodes.unknown.code);
	assert.equal((await json("rent", "list", "--all")).rows.length, 1);
	const released = await json("rent", "release", rental.id.slice(0, 8));
	assert.deepEqual([released.state, released.endReason], ["ended", "released"]);
	const over = await assay("rent", "ssh", rental.id, "--ssh-key", `${keyFile}.pub`);
	assert.equal(over.code, exitCodes.busy.code);
});

test("nobody there, nothing by that name, and command lines that are wrong", async () => {
	const nobody = await assay("providers", "--api", "http://127.0.0.1:1", "--json");
	assert.equal(nobody.code, exitCodes.unavailable.code);
	assert.equal(JSON.parse(nobody.out).error.code, "API_UNREACHABLE");
	assert.match(nobody.err, /assay up/);
	for (const args of [
		["history", "who?"],
		["scores", "who?"],
		["providers", "pause", "who?"],
		["probes", "--provider", "who?"],
	]) {
		const run = await assay(...args);
		assert.equal(run.code, exitCodes.unknown.code, args.join(" "));
		assert.match(run.err, /\[PROVIDER_UNKNOWN\]/);
	}
	for (const args of [
		["up", "--port", "70000"],
		["up", "--log", "loud"],
		["up", "--price", "much"],
		["providers", "--api", "ftp://x"],
		["providers", "--sort", "beauty"],
		["providers", "--rented", "--free"],
		["providers", "bless", "x"],
		["providers", "pause"],
		["providers", "add", "ftp://x"],
		["history"],
		["rent"],
		["rent", "steal"],
		["rent", "start", "x", "--for", "soon"],
		["tokens", "add", "x", "--role", "king"],
		["evidence"],
		["scores", "a", "b"],
	])
		assert.equal((await assay(...args)).code, exitCodes.usage.code, args.join(" "));
});

test("Ctrl-C ends all of it: provider, validator, database, and the next start is welcome", async () => {
	const pid = Number(/^(\d+)/.exec(readFileSync(join(home, "network/postgres/data/postmaster.pid"), "utf8"))![1]);
	assert.ok(!isGone(pid));
	assert.equal(await up.stop(), 0);
	assert.ok(isGone(pid));
	assert.ok(!existsSync(join(home, "network/up.json")));
	// By its folder: on the default port another network of this machine may answer.
	const away = await assay("providers", "--data", join(home, "network"));
	assert.equal(away.code, exitCodes.unavailable.code);
});

test("a killed `up` takes its provider along, and the next start takes everything over", async () => {
	const doomed = startUp("--quick", "--no-rent");
	await doomed.until(/^joined /);
	const { pid } = doomed.child;
	const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
	const provider = children.find((id) => readFileSync(`/proc/${id}/cmdline`, "utf8").includes("\0provide\0"));
	assert.notEqual(provider, undefined);
	doomed.child.kill("SIGKILL");
	await doomed.ended;
	// Its end is what is waited for; the runner's own limit ends a test that waits in vain.
	while (!isGone(provider!)) await new Promise((resolve) => setTimeout(resolve, 50));
	assert.ok(existsSync(join(home, "network/up.json")));
	const next = startUp("--until-scored");
	assert.equal(await next.ended, 0, next.said());
	assert.match(next.lines.join("\n"), /^found {5}1 provider/m);
});

test("a provider that cannot start ends an `up` that waits for its score, with the provider's own code", async () => {
	const run = await assayProcess("up", "--until-scored", "--data", join(scratch, "fails"), "--name", "x".repeat(65));
	assert.equal(run.code, exitCodes.usage.code, run.err);
	assert.match(run.out, /^provider {2}it ended: .*--name/m);
	assert.match(run.err, /\[USAGE\]/);
});
