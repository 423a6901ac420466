// A plan as the engine's prover takes it (engine/src/zk/proof_plan.cpp): sizes alone, u32 little-endian;
// tables and places of blocks follow from them there as they do here.
import { enteringUnits, isPlain, unitsOf, wideWords, type ZkPlan } from "./compile-plan.ts";

/** Of plans with windows or softmax: what they have besides follows the sizes. */
const VERSION = { plain: 1, wide: 2 } as const;

/** `isDev`: over powers of a known τ, which the engine makes itself. */
export function encodePlan(plan: ZkPlan, isDev: boolean): Uint8Array {
	const { chunkBits, stepBits, batchBits, rowBits, scale, h, d, activation, gradient, limbs, links, weightBits } = plan;
	const version = isPlain(plan) ? VERSION.plain : VERSION.wide;
	const numbers = [version, chunkBits, stepBits, batchBits, rowBits, scale, h, d, activation, gradient, ...limbs];
	const sizes = [enteringUnits(links[0]!), ...links.map(unitsOf)];
	const more = isPlain(plan) ? [] : wideWords(plan);
	const words = [...numbers, isDev ? 1 : 0, weightBits === 64 ? 1 : 0, links.length, ...sizes, ...more];
	const bytes = new Uint8Array(4 * words.length);
	const view = new DataView(bytes.buffer);
	for (const [i, word] of words.entries()) view.setUint32(4 * i, word, true);
	return bytes;
}
