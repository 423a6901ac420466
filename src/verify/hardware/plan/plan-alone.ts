// Each device alone at the product that all of them did at once: what it loses when the others work too. The
// verdict finds these runs by the records alone (verify/hardware/scaling.ts). Nothing is asked of a host with
// one device of the kind.
import type { GemmPrecision } from "../../../protocol/maths/precision.ts";
import type { DeviceKind, GemmSpec } from "../../../protocol/probe/evidence.ts";
import type { Budgets } from "./budgets.ts";
import { devicesOf, MAX_DEVICES, type Phase, stage } from "./plan-stage.ts";
import { opsOfRound, type Seen } from "./probe-plan.ts";

/** The first product of this precision: that of the stage with all devices. */
function togetherSpec(
	seen: Seen,
	device: number,
	precision: GemmPrecision,
): { spec: GemmSpec; opsPerS: number } | null {
	const found = seen.challenges.find(
		({ spec }) => spec.kind === "gemm" && spec.device === device && spec.precision === precision && spec.rounds > 0,
	);
	if (found?.spec.kind !== "gemm" || found.end !== "complete" || found.seconds <= 0) return null;
	return { spec: found.spec, opsPerS: (opsOfRound(found.spec) * found.roots) / found.seconds };
}

export function alonePhases(kind: DeviceKind, precision: GemmPrecision, budgets: Budgets): Phase[] {
	return Array.from({ length: MAX_DEVICES }, (_, place) => ({
		name: `${kind} alone ${place}`,
		step: (seen: Seen) => {
			const devices = devicesOf(seen, kind);
			const device = devices[place];
			if (devices.length < 2 || device === undefined) return null;
			const together = togetherSpec(seen, device, precision);
			if (together === null) return null;
			const { spec, opsPerS } = together;
			const rounds = Math.min(spec.rounds, Math.max(2, Math.ceil((budgets.aloneS * opsPerS) / opsOfRound(spec))));
			return stage(seen, [{ ...spec, rounds, keep: Math.min(spec.keep, rounds) }]);
		},
	}));
}
