// The circuit of a wrapped run proof, docs/zk.md §13: the checks of check-run.ts over wires. Public are three
// numbers: the digest of everything that was said, a point x that is drawn after it, and what the list of all
// that a verifier must see has at x, as a polynomial. So a list that is not the prover's has another value
// there.
import type { ZkPlan } from "../../../work/plan/compile-plan.ts";
import type { Field } from "../field.ts";
import { checkRun, type RunClaim, type RunTold } from "./check-run.ts";
import { type Circuit, createCircuit, type Wires } from "./circuit.ts";

/** What a verifier must see: what it told the checks, and what they leave to it. */
export const seenList = <F>(told: RunTold<F>, { weights, eta, t, a, b }: Omit<RunClaim<F>, "digest">): F[] => [
	...toldList(told),
	...weights.flat(),
	eta,
	t,
	a,
	b,
];

export const toldList = <F>({ segments, mask, cross }: RunTold<F>): F[] => [
	...segments.flatMap(({ statement, order, values, helpers }) => [...statement, ...order, ...values, ...helpers]),
	...mask,
	...cross,
];

/** Σ listᵢ·xⁱ. */
export const listAt = <F>(field: Field<F>, list: readonly F[], x: F): F =>
	list.reduceRight((sum, one) => field.sum([field.times(sum, x), one]));

/** Secrets: what is told, segment by segment, of the mask and of S; then the scalars of the proof. */
export function wrapCircuit(plan: ZkPlan, segments: number): Circuit {
	const { circuit, told, close } = beginCircuit(plan, segments);
	close(checkRun(circuit.field, plan, told, circuit.secret)!);
	return circuit;
}

/** A circuit that has its inputs and what is told; `close`: and its last checks. */
export function beginCircuit(plan: ZkPlan, segments: number) {
	const circuit = createCircuit();
	const [digest, x, seen] = [circuit.input(), circuit.input(), circuit.input()];
	const many = (count: number): Wires[] => Array.from({ length: count }, circuit.secret);
	const own = Array.from({ length: segments }, () => ({
		statement: many(2),
		order: many(plan.rowBits * (plan.stepBits + plan.batchBits + 1)),
		values: many(4 * plan.groups[4]!.chunks),
		helpers: many(4 * plan.groups[5]!.chunks),
	}));
	const told: RunTold<Wires> = { segments: own, mask: many(4), cross: many(4) };
	const close = (claim: RunClaim<Wires>) => {
		circuit.field.areSame(listAt(circuit.field, seenList(told, claim), x), seen);
		circuit.field.areSame(claim.digest, digest);
	};
	return { circuit, told, close };
}
