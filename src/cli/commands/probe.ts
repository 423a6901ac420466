// `assay probe [TARGET]`: challenges a host, prints what it claimed beside what it proved, leaves the
// evidence in a file. Not here: what is asked (validator/), what is true (verify/).

import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import { formatBytes } from "../../protocol/format-number.ts";
import type { Figure } from "../../protocol/probe/evidence.ts";
import { decodeEvidence } from "../../protocol/probe/evidence-codec.ts";
import type { ProbeEvent } from "../../validator/probe/probe-event.ts";
import { cardsOf } from "../../verify/hardware/identify/identity-words.ts";
import { notAsOrdered, type Order } from "../../verify/hardware/order.ts";
import { verifyEvidence } from "../../verify/hardware/verify.ts";
import { type CliIo, command } from "../command.ts";
import { readEvidence, readInput } from "../evidence-file.ts";
import { exitCodes, verdictToExitCode } from "../exit-codes.ts";
import type { ProbeOne } from "../fleet/probe-fleet.ts";
import { type Probed, probeTarget } from "../fleet/probe-target.ts";
import { readFleet } from "../fleet/read-fleet.ts";
import { runFleet } from "../fleet/run-fleet.ts";
import { linkOptions, openTarget, TARGET_HELP } from "../open-target.ts";
import { flag, list, number, text, usageError, whole } from "../options.ts";
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

const MOST_FLEET_BYTES = 2 ** 20;

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

interface ProbeReport extends Probed {
	/** The figures to compare with; null when not asked for. */
	readonly before: readonly Figure[] | null;
	/** null: nothing was ordered. */
	readonly order: Order | null;
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
		paint.dim(
			`  ${target}, ${report.isOld ? "not probed again: the file is young enough" : `in ${formatDuration(tookUs)}`}`,
		),
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

function exitOf({ result: { verdict } }: Probed, order: Order | null, io: CliIo): number {
	if (io.interrupted.aborted) return exitCodes.interrupted.code;
	const isOther = verdict.status === "valid" && order !== null && notAsOrdered(order, verdict) !== null;
	return isOther ? exitCodes.invalid.code : verdictToExitCode(verdict);
}

/** Of a fleet's table. */
function rowOf(probed: Probed, order: Order | null, io: CliIo): Awaited<ReturnType<ProbeOne>> {
	const { path, tookUs } = probed;
	const { verdict, claim } = probed.result;
	const exit = exitOf(probed, order, io);
	const rest = { evidence: path, tookUs, exit };
	if (verdict.status !== "valid")
		return { ...rest, status: verdict.status, cards: "", code: verdict.code, why: verdict.detail };
	const reason = order === null ? null : notAsOrdered(order, verdict);
	const cards = claim === null ? "" : cardsOf(claim, verdict);
	if (reason === null) return { ...rest, status: "valid", cards, code: null, why: "" };
	return { ...rest, status: "not as ordered", cards, code: null, why: reason };
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
		device: list(
			"N",
			"probe only this device, numbered as assay devices lists them (default: all); says nothing of the others",
			{ pattern: /^\d{1,3}$/, is: "the number of a device" },
		),
		compare: text("FILE", "show the figures beside those of an earlier evidence file"),
		out: text("FILE", "where the evidence goes (default: HOST-TIME.assay in this folder); with --fleet a folder"),
		"max-age": number(
			"DAYS",
			"with --out FILE: no new probe where that file holds a valid one of this target, by this machine's key, that is not older",
			[0, 36500],
		),
		fleet: text(
			"FILE",
			"probe every target of this file, one a line: one table, one exit code; with --json one line a host",
		),
		"at-once": whole("N", "hosts of a fleet that are probed at the same time", [1, 256], 8),
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

	async run(values, io, named) {
		const order = orderOf(values);
		const before = values.compare === undefined ? null : provenFigures(resolve(io.cwd, values.compare));
		const open = (name: string) => openTarget(name, values, io, values.training ? ["--work"] : []);
		const timeMs = Date.now();
		if (values["max-age"] !== undefined && (values.out === undefined || values.fleet !== undefined))
			throw usageError("--max-age needs --out FILE, and is for one target");
		if (values["max-age"] !== undefined && (values.sustain !== undefined || values.training))
			throw usageError("--max-age is not for --sustain and --training: these are always run");
		if (values.fleet !== undefined) {
			if (named !== undefined) throw usageError("a target or --fleet, not both");
			if (values["ask-password"] || before !== null)
				throw usageError("--ask-password and --compare are for one target, not for a fleet");
			const text = readInput(resolve(io.cwd, values.fleet), MOST_FLEET_BYTES, "One target a line.");
			const folder = resolve(io.cwd, values.out ?? ".");
			mkdirSync(folder, { recursive: true });
			const probeOne: ProbeOne = async (name) => {
				const file = join(folder, defaultOut(name, timeMs));
				return rowOf(await probeTarget(open(name), file, values, io, () => {}), order, io);
			};
			return runFleet(readFleet(Buffer.from(text).toString()), probeOne, values, io);
		}
		const target = open(named ?? "local");
		const paint = paintFor(io.err, io.env);
		const progress = values.json && io.err.isTTY !== true ? silentProgress : createLiveProgress(io.err, paint);
		if (progress !== silentProgress)
			io.err.write(`${paint.strong("assay")} probes ${target.name}${values.quick ? " (quick probe)" : ""}\n`);
		const file = resolve(io.cwd, values.out ?? defaultOut(target.name, timeMs));
		const onEvent = (event: ProbeEvent) => progress.show(event);
		const probed = await probeTarget(target, file, values, io, onEvent).finally(() => progress.end());
		const report: ProbeReport = { ...probed, before, order };
		printResult(values, io, reportJson(report), (paint) => reportText(report, paint));
		return exitOf(probed, order, io);
	},
});
