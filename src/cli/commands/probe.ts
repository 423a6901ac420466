// `assay probe [TARGET]`: challenges a host, prints what it claimed beside what it proved, leaves the
// evidence in a file. Not here: what is asked (validator/), what is true (verify/).
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { formatBytes } from "../../protocol/format-number.ts";
import type { Figure } from "../../protocol/probe/evidence.ts";
import { decodeEvidence } from "../../protocol/probe/evidence-codec.ts";
import { type ProbeResult, runProbe } from "../../validator/probe/run-probe.ts";
import { loadSigner, signerPath } from "../../validator/probe/signer.ts";
import { type CollateralItem, decodeBundle } from "../../verify/attestation/collateral/bundle.ts";
import { notAsOrdered, type Order } from "../../verify/hardware/order.ts";
import { verifyEvidence } from "../../verify/hardware/verify.ts";
import { loadBundle } from "../attest-collateral.ts";
import { type CliIo, command } from "../command.ts";
import { defaultAttestDir } from "../data-folder.ts";
import { readEvidence, requireWritable, writeNamedFile } from "../evidence-file.ts";
import { exitCodes, verdictToExitCode } from "../exit-codes.ts";
import { linkOptions, openTarget, TARGET_HELP } from "../open-target.ts";
import { flag, number, text, whole } from "../options.ts";
import { orderJson, orderLine } from "../order/order-lines.ts";
import { orderOf, orderOptions } from "../order/order-options.ts";
import { probeAttestationLines } from "../print/attestation-lines.ts";
import { type ComparedFigure, compareFigures, comparisonTable } from "../print/compare-figures.ts";
import { formatDuration } from "../print/format.ts";
import { createLiveProgress, silentProgress } from "../print/live-progress.ts";
import { type Paint, paintFor } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { sustainedLines } from "../print/sustained-curve.ts";
import { findingLines, verdictLine, verdictTable } from "../print/verdict-table.ts";

function defaultOut(target: string, startedAtMs: number): string {
	const host = target
		.replace(/^ssh:\/\//, "")
		.replace(/[^A-Za-z0-9.-]+/g, "-")
		.replace(/^-+/, "")
		.slice(0, 80);
	const time = new Date(startedAtMs).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
	return `${host}-${time}.assay`;
}

/** The figures of an earlier probe; only evidence that is valid can be compared with. */
function provenFigures(path: string): readonly Figure[] {
	const verdict = verifyEvidence(readEvidence(path));
	if (verdict.status === "valid") return verdict.figures;
	throw new AssayError("FILE_UNREADABLE", `${path} proves nothing: ${verdict.status}, ${verdict.code}`, {
		hint: "Compare with a file that `assay verify` finds valid.",
	});
}

/** Vendors' files of `assay attest update`; what is no bundle is none. */
async function collateralAt(env: CliIo["env"]): Promise<readonly CollateralItem[]> {
	const file = await loadBundle(defaultAttestDir(env));
	const decoded = file === null ? null : decodeBundle(file);
	return decoded?.ok ? decoded.bundle.items : [];
}

interface ProbeReport {
	readonly target: string;
	readonly result: ProbeResult;
	/** Where the evidence lies; null when there is none. */
	readonly path: string | null;
	/** The figures to compare with; null when not asked for. */
	readonly before: readonly Figure[] | null;
	/** null: nothing was ordered. */
	readonly order: Order | null;
	readonly tookUs: number;
}

function comparisonOf({ before, result: { verdict } }: ProbeReport): ComparedFigure[] | null {
	return before === null || verdict.status !== "valid" ? null : compareFigures(before, verdict.figures);
}

function reportJson(report: ProbeReport) {
	const { target, path, tookUs } = report;
	const { verdict, claim, evidence: file } = report.result;
	const evidence =
		file === null || path === null
			? null
			: { path, bytes: file.length, sha256: createHash("sha256").update(file).digest("hex") };
	const comparison = comparisonOf(report);
	const { order } = report;
	return {
		...{ target, verdict, evidence, claim, tookUs },
		...(order && { order: orderJson(order, verdict) }),
		...(comparison && { comparison }),
	};
}

function reportText(report: ProbeReport, paint: Paint): string {
	const { target, path, tookUs } = report;
	const { verdict, evidence } = report.result;
	const lines = [
		...(report.order === null ? [] : [orderLine(report.order, verdict, paint)]),
		verdictLine(verdict, paint, true),
		paint.dim(`  ${target}, in ${formatDuration(tookUs)}`),
	];
	const decoded = evidence === null ? null : decodeEvidence(evidence);
	if (decoded?.ok === true)
		lines.push(
			"",
			verdictTable(decoded.evidence.envelope.body, verdict, paint),
			...(verdict.status === "valid" ? sustainedLines(decoded.evidence) : []),
			...findingLines(verdict, paint),
			...(verdict.status === "valid" ? probeAttestationLines(verdict.attestation, paint) : []),
		);
	const comparison = comparisonOf(report);
	if (comparison !== null) lines.push("", comparisonTable(comparison, paint));
	if (path !== null && evidence !== null)
		lines.push(
			"",
			`  evidence: ${path} (${formatBytes(evidence.length)})`,
			paint.dim(`  check it again: assay verify ${path}`),
		);
	return `${lines.join("\n")}\n`;
}

export const probeCommand = command({
	name: "probe",
	about: `Starts the engine on the target, sends challenges to every device, times the answers with this machine's clock, and
writes an evidence file that anyone can check again with assay verify.

${TARGET_HELP} A host without a GPU is not an error: its CPU is probed, and the verdict says that no GPU was proven.`,
	takes: "[TARGET]",
	options: {
		quick: flag("quick probe, a few seconds: less memory, fewer precisions, fewer spot checks"),
		sustain: number(
			"MINUTES",
			"then run the matrix challenge for that long and report how the speed holds",
			[0.05, 1440],
		),
		training: flag("then train a small GPT as an exact program and report tokens a second"),
		samples: whole("N", "spot checks per challenge (default 128, with --quick 32)", [1, 2048]),
		compare: text("FILE", "show the figures beside those of an earlier evidence file"),
		out: text("FILE", "where the evidence goes (default: HOST-TIME.assay in this folder)"),
		json: flag("print verdict, claim and evidence path as JSON"),
		...orderOptions,
		...linkOptions,
	},
	exits: {
		0: "valid",
		1: "invalid, or not as ordered",
		2: "inconclusive",
		69: "unreachable",
		74: "file not writable",
		77: "refused",
		130: "Ctrl-C",
	},

	async run(values, io, named = "local") {
		const order = orderOf(values);
		const before = values.compare === undefined ? null : provenFigures(values.compare);
		const target = openTarget(named, values, io, values.training ? ["--work"] : []);
		const { clockUs, nowMs, randomBytes } = realEnvironment();
		const signer = await loadSigner(signerPath(io.env), randomBytes);
		const file = resolve(io.cwd, values.out ?? defaultOut(target.name, nowMs()));
		requireWritable(file, "--out FILE");
		const paint = paintFor(io.err, io.env);
		const progress = values.json && io.err.isTTY !== true ? silentProgress : createLiveProgress(io.err, paint);
		if (progress !== silentProgress)
			io.err.write(`${paint.strong("assay")} probes ${target.name}${values.quick ? " (quick probe)" : ""}\n`);

		// Opened here and not by the probe: a host that we cannot reach or log in to is an error, not a verdict.
		const link = await target.open().catch((error: unknown) => {
			progress.end();
			throw error;
		});
		const result = await runProbe({
			openLink: async () => link,
			target: target.name,
			quick: values.quick,
			sustainMs: Math.round((values.sustain ?? 0) * 60_000),
			training: values.training,
			...(values.samples === undefined ? {} : { samples: values.samples }),
			signer,
			clockUs,
			nowMs,
			randomBytes,
			onEvent: (event) => progress.show(event),
			collateral: await collateralAt(io.env),
			signal: io.interrupted,
		}).finally(() => progress.end());

		const path = result.evidence === null ? null : file;
		if (path !== null && result.evidence !== null) writeNamedFile(path, result.evidence, "--out FILE");
		const report: ProbeReport = { target: target.name, result, path, before, order, tookUs: clockUs() };
		printResult(values, io, reportJson(report), (paint) => reportText(report, paint));
		if (io.interrupted.aborted) return exitCodes.interrupted.code;
		const isOther = result.verdict.status === "valid" && order !== null && notAsOrdered(order, result.verdict) !== null;
		return isOther ? exitCodes.invalid.code : verdictToExitCode(result.verdict);
	},
});
