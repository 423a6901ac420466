// The table of peers: every device reads what every other one keeps, all at once, one neighbour further in
// each stage. A trial before each stage says which pairs can do it at all and how fast, so that the stage is
// short. Page: docs/hardware-proof.md §5.
import type { DeviceKind, StreamSpec } from "../../../protocol/probe/evidence.ts";
import type { Budgets } from "./budgets.ts";
import { devicesOf, filled, MAX_DEVICES, type Phase, stage, wantedOf, warm } from "./plan-stage.ts";
import { roundBytes, type Seen } from "./probe-plan.ts";

/**
 * Enough that no cache holds it and a pass takes longer than a round trip; a fill has it in one round or a
 * few.
 */
const LEAST_BYTES = 2 ** 28;
const MAX_PASSES = 64;

interface Pair {
	readonly reader: number;
	/** The fill of the device that is read, and how much of it. */
	readonly of: number;
	readonly newest: number;
	readonly bytes: number;
}

/** Reader i reads device i + shift, around the ring of those that filled their memory. */
function pairsOf(seen: Seen, kind: DeviceKind, shift: number): Pair[] {
	// Beyond what can be asked at once only neighbours are.
	if (wantedOf(seen, kind).length > MAX_DEVICES && shift > 1) return [];
	const devices = devicesOf(seen, kind).filter((device) => filled(seen, device) !== null);
	if (shift >= devices.length) return [];
	return devices.map((reader, i) => {
		const { index, spec } = filled(seen, devices[(i + shift) % devices.length]!)!;
		const newest = Math.min(spec.keep, Math.ceil(LEAST_BYTES / roundBytes(spec)));
		return { reader, of: index, newest, bytes: newest * roundBytes(spec) };
	});
}

export function peerPhases(kind: "gpu" | "cpu", budgets: Budgets, samples: number): Phase[] {
	return Array.from({ length: MAX_DEVICES - 1 }, (_, i) => i + 1).flatMap((shift): Phase[] => [
		{
			name: `${kind} peers ${shift}, trial`,
			step: (seen) =>
				warm(
					pairsOf(seen, kind, shift).map(({ reader: device, of, newest }) => ({
						kind: "stream" as const,
						device,
						of,
						newest,
						passes: 2,
					})),
				),
		},
		{
			name: `${kind} peers ${shift}`,
			step: (seen) =>
				stage(
					seen,
					pairsOf(seen, kind, shift).flatMap(({ reader: device, of, newest, bytes }): StreamSpec[] => {
						const trial = seen.warmUps.findLast(
							({ run }) => run.kind === "stream" && run.device === device && run.of === of,
						);
						// Cards that cannot reach each other say so in the trial: no figure, and nothing to accuse them
						// of.
						if (trial === undefined || trial.bytesPerS <= 0) return [];
						const passes = Math.ceil((budgets.peerS * trial.bytesPerS) / bytes);
						return [
							{
								kind: "stream",
								device,
								of,
								newest,
								passes: Math.min(MAX_PASSES, Math.max(2, passes)),
								samples: Math.min(samples, budgets.peerSamples),
							},
						];
					}),
					{ hold: true, deadlineMs: 60_000 },
				),
		},
	]);
}
