// A plan that knows beforehand what it asks: for tiny shapes on toy engines.
import type { Plan, Step } from "../../src/verify/hardware/plan/probe-plan.ts";

/** These stages, one after the other, whatever comes back. */
export function fixedPlan(stages: readonly Extract<Step, { act: "stage" }>[]): Plan {
	return (seen) => stages[seen.steps.length] ?? { act: "finish" };
}
