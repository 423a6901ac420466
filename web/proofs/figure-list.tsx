// What a verdict says of one device, and what it found besides: the same two lists for a probe's page and for
// a file that is verified here.
import type { Probe } from "../../src/api/types.ts";
import { figureTitle, formatFigure } from "../parts/format.ts";

const IDENTITY: Readonly<Record<string, string>> = {
	confirmed: "the figures confirm it",
	consistent: "nothing speaks against it",
	other: "another card fits better",
	unknown: "no known card fits",
	"unknown-name": "a name that no profile has",
};

/** `says`: the name that the host claims. Nothing for a device without figures. */
export function DeviceFigures(p: {
	device: number;
	kind: string;
	identity: string | undefined;
	profile: string | null | undefined;
	says: string;
	figures: readonly Pick<Probe["figures"][number], "device" | "name" | "value" | "unit">[];
}) {
	const own = p.figures.filter(({ device }) => device === p.device);
	if (own.length === 0) return null;
	return (
		<div class="device-block">
			<h3>
				Device {p.device}: {p.profile ?? p.says}{" "}
				<span class="dim">
					{[p.kind, IDENTITY[p.identity ?? ""] ?? "", p.profile ? `claimed: ${p.says}` : ""]
						.filter((one) => one !== "")
						.join(", ")}
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
