// Options of all commands that have to do with the chain. Apart from the code that uses them, which loads the
// chain's client.
import { flag, group, text, type Values, whole } from "../options.ts";

/** Those that `assay up` and `assay validate` take too. */
export const nodeOptions = {
	rpc: text(
		"URL",
		"node of any EVM chain, instead of the embedded chain (or ASSAY_RPC); several with commas between must agree on what money depends on",
		{ env: "ASSAY_RPC" },
	),
	contracts: text(
		"FILE",
		"addresses of the contracts on that chain: a file, or a validator's URL with /chain/contracts.json (default: those in the data folder)",
	),
	confirmations: whole("N", "blocks to wait for after each transaction on that chain (default 1)", [1, 1000]),
	"most-fee": whole("GWEI", "highest fee to offer for a unit of gas (default 500)", [1, 1e9]),
};

export const chainOptions = group("connection to the chain", {
	data: text(
		"FOLDER",
		"data folder of the validator (default: network in ASSAY_HOME, or ~/.local/share/assay/network)",
	),
	...nodeOptions,
	json: flag("print the result as JSON"),
});

export type ChainValues = Partial<Omit<Values<typeof chainOptions>, "json">>;

export const providerOptions = {
	provider: flag(
		"act for this machine's provider instead of the validator; --data is then the folder of assay provide or assay up" +
			" (default: provider in ASSAY_HOME, or that of assay up)",
	),
	network: text("FOLDER", "with --provider and without --rpc: data folder of the network that runs the embedded chain"),
};

export type ProviderValues = ChainValues & { readonly network?: string | undefined };

export const keyOptions = {
	"key-file": text(
		"FILE",
		"pay from the private key in this file (64 hex digits; or ASSAY_CHAIN_KEY) instead of the data folder's account",
		{ env: "ASSAY_CHAIN_KEY" },
	),
};
