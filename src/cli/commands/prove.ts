// `assay prove`: proves segments of other people's training, and is paid for each. docs/zk.md §12.
import { apiOptions } from "../api-connection.ts";
import { keyOptions, nodeOptions } from "../chain/chain-options.ts";
import { command, later } from "../command.ts";
import { engineOptions } from "../job-engine.ts";
import { flag, group, number, text } from "../options.ts";

export const proveCommand = command({
	name: "prove",
	about: `Follows the jobs of a chain that are paid by proof (submit --method zk), runs those that are claimed again on this machine's engine, proves
their segments and puts the proofs on chain: each pays the account that proved it. Nothing is reserved, no permission is needed: several
provers share a job, and whoever stops is missed by nobody.

Stopped or killed at any moment, the same command goes on: what is next follows from the chain.`,
	options: {
		"least-price": number("TOKENS", "leave jobs alone that pay less for a segment", [0, 1e9], 0),
		powers: text(
			"FILE",
			"powers of tau, Ignition's file (docs/zk.md §1; or ASSAY_POWERS); an embedded chain needs none",
			{
				env: "ASSAY_POWERS",
			},
		),
		once: flag("look at every job once, then exit"),
		every: number("SECONDS", "pause between two looks", [0.1, 86_400], 5),
		folder: text(
			"FOLDER",
			"its account's key, and states of jobs while they are proven (default: prove in ASSAY_HOME)",
		),
		...engineOptions,
		...group("account", keyOptions),
		...group("connection to the chain", nodeOptions),
		...apiOptions,
		json: flag("print one event a line as JSON"),
		key: { ...apiOptions.key, help: "the key that signs your requests, created on first use" },
	},
	exits: { 69: "no validator, no chain, no powers or refused", 74: "folder not writable" },

	run: later(async () => (await import("../prove/run-prove.ts")).runProve),
});
