// `assay watch`: runs other people's work again, and is paid for every lie that it proves. docs/disputes.md.
import { apiOptions } from "../api-connection.ts";
import { keyOptions, nodeOptions } from "../chain/chain-options.ts";
import { command, later } from "../command.ts";
import { engineOptions } from "../job-engine.ts";
import { choice, flag, group, number, text, whole } from "../options.ts";

export const watchCommand = command({
	name: "watch",
	about: `Follows the claims of jobs at a validator, runs them again on this machine's engine and compares every state. Where one differs it runs
once more; only what comes out twice is held against whoever claimed it. That one is asked down to one number, and the contradiction is proven
on chain: part of the bond goes to the account that proves it. Nobody is trusted, no permission is needed, and a claim that is right cannot be convicted.

Stopped or killed at any moment, the same command goes on: what is next follows from the chain and from running the claim again.`,
	options: {
		jobs: choice<"mine" | "all" | "share", "all">(
			"WHICH",
			["mine", "all", "share"],
			"claims of your own jobs, of every optimistic job, or a share of those",
			"all",
		),
		share: number("P", "with --jobs share: look at so many of them, drawn in secret", [0, 1], 0.05),
		"most-minutes": number("M", "give up a claim that takes longer to run again", [0.1, 10_000], 30),
		"gas-budget": whole("GAS", "gas that may be spent in 24 hours", [0, 1e12], 5_000_000),
		"dry-run": flag("find lies and keep the fraud files, send nothing to the chain"),
		once: flag("look at every claim once, then exit"),
		every: number("SECONDS", "pause between two looks", [0.1, 86_400], 5),
		folder: text("FOLDER", "what it remembers, and the fraud files (default: watch in ASSAY_HOME)"),
		metrics: text("FILE", "write counters to this file after each look, in the text format of Prometheus"),
		engine: engineOptions.engine,
		...group("account", keyOptions),
		...group("connection to the chain", nodeOptions),
		...apiOptions,
		json: flag("print one event a line as JSON"),
		key: { ...apiOptions.key, help: "the key that signs your requests, created on first use" },
	},
	exits: { 69: "no validator, no chain or refused", 74: "folder not writable" },

	run: later(async () => (await import("../watch/run-watch.ts")).runWatch),
});
