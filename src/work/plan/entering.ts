// What enters the first link of an exact MLP, docs/training.md §6: features at 2^activation, the bias in the last column, clamped as the program clamps.
import type { Elements } from "../operators/tensor-type.ts";
import type { ZkPlan } from "./compile-plan.ts";

/** Of the inputs, docs/training.md §2. */
const FEATURE_BITS = 11;

/** Row by row, as many columns as the first link has inputs. */
export function enteringOf({ links, activation, h, rowBits }: ZkPlan, features: Elements): Int16Array {
	const { inputs } = links[0]!;
	const [shift, most] = [FEATURE_BITS - activation, 2 ** (h - 1) - 1];
	const entering = new Int16Array(2 ** rowBits * inputs);
	for (let i = 0; i < entering.length; i++) {
		const rounded = (Number(features[i]!) + 2 ** (shift - 1)) >> shift;
		const whole = rounded + (i % inputs === inputs - 1 ? 2 ** activation : 0);
		entering[i] = Math.min(most, Math.max(-most, whole));
	}
	return entering;
}
