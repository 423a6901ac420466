// Who reads whose memory how fast: a heat map, rows read, columns are read. Numbers in the cells: the colour only helps.

import { formatRate } from "../../src/protocol/format-number.ts";
import { Scroll } from "../parts/small.tsx";

const NAME = /^peer\.bandwidth\.(\d+)$/;

export interface PeerSpeeds {
	readonly devices: readonly number[];
	/** By the two devices, first the one that reads. */
	readonly speeds: ReadonlyMap<string, number>;
	readonly most: number;
}

export function peerSpeeds(
	figures: readonly { readonly device: number; readonly name: string; readonly value: number }[],
): PeerSpeeds | null {
	const speeds = new Map<string, number>();
	for (const { device, name, value } of figures) {
		const from = NAME.exec(name)?.[1];
		if (from !== undefined) speeds.set(`${device} ${from}`, value);
	}
	if (speeds.size === 0) return null;
	const devices = [...new Set([...speeds.keys()].flatMap((pair) => pair.split(" ").map(Number)))].sort((a, b) => a - b);
	return { devices, speeds, most: Math.max(...speeds.values()) };
}

export function PeerMap({ peers: { devices, speeds, most } }: { peers: PeerSpeeds }) {
	return (
		<Scroll label="Speeds between devices">
			<table class="heat">
				<caption class="dim">Each row reads the memory of each column</caption>
				<thead>
					<tr>
						<th scope="col">reads</th>
						{devices.map((from) => (
							<th key={from} scope="col">
								{from}
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					{devices.map((reader) => (
						<tr key={reader}>
							<th scope="row">{reader}</th>
							{devices.map((from) => {
								const speed = speeds.get(`${reader} ${from}`);
								return (
									<td
										key={from}
										class={`num heat-${speed === undefined ? "none" : Math.max(1, Math.ceil((5 * speed) / most))}`}
										title={
											speed === undefined
												? undefined
												: `device ${reader} reads device ${from} at ${formatRate(speed, "B/s")}`
										}
									>
										{speed === undefined ? "–" : formatRate(speed, "B/s")}
									</td>
								);
							})}
						</tr>
					))}
				</tbody>
			</table>
		</Scroll>
	);
}
