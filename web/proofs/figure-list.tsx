// What a verdict says of one device, and what it found besides: the same two lists for a probe's page and for
// a file that is verified here.
import type { Probe } from "../../src/api/types.ts";
import { bestFigures } from "../../src/verify/hardware/best-figures.ts";
import { identityWords, type NamedIdentity } from "../../src/verify/hardware/identify/identity-words.ts";
import { figureTitle, formatFigure } from "../parts/format.ts";

/** `claimed`: the name that the host says. Nothing for a device without figures. */
export function DeviceFigures(p: {
	device: number;
	kind: string;
	identity: NamedIdentity | undefined;
	claimed: string;
	figures: readonly Pick<Probe["figures"][number], "device" | "name" | "value" | "unit">[];
}) {
	const own = bestFigures(p.figures.filter(({ device }) => device === p.device));
	if (own.length === 0) return null;
	const { card, note } = identityWords(p.identity);
	return (
		<div class="device-block" data-device={p.device}>
			<h3>
				Device {p.device}: <span data-card>{card || p.claimed}</span>{" "}
				<span class="dim">
					{p.kind}
					{card === "" ? null : (
						<>
							, <span data-identity>{note}</span>, claimed: {p.claimed}
						</>
					)}
				</span>
			</h3>
			<ul class="figures">
				{own.map((figure) => (
					<li key={figure.name}>
						<span class="dim">{figureTitle(figure.name)}</span>
						<span class="num" data-figure={figure.name}>
							{formatFigure(figure.value, figure.unit, figure.name)}
						</span>
					</li>
				))}
			</ul>
		</div>
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
