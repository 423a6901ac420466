// A certificate of a probe as one HTML page that needs nothing else: verdict, figures, curve, signer, and how
// to check it. Pure. Everything in an evidence file is hostile: every text is escaped, and the page may load
// and run nothing.
import { codes } from "../../protocol/codes.ts";
import { formatBytes, formatPercent } from "../../protocol/format-number.ts";
import type { Evidence } from "../../protocol/probe/evidence.ts";
import { type Verdict, WHO_COULD_LIE } from "../../protocol/probe/verdict.ts";
import { isPeerFigure } from "../../verify/hardware/peer-speeds.ts";
import { sustainedRuns } from "../../verify/hardware/throughput-curve.ts";
import { bestFigures, figureLabel } from "../print/figures.ts";
import { formatDuration, formatFigure } from "../print/format.ts";
import { sheetNote } from "../print/sheet-note.ts";
import { cardsOf } from "./cards-of.ts";
import { escaped } from "./escaped.ts";

export interface ReportOf {
	readonly evidence: Evidence;
	readonly verdict: Verdict;
	/** Of the evidence file: its name as it shall be shown, and what it must be. */
	readonly file: string;
	readonly fileBytes: number;
	readonly sha256: string;
	/** When the report was made. */
	readonly atMs: number;
}

const STYLE = `:root{color-scheme:light dark;--ink:#1c2430;--soft:#5b6675;--line:#d5dbe3;--back:#fff;--good:#0a7a45;--bad:#b3261e;--unsure:#8a5a00}
@media(prefers-color-scheme:dark){:root{--ink:#e6ebf2;--soft:#9aa7b8;--line:#38424f;--back:#14181e;--good:#4fce8d;--bad:#ff8a80;--unsure:#ffc766}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}.valid{color:var(--good)}.invalid{color:var(--bad)}.inconclusive{color:var(--unsure)}
p{margin:.3rem 0}.soft{color:var(--soft)}code{font:13px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600}svg{display:block;width:100%;height:6rem}polyline{fill:none;stroke:var(--good);stroke-width:2;vector-effect:non-scaling-stroke}
@media print{body{margin:0}}`;

function verdictHead({ verdict, evidence }: ReportOf): string {
	const word = `<h1 class="${verdict.status}">${verdict.status.toUpperCase()}</h1>`;
	if (verdict.status === "valid")
		return `${word}<p>${escaped(cardsOf(evidence.envelope.body.claim, verdict))}</p><p class="soft">Strength ${verdict.strength}: ${escaped(WHO_COULD_LIE[verdict.strength])}.</p>`;
	const known = codes[verdict.code as keyof typeof codes];
	const why = known === undefined ? "" : `<p>${escaped(known.meaning)}</p><p class="soft">${escaped(known.hint)}</p>`;
	return `${word}<p><code>${escaped(verdict.code)}</code> ${escaped(verdict.where)} ${escaped(verdict.detail)}</p>${why}`;
}

function factRows({ evidence, verdict, file, fileBytes, sha256 }: ReportOf): string {
	const { probe } = evidence.envelope.body;
	const host = verdict.status === "valid" ? verdict.host : null;
	const rows: [string, string][] = [
		["Target", escaped(probe.target)],
		["Date", `${new Date(probe.startedAtMs).toISOString()}, took ${formatDuration(probe.finishedAtUs)}`],
		["Signer", `<code>${escaped(probe.verifier)}</code>`],
		...(host === null ? [] : [["Countersigned by the host", `<code>${escaped(host)}</code>`] as [string, string]]),
		["Probe", `<code>${escaped(probe.id)}</code>`],
		["Evidence file", `${escaped(file)}, ${formatBytes(fileBytes)}<br><code>sha256 ${escaped(sha256)}</code>`],
	];
	return tableOf(
		[],
		rows.map(([name, value]) => [`<strong>${name}</strong>`, value]),
	);
}

/** Cells are HTML already. */
function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
	const row = (cells: readonly string[], tag: string): string =>
		`<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;
	const top = head.length === 0 ? "" : `<thead>${row(head, "th")}</thead>`;
	return `<div class="wide"><table>${top}<tbody>${rows.map((cells) => row(cells, "td")).join("")}</tbody></table></div>`;
}

function figureTables({ evidence, verdict }: ReportOf): string {
	if (verdict.status !== "valid") return "";
	const { devices } = evidence.envelope.body.claim;
	return devices
		.map((device, index) => {
			const own = bestFigures(verdict.figures.filter((one) => one.device === index && !isPeerFigure(one)));
			if (own.length === 0) return "";
			const identity = verdict.identity.find((one) => one.device === index);
			const rows = own.map((figure) => {
				const checks = verdict.confidence.find(({ challenge }) => challenge === figure.challenge);
				const skipped =
					checks === undefined ? "" : `${checks.samples}, at most ${formatPercent(checks.skippedShareAt99)} skipped`;
				const cells = [figureLabel(figure.name), formatFigure(figure), sheetNote(figure, identity), skipped];
				return cells.map(escaped);
			});
			const head = ["Figure", "Proven, at least", "Beside the data sheet", "Spot checks (99 % sure)"];
			const basis =
				identity?.basis === "data-sheets"
					? `<p class="soft">${escaped(`${identity.profile}: profile from data sheets, no card of this kind was ever measured.`)}</p>`
					: "";
			return `<h2>${device.kind} ${index}: ${escaped(device.name)}</h2>${basis}${tableOf(head, rows)}`;
		})
		.join("");
}

function curves({ evidence, verdict }: ReportOf): string {
	if (verdict.status !== "valid") return "";
	return sustainedRuns(evidence)
		.filter(({ curve }) => curve.length > 1)
		.map(({ spec, curve }) => {
			const most = Math.max(...curve.map(({ opsPerS }) => opsPerS));
			const end = curve.at(-1)!.endUs;
			const points = curve.map(
				({ endUs, opsPerS }) => `${((1000 * endUs) / end).toFixed(1)},${(100 - (95 * opsPerS) / most).toFixed(1)}`,
			);
			const title = `device ${spec.device}, ${spec.precision} for ${formatDuration(end)}`;
			return `<h2>Speed over time: ${escaped(title)}</h2><svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label="${escaped(title)}"><polyline points="${points.join(" ")}"/></svg>`;
		})
		.join("");
}

function findings({ verdict }: ReportOf): string {
	if (verdict.status !== "valid" || verdict.findings.length === 0) return "";
	const rows = verdict.findings.map(({ code, detail }) => [`<code>${escaped(code)}</code>`, escaped(detail)]);
	return `<h2>Notes</h2>${tableOf([], rows)}`;
}

export function htmlReport(report: ReportOf): string {
	const { file, sha256, atMs, evidence } = report;
	const name = /^[\w.-]+$/.test(file) ? file : "FILE";
	return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(`assay: ${report.verdict.status}, ${evidence.envelope.body.probe.target}`)}</title><style>${STYLE}</style></head><body>
${verdictHead(report)}
${factRows(report)}
${figureTables(report)}
${curves(report)}
${findings(report)}
<h2>How to check it</h2>
<p>This page proves nothing by itself: it says what the evidence file proves. Check that file:</p>
<p><code>sha256sum ${escaped(name)}</code> must give <code>${escaped(sha256)}</code></p>
<p><code>npx assay verify ${escaped(name)} --signer ${escaped(evidence.envelope.body.probe.verifier)}</code> must say VALID.</p>
<p class="soft">Made by assay at ${new Date(atMs).toISOString()}.</p>
</body></html>
`;
}
