// The contracts on an embedded chain with a clock of its own, validators of equal stake (three unless told)
// and one provider: for tests that send real transactions. Through src/chain, so that what is measured here
// is what a validator pays. And a chain without any of it, for tests of one contract.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hex } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { type ContractAddresses, type Contracts, callOf } from "../../src/chain/contracts/contracts.ts";
import { deployContracts, fundRewards } from "../../src/chain/contracts/deploy.ts";
import { IGNITION, type ZkPowers } from "../../src/chain/contracts/deploy-zk.ts";
import { approveCall, registerCall } from "../../src/chain/contracts/registry.ts";
import { createChainClient } from "../../src/chain/node/chain-client.ts";
import { openEmbeddedChain } from "../../src/chain/node/embedded-chain.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf, type Call } from "../../src/chain/sending/sign.ts";
import { copyDeployed } from "./deployed-chain.test-kit.ts";

export const UNIT = 10n ** 18n;
export const STAKE = 3000n * UNIT;
const GENESIS_S = 1_800_000_000;
export const CHAIN_ID = 7373;
/** Has all tokens and coins at first. */
export const TREASURER = accountOf(`0x${"11".repeat(32)}`);
const EPOCH_S = 4320;
const WINDOW_S = 432;

export interface TestNetwork {
	readonly contracts: Contracts;
	readonly validators: readonly PrivateKeyAccount[];
	readonly provider: PrivateKeyAccount;
	/** Has all other tokens. */
	readonly treasurer: PrivateKeyAccount;
	/** Gas of the transaction. */
	send(from: PrivateKeyAccount, call: Call): Promise<number>;
	/**
	 * To the moment `windows` windows after the end of the epoch: 0 commit, 1 reveal, 2 sign, 3 too late for
	 * all of it.
	 */
	goTo(epoch: number, windows: number): void;
	wait(seconds: number): void;
	close(): Promise<void>;
}

const hex2 = (n: number) => n.toString(16).padStart(2, "0");

interface BareOptions {
	readonly chainId?: number;
	readonly nowMs?: () => number;
	readonly hardfork?: "Prague";
}

async function openChainIn(
	folder: string,
	{ chainId = CHAIN_ID, nowMs = () => 1000 * GENESIS_S, ...rules }: BareOptions = {},
) {
	const chain = await openEmbeddedChain({
		...{ folder, nowMs },
		genesis: { chainId, timestamp: GENESIS_S, treasurer: TREASURER.address.toLowerCase(), ...rules },
	});
	const client = await createChainClient(chain.rpc, { confirmations: 1, pollMs: 1 });
	return { client, close: () => chain.close() };
}

const newFolder = (): string => mkdtempSync(join(tmpdir(), "assay-contracts-"));

/** Its clock stands still, unless `nowMs` is another one. */
export async function openBareChain(options?: BareOptions) {
	const folder = newFolder();
	const { client, close } = await openChainIn(folder, options);
	return {
		client,
		send: (call: Call) => sendCall(client, TREASURER, call),
		/** The address of a contract that is created by this. */
		put: async (data: Hex): Promise<Hex> => (await sendCall(client, TREASURER, { to: null, data })).contractAddress!,
		async close(): Promise<void> {
			await close();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}
export type BareChain = Awaited<ReturnType<typeof openBareChain>>;

/** The older rules, which other chains may still have; networks that are tested as a whole have Osaka's. */
const RULES = { hardfork: "Prague" } as const;

const validatorsOf = (count: number): PrivateKeyAccount[] =>
	Array.from({ length: count }, (_, n) => accountOf(`0x${"a1".repeat(31)}${hex2(n)}`));
const PROVIDER = accountOf(`0x${"b0".repeat(32)}`);

/** Makes the chain of such a network in a folder. */
async function deployNetwork(folder: string, count: number, powers: ZkPowers): Promise<ContractAddresses> {
	const { client, close } = await openChainIn(folder, RULES);
	try {
		const schedule = { genesis: GENESIS_S, epochSeconds: EPOCH_S, windowSeconds: WINDOW_S, rollCalls: { every: 2 } };
		const contracts = await deployContracts(client, TREASURER, schedule, powers);
		await fundRewards(contracts, TREASURER, 1_000_000n * UNIT);
		for (const account of [...validatorsOf(count), PROVIDER]) {
			await sendCall(client, TREASURER, { to: account.address, data: "0x", value: 10n ** 21n });
			await sendCall(client, TREASURER, callOf(contracts, "token", "transfer", account.address, STAKE));
			await sendCall(client, account, approveCall(contracts, STAKE));
			const role = account === PROVIDER ? "provider" : "validator";
			const signingKey = `0x${account.address.slice(2).toLowerCase().padStart(64, "0")}` as const;
			await sendCall(
				client,
				account,
				registerCall(contracts, { role, signingKey, keyProof: "0x", endpoint: "https://host.example", amount: STAKE }),
			);
		}
		return contracts.addresses;
	} finally {
		await close();
	}
}

/** `powers`: of tau, where a test proves over others than a ceremony's. */
export async function openTestNetwork(count = 3, powers: ZkPowers = IGNITION): Promise<TestNetwork> {
	const folder = newFolder();
	const addresses = await copyDeployed(folder, { count, powers }, (draft) => deployNetwork(draft, count, powers));
	let nowMs = GENESIS_S * 1000;
	const { client, close } = await openChainIn(folder, { nowMs: () => nowMs, ...RULES });
	const contracts = { client, addresses };
	return {
		contracts,
		validators: validatorsOf(count),
		provider: PROVIDER,
		treasurer: TREASURER,
		send: async (from, call) => Number((await sendCall(client, from, call)).gasUsed),
		goTo(epoch, windows) {
			nowMs = 1000 * (GENESIS_S + (epoch + 1) * EPOCH_S + windows * WINDOW_S);
		},
		wait(seconds) {
			nowMs += 1000 * seconds;
		},
		async close(): Promise<void> {
			await close();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}
