// Two implementations of docs/work.md, one verdict: src/work/program/ and the engine's checker, compiled with
// AddressSanitizer and UBSan, on changed programs, changed bytes and programs at the very bounds; code and
// place must be the same. What both accept and a moment computes, both run, and every root must be the same.
// A difference prints the label, which brings it back, and the program.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { hostPlatform } from "../../src/engine/builds.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { decodeProgram } from "../../src/work/program/decode.ts";
import { encodeProgram } from "../../src/work/program/encode.ts";
import { openProgram } from "../../src/work/program/open-program.ts";
import { printProgram } from "../../src/work/program/print-text.ts";
import { createMachine } from "../../src/work/program/run-program.ts";
import { PHASES, type Program } from "../../src/work/program/shapes.ts";
import { tensorRoot } from "../../src/work/trace/tensor-tree.ts";
import { programBytes } from "../../vectors/naive-work.ts";
import { type Draw, mutateProgram, quickNumbers, randomProgram, seedOf } from "../../vectors/work-programs.ts";
import { isDeep, scaled, seed as testSeed } from "../fuzz.test-kit.ts";
import { declaredProgram, rewired, sectionProgram } from "./changed-programs.test-kit.ts";
import { longProgram } from "./long-maps.test-kit.ts";
import {
	givenTo,
	instructionProgram,
	isRunnable,
	modeBytes,
	placeProgram,
	sumProgram,
} from "./near-bounds.test-kit.ts";

const SEED = seedOf("both checkers");
const root = fileURLToPath(new URL("../..", import.meta.url));
const verdicts = join(root, "build", "engine", `${hostPlatform()}-sanitize`, "work_verdicts");
/** Deep runs draw others every time; ASSAY_SEED brings them back. */
const drawing = (text: string) => quickNumbers(isDeep ? `${text} ${testSeed}` : text);
const CHUNK = 2500;

before(() => {
	execFileSync("bash", [join(root, "engine/build.sh"), "--sanitize", "--test", "work_verdicts"], { stdio: "pipe" });
});

interface Case {
	readonly label: string;
	readonly bytes: Uint8Array;
}

/** The engine's line for each. */
function ask(what: 0 | 1, cases: readonly Case[]): string[] {
	const records = cases.map(({ bytes }) => {
		const record = Buffer.alloc(5 + bytes.length, bytes.length);
		record.writeUInt32LE(1 + bytes.length, 0);
		record[4] = what;
		record.set(bytes, 5);
		return record;
	});
	const { stdout, stderr, status, signal } = spawnSync(verdicts, [bytesToHex(SEED)], {
		input: Buffer.concat(records),
		maxBuffer: 1 << 30,
		env: { ...process.env, ASAN_OPTIONS: "abort_on_error=1:detect_leaks=0", UBSAN_OPTIONS: "abort_on_error=1" },
	});
	const lines = String(stdout).split("\n").slice(0, -1);
	const at = cases[lines.length];
	assert.ok(status === 0 && lines.length === cases.length, `${status ?? signal} at ${at && shown(at)}\n${stderr}`);
	return lines;
}

/** As text where it has one: that of a tensor which is not there has none. */
function shown({ label, bytes }: Case): string {
	const decoded = decodeProgram(bytes);
	let text = bytesToHex(bytes);
	try {
		if (decoded.ok) text += `\n${printProgram(decoded.value)}`;
	} catch {}
	return `${label}, ASSAY_SEED=${testSeed}\n${text}`;
}

/** Only a difference is worth printing a program. */
function compare(found: string | undefined, wanted: string, one: Case): void {
	if (found !== wanted) assert.equal(found, wanted, `the engine: ${found}\nhere: ${wanted}\n${shown(one)}`);
}

function verdictOf(bytes: Uint8Array): string {
	const opened = openProgram(bytes);
	if (opened.ok) return "right";
	const { code, tensor, phase, op, instruction } = opened.fault;
	return [code, tensor ?? -1, phase === null ? -1 : PHASES.indexOf(phase), op ?? -1, instruction ?? -1].join(" ");
}

function changedBytes(draw: Draw, from: Uint8Array): Uint8Array {
	const copy = from.slice(0, draw(8) === 0 ? draw(from.length) : from.length);
	for (let times = 1 + draw(3); times > 0 && copy.length > 0; times--) {
		const at = draw(3) === 0 ? draw(Math.min(copy.length, 60)) : draw(copy.length);
		copy[at] = [draw(256), draw(8), copy[at]! ^ (1 << draw(8)), 0xff, copy[at]! + 1][draw(5)]!;
	}
	return draw(30) === 0 ? Uint8Array.from([...copy, draw(256)]) : copy;
}

/** A base serves for some changes, for making one takes longer than changing it. */
function changedProgram(label: string, bases: { program: ReturnType<typeof randomProgram> | null }, i: number): Case {
	const draw = drawing(label);
	if (bases.program === null || i % 40 === 0) bases.program = randomProgram(draw, SEED, true);
	const base = bases.program;
	const encoded = (program: Program) => ({ label, bytes: encodeProgram(program) });
	const right = (): Program => {
		const decoded = decodeProgram(Uint8Array.from(programBytes(base)));
		return decoded.ok ? decoded.value : assert.fail(label);
	};
	const kind = draw(20);
	const at = [instructionProgram, instructionProgram, placeProgram, sumProgram, declaredProgram, sectionProgram][
		kind >> 1
	];
	if (at === placeProgram && draw(8) === 0) return { label, bytes: modeBytes(draw) };
	if (at !== undefined) return encoded(at(draw));
	if (kind < 15) {
		const changed = rewired(draw, right());
		try {
			return encoded(changed);
		} catch {
			// A number that its field does not hold is no program.
			return encoded(right());
		}
	}
	if (kind < 17) return { label, bytes: changedBytes(draw, Uint8Array.from(programBytes(base))) };
	let naive = mutateProgram(base, draw);
	for (let more = draw(3); more > 0; more--) naive = mutateProgram(naive, draw);
	return { label, bytes: Uint8Array.from(programBytes(naive)) };
}

/** Verdicts by code, once all are the same. */
function compareVerdicts(count: number, make: (i: number) => Case): Map<string, number> {
	const seen = new Map<string, number>();
	for (let first = 0; first < count; first += CHUNK) {
		const cases = Array.from({ length: Math.min(CHUNK, count - first) }, (_, i) => make(first + i));
		const found = ask(0, cases);
		for (const [i, one] of cases.entries()) {
			const wanted = verdictOf(one.bytes);
			compare(found[i], wanted, one);
			const code = wanted.split(" ", 1)[0]!;
			seen.set(code, (seen.get(code) ?? 0) + 1);
		}
	}
	return seen;
}

test("5,000 changed programs: both checkers name the same first fault at the same place, or none", () => {
	const bases = { program: null };
	const seen = compareVerdicts(scaled(5000), (i) => changedProgram(`changed ${i}`, bases, i));
	if (scaled(5000) < 5000) return;
	// All eleven codes and "right", each often enough to mean something; reading ends few of them.
	const shares = JSON.stringify([...seen]);
	assert.equal(seen.size, 12, shares);
	for (const [code, times] of seen) assert.ok(times >= 20, `${code}: ${times}`);
	assert.ok(seen.get("right")! > 0.15 * scaled(5000), shares);
	assert.ok(seen.get("PROGRAM_MALFORMED")! + seen.get("PROGRAM_LIMIT")! < 0.35 * scaled(5000), shares);
});

test("4,000 programs of one instruction, right or wrong by one: both checkers know the same interval", () => {
	const seen = compareVerdicts(scaled(4000), (i) => {
		const label = `instruction ${i}`;
		return { label, bytes: encodeProgram(instructionProgram(drawing(label))) };
	});
	const shares = JSON.stringify([...seen]);
	assert.ok(seen.get("right")! > 0.2 * scaled(4000) && seen.get("PROGRAM_OUTPUT")! > 0.2 * scaled(4000), shares);
});

test("200 maps as long as they may be, or a little longer: both checkers draw the line at the same byte", () => {
	const seen = compareVerdicts(scaled(200), (i) => {
		const label = `long ${i}`;
		return { label, bytes: encodeProgram(longProgram(drawing(label))) };
	});
	const shares = JSON.stringify([...seen]);
	assert.ok(seen.get("right")! > 0.3 * scaled(200) && seen.get("PROGRAM_LIMIT")! > 0.2 * scaled(200), shares);
});

/** What the engine prints of a run, from the plain reference. */
function rootsOf(bytes: Uint8Array): string {
	const opened = openProgram(bytes);
	if (!opened.ok) return opened.fault.message;
	const { program } = opened.value;
	const given = givenTo(program, SEED);
	// A changed declaration gives other elements: a constant's root is then theirs.
	const tensors = program.tensors.map((t) => (t.root === null ? t : { ...t, root: tensorRoot(given[t.name]!) }));
	const machine = createMachine({ ...opened.value, program: { ...program, tensors } }, SEED, given);
	let found = "";
	for (let segment = 0; segment < 3; segment++)
		machine.runSegment(({ phase, output }) => {
			if (phase === "step") found += bytesToHex(tensorRoot(output));
		});
	for (const [i, { kind }] of program.tensors.entries())
		if (kind === "state" || kind === "result" || kind === "metric")
			found += bytesToHex(tensorRoot(machine.tensors[i]!));
	return found;
}

test("400 random programs: the engine and the reference give the same roots for every op of every step", () => {
	const operators = new Map<string, number>();
	for (let first = 0; first < scaled(400); first += CHUNK) {
		const cases: Case[] = [];
		for (let i = first; i < Math.min(first + CHUNK, scaled(400)); i++) {
			const label = `run ${i}`;
			const draw = drawing(label);
			for (;;) {
				const kind = draw(8);
				const bytes =
					kind === 0
						? encodeProgram(instructionProgram(draw))
						: kind === 1
							? encodeProgram(placeProgram(draw))
							: kind === 2
								? encodeProgram(sumProgram(draw))
								: Uint8Array.from(programBytes(randomProgram(draw, SEED, i % 16 > 0)));
				const decoded = decodeProgram(bytes);
				if (!decoded.ok || !isRunnable(decoded.value)) continue;
				for (const { operator } of decoded.value.step) operators.set(operator, (operators.get(operator) ?? 0) + 1);
				cases.push({ label, bytes });
				break;
			}
		}
		const found = ask(1, cases);
		for (const [i, one] of cases.entries()) compare(found[i], rootsOf(one.bytes), one);
	}
	if (scaled(400) >= 400) assert.equal(operators.size, 4);
});
