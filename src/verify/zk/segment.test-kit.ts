// A small segment of small numbers, and its prover (vectors/naive-segment.ts), honest or not. The verifier
// sees the same plan that a program's would be, with narrower tables.
import type { Point } from "../../../vectors/naive-bn254.ts";
import { DEV_TAU, mod, timesGenerator } from "../../../vectors/naive-bn254.ts";
import { leftRange, linkOf, runSegment, type Shape, type Start } from "../../../vectors/naive-plan.ts";
import { type SegmentCheat, SegmentProver, type Statement } from "../../../vectors/naive-segment.ts";
import { numbers } from "../../../vectors/rows.ts";
import { planOf, type ZkPlan } from "../../work/plan/compile-plan.ts";
import type { SegmentStatement } from "./statement.ts";

/** Whoever knows τ commits without a single power of it. */
export const devCommit = (poly: readonly bigint[]): Point =>
	timesGenerator(poly.reduceRight((sum, one) => mod(sum * DEV_TAU + one), 0n));

const WIDTHS = { h: 4, d: 5, activation: 1, gradient: 2, limbs: [4, 3, 3] } as const;

export const shapeOf = (change: Partial<Shape> = {}): Shape => ({
	...{ sizes: [3, 3, 2], batch: 2, steps: 2, rows: 8, epochs: 2, scale: 4, chunkBits: 8, ...WIDTHS },
	...{ root: new Uint8Array(32).fill(7), ...change },
});

export function planFor(shape: Shape, weightBits: 32 | 64 = 32): ZkPlan {
	const { sizes, batch, steps, rows, epochs, scale, chunkBits, root, windows, quotient } = shape;
	const kind = { ...(windows && { windows }), ...(quotient !== undefined && { isSoftmax: true }) };
	return planOf(
		{ sizes, batch, steps, rows, epochs, scale, weightBits, ...kind },
		Buffer.from(root).toString("hex"),
		shape,
		chunkBits,
	);
}

/** Data and weights by a label, of a run in which no value leaves its range. */
export function startOf(shape: Shape, label: string, firstStep = 2): Start {
	for (let i = 0; ; i++) {
		const start = { ...drawnStart(shape, `${label} ${i}`, 14), firstStep };
		if (leftRange(shape, runSegment(shape, start)) === null) return start;
		if (i > 10_000) throw new Error("no run of this shape stays in its ranges");
	}
}

export function drawnStart(shape: Shape, label: string, largest: number): Start {
	const draw = numbers(label);
	const within = (most: number) => BigInt(draw(2 * most + 1) - most);
	return {
		features: Array.from({ length: shape.rows }, () => Array.from({ length: shape.sizes[0]! }, () => within(3))),
		labels: Array.from({ length: shape.rows }, () => draw(shape.sizes.at(-1)!)),
		weights: shape.sizes.slice(1).map((_, l) => {
			const { outputs, inputs } = linkOf(shape, l);
			return Array.from({ length: outputs }, () => Array.from({ length: inputs }, () => within(largest)));
		}),
		...{ seed: new Uint8Array(32).fill(9), firstStep: 2 },
	};
}

export const TOLD = {
	...{ chainId: "5", job: "6", srs: "dev", features: "11".repeat(32), labels: "22".repeat(32) },
	...{ stateBefore: "33".repeat(32), stateAfter: "44".repeat(32) },
};

export interface Proven {
	readonly plan: ZkPlan;
	readonly statement: SegmentStatement;
	readonly proof: Uint8Array;
	readonly prover: SegmentProver;
}

export function prove(shape: Shape, start: Start, cheat: SegmentCheat = {}): Proven {
	const prover = new SegmentProver(shape, start, devCommit, cheat);
	const { statement, proof } = prover.prove(TOLD);
	return { plan: planFor(shape), statement: statement satisfies Statement, proof, prover };
}
