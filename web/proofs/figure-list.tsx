// What a verdict says of one device, and what it found besides: the same two lists for a probe's page and for a file that is verified here.
import type { Probe } from "../../src/api/types.ts";
import { figureTitle, formatFigure } from "../parts/format.ts";

export function FigureList({
	figures,
}: {
	figures: readonly Pick<Probe["figures"][number], "name" | "value" | "unit">[];
}) {
	return (
		<ul class="figures">
			{figures.map((figure) => (
				<li key={figure.name}>
					<span class="dim">{figureTitle(figure.name)}</span>
					<span class="num" data-figure={figure.name}>
						{formatFigure(figure.value, figure.unit)}
					</span>
				</li>
			))}
		</ul>
	);
}

export function FindingList({ findings }: { findings: readonly Pick<Probe["findings"][number], "code" | "detail">[] }) {
	if (findings.length === 0) return null;
	return (
		<ul class="findings">
			{findings.map((finding) => (
				<li key={finding.code + finding.detail}>
					<code>{finding.code}</code> {finding.detail}
				</li>
			))}
		</ul>
	);
}
