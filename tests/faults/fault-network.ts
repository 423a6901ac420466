// A whole network whose every line can fail: a real EVM that makes blocks, behind a node with faults; one
// PostgreSQL; one or two processes of a validator, each with lines of its own to the database and before its
// API; providers with the product's own job desk and toy engines, and simulated ones that are probed; a
// customer who types commands. What fails and when is schedule.ts.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { type Contracts, callOf } from "../../src/chain/contracts/contracts.ts";
import { deployContracts } from "../../src/chain/contracts/deploy.ts";
import { approveCall, registerCall } from "../../src/chain/contracts/registry.ts";
import { type ChainClient, createChainClient } from "../../src/chain/node/chain-client.ts";
import { httpRpc, withRetries } from "../../src/chain/node/http-rpc.ts";
import { TREASURER } from "../../src/chain/node/toy-node.test-kit.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf, type ChainAccount } from "../../src/chain/sending/sign.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { freePort } from "../../src/engine/links/test-sshd.test-kit.ts";
import { loadKeyFile } from "../../src/platform/key-file.ts";
import { createSemaphore } from "../../src/platform/semaphore.ts";
import { toHex } from "../../src/protocol/chain/hex.ts";
import { signChainKey } from "../../src/protocol/chain/key-binding.ts";
import type { Provider } from "../../src/provider/create-provider.ts";
import { toyOpener } from "../../src/provider/jobs/toy-run.test-kit.ts";
import { openStore, type Store } from "../../src/store/open-store.ts";
import { copyCluster } from "../../src/store/postgres/cluster.test-kit.ts";
import { ensureEmbeddedServer, stopEmbeddedServer } from "../../src/store/postgres/embedded-server.ts";
import { urlOf } from "../../src/store/postgres/servers.test-kit.ts";
import { chainFolder, contractsPath, loadChainKey } from "../../src/validator/settlement/home.ts";
import { openChaosNode } from "../jobs/chaos/chaos-node.ts";
import { prove } from "../jobs/prove-host.test-kit.ts";
import { openRealProvider } from "../jobs/real-provider.test-kit.ts";
import { endow } from "../jobs/toy-worker.test-kit.ts";
import { startChild, type Usage } from "../network/child-program.ts";
import { kindNamed } from "../network/simulated-kinds.ts";
import { runSimulatedProvider, simulatedSigner } from "../network/simulated-provider.ts";
import type { StartValidator } from "../network/validator-process.ts";
import { signerOf } from "../validator/toy-agent.test-kit.ts";
import { openBadNode } from "./bad-node.ts";
import { openLine } from "./line.ts";

const UNIT = 10n ** 18n;
const SHIFTED_CLOCK = fileURLToPath(new URL("../../bench/floods/shifted-clock.mjs", import.meta.url));
const PAYER = accountOf(`0x${"c1".repeat(32)}`);
const SENDER = accountOf(`0x${"5e".repeat(32)}`);
const HOSTS = 4;
const PROBED = 2;
const LEASE_MS = 5000;
/** As a service manager does with a process that ended by itself. */
const START_AGAIN_MS = 1000;
/** Far more than the faults of a run need: it only ends what never starts. */
const MAX_STARTS = 120;
const randomBytes = (size: number) => crypto.getRandomValues(new Uint8Array(size));
/** All of it is over within the run, also where somebody loses a part. */
const PARAMS = {
	...{ jobAcceptMs: 8000, jobBeatMs: 1000, jobBeatMisses: 6, jobLeastWorkMs: 20_000, jobCheckedMs: 1000 },
	...{ jobWindowMs: 20_000, jobStartMs: 60_000, intervalMs: 3000, jitterMs: 500, retryFirstMs: 500, retries: 3 },
};
const JOB = {
	...{ workload: "simulate", kind: "life", size: [16, 16], initial: { density: 0.4 }, steps: 8, frames: 2 },
	...{ method: "redundant:2", mostPrice: 500, seed: `0x${"07".repeat(32)}` },
};

export interface NetworkOptions {
	readonly validators: 1 | 2;
	readonly confirmations: number;
	/** Of the bad node's choices. */
	readonly draw: () => number;
	readonly log?: StartValidator["log"];
}
export type FaultNetwork = Awaited<ReturnType<typeof openFaultNetwork>>;

/** Contracts, and a validator with its stake, whose keys lie in the folder. */
async function settle(client: ChainClient, dataDir: string, genesis: number) {
	const contracts = await deployContracts(client, TREASURER, { genesis, epochSeconds: 3600 });
	const folder = chainFolder(dataDir);
	mkdirSync(folder, { recursive: true });
	const account = accountOf(toHex(await loadChainKey(folder, "account", randomBytes)));
	const key = { name: "the validator's key", elsewhere: "Set ASSAY_HOME to", randomBytes };
	const signer = await loadKeyFile({ ...key, path: join(dataDir, "validator.key") });
	const amount = 10_000n * UNIT;
	const keyNumber = Date.now();
	const keyProof = signChainKey(signer, { ...contracts.addresses, account: account.address, number: keyNumber });
	await sendCall(client, TREASURER, { to: account.address, data: "0x", value: 10n * UNIT });
	await sendCall(client, TREASURER, callOf(contracts, "token", "transfer", account.address, 2n * amount));
	await sendCall(client, account, approveCall(contracts, amount));
	const registration = { role: "validator", signingKey: `0x${signer.key}`, keyNumber, keyProof, amount } as const;
	await sendCall(client, account, registerCall(contracts, { ...registration, endpoint: "http://127.0.0.1:1" }));
	await endow(contracts, TREASURER, PAYER, 10_000n * UNIT, 0n);
	writeFileSync(contractsPath(folder, true), `${JSON.stringify(contracts.addresses)}\n`);
	return { contracts, account };
}

/** One process of the validator after the other, on one port and one folder. */
async function openPlace(o: {
	settings: StartValidator["settings"];
	database: number;
	databaseUrl(port: number): string;
	scratch: string;
	log: StartValidator["log"];
}) {
	const port = await freePort();
	const [api, database] = [await openLine(port), await openLine(o.database)];
	const clock = join(o.scratch, `clock-${port}`);
	const shiftClock = (ms: number) => writeFileSync(clock, String(ms));
	shiftClock(0);
	const start = () => {
		const child = startChild("./validator-process.ts", { env: { CLOCK_FILE: clock }, preload: SHIFTED_CLOCK });
		const settings = { ...o.settings, listen: { port }, databaseUrl: o.databaseUrl(database.port) };
		const told: StartValidator = { settings, plan: "small", ...(o.log && { log: o.log }) };
		const begun = { child, started: child.ask("start", told) };
		// It refuses to start while its node is of another chain, and says so. Whatever runs it starts it again.
		begun.started.catch(async () => {
			await sleep(START_AGAIN_MS);
			if (now !== begun || isDown) return;
			child.kill("SIGKILL");
			now = start();
		});
		return begun;
	};
	/** Killed on purpose, and not started again yet. */
	let isDown = false;
	let now = start();
	const place = {
		...{ api, database, shiftClock, url: `http://127.0.0.1:${api.port}` },
		async ready(): Promise<void> {
			for (let left = MAX_STARTS; ; left--) {
				try {
					await now.started;
					return;
				} catch (error) {
					if (left === 0) throw error;
					await sleep(START_AGAIN_MS);
				}
			}
		},
		usage: () => now.child.ask<Usage>("usage"),
		async kill(restartMs: number): Promise<void> {
			isDown = true;
			now.child.kill("SIGKILL");
			await now.child.ended;
			await sleep(restartMs);
			isDown = false;
			now = start();
		},
		async freeze(ms: number): Promise<void> {
			const { child } = now;
			child.kill("SIGSTOP");
			await sleep(ms);
			child.kill("SIGCONT");
		},
		/** No file may grow beyond this: as a disk without room. */
		limitFiles: (bytes: string) =>
			execFileSync("prlimit", ["--pid", String(now.child.pid), `--fsize=${bytes}:`], { stdio: "ignore" }),
		async close(): Promise<void> {
			isDown = true;
			now.child.kill("SIGKILL");
			await now.child.ended;
			await api.close();
			await database.close();
		},
	};
	return place;
}
type Place = Awaited<ReturnType<typeof openPlace>>;

const hostAccount = (n: number): ChainAccount => accountOf(`0x${(0xd0 + n).toString(16).repeat(32)}`);

async function openHost(
	n: number,
	url: string,
	scratch: string,
	contracts: Contracts,
	rpcUrl: string,
	confirmations: number,
) {
	const line = await openLine(Number(new URL(url).port));
	const account = hostAccount(n);
	const signer = signerOf(200 + n);
	const troubles: string[] = [];
	const rpc = withRetries(httpRpc(rpcUrl, { withinMs: 10_000 }), { patienceMs: 60_000 });
	const own = { client: await createChainClient(rpc, { confirmations, pollMs: 300 }), addresses: contracts.addresses };
	const provider: Provider = await openRealProvider({
		...{ url: `http://127.0.0.1:${line.port}`, signer, dataFolder: join(scratch, `provider-${n}`) },
		chain: { contracts: own, account },
		startEngine: async ({ storePath }) => ({
			...{ open: toyOpener(storePath), device: 0, allow() {}, close: async () => {} },
		}),
		onEvent: (event) => {
			if (event.kind === "trouble") troubles.push(`${event.code}: ${event.detail}`);
			if (process.env.ASSAY_TEST_NEWS) console.log(n, JSON.stringify(event).slice(0, 300));
		},
	});
	return { line, account, id: signer.key, provider, troubles };
}

export async function openFaultNetwork(o: NetworkOptions) {
	const scratch = mkdtempSync(join(tmpdir(), "assay-faults-"));
	const dataDir = join(scratch, "validator");
	mkdirSync(dataDir);
	const nowS = Math.floor(Date.now() / 1000);
	const net = await openChaosNode(nowS);
	const closing: (() => unknown)[] = [() => rmSync(scratch, { recursive: true, force: true }), () => net.close()];
	const close = async () => {
		for (const one of closing.splice(0).reverse()) await one();
	};
	try {
		const client = await createChainClient(net.rpc, { confirmations: 1, pollMs: 20 });
		const { contracts, account } = await settle(client, dataDir, nowS - 60);
		const bad = await openBadNode(net.rpc, o.draw);
		closing.push(() => bad.close());
		const folder = join(scratch, "postgres");
		await copyCluster(folder, { durable: false });
		const server = await ensureEmbeddedServer({ folder });
		closing.push(() => stopEmbeddedServer(folder));
		const settings: StartValidator["settings"] = {
			...{ dataDir, params: PARAMS, probes: true, leaseMs: LEASE_MS, verifierThreads: 0, dispatchEveryMs: 500 },
			...{ recoverEveryMs: 2000, jobs: { isLoopbackApart: true }, rollCalls: { isOn: false } },
			chain: { rpcUrl: bad.url, publicRpcUrl: bad.url, confirmations: o.confirmations },
			api: { limits: { readsPerS: 10_000, writesPerS: 10_000 } },
		};
		const databaseUrl = (port: number) => urlOf({ ...server, port });
		const places: Place[] = [];
		for (let i = 0; i < o.validators; i++) {
			const place = await openPlace({ settings, database: server.port, databaseUrl, scratch, log: o.log });
			closing.push(() => place.close());
			places.push(place);
		}
		for (const place of places) await place.ready();
		const sql = new pg.Client({ connectionString: databaseUrl(server.port), options: "-c search_path=assay,public" });
		await sql.connect();
		closing.push(() => sql.end());
		const url = (i: number) => places[i % places.length]!.url;
		const stopping = new AbortController();
		closing.push(() => stopping.abort());
		const probed = Array.from({ length: PROBED }, (_, number) => simulatedSigner(number).key);
		const hosts = Array.from({ length: HOSTS }, (_, n) => signerOf(200 + n).key);
		const store = await openStore({ dataDir, databaseUrl: databaseUrl(server.port), keepServer: true });
		const proving = proveHosts(sql, store, hosts);
		proving.catch(() => {});
		const turn = createSemaphore(1);
		for (const number of probed.keys())
			void runSimulatedProvider({
				...{ number, kind: kindNamed("honest"), url: url(number), turn, dialling: turn, signal: stopping.signal },
			});
		await endow(contracts, TREASURER, SENDER, 1000n * UNIT, 0n);
		for (let n = 0; n < HOSTS; n++) await endow(contracts, TREASURER, hostAccount(n), 0n, 1000n * UNIT);
		net.startMining();
		const opening = Array.from({ length: HOSTS }, (_, n) =>
			openHost(n, url(n), scratch, contracts, bad.url, o.confirmations),
		);
		closing.push(async () => {
			for (const host of await Promise.allSettled(opening)) {
				if (host.status === "rejected") continue;
				await host.value.provider.stop().catch(() => {});
				await host.value.line.close();
			}
		});
		const parties = await Promise.all(opening);
		await proving;
		writeFileSync(join(scratch, "payer.key"), "c1".repeat(32));
		writeFileSync(join(scratch, "sender.key"), "5e".repeat(32));
		writeFileSync(join(scratch, "contracts.json"), JSON.stringify(contracts.addresses));
		writeFileSync(join(scratch, "life.json"), JSON.stringify(JOB));
		return {
			...{ net, bad, places, hosts: parties, sql, contracts, account, payer: PAYER, scratch, close },
			/** As somebody types it; the API is that of place `at`. Whoever pays is not who sends. */
			async type(at: number, ...args: string[]): Promise<{ readonly code: number; readonly said: string }> {
				let said = "";
				const stream = { isTTY: false, write: (text: string) => (said += text) } as unknown as NodeJS.WriteStream;
				const env = { ASSAY_HOME: join(scratch, "home"), ASSAY_RPC: bad.url, NO_COLOR: "1" };
				const io = { out: stream, err: stream, env, cwd: scratch, interrupted: stopping.signal };
				const where = args[0] === "job" ? ["--api", url(at), "--key-file", "payer.key"] : ["--key-file", "sender.key"];
				const chain = ["--contracts", "contracts.json", "--confirmations", String(o.confirmations)];
				return { code: await runCommand([...args, ...where, ...chain], io), said };
			},
		};
	} catch (error) {
		await close();
		throw error;
	}
}

/**
 * Hosts of jobs are proven by hand, with figures that make a toy job cost something, and nobody else may
 * probe them: their leases are the test's.
 */
async function proveHosts(sql: pg.Client, store: Store, hosts: readonly string[]): Promise<void> {
	const keep = () =>
		sql.query(
			`INSERT INTO leases (name, holder, expires_at) SELECT 'provider/' || id, $1, clock_timestamp() + interval '50 minutes' FROM unnest($2::text[]) id
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at`,
			[store.process, hosts],
		);
	await keep();
	// Whoever gives one back does not.
	await sql.query(`
		CREATE FUNCTION stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
		CREATE TRIGGER stays BEFORE DELETE ON leases FOR EACH ROW
			WHEN (OLD.holder = '${store.process}' AND OLD.name LIKE 'provider/%') EXECUTE FUNCTION stays()`);
	const seen = async () =>
		Number(
			(await sql.query("SELECT count(*) FROM providers WHERE connected_to IS NOT NULL AND id = ANY ($1)", [hosts]))
				.rows[0].count,
		);
	while ((await seen()) < hosts.length) await sleep(100);
	for (const id of hosts) await prove(store, id);
	// It gives back what it holds.
	await store.close();
	await keep();
}
