// What enters the first link of an exact MLP, docs/training.md §6: features at 2^activation, the bias in the
// last column, clamped as the program clamps.
import type { Elements } from "../operators/tensor-type.ts";
import { enteringUnits, type ZkPlan } from "./compile-plan.ts";

/** Of the inputs, docs/training.md §2. */
const FEATURE_BITS = 11;

/**
 * clamp(⌊(x + 2^(shift − 1))/2^shift⌋ + (in the last column) add, ±most). Pictures have no bias in them:
 * their patches do.
 */
export const enteringRule = ({ activation, h, links }: ZkPlan) => ({
	shift: FEATURE_BITS - activation,
	add: links[0]!.window ? 0 : 2 ** activation,
	most: 2 ** (h - 1) - 1,
});

/** Row by row, as many columns as the first link has inputs. */
export function enteringOf(plan: ZkPlan, features: Elements): Int16Array {
	const inputs = enteringUnits(plan.links[0]!);
	const { shift, add, most } = enteringRule(plan);
	const entering = new Int16Array(2 ** plan.rowBits * inputs);
	for (let i = 0; i < entering.length; i++) {
		const rounded = (Number(features[i]!) + 2 ** (shift - 1)) >> shift;
		entering[i] = Math.min(most, Math.max(-most, rounded + (i % inputs === inputs - 1 ? add : 0)));
	}
	return entering;
}
