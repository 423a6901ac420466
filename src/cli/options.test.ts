// Rows of options and commands: what is read from a command line, what is refused, and what help makes of
// them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type CliIo, command } from "./command.ts";
import { helpText } from "./help.ts";
import { choice, flag, group, hexKey, list, number, parseOptions, text, whole } from "./options.ts";

const rows = {
	all: flag("all of them"),
	name: text("NAME", "a name"),
	host: text("HOST", "a host", { fallback: "127.0.0.1" }),
	log: choice("LEVEL", ["warn", "error"], "level", "warn"),
	price: number("AMOUNT", "a price", [0, 10]),
	limit: whole("N", "rows", [1, 500], 20),
	trust: list("KEY", "a key", hexKey),
};
const key = "ab".repeat(32);

test("a value has the type of its row, and its fallback where nothing is given", () => {
	const { values, positionals } = parseOptions(rows, [
		"--limit",
		"7.9",
		"file",
		"--trust",
		key,
		"--all",
		"--price=1.5",
	]);
	const typed: { all: boolean; name: string | undefined; host: string; log: "warn" | "error"; limit: number } = values;
	assert.deepEqual(
		{ ...typed, positionals },
		{ ...values, all: true, name: undefined, host: "127.0.0.1", log: "warn", limit: 7, positionals: ["file"] },
	);
	assert.deepEqual([values.price, values.trust], [1.5, [key]]);
	assert.deepEqual(parseOptions(rows, []).values.trust, undefined);
});

for (const [wrong, words] of [
	[["--limit", "0"], /^--limit takes a number from 1 to 500, not '0'$/],
	[["--price", "cheap"], /^--price takes a number from 0 to 10, not 'cheap'$/],
	[["--price", " "], /--price takes a number/],
	[["--log", "loud"], /^--log takes warn, error, not 'loud'$/],
	[["--trust", key, "--trust", "abc"], /^--trust takes 64 lower-case hex digits, not 'abc'$/],
	[["--name"], /^--name needs a value$/],
	[["--price", "-1"], /^--price needs a value; one that begins with a dash is written --price=-…$/],
	[["--all=yes"], /^--all takes no value$/],
	[["--nonsense"], /^there is no option 'nonsense'$/],
] as const)
	test(`refused: ${wrong.join(" ")}`, () => {
		assert.throws(() => parseOptions(rows, wrong), { code: "USAGE", message: words });
	});

test("a verb takes as many arguments as its usage line says", async () => {
	const seen: string[][] = [];
	const run = async (_: unknown, __: CliIo, ...given: string[]) => seen.push(given);
	const toy = command({
		name: "toy",
		about: "",
		options: {},
		verbs: { "": { run }, show: { takes: "ONE [TWO]", run }, ssh: { takes: "ONE [MORE…]", run } },
	});
	const io = {} as CliIo;
	for (const args of [[], ["show", "a"], ["show", "a", "b"], ["ssh", "a", "b", "c"]]) await toy.run(args, io);
	assert.deepEqual(seen, [[], ["a"], ["a", "b"], ["a", "b", "c"]]);
	await assert.rejects(toy.run(["show"], io), { message: "an argument is missing: ONE" });
	await assert.rejects(toy.run(["show", "a", "b", "c"], io), { message: "too many arguments: c" });
	await assert.rejects(toy.run(["sell"], io), { message: "toy takes show, ssh, not 'sell'" });
	await assert.rejects(toy.run(["constructor"], io), { code: "USAGE" });
});

test("help has every row once, under its heading, with its default", () => {
	const options = { ...rows, ...group("connection", { api: text("URL", "an address") }) };
	const help = helpText(command({ name: "toy", about: "Long ago. ".repeat(20), options, run: async () => 0 }));
	assert.match(help, /^usage: assay toy \[OPTIONS\]\n\nLong ago/);
	assert.match(help, /\noptions:\n(?: {2}--\S.*\n)+\nconnection:\n {2}--api URL +an address\n/);
	assert.match(help, /\n {2}--limit N +rows \(default 20\)\n/);
	assert.match(help, /\n {2}--trust KEY +a key; repeatable\n/);
	assert.ok(help.split("\n").every((line) => line.length <= 100));
});
