// What a device says of itself beside what it proved, line by line, with what to make of a difference. Pure; rules only for display, no verdict.
import type { Provider } from "../../src/api/types.ts";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { profilesNamed } from "../../src/verify/hardware/identify/profiles.ts";
import { figureTitle, formatFigure } from "../parts/format.ts";

type Mark = "agrees" | "differs" | "unsure" | "none";

interface ClaimLine {
	readonly what: string;
	/** Host's words, or what the data sheet of the claimed card says. */
	readonly claimed: string;
	readonly proven: string;
	readonly mark: Mark;
	readonly note: string;
}

export interface ClaimedDevice {
	readonly device: number;
	readonly kind: string;
	readonly title: string;
	readonly lines: readonly ClaimLine[];
}

/** Proven ÷ claimed bytes below this is a difference; drivers and ECC keep some back (0.95 on an H200, 0.93 with ECC on GDDR). */
const LEAST_MEMORY_SHARE = 0.85;
/** Proven ÷ data sheet: what docs/profiles.md expects at the least of matrix and other units. */
const LEAST_SPEED_SHARE = { gemm: 0.3, fma: 0.8, memory: 0.75 } as const;

const IDENTITY: Readonly<Record<string, readonly [Mark, string]>> = {
	confirmed: ["agrees", "matches this card; no cheaper card could produce these results"],
	consistent: ["agrees", "nothing speaks against it"],
	other: ["differs", "another card explains the figures better"],
	unknown: ["unsure", "no known card explains the figures"],
	"unknown-name": ["unsure", "a name that no profile has"],
	unjudged: ["none", "not judged"],
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
	return [...indexes]
		.sort((a, b) => a - b)
		.map((device) => {
			const said = claim?.devices[device];
			const known = devices.find((one) => one.device === device);
			const own = figures.filter((figure) => figure.device === device && !figure.name.startsWith("peer."));
			const kind = said?.kind ?? known?.kind ?? "";
			const name = said?.name ?? known?.claimedName ?? "";
			const memoryBytes = said?.memoryBytes ?? known?.memoryBytes ?? 0;
			const lines: ClaimLine[] = [];
			if (kind === "gpu") {
				const [mark, note] =
					known !== undefined
						? (IDENTITY[known.identity] ?? ["none", ""])
						: refused !== null
							? (["differs", `the proof was refused, ${refused}`] as const)
							: (["none", "not proven yet"] as const);
				lines.push({ what: "Card", claimed: name, proven: known?.profile ?? "–", mark, note });
			}
			lines.push(memoryLine(kind, memoryBytes, own.find((figure) => figure.name === memoryFigure(kind))?.value));
			const [profile] = kind === "gpu" ? profilesNamed(name) : [];
			for (const { name: figure, value, unit } of own) {
				if (figure === memoryFigure(kind)) continue;
				const [family, precision = ""] = figure.split(".");
				const isPlain = figure.split(".").length === 2;
				const sheet =
					figure === "memory.bandwidth"
						? profile?.bytesPerS
						: isPlain && (family === "gemm" || family === "fma")
							? profile?.rates[precision as keyof typeof profile.rates]
							: undefined;
				lines.push(speedLine(figure, value, unit, sheet));
			}
			return { device, kind, title: name, lines };
		});
}

const memoryFigure = (kind: string) => (kind === "disk" ? "disk.stored" : "memory.resident");

function memoryLine(kind: string, claimed: number, proven: number | undefined): ClaimLine {
	const what = kind === "disk" ? "Space" : kind === "cpu" ? "RAM" : "Memory";
	const line = { what, claimed: formatBytes(claimed), proven: proven === undefined ? "–" : formatBytes(proven) };
	if (proven === undefined) return { ...line, mark: "none", note: "not proven" };
	const share = claimed === 0 ? 0 : proven / claimed;
	const percent = `${(100 * share).toFixed(share > 0.1 ? 0 : 1)} % proven`;
	// A probe fills a card; of RAM and disks it samples a part, by its plan.
	if (kind !== "gpu") return { ...line, mark: "none", note: `${percent}; the probe asks for a part only` };
	return { ...line, mark: share >= LEAST_MEMORY_SHARE ? "agrees" : "differs", note: percent };
}

function speedLine(figure: string, value: number, unit: string, sheet: number | undefined): ClaimLine {
	const line = { what: figureTitle(figure), proven: formatFigure(value, unit, figure) };
	if (sheet === undefined) return { ...line, claimed: "–", mark: "none", note: "" };
	const family = figure.split(".")[0] as keyof typeof LEAST_SPEED_SHARE;
	const share = value / sheet;
	return {
		...line,
		claimed: `${formatFigure(sheet, unit, figure)} (data sheet)`,
		mark: share >= (LEAST_SPEED_SHARE[family] ?? 0) ? "agrees" : "differs",
		note: `${(100 * share).toFixed(0)} % of the data sheet`,
	};
}
