// `assay chain`: what the chain says of this network, and putting the contracts on another chain. Not here: running an embedded chain (`assay up`).
import { randomBytes } from "node:crypto";
import type { ChainHome } from "../validator/service/chain-home.ts";
import { chainOptions, dataDirOf, formatTokens, rpcUrlOf, toJson, withChain } from "./chain-connection.ts";
import type { Command, Surroundings } from "./command.ts";
import { numberOption, parseOptions, usageError } from "./parse-options.ts";
import { type Column, table } from "./table.ts";
import { paintFor } from "./verdict-table.ts";

interface EpochLine {
	readonly epoch: number;
	readonly endsAt: number;
	readonly reports: number;
	readonly state: string;
	readonly pot: bigint;
	readonly paid: bigint;
}

const columns: readonly Column<EpochLine>[] = [
	{ title: "epoch", right: true, cell: ({ epoch }) => String(epoch) },
	{ title: "ended", cell: ({ endsAt }) => new Date(endsAt * 1000).toISOString().slice(0, 16).replace("T", " ") },
	{ title: "reports", right: true, cell: ({ reports }) => String(reports) },
	{ title: "weights", cell: ({ state }) => state },
	{ title: "pays", right: true, cell: ({ pot }) => formatTokens(pot) },
	{ title: "claimed", right: true, cell: ({ paid }) => formatTokens(paid) },
];

const options = {
	...chainOptions.options,
	epochs: { type: "string", default: "5" },
	"epoch-seconds": { type: "string", default: "4320" },
	fund: { type: "string", default: "100000000" },
} as const;

export const chainCommand: Command = {
	name: "chain",
	summary: "the chain: status of epochs and stakes, deployment of the contracts",
	help: `usage: assay chain status [OPTIONS]
       assay chain deploy --rpc URL [OPTIONS]

status shows the chain, this validator's account and stake on it, and the last epochs. deploy puts a token and the contracts on a chain, paid by this
data folder's account (chain/account.key, made on first use), and writes their addresses to chain/contracts-external.json. docs/chain.md.

  --epochs N        epochs to show (default 5)
  --epoch-seconds N deploy: how long an epoch is (default 4320); each of its four windows is a tenth of it
  --fund TOKENS     deploy: put aside for rewards (default 100000000, a tenth of the supply)
${chainOptions.help}

exit codes: done 0, usage 64, no chain or no answer 69`,

	async run(args, here) {
		const { values, positionals } = parseOptions("chain", args, options, { min: 1, max: 1 });
		if (positionals[0] === "deploy") return deploy(values, here);
		if (positionals[0] !== "status") throw usageError(`chain takes status or deploy, not '${positionals[0]}'`, "chain");
		const count = Math.floor(numberOption("chain", "epochs", values.epochs, 1, 100));
		return withChain("chain", values, here, async (home) => {
			const found = await readStatus(home, count);
			if (values.json) here.out.write(toJson(found));
			else {
				const { account, stake, unbonding, balance } = found.validator;
				const paint = paintFor(here.out, here.env);
				const lines = [
					`chain      ${found.chainId}, block ${found.block}, ${found.url}`,
					`contracts  registry ${found.contracts.registry}`,
					`           scoreboard ${found.contracts.scoreboard}`,
					`           rewards ${found.contracts.rewards}, ${formatTokens(found.reserve)} in reserve`,
					`account    ${account}, ${formatTokens(balance)} tokens`,
					`stake      ${formatTokens(stake)}${unbonding > 0n ? `, ${formatTokens(unbonding)} on its way out` : ""}`,
					`epoch      ${found.epoch} now`,
				];
				here.out.write(`${lines.join("\n")}\n\n${table(columns, found.epochs, paint)}\n`);
			}
			return 0;
		});
	},
};

async function readStatus({ client, at, account, url }: ChainHome, count: number) {
	const [registry, rewards, board] = await Promise.all([
		import("../chain/registry.ts"),
		import("../chain/rewards.ts"),
		import("../chain/scoreboard.ts"),
	]);
	const params = await board.readEpochParams(client, at);
	const head = await client.viem.getBlock();
	const nowS = Math.max(Number(head.timestamp), Math.floor(Date.now() / 1000));
	const epoch = Math.max(0, Math.floor((nowS - params.genesis) / params.epochSeconds));
	const epochs: EpochLine[] = [];
	for (let one = epoch - 1; one >= 0 && epochs.length < count; one--) {
		const { digest, finalAt } = await board.readProposal(client, at, one);
		const revealed = await board.readRevealed(client, at, one);
		const { pot, paid } = await rewards.readPot(client, at, one);
		const { endsAt, proposesAt } = board.windowsOf(params, one);
		const pending = nowS < proposesAt ? "being reported" : "none";
		const state = digest === null ? pending : nowS >= finalAt ? "final" : "proposed";
		epochs.push({ epoch: one, endsAt, reports: revealed.filter(({ voided }) => !voided).length, state, pot, paid });
	}
	const { stake, unbonding, unlockAt } = await registry.readAccount(client, at, account.address);
	const balance = await registry.readBalance(client, at, account.address);
	return {
		chainId: client.chainId,
		url,
		block: Number(head.number),
		contracts: at,
		params,
		reserve: await rewards.readReserve(client, at),
		validator: { account: account.address, stake, unbonding, unlockAt, balance },
		epoch,
		epochs,
	};
}

async function deploy(
	values: { rpc?: string | undefined; "epoch-seconds": string; fund: string; json: boolean; data?: string | undefined },
	here: Surroundings,
): Promise<number> {
	const rpcUrl = rpcUrlOf(values, here);
	if (rpcUrl === null)
		throw usageError("deploy needs --rpc: an embedded chain has its contracts from its first start", "chain");
	const epochSeconds = Math.floor(numberOption("chain", "epoch-seconds", values["epoch-seconds"], 40, 31_536_000));
	const fund = BigInt(Math.floor(numberOption("chain", "fund", values.fund, 0, 1e9))) * 10n ** 18n;
	const [{ accountOf, createChainClient }, deploying, { httpRpc, withRetries }, files, home] = await Promise.all([
		import("../chain/chain-client.ts"),
		import("../chain/deploy.ts"),
		import("../chain/rpc.ts"),
		import("../validator/service/chain-files.ts"),
		import("../validator/service/chain-home.ts"),
	]);
	const folder = home.chainFolder(dataDirOf(values, here));
	const secret = await files.loadSecret(`${folder}/account.key`, (size) => new Uint8Array(randomBytes(size)));
	const account = accountOf(`0x${Buffer.from(secret).toString("hex")}`);
	const client = await createChainClient(withRetries(httpRpc(rpcUrl), { patienceMs: 30_000 }), { confirmations: 1 });
	here.err.write(`deploying from ${account.address} on chain ${client.chainId}\n`);
	const genesis = Number((await client.viem.getBlock()).timestamp);
	const at = await deploying.deployContracts(client, account, deploying.deployDefaults({ genesis, epochSeconds }));
	if (fund > 0n) await deploying.fundRewards(client, account, at, fund);
	await files.writeWhole(home.contractsPath(folder, true), `${JSON.stringify(at)}\n`);
	here.out.write(
		values.json
			? toJson(at)
			: `${Object.entries(at)
					.map(([name, value]) => `${name.padEnd(16)} ${value}`)
					.join("\n")}\n`,
	);
	return 0;
}
