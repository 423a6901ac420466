// A small run of two segments, and its provers. Started as a program it makes tests/zk/wrapped-run.json anew: the run's wrapped proof, by a key whose secrets stand below; some fifteen minutes of a core.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { contribute, keyOf, keyWords, proveGroth16 } from "../../../../vectors/naive-groth16.ts";
import { leftRange, runSegment, type Start } from "../../../../vectors/naive-plan.ts";
import { proveRun, type RunCheats } from "../../../../vectors/naive-run.ts";
import { devCommit, drawnStart, planFor, shapeOf, TOLD } from "../segment.test-kit.ts";
import { claimOf, type ReadRun, readRun } from "./verify-run.ts";
import { wrapInputs, wrappedProof } from "./verify-wrapped.ts";
import { toldList, wrapCircuit } from "./wrap-circuit.ts";

const SHAPE = shapeOf({ epochs: 8 });
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

const state = (i: number): string => i.toString(16).padStart(64, "0");
const TOLDS = Array.from({ length: SEGMENTS }, (_, i) => ({
	...TOLD,
	stateBefore: state(i),
	stateAfter: state(i + 1),
}));
const STARTS = startsOf(SEGMENTS);

export const provenRun = (cheat: RunCheats = {}): ReturnType<typeof proveRun> =>
	proveRun(SHAPE, STARTS, TOLDS, devCommit, cheat);

/** Numbers of all wires of the run's circuit, and its inputs. */
export function wiresOf(circuit: ReturnType<typeof wrapCircuit>, read: ReadRun) {
	const claim = claimOf(PLAN, read)!;
	const inputs = wrapInputs(read.told, claim);
	return { claim, inputs, values: circuit.valuesOf(inputs, [...toldList(read.told), ...read.scalars]) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const { statements, proof } = provenRun();
	const read = readRun(PLAN, statements, proof) as ReadRun;
	const circuit = wrapCircuit(PLAN, SEGMENTS);
	const { claim, inputs, values } = wiresOf(circuit, read);
	const key = contribute(keyOf(circuit, { tau: 101n, alpha: 102n, beta: 103n, gamma: 104n, delta: 105n }), 106n);
	const groth16 = proveGroth16(circuit, key, values, [107n, 108n]);
	const wrapped = wrappedProof(read.proven, claim, groth16, read.opening);
	const row = {
		...{ constraints: circuit.constraints.length, key: keyWords(key), inputs: inputs.map(String), statements },
		proof: Buffer.from(wrapped).toString("hex"),
	};
	writeFileSync(VECTOR, `${JSON.stringify(row, null, "\t")}\n`);
}
