// The provider of `assay up` on the embedded chain: an account of its own, registered with the least stake, with money from the chain's treasury. So a trial network
// shows everything that a real one has. On any other chain its owner stakes; then only what is missing is said. Safe to repeat after a crash anywhere.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { formatTokens } from "../chain/chain-connection.ts";
import type { ChainActor } from "../chain/provider-chain.ts";
import { addStake } from "../commands/stake.ts";

export interface LocalRegistration {
	/** "missing": on this chain its owner registers it. */
	readonly state: "registered" | "was registered" | "missing";
	readonly account: string;
	/** For whoever watches. */
	readonly line: string;
}

/** Times the least stake of a provider, and gas for years of binding devices. */
const STAKES = 10n;
const GAS_WEI = 10n * 10n ** 18n;

export async function registerLocalProvider(o: {
	/** Of the network; its chain folder has the treasurer's key and the contracts. */
	readonly dataDir: string;
	readonly providerFolder: string;
	/** Where the chain's node answers. */
	readonly url: string;
	readonly isEmbedded: boolean;
}): Promise<LocalRegistration> {
	const bytes = (size: number) => new Uint8Array(randomBytes(size));
	const [
		{ createChainClient },
		rpc,
		{ sendCall },
		{ callOf, read },
		registry,
		home,
		{ loadKeyFile },
		{ loadProviderAccount },
	] = await Promise.all([
		import("../../chain/node/chain-client.ts"),
		import("../../chain/node/http-rpc.ts"),
		import("../../chain/sending/send-call.ts"),
		import("../../chain/contracts/contracts.ts"),
		import("../../chain/contracts/registry.ts"),
		import("../../validator/settlement/home.ts"),
		import("../../platform/key-file.ts"),
		import("../../provider/chain-account.ts"),
	]);
	const signer = await loadKeyFile({
		path: join(o.providerFolder, "provider.key"),
		name: "the provider's key",
		elsewhere: "Name with --data",
		randomBytes: bytes,
	});
	const account = await loadProviderAccount(o.providerFolder, bytes);
	const folder = home.chainFolder(o.dataDir);
	const addresses = await home.readContracts(home.contractsPath(folder, !o.isEmbedded));
	if (addresses === null)
		return { state: "missing", account: account.address, line: "the contracts are not in the data folder" };
	const client = await createChainClient(rpc.withRetries(rpc.httpRpc(o.url), { patienceMs: 30_000 }), {
		confirmations: 1,
		pollMs: 50,
	});
	const contracts = { client, addresses };
	const actor: ChainActor = { contracts, account, url: o.url };
	const { address } = account;
	const { role, stake } = await registry.readAccount(contracts, address);
	const told = (state: LocalRegistration["state"], line: string): LocalRegistration => ({
		state,
		account: address,
		line,
	});
	if (role === registry.ROLES.provider)
		return told("was registered", `account ${address}, ${formatTokens(stake)} staked`);
	const treasurer = await home.treasurerOf({ folder, isEmbedded: o.isEmbedded });
	if (treasurer === null || role !== registry.ROLES.none)
		return told(
			"missing",
			`not registered on this chain, so it is not paid: assay stake TOKENS --provider --data ${o.providerFolder}`,
		);
	const { minProviderStake } = await read(contracts, "registry", "params");
	const amount = STAKES * minProviderStake;
	// Each step only when it is missing: whatever died in between, nothing is given twice.
	if ((await client.viem.getBalance({ address })) < GAS_WEI / 2n) await give(actor, treasurer, GAS_WEI);
	const has = await read(contracts, "token", "balanceOf", address);
	if (has < amount) await sendCall(client, treasurer, callOf(contracts, "token", "transfer", address, amount - has));
	await addStake(actor, { role: "provider", signer: async () => signer, endpoint: "", amount });
	return told("registered", `account ${address}, ${formatTokens(amount)} staked`);
}

/** For `assay up`: what there is to say of this machine's provider on chain. Its network runs without that, so trouble is told and no more. */
export async function registrationLine(o: {
	readonly dataDir: string;
	readonly running: { readonly chain: { readonly url: string } | null };
	readonly isEmbedded: boolean;
}): Promise<string | null> {
	const { dataDir, isEmbedded } = o;
	if (o.running.chain === null) return null;
	const { url } = o.running.chain;
	try {
		return (await registerLocalProvider({ dataDir, providerFolder: join(dataDir, "provider"), url, isEmbedded })).line;
	} catch (error) {
		if (!(error instanceof AssayError)) throw error;
		return `not registered on chain: ${error.message} [${error.code}]`;
	}
}

async function give({ contracts, account }: ChainActor, treasurer: ChainAccount, value: bigint): Promise<void> {
	const { sendCall } = await import("../../chain/sending/send-call.ts");
	await sendCall(contracts.client, treasurer, { to: account.address, data: "0x", value });
}
