// A claim is said to be false, its claimant says nothing, and its validator asks nobody on chain: then its
// customer's `job submit` does, while it waits, and silence convicts. An honest claimant answers by its
// signature, off chain, and nothing is sent. The clock is the test's own.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient } from "../../src/api/create-client.ts";
import { read, readEvents } from "../../src/chain/contracts/contracts.ts";
import { readGames } from "../../src/chain/contracts/dispute-games.ts";
import { signAnswer } from "../../src/chain/contracts/disputes.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { toHex } from "../../src/protocol/chain/hex.ts";
import { keccak } from "../../src/protocol/hash/keccak-tree.ts";
import type { JobMethod } from "../../src/protocol/network/job.ts";
import { readQuestion } from "../../src/protocol/network/job-question.ts";
import { attestation } from "../../src/store/sample-rows.test-kit.ts";
import { ownEngine } from "../../src/validator/jobs/evidence/own-engine.ts";
import { answerSilence, type OwnJob, type SilenceEvent } from "../../src/validator/jobs/watch/answer-silence.ts";
import { openWatchBook } from "../../src/validator/jobs/watch/watch-book.ts";
import { openWatchChain } from "../../src/validator/jobs/watch/watch-chain.ts";
import { createWatcher } from "../../src/validator/jobs/watch/watcher.ts";
import { traceQuestion } from "../../src/verify/optimistic/fraud/fraud-proof.ts";
import { mlpSample } from "../../src/work/builder/samples.test-kit.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { disputeByWord } from "./dispute-by-word.test-kit.ts";
import { openStage, PAYER, QUICK, type Stage, submit, workerAccount } from "./job-stage.test-kit.ts";
import { prove } from "./prove-host.test-kit.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;
const SIGNED = attestation([], { level: "none", shown: "hosted", isSimulated: true });
const METHODS: readonly JobMethod[] = [
	{ name: "sampled", count: 4 },
	{ name: "optimistic", count: 0 },
	{ name: "attested", count: 0 },
];
/** Six are convicted, and nobody gets a part twice. */
const WORKERS = [1, 2, 3, 4, 5, 6, 7, 8, 9];

describe("silence that no validator asks about", () => {
	const scratch = mkdtempSync(join(tmpdir(), "assay-silence-"));
	let stage: Stage;
	let skippedMs = 0;
	const nowMs = () => Date.now() + skippedMs;
	/** Who claimed a part while one was wanted: it answers nothing from then on. */
	const silent = new Map<string, number>();
	let isWanted = false;
	let isLying = false;
	/** While they hold back what they found, the validator has nothing to accuse by. */
	let auditors = Promise.withResolvers<void>();
	const workers = new Map<string, number>();

	before(async () => {
		const params = { ...QUICK, jobWindowMs: DAY_MS, jobStartMs: 30 * DAY_MS, jobAuditPpm: 1_000_000 };
		const slow = { jobBeatMs: 60 * MINUTE_MS, jobReliabilityPpm: 1 };
		const jobs = { isLoopbackApart: true, takesSimulated: true };
		stage = await openStage({ hasChain: true, nowMs, params: { ...params, ...slow }, settings: { jobs } });
		for (const n of WORKERS) {
			const worker = await stage.worker(n, {
				attestation: SIGNED,
				methods: ["redundant", "sampled", "optimistic", "attested"],
				async at(place, { audit }) {
					if (place === "offered" && audit !== null) await auditors.promise;
					if (place !== "claimed" || audit !== null || !isWanted) return;
					isWanted = false;
					silent.set(worker.id, n);
				},
				lieFrom: ({ audit }) => (audit === null && isWanted && isLying ? 3 : null),
				isSilent: () => silent.has(worker.id),
			});
			workers.set(worker.id, n);
		}
	});
	after(async () => {
		auditors.resolve();
		await stage.close();
		rmSync(scratch, { recursive: true, force: true });
	});

	const partOf = async (id: string) => (await stage.validator.store.jobs.get(id))!.record.parts[0]!;
	const proveAll = async () => {
		for (const id of workers.keys()) await prove(stage.validator.store, id, { nowMs: nowMs(), attestation: SIGNED });
	};
	/** Time passes while that is waited for. */
	const inTime = <T>(stepMs: number, ask: () => Promise<T | null | false>): Promise<T> =>
		eventually(async () => {
			const found = await ask();
			if (found) return found;
			await sleep(200);
			skippedMs += stepMs;
			return false;
		});

	/** From the claim on: by whom it is convicted, and that another is paid for the part. */
	async function playedOut(id: string, isAsked: () => boolean): Promise<void> {
		const { contracts } = stage.chain!;
		await eventually(async () => (await partOf(id)).state === "claimed" && !isWanted);
		const liar = (await partOf(id)).provider!;
		assert.ok(silent.has(liar));
		const account = workerAccount(silent.get(liar)!).address;
		const owed = await read(contracts, "jobEscrow", "owedTo", account);
		await disputeByWord(stage, id);
		await inTime(MINUTE_MS, async () => isAsked());
		const job = BigInt(`0x${id}`);
		const convicted = () => readEvents(contracts, "jobEscrow", "Convicted", { job });
		const [one] = await inTime(10 * MINUTE_MS, async () => {
			const found = await convicted();
			return found.length > 0 && found;
		});
		assert.equal(one!.args.provider.toLowerCase(), account.toLowerCase());
		const games = await readGames(contracts, { provider: account.toLowerCase() as `0x${string}` });
		const own = games.filter(({ sitting }) => sitting.job === job);
		assert.deepEqual(
			own.map(({ accuser, rounds }) => [accuser, rounds.length]),
			[[one!.args.accuser, 1]],
			"one game, of one question",
		);
		assert.notEqual(one!.args.accuser.toLowerCase(), stage.validator.chain!.account.toLowerCase());
		auditors.resolve();
		await eventually(async () => (await partOf(id)).excluded.includes(liar));
		await proveAll();
		await inTime(MINUTE_MS, async () => (await partOf(id)).state === "paid");
		assert.notEqual((await partOf(id)).provider, liar);
		assert.equal(await read(contracts, "jobEscrow", "owedTo", account), owed, "nothing for it");
	}

	const begin = async (lies = false) => {
		isLying = lies;
		auditors = Promise.withResolvers();
		await proveAll();
		isWanted = true;
	};

	async function answering(
		id: string,
		api: Pick<ApiClient, keyof OwnJob["api"]> = stage.customer,
	): Promise<{ readonly events: SilenceEvent[]; end(): Promise<void> }> {
		const events: SilenceEvent[] = [];
		const ending = new AbortController();
		const book = await openWatchBook(join(scratch, id, "watched.jsonl"), Date.now);
		const chain = await openWatchChain(stage.chain!.contracts, PAYER, { gasADay: 5e6, book });
		const { program } = mlpSample();
		const ended = answerSilence({
			api,
			chain,
			job: id,
			program,
			nowMs,
			everyMs: 100,
			patienceMs: 0,
			sleep: (ms) => sleep(ms, true, { signal: ending.signal }).catch(() => false),
			onEvent: (event) => void events.push(event),
		});
		return {
			events,
			async end() {
				ending.abort();
				await ended;
			},
		};
	}

	for (const [i, method] of METHODS.entries())
		test(`${method.name}: the customer asks on chain, and who says nothing is convicted`, async () => {
			await begin();
			const { id } = await submit(stage, { method, salt: (i + 1).toString(16).padStart(64, "0") });
			// A validator that is gone for good once the claim was seen: what is needed is at hand.
			let isSeen = false;
			const gone = <T>(): Promise<T> => Promise.reject(new AssayError("API_UNREACHABLE", "it is gone"));
			const { customer } = stage;
			const { events, end } = await answering(id, {
				...customer,
				getJob: (asked) => (isSeen ? gone() : customer.getJob(asked)),
				getClaimCase(asked) {
					isSeen = i === 0;
					return customer.getClaimCase(asked);
				},
				askClaim: (asked) => (isSeen ? gone() : customer.askClaim(asked)),
			});
			try {
				await playedOut(id, () => events.length > 0);
			} finally {
				await end();
			}
			assert.deepEqual(
				events.map(({ part, kind }) => [part, kind]),
				[
					[0, "asked"],
					[0, "convicted"],
				],
				JSON.stringify(events),
			);
		});

	test("a claimant that signs its answer is not silent, whatever its validator says: nothing is sent", async () => {
		await begin();
		isWanted = false;
		const { contracts } = stage.chain!;
		const { id } = await submit(stage, { method: METHODS[0]!, salt: "e".padStart(64, "0") });
		await eventually(async () => (await partOf(id)).state === "claimed");
		const account = workerAccount(workers.get((await partOf(id)).provider!)!);
		const answer = new Uint8Array(32).fill(9);
		/** As its provider would tell it, by any road. */
		const askClaim: ApiClient["askClaim"] = async ({ params, body }) => {
			const asked = readQuestion(body.question);
			assert.ok(asked.kind === "trace");
			const words = { question: traceQuestion(asked.segment), answerHash: toHex(keccak(answer)) };
			const signature = await signAnswer(account, contracts, { claim: `0x${params.hash}`, ...words });
			return { answer: bytesToHex(answer), signature: signature.slice(2) };
		};
		const { events, end } = await answering(id, { ...stage.customer, askClaim });
		try {
			await disputeByWord(stage, id);
			await inTime(MINUTE_MS, async () => events.length > 0);
		} finally {
			await end();
		}
		assert.deepEqual(events, [{ part: 0, kind: "answered", detail: "" }]);
		const games = await readGames(contracts, { accuser: PAYER.address });
		assert.ok(games.every(({ sitting }) => sitting.job !== BigInt(`0x${id}`)));
		auditors.resolve();
	});

	for (const method of [{ name: "redundant", count: 2 }, METHODS[0]!] as const)
		test(`${method.name}: a watcher of one's own jobs finds the lie, asks on chain, and goes on to the end`, async () => {
			await begin(true);
			const { id } = await submit(stage, { method, salt: `${method.count}f`.padStart(64, "0") });
			const states: string[] = [];
			const ending = new AbortController();
			const folder = join(scratch, id);
			const book = await openWatchBook(join(folder, "watched.jsonl"), nowMs);
			const command = (await findEngine(hostPlatform())).path;
			const watcher = createWatcher({
				api: stage.customer,
				folder,
				book,
				nowMs,
				patienceMs: 0,
				askEveryMs: 100,
				isDry: false,
				chain: await openWatchChain(stage.chain!.contracts, PAYER, { gasADay: 5e6, book }),
				engine: ownEngine({ command, args: [] }, realEnvironment()),
				policy: { jobs: "mine", sharePpm: 0 },
				secret: new Uint8Array(32),
				signal: ending.signal,
				sleep: (ms) => sleep(ms),
				onEvent: ({ job, state }) => void (job === id && states.push(state)),
			});
			// Hours pass between two lines here: what was signed before them is too old behind them.
			const unlessStale = (error: unknown) => {
				if (!(error instanceof AssayError) || error.code !== "REQUEST_STALE") throw error;
			};
			const watching = (async () => {
				for (; !ending.signal.aborted; await sleep(100)) await watcher.round(ending.signal).catch(unlessStale);
				await watcher.settle();
			})();
			try {
				await playedOut(id, () => states.includes("asked"));
			} finally {
				ending.abort();
				await watching;
			}
			assert.deepEqual(states.slice(0, 3), ["checking", "asked", "proven"]);
		});

	test("redundant: `job submit` does so while it waits, and says it", async () => {
		await begin();
		const file = { workload: "simulate", kind: "life", size: [16, 16], initial: { density: 0.4 }, steps: 8 };
		const order = { method: "redundant:2", mostPrice: 50, seed: `0x${"07".repeat(32)}` };
		writeFileSync(join(scratch, "life.json"), JSON.stringify({ ...file, ...order }));
		let err = "";
		const stream = (write: (text: string) => void) => ({ isTTY: false, write }) as unknown as NodeJS.WriteStream;
		const env = { ...process.env, ASSAY_HOME: scratch, XDG_CONFIG_HOME: scratch, NO_COLOR: "1" };
		const interrupted = new AbortController();
		const io = { env, cwd: scratch, interrupted: interrupted.signal, out: stream(() => {}) };
		const args = ["job", "submit", "life.json", "--api", stage.validator.url, "--data", stage.data.path];
		const running = runCommand(args, { ...io, err: stream((text) => (err += text)) });
		try {
			const id = await eventually(
				async () => /^ {2}funded by /m.test(err) && /^ {2}job ([0-9a-f]{64})$/m.exec(err)![1]!,
			);
			await eventually(async () => (await stage.validator.store.jobs.get(id)) !== null);
			await playedOut(id, () => /nobody asks about it on chain: this command does/.test(err));
			assert.equal(await running, 0, err);
			assert.match(err, /part 1: its claimant said nothing and is convicted by 0x[0-9a-f]{64}/);
		} finally {
			interrupted.abort();
			await running;
		}
	});
});
