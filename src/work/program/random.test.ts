// Random programs against the second implementation of docs/work.md in vectors/: right ones compute the same;
// changed ones are refused at the same place, or are right; changed bytes never do anything else than being
// refused or meaning what they spell.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeep, scaled, seed as testSeed } from "../../../tests/fuzz.test-kit.ts";
import { type Program as NaiveProgram, programBytes, type Ran, run } from "../../../vectors/naive-work.ts";
import { type Fault, firstFault } from "../../../vectors/naive-work-check.ts";
import { givenOf, mutateProgram, quickNumbers, randomProgram, seedOf } from "../../../vectors/work-programs.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { elementsOf } from "../builder/samples.test-kit.ts";
import { TENSOR_TYPES } from "../operators/tensor-type.ts";
import { machineState } from "../trace/run-trace.ts";
import type { CheckedProgram } from "./check-program.ts";
import { decodeProgram } from "./decode.ts";
import { encodeProgram } from "./encode.ts";
import { faultSentence, orThrow, type ProgramFault } from "./fault.ts";
import { openProgram } from "./open-program.ts";
import { parseProgram } from "./parse-text.ts";
import { printProgram } from "./print-text.ts";
import { createMachine } from "./run-program.ts";
import { PHASES } from "./shapes.ts";

const SEED = seedOf("random");
/** Deep runs draw others every time; ASSAY_SEED brings them back. */
const drawing = (text: string) => quickNumbers(isDeep ? `${text} ${testSeed}` : text);

/** Both runs of segments 0 … last: every output, every state hash; and outputs inside their intervals. */
function compareRuns(naive: NaiveProgram, checked: CheckedProgram, last: number): void {
	const given = givenOf(naive, SEED);
	const ran: Ran[] = [];
	const end = run(naive, SEED, given, last, (one) => ran.push(one));
	const machine = createMachine(
		checked,
		SEED,
		Object.fromEntries(
			[...given].map(([i, values]) => [
				naive.tensors[i]!.name,
				elementsOf(TENSOR_TYPES[naive.tensors[i]!.type]!, values),
			]),
		),
	);
	let next = 0;
	for (let segment = 0; segment <= last; segment++) {
		assert.equal(bytesToHex(machineState(machine)), bytesToHex(end.states[segment]!));
		machine.runSegment(({ phase, number, step, op, output }) => {
			const wanted = ran[next++]!;
			assert.deepEqual([PHASES[wanted.phase], wanted.op, wanted.step], [phase, number, step]);
			assert.deepEqual([...output].map(BigInt), wanted.output, `${phase} op ${number} of step ${step}`);
			for (const value of wanted.output) assert.ok(value >= op.output.lo && value <= op.output.hi);
		});
	}
	assert.equal(bytesToHex(machineState(machine)), bytesToHex(end.states[last + 1]!));
	assert.equal(next, ran.length);
}

test("random programs compute what the second implementation computes", () => {
	const operators = new Map<string, number>();
	for (let i = 0; i < scaled(24); i++) {
		const draw = drawing(`run ${i}`);
		const naive = randomProgram(draw, SEED, i % 3 > 0);
		const checked = orThrow(openProgram(programBytes(naive)));
		compareRuns(naive, checked, 2);
		for (const { operator } of checked.program.step) operators.set(operator, (operators.get(operator) ?? 0) + 1);
		const text = printProgram(checked.program);
		assert.deepEqual(parseProgram(text), checked.program);
	}
	assert.equal(operators.size, 4);
});

function placeOf(fault: ProgramFault): Fault {
	const { code, tensor, phase, op, instruction } = fault;
	return {
		code,
		...(tensor === null ? {} : { tensor }),
		...(phase === null ? {} : { phase: PHASES.indexOf(phase) }),
		...(op === null ? {} : { op }),
		...(instruction === null ? {} : { instruction }),
	};
}

test("5,000 changed programs: one verdict of two checkers; who is accepted is right", () => {
	const seen = new Map<string, number>();
	let base: NaiveProgram | null = null;
	let ran = 0;
	for (let i = 0; i < scaled(5000); i++) {
		const draw = drawing(`changed ${i}`);
		if (base === null || i % 50 === 0) base = randomProgram(draw, SEED, true);
		let naive = mutateProgram(base, draw);
		if (draw(3) === 0) naive = mutateProgram(naive, draw);
		const wanted = firstFault(naive);
		const opened = openProgram(programBytes(naive));
		const found = opened.ok ? null : placeOf(opened.fault);
		assert.deepEqual(found, wanted, opened.ok ? "accepted" : faultSentence(opened.fault));
		seen.set(found?.code ?? "right", (seen.get(found?.code ?? "right") ?? 0) + 1);
		// Constants keep their bytes only while their declaration is the old one.
		const isSame = naive.tensors.every(
			(t, n) =>
				t.kind > 0 ||
				JSON.stringify([t.type, t.dims, `${t.lo}${t.hi}`]) ===
					JSON.stringify([
						base!.tensors[n]!.type,
						base!.tensors[n]!.dims,
						`${base!.tensors[n]!.lo}${base!.tensors[n]!.hi}`,
					]),
		);
		if (!opened.ok || !isSame || draw(40) > 0 || naive.k > 3) continue;
		compareRuns(naive, opened.value, 1);
		ran += 1;
	}
	if (scaled(5000) >= 5000) {
		assert.equal(seen.size, 10, JSON.stringify([...seen]));
		assert.ok(ran > 30, String(ran));
	}
});

test("changed bytes are refused or mean what they spell", () => {
	const seen = { refused: 0, read: 0 };
	let bytes = new Uint8Array();
	for (let i = 0; i < scaled(2500); i++) {
		const draw = drawing(`bytes ${i}`);
		if (i % 100 === 0) bytes = Uint8Array.from(programBytes(randomProgram(draw, SEED, true)));
		const copy = bytes.slice(0, draw(8) === 0 ? draw(bytes.length) : bytes.length);
		for (let times = 1 + draw(3); times > 0 && copy.length > 0; times--)
			copy[draw(copy.length)] = draw(2) === 0 ? draw(256) : draw(8);
		const decoded = decodeProgram(copy);
		seen[decoded.ok ? "read" : "refused"] += 1;
		if (!decoded.ok) continue;
		assert.equal(bytesToHex(encodeProgram(decoded.value)), bytesToHex(copy));
		openProgram(copy);
	}
	assert.ok(seen.refused > 0.2 * scaled(2500) && seen.read > 0.1 * scaled(2500), JSON.stringify(seen));
});
