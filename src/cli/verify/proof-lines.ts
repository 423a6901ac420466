// A verdict on proofs of training in words: what is proven, over which powers, and what nobody has checked.
// Not here: the judging (verify-proof-file.ts, verify-run-file.ts).
import { codes } from "../../protocol/codes.ts";
import { TEST_PARAMETERS } from "../../protocol/proof-powers.ts";
import { maxSegments, type ProofVerdict } from "../../verify/zk/proof-file.ts";
import type { Refused } from "../../verify/zk/refused.ts";
import type { SegmentStatement } from "../../verify/zk/statement.ts";
import type { ZkPlan } from "../../work/plan/compile-plan.ts";
import type { Paint } from "../print/paint.ts";

export const TEST_NOTE = `SRS_DEV: ${TEST_PARAMETERS}: everybody knows their secrets, so this proves nothing to anybody`;

export function refusedLines({ status, code, detail }: Refused, paint: Paint): string[] {
	const { meaning, hint } = codes[code];
	const word = status === "invalid" ? paint.bad(paint.strong("INVALID")) : paint.unsure(paint.strong("INCONCLUSIVE"));
	return [`${word}  ${code}`, `  ${detail}`, `  ${meaning}`, paint.dim(`  ${hint}`)];
}

/** Steps of one segment, or of several that follow each other. */
interface Covered {
	readonly plan: ZkPlan;
	readonly statement: Pick<SegmentStatement, "firstStep" | "steps">;
}

/**
 * Which segments, the first with steps being 1. `maxSegments`: the order of rows has room for no more; how
 * many of these a run was to have is in no proof.
 */
export const coverOf = ({ plan, statement: { firstStep, steps } }: Covered) => ({
	firstSegment: firstStep / plan.steps + 1,
	lastSegment: (firstStep + steps) / plan.steps,
	maxSegments: maxSegments(plan),
});

/** "steps 0 to 7 of the program" */
export const stepsText = ({ firstStep, steps }: Covered["statement"]): string =>
	`steps ${firstStep} to ${firstStep + steps - 1} of the program`;

export function coveredLine(covered: Covered): string {
	const { firstSegment, lastSegment, maxSegments: max } = coverOf(covered);
	const which = firstSegment === lastSegment ? `segment ${firstSegment}` : `segments ${firstSegment} to ${lastSegment}`;
	return `  covers   ${which}, of ${max} at most; how many the run was to have is in no proof`;
}

/** Each pair of job and prover that statements name: a number, of which the job's chain alone knows more. */
export const jobsOf = (statements: readonly SegmentStatement[]): { chainId: string; job: string }[] =>
	[...new Set(statements.map(({ chainId, job }) => `${chainId} ${job}`))].map((one) => {
		const [chainId, job] = one.split(" ") as [string, string];
		return { chainId, job };
	});

export function jobLine(jobs: ReturnType<typeof jobsOf>): string {
	const { chainId, job } = jobs[0]!;
	if (jobs.length === 1 && job === "0") return "  job      none: the proof pays nobody";
	const many = jobs.length === 1 ? "one job and prover" : `${jobs.length} pairs of job and prover`;
	return `  job      made for ${many} on chain ${chainId}; that chain says which`;
}

export function proofLines(verdict: ProofVerdict, jobs: ReturnType<typeof jobsOf>, paint: Paint): string[] {
	if (verdict.status !== "valid") return refusedLines(verdict, paint);
	const { statement, bound, isStartRight, isDev, powers } = verdict;
	const names = { data: "--data", before: "--initial", after: "--result" } as const;
	const missing = (["data", "before", "after"] as const).filter((one) => !bound.includes(one));
	const note = `  ${paint.unsure("note")}  `;
	return [
		`${paint.good(paint.strong("VALID"))}  ${stepsText(statement)}, for these commitments`,
		`  powers   ${powers}`,
		`  program  ${statement.program}`,
		`  seed     ${statement.seed}`,
		`  state    ${statement.stateBefore} before`,
		`           ${statement.stateAfter} after`,
		coveredLine(verdict),
		jobLine(jobs),
		...(isStartRight === true ? ["  start    the weights that the program makes of this seed"] : []),
		...(missing.length === 0
			? ["  bytes    data and weights at hand are those of the proof"]
			: [
					`${note}not compared with bytes: whose commitments these are is not shown without ${missing.map((one) => names[one]).join(", ")}`,
				]),
		...(isStartRight === true ? [] : [`${note}${startNote(statement)}`]),
		...(isDev ? [`${note}${TEST_NOTE}`] : []),
	];
}

export const startNote = ({ firstStep }: Covered["statement"]): string =>
	firstStep === 0
		? "not checked: whether the run began with the weights that its program makes of the seed"
		: `it begins with step ${firstStep}; what came before is not shown`;
