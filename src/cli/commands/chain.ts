// `assay chain`: what the chain says of this network, of this validator and of this provider; contracts on
// another chain, tokens, devices. Each verb but status has a file. Not here: running an embedded chain
// (`assay up`).

import { type Contracts, read } from "../../chain/contracts/contracts.ts";
import { ROLES, readAccount, readAccountFor, readDevicesOf } from "../../chain/contracts/registry.ts";
import {
	type EpochParams,
	readEpochParams,
	readHead,
	readPosted,
	readSeats,
	readStated,
	windowsOf,
} from "../../chain/contracts/scoreboard.ts";
import { withoutLogin } from "../../protocol/network/without-login.ts";
import type { ChainHome } from "../../validator/settlement/home.ts";
import { withChain } from "../chain/chain-connection.ts";
import { withProviderChain } from "../chain/provider-chain.ts";
import { type CliIo, command } from "../command.ts";
import { printResult } from "../print/print-result.ts";
import { type Column, left, right, shown, table } from "../print/table.ts";
import { formatTokens } from "../print/tokens.ts";
import { allow, consent, disallow, setPayout, setSigner } from "./chain/chain-account.ts";
import { demand, expire } from "./chain/chain-demand.ts";
import { deploy } from "./chain/chain-deploy.ts";
import { bindDevices, byKey, releaseDevices } from "./chain/chain-devices.ts";
import { repair } from "./chain/chain-repair.ts";
import { send, setEndpoint } from "./chain/chain-send.ts";
import { type ChainCommandValues, options } from "./chain/options.ts";

interface EpochLine {
	readonly epoch: number;
	readonly endsAt: number;
	readonly reports: number;
	readonly state: "being reported" | "to be signed" | "posted" | "final" | "none";
	/** By all, in the epoch; 0 without weights. */
	readonly earned: bigint;
}

const columns: readonly Column<EpochLine>[] = [
	right("epoch", ({ epoch }) => String(epoch)),
	left("ended", ({ endsAt }) => new Date(endsAt * 1000).toISOString().slice(0, 16).replace("T", " ")),
	right("reports", ({ reports }) => String(reports)),
	left("weights", ({ state }) => state),
	right("earned", ({ earned }) => formatTokens(earned)),
];

export const chainCommand = command({
	name: "chain",
	about: "bind and release always act for this machine's provider; --data is then its folder. Page: docs/chain.md.",
	options,
	exits: { 69: "no chain, no answer or refused", 75: "a device belongs to another provider" },
	verbs: {
		status: {
			does: "the chain, this validator's account and stake, the last epochs; with --provider the provider's account, stake and devices",
			run: (values, io) => (values.provider ? providerStatus(values, io) : status(values, io)),
		},
		deploy: {
			needs: "--rpc URL",
			does: "deploy a token and the contracts; their addresses go to chain/contracts-external.json in the data folder",
			run: deploy,
		},
		send: {
			takes: "ACCOUNT TOKENS",
			does: "send tokens (with --coins also gas); on the embedded chain they come from its treasury",
			run: send,
		},
		endpoint: { takes: "URL", does: "publish where others reach this validator", run: setEndpoint },
		allow: {
			takes: "CONTRACT",
			does: "let a contract take of the account's stake, by its address or as slashing or roll-call; with --provider the provider's",
			run: allow,
		},
		disallow: {
			takes: "CONTRACT",
			does: "no longer let it; it can for as long as unstaking takes",
			run: disallow,
		},
		signer: {
			needs: "--owner-key FILE",
			does: "let this data folder's key sign for the owner's account, in place of the key before",
			run: setSigner,
		},
		consent: {
			takes: "OWNER",
			does: "print this key's consent to sign for an owner's account, for one that registers by a wallet",
			run: consent,
		},
		payout: { takes: "ACCOUNT", does: "where rewards of the account go", run: setPayout },
		bind: {
			needs: "--validator URL",
			does: "fetch a validator's statements on this provider's GPUs and bind the GPUs to this provider on chain",
			run: bindDevices,
		},
		demand: {
			takes: "CALL PROVIDER",
			needs: "--validator URL",
			does: "demand, with a deposit, that a provider opens its answer to a roll call; page: docs/chain.md §3",
			run: demand,
		},
		expire: {
			does: "end this account's demands that nobody answered, which cuts the stake of who withheld; be paid deposits",
			run: expire,
		},
		release: { does: "give up devices that are bound to this provider", run: releaseDevices },
		repair: {
			does: "take the embedded chain back to the last good block of its journal, if blocks are damaged or in the future; the rest is kept in a file",
			run: repair,
		},
	},
});

async function status(values: ChainCommandValues, io: CliIo): Promise<number> {
	return withChain(values, io, async (home) => {
		const found = await readStatus(home, values.epochs);
		return printResult(values, io, found, (paint) => {
			const { account, stake, unbonding, balance, coins, endpoint } = found.validator;
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
			return `${lines.join("\n")}\n\n${table(columns, found.epochs, paint)}\n`;
		});
	});
}

const leaving = (unbonding: bigint): string => (unbonding > 0n ? `, ${formatTokens(unbonding)} being unstaked` : "");

async function providerStatus(values: ChainCommandValues, io: CliIo): Promise<number> {
	return withProviderChain(values, io, async ({ contracts, account, url }, signer, folder) => {
		const { client, addresses } = contracts;
		const owner = await readAccountFor(contracts, account.address);
		const isOwner = owner === account.address.toLowerCase();
		const address = isOwner ? account.address : owner;
		const { role, stake, unbonding, locked, unlockAt, payout, signingKey } = await readAccount(contracts, address);
		const isRegistered = role === ROLES.provider && signingKey === `0x${signer.key}`;
		const [tokens, wei, devices] = [
			await read(contracts, "token", "balanceOf", address),
			await client.viem.getBalance({ address }),
			await readDevicesOf(contracts, address),
		];
		const who = { provider: signer.key, account: address, signer: account.address, payout, isRegistered };
		const found = { chainId: client.chainId, url: withoutLogin(url), contracts: addresses, ...who };
		return printResult(values, io, { ...found, stake, unbonding, locked, unlockAt, tokens, wei, devices }, () => {
			const lines = [
				`chain      ${client.chainId}, ${found.url}`,
				`provider   ${signer.key}, in ${folder}`,
				`account    ${address}, ${formatTokens(tokens)} tokens, ${formatTokens(wei)} coins for gas`,
				...(isOwner ? [] : [`signer     ${account.address}, this folder's key`]),
				...(isRegistered && payout.toLowerCase() !== owner ? [`payout     ${payout}`] : []),
				isRegistered
					? `stake      ${formatTokens(stake)}${leaving(unbonding)}${locked > 0n ? `, ${formatTokens(locked)} locked` : ""}`
					: "stake      none: not registered; register with assay stake TOKENS --provider",
				...devices.map(
					({ device, schema, until }) =>
						`device     ${device}${byKey(schema)}, until ${new Date(until * 1000).toISOString()}`,
				),
			];
			return `${lines.join("\n")}\n`;
		});
	});
}

async function readStatus({ contracts, account, url }: ChainHome, count: number) {
	const { client, addresses } = contracts;
	const params = await readEpochParams(contracts);
	const head = await client.viem.getBlock();
	const nowS = Math.max(Number(head.timestamp), Math.floor(Date.now() / 1000));
	const epoch = Math.max(0, Math.floor((nowS - params.genesis) / params.epochSeconds));
	const epochs: EpochLine[] = [];
	for (let one = epoch - 1; one >= 0 && epochs.length < count; one--)
		epochs.push(await readEpochLine(contracts, params, one, nowS));
	const newest = await readHead(contracts);
	const earned = newest === null ? 0n : ((await readPosted(contracts, newest))?.total ?? 0n);
	const owner = await readAccountFor(contracts, account.address);
	const { stake, unbonding, unlockAt, endpoint } = await readAccount(contracts, owner);
	const balance = await read(contracts, "token", "balanceOf", account.address);
	const coins = await client.viem.getBalance({ address: account.address });
	return {
		chainId: client.chainId,
		url: withoutLogin(url),
		block: Number(head.number),
		contracts: addresses,
		params,
		reserve: (await read(contracts, "rewards", "fundedAt", BigInt(nowS))) - earned,
		earned,
		claimed: await read(contracts, "rewards", "claimedTotal"),
		validator: { account: account.address, owner, stake, unbonding, unlockAt, balance, coins, endpoint },
		epoch,
		epochs,
	};
}

async function readEpochLine(
	contracts: Contracts,
	params: EpochParams,
	epoch: number,
	nowS: number,
): Promise<EpochLine> {
	const { endsAt, signsAt, signsUntil } = windowsOf(params, epoch);
	const posted = await readPosted(contracts, epoch);
	const earned = posted === null ? 0n : ((await readStated(contracts, epoch, posted.id))?.weights.paid ?? 0n);
	const reports = (await readSeats(contracts, epoch)).length;
	const pending = nowS < signsAt ? "being reported" : nowS < signsUntil ? "to be signed" : "none";
	const state = posted === null ? pending : nowS >= posted.finalAt ? "final" : "posted";
	return { epoch, endsAt, reports, state, earned };
}
