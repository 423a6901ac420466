// A name is contradicted by how fp64 stands to fp32 (identify/rules.ts). Both figures are lower bounds, and
// the usual runs are short: a lost packet makes one of them four times as slow. So where that ratio is
// about to speak against a card, both are asked again, long enough for no network to matter; the better
// figure counts.
import type { FmaPrecision } from "../../../protocol/maths/precision.ts";
import { profilesNamed } from "../identify/profiles.ts";
import { RULES } from "../identify/rules.ts";
import { gpuFmaSpec } from "./gpu-sizes.ts";
import { devicesOf, type Phase, speedOf, stage } from "./plan-stage.ts";
import { opsOfRound, type Seen } from "./probe-plan.ts";

const PRECISIONS = ["fp32", "fp64"] as const;
/** Some packets that are lost one after the other, and 200 ms of distance, are little against this. */
const AGAIN_S = 2;
/** Asked before the rule would speak. */
const EARLY = 2;

/** Of the run that counted so far, op/s; null without one. */
function shown(seen: Seen, device: number, precision: FmaPrecision): number | null {
	const found = seen.challenges.find(
		({ spec, end }) =>
			spec.kind === "fma" && spec.device === device && spec.precision === precision && end === "complete",
	);
	return found?.spec.kind === "fma" && found.seconds > 0
		? (opsOfRound(found.spec) * found.roots) / found.seconds
		: null;
}

/** No card of the claimed name has such a ratio, or nearly none. */
function isDoubted(seen: Seen, device: number): boolean {
	const [fp32, fp64] = PRECISIONS.map((precision) => shown(seen, device, precision));
	const named = profilesNamed(seen.claim.devices[device]!.name);
	if (fp32 == null || fp64 == null || named.length === 0) return false;
	return named.every(({ rates }) => {
		const ratio = fp64 / (rates.fp64 ?? fp64) / (fp32 / (rates.fp32 ?? fp32));
		return ratio < EARLY * RULES["fp64-to-fp32"].limit || 1 / ratio < EARLY * RULES["fp32-to-fp64"].limit;
	});
}

export function scalarAgainPhases(samples: number): Phase[] {
	return PRECISIONS.map((precision) => ({
		name: `gpu fma ${precision} again`,
		step: (seen) => {
			const doubted = devicesOf(seen, "gpu").filter((device) => isDoubted(seen, device));
			const specs = doubted.map((device) => {
				const { units } = seen.claim.devices[device]!;
				const { opsPerS } = speedOf(seen, device, precision);
				return gpuFmaSpec(device, precision, samples, { units, budgetS: AGAIN_S, opsPerS });
			});
			return stage(seen, specs);
		},
	}));
}
