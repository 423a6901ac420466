// A plan as the engine's prover takes it (engine/src/zk/proof_plan.cpp): sizes alone, u32 little-endian; tables and places of blocks follow from them there as they do here.
import type { ZkPlan } from "./compile-plan.ts";

const VERSION = 1;

/** `isDev`: over powers of a known τ, which the engine makes itself. */
export function encodePlan(plan: ZkPlan, isDev: boolean): Uint8Array {
	const { chunkBits, stepBits, batchBits, rowBits, scale, h, d, activation, gradient, limbs, links, weightBits } = plan;
	const numbers = [VERSION, chunkBits, stepBits, batchBits, rowBits, scale, h, d, activation, gradient, ...limbs];
	const sizes = [links[0]!.inputs, ...links.map(({ outputs }) => outputs)];
	const words = [...numbers, isDev ? 1 : 0, weightBits === 64 ? 1 : 0, links.length, ...sizes];
	const bytes = new Uint8Array(4 * words.length);
	const view = new DataView(bytes.buffer);
	for (const [i, word] of words.entries()) view.setUint32(4 * i, word, true);
	return bytes;
}
