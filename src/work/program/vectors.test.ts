// The golden programs of vectors/work-*.json: bytes, roots, text, values, traces, transcripts, claims; and
// those that are refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { philoxBlock, philoxKey } from "../../protocol/hash/philox.ts";
import { fromHex, vectorRows } from "../../protocol/vectors.test-kit.ts";
import { createElements, type Elements, elementCount } from "../operators/tensor-type.ts";
import { claimHash, segmentTree } from "../trace/commitments.ts";
import { machineInputs, machineResult, machineState, traceSegment } from "../trace/run-trace.ts";
import { createSpanTranscript, createTranscript, encodeTranscript } from "../trace/transcript.ts";
import { decodeProgram } from "./decode.ts";
import { encodeProgram } from "./encode.ts";
import { orThrow } from "./fault.ts";
import { openProgram, programRoot } from "./open-program.ts";
import { parseProgram } from "./parse-text.ts";
import { printProgram } from "./print-text.ts";
import { createMachine } from "./run-program.ts";
import { PHASES, type Program, type Tensor } from "./shapes.ts";

type ProgramRow = Readonly<
	Record<"name" | "program" | "root" | "seed" | "inputs" | "states" | "traces" | "outputs" | "result", string>
>;
interface ElementRow {
	readonly program: string;
	readonly segment: number;
	readonly step: number;
	readonly op: number;
	readonly element: number;
	readonly path: string;
	readonly transcript: string;
}
type RefusedRow = Readonly<
	Record<"program" | "code", string> & Record<"tensor" | "phase" | "op" | "instruction", number>
>;
type ClaimRow = Readonly<
	Record<"program" | "escrow" | "segmentRoot" | "claim", string> &
		Record<"chainId" | "job" | "part" | "first" | "segments", number>
>;

const hex = bytesToHex;

/** Elements of an input or constant by the rule of vectors/README.md. */
function givenElements({ type, dims, lo, hi }: Tensor, number: number, seed: Uint8Array): Elements {
	const elements = createElements(type, elementCount(dims));
	const words = new Uint32Array(4);
	for (let e = 0; e < elements.length; e++) {
		philoxBlock(philoxKey(seed), e, 11, number, 0, words, 0);
		const value = lo + (((BigInt(words[1]!) << 32n) | BigInt(words[0]!)) % (hi - lo + 1n));
		if (elements instanceof BigInt64Array) elements[e] = value;
		else elements[e] = Number(value);
	}
	return elements;
}

const given = ({ tensors }: Program, seed: Uint8Array): Record<string, Elements> =>
	Object.fromEntries(
		tensors.flatMap((tensor, i) =>
			tensor.kind === "constant" || tensor.kind === "input" ? [[tensor.name, givenElements(tensor, i, seed)]] : [],
		),
	);

const rows = new Map(vectorRows<ProgramRow>("work-programs").map((row) => [row.name, row]));

test("golden programs: bytes, root and text", () => {
	for (const { name, program: bytes, root } of rows.values()) {
		const { program } = orThrow(openProgram(fromHex(bytes)));
		assert.equal(hex(encodeProgram(program)), bytes, name);
		assert.equal(hex(programRoot(program)), root, name);
		assert.equal(hex(encodeProgram(parseProgram(printProgram(program)))), bytes, name);
	}
});

test("golden programs: states, traces, outputs, claims", () => {
	const claims = new Map(vectorRows<ClaimRow>("work-claims").map((row) => [row.program, row]));
	for (const row of rows.values()) {
		const checked = orThrow(openProgram(fromHex(row.program)));
		const seed = fromHex(row.seed);
		const machine = createMachine(checked, seed, given(checked.program, seed));
		const states = [machineState(machine)];
		const traces: Uint8Array[] = [];
		let outputs = "";
		while (machine.next < 3) {
			const { leaves, tree } = traceSegment(machine);
			traces.push(tree.root);
			states.push(machineState(machine));
			outputs = leaves
				.filter(({ step }) => step === checked.program.k - 1)
				.map(({ output }) => hex(output))
				.join("");
		}
		assert.equal(states.map(hex).join(""), row.states, row.name);
		assert.equal(traces.map(hex).join(""), row.traces, row.name);
		assert.equal(outputs, row.outputs, row.name);
		assert.equal(hex(machineInputs(machine)), row.inputs);
		assert.equal(hex(machineResult(machine)), row.result);
		const claim = claims.get(row.name);
		if (claim === undefined) continue;
		const segmentRoot = segmentTree(states).root;
		assert.equal(hex(segmentRoot), claim.segmentRoot);
		const { chainId, escrow, job, part, first, segments } = claim;
		const made = claimHash({
			...{ chainId: BigInt(chainId), escrow: fromHex(escrow), job: BigInt(job), part, first, segments, segmentRoot },
			...{ program: fromHex(row.root), inputs: fromHex(row.inputs), resultRoot: fromHex(row.result) },
		});
		assert.equal(hex(made), claim.claim);
	}
});

test("golden transcripts", () => {
	const wanted = Map.groupBy(vectorRows<ElementRow>("work-elements"), ({ program }) => program);
	let compared = 0;
	for (const [name, elements] of wanted) {
		const row = rows.get(name)!;
		const checked = orThrow(openProgram(fromHex(row.program)));
		const seed = fromHex(row.seed);
		const machine = createMachine(checked, seed, given(checked.program, seed));
		while (machine.next < 3) {
			const segment = machine.next;
			machine.runSegment(({ op, step, number, inputs }) => {
				for (const one of elements) {
					if (one.segment !== segment || one.step !== step || one.op !== number) continue;
					const moment = { segment, step, k: checked.program.k, key: philoxKey(seed) };
					const path = one.path.split(".").filter(Boolean).map(Number);
					const made =
						path.length > 0 && op.operator === "map"
							? createSpanTranscript(op, one.element, moment, inputs, path)
							: createTranscript(op, one.element, moment, inputs);
					assert.equal(hex(encodeTranscript(made)), one.transcript, JSON.stringify(one));
					compared += 1;
				}
			});
		}
	}
	assert.equal(compared, vectorRows("work-elements").length);
});

test("golden refusals: code and place", () => {
	const codes = new Set<string>();
	for (const row of vectorRows<RefusedRow>("work-refused")) {
		const bytes = fromHex(row.program);
		const opened = openProgram(bytes);
		const found = opened.ok
			? { code: "", tensor: -1, phase: -1, op: -1, instruction: -1 }
			: {
					code: opened.fault.code,
					tensor: opened.fault.tensor ?? -1,
					phase: opened.fault.phase === null ? -1 : PHASES.indexOf(opened.fault.phase),
					op: opened.fault.op ?? -1,
					instruction: opened.fault.instruction ?? -1,
				};
		const { program: _, ...wanted } = row;
		assert.deepEqual(found, wanted, opened.ok ? "accepted" : opened.fault.message);
		codes.add(found.code);
		const decoded = decodeProgram(bytes);
		if (decoded.ok) assert.equal(hex(encodeProgram(decoded.value)), row.program);
	}
	assert.equal(codes.size, 12, [...codes].join());
});
