// Whoever lies and then says nothing, played to the end of the window by a whole network on the embedded
// chain: the validator asks it there itself, and silence convicts it. Its honest twin is paid in the end,
// whatever a validator says of it. The clock is the test's own.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { read, readEvents } from "../../src/chain/contracts/contracts.ts";
import { readGames } from "../../src/chain/contracts/dispute-games.ts";
import { readJobDeposit, readJobPart } from "../../src/chain/contracts/job-escrow.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import type { JobMethod } from "../../src/protocol/network/job.ts";
import { openJobChain } from "../../src/provider/jobs/open-job-chain.ts";
import { attestation } from "../../src/store/sample-rows.test-kit.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { disputeByWord } from "./dispute-by-word.test-kit.ts";
import { openStage, QUICK, type Stage, submit, workerAccount } from "./job-stage.test-kit.ts";
import { prove } from "./prove-host.test-kit.ts";
import type { ToyWorker } from "./toy-worker.test-kit.ts";

const HOUR_MS = 3_600_000;
const DEPOSIT = 1000n * 10n ** 18n;
const SIGNED = attestation([], { level: "none", shown: "hosted", isSimulated: true });
/** Four of them are convicted. */
const WORKERS = [1, 2, 3, 4, 5, 6, 7, 8, 9];
/** Every one whose claims are run again. */
const METHODS: readonly JobMethod[] = [
	{ name: "redundant", count: 2 },
	{ name: "sampled", count: 4 },
	{ name: "optimistic", count: 0 },
	{ name: "attested", count: 0 },
];

describe("silence about a lie, to the end of its window", () => {
	let stage: Stage;
	let skippedMs = 0;
	/** Whoever takes the next part lies in it, by its id: and from its claim on it says nothing. */
	let wanted = false;
	/** Whoever runs the next audit lies in it, and says nothing afterwards. */
	let wantedAudit = false;
	const liars = new Map<string, number>();
	const silent = new Set<string>();
	const workers = new Map<string, number>();
	const nowMs = () => Date.now() + skippedMs;
	before(async () => {
		stage = await openStage({
			hasChain: true,
			nowMs,
			params: {
				...QUICK,
				jobSilenceMs: 10_000,
				jobWindowMs: 24 * HOUR_MS,
				jobStartMs: 720 * HOUR_MS,
				jobAuditPpm: 1_000_000,
				// Nothing lapses while the clock is set on, however slow the machine is.
				...{ jobBeatMs: HOUR_MS },
				jobReliabilityPpm: 1,
			},
			settings: {
				engine: { command: (await findEngine(hostPlatform())).path, args: [] },
				jobs: { isLoopbackApart: true, takesSimulated: true },
			},
		});
		for (const n of WORKERS) {
			const worker: ToyWorker = await stage.worker(n, {
				attestation: SIGNED,
				methods: ["redundant", "sampled", "optimistic", "attested"],
				lieFrom({ audit }) {
					if (audit !== null && wantedAudit) {
						wantedAudit = false;
						silent.add(worker.id);
						return 3;
					}
					if (audit !== null || !wanted) return null;
					wanted = false;
					liars.set(worker.id, n);
					return 3;
				},
				at: (place, { audit }) =>
					void (place === "claimed" && audit === null && liars.has(worker.id) && silent.add(worker.id)),
				isSilent: () => silent.has(worker.id),
			});
			workers.set(worker.id, n);
		}
	});
	after(() => stage.close());

	const accountOf = (worker: string) => workerAccount(workers.get(worker)!).address;
	const partOf = async (id: string) => (await stage.customer.getJob({ params: { id } })).record.parts[0]!;
	/** Hours pass while that is waited for. */
	const inTime = <T>(stepMs: number, ask: () => Promise<T | null | false>): Promise<T> =>
		eventually(async () => {
			const found = await ask();
			if (found) return found;
			await sleep(200);
			skippedMs += stepMs;
			return false;
		});

	const proveAll = async () => {
		for (const id of workers.keys()) await prove(stage.validator.store, id, { nowMs: nowMs(), attestation: SIGNED });
	};

	for (const [i, method] of METHODS.entries())
		test(`${method.name}: the liar is asked on chain by the validator, convicted and not paid; another is`, async () => {
			const { contracts } = stage.chain!;
			const before = new Set(liars.keys());
			await proveAll();
			wanted = true;
			const { id } = await submit(stage, { method, salt: (i + 1).toString(16).padStart(64, "0") });
			await eventually(async () => (await partOf(id)).state === "claimed");
			const disputed = await inTime(2000, async () => {
				const part = await partOf(id);
				return part.isDisputed && part;
			});
			const liar = [...liars.keys()].find((one) => !before.has(one))!;
			assert.equal(disputed.provider, liar);
			const account = accountOf(liar);
			const owed = await read(contracts, "jobEscrow", "owedTo", account);
			// Everybody may look from now on, and nobody's audit counts.
			const { rows } = await stage.customer.listClaims({ query: { job: id, limit: 10 } });
			assert.ok(rows[0]!.ends !== null, "released");
			await stage.customer.getClaimCase({ params: { hash: rows[0]!.hash } });
			// Whatever is asked takes half an hour or an hour; the window is a day.
			const job = BigInt(`0x${id}`);
			const validator = stage.validator.chain!.account as `0x${string}`;
			const games = async () =>
				(await readGames(contracts, { accuser: validator })).filter(({ sitting }) => sitting.job === job);
			await inTime(2000, async () => (await games()).length > 0);
			await inTime(HOUR_MS / 2, async () => (await partOf(id)).excluded.includes(liar));
			const [convicted] = await readEvents(contracts, "jobEscrow", "Convicted", { job });
			assert.equal(convicted!.args.provider.toLowerCase(), account.toLowerCase());
			assert.equal(convicted!.args.accuser.toLowerCase(), validator.toLowerCase());
			assert.equal((await games()).length, 1, "by a game that the validator opened");
			// The part goes to somebody honest, who is paid; the liar has nothing of it. What the hosts proved is
			// too old by now.
			await proveAll();
			await inTime(2000, async () => (await partOf(id)).state === "paid");
			const paid = await partOf(id);
			assert.ok(paid.provider !== liar && !liars.has(paid.provider!));
			assert.equal(await read(contracts, "jobEscrow", "owedTo", account), owed, "nothing for it");
			const { free, locked } = await readJobDeposit(contracts, account);
			assert.deepEqual([locked, free < DEPOSIT], [0n, true], "its bond is gone");
			const outcomes = (await stage.validator.store.jobs.partsOf([liar])).filter((one) => one.job === id);
			assert.deepEqual(
				outcomes.map(({ outcome }) => outcome),
				["convicted"],
			);
		});

	test("an honest host whose auditor lies about a difference and then says nothing is checked and paid", async () => {
		await proveAll();
		wantedAudit = true;
		const { id } = await submit(stage, { method: METHODS[0]!, salt: "a0".padStart(64, "0") });
		await inTime(2000, async () => (await partOf(id)).state === "paid");
		const paid = await partOf(id);
		assert.deepEqual([paid.attempt, paid.isChecked, paid.disputedAtMs], [1, true, undefined]);
		assert.equal((await readJobDeposit(stage.chain!.contracts, accountOf(paid.provider!))).locked, 0n);
	});

	test("a dispute that nobody brings before the chain lapses, and the claim is paid when its window ends", async () => {
		await proveAll();
		const { id } = await submit(stage, { method: METHODS[2]!, salt: "a1".padStart(64, "0") });
		await eventually(async () => (await partOf(id)).state === "claimed");
		await disputeByWord(stage, id);
		await inTime(HOUR_MS / 4, async () => {
			const { isDisputed, disputedAtMs } = await partOf(id);
			return disputedAtMs !== undefined && !isDisputed;
		});
		const lapsed = await partOf(id);
		assert.ok(nowMs() - lapsed.disputedAtMs! >= HOUR_MS / 2);
		await inTime(HOUR_MS, async () => (await partOf(id)).state === "paid");
		const outcomes = (await stage.validator.store.jobs.partsOf([lapsed.provider!])).filter((one) => one.job === id);
		assert.deepEqual(
			outcomes.map(({ outcome }) => outcome),
			["paid"],
			"what was said of it is forgotten",
		);
	});
});

test("a validator that disputes for ever holds nobody's money: the host has itself paid", async () => {
	let skippedMs = 0;
	const nowMs = () => Date.now() + skippedMs;
	const params = { ...QUICK, jobWindowMs: 24 * HOUR_MS, jobDisputeMs: 31_000_000_000, jobAuditPpm: 10_000 };
	const stage = await openStage({ hasChain: true, nowMs, params });
	try {
		const { id: host } = await stage.worker(1);
		const { id, offer } = await submit(stage, { method: METHODS[2]! });
		const part = async () => (await stage.customer.getJob({ params: { id } })).record.parts[0]!;
		await eventually(async () => (await part()).state === "claimed");
		await disputeByWord(stage, id);
		const { contracts } = stage.chain!;
		const chain = await openJobChain(contracts, workerAccount(1), host);
		const settle = () => chain.settle(offer.escrow!.terms as never, 0, 1, 3600);
		assert.equal(await settle(), false, "its window is not over");
		skippedMs += 26 * HOUR_MS;
		assert.equal(await eventually(settle), true);
		assert.equal((await readJobPart(contracts, BigInt(`0x${id}`), 0)).state, "settled");
		assert.equal((await readJobDeposit(contracts, workerAccount(1).address)).locked, 0n);
		assert.equal(await settle(), false, "once");
		await eventually(async () => (await part()).state === "paid");
	} finally {
		await stage.close();
	}
});
