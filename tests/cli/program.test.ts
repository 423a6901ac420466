// `assay program`: text and bytes alike; a program that may not run is refused with its place; bad files with
// their codes.
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

/** 8 GB of state. */
const TOO_WIDE = `program k 1
state s i64[1000000000] 0..1
init
step
%0 = map() i64[1000000000] 0..1 -> s {
  r0 = const 1
}
`;

test("cost before it runs: operators, memory, and a guess for a named card that grows with the work", async () => {
	const said = JSON.parse((await assay("program", "check", text, "--card", "H200", "--json")).out);
	assert.deepEqual(Object.keys(said.operators), ["map", "matmul", "reduce", "scatter_add"]);
	assert.equal(
		Object.values(said.operators as Record<string, number>).reduce((a, n) => a + n, 0),
		program.step.length,
	);
	assert.ok(said.peakBytes > said.bytes.input + said.bytes.state);
	assert.deepEqual([said.guess.card, said.guess.fits], ["H200", true]);
	const slow = JSON.parse((await assay("program", "check", text, "--card", "nvidia tesla t4", "--json")).out);
	assert.ok(slow.guess.of.memoryNs > said.guess.of.memoryNs && said.guess.of.instructionsNs > 0);
	assert.match((await assay("program", "check", text, "--card", "H200")).out, /on H200 +about .* a segment/);
	const wide = file("wide.txt", TOO_WIDE);
	assert.match((await assay("program", "check", wide, "--card", "RTX A2000")).out, /does not fit its memory/);
	assert.doesNotMatch((await assay("program", "check", wide, "--card", "H200")).out, /does not fit/);
	const unknown = await assay("program", "check", text, "--card", "A100");
	assert.equal(unknown.code, 64);
	assert.match(unknown.err, /Did you mean A100-PCIE-40GB/);
});

test("a job is planned without an engine, and refused as a run refuses it", async () => {
	const job = {
		workload: "simulate",
		kind: "heat",
		size: [64, 64],
		steps: 100,
		frames: 4,
		seed: `0x${"00".repeat(32)}`,
	};
	const path = file("heat.json", JSON.stringify(job));
	const said = JSON.parse((await assay("job", "plan", path, "--card", "H200", "--json")).out);
	assert.deepEqual([said.segments, said.k, said.guess.card], [4, 1, "H200"]);
	assert.ok(Math.abs(said.guess.all / (said.guess.init + 4 * said.guess.segment) - 1) < 1e-9);
	assert.equal(JSON.parse((await assay("job", "plan", path, "--steps", "200", "--json")).out).segments, 4);
	assert.match((await assay("job", "plan", path)).out, /gives {5}heat\.npy, picture\.png, frames\/0001\.png/);
	const wrong = await assay("job", "plan", file("wrong.json", JSON.stringify({ ...job, rate: 1 })));
	assert.equal(wrong.code, 66);
	assert.match(wrong.err, /rate must be/);
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
	assert.equal((await assay("program", "show", file("cut2.bin", encodeProgram(program).subarray(0, 100)))).code, 66);
});
