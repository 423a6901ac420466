// The stage of job-stage.test-kit.ts on a chain that is not ours: hardhat as a node of its own, contracts
// deployed and a validator staked by the commands of docs/chain.md. A block comes every second.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createApiClient } from "../../src/api/create-client.ts";
import type { Contracts } from "../../src/chain/contracts/contracts.ts";
import { createChainClient } from "../../src/chain/node/chain-client.ts";
import { httpRpc } from "../../src/chain/node/http-rpc.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { packageRoot } from "../../src/engine/builds.ts";
import type { ParamOverrides } from "../../src/market/params.ts";
import type { ValidatorSettings } from "../../src/validator/validator-config.ts";
import { startToyValidator } from "../validator/toy-agent.test-kit.ts";
import { CUSTOMER, PAYER, QUICK, type Stage } from "./job-stage.test-kit.ts";
import { endow } from "./toy-worker.test-kit.ts";

/** The first account of every node for development; its key is public. */
const DEV_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const UNIT = 10n ** 18n;

async function startNode() {
	const hardhat = join(packageRoot(), "node_modules", ".bin", "hardhat");
	const args = ["--config", "tests/cli/bare-node.config.ts", "node", "--hostname", "127.0.0.1", "--port", "0"];
	const node = spawn(hardhat, args, { cwd: packageRoot(), stdio: ["ignore", "pipe", "inherit"] });
	const url = await new Promise<string>((resolve, reject) => {
		node.once("exit", (code) => reject(new Error(`the node ended with ${code}`)));
		createInterface({ input: node.stdout }).on("line", (line) => {
			const found = /(http:\/\/127\.0\.0\.1:\d+)/.exec(line);
			if (found !== null) resolve(found[1]!);
		});
	});
	node.removeAllListeners("exit");
	const rpc = httpRpc(url);
	const mining = setInterval(() => void rpc("evm_mine", []).catch(() => {}), 1000);
	return {
		url,
		async stop() {
			clearInterval(mining);
			const ended = new Promise((resolve) => node.once("exit", resolve));
			node.kill("SIGKILL");
			await ended;
		},
	};
}

type Done = (...args: string[]) => Promise<string>;

/** As somebody types it; throws what it says when it fails. */
const commands =
	(home: string, rpcUrl: string): Done =>
	async (...args) => {
		let said = "";
		const stream = { isTTY: false, write: (text: string) => (said += text) } as unknown as NodeJS.WriteStream;
		const env = { ASSAY_HOME: home, ASSAY_RPC: rpcUrl, NO_COLOR: "1" };
		const interrupted = new AbortController().signal;
		const out = { isTTY: false, written: "", write: (text: string) => (out.written += text) };
		const code = await runCommand(args, { out: out as never, err: stream, env, cwd: home, interrupted });
		if (code !== 0) throw new Error(`${args.join(" ")}: ${said}${out.written}`);
		return out.written;
	};

/** Workers are none: `openRealProvider` joins them. */
export async function openExternalStage(o: {
	readonly params?: ParamOverrides;
	readonly settings?: Partial<ValidatorSettings>;
}): Promise<Omit<Stage, "worker">> {
	const home = mkdtempSync(join(tmpdir(), "assay-external-jobs-"));
	const data = { path: join(home, "network") };
	const node = await startNode();
	const done = commands(home, node.url);
	writeFileSync(join(home, "dev.key"), `${DEV_KEY}\n`);
	await done("chain", "deploy", "--key-file", "dev.key");
	const { validator: own } = JSON.parse(await done("chain", "status", "--json"));
	await done("chain", "send", own.account, "20000", "--coins", "10", "--key-file", "dev.key");
	await done("stake", "10000", "--endpoint", "http://127.0.0.1:1");
	const validator = await startToyValidator({
		...{ dataDir: data.path, probes: false, params: { ...QUICK, ...o.params }, jobs: { isLoopbackApart: true } },
		...{ chain: { rpcUrl: node.url, confirmations: 2 }, rollCalls: { isOn: false } },
		...o.settings,
	});
	const client = await createChainClient(httpRpc(node.url), { confirmations: 1, pollMs: 20 });
	const addresses = JSON.parse(readFileSync(join(data.path, "chain", "contracts-external.json"), "utf8"));
	const contracts: Contracts = { client, addresses };
	const treasurer = accountOf(DEV_KEY);
	await endow(contracts, treasurer, PAYER, 10_000n * UNIT, 0n);
	return {
		...{ validator, data, chain: { contracts, treasurer } },
		customer: createApiClient({ baseUrl: validator.url, signer: CUSTOMER }),
		async close() {
			await validator.stop();
			await node.stop();
			rmSync(home, { recursive: true, force: true });
		},
	};
}
