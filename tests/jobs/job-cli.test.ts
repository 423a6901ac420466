// `assay job` as a customer has it, against a validator with its chain and toy workers: from the job file to
// the same files that a run here leaves, and every kind of bad input with its code and hint.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fetchBlob, nameBlob } from "../../src/api/blob-transfer.ts";
import { createApiClient } from "../../src/api/create-client.ts";
import type { JobResult } from "../../src/api/types.ts";
import { read, readEvents } from "../../src/chain/contracts/contracts.ts";
import { takeResult } from "../../src/cli/jobs/take-result.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import { createSigner } from "../../src/protocol/probe/signer.ts";
import { openRefusingApi } from "../faults/refusing-api.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { openStage, PAYER, prepare, type Stage } from "./job-stage.test-kit.ts";
import type { ToyWorker } from "./toy-worker.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-job-cli-"));
const JOB = {
	...{ workload: "simulate", kind: "life", size: [16, 16], initial: { density: 0.4 }, steps: 8, frames: 2 },
	...{ method: "redundant:2", mostPrice: 5, seed: `0x${"07".repeat(32)}` },
};
let stage: Stage;
const workers: ToyWorker[] = [];

before(async () => {
	stage = await openStage({ hasChain: true });
	writeFileSync(join(scratch, "life.json"), JSON.stringify(JOB));
});
after(async () => {
	await stage?.close();
	rmSync(scratch, { recursive: true, force: true });
});

async function assay(...args: string[]) {
	const said = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ isTTY: false, write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
	const interrupted = new AbortController().signal;
	const env = { ...process.env, ASSAY_HOME: scratch, XDG_CONFIG_HOME: scratch, NO_COLOR: "1" };
	const io = { out: stream("out"), err: stream("err"), env, cwd: scratch, interrupted };
	return { code: await runCommand(["job", ...args], io), ...said };
}
const market = (...args: string[]) => assay(...args, "--api", stage.validator.url, "--data", stage.data.path);

async function refused(code: number, pattern: RegExp, ...args: string[]): Promise<void> {
	const run = await market(...args);
	assert.match(run.err, pattern);
	assert.equal(run.code, code, run.err);
}
const job = (name: string, change: object): string => {
	writeFileSync(join(scratch, name), JSON.stringify({ ...JOB, ...change }));
	return name;
};
const names = (folder: string) =>
	readdirSync(join(scratch, folder), { recursive: true, withFileTypes: true })
		.filter((one) => one.isFile() && /\.(png|npy)$/.test(one.name))
		.map((one) => join(one.parentPath, one.name).slice(join(scratch, folder).length + 1))
		.sort();

test("what is wrong with the job itself is said before anything is sent", async () => {
	await refused(66, /kind must be one of .*\[JOB_FIELD\]/s, "quote", job("kind.json", { kind: "weather" }));
	const model = { workload: "infer", model: "nowhere/", prompts: { text: "nobody.txt" }, output: "text" };
	writeFileSync(join(scratch, "model.json"), JSON.stringify({ ...model, seed: JOB.seed }));
	await refused(66, /no config\.json in nowhere\/ \[MODEL_CONFIG\]\n {2}Give the model/, "quote", "model.json");
	const overflow = `program k 1\nstate x i64[1] ${-(2n ** 63n)}..${2n ** 63n - 1n}\ninit\nstep
%0 = map(x i64[1]) i64[1] ${-(2n ** 63n)}..${2n ** 63n - 1n} -> x {\n  r0 = load 0 [i0]\n  r1 = add r0 r0\n}\n`;
	writeFileSync(join(scratch, "overflow.txt"), overflow);
	writeFileSync(
		join(scratch, "overflow.json"),
		JSON.stringify({ workload: "program", program: "overflow.txt", inputs: {}, segments: 1, seed: JOB.seed }),
	);
	await refused(66, /\[PROGRAM_OVERFLOW\]\n {2}\S/, "quote", "overflow.json");
	await refused(66, /method must be redundant:2.*\[JOB_FIELD\]/s, "quote", "life.json", "--method", "zkp");
	await refused(69, /\[PROGRAM_UNPROVABLE\]\n {2}\S/, "quote", "life.json", "--method", "zk");
});

test("nobody fits where nobody is; with workers there is a price, and limits of the customer's", async () => {
	await refused(
		69,
		/no provider that takes jobs and proved its speed \[JOB_NO_PROVIDER\]\n {2}Try later/,
		"quote",
		"life.json",
	);
	for (const n of [1, 2, 3]) workers.push(await stage.worker(n));
	const quoted = await market("quote", "life.json", "--json");
	assert.equal(quoted.code, 0, quoted.err);
	const { offer, totalMicros } = JSON.parse(quoted.out);
	assert.deepEqual([offer.terms.method, offer.terms.parts], [{ name: "redundant", count: 2 }, 1]);
	assert.ok(totalMicros > 0);
	// What each host would take, before anything is uploaded.
	const planned = await market("plan", "life.json", "--host", "all");
	assert.equal(planned.code, 0, planned.err);
	assert.equal(planned.out.match(/ fits$/gm)?.length, 3, planned.out);
	const plan = JSON.parse((await market("plan", "life.json", "--host", workers[0]!.id.slice(0, 10), "--json")).out);
	assert.deepEqual(
		plan.hosts.map(({ provider, miss }: { provider: string; miss: null }) => [provider, miss]),
		[[workers[0]!.id, null]],
	);
	const page = async (query: string) => (await fetch(`${stage.validator.url}/v1/job-hosts?${query}`)).json();
	const first = (await page("limit=2")) as { rows: { provider: string }[]; cursor: string | null };
	const rest = (await page(`limit=2&cursor=${first.cursor}`)) as typeof first;
	const listed = [...first.rows, ...rest.rows].map(({ provider }) => provider);
	assert.deepEqual([listed, rest.cursor], [workers.map(({ id }) => id).sort(), null]);
	assert.equal(((await page("cursor=zz")) as { code: string }).code, "CURSOR_BAD");
	assert.ok(plan.hosts[0].modelledMs > 0 && plan.hosts[0].costMicros <= offer.terms.priceMicros);
	await refused(
		69,
		/redundant:5 needs 5 providers, and 3 fit: there are no others.* \[JOB_NO_PROVIDER\]\n {2}\S/,
		...["quote", "life.json", "--method", "redundant:5"],
	);
	await refused(69, /\[JOB_PRICE\]\n {2}Allow more/, "quote", "life.json", "--most-price", "0.0000011");
	await refused(
		69,
		/it may take .* are allowed \[JOB_TIME\]\n {2}\S/s,
		"quote",
		"life.json",
		"--most-minutes",
		"0.001",
	);
	await refused(64, /--yes or --most-price/, "submit", job("unlimited.json", { mostPrice: undefined }));
});

test("no funds, no gas, another chain, no account: each has its code and says what to do", async () => {
	const key = join(scratch, "poor.key");
	writeFileSync(key, "5e".repeat(32));
	await refused(
		69,
		/own coin, and gas may cost.*\[CHAIN_FUNDS\]\n {2}Send /s,
		"submit",
		"life.json",
		"--key-file",
		key,
	);
	const { contracts, treasurer } = stage.chain!;
	const { accountOf } = await import("../../src/chain/sending/sign.ts");
	const { sendCall } = await import("../../src/chain/sending/send-call.ts");
	const { address } = accountOf(`0x${"5e".repeat(32)}`);
	await sendCall(contracts.client, treasurer, { to: address, data: "0x", value: 10n ** 18n });
	await refused(
		69,
		/has 0 tokens, and .* are needed \[CHAIN_FUNDS\]\n {2}Send /s,
		"submit",
		"life.json",
		"--key-file",
		key,
	);
	const other = join(scratch, "other.json");
	writeFileSync(other, JSON.stringify({ ...contracts.addresses, chainId: contracts.addresses.chainId + 1 }));
	await refused(
		69,
		/not on this chain \[CHAIN_MISSING\]\n {2}The node is of chain/,
		"quote",
		"life.json",
		"--contracts",
		other,
	);
	// Who cannot read the network's folder: the price needs no account, and is said before one is missed.
	const stranger = (...args: string[]) => assay(...args, "life.json", "--api", stage.validator.url, "--data", scratch);
	const run = await stranger("submit");
	assert.equal(run.code, 64);
	assert.match(run.err, /no account was named \[JOB_ACCOUNT\]\n {2}Name the data folder .* --data DIR/);
	const dear = await stranger("submit", "--yes", "--most-price", "0.0000001");
	assert.equal(dear.code, 69);
	assert.match(dear.err, /would cost .*\[JOB_PRICE\]/);
	assert.doesNotMatch(dear.err, /uploaded/);
	const quoted = await stranger("quote");
	assert.equal(quoted.code, 0, quoted.err);
	assert.match(quoted.out, /tokens at most: 1 part, redundant:2, about .* of work/);
	assert.match(
		quoted.out,
		/for the work .*, fee .*, up to .* set aside for checks.* more for checks than for the work/,
	);
});

/**
 * The result beside the run: by eye, compared, checked, changed; and neither goes into the other's folder.
 */
async function checkedAtHome(ranHere: string, ranThere: string): Promise<void> {
	const state = (out: string) => /^ {2}state +([0-9a-f]{64}) /m.exec(out)?.[1];
	assert.ok(state(ranHere) !== undefined && state(ranHere) === state(ranThere), ranHere + ranThere);
	const same = await assay("diff", "far.run", "here.run");
	assert.deepEqual([same.code, /^SAME .*\n {2}state {3}[0-9a-f]{64}\n {2}claims /.test(same.out)], [0, true], same.out);
	const checked = await assay("check", "far.run", "--json");
	const found = JSON.parse(checked.out);
	assert.deepEqual([checked.code, found.verdict, found.isFetched], [0, "agrees", true], checked.out);
	assert.deepEqual([found.checked, found.segments, found.caughtOfATenth], [3, 3, 1]);
	assert.ok(
		found.files.every(({ status }: { status: string }) => status === "same"),
		checked.out,
	);
	assert.ok(found.files.some(({ name }: { name: string }) => name === "frames/0002.png"));
	cpSync(join(scratch, "far.run"), join(scratch, "changed.run"), { recursive: true });
	const picture = join(scratch, "changed.run", "picture.png");
	writeFileSync(
		picture,
		readFileSync(picture).map((byte, i) => (i === 45 ? byte ^ 1 : byte)),
	);
	const changed = await assay("check", "changed.run");
	assert.deepEqual(
		[changed.code, /^FALSE {2}.*picture\.png {2}\[RUN_FILE_FALSE\]/.test(changed.out)],
		[1, true],
		changed.out,
	);
	// As an earlier version left them: with the right advice.
	for (const name of ["program.bin", "journal.jsonl"]) rmSync(join(scratch, "changed.run", name));
	const old = await assay("check", "changed.run");
	assert.match(old.err, /no program\.bin, no journal\.jsonl \[RUN_INCOMPLETE\]\n.*assay job result [0-9a-f]{12}/);
	const over = await assay("run", "life.json", "--out", "far.run");
	assert.match(over.err, /holds a result that was fetched from the market \[RUN_OTHER\]/);
	await refused(66, /here\.run holds a run already \[RUN_OTHER\]/, "submit", "life.json", "--out", "here.run");
}

test("handed in, it is drawn, run twice, compared, paid; the files are those of a run here", async () => {
	const run = await market("submit", "life.json", "--out", "far.run");
	assert.equal(run.code, 0, run.err);
	for (const word of ["funded by 0x", "drawn", "runs on", "claimed", "checked", "paid"])
		assert.ok(run.err.includes(word), word);
	assert.match(run.out, /^DONE/);
	// What nobody earned has come back by itself.
	const [, payer] = /funded by (0x[0-9a-fA-F]{40})/.exec(run.err)!;
	assert.equal(await read(stage.chain!.contracts, "jobEscrow", "owedTo", payer as `0x${string}`), 0n);
	const here = await assay("run", "life.json", "--out", "here.run");
	assert.equal(here.code, 0, here.err);
	assert.ok(names("here.run").includes("picture.png"));
	assert.deepEqual(names("far.run"), names("here.run"));
	for (const name of [...names("here.run"), "states.bin"])
		assert.deepEqual(readFileSync(join(scratch, "far.run", name)), readFileSync(join(scratch, "here.run", name)), name);
	await checkedAtHome(here.out, run.out);
	const list = await market("list", "--json");
	const [{ id, isOver, parts }] = JSON.parse(list.out).rows;
	assert.deepEqual([isOver, parts.map(({ state }: { state: string }) => state)], [true, ["paid"]]);
	const status = await market("status", id.slice(0, 10));
	assert.match(status.out, /redundant:2; over/);
	// One in ten is run once more by chance.
	assert.match(status.out, / ([12]) of \1 agree /);
	const logs = await market("logs", id.slice(0, 10));
	assert.match(logs.out, /part 1 {4}paid/);
	// Two draws, of who runs it and of who runs it again, and that of what is run again by chance.
	const audit = await market("audit", id.slice(0, 10));
	assert.equal(audit.code, 0, audit.out + audit.err);
	assert.match(audit.out, /^AS DRAWN .*\n {2}3 draws done again\n/);
	assert.doesNotMatch(audit.out, /--rpc|only its customer/);
	const { rows } = (await (await fetch(`${stage.validator.url}/v1/claims?job=${id}`)).json()) as {
		rows: { state: string; ends: { states: { size: number } } }[];
	};
	assert.deepEqual(
		rows.map(({ state, ends }) => [state, ends.states.size]),
		[["paid", 32 * 4]],
	);
	await refused(75, /\[JOB_STATE\]\n {2}\S/, "cancel", id.slice(0, 10));
	await refused(67, /there is no job 'abcdef' \[JOB_UNKNOWN\]/, "status", "abcdef");
});

test("a result that is not the claimed one is refused, whatever was changed of it", async () => {
	const client = createApiClient({
		baseUrl: stage.validator.url,
		signer: createSigner(hexToBytes(readFileSync(join(scratch, "customer.key"), "utf8").trim(), 32)!),
	});
	const { rows } = JSON.parse((await market("list", "--json")).out);
	const job = await client.getJob({ params: { id: rows[0].id } });
	const right = await client.getJobResult({ params: { id: job.id } });
	const io = { cwd: scratch, env: { ...process.env, ASSAY_HOME: scratch } };
	/** Made up by a validator that lies. */
	const blobs = new Map<string, Uint8Array>();
	const lying = (result: JobResult): typeof client => ({
		...client,
		getJobResult: async () => result,
		getJobBlob: async (request, options) => blobs.get(request.params.root) ?? client.getJobBlob(request, options),
	});
	const take = (result: JobResult, of = job) => takeResult(lying(result), of, io, "wrong.run");
	const refuse = (what: RegExp, result: JobResult, of = job) =>
		assert.rejects(take(result, of), (error: Error & { code?: string }) => {
			assert.equal(error.code, "JOB_RESULT_WRONG", String(error));
			assert.match(error.message, what);
			return true;
		});
	assert.equal((await take(right)).claim, right.parts[0]!.claim);
	const [part] = right.parts;
	const [tensor, ...others] = right.state;
	const other = "ab".repeat(32);
	// Blobs that are there, of the right length, and other ones.
	const states = await fetchBlob(client, part!.states, { job: job.id });
	const listed = async (bytes: Uint8Array) => {
		const { blob } = await nameBlob({ bytes });
		blobs.set(blob.root, bytes);
		return { ...right, parts: [{ ...part!, states: blob }] };
	};
	const flipped = (at: number) => states.map((byte, i) => (i === at ? byte ^ 1 : byte));
	await refuse(/begin where the one before ended/, await listed(flipped(0)));
	await refuse(/the last state/, await listed(flipped(states.length - 1)));
	await refuse(/the claim/, await listed(flipped(40)));
	await refuse(/the list of states/, await listed(states.subarray(32)));
	await refuse(/the last state/, { ...right, state: [{ ...tensor!, root: other }, ...others] });
	await refuse(/its state tensors/, { ...right, state: others });
	await refuse(/0 of 1 parts/, { ...right, parts: [] });
	await refuse(/the claim/, { ...right, parts: [{ ...part!, claim: other }] });
	const [recorded] = job.record.parts;
	const record = { ...job.record, parts: [{ ...recorded!, claim: other }] };
	await refuse(/the claim/, right, { ...job, record });
	const terms = { ...job.offer.terms, program: other };
	await refuse(/the program/, right, { ...job, offer: { ...job.offer, terms } });
	assert.deepEqual(readdirSync(join(scratch, "wrong.run")).includes("claim.json"), true, "of the right one");
});

test("a result whose job file has changed is written as plain arrays; one that was removed is said to be", async () => {
	const { rows } = JSON.parse((await market("list", "--json")).out);
	rmSync(join(scratch, "jobs"), { recursive: true, force: true });
	const run = await market("result", rows[0].id, "--out", "plain.run");
	assert.equal(run.code, 0, run.err);
	assert.match(run.out, /plain arrays were written/);
	assert.ok(names("plain.run").some((name) => name.startsWith("state/")));
	// What a sweep does a week after the end of a job.
	for (const holder of ["job", "audit"])
		rmSync(join(stage.data.path, "blobs", "holders", `${holder}-${rows[0].id}`), { recursive: true, force: true });
	await refused(69, /\[JOB_RESULT_EXPIRED\]\n {2}\S/, "result", rows[0].id, "--out", "late.run");
});

test("a job that is paid by proof is ordered on chain before it is handed in", async () => {
	const sample = resolve(import.meta.dirname, "..", "..", "samples", "mlp-proof.json");
	const run = await market("submit", sample, "--method", "zk", "--steps", "4", "--yes", "--detach", "--json");
	assert.equal(run.code, 0, run.err);
	assert.match(run.err, /ordered: proofs of plan [0-9a-f]{12}/);
	assert.match(run.err, /proofs are over test parameters \(not secure\)/);
	const { id } = JSON.parse(run.out);
	assert.ok(await read(stage.chain!.contracts, "zkJobs", "isOrdered", BigInt(`0x${id}`)));
	const proofs = await market("proofs", id.slice(0, 10));
	assert.match(proofs.out, /nothing is proven yet/);
});

test("a job whose disputes a proof settles is ordered before it is funded", async () => {
	const sample = resolve(import.meta.dirname, "..", "..", "samples", "mlp-proof.json");
	const job = ["submit", sample, "--steps", "4", "--yes", "--detach", "--json", "--provable"] as const;
	await refused(64, /--provable goes with --method optimistic/, ...job, "--method", "sampled:4");
	const run = await market(...job, "--method", "optimistic");
	assert.equal(run.code, 0, run.err);
	assert.match(run.err, /ordered: proofs of plan [0-9a-f]{12}.*funded by/s);
	const { id } = JSON.parse(run.out);
	assert.ok(await read(stage.chain!.contracts, "segmentProofs", "isOrdered", BigInt(`0x${id}`)));
});

test("several jobs handed in at once from one account are all funded: none takes away what another approved", async () => {
	const submit = () => market("submit", "life.json", "--method", "sampled:1", "--detach", "--json");
	const runs = await Promise.all([submit(), submit(), submit()]);
	for (const { code, err } of runs) assert.equal(code, 0, err);
	assert.equal(new Set(runs.map(({ out }) => JSON.parse(out).id)).size, 3);
});

test("a job that is funded and cannot be handed in is gone on with, or comes back, and is never funded twice", async () => {
	const { contracts } = stage.chain!;
	const isFunded = async (id: string) => (await read(contracts, "jobEscrow", "jobOf", BigInt(`0x${id}`))).isFunded;
	const fundedBy = async () => (await readEvents(contracts, "jobEscrow", "Funded")).length;
	const before = await fundedBy();
	let refusals: string[] = [];
	const api = await openRefusingApi(stage.validator.url, (what) =>
		what === "POST /v1/jobs" ? (refusals.shift() ?? null) : null,
	);
	const submit = (file: string) =>
		assay("submit", file, "--detach", "--json", "--api", api.url, "--data", stage.data.path);
	const begin = async (file: string): Promise<string> => {
		// Nothing that passes: the command ends, and its money is with the escrow.
		refusals = ["JOB_QUOTA"];
		const run = await submit(file);
		assert.equal(run.code, 75, run.err);
		const [, id] = /^ {2}job ([0-9a-f]{64})\n[\s\S]*funded by/m.exec(run.err) ?? [];
		assert.ok(id !== undefined && (await isFunded(id)), run.err);
		return id;
	};
	try {
		refusals = ["RATE_LIMITED", "STORE_UNREACHABLE", "STORE_TIMEOUT"];
		const patient = await submit(job("patient.json", { method: "sampled:1", seed: `0x${"21".repeat(32)}` }));
		assert.deepEqual([patient.code, refusals], [0, []], patient.err);
		const again = job("again.json", { method: "sampled:1", seed: `0x${"22".repeat(32)}` });
		const begun = await begin(again);
		const status = await market("status", begun.slice(0, 12));
		assert.match(status.out, /begun here and not handed in: .*again\.json/);
		await refused(67, /was begun here and not handed in \[JOB_UNKNOWN\]\n {2}\S/, "result", begun);
		const second = await submit(again);
		assert.deepEqual([second.code, JSON.parse(second.out).id, (await fundedBy()) - before], [0, begun, 2], second.err);
		assert.match(second.err, /was begun before and not handed in/);
		// By the book alone, with no validator there; and then there is nothing to go on with.
		const given = job("given.json", { method: "sampled:1", seed: `0x${"23".repeat(32)}` });
		const gone = await begin(given);
		const cancelled = await assay("cancel", gone, "--api", "http://127.0.0.1:1", "--data", stage.data.path);
		assert.equal(cancelled.code, 0, cancelled.err);
		assert.match(cancelled.err, /[1-9]\S* tokens came back/);
		assert.match(cancelled.out, /nothing of it is left/);
		// On another machine, by key, chain and number.
		const far = await begin(given);
		assert.notEqual(far, gone);
		cpSync(join(scratch, "customer-account.key"), join(scratch, "far.key"));
		renameSync(join(scratch, "jobs"), join(scratch, "jobs-aside"));
		const chain = [
			"--rpc",
			stage.validator.chain!.url,
			"--contracts",
			join(stage.data.path, "chain", "contracts.json"),
		];
		const refund = await assay("refund", far, "--key-file", "far.key", ...chain);
		assert.equal(refund.code, 0, refund.err);
		assert.match(refund.err, /[1-9]\S* tokens came back/);
		// Here nobody has heard of it: a job that was taken back is not gone on with.
		renameSync(join(scratch, "jobs-aside"), join(scratch, "jobs"));
		const anew = await submit(given);
		assert.equal(anew.code, 0, anew.err);
		assert.match(anew.err, new RegExp(`job ${far} was begun before[\\s\\S]*it was taken back`));
		assert.notEqual(JSON.parse(anew.out).id, far);
	} finally {
		await api.close();
	}
});

test("cancelled before anybody has it, a job costs nothing but gas", async () => {
	const { contracts } = stage.chain!;
	const balance = () => read(contracts, "token", "balanceOf", PAYER.address);
	const before = await balance();
	const body = await prepare(stage, { method: { name: "redundant", count: 2 } });
	assert.ok((await balance()) < before);
	for (const worker of workers) await worker.close();
	// Hosts are remembered for a second: nobody must be left among those that would be drawn from.
	await eventually(async () => (await stage.validator.client.listJobHosts({ query: {} })).rows.length === 0);
	const { id } = await stage.customer.submitJob({ body: body as never });
	writeFileSync(join(scratch, "other-customer.key"), "5a".repeat(32), { mode: 0o600 });
	writeFileSync(join(scratch, "payer.key"), "c1".repeat(32), { mode: 0o600 });
	const keys = ["--key", "other-customer.key", "--key-file", "payer.key"];
	let run = await market("cancel", id, ...keys);
	let said = run.err;
	// A validator on a busy machine asks for patience; a customer who tries again loses nothing.
	while (/history is still being read/.test(run.err)) {
		run = await market("cancel", id, ...keys);
		said += run.err;
	}
	assert.equal(run.code, 0, run.err);
	assert.match(said, /tokens came back to 0x/);
	assert.match(run.out, /refunded/);
	assert.equal(await balance(), before);
	await refused(75, /\[JOB_STATE\]\n {2}\S/, "result", id, ...keys);
});
