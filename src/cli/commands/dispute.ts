// `assay dispute …`: disputes by hand, one step at a time. `assay watch` does all of it by itself.
// docs/disputes.md.
import { apiOptions } from "../api-connection.ts";
import { keyOptions, nodeOptions } from "../chain/chain-options.ts";
import { command, later } from "../command.ts";
import { flag, group, text } from "../options.ts";

export const disputeCommand = command({
	name: "dispute",
	about: `Shows claims and what is held against them, asks whoever made a claim, and brings a fraud file before the chain. CLAIM is the hash of a claim, or the
beginning of it. QUESTION is one of docs/jobs.md §14 as JSON, without audit and page: {"kind":"trace","segment":3}. assay verify judges FILE alone.`,
	options: {
		"dry-run": flag("prove: find out what the chain would say, send nothing"),
		folder: text("FOLDER", "prove: the folder of assay watch, whose account pays (default: watch in ASSAY_HOME)"),
		...group("account", keyOptions),
		...group("connection to the chain", nodeOptions),
		...apiOptions,
		json: flag("print as JSON"),
		key: { ...apiOptions.key, help: "the key that signs your requests, created on first use" },
	},
	exits: {
		1: "prove: the file proves nothing",
		66: "unreadable file",
		67: "no such claim",
		69: "refused, no answer, or the chain does not judge it",
	},
	verbs: {
		list: {
			does: "claims that stand, and fraud files against claims",
			run: later(async () => (await import("../watch/list-disputes.ts")).listDisputes),
		},
		show: {
			takes: "CLAIM",
			does: "one claim: what it says, how it stands on chain, what is held against it",
			run: later(async () => (await import("../watch/disputes.ts")).showDispute),
		},
		ask: {
			takes: "CLAIM QUESTION",
			does: "ask whoever made it; the answer binds it",
			run: later(async () => (await import("../watch/disputes.ts")).askDispute),
		},
		prove: {
			takes: "FILE",
			does: "bring a signed fraud file before the chain",
			run: later(async () => (await import("../watch/disputes.ts")).proveDispute),
		},
	},
});
