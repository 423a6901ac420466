// A long job on hosts of which two are killed for good on the way, each with a part half done: a validator,
// the embedded chain and four providers as owners run them, in processes of their own, on this machine's CPU.
// Kept is how many segments each kill cost, how soon another host had the part, and whether the end is the
// one of a run at home. Ends with 1 where the job was not paid, a kill cost more than the part it was in, or
// the end is another.
//   node bench/jobs/long-job.ts [--steps 40000] [--parts 12] [--write]
// 40,000 steps are about an hour of one core. `--write` makes bench/results/network-long-job-<date>.json.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { readEvents } from "../../src/chain/contracts/contracts.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { takeResult } from "../../src/cli/jobs/take-result.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { modelledMs, partWork } from "../../src/market/jobs/fitting-hosts.ts";
import { partRange } from "../../src/market/jobs/job-rules.ts";
import { PROVEN_H200 } from "../../src/work/cost/work-time.ts";
import { segmentWork } from "../../src/work/program/job-work.ts";
import { buildWorkload } from "../../src/work/workloads/build-workload.ts";
import { readJob } from "../../src/work/workloads/read-job.ts";
import { openStage, prepare } from "../../tests/jobs/job-stage.test-kit.ts";
import { prove } from "../../tests/jobs/prove-host.test-kit.ts";
import { type RealProvider, startRealProvider } from "../../tests/jobs/real-provider.test-kit.ts";
import { endow } from "../../tests/jobs/toy-worker.test-kit.ts";
import { eventually, signerOf } from "../../tests/validator/toy-agent.test-kit.ts";
import { writeNetworkResult } from "../network-result.ts";

const { values } = parseArgs({
	options: {
		steps: { type: "string", default: "40000" },
		parts: { type: "string", default: "12" },
		write: { type: "boolean", default: false },
	},
});
const [steps, parts] = [Number(values.steps), Number(values.parts)];
const SAMPLES = fileURLToPath(new URL("../../samples/", import.meta.url));
const HOSTS = 4;
const KILLED = [0.25, 0.6].map((share) => Math.floor(share * parts));
/** The least that a part may be set to. What hosts prove is scaled to it: parts are as many as asked. */
const PART_MS = 60_000;
/** Six signs of life: the machine may be busy with other things. */
const PARAMS = {
	...{ jobPartMs: PART_MS, jobLongPartMs: PART_MS, jobBeatMs: 15_000, jobBeatMisses: 6 },
	...{ jobLeastWorkMs: 7_200_000, jobAcceptMs: 600_000, jobStartMs: 86_400_000 },
};

const scratch = mkdtempSync(join(tmpdir(), "assay-long-job-"));
const UNIT = 10n ** 18n;
const nowS = (): number => Math.round(performance.now() / 100) / 10;
const say = (line: string) => console.log(`${nowS().toFixed(1).padStart(8)} s  ${line}`);

const file = { ...JSON.parse(readFileSync(join(SAMPLES, "gpt-mini.json"), "utf8")), steps };
const workload = await buildWorkload(readJob(file), async (name) => readFileSync(join(SAMPLES, name)));
const whole = partWork(segmentWork(workload.program), workload.segments);
const figuresOf = (slower: number) => ({
	int8OpsPerS: Math.ceil(PROVEN_H200.int8OpsPerS / slower),
	bytesPerS: Math.ceil(PROVEN_H200.bytesPerS / slower),
});
/** So many times slower than an H200 does every host prove to be. */
let slower = 1;
while (modelledMs(whole, figuresOf(slower)) < 0.97 * parts * PART_MS) slower *= 1.01;

const stage = await openStage({
	hasChain: true,
	params: PARAMS,
	settings: {
		engine: { command: (await findEngine(hostPlatform())).path, args: [] },
		jobs: { isLoopbackApart: true },
	},
});
const hosts = new Map<string, RealProvider>();
const keyOf = (n: number) => `0x${(0xd0 + n).toString(16).repeat(32)}` as const;
for (let n = 1; n <= HOSTS; n++) {
	const { chain, validator } = stage;
	const { key } = signerOf(200 + n);
	await endow(chain!.contracts, chain!.treasurer, accountOf(keyOf(n)), 0n, 1_000_000n * UNIT);
	const provider = await startRealProvider({
		...{ url: validator.url, signer: 200 + n, dataFolder: join(scratch, `${n}`) },
		chain: { url: validator.chain!.url, contracts: chain!.contracts.addresses, key: keyOf(n) },
	});
	hosts.set(key, provider);
	await eventually(async () => (await validator.store.providers.get(key))?.connectedTo != null);
	const { int8OpsPerS: int8, bytesPerS } = figuresOf(slower);
	await prove(validator.store, key, { int8, bytesPerS });
}

const body = await prepare(stage, { method: { name: "sampled", count: 2 }, workload });
const { id, terms } = body.offer;
say(`${terms.parts} parts of ${partRange(terms, 0).count} segments, limit ${terms.workMs / 60_000} min`);
const begunS = nowS();
await stage.customer.submitJob({ body: body as never });

interface Kill {
	readonly part: number;
	/** Told as done when its host was killed, of so many. */
	readonly done: number;
	readonly of: number;
	readonly atS: number;
	/** From the kill on: until the part was open again, and until another host ran it. */
	openAfterS?: number;
	againAfterS?: number;
}
const kills: Kill[] = [];
const read = async () => stage.customer.getJob({ params: { id } });
let job = await read();
for (let line = ""; !job.isOver; job = await read()) {
	const now = job.record.parts.map(({ state, done }) => `${state}${state === "running" ? ` ${done}` : ""}`).join(", ");
	if (now !== line) say(now);
	line = now;
	for (const kill of kills) {
		const { attempt, state } = job.record.parts[kill.part]!;
		const since = Math.round(10 * (nowS() - kill.atS)) / 10;
		if (state === "open" || attempt > 1) kill.openAfterS ??= since;
		if (attempt > 1 && state !== "assigned") kill.againAfterS ??= since;
	}
	const next = KILLED[kills.length];
	const part = next === undefined ? undefined : job.record.parts[next];
	const of = next === undefined ? 0 : partRange(terms, next).count;
	if (part?.state === "running" && part.attempt === 1 && 3 * part.done > of) {
		const victim = hosts.get(part.provider!)!;
		await victim.dieAtWork();
		await victim.ended;
		hosts.delete(part.provider!);
		const { done } = (await read()).record.parts[part.part]!;
		kills.push({ part: part.part, done, of, atS: nowS() });
		say(`killed the host of part ${part.part}, ${done} of ${of} segments done`);
	}
	await sleep(2000);
}
const tookS = nowS() - begunS;

const io = { cwd: scratch, env: { ...process.env, ASSAY_HOME: scratch } };
const isPaid = job.record.parts.every(({ state }) => state === "paid");
const result = isPaid ? await takeResult(stage.customer, job, io, "result.run") : null;
const reopened = await readEvents(stage.chain!.contracts, "jobEscrow", "Reopened", { job: BigInt(`0x${id}`) });
for (const one of hosts.values()) await one.close();
await stage.close();

say("the same at home");
const bin = fileURLToPath(new URL("../../bin/assay.mjs", import.meta.url));
const home = ["job", "run", join(SAMPLES, "gpt-mini.json"), "--steps", `${steps}`, "--out", join(scratch, "home.run")];
const homeS = nowS();
const { stdout } = await promisify(execFile)(process.execPath, [bin, ...home, "--json"], { maxBuffer: 1 << 28 });
const { state } = JSON.parse(stdout) as { readonly state: string };
rmSync(scratch, { recursive: true, force: true });

const isSame = result?.state === state;
const attempts = job.record.parts.reduce((sum, { attempt }) => sum + attempt, 0);
const summary = {
	...{ what: "a job on four CPU hosts, two of them killed for good on the way; embedded chain, sampled:2" },
	...{ steps, segments: terms.segments, parts: terms.parts, segmentsAPart: partRange(terms, 0).count },
	...{ params: PARAMS, tookS: Math.round(tookS), aloneAtHomeS: Math.round(nowS() - homeS), isPaid, isSame, state },
	...{ attempts, reopenedOnChain: reopened.length, kills },
};
console.log(JSON.stringify(summary, null, "\t"));
if (values.write) console.log(writeNetworkResult("long-job", summary));
const isLittle = kills.length === KILLED.length && attempts === terms.parts + kills.length;
process.exit(isPaid && isSame && isLittle ? 0 : 1);
