// The sample conviction of docs/disputes.md §3 as a stranger makes it: a network whose only provider lies, a
// job, and the file that tells how it was convicted; then an honest provider does the job anew. Each command
// as a program, with the words that `up` prints. In the deep tier: it takes some minutes, on a machine quiet
// enough that its providers prove their memory. How a liar is convicted, step by step:
// tests/jobs/watch.test.ts.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isDeep } from "../fuzz.test-kit.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "assay-liar-"));
const env = {
	...{ ...process.env, HOME: scratch, ASSAY_HOME: join(scratch, "home"), NO_COLOR: "1" },
	...{ DATABASE_URL: "", ASSAY_API: "", ASSAY_TOKEN: "" },
};
const start = (...args: string[]) =>
	spawn(process.execPath, [join(root, "src/cli/main.ts"), ...args], { cwd: root, env });

async function assay(...args: string[]): Promise<{ readonly code: number | null; readonly said: string }> {
	const child = start(...args);
	let said = "";
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding("utf8").on("data", (text) => {
			said += text;
		});
	return new Promise((resolve) => child.once("close", (code) => resolve({ code, said })));
}

const up = isDeep ? start("up", "--liar") : null;
const lines: string[] = [];
const waiting = new Set<() => void>();
if (up !== null)
	for (const input of [up.stdout, up.stderr])
		createInterface({ input }).on("line", (line) => {
			lines.push(line);
			for (const look of waiting) look();
		});
const ended = new Promise<void>((resolve) => up?.once("close", () => resolve()));
const line = (pattern: RegExp): Promise<RegExpExecArray> =>
	new Promise((resolve, reject) => {
		const look = () => {
			const found = lines.map((one) => pattern.exec(one)).find((one) => one !== null);
			if (found == null) return;
			waiting.delete(look);
			resolve(found);
		};
		waiting.add(look);
		look();
		void ended.then(() => reject(new Error(`up ended before ${pattern}:\n${lines.join("\n")}`)));
	});
after(async () => {
	up?.kill("SIGTERM");
	if (up !== null) await ended;
	rmSync(scratch, { recursive: true, force: true });
});

const skip = isDeep ? false : "in the deep tier: it takes some minutes";
test("up --liar, job submit, verify: the lie is found and told, the liar loses its bond, and an honest provider does the job", {
	skip,
}, async () => {
	const url = (await line(/^dashboard +(\S+)/))[1]!;
	// What needs several hosts is refused at once, with what to type first.
	const early = await assay("job", "submit", "samples/gpt-mini.json", "--method", "redundant:2", "--yes");
	assert.equal(early.code, 69, early.said);
	const [, advised] =
		/started with --liar[^[]*\[JOB_NO_PROVIDER\]\n.*: npx assay (job submit .*)\n/.exec(early.said) ?? [];
	// `up` prints the same, as soon as the liar may be drawn.
	const [, typed] = await line(/^ +npx assay (job submit .*)$/);
	assert.equal(typed, advised, early.said);
	const submitting = assay(...typed!.split(" "), "--out", join(scratch, "result"));
	// Before the fraud there is nothing that it could end with.
	const [, path] = await Promise.race([
		line(/^ +npx assay verify (\S+)$/),
		submitting.then(({ code, said }) => assert.fail(`it ended with ${code}: ${said}\n${lines.join("\n")}`)),
	]);
	const [, bytes] = await line(/^fraud +a file of (\d+) bytes proves the lie/);
	assert.equal(Number(bytes), statSync(path!).size);
	const [, claim] = await line(/in the browser: \S+\/disputes\/([0-9a-f]{64})$/);
	const dispute = (await fetch(`${url}/v1/claims/${claim}/dispute`).then((reply) => reply.json())) as {
		readonly claim: { readonly hash: string };
	};
	assert.equal(dispute.claim.hash, claim);
	await line(/^liar +it is convicted/);
	const told = await assay("verify", path!);
	assert.equal(told.code, 0, told.said);
	assert.match(told.said, /FRAUD PROVEN[\s\S]*segment 1\n[\s\S]*said[\s\S]*right/);
	const { code, said } = await submitting;
	assert.equal(code, 0, `${said}\n${lines.join("\n")}`);
	const list = await assay("job", "list", "--json");
	const [job, ...others] = JSON.parse(list.said).rows;
	assert.deepEqual(
		[others.length, job.isOver, job.parts.map(({ state }: { state: string }) => state)],
		[0, true, ["paid"]],
	);
});
