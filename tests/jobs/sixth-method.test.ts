// A sixth method of verification, made as one folder (sixth-method/prefix.ts), one line in the table of
// methods and its number on the wire, and nothing else: it is quoted, drawn, judged, settled on the embedded
// chain, and shown by the command line and the dashboard. In a process of its own, whose methods are six.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const fileAt = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const PLAYED = ["--import", fileAt("sixth-method/add-method.ts"), fileAt("sixth-method/play-main.ts")];

interface Told {
	readonly [verb: string]: { readonly code: number; readonly out: string; readonly err: string };
}
interface Paper {
	readonly tried: number;
	readonly convicted: number;
	readonly falsePaid: number;
	readonly wronged: number;
}

async function play() {
	const child = spawn(process.execPath, PLAYED, { stdio: ["ignore", "pipe", "inherit"] });
	let last = "";
	createInterface({ input: child.stdout }).on("line", (line) => (last = line));
	const code = await new Promise((resolve) => child.once("close", resolve));
	assert.equal(code, 0, last);
	return JSON.parse(last) as Told & {
		readonly page: string;
		readonly story: string;
		readonly job: {
			readonly offer: { readonly terms: object; readonly escrow: { readonly terms: { readonly method: number } } };
			readonly record: { readonly parts: readonly { readonly state: string; readonly audits: readonly object[] }[] };
		};
		readonly paper: { readonly [who: string]: readonly Paper[] };
	};
}

test("a sixth method is one folder and one line: quoted, drawn, judged, settled, shown", async () => {
	const { help, wrong, quote, submit, list, status, job, draws, page, story, paper } = await play();
	assert.match(help!.out, /attested, zk or\s+prefix:2 /);
	assert.match(wrong!.err, /zk or prefix:2 \(1 to 9\), not 'prefix:10'.*\[JOB_FIELD\]/s);
	assert.equal(quote!.code, 0, quote!.err);
	assert.match(quote!.out, /1 part, prefix:2, .* whoever skips the first tenth is found with 25/);
	// Another provider was drawn for the first segments, agreed, and all were paid.
	assert.equal(submit!.code, 0, submit!.err);
	for (const word of ["funded by 0x", "drawn", "claimed", "is run again", "they agree", "checked", "paid"])
		assert.ok(submit!.err.includes(word), `${word} in ${submit!.err}`);
	const [part] = job.record.parts;
	assert.equal(part!.state, "paid");
	assert.deepEqual(
		part!.audits.map((one) => ({ ...one, auditor: null, answer: null, untilMs: 0, answeredAtMs: 0 })),
		[
			{
				...{ auditor: null, device: 0, first: 0, count: 2, untilMs: 0, tried: [] },
				...{ answer: null, answeredAtMs: 0, agrees: true },
			},
		],
	);
	assert.equal(job.offer.escrow.terms.method, 6);
	assert.match(list!.out, /prefix:2/);
	assert.match(status!.out, /prefix:2; over/);
	assert.equal(draws!.code, 0, draws!.out + draws!.err);
	assert.match(page, /The beginning again *prefix:2 *about /);
	assert.match(page, /Another provider runs the first 2 segments again: 66.7 ?%\./);
	assert.match(story, /claimed, compared from its beginning and is paid/);
	for (const one of paper.honest!) assert.deepEqual(one, { tried: 0, convicted: 0, falsePaid: 0, wronged: 0 });
	// Whoever lies at the beginning is convicted, and its lie never paid; nobody looks far behind that.
	assert.ok(paper.early!.some(({ tried }) => tried > 0));
	for (const { tried, convicted, falsePaid, wronged } of paper.early!)
		assert.deepEqual([convicted, falsePaid, wronged], [tried, 0, 0]);
	assert.ok(paper.late!.some(({ tried, convicted, falsePaid }) => tried > 0 && convicted === 0 && falsePaid > 0));
});
