// `assay job run|check|diff`: exact work on this machine, and a stranger's looked at. docs/jobs.md. Each verb's code is loaded when it is used.
import { command } from "../command.ts";
import { cardOption, engineOptions } from "../job-engine.ts";
import { flag, hexKey, number, text, whole } from "../options.ts";

export const jobCommand = command({
	name: "job",
	about: `Runs a job file (docs/training.md; samples/ has some) on this machine's engine, and checks runs. Every honest machine gets the same
bits, so a run is compared by 32 bytes and a false one narrows down to one number (docs/jobs.md).

A run has a folder of its own. Stopped or killed at any moment, the same command goes on from the last saved state and ends with the same
claim. CLAIM, A and B are such folders.`,
	options: {
		steps: whole("N", "run, plan: so many steps (segments, of a program) instead of the job's", [1, 2 ** 31 - 1]),
		out: text(
			"PATH",
			"run: the run's folder (default: FILE.run here); diff: the fraud file (default: CLAIM.fraud here)",
		),
		disk: number("GIB", "run: what saved states may take on disk", [0, 1_000_000], 16),
		sample: whole("N", "check: so many segments at least", [1, 2 ** 31], 1),
		again: flag("check: run segments again, also of generated text, which is checked by prefill otherwise"),
		seed: text("HEX", "check: draw with this seed instead of fresh randomness", { shape: hexKey }),
		...cardOption,
		json: flag("print as JSON"),
		...engineOptions,
	},
	exits: {
		1: "check, diff: a run is false",
		66: "unreadable file",
		69: "refused, with its code",
		74: "file not writable",
		75: "the folder is in use",
		130: "Ctrl-C",
	},
	verbs: {
		run: {
			takes: "FILE",
			does: "run a job file, with a live curve; go on where it was stopped",
			async run(values, io, file = "") {
				return (await import("../run-job-file.ts")).runJobFile(file, values, io);
			},
		},
		plan: {
			takes: "FILE",
			does: "what it would compute and cost, without running it; with --card, a guess of its time",
			async run(values, io, file = "") {
				return (await import("../run-job-file.ts")).planJobFile(file, values, io);
			},
		},
		check: {
			takes: "CLAIM",
			does: "run drawn segments of a run again and compare",
			async run(values, io, path = "") {
				return (await import("../check-job.ts")).checkJob(path, values, io);
			},
		},
		diff: {
			takes: "A B",
			does: "find where two runs of one job differ, which is false, and write the fraud file",
			async run(values, io, a = "", b = "") {
				return (await import("../check-job.ts")).diffJobs(a, b, values, io);
			},
		},
	},
});
