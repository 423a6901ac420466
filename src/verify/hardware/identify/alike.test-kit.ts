// Which profiles a full probe cannot tell apart: each card's own middle figures, judged against every other
// card. A property of the table and of the model, so that docs/profiles.md can say it before anybody is
// probed.

import { GEMM_PRECISIONS, type Precision } from "../../../protocol/maths/precision.ts";
import { ALIKE_LOG } from "./identify.ts";
import { fitOf } from "./likelihood.ts";
import { type Profile, usualTotalBytes } from "./profile.ts";
import { BANDWIDTH_SHARE, FILL_SHARE, INT32_SHARE, MATRIX_SHARE, type Range, SCALAR_SHARE } from "./shares.ts";
import type { ProvenVector } from "./vector.ts";

const middle = ({ low, high }: Range): number => Math.sqrt(low * high);

/** A full probe of an uncapped card whose every share lies in the middle of what is expected. */
export function middleVector(profile: Profile): ProvenVector {
	const rates: Partial<Record<Precision, number>> = {};
	for (const [precision, peak] of Object.entries(profile.rates) as [Precision, number][]) {
		const isMatrix = (GEMM_PRECISIONS as readonly Precision[]).includes(precision);
		const scalar = precision === "int32" ? INT32_SHARE : SCALAR_SHARE;
		rates[precision] = peak * middle(isMatrix ? MATRIX_SHARE[profile.architecture] : scalar);
	}
	const keptBytes = middle(FILL_SHARE) * usualTotalBytes(profile);
	const bytesPerS = middle(BANDWIDTH_SHARE) * profile.bytesPerS;
	return { rates, bytesPerS, residentBytes: keptBytes, keptBytes, full: true };
}

/**
 * Pairs of ids, in the order of the table, where the middle figures of one leave the other within the factor
 * of identify.ts.
 */
export function alikePairs(profiles: readonly Profile[]): [string, string][] {
	const vectors = profiles.map(middleVector);
	const own = profiles.map((profile, i) => fitOf(profile, vectors[i]!).logLikelihood);
	const near = (of: number, as: number) => own[of]! - fitOf(profiles[as]!, vectors[of]!).logLikelihood <= ALIKE_LOG;
	return profiles.flatMap(({ id }, i) =>
		profiles.slice(i + 1).flatMap((other, j): [string, string][] => {
			const k = i + 1 + j;
			return near(i, k) || near(k, i) ? [[id, other.id]] : [];
		}),
	);
}
