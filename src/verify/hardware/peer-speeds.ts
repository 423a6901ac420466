// Who reads whose memory how fast, from the figures of a probe: for the tables of terminal and browser. Pure.
import type { Figure } from "../../protocol/probe/evidence.ts";

const NAME = /^peer\.bandwidth\.(\d+)$/;

export const isPeerFigure = ({ name }: Pick<Figure, "name">): boolean => NAME.test(name);

export interface PeerSpeeds {
	readonly devices: readonly number[];
	/** By the two devices, first the one that reads: "0 1". */
	readonly speeds: ReadonlyMap<string, number>;
	readonly most: number;
}

/** Null: no pair was proven. */
export function peerSpeeds(figures: readonly Pick<Figure, "device" | "name" | "value">[]): PeerSpeeds | null {
	const pairs = figures
		.filter(isPeerFigure)
		.map(({ device, name, value }) => [`${device} ${NAME.exec(name)![1]}`, value] as const);
	if (pairs.length === 0) return null;
	const devices = new Set(pairs.flatMap(([pair]) => pair.split(" ").map(Number)));
	return {
		devices: [...devices].sort((a, b) => a - b),
		speeds: new Map(pairs),
		most: Math.max(...pairs.map(([, speed]) => speed)),
	};
}
