// Sizes of a device's answer to a roll call: pure arithmetic from what is required of it (market's rule) and
// what fits. The bytes are made with a k that takes the required time, so that all of them are kept; a card
// too fast for the largest k computes more rounds than it keeps. Limits of shapes in engine/FRAMES.md.
// docs/roll-call.md.
import {
	MAX_ROLL_ROUNDS,
	type RollRequired,
	type RollSpec,
	rollBytes,
	rollOps,
} from "../../protocol/roll-call/roll-call.ts";
import { fillShape, workspaceBytes } from "../hardware/plan/gpu-sizes.ts";
import { POLICY } from "../hardware/policy.ts";

/** Sides of square products; which of them an engine does well depends on the memory (fillShape). */
const SIDES = [2048, 4096, 8192, 16384, 32768] as const;
/** The largest k that is taken, where smaller operands leave more room for what is kept. */
const MOST_K = [65536, 32768, 16384, 8192] as const;

/** Null: it does not fit into `freeBytes`, or no answer of so much work is allowed. */
export function planRollCall(required: RollRequired, freeBytes: number): RollSpec | null {
	const usual = SIDES.indexOf(fillShape(required.bytes).n as (typeof SIDES)[number]);
	// Larger products where the rounds would be too many, smaller ones where they do not fit.
	const sides = [...SIDES.slice(usual), ...SIDES.slice(0, usual).reverse()];
	for (const side of sides)
		for (const mostK of MOST_K) {
			const spec = specOf(side, mostK, required);
			if (spec.rounds <= MAX_ROLL_ROUNDS && rollBytes(spec) + workspaceBytes(spec, freeBytes) <= freeBytes) return spec;
		}
	return null;
}

function specOf(side: number, mostK: number, { device, ops, bytes }: RollRequired): RollSpec {
	const keep = Math.max(1, Math.ceil(bytes / (2 * side * side)));
	const perK = rollOps({ m: side, n: side, k: 1, rounds: 1, keep: 1 });
	const step = BigInt(POLICY.gemm.kStep);
	const wanted = ceilDiv(ceilDiv(ops, perK * BigInt(keep)), step) * step;
	const k = Math.max(POLICY.gemm.kStep, Number(wanted < BigInt(mostK) ? wanted : BigInt(mostK)));
	const rounds = Math.max(keep, Number(ceilDiv(ops, perK * BigInt(k))));
	return { device, m: side, n: side, k, rounds, keep };
}

const ceilDiv = (a: bigint, b: bigint): bigint => (a + b - 1n) / b;
