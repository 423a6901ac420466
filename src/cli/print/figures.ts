// Proven figures in words: their labels, and lines device by device. Pure.
import type { Probe } from "../../api/types.ts";
import { bestFigures } from "../../verify/hardware/best-figures.ts";
import { isPeerFigure } from "../../verify/hardware/peer-speeds.ts";
import { formatFigure } from "./format.ts";
import type { Paint } from "./paint.ts";
import { shown } from "./table.ts";

const figureLabels: Readonly<Record<string, string>> = {
	"memory.resident": "memory resident",
	"memory.bandwidth": "memory speed",
	"memory.latency": "memory latency",
	"memory.held": "memory held",
	"disk.write": "write speed",
	"disk.read": "read speed",
	"disk.stored": "disk space verified",
	"train.gpt": "training, small GPT",
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
			.replace(/\.least$/, "")
			.replace(/\.(sustained|alone)$/, " $1")
	);
}

/** What was proven, device by device, the best of each. */
export function figureLines({ devices, figures }: Pick<Probe, "devices" | "figures">, paint: Paint): string[] {
	return devices.flatMap(({ device, kind, claimedName, profile }) => {
		const own = bestFigures(figures.filter((figure) => figure.device === device && !isPeerFigure(figure)));
		if (own.length === 0) return [];
		const values = own.map((figure) => `${figureLabel(figure.name)} ${formatFigure(figure)}`);
		const isNamed = profile === null ? "" : `, proven: ${shown(profile)}`;
		const lines = [`          ${paint.strong(`${kind} ${device}`)}  ${shown(claimedName)}${paint.dim(isNamed)}`];
		for (let i = 0; i < values.length; i += 3) lines.push(`                 ${values.slice(i, i + 3).join(" · ")}`);
		return lines;
	});
}
