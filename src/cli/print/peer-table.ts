// Who reads whose memory how fast: one square table for each kind of device that has peers. Pure.
import { threeDigits, unitFor } from "../../protocol/format-number.ts";
import type { DeviceClaim, Figure } from "../../protocol/probe/evidence.ts";
import { peerSpeeds } from "../../verify/hardware/peer-speeds.ts";
import type { Paint } from "./paint.ts";

/** Rows read, columns are read. A pair that was not proven, and a device with itself, is a dash. */
export function peerTables(devices: readonly DeviceClaim[], figures: readonly Figure[], paint: Paint): string[] {
	const peers = peerSpeeds(figures);
	if (peers === null) return [];
	const unit = unitFor(peers.most, "B/s");
	return (["gpu", "cpu"] as const).flatMap((kind) => {
		const own = peers.devices.filter((i) => devices[i]?.kind === kind);
		if (own.length === 0) return [];
		const names = own.map((i) => `${kind} ${i}`);
		const cells = own.map((reader) =>
			own.map((from) => {
				const speed = peers.speeds.get(`${reader} ${from}`);
				return speed === undefined ? "–" : threeDigits(speed / unit.scale);
			}),
		);
		const width = Math.max(...[...names, ...cells.flat()].map((cell) => cell.length)) + 2;
		const first = Math.max(...names.map((name) => name.length)) + 2;
		const line = (head: string, row: readonly string[]) =>
			`  ${paint.strong(head.padEnd(first))}${row.map((cell) => cell.padStart(width)).join("")}`;
		return [
			"",
			paint.dim(`  each row reads the memory of each column, ${unit.name}`),
			paint.dim(line("", names)),
			...cells.map((row, i) => line(names[i]!, row)),
		];
	});
}
