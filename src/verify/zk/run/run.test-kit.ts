// Small runs, and their provers. Started as a program it makes tests/zk/wrapped-run.json anew: the wrapped
// proof of a run of two segments, by a key whose secrets stand below.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { provenBySecrets, type Secrets } from "../../../../vectors/naive-groth16.ts";
import { leftRange, runSegment, type Start } from "../../../../vectors/naive-plan.ts";
import { proveRun, type RunCheats, type RunHiding } from "../../../../vectors/naive-run.ts";
import type { Told } from "../../../../vectors/naive-segment.ts";
import { devCommit, drawnStart, planFor, shapeOf, TOLD } from "../segment.test-kit.ts";
import type { SegmentStatement } from "../statement.ts";
import { claimOf, type ReadRun, readRun } from "./verify-run.ts";
import { wrapInputs, wrappedClaim } from "./verify-wrapped.ts";
import { toldList, wrapCircuit } from "./wrap-circuit.ts";

export const SHAPE = shapeOf({ epochs: 8 });
export const PLAN = planFor(SHAPE);
export const SEGMENTS = 2;
export const VECTOR = fileURLToPath(new URL("../../../../tests/zk/wrapped-run.json", import.meta.url));

/** The same data, from where a segment ended; null: it leaves a range. */
function following(start: Start): Start | null {
	const { columns } = runSegment(SHAPE, start);
	const weights = SHAPE.sizes.slice(1).map((n, l) => {
		const width = 2 ** Math.ceil(Math.log2(SHAPE.sizes[l]!));
		const list = columns.get(`after ${l}`)!;
		return Array.from({ length: n }, (_, i) => list.slice(i * width, i * width + SHAPE.sizes[l]!));
	});
	const next = { ...start, weights, firstStep: start.firstStep + SHAPE.steps };
	return leftRange(SHAPE, runSegment(SHAPE, next)) === null ? next : null;
}

function startsOf(count: number): Start[] {
	for (let i = 0; ; i++) {
		const start = drawnStart(SHAPE, `run ${i}`, 14);
		if (leftRange(SHAPE, runSegment(SHAPE, start)) !== null) continue;
		const list = [start];
		for (let next = following(start); next !== null && list.length < count; next = following(next)) list.push(next);
		if (list.length === count) return list;
	}
}

/** Of keys that prove nothing: everybody knows them. A ceremony's gamma is 1 too. */
export const SECRETS: Secrets = { tau: 101n, alpha: 102n, beta: 103n, gamma: 1n, delta: 105n };

const state = (i: number): string => i.toString(16).padStart(64, "0");
export const STARTS: readonly Start[] = startsOf(SEGMENTS);

/**
 * Of provers that differ in what follows their segments, or in one of them alone, the others are proven once.
 */
const KNOWN: Parameters<typeof proveRun>[6] = STARTS.map(() => new Map());

/** `more`: of its statements. */
export function provenRun(
	cheat: RunCheats = {},
	more?: Partial<Told>,
	hiding?: RunHiding,
): ReturnType<typeof proveRun> {
	const told = STARTS.map((_, i) => ({ ...TOLD, stateBefore: state(i), stateAfter: state(i + 1), ...more }));
	const known = more === undefined && hiding === undefined ? KNOWN : undefined;
	return proveRun(SHAPE, STARTS, told, devCommit, cheat, hiding, known);
}

/** What is claimed of a run, and numbers of all wires of its circuit with its inputs. */
export function wiresOf(
	circuit: ReturnType<typeof wrapCircuit>,
	statements: readonly SegmentStatement[],
	read: ReadRun,
) {
	const claim = claimOf(PLAN, read)!;
	const claimed = wrappedClaim(read, claim);
	const inputs = wrapInputs(statements, read.told, claim, claimed);
	return { claimed, inputs, values: circuit.valuesOf(inputs, [...toldList(read.told), ...read.scalars]) };
}

/** A run, wrapped. */
function wrappedRun(circuit: ReturnType<typeof wrapCircuit>, { statements, proof }: ReturnType<typeof provenRun>) {
	const read = readRun(PLAN, statements, proof) as ReadRun;
	const { claimed, inputs, values } = wiresOf(circuit, statements, read);
	const { key, proof: groth16 } = provenBySecrets(circuit, SECRETS, values, [107n, 108n]);
	return { key, inputs, statements, proof: Buffer.concat([claimed, groth16, read.opening]) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const circuit = wrapCircuit(PLAN, SEGMENTS);
	const { key, inputs, statements, proof } = wrappedRun(circuit, provenRun());
	const row = {
		...{ constraints: circuit.constraints.length, key, inputs: inputs.map(String), statements },
		proof: proof.toString("hex"),
	};
	writeFileSync(VECTOR, `${JSON.stringify(row, null, "\t")}\n`);
}
