// `assay model report` on the sample models, on a real engine: the wide build has PyTorch's perplexity, small
// weights cost what they may.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runCommand } from "../../src/cli/run-command.ts";

const root = new URL("../..", import.meta.url).pathname;
const scratch = mkdtempSync(join(tmpdir(), "assay-report-"));
after(() => rmSync(scratch, { recursive: true, force: true }));

async function assay(...args: string[]) {
	const said = { out: "", err: "" };
	const stream = (of: keyof typeof said) =>
		({ write: (text: string) => (said[of] += text) }) as unknown as NodeJS.WriteStream;
	const surroundings = { env: process.env, cwd: root, interrupted: new AbortController().signal };
	const code = await runCommand(args, { ...surroundings, out: stream("out"), err: stream("err") });
	return { code, ...said };
}

/** Of the first 256 bytes of the text in two sequences, by transformers 5.18 and PyTorch 2.13 in float32. */
const TORCH = { llama: 5.322411139991517, gpt2: 8.439564625258337 };

for (const [family, perplexity] of Object.entries(TORCH))
	test(`${family}: PyTorch's perplexity; i16 within 0.1 %, i8 within 0.5 %`, async () => {
		const text = join(root, "samples/pentateuch.txt");
		const { code, out, err } = await assay(
			"model",
			"report",
			`samples/tiny-${family}`,
			"--text",
			text,
			"--tokens",
			"256",
			"--json",
		);
		assert.equal(code, 0, err);
		const report = JSON.parse(out);
		assert.ok(Math.abs(report.perplexity / perplexity - 1) < 1e-6, `${report.perplexity}, PyTorch ${perplexity}`);
		const [i16, i8] = report.builds;
		assert.ok(Math.abs(i16.logits.perplexity / perplexity - 1) < 1e-3);
		assert.ok(Math.abs(i8.logits.perplexity / perplexity - 1) < 5e-3);
		assert.ok(i16.logits.top1 >= 0.99 && i8.logits.top1 >= 0.99);
		assert.ok(i16.logits.kl > 0 && i16.logits.kl < i8.logits.kl && i8.logits.kl < 1e-3);
		assert.equal(i8.snrDb.length, 3);
		for (let i = 0; i < 3; i++) assert.ok(i16.snrDb[i] > 70 && i8.snrDb[i] > 35 && i8.snrDb[i] < i16.snrDb[i]);
	});

test("a bert has no logits: its blocks are compared; a text of one token is too short for any", async () => {
	const short = join(scratch, "short.txt");
	writeFileSync(short, "And God said, Let there be light");
	const { out } = await assay("model", "report", "samples/tiny-bert", "--text", short, "--json");
	const report = JSON.parse(out);
	assert.deepEqual([report.perplexity, report.tokens, report.builds[0].logits], [null, 32, null]);
	assert.ok(report.builds[0].snrDb.every((db: number) => db > 70));
	const people = await assay("model", "report", "samples/tiny-bert", "--text", short);
	assert.match(people.out, /block 1 .*\n.*last norm/);
	writeFileSync(short, "A");
	const refused = await assay("model", "report", "samples/tiny-bert", "--text", short);
	assert.match(refused.err, /DATA_SHORT/);
	assert.notEqual(refused.code, 0);
	assert.equal((await assay("model", "report", "samples/tiny-bert")).code, 64);
});
