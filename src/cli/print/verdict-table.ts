// The verdict for people: one line that says it, then what was claimed beside what was proven, device by
// device. Pure: evidence and verdict in, text out. Strings of the claim were made safe for a terminal when
// the claim was parsed.
import { codes } from "../../protocol/codes.ts";
import { formatBytes, formatPercent } from "../../protocol/format-number.ts";
import type { DeviceClaim, EvidenceBody, Figure } from "../../protocol/probe/evidence.ts";
import type { Confidence, Identity, Verdict } from "../../protocol/probe/verdict.ts";
import { isPeerFigure } from "../../verify/hardware/peer-speeds.ts";
import { bestFigures, figureLabel } from "./figures.ts";
import { formatFigure } from "./format.ts";
import type { Paint } from "./paint.ts";
import { peerTables } from "./peer-table.ts";
import { plural } from "./table.ts";

export function verdictLine(verdict: Verdict, paint: Paint): string {
	if (verdict.status === "valid") {
		const noGpu = verdict.findings.some((f) => f.code === "NO_GPU_PROVEN");
		return `${paint.good(paint.strong("VALID"))}${noGpu ? "  no GPU proven" : ""}`;
	}
	const explained = codes[verdict.code as keyof typeof codes];
	const head =
		verdict.status === "invalid" ? paint.bad(paint.strong("INVALID")) : paint.unsure(paint.strong("INCONCLUSIVE"));
	const lines = [
		`${head}  ${verdict.code}${verdict.where === "" ? "" : ` at ${verdict.where}`}`,
		`  ${verdict.detail}`,
	];
	if (explained !== undefined) lines.push(`  ${explained.meaning}`, paint.dim(`  ${explained.hint}`));
	return lines.filter((line) => line.trim() !== "").join("\n");
}

function claimedFor(device: DeviceClaim, name: string): string {
	return name === "memory.resident" || name === "disk.stored" ? formatBytes(device.memoryBytes) : "";
}

function checksNote(figure: Figure, confidence: readonly Confidence[]): string {
	const found = confidence.find((c) => c.challenge === figure.challenge);
	return found === undefined ? "" : plural(found.samples, "spot check");
}

type Row = readonly [label: string, claimed: string, proven: string, note: string];

/** What the figures say the card is, and how sure that is. */
function modelCells(identity: Identity | undefined): readonly [proven: string, note: string] {
	if (identity === undefined || identity.state === "unjudged") return ["", ""];
	const { state, profile, alike } = identity;
	const others = alike.filter((id) => id !== profile);
	const equals = others.length === 0 ? "" : `also matches ${others.slice(0, 4).join(", ")}`;
	switch (state) {
		case "confirmed":
			return [profile ?? "", equals];
		case "consistent":
			return [`possibly ${profile}`, equals];
		case "other":
			return [`more like ${profile}`, equals];
		case "unknown":
			return ["no known card", ""];
		case "unknown-name":
			return [profile === null ? "no known card" : `like ${profile}`, "the claimed model is not in docs/profiles.md"];
	}
}

function deviceRows(index: number, device: DeviceClaim, verdict: Verdict): Row[] {
	if (verdict.status !== "valid") return [["model", device.name, "nothing", ""]];
	const { confidence, identity, figures } = verdict;
	const own = bestFigures(figures.filter((f) => f.device === index && !isPeerFigure(f)));
	const [model, note] = modelCells(identity.find((i) => i.device === index));
	const rows: Row[] = [["model", device.name, own.length === 0 ? "nothing" : model, note]];
	for (const figure of own)
		rows.push([
			figureLabel(figure.name),
			claimedFor(device, figure.name),
			formatFigure(figure),
			checksNote(figure, confidence),
		]);
	return rows;
}

/** Claimed beside proven. For an invalid verdict the figures are left out: nothing of such a file counts. */
export function verdictTable(body: EvidenceBody, verdict: Verdict, paint: Paint): string {
	const confidence = verdict.status === "valid" ? verdict.confidence : [];
	const groups = body.claim.devices.map((device, index) => ({
		title: `${device.kind} ${index}`,
		rows: deviceRows(index, device, verdict),
	}));
	const header: Row = ["", "claimed", "proven", ""];
	const all = [header, ...groups.flatMap((g) => g.rows)];
	const width = (column: 0 | 1 | 2) => Math.max(...all.map((row) => row[column].length)) + 2;
	const [w0, w1, w2] = [width(0), width(1), width(2)];
	const titleWidth = Math.max(...groups.map((g) => g.title.length), 0) + 2;
	const print = (title: string, row: Row, style: (text: string) => string) =>
		`  ${paint.strong(title.padEnd(titleWidth))}${style(row[0].padEnd(w0))}${paint.dim(row[1].padEnd(w1))}${row[2].padEnd(w2)}${paint.dim(row[3])}`.trimEnd();
	const lines = [print("", header, paint.dim)];
	for (const group of groups)
		for (const [i, row] of group.rows.entries()) lines.push(print(i === 0 ? group.title : "", row, (text) => text));
	const figures = verdict.status === "valid" ? verdict.figures : [];
	// Reads between devices get fewer spot checks: what they read was proven at full strength before.
	const peers = new Set(figures.filter(isPeerFigure).map(({ challenge }) => challenge));
	const weakest = Math.max(0, ...confidence.filter((c) => !peers.has(c.challenge)).map((c) => c.skippedShareAt99));
	lines.push(...peerTables(body.claim.devices, figures, paint));
	if (weakest > 0)
		lines.push(
			paint.dim(
				`  99 % confidence that no more than ${formatPercent(weakest)} of any challenge was skipped${peers.size > 0 ? " (reads between devices excepted)" : ""}`,
			),
		);
	return lines.join("\n");
}

export function findingLines(verdict: Verdict, paint: Paint): string[] {
	if (verdict.status !== "valid") return [];
	return verdict.findings.map((f) => `  ${paint.unsure("note")}  ${f.code}: ${f.detail}`);
}
