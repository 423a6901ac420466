// Wrong command lines, as people type them: each has its code, its exit code, one line of reason and a hint
// whose commands exist with the options that it names, and which work when they are pasted; none prints a
// stack or a path into a schema. Hints carry --data, --api and --rpc along. Not here: what a network refuses
// (network-cli.test.ts).
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type CommandName, loaders } from "../../src/cli/commands.ts";
import { exitCodes } from "../../src/cli/exit-codes.ts";
import { parseOptions } from "../../src/cli/options.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { codes } from "../../src/protocol/codes.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-wrong-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
mkdirSync(join(scratch, "folder"));
writeFileSync(join(scratch, "noise.assay"), Buffer.alloc(1000, 7));
writeFileSync(join(scratch, "empty.json"), "{}");
writeFileSync(join(scratch, "bad.json"), "{ nope");
writeFileSync(join(scratch, "fleet.txt"), "root@a\nhttp://b\n");
writeFileSync(join(scratch, "wrong.toml"), "[providers]\nlimt = 5\n");
writeFileSync(join(scratch, "id.pub"), "not a key\n");

async function assay(line: string) {
	const said = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ isTTY: false, write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
	const env = { ASSAY_HOME: join(scratch, "home"), HOME: scratch, PATH: process.env.PATH, NO_COLOR: "1" };
	const interrupted = new AbortController().signal;
	const io = { out: stream("out"), err: stream("err"), env, cwd: scratch, interrupted };
	return { code: await runCommand(line.split(" ").filter(Boolean), io), ...said };
}

/** What is typed; code and exit; a word of the reason. */
const WRONG: readonly (readonly [line: string, code: string, exit: keyof typeof exitCodes, reason: RegExp])[] = [
	["proof", "USAGE", "usage", /no command 'proof'/],
	["--nonsense", "USAGE", "usage", /no command '--nonsense'/],
	["help nothing", "USAGE", "usage", /no command 'nothing'/],
	["probe --nonsense", "USAGE", "usage", /no option 'nonsense'/],
	["probe --qick", "USAGE", "usage", /did you mean --quick/],
	["probe -q", "USAGE", "usage", /no option 'q'/],
	["probe --sustain soon", "USAGE", "usage", /--sustain takes a number/],
	["probe --samples 0", "USAGE", "usage", /--samples takes a number from 1/],
	["probe --samples", "USAGE", "usage", /--samples needs a value/],
	["probe --sustain -1", "USAGE", "usage", /--sustain needs a value/],
	["probe --quick=yes", "USAGE", "usage", /--quick takes no value/],
	["probe gpu-box", "TARGET_BAD", "usage", /root@gpu-box/],
	["probe ftp://x", "TARGET_BAD", "usage", /neither `local` nor/],
	["probe root@", "TARGET_BAD", "usage", /host/],
	["probe root@a b", "USAGE", "usage", /too many arguments: b/],
	["probe root:secret@a", "TARGET_BAD", "usage", /password/],
	["probe ssh://a:99999", "TARGET_BAD", "usage", /port/],
	["probe root@a/b", "TARGET_BAD", "usage", /path/],
	["probe local --identity k", "USAGE", "usage", /for ssh/],
	["probe ssh://a --engine x", "USAGE", "usage", /local targets/],
	["probe --engine nothing-here", "ENGINE_MISSING", "unavailable", /no engine nothing-here/],
	["probe --device first", "USAGE", "usage", /the number of a device/],
	["probe --config none.toml", "FILE_UNREADABLE", "input", /no such file/],
	["probe --config", "USAGE", "usage", /--config needs a value/],
	["providers --config wrong.toml", "CONFIG_UNKNOWN", "usage", /line 2: providers has no option 'limt'/],
	["config check wrong-form.toml --config x", "USAGE", "usage", /too many/],
	["provide --validator ws://x --alert nowhere", "USAGE", "usage", /--alert takes http/],
	["probe --expect 8xNothing", "CARD_NAME_UNKNOWN", "usage", /'Nothing'/],
	["probe --expect 8xMI300X", "CARD_UNSUPPORTED", "usage", /AMD Instinct MI300X: not supported yet/],
	["probe --expect 0xH100", "USAGE", "usage", /1 to 64 cards/],
	["probe --min-fp16 fast", "USAGE", "usage", /600T/],
	["probe --min-memory 75furlongs", "USAGE", "usage", /75GiB/],
	["probe --fleet none.txt", "FILE_UNREADABLE", "input", /no such file/],
	["probe --fleet fleet.txt", "FLEET_BAD", "input", /line 2/],
	["probe local --fleet fleet.txt", "USAGE", "usage", /not both/],
	["probe --compare none.assay", "FILE_UNREADABLE", "input", /no such file/],
	["probe --compare noise.assay", "FILE_UNREADABLE", "input", /proves nothing/],
	["probe --out nowhere/x.assay", "FILE_UNWRITABLE", "output", /no such file or folder/],
	["probe root@127.0.0.1:1 --identity nokey", "AUTH_FAILED", "refused", /identity file/],
	["probe root@127.0.0.1:1", "HOST_UNREACHABLE", "unavailable", /cannot be reached/],
	["verify", "USAGE", "usage", /missing: FILE/],
	["verify a b", "USAGE", "usage", /too many/],
	["verify none.assay", "FILE_UNREADABLE", "input", /no such file/],
	["verify folder", "FILE_UNREADABLE", "input", /it is a folder/],
	["verify noise.assay --signer xyz", "USAGE", "usage", /64 lower-case hex/],
	["verify noise.assay --max-age old", "USAGE", "usage", /number from 0/],
	["verify noise.assay --claim abc", "USAGE", "usage", /64 lower-case hex/],
	["verify noise.assay", "FILE_KIND", "input", /no evidence, proof or receipt/],
	["verify empty.json", "FILE_KIND", "input", /no evidence, proof or receipt/],
	["report noise.assay", "FILE_KIND", "input", /no evidence file/],
	["devices a b", "USAGE", "usage", /too many/],
	["doctor x", "USAGE", "usage", /too many/],
	["evidence", "USAGE", "usage", /missing: PROBE/],
	["providers shw", "USAGE", "usage", /not 'shw'/],
	["providers add", "USAGE", "usage", /missing: TARGET/],
	["providers add gpu-box", "TARGET_BAD", "usage", /root@gpu-box/],
	["providers --api nowhere", "USAGE", "usage", /--api takes http/],
	["providers --api http://127.0.0.1:1", "API_UNREACHABLE", "unavailable", /127\.0\.0\.1:1/],
	["providers --data folder", "API_UNREACHABLE", "unavailable", /no network is running/],
	["providers --limit many", "USAGE", "usage", /--limit/],
	["scores --epoch x", "USAGE", "usage", /--epoch/],
	["rent", "USAGE", "usage", /rent takes search/],
	["rent steal", "USAGE", "usage", /not 'steal'/],
	["rent start", "USAGE", "usage", /--for takes a time/],
	["rent start --for 99d", "USAGE", "usage", /30 days/],
	["rent start --for 2h", "FILE_UNREADABLE", "input", /no SSH public key/],
	["rent start --for 2h --ssh-key id.pub", "PUBLIC_KEY_BAD", "input", /key/],
	["up --database x", "USAGE", "usage", /postgres:\/\//],
	["up --port 99999", "USAGE", "usage", /65535/],
	["up --param x", "USAGE", "usage", /NAME=VALUE/],
	["up --providers 0", "USAGE", "usage", /1 to 16/],
	["up --liar --no-chain", "USAGE", "usage", /--liar/],
	["up --until-claimable --no-chain", "USAGE", "usage", /needs a chain/],
	["up --no-chain --no-provider --param nothing=1", "PARAMS_BAD", "usage", /no such parameter/],
	["validate --listen x", "USAGE", "usage", /HOST:PORT/],
	["validate --bucket evidence", "CONFIG_BAD", "usage", /https:\/\/HOST\/BUCKET/],
	["validate --bucket https://s3.example/evidence", "CONFIG_BAD", "usage", /keys/],
	["provide", "USAGE", "usage", /--validator is missing/],
	["provide --validator x", "TARGET_BAD", "usage", /not a URL/],
	["provide --validator ftp://x", "TARGET_BAD", "usage", /ws:/],
	["provide --validator ws://x --rentable", "USAGE", "usage", /--ssh-host/],
	["provide --validator ws://x --trust k", "USAGE", "usage", /64 lower-case hex/],
	["provide --validator ws://x --engine none", "ENGINE_MISSING", "unavailable", /no engine none/],
	["stake x", "USAGE", "usage", /number above 0/],
	["stake 5 --provider --data folder", "KEY_UNUSABLE", "refused", /no provider in/],
	["unstake", "USAGE", "usage", /--withdraw/],
	["claim", "CHAIN_MISSING", "unavailable", /no embedded chain/],
	["claim --rpc nowhere", "USAGE", "usage", /http:\/\//],
	["claim --rpc http://127.0.0.1:1", "CHAIN_UNREACHABLE", "unavailable", /127\.0\.0\.1:1/],
	["claim --contracts x", "USAGE", "usage", /--rpc/],
	["chain stats", "USAGE", "usage", /not 'stats'/],
	["chain claim", "USAGE", "usage", /command of its own/],
	["chain stake", "USAGE", "usage", /command of its own/],
	["chain audit", "USAGE", "usage", /command of its own/],
	["chain deploy", "USAGE", "usage", /--rpc/],
	["chain send x 5", "USAGE", "usage", /40 hex digits/],
	["audit foo", "USAGE", "usage", /EPOCH takes a number/],
	["audit 99", "CHAIN_MISSING", "unavailable", /no embedded chain/],
	["accuse x", "USAGE", "usage", /--receipts/],
	["dispute show", "USAGE", "usage", /missing: CLAIM/],
	["tokens revoke", "USAGE", "usage", /missing: TOKEN/],
	["job run none.json", "FILE_UNREADABLE", "input", /no such file/],
	["job run empty.json", "JOB_FIELD", "input", /workload must be one of/],
	["job run bad.json", "JOB_FIELD", "input", /no JSON/],
	["job check folder", "RUN_ABSENT", "input", /claim\.json/],
	["job submit empty.json --method x", "JOB_FIELD", "input", /redundant:2/],
	["program check", "USAGE", "usage", /missing: FILE/],
	["attest verify", "USAGE", "usage", /missing: FILE/],
	["deposit x", "USAGE", "usage", /number above 0/],
];

/**
 * Those that answer at once and change nothing: they are run as they are pasted. The others are read as they
 * would be when they are run.
 */
const RUN = ["doctor", "devices", "config", "providers", "probes", "scores", "history", "chain"];
const ran = new Map<string, Promise<{ code: number; err: string }>>();

/** Every `assay …` of a hint is pasted. Words in capitals stand for something that only the reader knows. */
async function mustWork(hint: string): Promise<void> {
	const typed = [...hint.matchAll(/`assay ([^`]+)`|(?:See|Try): assay ([a-z][^.]*)/g)];
	for (const [whole, quoted, plain] of typed) {
		const line = (quoted ?? plain)!.replaceAll(/'([^']*)'/g, "$1");
		const [name = "", ...words] = line.split(" ");
		assert.ok(Object.hasOwn(loaders, name), whole);
		const { options, verbs } = await loaders[name as CommandName]();
		const isWhole = !/\b[A-Z]{2,}\b|…/.test(line);
		if (isWhole && (words.includes("--help") || RUN.includes(name))) {
			if (!ran.has(line)) ran.set(line, assay(line));
			const { code, err } = await ran.get(line)!;
			assert.doesNotMatch(err, /\[(USAGE|INTERNAL)\]/, `${whole}: ${code}`);
			if (words.includes("--help")) assert.equal(code, 0, whole);
			continue;
		}
		const { positionals } = parseOptions(options, words);
		const verb = positionals[0];
		if (!Object.hasOwn(verbs, "")) assert.ok(verb !== undefined && Object.hasOwn(verbs, verb), whole);
	}
}

test(`${WRONG.length} wrong command lines: code, exit, one line of reason, a hint that works`, async (t) => {
	assert.ok(WRONG.length >= 60);
	for (const [line, code, exit, reason] of WRONG)
		await t.test(`assay ${line}`, async () => {
			const run = await assay(line);
			const lines = run.err.trimEnd().split("\n");
			const at = lines.findIndex((one) => one.startsWith("assay: "));
			assert.ok(at >= 0, `nothing is refused: ${run.err}${run.out}`);
			const [said = "", hint = "", ...more] = lines.slice(at);
			const [, sentence = "", found] = /^assay: (.+) \[([A-Z_]+)\]$/.exec(said) ?? [];
			assert.deepEqual([found, run.code], [code, exitCodes[exit].code], run.err);
			assert.match(sentence, reason);
			assert.ok(sentence.length <= 240, sentence);
			assert.ok(Object.hasOwn(codes, code));
			assert.match(hint, /^ {2}\S/, run.err);
			assert.deepEqual(more, [], run.err);
			// A stack, Node's own words, a path into a schema.
			assert.doesNotMatch(
				run.err + run.out,
				/\n\s+at |\.ts:\d|node:|ENOENT|EISDIR|\b(body|query|params)\.[a-z]|undefined|\[object/,
			);
			await mustWork(hint);
		});
});

test("with --json the same code and hint are JSON on standard output", async () => {
	const { out, code } = await assay("providers --data folder --json");
	const { error } = JSON.parse(out);
	assert.deepEqual([error.code, code], ["API_UNREACHABLE", 69]);
	assert.match(error.hint, /`assay up --data folder`/);
});

test("hints carry --data, --api and --rpc along, quoted for a shell, and only where a command takes them", async () => {
	const { carriedAlong } = await import("../../src/cli/hints/carried-along.ts");
	const hint = "Start it with `assay up`, look with `assay providers show x`, or `assay doctor`; see assay help.";
	assert.equal(await carriedAlong(hint, ["scores"]), hint);
	assert.equal(
		await carriedAlong(hint, ["scores", "--data", "my net", "--api=http://x"]),
		"Start it with `assay up --data 'my net'`, look with `assay providers show x --data 'my net' --api http://x`, or `assay doctor`; see assay help.",
	);
	assert.equal(await carriedAlong("`assay up --data a`", ["scores", "--data", "b"]), "`assay up --data a`");
	assert.match(await carriedAlong("`assay up`", ["x", "--data", "$(id)'"]), /--data '\$\(id\)'\\'''`$/);
	const missing = await assay("claim --data folder");
	assert.match(missing.err, /`assay up --data folder`/);
});
