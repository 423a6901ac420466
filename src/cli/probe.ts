// `assay probe [TARGET]`: challenges a host, prints what it claimed beside what it proved, leaves the evidence in a file.
// Not here: what is asked (validator/), what is true (verify/).
import { createHash, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { AssayError } from "../protocol/assay-error.ts";
import { decodeEvidence } from "../protocol/evidence-codec.ts";
import { runProbe } from "../validator/run-probe.ts";
import { loadSigner, signerPath } from "../validator/signer.ts";
import type { Command } from "./command.ts";
import { exitCodes, verdictToExitCode } from "./exit-codes.ts";
import { formatBytes, formatDuration } from "./format.ts";
import { createLiveProgress, silentProgress } from "./live-progress.ts";
import { linkOptions, openTarget } from "./open-target.ts";
import { numberOption, parseOptions } from "./parse-options.ts";
import { findingLines, paintFor, verdictLine, verdictTable } from "./verdict-table.ts";

function defaultOut(target: string, startedAtMs: number): string {
	const host = target
		.replace(/^ssh:\/\//, "")
		.replace(/[^A-Za-z0-9.-]+/g, "-")
		.replace(/^-+/, "")
		.slice(0, 80);
	const time = new Date(startedAtMs).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
	return `${host}-${time}.assay`;
}

function writeEvidence(path: string, evidence: Uint8Array): void {
	try {
		writeFileSync(path, evidence);
	} catch (cause) {
		throw new AssayError("FILE_UNWRITABLE", `cannot write ${path}: ${cause instanceof Error ? cause.message : cause}`, {
			hint: "Name another file with --out FILE.",
			cause,
		});
	}
}

export const probeCommand: Command = {
	name: "probe",
	summary: "proves a host: its GPUs, its memory, its CPU",
	help: `usage: assay probe [local | ssh://user@host[:port]] [OPTIONS]

Starts the engine on the target, puts challenges to every device, checks the answers on this machine's clock,
and leaves a file that anyone can check again with assay verify.

  --quick            a few seconds: smaller fills, fewer precisions, fewer places
  --sustain MINUTES  then run the matrix challenge for that long and report how the speed holds
  --samples N        places opened per challenge (default 128; quick 32)
  --out FILE         where the evidence goes (default: HOST-TIME.assay in this folder)
${linkOptions.help}
  --json             verdict, claim and evidence path as JSON on standard output

No GPU is not an error: the CPU is probed, and the verdict says that no GPU was proven.

exit codes: valid 0, invalid 1, inconclusive 2, usage 64, unreachable 69, file not writable 74, refused 77, Ctrl-C 130`,

	async run(args, here) {
		const { values, positionals } = parseOptions(
			"probe",
			args,
			{
				json: { type: "boolean", default: false },
				quick: { type: "boolean", default: false },
				sustain: { type: "string" },
				samples: { type: "string" },
				out: { type: "string" },
				...linkOptions.options,
			},
			{ min: 0, max: 1 },
		);
		const sustainMs =
			values.sustain === undefined
				? 0
				: Math.round(numberOption("probe", "sustain", values.sustain, 0.05, 1440) * 60_000);
		const samples =
			values.samples === undefined ? undefined : Math.floor(numberOption("probe", "samples", values.samples, 1, 2048));
		const target = openTarget("probe", positionals[0] ?? "local", values, here);
		const signer = await loadSigner(signerPath(here.env), (n) => randomBytes(n));

		const begun = process.hrtime.bigint();
		const clockUs = () => Number((process.hrtime.bigint() - begun) / 1000n);
		const startedAtMs = Date.now();
		const paint = paintFor(here.err, here.env);
		const progress = values.json && here.err.isTTY !== true ? silentProgress : createLiveProgress(here.err, paint);
		if (progress !== silentProgress)
			here.err.write(`${paint.strong("assay")} probes ${target.name}${values.quick ? ", quickly" : ""}\n`);

		// Opened here and not by the probe: a host that we cannot reach or log in to is an error of the surroundings, not a verdict.
		const link = await target.open().catch((error: unknown) => {
			progress.end();
			throw error;
		});
		const result = await runProbe({
			openLink: async () => link,
			target: target.name,
			quick: values.quick,
			sustainMs,
			...(samples === undefined ? {} : { samples }),
			signer,
			clockUs,
			nowMs: () => Date.now(),
			randomBytes: (n) => randomBytes(n),
			onEvent: (event) => progress.show(event),
			signal: here.interrupted,
		}).finally(() => progress.end());

		const path =
			result.evidence === null ? null : resolve(here.cwd, values.out ?? defaultOut(target.name, startedAtMs));
		if (path !== null && result.evidence !== null) writeEvidence(path, result.evidence);
		const exit = here.interrupted.aborted ? exitCodes.interrupted.code : verdictToExitCode(result.verdict);

		if (values.json) {
			const evidence =
				result.evidence === null || path === null
					? null
					: { path, bytes: result.evidence.length, sha256: createHash("sha256").update(result.evidence).digest("hex") };
			here.out.write(
				`${JSON.stringify({ target: target.name, verdict: result.verdict, evidence, claim: result.claim, tookUs: clockUs() }, null, 2)}\n`,
			);
			return exit;
		}
		const outPaint = paintFor(here.out, here.env);
		const lines = [
			`${verdictLine(result.verdict, outPaint)}  ${outPaint.dim(`${target.name}, ${formatDuration(clockUs())}`)}`,
		];
		const decoded = result.evidence === null ? null : decodeEvidence(result.evidence);
		if (decoded?.ok === true)
			lines.push(
				verdictTable(decoded.evidence.envelope.body, result.verdict, outPaint),
				...findingLines(result.verdict, outPaint),
			);
		if (path !== null && result.evidence !== null)
			lines.push(
				"",
				`  evidence: ${path} (${formatBytes(result.evidence.length)})`,
				outPaint.dim(`  check it again: assay verify ${path}`),
			);
		here.out.write(`${lines.join("\n")}\n`);
		return exit;
	},
};
