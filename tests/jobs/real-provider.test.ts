// The provider that owners run before a real validator: with its engine, book and chain it takes parts, runs,
// claims and is paid; killed half-way it goes on.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { readJobDeposit, readJobPart } from "../../src/chain/contracts/job-escrow.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { judgeSigned, signedLines } from "../../src/cli/jobs/judge-signed.ts";
import { paintFor } from "../../src/cli/print/paint.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { nodeSignatures } from "../../src/platform/node-signatures.ts";
import { attestation } from "../../src/store/sample-rows.test-kit.ts";
import { verifyJobRounds } from "../../src/verify/work/verify-job-rounds.ts";
import { createToyHost, mintedBundle, TOY_GUEST, type ToyHost, toyCard } from "../attestation/toy/toy-host.test-kit.ts";
import { isDeep } from "../fuzz.test-kit.ts";
import { eventually, signerOf } from "../validator/toy-agent.test-kit.ts";
import { jobOver, openStage, type Stage, submit } from "./job-stage.test-kit.ts";
import { prove } from "./prove-host.test-kit.ts";
import { type RealProvider, startRealProvider } from "./real-provider.test-kit.ts";
import { endow } from "./toy-worker.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-real-provider-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
const UNIT = 10n ** 18n;
/** Of the second host and of the third: nobody is refused, or loses anything, by a wrong clock. */
const CLOCKS_AHEAD_MS = [0, 3_600_000, -3_600_000];

// Without one in the deep tier: src/provider/jobs/host-jobs.test.ts has it against a desk of its own.
for (const hasChain of isDeep ? [false, true] : [true])
	describe(hasChain ? "on the embedded chain" : "without a chain", () => {
		let stage: Stage;
		let host: ToyHost;
		const running: RealProvider[] = [];
		const keyOf = (n: number) => `0x${(0xd0 + n).toString(16).repeat(32)}` as const;
		const account = (n: number) => accountOf(keyOf(n));
		async function start(n: number): Promise<RealProvider> {
			const { chain, validator } = stage;
			const signer = signerOf(200 + n);
			const isNew = (await validator.store.providers.get(signer.key)) === null;
			if (chain !== null && isNew) await endow(chain.contracts, chain.treasurer, account(n), 0n, 1000n * UNIT);
			const provider = await startRealProvider({
				...{ url: validator.url, signer: 200 + n, dataFolder: join(scratch, `${hasChain ? "chain" : "none"}-${n}`) },
				...{ env: host.env, engineArgs: ["--toy-tsm", host.tsm], clockAheadMs: CLOCKS_AHEAD_MS[n - 1] ?? 0 },
				chain: chain && { url: validator.chain!.url, contracts: chain.contracts.addresses, key: keyOf(n) },
			});
			running[n - 1] = provider;
			await eventually(async () => (await validator.store.providers.get(signer.key))?.connectedTo != null);
			// Of the first alone a probe was attested: simulated, and so it counts on trial networks alone.
			const signed = attestation([], { level: "none", shown: "hosted", isSimulated: true });
			if (isNew) await prove(validator.store, signer.key, { attestation: n === 1 ? signed : null });
			return provider;
		}
		before(async () => {
			// Times of a machine that does much else; what is checked is paid a second later.
			host = await createToyHost([toyCard(0)]);
			const bundle = join(scratch, "collateral.assay");
			writeFileSync(bundle, mintedBundle());
			const times = { jobWindowMs: 600_000, jobBeatMs: 6000, jobBeatMisses: 100, jobLeastWorkMs: 600_000 };
			// The least chance: one claim in a hundred is run again.
			const params = { ...times, jobAuditPpm: 10_000 };
			stage = await openStage({
				hasChain,
				params,
				settings: {
					engine: { command: (await findEngine(hostPlatform())).path, args: [] },
					...{ jobs: { isLoopbackApart: true, takesSimulated: true }, guests: [TOY_GUEST], collateral: [bundle] },
				},
			});
		});
		after(async () => {
			for (const one of running) await one.close();
			await stage?.close();
			await host?.close();
		});

		test("a redundant job is run by two of them, and paid", async () => {
			await Promise.all([1, 2, 3].map(start));
			const { id } = await submit(stage, { method: { name: "redundant", count: 2 }, segments: 12 });
			const job = await jobOver(stage.customer, id);
			const part = job.record.parts[0]!;
			assert.deepEqual([part.state, part.isChecked], ["paid", true]);
			const told = running.flatMap(({ news }) => news.filter((one) => one.job === id).map(({ state }) => state));
			for (const state of ["taken", "running", "claimed", "answered"]) assert.ok(told.includes(state), told.join(" "));
			await shouldBeSigned(stage, id);
			if (stage.chain === null) return;
			const { contracts } = stage.chain;
			assert.equal((await readJobPart(contracts, BigInt(`0x${id}`), 0)).state, "settled");
			for (const n of [1, 2, 3]) assert.equal((await readJobDeposit(contracts, account(n).address)).locked, 0n);
		});

		test("an attested job is given to the attested host, and paid by what its devices signed; less is run again", async () => {
			const attested = async (salt: string) => {
				const { id } = await submit(stage, { method: { name: "attested", count: 0 }, salt });
				const [job, told] = await Promise.all([jobOver(stage.customer, id), signedIn(stage, id)]);
				const part = job.record.parts[0]!;
				assert.deepEqual([part.state, part.isChecked, part.provider], ["paid", true, signerOf(201).key]);
				const signed = await judgeSigned(stage.customer, job);
				assert.deepEqual(
					signed.map(({ said, found, isSame }) => [said, found?.isSimulated, isSame]),
					[[told?.level, true, true]],
				);
				return { part, told };
			};
			if (hasChain) await typed(stage);
			// One in a hundred is run again by chance all the same.
			let first = await attested("a0".repeat(32));
			for (let n = 1; n < 5 && first.part.audits.length > 0; n++) first = await attested(`a${n}`.repeat(32));
			// A validator that says more than was signed is found out by whoever judges the file again.
			await shouldNotBeBelieved(stage, first.part.claim!);
			assert.deepEqual([first.part.audits, first.told], [[], { level: "hosted", isSimulated: true }]);
			// The same host without its card: its CPU signs alone, which shows nothing.
			await host.setCards([{ ...toyCard(0), answer: 3 }]);
			const less = await attested("b0".repeat(32));
			await host.setCards([toyCard(0)]);
			assert.deepEqual(less.told, { level: "none", isSimulated: true });
			assert.equal(less.part.audits.length, 1);
			assert.notEqual(less.part.audits[0]!.auditor, signerOf(201).key);
		});

		test("a sampled job is answered for: whoever runs it again gets the states to begin with", async () => {
			const { id } = await submit(stage, {
				...{ method: { name: "sampled", count: 2 }, segments: 40, salt: "6b".repeat(32) },
			});
			const job = await jobOver(stage.customer, id);
			const part = job.record.parts[0]!;
			assert.deepEqual([part.state, part.isChecked, part.attempt], ["paid", true, 1]);
			assert.ok(part.audits.some(({ first }) => first > 0));
		});

		test("a full disk is waited for: what is run meanwhile is run in the end, and paid", async () => {
			const wish = { method: { name: "redundant", count: 2 }, segments: 3000, salt: "8d".repeat(32) } as const;
			const { id } = await submit(stage, wish);
			await eventually(async () =>
				running.some(({ news }) => news.some((one) => one.job === id && one.state === "running")),
			);
			for (const one of running) one.limitFiles(3000);
			await eventually(async () =>
				running.some(({ events }) => events.some((one) => one.kind === "trouble" && one.code === "FILE_UNWRITABLE")),
			);
			for (const one of running) one.limitFiles(null);
			const [part] = (await jobOver(stage.customer, id)).record.parts;
			assert.deepEqual([part!.state, part!.attempt], ["paid", 1]);
		});

		test("killed while it works, and started again, the same provider ends what it began", async () => {
			for (const one of running) await one.dieAtWork();
			const { id } = await submit(stage, {
				...{ method: { name: "redundant", count: 2 }, segments: 5000, salt: "7c".repeat(32) },
			});
			const over = jobOver(stage.customer, id);
			const n = await Promise.race([
				...running.map(({ ended }, index) => ended.then(() => index + 1)),
				over.then(() => assert.fail("it was done before its first sign")),
			]);
			const { record } = await stage.customer.getJob({ params: { id } });
			assert.equal(record.parts[0]!.provider, signerOf(200 + n).key);
			assert.ok(record.parts[0]!.done > 0);
			// One death is enough.
			for (const one of running) if (one !== running[n - 1]) await one.liveOn();
			running[n - 1] = await start(n);
			const job = await over;
			const { state, attempt, isChecked } = job.record.parts[0]!;
			assert.deepEqual([state, attempt, isChecked], ["paid", 1, true]);
			const told = running[n - 1]!.news.filter((one) => one.job === id).map((one) => one.state);
			assert.ok(told.includes("claimed") && !told.includes("taken"), told.join(" "));
		});
	});

/** `assay job submit` and `status` in a terminal: to paid, by signatures that are marked as simulated. */
async function typed({ validator, data }: Stage): Promise<void> {
	const file = join(scratch, "life.json");
	const life = { workload: "simulate", kind: "life", size: [16, 16], initial: { density: 0.4 }, steps: 8, frames: 2 };
	writeFileSync(file, JSON.stringify({ ...life, mostPrice: 5, seed: `0x${"07".repeat(32)}` }));
	const assay = async (...args: string[]) => {
		const said = { out: "", err: "" };
		const stream = (name: "out" | "err") =>
			({ isTTY: false, write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
		const env = { ...process.env, ASSAY_HOME: scratch, XDG_CONFIG_HOME: scratch, NO_COLOR: "1" };
		const io = { out: stream("out"), err: stream("err"), env, cwd: scratch, interrupted: new AbortController().signal };
		const code = await runCommand(["job", ...args, "--api", validator.url, "--data", data.path], io);
		assert.equal(code, 0, said.err);
		return said;
	};
	const run = await assay("submit", file, "--method", "attested", "--yes", "--out", "typed.run");
	for (const word of ["funded by 0x", "SIMULATED", "claimed", "paid"]) assert.ok(run.err.includes(word), run.err);
	const { rows } = JSON.parse((await assay("list", "--json")).out) as {
		readonly rows: readonly { readonly id: string }[];
	};
	const { id } = rows[0]!;
	assert.match(
		(await assay("status", id.slice(0, 10))).out,
		/attested; over(.|\n)*hosted, SIMULATED, the same, by policy/,
	);
}

/** With a validator that calls the claim's level another. */
async function shouldNotBeBelieved({ customer }: Stage, hash: string): Promise<void> {
	const claim = await customer.getClaim({ params: { hash } });
	const job = await customer.getJob({ params: { id: claim.job } });
	const lying = {
		...customer,
		getClaim: async () => ({ ...claim, attestation: { ...claim.attestation!, isSimulated: false } }),
	};
	const [part] = await judgeSigned(lying as typeof customer, job);
	assert.equal(part?.isSame, false);
	const plain = paintFor({ isTTY: false } as NodeJS.WriteStream, { NO_COLOR: "1" });
	assert.match(signedLines([part!], plain)[0]!, /judged again here: hosted, SIMULATED, NOT the same, by policy/);
}

/** What the job's events say of its signatures. */
async function signedIn({ customer }: Stage, id: string) {
	for await (const { kind, detail } of customer.watchJob({ params: { id } })) {
		const { level, isSimulated } = detail as { readonly level?: unknown; readonly isSimulated?: unknown };
		if (kind === "job.signed") return { level, isSimulated };
	}
	return null;
}

/** Its claim has a round at both ends, of the host's toy card: shown, marked, and counted for nothing. */
async function shouldBeSigned({ customer }: Stage, job: string): Promise<void> {
	const { offer, record } = await customer.getJob({ params: { id: job } });
	const claim = await customer.getClaim({ params: { hash: record.parts[0]!.claim! } });
	const { attestation: shown, hash, part, attempt, provider, first: start } = claim;
	assert.ok(shown !== null);
	assert.deepEqual(
		[shown.level, shown.shown, shown.isSimulated, shown.rounds, shown.fault, shown.devices.length],
		["none", "hosted", true, 2, null, 1],
	);
	// Whoever has the file comes to the same.
	const bound = { job, part, attempt, provider, escrow: offer.escrow, start, claim: hash };
	const file = await customer.getEvidence({ params: { sha256: shown.file! } });
	const by = { verify: nodeSignatures, guests: [TOY_GUEST] };
	const judged = verifyJobRounds(file, bound, by);
	assert.deepEqual([judged.shown, judged.devices], [shown.shown, shown.devices]);
	// By the same rules as of the same moment; whoever allows no guest has others.
	const { simulated, countsSimulated } = await customer.getAttestationPolicy();
	assert.deepEqual([shown.policy, countsSimulated], [judged.policy, true]);
	assert.equal(shown.policy?.hash, simulated.hash);
	assert.notEqual(verifyJobRounds(file, bound, { ...by, guests: null }).policy?.hash, simulated.hash);
	const another = verifyJobRounds(file, { ...bound, attempt: attempt + 1 }, by);
	assert.equal(another.fault?.code, "NONCE_WRONG");
}
