// `assay probes`: probes and their verdicts, newest first; with an id one probe with its figures and
// findings.
import type { Probe, ProbeSummary } from "../../api/types.ts";
import { codes } from "../../protocol/codes.ts";
import { formatBytes } from "../../protocol/format-number.ts";
import { apiOptions } from "../api-connection.ts";
import { command } from "../command.ts";
import { findProbe, findProvider } from "../find-by-name.ts";
import { text, whole } from "../options.ts";
import { attestedWord, countedAttestationLines } from "../print/attestation-lines.ts";
import { figureLines } from "../print/figures.ts";
import type { Paint } from "../print/paint.ts";
import { showOrWatch, watchOptions } from "../print/show-or-watch.ts";
import { type Column, formatAgo, left, orNull, right, shortId, shown, table, verdictStyle } from "../print/table.ts";
import { given } from "../proven-filters.ts";

/** Whether devices signed is a column where any did. */
export function probeColumns(
	nowMs: number,
	rows: readonly ProbeSummary[],
	withProvider: boolean,
): readonly Column<ProbeSummary>[] {
	const wordOf = ({ attestation }: ProbeSummary) => attestedWord(attestation);
	return [
		left("probe", ({ id }) => shortId(id)),
		...(withProvider ? [left<ProbeSummary>("provider", ({ providerId }) => shortId(providerId))] : []),
		right("began", ({ startedAtMs }) => formatAgo(startedAtMs, nowMs)),
		right("took", tookOf),
		left(
			"verdict",
			({ state, verdict }) => verdict ?? state,
			({ verdict }, paint) => verdictStyle(verdict, paint),
		),
		...(rows.some((row) => wordOf(row) !== null) ? [left<ProbeSummary>("attested", wordOf)] : []),
		left("code", ({ code }) => code),
		right("evidence", ({ evidenceBytes }) => orNull(evidenceBytes, formatBytes)),
		left("detail", ({ detail }) => shown(detail ?? "", 60)),
	];
}

function tookOf({ startedAtMs, finishedAtMs }: ProbeSummary): string {
	return finishedAtMs === null ? "" : `${((finishedAtMs - startedAtMs) / 1000).toFixed(1)} s`;
}

export function probeText(probe: Probe, nowMs: number, paint: Paint): string {
	const known = codes[probe.code as keyof typeof codes];
	return [
		`${verdictStyle(probe.verdict, paint)((probe.verdict ?? probe.state).toUpperCase())}  probe ${probe.id}`,
		`  of provider ${probe.providerId} over ${probe.link}, ${formatAgo(probe.startedAtMs, nowMs)}, took ${tookOf(probe) || "–"}`,
		`  by validator ${probe.validator}${probe.strength === null ? "" : `, ${probe.strength}`}`,
		...(probe.code === null
			? []
			: [`  ${probe.code}${probe.where ? ` at ${shown(probe.where)}` : ""}: ${shown(probe.detail ?? "", 300)}`]),
		...(known === undefined ? [] : [`  ${known.meaning}`, paint.dim(`  ${known.hint}`)]),
		...figureLines(probe, paint),
		...probe.findings.map(({ code, detail }) => `  ${paint.unsure("note")}  ${code}: ${shown(detail, 200)}`),
		...countedAttestationLines(probe.attestation, paint),
		...(probe.evidenceSha256 === null
			? []
			: [
					`  evidence ${probe.evidenceSha256}`,
					paint.dim(`  check it yourself: assay evidence ${shortId(probe.id)} --out FILE; assay verify FILE`),
				]),
	].join("\n");
}

export const probesCommand = command({
	name: "probes",
	about: "PROBE is an id or the beginning of one.",
	takes: "[PROBE]",
	options: {
		provider: text("NAME", "only probes of this provider (id, its beginning, or name)"),
		verdict: text("WORD", "valid, invalid or inconclusive"),
		state: text("WORD", "running, done or abandoned"),
		code: text("CODE", "only probes that ended with this code"),
		limit: whole("N", "rows, at most 500", [1, 500], 20),
		...watchOptions,
		...apiOptions,
	},
	exits: { 67: "no such probe", 69: "no answer" },

	async run(values, io, subject) {
		if (subject !== undefined)
			return showOrWatch(values, io, async (client) => {
				const probe = await client.getProbe({ params: { id: (await findProbe(client, subject)).id } });
				return { json: probe, text: (paint) => probeText(probe, Date.now(), paint) };
			});
		return showOrWatch(values, io, async (client) => {
			const { limit, code } = values;
			const providerId = values.provider === undefined ? undefined : (await findProvider(client, values.provider)).id;
			const words = { verdict: values.verdict as "valid" | undefined, state: values.state as "done" | undefined };
			const page = await client.listProbes({ query: { limit, ...given({ providerId, code, ...words }) } });
			return {
				json: page,
				text: (paint) => table(probeColumns(Date.now(), page.rows, true), page.rows, paint, "no probes"),
			};
		});
	},
});
