// The config file: what of TOML is read, which value counts, what is refused with which code, and that every
// option of every command can stand in it.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { loaders } from "../commands.ts";
import { exitCodes } from "../exit-codes.ts";
import { flag, list, parseOptions, text, whole } from "../options.ts";
import { runCommand } from "../run-command.ts";
import { configPath, readConfigFile, takeConfig, valuesOf } from "./config-file.ts";
import { readToml } from "./read-toml.ts";

const COMMANDS = Object.keys(loaders);
const scratch = mkdtempSync(join(tmpdir(), "assay-config-"));
after(() => rmSync(scratch, { recursive: true, force: true }));

function fileOf(content: string, name = "a.toml"): string {
	writeFileSync(join(scratch, name), content);
	return join(scratch, name);
}

async function assay(args: readonly string[], variables: Readonly<Record<string, string>> = {}) {
	const said = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ isTTY: false, write: (words: string) => (said[name] += words) }) as unknown as NodeJS.WriteStream;
	const env = { ASSAY_HOME: join(scratch, "home"), HOME: scratch, NO_COLOR: "1", ...variables };
	const io = { out: stream("out"), err: stream("err"), env, cwd: scratch, interrupted: new AbortController().signal };
	return { code: await runCommand(args, io), ...said };
}

test("sections, strings, numbers, flags, lists, comments", () => {
	const { entries, mistakes } = readToml(
		`# one\r\n[up]  # two\nname = "a # \\"b\\" é\\u00e9"\npath = 'C:\\x # y'\nn = 1_000\nf = -1.5e3\nno-chain = true\nl = ["a", # three\n 'b',\n 3,\n]\ne = []\nq = "it's" # isn't\n`,
	);
	assert.deepEqual(mistakes, []);
	assert.deepEqual(
		entries.map(({ name, value, line }) => [name, value, line]),
		[
			["name", 'a # "b" éé', 3],
			["path", "C:\\x # y", 4],
			["n", "1000", 5],
			["f", "-1500", 6],
			["no-chain", true, 7],
			["l", ["a", "b", "3"], 8],
			["e", [], 12],
			["q", "it's", 13],
		],
	);
});

test("what TOML has beside: other bases, quoted names, escapes, text over lines, numbers beyond 2^53", () => {
	const { entries, mistakes } = readToml(
		`[up]\nhex = 0xff\n"api" = "\\U0001F600\ta"\r\nwords = """\none\ntwo"""\nwei = 100000000000000000000\n\n[ 'probe' ]\nn = 0.1\n`,
	);
	assert.deepEqual(mistakes, []);
	assert.deepEqual(
		entries.map(({ section, name, value, line }) => [section, name, value, line]),
		[
			["up", "hex", "255", 2],
			["up", "api", "😀\ta", 3],
			["up", "words", "one\ntwo", 4],
			["up", "wei", "100000000000000000000", 7],
			["probe", "n", "0.1", 10],
		],
	);
});

for (const [line, why, at = 2] of [
	["name = up", /invalid value/],
	['name = "up', /control characters/],
	['name = "a" "b"', /end-of-line/],
	["name =", /invalid value/],
	["name", /in key/],
	["[[up]]", /already defined/],
	["[[two]]", /\[\[two\]\]/],
	["a.b = 1", /^a: an option takes/],
	["[up.b]", /^b: an option takes/, 1],
	["name = 2026-11-17", /an option takes/],
	["name = 01", /leading zero/],
	["name = inf", /an option takes/],
	["name = [1, 2", /comma or end/, 3],
	["name = [1 2]", /comma or end/],
	["name = [true]", /an option takes/],
	["name = [[1]]", /an option takes/],
	["name = [1] 2", /end-of-line/],
	['name = "\\x"', /escape/],
	["name = {a = 1}", /an option takes/],
	["name = 1\nname = 2", /already defined/, 3],
	["[up]", /already defined/],
] as const)
	test(`not read: ${line.replaceAll("\n", " ")}`, () => {
		const { mistakes } = readToml(`[up]\n${line}\n`);
		assert.equal(mistakes.length, 1, JSON.stringify(mistakes));
		assert.match(mistakes[0]!.why, why);
		assert.equal(mistakes[0]!.line, at);
	});

test("before the first section there is nothing; a name of Object's is a name like others", () => {
	const [early] = readToml('# one\n\ndata = "x"\n').mistakes;
	assert.match(early!.why, /before the first/);
	assert.equal(early!.line, 3);
	const file = readConfigFile(fileOf("[__proto__]\n[up]\nconstructor = 1\n"), COMMANDS);
	assert.deepEqual(
		file.mistakes.map(({ code }) => code),
		["CONFIG_UNKNOWN"],
	);
	const found = valuesOf(file, { name: "up", options: { data: text("FOLDER", "") } });
	assert.deepEqual(
		found.mistakes.map(({ code }) => code),
		["CONFIG_UNKNOWN"],
	);
});

test("a flag counts before the environment, that before the file, that before the default", () => {
	const options = {
		api: text("URL", "", { env: "ASSAY_API", fallback: "default" }),
		quick: flag(""),
		"no-chain": flag(""),
		n: whole("N", "", [1, 9], 5),
		trust: list("KEY", ""),
	};
	const path = fileOf('[up]\napi = "file"\nquick = true\nno-chain = true\nn = 3\ntrust = ["a", "b"]\n');
	const { values: file, mistakes } = valuesOf(readConfigFile(path, COMMANDS), { name: "up", options });
	assert.deepEqual(mistakes, []);
	const at = (args: string[], env = {}) => parseOptions(options, args, { env, file }).values;
	assert.deepEqual({ ...at([]) }, { api: "file", quick: true, "no-chain": true, n: 3, trust: ["a", "b"] });
	assert.equal(at(["--api", "flag"], { ASSAY_API: "environment" }).api, "flag");
	// Who uses the value reads the variable.
	assert.equal(at([], { ASSAY_API: "environment" }).api, "default");
	assert.equal(at([], { ASSAY_API: "" }).api, "file");
	assert.deepEqual([at(["--no-quick"]).quick, at(["--no-no-chain"])["no-chain"]], [false, false]);
	assert.deepEqual([at(["--n", "7"]).n, at(["--trust", "c"]).trust], [7, ["c"]]);
	assert.deepEqual(parseOptions(options, ["--n", "7"], { env: {}, file }).fromFile, [
		"api",
		"quick",
		"no-chain",
		"trust",
	]);
	assert.throws(() => parseOptions(options, ["--no-n"]), /no option 'no-n'/);
});

test("a command takes its values from the file, unless the environment or a flag has them", async () => {
	const path = fileOf('[providers]\napi = "http://127.0.0.1:1"\n');
	const asked = async (args: string[], variables = {}) => {
		const { err } = await assay(["providers", ...args], variables);
		return /curl (\S+?)\/v1/.exec(err)?.[1];
	};
	assert.equal(await asked(["--config", path]), "http://127.0.0.1:1");
	assert.equal(await asked([`--config=${path}`]), "http://127.0.0.1:1");
	assert.equal(await asked([], { ASSAY_CONFIG: path }), "http://127.0.0.1:1");
	assert.equal(await asked([], { ASSAY_CONFIG: path, ASSAY_API: "http://127.0.0.1:2" }), "http://127.0.0.1:2");
	const all = ["--config", path, "--api", "http://127.0.0.1:3"];
	assert.equal(await asked(all, { ASSAY_API: "http://127.0.0.1:2" }), "http://127.0.0.1:3");
	const home = join(scratch, "with-config");
	mkdirSync(home);
	writeFileSync(join(home, "config.toml"), '[providers]\napi = "http://127.0.0.1:4"\n');
	assert.equal(await asked([], { ASSAY_HOME: home }), "http://127.0.0.1:4");
	assert.equal(await asked([], { ASSAY_HOME: home, ASSAY_CONFIG: "" }), undefined);
	assert.equal(configPath(undefined, { env: { ASSAY_HOME: scratch }, cwd: scratch }), null);
});

test("--config is taken from wherever it stands, but not from behind --", () => {
	assert.deepEqual(takeConfig(["a", "--config", "f", "b"]), { config: "f", rest: ["a", "b"] });
	assert.deepEqual(takeConfig(["a", "--", "--config", "f"]), { config: undefined, rest: ["a", "--", "--config", "f"] });
	assert.throws(() => takeConfig(["a", "--config"]), { code: "USAGE" });
});

test("a wrong file: the command refuses it with code and line, and check names all of it", async () => {
	const path = fileOf(
		'[validate]\ndatabse = "x"\nconcurrency = 0\nquick = "yes"\nlisten = ["a"]\ndatabase = true\nlog = "loud"\n[porbe]\n',
	);
	for (const [args, code] of [
		[["validate", "--config", path], "CONFIG_UNKNOWN"],
		[["probe", "--config", path], "CONFIG_UNKNOWN"],
		[["doctor", "--config", fileOf("[doctor\n", "b.toml")], "CONFIG_SYNTAX"],
		[["probe", "--config", fileOf("[probe]\nsamples = 0\n", "c.toml")], "CONFIG_VALUE"],
		[["probe", "--config", join(scratch, "absent.toml")], "FILE_UNREADABLE"],
		[["config", "check"], "FILE_UNREADABLE"],
		[["config", "example", "vaildate"], "USAGE"],
	] as const) {
		const { code: exit, err, out } = await assay(args);
		assert.match(err, new RegExp(`^assay: .*\\[${code}\\]\n`), args.join(" "));
		assert.equal(exit, code === "FILE_UNREADABLE" ? exitCodes.input.code : exitCodes.usage.code);
		assert.equal(out, "");
	}
	const { code, out } = await assay(["config", "check", path, "--json"]);
	assert.equal(code, exitCodes.usage.code);
	const { mistakes } = JSON.parse(out) as { mistakes: { code: string; line: number; why: string; hint: string }[] };
	assert.deepEqual(
		mistakes.map(({ code: one, line }) => [line, one]),
		[
			[2, "CONFIG_UNKNOWN"],
			[3, "CONFIG_VALUE"],
			[4, "CONFIG_VALUE"],
			[5, "CONFIG_VALUE"],
			[6, "CONFIG_VALUE"],
			[7, "CONFIG_VALUE"],
			[8, "CONFIG_UNKNOWN"],
		],
	);
	assert.match(mistakes[0]!.hint, /Did you mean 'database'/);
	assert.match(mistakes.at(-1)!.hint, /Did you mean 'probe'/);
	assert.match(mistakes[1]!.why, /1 to 256, not '0'/);
});

test("check: what is wrong only together, where each value is from, and no password", async () => {
	const wrong = fileOf('[validate]\nparam = ["intervalMs=-1"]\nbucket = "https://s3.example/bucket"\n', "wrong.toml");
	const bad = JSON.parse((await assay(["config", "check", wrong, "--json"])).out);
	assert.deepEqual([bad.mistakes.length, bad.mistakes[0].code], [1, "CONFIG_BAD"]);
	const keys = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };
	const params = JSON.parse((await assay(["config", "check", wrong, "--json"], keys)).out);
	assert.equal(params.mistakes[0].code, "PARAMS_BAD");

	const good = fileOf(
		'[validate]\nlisten = "127.0.0.1:7373"\ndatabase = "postgres://me:secret@db/x"\n[probe]\nquick = true\n',
	);
	const { code, out } = await assay(["config", "check", good, "--all"], { ASSAY_BUCKET: "" });
	assert.equal(code, 0, out);
	assert.doesNotMatch(out, /secret/);
	assert.match(out, /^ {2}validate +database +"postgres:\/\/db\/x" +file, line 3$/m);
	assert.match(out, /^ {2}validate +log +warn +default$/m);
	assert.match(out, /A flag counts before the environment, that before the file, that before the default/);
	const env = { DATABASE_URL: "postgres://other:secret@db2/y" };
	const other = await assay(["config", "check", "--config", good], env);
	assert.match(other.out, /^ {2}validate +database +"postgres:\/\/db2\/y" +environment, DATABASE_URL$/m);
	assert.doesNotMatch(other.out, /secret/);
});

test("every option of every command can stand in a file: the example names them all", async () => {
	for (const [name, load] of Object.entries(loaders)) {
		const row = await load();
		const { out } = await assay(["config", "example", name]);
		const lines = out.split("\n").map((line) => line.replace(/^# ([a-z0-9-]+ = .*)$/, "$1"));
		const file = readConfigFile(fileOf(lines.join("\n"), "example.toml"), COMMANDS);
		assert.deepEqual(file.mistakes, [], name);
		assert.deepEqual(
			file.entries.map((entry) => entry.name),
			Object.keys(row.options),
			name,
		);
		assert.ok(
			valuesOf(file, row).mistakes.every(({ code }) => code === "CONFIG_VALUE"),
			name,
		);
		assert.deepEqual(
			readConfigFile(fileOf(out, "example.toml"), COMMANDS).entries,
			[],
			"as printed it changes nothing",
		);
	}
});
