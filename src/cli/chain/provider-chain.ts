// How a provider's own chain commands find their account and their chain: its keys in the provider's data
// folder, a node by --rpc, else the embedded chain of this machine. The validator's counterpart is
// chain-connection.ts. Page: docs/chain.md.
import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { writeDurably } from "../../platform/durable-file.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Signer } from "../../protocol/probe/signer.ts";
import { loadProviderAccount } from "../../provider/chain-account.ts";
import type { ChainHome } from "../../validator/settlement/home.ts";
import type { CliIo } from "../command.ts";
import { defaultDataDir, defaultProviderDir, loadProviderKey } from "../data-folder.ts";
import { usageError } from "../options.ts";
import { requireNode } from "../require-node.ts";
import { confirmationsOf, openContracts, rpcUrlOf, withChain } from "./chain-connection.ts";
import type { ProviderValues } from "./chain-options.ts";

/** An account that acts on chain: what a validator's home and a provider have in common. */
export type ChainActor = Pick<ChainHome, "contracts" | "account" | "url">;

/** Throws CHAIN_MISSING, CHAIN_UNREACHABLE, KEY_UNUSABLE or USAGE. */
export async function withProviderChain<T>(
	values: ProviderValues,
	io: CliIo,
	act: (actor: ChainActor, signer: Signer, folder: string) => Promise<T>,
): Promise<T> {
	requireNode();
	const folder = providerFolderOf(values, io);
	// Nothing is created here: after a typo, tokens would go to a provider that nobody runs.
	if (!existsSync(join(folder, "provider.key")))
		throw new AssayError("KEY_UNUSABLE", `there is no provider in ${folder}`, {
			hint: "`assay provide` and `assay up` create one at their first start; give its folder with --data.",
		});
	const signer = await loadProviderKey(folder);
	const account = await loadProviderAccount(folder, realEnvironment().randomBytes);
	const rpcUrl = rpcUrlOf(values, io);
	if (rpcUrl !== null) {
		const kept = join(folder, "contracts.json");
		const network = resolve(io.cwd, values.network ?? defaultDataDir(io.env));
		const places = [kept, join(network, "chain", "contracts-external.json")];
		const confirmations = confirmationsOf(values, rpcUrl) ?? 1;
		const contracts = await openContracts(rpcUrl, values, io, places, confirmations);
		// What was named once is known the next time.
		if (values.contracts !== undefined) {
			await writeDurably(kept, `${JSON.stringify(contracts.addresses)}\n`);
		}
		return act({ contracts, account, url: rpcUrl }, signer, folder);
	}
	// A provider's folder inside a network's is that of `assay up`.
	const beside = dirname(folder);
	const isInside = basename(folder) === "provider" && existsSync(join(beside, "chain"));
	const data = values.network ?? (isInside ? beside : defaultDataDir(io.env));
	const { confirmations, contracts } = values;
	return withChain({ data, confirmations, contracts }, io, (home) =>
		act({ contracts: home.contracts, account, url: home.url }, signer, folder),
	);
}

function providerFolderOf(values: ProviderValues, io: CliIo): string {
	if (values.data !== undefined) {
		const named = resolve(io.cwd, values.data);
		// The folder of `assay up`, as its other commands take it, has its provider inside.
		const inside = join(named, "provider");
		const isNetwork = !existsSync(join(named, "provider.key")) && existsSync(join(inside, "provider.key"));
		return isNetwork ? inside : named;
	}
	const network = resolve(io.cwd, values.network ?? defaultDataDir(io.env));
	const [own, ofUp] = [defaultProviderDir(io.env), join(network, "provider")];
	const [hasOwn, hasUp] = [own, ofUp].map((folder) => existsSync(join(folder, "provider.key")));
	if (hasOwn && hasUp) throw usageError(`there are two providers, in ${own} and in ${ofUp}: choose one with --data`);
	return hasUp ? ofUp : own;
}
