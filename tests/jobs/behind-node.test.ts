// A validator whose node is one of two behind a balancer, one of them blocks late; then one that is far
// behind. Honest work is paid, nobody is convicted, no bond stays locked.
import assert from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { after, before, test } from "node:test";
import { createApiClient } from "../../src/api/create-client.ts";
import { deployContracts } from "../../src/chain/contracts/deploy.ts";
import { readJobDeposit, readJobPart } from "../../src/chain/contracts/job-escrow.ts";
import { createChainClient } from "../../src/chain/node/chain-client.ts";
import { TREASURER } from "../../src/chain/node/toy-node.test-kit.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { toHex } from "../../src/protocol/chain/hex.ts";
import { chainFolder, loadChainKey } from "../../src/validator/settlement/home.ts";
import { openBadNode } from "../faults/bad-node.ts";
import {
	eventually,
	makeDataDir,
	signerOf,
	startToyValidator,
	type ToyValidator,
} from "../validator/toy-agent.test-kit.ts";
import { type ChaosNode, openChaosNode } from "./chaos/chaos-node.ts";
import { CUSTOMER, jobOver, PAYER, prepare, QUICK, submit } from "./job-stage.test-kit.ts";
import { prove } from "./prove-host.test-kit.ts";
import { endow, startToyWorker, type ToyWorker } from "./toy-worker.test-kit.ts";

const UNIT = 10n ** 18n;
let seed = 1;
/** The same choices at every run. */
const draw = () => {
	seed = (seed * 48_271) % 2_147_483_647;
	return seed / 2_147_483_647;
};
const data = makeDataDir();
const workers: ToyWorker[] = [];
let net: ChaosNode;
let bad: Awaited<ReturnType<typeof openBadNode>>;
let validator: ToyValidator;
let stage: Parameters<typeof submit>[0];

before(async () => {
	const nowS = Math.floor(Date.now() / 1000);
	net = await openChaosNode(nowS);
	const client = await createChainClient(net.rpc, { confirmations: 1, pollMs: 20 });
	const contracts = await deployContracts(client, TREASURER, { genesis: nowS - 60, epochSeconds: 3600 });
	const folder = chainFolder(data.path);
	mkdirSync(folder, { recursive: true });
	const key = await loadChainKey(folder, "account", (size) => crypto.getRandomValues(new Uint8Array(size)));
	await sendCall(client, TREASURER, { to: accountOf(toHex(key)).address, data: "0x", value: 10n * UNIT });
	await endow(contracts, TREASURER, PAYER, 10_000n * UNIT, 0n);
	bad = await openBadNode(net.rpc, draw);
	validator = await startToyValidator({
		...{ dataDir: data.path, probes: false, params: QUICK, jobs: { isLoopbackApart: true } },
		chain: { rpcUrl: bad.url, contracts: contracts.addresses, confirmations: 1 },
		rollCalls: { isOn: false },
	});
	stage = {
		chain: { contracts, treasurer: TREASURER },
		customer: createApiClient({ baseUrl: validator.url, signer: CUSTOMER }),
	};
	for (const n of [1, 2, 3]) {
		const account = accountOf(`0x${(0xb0 + n).toString(16).repeat(32)}`);
		await endow(contracts, TREASURER, account, 0n, 1000n * UNIT);
		const worker = await startToyWorker({
			url: validator.url,
			signer: signerOf(100 + n),
			chain: { contracts, account },
		});
		workers.push(worker);
		await eventually(async () => (await validator.store.providers.get(worker.id)) !== null);
		await prove(validator.store, worker.id, { int8: 1e9 });
	}
	net.startMining();
});
after(async () => {
	for (const worker of workers) await worker.close();
	await validator?.stop();
	await bad?.close();
	await net?.close();
	await data.remove();
	rmSync(data.path, { recursive: true, force: true });
});

async function mustBePaid(id: string): Promise<void> {
	const job = await jobOver(stage.customer, id);
	assert.deepEqual(
		job.record.parts.map(({ state }) => state),
		["paid"],
	);
	const kinds = (await validator.store.jobs.events(id)).map(({ kind }) => kind);
	assert.ok(!kinds.includes("convicted"), kinds.join(" "));
	const { contracts } = stage.chain!;
	assert.equal((await readJobPart(contracts, BigInt(`0x${id}`), 0)).state, "settled");
	for (const n of [1, 2, 3]) {
		const { address } = accountOf(`0x${(0xb0 + n).toString(16).repeat(32)}`);
		assert.equal((await readJobDeposit(contracts, address)).locked, 0n, `the bond of ${n}`);
	}
	for (const { id: provider } of workers)
		for (const { outcome } of await validator.store.jobs.partsOf([provider]))
			assert.ok(outcome === "checked" || outcome === "paid", outcome);
}

function unlessUnfunded(error: unknown): null {
	if (error instanceof AssayError && error.code === "JOB_UNFUNDED") return null;
	throw error;
}

test("half of the answers are a block late: a job is paid, and nobody is convicted", async () => {
	const order = await prepare(stage, { method: { name: "redundant", count: 2 } });
	bad.set({ behind: 1, behindShare: 0.5 });
	// The late one may not know yet that it is funded.
	const { id } = await eventually(() => stage.customer.submitJob({ body: order as never }).catch(unlessUnfunded));
	await mustBePaid(id);
	assert.ok((bad.done.behind ?? 0) > 20, "it was asked while it was late");
});

test("a node that is far behind from the claim on: the record waits, and goes on when the node is back", async () => {
	bad.set({});
	const { id } = await submit(stage, { method: { name: "redundant", count: 2 }, salt: "3".padStart(64, "0") });
	await eventually(async () => {
		const [part] = (await stage.customer.getJob({ params: { id } })).record.parts;
		return part!.state === "claimed" || part!.state === "paid";
	});
	bad.set({ behind: 50, behindShare: 1 });
	const asked = bad.done.behind!;
	await eventually(async () => bad.done.behind! > asked + 10);
	assert.notEqual((await stage.customer.getJob({ params: { id } })).record.parts[0]!.state, "open");
	bad.set({});
	await mustBePaid(id);
});
