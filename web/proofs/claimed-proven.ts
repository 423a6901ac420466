// What a device says of itself beside what it proved, line by line: how much of the data sheet that is, and
// whether cards of its kind usually reach that. Equal cards of a host are one block, with the figures of the
// slowest. Pure; rules only for display, no verdict.
import type { Provider } from "../../src/api/types.ts";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { type BesideSheet, besideDataSheet } from "../../src/verify/hardware/identify/data-sheet.ts";
import { identityWords } from "../../src/verify/hardware/identify/identity-words.ts";
import { profilesNamed } from "../../src/verify/hardware/identify/profiles.ts";
import { figureTitle, formatFigure } from "../parts/format.ts";

type Mark = "agrees" | "differs" | "unsure" | "none";

interface ClaimLine {
	readonly what: string;
	/** Host's words, or what the data sheet of the card says. */
	readonly claimed: string;
	readonly proven: string;
	readonly mark: Mark;
	readonly note: string;
	/** Of what can be compared by size. */
	readonly value?: number;
	/** Where the data sheet has such a figure: to be drawn. */
	readonly beside?: BesideSheet;
}

export interface ClaimedDevice {
	/** "0", or "0–7" of equal ones. */
	readonly devices: string;
	readonly count: number;
	readonly kind: string;
	readonly title: string;
	readonly lines: readonly ClaimLine[];
}

type Known = Provider["devices"][number];

/**
 * Proven ÷ claimed bytes below this is a difference; drivers and ECC keep some back (0.95 on an H200, 0.93
 * with ECC on GDDR).
 */
const LEAST_MEMORY_SHARE = 0.85;

const IDENTITY: Readonly<Record<string, Mark>> = {
	confirmed: "agrees",
	consistent: "unsure",
	other: "differs",
	unknown: "unsure",
	"unknown-name": "unsure",
};

export function claimedAndProven({
	claim,
	devices,
	figures,
	refused = null,
}: Pick<Provider, "claim" | "devices" | "figures"> & {
	/** The code of a last verdict that is invalid: then nothing of what is claimed stands. */
	readonly refused?: string | null;
}): ClaimedDevice[] {
	const indexes = new Set([...(claim?.devices.keys() ?? []), ...devices.map(({ device }) => device)]);
	const blocks: { first: number; last: number; key: string; block: ClaimedDevice }[] = [];
	for (const device of [...indexes].sort((a, b) => a - b)) {
		const said = claim?.devices[device];
		const known = devices.find((one) => one.device === device);
		const own = figures.filter((figure) => figure.device === device && !figure.name.startsWith("peer."));
		const kind = said?.kind ?? known?.kind ?? "";
		const title = said?.name ?? known?.claimedName ?? "";
		const memoryBytes = said?.memoryBytes ?? known?.memoryBytes ?? 0;
		const lines = linesOf({ kind, title, memoryBytes, known, own, refused });
		// Proven to be the same, with the same figures: what was refused stays apart, card by card.
		const names = lines.map(({ what }) => what).join();
		const key = `${kind} ${title} ${known?.profile ?? device} ${known?.identity} ${known?.alike} ${memoryBytes} ${names}`;
		const before = blocks.at(-1);
		if (before !== undefined && before.key === key && before.last === device - 1) {
			before.last = device;
			before.block = withAnother(before.block, lines, `${before.first}–${device}`);
		} else
			blocks.push({ first: device, last: device, key, block: { devices: `${device}`, count: 1, kind, title, lines } });
	}
	return blocks.map(({ block }) => block);
}

/** The slower of two for every figure. */
function withAnother(block: ClaimedDevice, lines: readonly ClaimLine[], devices: string): ClaimedDevice {
	const slower = block.lines.map((line, i) => {
		const other = lines[i]!;
		return (other.value ?? Number.POSITIVE_INFINITY) < (line.value ?? Number.NEGATIVE_INFINITY) ? other : line;
	});
	return { ...block, devices, count: block.count + 1, lines: slower };
}

function linesOf(o: {
	kind: string;
	title: string;
	memoryBytes: number;
	known: Known | undefined;
	own: Provider["figures"];
	refused: string | null;
}): ClaimLine[] {
	const { kind, known, own } = o;
	const isGpu = kind === "gpu";
	const profile = isGpu ? (known?.profile ?? profilesNamed(o.title)[0]?.id ?? null) : null;
	const besideOf = (figure: { readonly name: string; readonly value: number }) =>
		profile === null ? null : besideDataSheet(profile, figure);
	const proven = own.find(({ name }) => name === memoryFigure(kind));
	return [
		...(isGpu ? [cardLine(o.title, known, o.refused)] : []),
		memoryLine(kind, o.memoryBytes, proven?.value, proven === undefined ? null : besideOf(proven)),
		...own.filter((figure) => figure !== proven).map((figure) => speedLine(figure, besideOf(figure))),
	];
}

function cardLine(title: string, known: Known | undefined, refused: string | null): ClaimLine {
	if (known === undefined) {
		const [mark, note] =
			refused === null
				? (["none", "not proven yet"] as const)
				: (["differs", `the proof was refused, ${refused}`] as const);
		return { what: "Card", claimed: title, proven: "–", mark, note };
	}
	const { identity: state, profile, alike = null } = known;
	const { card, note } = identityWords({ state, profile, alike });
	return {
		what: "Card",
		claimed: title,
		proven: card || "–",
		mark: IDENTITY[state] ?? "none",
		note: note || "not judged",
	};
}

const memoryFigure = (kind: string) => (kind === "disk" ? "disk.stored" : "memory.resident");

function memoryLine(kind: string, claimed: number, proven: number | undefined, beside: BesideSheet | null): ClaimLine {
	const what = kind === "disk" ? "Space" : kind === "cpu" ? "RAM" : "Memory";
	const line = { what, claimed: formatBytes(claimed), proven: proven === undefined ? "–" : formatBytes(proven) };
	if (proven === undefined) return { ...line, mark: "none", note: "not proven" };
	const share = claimed === 0 ? 0 : proven / claimed;
	const percent = `${(100 * share).toFixed(share > 0.1 ? 0 : 1)} % proven`;
	// A probe fills a card; of RAM and disks it samples a part, by its plan.
	if (kind !== "gpu")
		return { ...line, mark: "none", note: `${percent}; the probe asks for a part only`, value: proven };
	const mark = share >= LEAST_MEMORY_SHARE ? "agrees" : "differs";
	return { ...line, mark, note: percent, value: proven, ...(beside === null ? {} : { beside }) };
}

function speedLine({ name, value, unit }: Provider["figures"][number], beside: BesideSheet | null): ClaimLine {
	const line = { what: figureTitle(name), proven: formatFigure(value, unit, name), value };
	if (beside === null) return { ...line, claimed: "–", mark: "none", note: "" };
	const { share, usual, isUsual } = beside;
	const percent = (part: number) => (100 * part).toFixed(0);
	const range = `usual ${percent(usual.low)}–${percent(usual.high)}`;
	return {
		...line,
		claimed: formatFigure(Math.round(value / share), unit, name),
		mark: isUsual ? "agrees" : "differs",
		note: `${percent(share)} % of the data sheet, ${range}`,
		beside,
	};
}
