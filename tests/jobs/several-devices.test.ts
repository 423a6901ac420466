// One host of four devices before a real validator and its chain: it works on four parts at once, each with a
// bond of its own, and is paid for four. Its devices are four engines' shares of one CPU.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { read } from "../../src/chain/contracts/contracts.ts";
import { readJobDeposit } from "../../src/chain/contracts/job-escrow.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import type { Provider } from "../../src/provider/create-provider.ts";
import { jobEngines, type StartJobEngine } from "../../src/provider/jobs/job-engine.ts";
import { eventually, signerOf } from "../validator/toy-agent.test-kit.ts";
import { jobOver, openStage, prepare, type Stage, submit, workerAccount } from "./job-stage.test-kit.ts";
import { prove } from "./prove-host.test-kit.ts";
import { openRealProvider } from "./real-provider.test-kit.ts";
import { endow } from "./toy-worker.test-kit.ts";

const DEVICES = 4;
const HOST = signerOf(240);
const ACCOUNT = accountOf(`0x${"e4".repeat(32)}`);
const UNIT = 10n ** 18n;
const scratch = mkdtempSync(join(tmpdir(), "assay-several-devices-"));

let stage: Stage;
let provider: Provider;
/** Devices whose engine is at work now, and a door that no engine passes while it is shut. */
const atWork: number[] = [];
let opened: PromiseWithResolvers<void>;

/** The real engine, which begins once the door is open. */
const atTheDoor =
	(start: StartJobEngine): StartJobEngine =>
	async (at) => {
		assert.ok(!atWork.includes(at.device), `device ${at.device} works at something else`);
		atWork.push(at.device);
		await opened.promise;
		const engine = await start(at);
		return {
			...engine,
			async close() {
				atWork.splice(atWork.indexOf(at.device), 1);
				await engine.close();
			},
		};
	};

before(async () => {
	const { path: command } = await findEngine(hostPlatform());
	const engine = { command, args: ["--cpu-devices", String(DEVICES), "--threads", String(DEVICES)] };
	stage = await openStage({ hasChain: true, settings: { engine: { command, args: [] } } });
	const { contracts, treasurer } = stage.chain!;
	await endow(contracts, treasurer, ACCOUNT, 0n, 1000n * UNIT);
	const { clockUs, randomBytes } = realEnvironment();
	opened = Promise.withResolvers();
	provider = await openRealProvider({
		...{ url: stage.validator.url, signer: HOST, dataFolder: join(scratch, "host"), engine },
		chain: { contracts, account: ACCOUNT },
		startEngine: atTheDoor(
			jobEngines({ engine, env: process.env, devices: [], memoryBytes: 8e9, clockUs, randomBytes }),
		),
		onEvent: (event) => {
			if (process.env.ASSAY_TEST_NEWS) console.log(JSON.stringify(event).slice(0, 300));
		},
	});
	const { providers } = stage.validator.store;
	await eventually(async () => (await providers.get(HOST.key))?.connectedTo != null);
	await prove(stage.validator.store, HOST.key, { devices: DEVICES });
});
after(async () => {
	opened?.resolve();
	await provider?.stop();
	await stage?.close();
	rmSync(scratch, { recursive: true, force: true });
});

const method = { name: "sampled", count: 1 } as const;
const hand = (salt: string) => submit(stage, { method, salt: salt.repeat(32) });
const partOf = async (id: string) => (await stage.customer.getJob({ params: { id } })).record.parts[0]!;

test("a host of four devices works on four parts at once, with four bonds, and is paid for four", async () => {
	const { contracts } = stage.chain!;
	const deposit = () => readJobDeposit(contracts, ACCOUNT.address);
	const owed = () => read(contracts, "jobEscrow", "owedTo", ACCOUNT.address);
	const jobs = [];
	for (const salt of ["a1", "a2", "a3", "a4"]) jobs.push(await hand(salt));
	await eventually(async () => atWork.length === DEVICES);
	assert.deepEqual(atWork.toSorted(), [0, 1, 2, 3]);
	const devices = await Promise.all(jobs.map(async ({ id }) => (await partOf(id)).device));
	assert.deepEqual(devices.toSorted(), [0, 1, 2, 3]);

	// As everybody is told: the host is there, and nothing of it is free.
	const { rows } = await stage.validator.client.listJobHosts({ query: {} });
	assert.deepEqual(
		rows.map(({ provider: key, isFree, devices: all }) => [key, isFree, all.map((one) => [one.device, one.isFree])]),
		[[HOST.key, false, [0, 1, 2, 3].map((device) => [device, false])]],
	);
	const fifth = await hand("a5");
	await eventually(async () => (await stage.validator.store.jobs.draws(fifth.id)).some(({ body }) => isDrawn(body)));
	assert.deepEqual([(await partOf(fifth.id)).state, atWork.length], ["open", DEVICES], "it waits for a device");

	opened.resolve();
	const bond = BigInt(jobs[0]!.offer.terms.bondMicros) * 10n ** 12n;
	await eventually(async () => (await deposit()).locked >= BigInt(DEVICES) * bond);
	for (const { id } of [...jobs, fifth]) {
		const [part] = (await jobOver(stage.customer, id)).record.parts;
		assert.deepEqual([part!.state, part!.isChecked, part!.provider, part!.attempt], ["paid", true, HOST.key, 1]);
	}
	await eventually(async () => (await deposit()).locked === 0n);
	const price = BigInt(jobs[0]!.offer.terms.priceMicros) * 10n ** 12n;
	assert.equal(await owed(), BigInt(jobs.length + 1) * price);
});

test("two hosts of one owner work on two jobs at once, also where both lists are published before either has one", async () => {
	await provider.stop();
	const { contracts } = stage.chain!;
	const gate = Promise.withResolvers<void>();
	const at = async (place: string) => (place === "offered" ? gate.promise : undefined);
	const chain = { contracts, account: workerAccount(1) };
	const siblings = [await stage.worker(1, { at, chain }), await stage.worker(2, { at, chain })];
	await eventually(async () => {
		const { rows } = await stage.validator.client.listJobHosts({ query: {} });
		return rows.length === 2 && rows.every((row) => siblings.some(({ id }) => id === row.provider));
	});
	const orders = [];
	for (const salt of ["b1", "b2"]) orders.push(await prepare(stage, { method, salt: salt.repeat(32) }));
	const jobs = await Promise.all(orders.map((body) => stage.customer.submitJob({ body: body as never })));
	const had = await eventually(async () => {
		const parts = await Promise.all(jobs.map(({ id }) => partOf(id)));
		return parts.every(({ state }) => state === "assigned") && parts.map((part) => part.provider);
	});
	assert.deepEqual(had.toSorted(), siblings.map(({ id }) => id).sort());
	gate.resolve();
	for (const { id } of jobs) assert.equal((await jobOver(stage.customer, id)).record.parts[0]!.state, "paid");
	for (const { errors } of siblings) assert.deepEqual(errors, []);
});

const isDrawn = (body: unknown): boolean => (body as { readonly block: string | null }).block !== null;
