// The unit of a provider: the same options again, nothing that systemd would read as its own, no file of
// others lost.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { flag, list, number, parseOptions, text } from "../options.ts";
import { argsOf, installUnit, unitText } from "./systemd-unit.ts";

const home = mkdtempSync(join(tmpdir(), "assay-unit-"));
after(() => rmSync(home, { recursive: true }));

const options = {
	validator: list("URL", ""),
	name: text("NAME", ""),
	price: number("AMOUNT", "", [0, 9], 0),
	rentable: flag(""),
	install: flag(""),
};

test("options come back as they were given, defaults and --install left out", () => {
	const args = ["--validator", "wss://a", "--validator", "wss://b", "--name", 'my "host" 100% $HOME', "--rentable"];
	const { values } = parseOptions(options, [...args, "--install"]);
	assert.deepEqual(argsOf(options, values, ["install"]), args);
	assert.deepEqual(argsOf(options, parseOptions(options, ["--price", "1.5"]).values, []), ["--price", "1.5"]);
});

test("what the config file has stays there, and the unit names it", () => {
	const file = new Map([["name", { given: "from-file", name: "name" }]]);
	const { values, fromFile } = parseOptions(options, ["--price", "2"], { env: {}, file });
	assert.equal(values.name, "from-file");
	assert.deepEqual(argsOf(options, values, ["install", ...fromFile]), ["--price", "2"]);
	const unit = unitText(["assay"], { isRoot: true, folder: "/", env: { ASSAY_CONFIG: "/etc/assay.toml" } });
	assert.match(unit, /^Environment="ASSAY_CONFIG=\/etc\/assay.toml"$/m);
});

test("every word is quoted, and nothing in it is systemd's", () => {
	const unit = unitText(["/usr/bin/node", 'a "b" %h $HOME \\'], {
		isRoot: true,
		folder: "/data/100%",
		env: { ASSAY_HOME: "/x y" },
	});
	assert.match(unit, /^ExecStart="\/usr\/bin\/node" "a \\"b\\" %%h \$\$HOME \\\\"$/m);
	assert.match(unit, /^WorkingDirectory=\/data\/100%%$/m);
	assert.match(unit, /^Environment="ASSAY_HOME=\/x y"$/m);
	assert.match(unit, /^KillMode=process$/m);
	assert.match(unit, /^WantedBy=multi-user.target$/m);
});

test("written for this user, again over our own, never over somebody else's", () => {
	const unit = unitText(["assay"], { isRoot: false, folder: "/", env: {} });
	const { path, next } = installUnit(unit, { isRoot: false, home });
	assert.equal(readFileSync(path, "utf8"), unit);
	assert.ok(next.every((line) => line.includes("--user") || line.startsWith("loginctl")));
	installUnit(unit, { isRoot: false, home });
	const other = join(home, "other");
	mkdirSync(join(other, ".config/systemd/user"), { recursive: true });
	const theirs = join(other, ".config/systemd/user/assay-provide.service");
	writeFileSync(theirs, "[Unit]\n");
	assert.throws(() => installUnit(unit, { isRoot: false, home: other }), { code: "FILE_UNWRITABLE" });
	assert.equal(readFileSync(theirs, "utf8"), "[Unit]\n");
});
