// `assay chain`: what the chain says of this network, of this validator and of this provider; contracts on another chain, tokens, devices. Each subcommand has a file.
// Not here: running an embedded chain (`assay up`).
import type { ChainHome } from "../../validator/settlement/chain-home.ts";
import { chainOptions, formatTokens, toJson, withChain } from "../chain/chain-connection.ts";
import { keyOptions } from "../chain/chain-key.ts";
import { providerOptions, withProviderChain } from "../chain/provider-chain.ts";
import type { CliIo, Command } from "../command.ts";
import { numberOption, parseOptions, usageError } from "../parse-options.ts";
import { type Column, shown, table } from "../print/table.ts";
import { paintFor } from "../print/verdict-table.ts";

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
	...providerOptions.options,
	...keyOptions.options,
	epochs: { type: "string", default: "5" },
	"epoch-seconds": { type: "string", default: "4320" },
	fund: { type: "string", default: "100000000" },
	coins: { type: "string" },
	validator: { type: "string" },
	device: { type: "string", multiple: true },
} as const;

type Values = ReturnType<typeof parseOptions<typeof options>>["values"];

/** By name, with how many arguments follow it. */
const SUBCOMMANDS: Readonly<
	Record<string, { readonly takes: number; run(values: Values, io: CliIo, rest: string[]): Promise<number> }>
> = {
	status: { takes: 0, run: (values, io) => (values.provider ? providerStatus(values, io) : status(values, io)) },
	deploy: { takes: 0, run: async (values, io) => (await import("./chain/chain-deploy.ts")).deploy(values, io) },
	send: {
		takes: 2,
		run: async (values, io, [to, tokens]) => (await import("./chain/chain-send.ts")).send(to!, tokens!, values, io),
	},
	endpoint: {
		takes: 1,
		run: async (values, io, [url]) => (await import("./chain/chain-send.ts")).setEndpoint(url!, values, io),
	},
	bind: { takes: 0, run: async (values, io) => (await import("./chain/chain-devices.ts")).bindDevices(values, io) },
	release: {
		takes: 0,
		run: async (values, io) => (await import("./chain/chain-devices.ts")).releaseDevices(values, io),
	},
};

export const chainCommand: Command = {
	name: "chain",
	summary: "the chain: status of epochs and stakes, deployment of the contracts, tokens, devices",
	help: `usage: assay chain status [OPTIONS]
       assay chain deploy --rpc URL [OPTIONS]
       assay chain send ACCOUNT TOKENS [OPTIONS]
       assay chain endpoint URL [OPTIONS]
       assay chain bind --validator URL [OPTIONS]
       assay chain release [OPTIONS]

status shows the chain, this validator's account and stake on it, and the last epochs; with --provider this provider's account, stake and devices.
deploy puts a token and the contracts on a chain and writes their addresses to chain/contracts-external.json of the data folder. send gives an account tokens
(and with --coins gas), on the embedded chain from its treasury. endpoint says where others reach this validator. bind takes what a validator attests of this
provider's GPUs and makes them this provider's on chain; release gives them up; both are
always the provider's, --data its folder. docs/chain.md.

  --epochs N        status: epochs to show (default 5)
  --epoch-seconds N deploy: how long an epoch is (default 4320); each of its four windows is a tenth of it
  --fund TOKENS     deploy: put aside for rewards (default 100000000, a tenth of the supply)
${keyOptions.help}
  --coins N         send: so much of the chain's own coin as well, for gas
  --validator URL   bind: the validator's API
  --device ID       bind, release: this device only (0x and 64 hex digits); may be given several times (default: all)
${providerOptions.help}
${chainOptions.help}

exit codes: done 0, usage 64, no chain, no answer or refused 69, a device is another provider's 75`,

	async run(args, io) {
		const { values, positionals } = parseOptions("chain", args, options, { min: 1, max: 3 });
		const [name, ...rest] = positionals as [string, ...string[]];
		const found = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name]! : null;
		if (found === null) throw usageError(`chain takes ${Object.keys(SUBCOMMANDS).join(", ")}, not '${name}'`, "chain");
		if (rest.length !== found.takes)
			throw usageError(
				`chain ${name} takes ${found.takes === 0 ? "no" : found.takes} arguments after its name`,
				"chain",
			);
		return found.run(values, io, rest);
	},
};

async function status(values: Values, io: CliIo): Promise<number> {
	const count = Math.floor(numberOption("chain", "epochs", values.epochs, 1, 100));
	return withChain("chain", values, io, async (home) => {
		const found = await readStatus(home, count);
		if (values.json) io.out.write(toJson(found));
		else {
			const { account, stake, unbonding, balance, coins, endpoint } = found.validator;
			const paint = paintFor(io.out, io.env);
			const lines = [
				`chain      ${found.chainId}, block ${found.block}, ${found.url}`,
				`contracts  registry ${found.contracts.registry}`,
				`           scoreboard ${found.contracts.scoreboard}`,
				`           rewards ${found.contracts.rewards}, ${formatTokens(found.reserve)} in reserve`,
				`account    ${account}, ${formatTokens(balance)} tokens, ${formatTokens(coins)} coins for gas`,
				`stake      ${formatTokens(stake)}${leaving(unbonding)}`,
				...(endpoint === "" ? [] : [`endpoint   ${shown(endpoint, 100)}`]),
				`epoch      ${found.epoch} now`,
			];
			io.out.write(`${lines.join("\n")}\n\n${table(columns, found.epochs, paint)}\n`);
		}
		return 0;
	});
}

const leaving = (unbonding: bigint): string => (unbonding > 0n ? `, ${formatTokens(unbonding)} on its way out` : "");

async function providerStatus(values: Values, io: CliIo): Promise<number> {
	return withProviderChain("chain", values, io, async ({ client, at, account, url }, signer, folder) => {
		const registry = await import("../../chain/contracts/registry.ts");
		const { address } = account;
		const { role, stake, unbonding, unlockAt, signingKey } = await registry.readAccount(client, at, address);
		const isRegistered = role === registry.ROLES.provider && signingKey === `0x${signer.key}`;
		const [tokens, wei, devices] = [
			await registry.readBalance(client, at, address),
			await client.viem.getBalance({ address }),
			await registry.readDevicesOf(client, at, address),
		];
		const found = { chainId: client.chainId, url, contracts: at, provider: signer.key, account: address, isRegistered };
		if (values.json) io.out.write(toJson({ ...found, stake, unbonding, unlockAt, tokens, wei, devices }));
		else {
			const lines = [
				`chain      ${client.chainId}, ${url}`,
				`provider   ${signer.key}, in ${folder}`,
				`account    ${address}, ${formatTokens(tokens)} tokens, ${formatTokens(wei)} coins for gas`,
				isRegistered
					? `stake      ${formatTokens(stake)}${leaving(unbonding)}`
					: "stake      none: not registered; assay stake TOKENS --provider registers it",
				...devices.map(({ device, until }) => `device     ${device}, until ${new Date(until * 1000).toISOString()}`),
			];
			io.out.write(`${lines.join("\n")}\n`);
		}
		return 0;
	});
}

async function readStatus({ client, at, account, url }: ChainHome, count: number) {
	const [registry, rewards, board] = await Promise.all([
		import("../../chain/contracts/registry.ts"),
		import("../../chain/contracts/rewards.ts"),
		import("../../chain/contracts/scoreboard.ts"),
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
	const { stake, unbonding, unlockAt, endpoint } = await registry.readAccount(client, at, account.address);
	const balance = await registry.readBalance(client, at, account.address);
	const coins = await client.viem.getBalance({ address: account.address });
	return {
		chainId: client.chainId,
		url,
		block: Number(head.number),
		contracts: at,
		params,
		reserve: await rewards.readReserve(client, at),
		validator: { account: account.address, stake, unbonding, unlockAt, balance, coins, endpoint },
		epoch,
		epochs,
	};
}
