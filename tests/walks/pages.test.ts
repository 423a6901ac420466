// Pages for people that are checked without a network: the first screen of the README, command by command
// with what it shows; the codes that docs/troubleshooting.md names.
import assert from "node:assert/strict";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type CommandName, loaders } from "../../src/cli/commands.ts";
import { parseOptions } from "../../src/cli/options.ts";
import { codes } from "../../src/protocol/codes.ts";
import { createWalk, makeUserFolder, mustSucceed, root, stepsOf } from "./walk.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-pages-"));
const folder = join(scratch, "user");
const env = { PATH: process.env.PATH, HOME: scratch, ASSAY_HOME: join(scratch, "home"), NO_COLOR: "1" };
before(() => makeUserFolder(folder));
after(() => rmSync(scratch, { recursive: true, force: true }));

/** `…` stands for lines that are left out; times are not compared. */
function mustShow(shown: readonly string[], out: string): void {
	const plain = (line: string) => line.trimEnd().replace(/ in [\d.]+ m?s$/, " in …");
	const lines = out.split("\n").map(plain);
	let at = 0;
	for (const line of shown.map(plain)) {
		if (line.trim() === "…" || line === "") continue;
		const found = lines.indexOf(line, at);
		assert.ok(found >= 0, `the page shows a line that does not come:\n${line}\n${out}`);
		at = found + 1;
	}
}

test("the first screen of the README: what it shows is what comes", async () => {
	const [verify, ...rest] = stepsOf("README.md");
	assert.match(verify!.command, /^npx assay verify vectors\//);
	const ran = await createWalk(folder, env).run(verify!);
	mustSucceed(verify!, ran);
	assert.ok(verify!.shown.length >= 5);
	mustShow(verify!.shown, ran.out);
	// The other commands are run by readme.test.ts.
	assert.deepEqual(
		rest.slice(0, 2).map(({ command }) => command.split("#")[0]!.trim()),
		["npx assay probe", "npm start"],
	);
	assert.throws(() => mustShow(["  strength public"], ran.out));
});

test("docs/troubleshooting.md names codes that exist, and each once", () => {
	const page = readFileSync(join(root, "docs/troubleshooting.md"), "utf8");
	const named = [...page.matchAll(/^\| (`[A-Z_`, ]+) \|/gm)].flatMap(([, cell]) => cell!.match(/[A-Z_]+/g)!);
	assert.ok(named.length > 40);
	assert.deepEqual(
		named.filter((code) => !(code in codes)),
		[],
	);
	assert.equal(new Set(named).size, named.length);
});

test("commands that the dashboard shows exist, with their arguments and options", async () => {
	const sources = globSync("web/**/*.tsx", { cwd: root }).map((file) => readFileSync(join(root, file), "utf8"));
	const shown = sources.flatMap((text) =>
		[...text.matchAll(/<code>assay ([^<]+)<\/code>|`assay ((?:provide|job) [^`]+)`/g)].map(([, a, b]) => (a ?? b)!),
	);
	assert.ok(shown.length >= 8, String(shown.length));
	for (const line of shown.flatMap((one) => one.split("\\nassay "))) {
		// What the page or its reader fills in is one word; a program's id is a hash.
		const words = line
			.replaceAll(/\$?\{[^}]*\}/g, "x")
			.replace("--program ID", `--program ${"0".repeat(64)}`)
			.split(" ");
		const { options, verbs } = await loaders[words[0] as CommandName]();
		// Help on options in general has no values.
		const { positionals } = parseOptions(
			options,
			words.slice(1).filter((word) => !["--data", "--initial", "--result"].includes(word)),
		);
		const verb = Object.hasOwn(verbs, "") ? verbs[""] : verbs[positionals.shift() ?? ""];
		assert.ok(verb !== undefined, line);
		const most = (verb.takes ?? "").split(" ").filter(Boolean).length;
		assert.ok(positionals.length <= most, `assay ${line}: too many arguments`);
	}
});
