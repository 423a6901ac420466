// The verdict for people: one line that says it, then what was claimed beside what was proven, device by device.
// Pure: evidence and verdict in, text out. Strings of the claim were made safe for a terminal when the claim was parsed.
import { codes } from "../../protocol/codes.ts";
import type { DeviceClaim, EvidenceBody, Figure } from "../../protocol/probe/evidence.ts";
import type { Confidence, Identity, Verdict } from "../../protocol/probe/verdict.ts";
import { formatBytes, formatFigure, formatPercent } from "./format.ts";
import { isPeerFigure, peerTables } from "./peer-table.ts";

export interface Paint {
	good(text: string): string;
	bad(text: string): string;
	unsure(text: string): string;
	dim(text: string): string;
	strong(text: string): string;
}

const wrap = (open: number, close: number) => (text: string) => `\u001b[${open}m${text}\u001b[${close}m`;
const asIs = (text: string) => text;
export const colours: Paint = {
	good: wrap(32, 39),
	bad: wrap(31, 39),
	unsure: wrap(33, 39),
	dim: wrap(2, 22),
	strong: wrap(1, 22),
};
export const plain: Paint = { good: asIs, bad: asIs, unsure: asIs, dim: asIs, strong: asIs };

/** Colour only for a terminal, and never when NO_COLOR is set (no-color.org). */
export function paintFor(
	stream: { readonly isTTY?: boolean },
	env: Readonly<Record<string, string | undefined>>,
): Paint {
	return stream.isTTY === true && (env.NO_COLOR ?? "") === "" ? colours : plain;
}

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

const figureLabels: Readonly<Record<string, string>> = {
	"memory.resident": "memory resident",
	"memory.bandwidth": "memory speed",
	"disk.write": "write speed",
	"disk.read": "read speed",
	"disk.stored": "given back",
};

export function figureLabel(name: string): string {
	return (
		figureLabels[name] ??
		name
			.replace(/^gemm\.(\w+)\.sustained-ratio$/, "$1 last ÷ best tenth")
			.replace(/^scaling\.(\w+)$/, "$1 together ÷ alone")
			.replace(/^peer\.bandwidth\.(\d+)$/, "memory of device $1")
			.replace(/^gemm\./, "matrix ")
			.replace(/^fma\./, "scalar ")
			.replace(/\.(sustained|alone)$/, " $1")
	);
}

function claimedFor(device: DeviceClaim, name: string): string {
	return name === "memory.resident" || name === "disk.stored" ? formatBytes(device.memoryBytes) : "";
}

function placesNote(figure: Figure, confidence: readonly Confidence[]): string {
	const found = confidence.find((c) => c.challenge === figure.challenge);
	return found === undefined ? "" : `${found.samples} places`;
}

/** Of figures with one name (a probe may ask for one precision twice, in two shapes) the best: a device is at least that fast. */
export function bestFigures(figures: readonly Figure[]): Figure[] {
	const best = new Map<string, Figure>();
	for (const figure of figures) if (figure.value > (best.get(figure.name)?.value ?? -1)) best.set(figure.name, figure);
	return [...best.values()];
}

type Row = readonly [label: string, claimed: string, proven: string, note: string];

/** What the figures say the card is, and a word on how sure that is. */
function modelCells(identity: Identity | undefined): readonly [proven: string, note: string] {
	if (identity === undefined || identity.state === "unjudged") return ["", ""];
	const { state, profile, alike } = identity;
	const others = alike.filter((id) => id !== profile);
	const equals = others.length === 0 ? "" : `figures fit ${others.slice(0, 4).join(", ")} as well`;
	switch (state) {
		case "confirmed":
			return [profile ?? "", equals];
		case "consistent":
			return [`may be ${profile}`, equals];
		case "other":
			return [`rather ${profile}`, equals];
		case "unknown":
			return ["no known card", ""];
		case "unknown-name":
			return [profile === null ? "no known card" : `like ${profile}`, "the claimed name is not in the table"];
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
			formatFigure(figure.value, figure.unit),
			placesNote(figure, confidence),
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
		for (const [i, row] of group.rows.entries()) lines.push(print(i === 0 ? group.title : "", row, asIs));
	const figures = verdict.status === "valid" ? verdict.figures : [];
	// Peers are asked with fewer places, for what they read was shown at full strength before.
	const peers = new Set(figures.filter(isPeerFigure).map(({ challenge }) => challenge));
	const weakest = Math.max(0, ...confidence.filter((c) => !peers.has(c.challenge)).map((c) => c.skippedShareAt99));
	lines.push(...peerTables(body.claim.devices, figures, paint));
	if (weakest > 0)
		lines.push(
			paint.dim(
				`  whoever had skipped more than ${formatPercent(weakest)} of any challenge${peers.size > 0 ? " but the peers'" : ""} would have been caught 99 times in 100`,
			),
		);
	return lines.join("\n");
}

export function findingLines(verdict: Verdict, paint: Paint): string[] {
	if (verdict.status !== "valid") return [];
	return verdict.findings.map((f) => `  ${paint.unsure("note")}  ${f.code}: ${f.detail}`);
}
