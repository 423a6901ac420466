// Who reads whose memory how fast: a heat map, rows read, columns are read. Numbers in the cells: the colour
// only helps.

import { formatRate } from "../../src/protocol/format-number.ts";
import type { PeerSpeeds } from "../../src/verify/hardware/peer-speeds.ts";
import { Scroll } from "../parts/small.tsx";

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
								if (speed === undefined)
									return (
										<td key={from} class="num heat-none">
											–
										</td>
									);
								const rate = formatRate(speed, "B/s");
								return (
									<td
										key={from}
										class="num"
										style={{ "--heat": `${46 * (speed / most)}%` }}
										title={`device ${reader} reads device ${from} at ${rate}`}
									>
										{rate}
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
