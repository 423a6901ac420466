// The verdict for people: one line that says it, then what was claimed beside what was proven, device by
// device. Pure: evidence and verdict in, text out. Strings of the claim were made safe for a terminal when
// the claim was parsed.
import { codes } from "../../protocol/codes.ts";
import { formatBytes, formatPercent } from "../../protocol/format-number.ts";
import type { DeviceClaim, EvidenceBody, Figure } from "../../protocol/probe/evidence.ts";
import type { Confidence, Identity, Verdict } from "../../protocol/probe/verdict.ts";
import type { ValidRollCall } from "../../protocol/roll-call/roll-verdict.ts";
import { isPeerFigure } from "../../verify/hardware/peer-speeds.ts";
import { bestFigures, figureLabel } from "./figures.ts";
import { formatFigure } from "./format.ts";
import type { Paint } from "./paint.ts";
import { peerTables } from "./peer-table.ts";
import { sheetNote } from "./sheet-note.ts";
import { type Column, left, plural, table } from "./table.ts";

/** `isOwn`: the reader asked the host itself, and takes nobody's word. */
export function verdictLine(verdict: Verdict, paint: Paint, isOwn = false): string {
	if (verdict.status === "valid") {
		const noGpu = verdict.findings.some((f) => f.code === "NO_GPU_PROVEN");
		const host = verdict.host === null ? "" : ` and of the host ${verdict.host.slice(0, 16)}…`;
		const word = isOwn ? "" : `, on the word of ${verdict.signer.slice(0, 16)}…${host}`;
		return `${paint.good(paint.strong("VALID"))}${word}${noGpu ? "  no GPU proven" : ""}`;
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
	return found === undefined ? "" : plural(found.samples, figure.name === "train.gpt" ? "step" : "spot check");
}

type Row = readonly [title: string, label: string, claimed: string, proven: string, note: string];

/** What the figures say the card is, and how sure that is. */
function modelCells(identity: Identity | undefined): readonly [proven: string, note: string] {
	if (identity === undefined || identity.state === "unjudged") return ["", ""];
	const { profile, alike } = identity;
	const others = alike.filter((id) => id !== profile);
	const equals = others.length === 0 ? "" : `also matches ${others.slice(0, 4).join(", ")}`;
	const [proven, note] = modelWords(identity, equals);
	const basis = identity.basis === "data-sheets" ? "profile from data sheets" : "";
	return [proven, [note, basis].filter(Boolean).join("; ")];
}

function modelWords({ state, profile }: Identity, equals: string): readonly [proven: string, note: string] {
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
		case "unjudged":
			return ["", ""];
	}
}

function deviceRows(index: number, device: DeviceClaim, verdict: Verdict): Row[] {
	const title = `${device.kind} ${index}`;
	if (verdict.status !== "valid") return [[title, "model", device.name, "nothing", ""]];
	const { confidence, identity, figures } = verdict;
	const own = bestFigures(figures.filter((f) => f.device === index && !isPeerFigure(f)));
	const of = identity.find((i) => i.device === index);
	const [model, note] = modelCells(of);
	return [
		[title, "model", device.name, own.length === 0 ? "nothing" : model, note],
		...own.map((figure): Row => {
			const { name } = figure;
			const notes = [checksNote(figure, confidence), sheetNote(figure, of)].filter(Boolean).join(", ");
			return ["", figureLabel(name), claimedFor(device, name), formatFigure(figure), notes];
		}),
	];
}

const columns: readonly Column<Row>[] = [
	left("", ([title]) => title, "strong"),
	left("", ([, label]) => label),
	left("claimed", ([, , claimed]) => claimed, "dim"),
	left("proven", ([, , , proven]) => proven),
	left("", ([, , , , note]) => note, "dim"),
];

/** Claimed beside proven. For an invalid verdict the figures are left out: nothing of such a file counts. */
export function verdictTable(body: EvidenceBody, verdict: Verdict, paint: Paint): string {
	const confidence = verdict.status === "valid" ? verdict.confidence : [];
	const rows = body.claim.devices.flatMap((device, index) => deviceRows(index, device, verdict));
	const lines = [table(columns, rows, paint)];
	const figures = verdict.status === "valid" ? verdict.figures : [];
	// Reads between devices, and hop by hop, get fewer spot checks: what they read was proven at full strength
	// before.
	const isRead = (figure: Figure) => isPeerFigure(figure) || figure.name === "memory.latency";
	const reads = figures.filter(isRead);
	// A challenge without a figure proves no speed. Of a training run a few steps are drawn; how many stands
	// beside its figure.
	const counted = new Set(
		figures.filter((figure) => !isRead(figure) && figure.name !== "train.gpt").map(({ challenge }) => challenge),
	);
	const weakest = Math.max(0, ...confidence.filter((c) => counted.has(c.challenge)).map((c) => c.skippedShareAt99));
	lines.push(...peerTables(body.claim.devices, figures, paint));
	if (weakest > 0)
		lines.push(
			paint.dim(
				`  99 % confidence that no more than ${formatPercent(weakest)} of any challenge was skipped${reads.length > 0 ? " (reads of what was proven before excepted)" : ""}`,
			),
		);
	return lines.join("\n");
}

export function findingLines(verdict: Verdict | ValidRollCall, paint: Paint): string[] {
	if (verdict.status !== "valid") return [];
	return verdict.findings.map((f) => `  ${paint.unsure("note")}  ${f.code}: ${f.detail}`);
}
