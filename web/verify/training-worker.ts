// The verdict on a proof of training in a thread of its own: the same check as the CLI's. Nothing is proven
// over test parameters, nor by a wrapped run, whose key this page is not told. Bytes that the proof is about
// are compared by `assay verify`, not here; the first weights are made here where there are not too many.
import { codes } from "../../src/protocol/codes.ts";
import { formatOf } from "../../src/protocol/roll-call/roll-file.ts";
import { bindBytes } from "../../src/verify/zk/bind-bytes.ts";
import { firstWeights, OTHER_START } from "../../src/verify/zk/first-weights.ts";
import { maxSegments, openProofFile } from "../../src/verify/zk/proof-file.ts";
import { invalid, type Refused } from "../../src/verify/zk/refused.ts";
import { openRunFile } from "../../src/verify/zk/run/run-file.ts";
import { powersName } from "../../src/verify/zk/srs.ts";
import type { SegmentStatement } from "../../src/verify/zk/statement.ts";
import type { ZkPlan } from "../../src/work/plan/compile-plan.ts";

export interface TrainingQuestion {
	readonly bytes: Uint8Array;
}

/** What a proof is about. */
export interface ProvenSteps {
	/** The first and the last of the segments that it has. */
	readonly first: SegmentStatement;
	readonly last: SegmentStatement;
	readonly sizes: readonly number[];
	readonly maxSegments: number;
	readonly powers: string;
	/** Of a wrapped run: its key's hash. */
	readonly key: string | null;
	/** Whether it begins with the weights of its seed; null: nobody looked. */
	readonly isStartRight: true | null;
}

type TrainingVerdict =
	| { readonly status: "valid"; readonly proven: ProvenSteps }
	| (Refused & {
			readonly meaning: string;
			readonly hint: string;
			/** What would be proven if the key of a wrapped run were honest. */
			readonly unproven: ProvenSteps | null;
	  });

export interface TrainingWord {
	readonly verdict: TrainingVerdict;
	readonly tookMs: number;
}

interface Scope {
	postMessage(word: TrainingWord): void;
	onmessage: ((event: MessageEvent<TrainingQuestion>) => void) | null;
}
const scope = globalThis as unknown as Scope;

const MAX_FIRST_WEIGHTS = 2 ** 20;

const refused = ({ status, code, detail }: Refused, unproven: ProvenSteps | null = null): TrainingVerdict => {
	const { meaning, hint } = codes[code];
	return { status, code, detail, meaning, hint, unproven };
};

function stepsOf(plan: ZkPlan, statements: readonly SegmentStatement[]): ProvenSteps {
	const [first, last] = [statements[0]!, statements.at(-1)!];
	const sizes = [plan.links[0]!.inputs, ...plan.links.map(({ outputs }) => outputs)];
	const powers = powersName(first.srs);
	return { first, last, sizes, maxSegments: maxSegments(plan), powers, key: null, isStartRight: null };
}

function segmentVerdict(bytes: Uint8Array): TrainingVerdict {
	const found = openProofFile(bytes, { isDevAllowed: false });
	if (found.status !== "valid") return refused(found);
	const { program, plan, statement, claims } = found;
	const steps = stepsOf(plan, [statement]);
	const before = firstWeights(found, MAX_FIRST_WEIGHTS);
	if (before === null) return { status: "valid", proven: steps };
	if (bindBytes(program, plan, statement, claims, { before }) !== null)
		return refused(invalid(OTHER_START.code, OTHER_START.detail));
	return { status: "valid", proven: { ...steps, isStartRight: true } };
}

function runVerdict(bytes: Uint8Array): TrainingVerdict {
	const found = openRunFile(bytes, { isDevAllowed: false });
	const said = found.status === "valid" ? found : found.unproven;
	const steps = said === undefined ? null : { ...stepsOf(said.plan, said.statements), key: said.key };
	if (found.status === "valid") return { status: "valid", proven: steps! };
	return refused(found, steps);
}

scope.onmessage = ({ data: { bytes } }) => {
	const started = performance.now();
	const verdict = formatOf(bytes) === "assay-zk-run" ? runVerdict(bytes) : segmentVerdict(bytes);
	scope.postMessage({ verdict, tookMs: Math.round(performance.now() - started) });
};
