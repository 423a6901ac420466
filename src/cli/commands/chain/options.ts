// Options of `assay chain`, for all its verbs.
import { ownerOptions } from "../../chain/account-owner.ts";
import { chainOptions, keyOptions, providerOptions } from "../../chain/chain-options.ts";
import { flag, list, text, type Values, whole } from "../../options.ts";

export const options = {
	epochs: whole("N", "status: epochs to show", [1, 100], 5),
	"epoch-seconds": whole(
		"N",
		"deploy: length of an epoch; each of its four windows is a tenth of it",
		[40, 31_536_000],
		4320,
	),
	fund: whole("TOKENS", "deploy: tokens set aside for rewards, of a supply of 1000000000", [0, 1e9], 100_000_000),
	drand: flag("deploy: roll calls come from drand, not from block hashes"),
	...keyOptions,
	coins: text("N", "send: also this much of the chain's own coin, for gas"),
	validator: list("URL", "bind, demand: a validator's API; bind needs those of more than a third of the stake"),
	"most-ppm": whole("N", "allow: most that it may take of the stake at a time, in millionths", [0, 1_000_000], 0),
	"most-locked": text("TOKENS", "allow: most that it may hold locked"),
	...ownerOptions,
	device: list("ID", "bind, release: only this device, 0x and 64 hex digits (default: all)", {
		pattern: /^0x[0-9a-fA-F]{64}$/,
		is: "a device, 0x and 64 hex digits",
	}),
	...providerOptions,
	...chainOptions,
};

export type ChainCommandValues = Values<typeof options>;
