// `assay program`: text and bytes alike; a program that may not run is refused with its place; bad files with their codes.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runCommand } from "../../src/cli/run-command.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { mixedSample } from "../../src/work/builder/samples.test-kit.ts";
import { encodeProgram } from "../../src/work/program/encode.ts";
import { programRoot } from "../../src/work/program/open-program.ts";
import { printProgram } from "../../src/work/program/print-text.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-program-"));
after(() => rmSync(scratch, { recursive: true, force: true }));

const { program } = mixedSample();
const file = (name: string, content: string | Uint8Array): string => {
	const path = join(scratch, name);
	writeFileSync(path, content);
	return path;
};
const text = file("mixed.txt", printProgram(program));
const bytes = file("mixed.bin", encodeProgram(program));

async function assay(...args: string[]) {
	const said = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
	const io = {
		out: stream("out"),
		err: stream("err"),
		env: {},
		cwd: scratch,
		interrupted: new AbortController().signal,
	};
	const code = await runCommand(args, io);
	return { code, ...said };
}

test("text and bytes of one program are one verdict, root and cost", async () => {
	const [a, b] = [await assay("program", "check", text, "--json"), await assay("program", "check", bytes, "--json")];
	assert.equal(a.code, 0);
	assert.equal(a.out, b.out);
	const said = JSON.parse(a.out);
	assert.equal(said.root, bytesToHex(programRoot(program)));
	assert.equal(said.verdict, "may run");
	// 2·3·3 sums of 700 products.
	assert.equal(said.productsAStep, 2 * 3 * 3 * 700);
	assert.equal(said.bytes.state, 6 * 5 * 8 + 33 * 4);
	assert.match((await assay("program", "check", text)).out, /^MAY RUN {2}root [0-9a-f]{64}\n/);
});

test("what show prints is that program's text again", async () => {
	const shown = await assay("program", "show", bytes);
	assert.equal(shown.code, 0);
	const again = await assay("program", "show", file("again.txt", shown.out));
	assert.equal(again.out, shown.out);
	assert.match(shown.out, new RegExp(`^# root ${bytesToHex(programRoot(program))}\n`));
});

test("a program that could overflow is refused with its place, its code and a hint; exit 1", async () => {
	const wide = printProgram(program).replace(
		/ -> kept \{/,
		" -> kept {\n  r0 = const 9223372036854775807\n  r1 = add r0 r0",
	);
	const named = wide.slice(wide.indexOf("-> kept {"));
	const refused = await assay("program", "check", file("wide.txt", wide), "--json");
	assert.equal(refused.code, 1, named);
	const said = JSON.parse(refused.out);
	assert.equal(said.verdict, "refused");
	assert.ok(said.code.startsWith("PROGRAM_") && said.hint.length > 0);
	const overflow =
		"program k 1\nstate s i64[1] 0..9223372036854775807\ninit\nstep\n%0 = map(s i64[1]) i64[1] 0..9223372036854775807 -> s {\n  r0 = load 0 [i0]\n  r1 = add r0 r0\n}\n";
	const place = await assay("program", "check", file("overflow.txt", overflow));
	assert.equal(place.code, 1);
	assert.match(place.out, /^REFUSED {2}PROGRAM_OVERFLOW\n {2}step op 0, instruction 1: /);
});

test("a cut file, noise, an absent one and a huge one", async () => {
	const cut = await assay("program", "check", file("cut.bin", encodeProgram(program).subarray(0, 100)));
	assert.equal(cut.code, 1);
	assert.match(cut.out, /PROGRAM_MALFORMED/);
	assert.match((await assay("program", "check", file("noise", new Uint8Array(99).fill(7)))).out, /PROGRAM_TEXT/);
	assert.equal((await assay("program", "check", join(scratch, "absent"))).code, 66);
	assert.equal((await assay("program", "show", file("huge", new Uint8Array((16 << 20) + 1)))).code, 66);
	assert.equal((await assay("program", "show", file("cut2.bin", encodeProgram(program).subarray(0, 100)))).code, 69);
});
