// `assay job …`: exact work on this machine, a stranger's run looked at, and work handed to strangers who are
// paid for what is right. docs/jobs.md. Each verb's code is loaded when it is used.
import { DEFAULT_METHOD, methodText, ordersWhere, orList } from "../../verify/methods/methods.ts";
import { apiOptions } from "../api-connection.ts";
import { keyOptions, nodeOptions } from "../chain/chain-options.ts";
import { command, later } from "../command.ts";
import { cardOption, engineOptions } from "../job-engine.ts";
import { flag, group, hexKey, number, text, whole } from "../options.ts";
import { watchOptions } from "../print/show-or-watch.ts";

const PROVABLE = orList(ordersWhere(({ isProvable }) => isProvable));

export const jobCommand = command({
	name: "job",
	about: `Runs a job file (docs/training.md; samples/ has some) on this machine's engine, and checks runs. Every honest machine gets the same
bits, so a run is compared by 32 bytes and a false one narrows down to one number (docs/jobs.md).

A run has a folder of its own. Stopped or killed at any moment, the same command goes on from the last saved state and ends with the same
claim. CLAIM, A and B are such folders, or those of results that were fetched from the market.

submit hands a job to the providers of a network: one is drawn, works, claims, is checked, and is paid from what you put into the escrow. ID is
a job, or the beginning of its number. On the network that assay up runs here nothing else is needed; elsewhere --key-file pays.`,
	options: {
		steps: whole(
			"N",
			"run, plan, quote, submit, and check with --job: so many steps (segments, of a program) instead of the job's",
			[1, 2 ** 31 - 1],
		),
		out: text(
			"PATH",
			"run: the run's folder (default: FILE.run here); submit, result: the result's folder (default: FILE-ID.run here); diff: the fraud file (default: CLAIM.fraud here); prove, proofs: the folder of proofs (default: NAME.proofs here)",
		),
		disk: number("GIB", "run: what saved states may take on disk", [0, 1_000_000], 16),
		sample: whole("N", "check: so many segments at least; 0 compares the files alone", [0, 2 ** 31], 1),
		job: text(
			"FILE",
			"check, diff: the job file of the run, its data beside it; needed where the folder has no data of the job",
		),
		again: flag("check: run segments again, also of generated text, which is checked by prefill otherwise"),
		seed: text("HEX", "check: draw with this seed instead of fresh randomness", { shape: hexKey }),
		segments: text("LIST", "prove: these segments, as 2 or 1-4 or 1,3 (default: all; 1 is the first with steps)"),
		wrap: text(
			"KEY",
			"prove: all segments as one proof that hides their sums, by this key: a .zkey of snarkjs, a .key of scripts/zk-key.ts, or `dev`, which proves nothing (docs/zk.md §13)",
		),
		powers: text(
			"FILE",
			"prove, submit --method zk or --provable: powers of tau, Ignition's file (docs/zk.md §1); prove `dev`: test parameters (not secure), which prove nothing",
		),
		...cardOption,
		host: text(
			"ID",
			"plan: also time and cost on this host of the network, a name or the beginning of its number; `all`: on each that takes jobs",
		),
		...engineOptions,
		...group("work for strangers", {
			method: text(
				"METHOD",
				`how it is verified: ${orList(ordersWhere(() => true))} (default: the job file's, else ${methodText(DEFAULT_METHOD)})`,
			),
			"most-price": number("TOKENS", "the most that all of it may cost; then nobody is asked", [0, 1e9]),
			"most-minutes": number("N", "the most time that all parts may take", [0, 1e6]),
			"price-per-hour": number(
				"TOKENS",
				"what an hour of work is paid, as an H200 does it (docs/jobs.md §9); hosts that ask more are not drawn (default: what hosts ask)",
				[0, 1e9],
			),
			yes: flag("submit: do not ask"),
			provable: flag(
				`submit --method ${PROVABLE}: say on chain what zk proofs of its training are about, so that one settles a dispute (docs/zk.md §15)`,
			),
			detach: flag("submit: do not wait for the result"),
			...watchOptions,
			...keyOptions,
			...nodeOptions,
		}),
		...apiOptions,
		json: flag("print as JSON"),
		key: { ...apiOptions.key, help: "the key that signs your requests, created on first use" },
	},
	exits: {
		1: "check, diff, result: a run, a file of it or what was shown is false; audit: draws were changed",
		2: "check: nothing false was found, but a file is missing or could not be compared, or nothing was run again",
		66: "a file that cannot be read or used",
		67: "no such job",
		69: "refused, with its code",
		74: "file not writable",
		75: "the folder is in use, or not now",
		77: "access refused",
		130: "Ctrl-C",
	},
	verbs: {
		run: {
			takes: "FILE",
			does: "run a job file, with a live curve; go on where it was stopped",
			run: later(async () => (await import("../run-job-file.ts")).runJobFile),
		},
		plan: {
			takes: "FILE",
			does: "what it would compute and cost, without running it; with --card or --host, its time and cost there",
			run: later(async () => (await import("../run-job-file.ts")).planJobFile),
		},
		check: {
			takes: "CLAIM",
			does: "run drawn segments of a run again and compare; make every file again and compare",
			run: later(async () => (await import("../jobs/check-job.ts")).checkJob),
		},
		diff: {
			takes: "A B",
			does: "find where two runs of one job differ, which is false, and write the fraud file",
			run: later(async () => (await import("../jobs/diff-jobs.ts")).diffJobs),
		},
		prove: {
			takes: "FOLDER",
			does: "prove segments of a finished training run (docs/zk.md), for assay verify: nobody need run them again",
			run: later(async () => (await import("../jobs/prove-job.ts")).proveJob),
		},
		quote: {
			takes: "FILE",
			does: "what strangers would take for it, and how long; uploads what it needs",
			run: later(async () => (await import("../jobs/submit-job.ts")).quoteJobFile),
		},
		submit: {
			takes: "FILE",
			does: "hand it to strangers: upload, quote, ask once, fund, follow until it is paid, write the result",
			run: later(async () => (await import("../jobs/submit-job.ts")).submitJobFile),
		},
		list: {
			does: "your jobs",
			run: later(async () => (await import("../jobs/show-jobs.ts")).listJobs),
		},
		status: {
			takes: "ID",
			does: "one job: its parts, who has them, what was run again",
			run: later(async () => (await import("../jobs/show-jobs.ts")).showJob),
		},
		proofs: {
			takes: "ID",
			does: "of a zk job: fetch the proofs of its segments from the chain, for assay verify, and say who was paid for them",
			run: later(async () => (await import("../jobs/fetch-proofs.ts")).fetchProofs),
		},
		logs: {
			takes: "ID",
			does: "everything that happened to a job, until it is over",
			run: later(async () => (await import("../jobs/show-jobs.ts")).showLogs),
		},
		result: {
			takes: "ID",
			does: "fetch the result, check it against the claim, write the files that run delivers and what check needs; the states between stay with the host",
			run: later(async () => (await import("../jobs/show-jobs.ts")).fetchResult),
		},
		audit: {
			takes: "ID",
			does: "do all draws of a job again from what is public, and name what its validator changed; any job",
			run: later(async () => (await import("../jobs/audit-job.ts")).auditJob),
		},
		refund: {
			takes: "ID",
			does: "take back what the escrow may give, without a validator: by this machine's book, or by key, node and whole number",
			run: later(async () => (await import("../jobs/show-jobs.ts")).refundJob),
		},
		cancel: {
			takes: "ID",
			does: "take back what nobody works at; its money comes back",
			run: later(async () => (await import("../jobs/show-jobs.ts")).cancelJob),
		},
	},
});
