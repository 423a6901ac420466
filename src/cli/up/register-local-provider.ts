// The provider of `assay up` on the embedded chain: an account of its own, registered with the minimum stake
// and funded from the chain's treasury, so that a trial network shows everything that a real one has. On any
// other chain its owner stakes; then only what is missing is printed. Safe to repeat after a crash anywhere.
import { join } from "node:path";
import { callOf, read } from "../../chain/contracts/contracts.ts";
import { ROLES, readAccount } from "../../chain/contracts/registry.ts";
import { createChainClient } from "../../chain/node/chain-client.ts";
import { httpRpc, withRetries } from "../../chain/node/http-rpc.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { loadProviderAccount } from "../../provider/chain-account.ts";
import { chainFolder, contractsPath, readContracts, treasurerOf } from "../../validator/settlement/home.ts";
import type { ChainActor } from "../chain/provider-chain.ts";
import { addStake } from "../commands/chain/stake.ts";
import { loadProviderKey, makeDataDir } from "../data-folder.ts";
import { formatTokens } from "../print/tokens.ts";

export interface LocalRegistration {
	/** "missing": on this chain its owner registers it. */
	readonly state: "registered" | "was registered" | "missing";
	readonly account: string;
	/** For the terminal. */
	readonly line: string;
}

/** Times the minimum stake of a provider, and gas for years of binding devices. */
const STAKES = 10n;
const GAS_WEI = 10n * 10n ** 18n;

export async function registerLocalProvider(options: {
	/** Of the network; its chain folder has the treasurer's key and the contracts. */
	readonly dataDir: string;
	readonly providerFolder: string;
	/** Where the chain's node answers. */
	readonly url: string;
	readonly isEmbedded: boolean;
}): Promise<LocalRegistration> {
	const { dataDir, providerFolder, url, isEmbedded } = options;
	const signer = await loadProviderKey(providerFolder);
	const account = await loadProviderAccount(providerFolder, realEnvironment().randomBytes);
	const folder = chainFolder(dataDir);
	const { address } = account;
	const registration = (state: LocalRegistration["state"], line: string) => ({ state, account: address, line });
	const addresses = await readContracts(contractsPath(folder, !isEmbedded));
	if (addresses === null) return registration("missing", "the contracts are not in the data folder");
	const client = await createChainClient(withRetries(httpRpc(url), { patienceMs: 30_000 }), {
		confirmations: 1,
		pollMs: 50,
	});
	const contracts = { client, addresses };
	const actor: ChainActor = { contracts, account, url };
	const { role, stake } = await readAccount(contracts, address);
	if (role === ROLES.provider)
		return registration("was registered", `account ${address}, ${formatTokens(stake)} staked`);
	const treasurer = await treasurerOf({ folder, isEmbedded });
	if (treasurer === null || role !== ROLES.none)
		return registration(
			"missing",
			`not registered on this chain, so it is not paid: assay stake TOKENS --provider --data ${providerFolder}`,
		);
	const { minProviderStake } = await read(contracts, "registry", "params");
	const amount = STAKES * minProviderStake;
	// Each step only if it is missing: after a crash in between nothing is given twice.
	if ((await client.viem.getBalance({ address })) < GAS_WEI / 2n)
		await sendCall(client, treasurer, { to: address, data: "0x", value: GAS_WEI });
	const has = await read(contracts, "token", "balanceOf", address);
	if (has < amount) await sendCall(client, treasurer, callOf(contracts, "token", "transfer", address, amount - has));
	await addStake(actor, { role: "provider", key: async () => signer, endpoint: "", amount });
	return registration("registered", `account ${address}, ${formatTokens(amount)} staked`);
}

/** What bonds of jobs are taken from, of each local provider on the embedded chain. */
export const BOND_TOKENS = 100;
const BONDS = BigInt(BOND_TOKENS) * 10n ** 18n;

/**
 * Gives a local provider's account coins and tokens, where it has fewer than half of that: for the bonds of
 * jobs. Safe to repeat.
 */
export async function fundWorker(options: {
	readonly dataDir: string;
	readonly providerFolder: string;
	readonly url: string;
}): Promise<void> {
	const folder = chainFolder(options.dataDir);
	const [addresses, treasurer] = [
		await readContracts(contractsPath(folder, false)),
		await treasurerOf({ folder, isEmbedded: true }),
	];
	if (addresses === null || treasurer === null) return;
	await makeDataDir(options.providerFolder);
	const { address } = await loadProviderAccount(options.providerFolder, realEnvironment().randomBytes);
	const rpc = withRetries(httpRpc(options.url), { patienceMs: 30_000 });
	const client = await createChainClient(rpc, { confirmations: 1, pollMs: 50 });
	const contracts = { client, addresses };
	if ((await client.viem.getBalance({ address })) < GAS_WEI / 2n)
		await sendCall(client, treasurer, { to: address, data: "0x", value: GAS_WEI });
	const has = await read(contracts, "token", "balanceOf", address);
	if (has < BONDS / 2n) await sendCall(client, treasurer, callOf(contracts, "token", "transfer", address, BONDS - has));
}

/**
 * For `assay up`: one line on this machine's provider on chain. The network runs without it, so errors are
 * only shown.
 */
export async function registrationLine({
	dataDir,
	running: { chain },
	isEmbedded,
}: {
	readonly dataDir: string;
	readonly running: { readonly chain: { readonly url: string } | null };
	readonly isEmbedded: boolean;
}): Promise<string | null> {
	if (chain === null) return null;
	try {
		const providerFolder = join(dataDir, "provider");
		const { line } = await registerLocalProvider({ dataDir, providerFolder, url: chain.url, isEmbedded });
		if (isEmbedded) await fundWorker({ dataDir, providerFolder, url: chain.url });
		return line;
	} catch (error) {
		if (!(error instanceof AssayError)) throw error;
		return `not registered on chain: ${error.message} [${error.code}]`;
	}
}
