// Claimed beside proven as a table: each figure with a bar on the scale of the data sheet, and the range that
// cards of its kind usually reach behind it.
import type { Provider } from "../../src/api/types.ts";
import type { BesideSheet } from "../../src/verify/hardware/identify/data-sheet.ts";
import { Empty, Panel, Table } from "../parts/small.tsx";
import { type ClaimedDevice, claimedAndProven } from "./claimed-proven.ts";

const MARKS = { agrees: "✓", differs: "≠", unsure: "?", none: "" } as const;

export function ClaimedPanel({ provider }: { provider: Provider }) {
	const devices = claimedAndProven({
		...provider,
		refused: provider.lastVerdict === "invalid" ? (provider.lastCode ?? "invalid") : null,
	});
	const { claim } = provider;
	return (
		<Panel title="Claimed and proven" aside={claim === null ? undefined : `${claim.host.os}, ${claim.host.cpu}`}>
			{devices.length === 0 ? (
				<Empty title="Nothing is known of this host yet">
					It dialled in and has not been probed. Its first probe starts at once.
				</Empty>
			) : (
				<>
					<Table
						label="Claimed and proven, all devices"
						class="claims"
						hasBodies
						head={["Figure", "Claimed or data sheet", "Proven", "Is it good for this card?"]}
					>
						{devices.map((device) => (
							<DeviceRows key={device.devices} device={device} />
						))}
					</Table>
					<p class="dim legend">
						<span class="gauge-key" aria-hidden="true" /> what cards of this kind usually reach; the bar ends at the
						proven figure, the scale at the data sheet.
					</p>
				</>
			)}
		</Panel>
	);
}

function DeviceRows({ device: { devices, count, kind, title, lines } }: { device: ClaimedDevice }) {
	return (
		<tbody>
			<tr class="group">
				<th scope="rowgroup" colSpan={4}>
					{kind} {devices} <span class="dim">{title}</span>
					{count === 1 ? null : <span class="dim">, {count} of them; figures of the slowest</span>}
				</th>
			</tr>
			{lines.map((line) => (
				<tr key={line.what}>
					<td>{line.what}</td>
					<td>{line.claimed}</td>
					<td class="strong">{line.proven}</td>
					<td>
						<span class="judged">
							{line.beside === undefined ? null : <Gauge {...line.beside} />}
							<span class={line.mark === "none" ? "dim" : line.mark}>
								{MARKS[line.mark]} {line.mark === "differs" ? "differs: " : ""}
								{line.note}
							</span>
						</span>
					</td>
				</tr>
			))}
		</tbody>
	);
}

/** From nothing to the data sheet, or to the figure where that is above it. Its words stand beside it. */
function Gauge({ share, usual, isUsual }: BesideSheet) {
	const scale = 100 / Math.max(1, share);
	return (
		<svg class={isUsual ? "gauge" : "gauge is-low"} viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">
			<rect class="gauge-track" x="0" y="0" width="100" height="12" />
			<rect class="gauge-usual" x={usual.low * scale} y="0" width={(usual.high - usual.low) * scale} height="12" />
			<rect class="gauge-bar" x="0" y="4" width={share * scale} height="4" />
		</svg>
	);
}
