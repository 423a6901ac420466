// Rows of work-*.json, from docs/work.md alone.
import type { Bytes } from "./naive-maths.ts";
import {
	arithmetic,
	be,
	type Code,
	type Instruction,
	keccak,
	keccakRoot,
	type Program,
	programBytes,
	programRoot,
	type Ran,
	run,
	spanParts,
	tensorRoot,
	traceLeaf,
	transcript,
} from "./naive-work.ts";
import { arithmeticRange, type Fault, firstFault, type Range } from "./naive-work-check.ts";
import { hex, label, type Row } from "./rows.ts";
import { faultRows } from "./work-faults.ts";
import { type Draw, givenOf, mutateProgram, quickNumbers, randomProgram, seedOf } from "./work-programs.ts";

const NAMES =
	"load const iota segment step turn rand add sub mul neg abs min max shl shr rsh rshv div rdiv isqrt bitlen eq lt and or xor select clamp".split(
		" ",
	);
const UNARY = [10, 11, 20, 21];
const SHIFTS = [14, 15, 16];

/** Whole numbers of 64 bits, ends and small ones often. */
function someNumber(draw: Draw): bigint {
	const size = 2n ** BigInt(draw(64));
	const wide = (BigInt(draw(2 ** 32)) << 32n) | BigInt(draw(2 ** 32));
	const list = [
		BigInt(draw(9)) - 4n,
		size,
		size - 1n,
		-size,
		1n - size,
		wide % (2n * size),
		-(wide % (2n * size)),
		2n ** 63n - 1n,
		-(2n ** 63n),
	];
	return BigInt.asIntN(64, list[draw(list.length)]!);
}

const fits = (value: bigint) => BigInt.asIntN(64, value) === value;

function operands(x: number, draw: Draw): { bits: number; a: bigint; b: bigint; c: bigint } {
	const bits = SHIFTS.includes(x) ? 1 + draw(62) : 0;
	const [a, b, c] = [someNumber(draw), someNumber(draw), someNumber(draw)];
	if (x === 17) return { bits, a, b: BigInt(draw(94)) - 31n, c };
	if (x === 18 || x === 19) return { bits, a, b: b < 1n ? (b === -(2n ** 63n) ? 1n : 1n - b) : b, c };
	return x === 20 ? { bits, a: a < 0n ? -(a + 1n) : a, b, c } : { bits, a, b, c };
}

export function instructionRows(): Row[] {
	const rows: Row[] = [];
	for (let x = 7; x <= 28; x++) {
		const draw = quickNumbers(`work instruction ${x}`);
		for (let made = 0; made < 40; ) {
			const { bits, a, b, c } = operands(x, draw);
			const value = arithmetic(x, bits, a, b, c);
			if (!fits(value)) continue;
			made += 1;
			rows.push({ instruction: NAMES[x]!, bits, a: `${a}`, b: `${b}`, c: `${c}`, value: `${value}` });
		}
	}
	return rows;
}

export function intervalRows(): Row[] {
	const rows: Row[] = [];
	for (let x = 7; x <= 28; x++) {
		const draw = quickNumbers(`work interval ${x}`);
		for (let i = 0; i < 36; i++) {
			const range = (): Range => {
				const [p, q] = [someNumber(draw), draw(4) === 0 ? 0n : someNumber(draw)];
				return p < q ? [p, q] : [q, p];
			};
			const bits = SHIFTS.includes(x) ? 1 + draw(62) : 0;
			const [first, c] = [range(), range()];
			let b = range();
			// Squares that fit, with both signs.
			const a: Range = x === 9 && i % 3 === 0 ? [-BigInt(draw(2 ** 31)), BigInt(draw(2 ** 31))] : first;
			if (x === 17 && draw(4) > 0) b = [BigInt(draw(40)) - 31n, BigInt(9 + draw(54))];
			if ((x === 18 || x === 19) && b[0] < 1n && draw(4) > 0) b = [1n, b[1] < 1n ? 7n : b[1]];
			const isSquare = x === 9 && i % 3 === 0;
			const own = UNARY.includes(x) || SHIFTS.includes(x) ? [a] : x < 27 ? [a, isSquare ? a : b] : [a, b, c];
			const found = arithmeticRange(x, bits, own, isSquare);
			const ends = own.flatMap((one, n) => [
				[`${"abc"[n]}1`, `${one[0]}`],
				[`${"abc"[n]}2`, `${one[1]}`],
			]);
			const outcome =
				typeof found === "string" ? { refused: `PROGRAM_${found}` } : { lo: `${found[0]}`, hi: `${found[1]}` };
			rows.push({ instruction: NAMES[x]!, bits, square: isSquare ? 1 : 0, ...Object.fromEntries(ends), ...outcome });
		}
	}
	return rows;
}

const PROGRAMS = 26;
const LAST = 2;

interface Case {
	readonly name: string;
	readonly program: Program;
	readonly seed: Bytes;
	readonly ran: readonly Ran[];
	readonly end: ReturnType<typeof run>;
}

function cases(): Case[] {
	return Array.from({ length: PROGRAMS }, (_, i) => {
		const name = `p${i}`;
		const seed = seedOf(name);
		const program = randomProgram(quickNumbers(`work program ${i}`), seed);
		const ran: Ran[] = [];
		const end = run(program, seed, givenOf(program, seed), LAST, (one) => ran.push(one));
		return { name, program, seed, ran, end };
	});
}

let made: Case[] | undefined;
const allCases = (): Case[] => {
	made ??= cases();
	return made;
};

const opOf = ({ program }: Case, { phase, op }: Ran) => (phase === 0 ? program.init : program.step)[op]!;

export function programRows(): Row[] {
	return allCases().map((one) => {
		const roots = new Map<Ran, Bytes>(one.ran.map((ran) => [ran, tensorRoot(ran.output, opOf(one, ran).type)]));
		const leaf = (ran: Ran) => {
			const inputs = ran.inputs.map((values, i) => tensorRoot(values, opOf(one, ran).operands[i]!.type));
			return traceLeaf(ran.step, ran.op, inputs, roots.get(ran)!);
		};
		const traces = Array.from({ length: LAST + 1 }, (_, j) =>
			keccakRoot(one.ran.filter(({ moment }) => moment.segment === j).map(leaf)),
		);
		const last = one.ran.filter(({ moment, step }) => moment.segment === LAST && step === one.program.k - 1);
		return {
			name: one.name,
			program: hex(programBytes(one.program)),
			root: hex(programRoot(one.program)),
			seed: hex(one.seed),
			inputs: hex(one.end.inputs),
			states: one.end.states.map(hex).join(""),
			traces: traces.map(hex).join(""),
			outputs: last.map((ran) => hex(roots.get(ran)!)).join(""),
			result: hex(one.end.result),
		};
	});
}

/** Transcripts of some elements; spans of turns too. */
export function elementRows(): Row[] {
	return allCases().flatMap((one, i) => {
		const draw = quickNumbers(`work elements ${i}`);
		const chosen = one.ran
			.filter(({ moment }) => moment.segment !== 1)
			.filter((ran) => draw(opOf(one, ran).code?.turns ? 2 : 3) === 0);
		return chosen.slice(0, 9).flatMap((ran): Row[] => {
			const op = opOf(one, ran);
			const element = draw(ran.output.length);
			const row = (path: number[]): Row => {
				const told = transcript(op, element, ran.moment, ran.inputs, path);
				const place = { program: one.name, segment: ran.moment.segment, step: ran.step, op: ran.op, element };
				return { ...place, path: path.join("."), transcript: told.map((value) => hex(be(value, 8))).join("") };
			};
			const turns = op.code?.turns ?? 0;
			if (turns === 0) return [row([])];
			const most = spanParts(op.code!.carried.length);
			const each = Math.ceil(turns / most);
			const part = draw(Math.ceil(turns / each));
			const inner = Math.min(each, turns - part * each);
			const parts = Math.ceil(inner / Math.ceil(inner / most));
			return [row([]), row([part]), ...(inner > 1 ? [row([part, draw(parts)])] : [])];
		});
	});
}

const placeOf = ({ tensor = -1, phase = -1, op = -1, instruction = -1 }: Partial<Fault>): Row => ({
	tensor,
	phase,
	op,
	instruction,
});

/** Changed programs with their first fault; `code` is empty where there is none. */
function changedRows(): Row[] {
	const seen = new Map<string, number>();
	const rows: Row[] = [];
	let base: Program | undefined;
	for (let i = 0; i < 2500; i++) {
		const draw = quickNumbers(`work refused ${i}`);
		if (i % 50 === 0) base = randomProgram(draw, seedOf("refused"), true);
		const program = mutateProgram(base!, draw);
		const fault = firstFault(program);
		const code = fault?.code ?? "";
		if ((seen.get(code) ?? 0) >= 4) continue;
		seen.set(code, (seen.get(code) ?? 0) + 1);
		rows.push({ program: hex(programBytes(program)), code, ...placeOf(fault ?? {}) });
	}
	return rows;
}

/** Bytes that no one may read, by hand: where to put what into a right program. */
/** A program of one map, whose leaf begins at `from`, with maps that are as long as they may be. */
function longMaps(program: Program, from: number) {
	const own = program.step[0]!;
	const withCode = (code: Code) => programBytes({ ...program, step: [{ ...own, code }] });
	const plain = (before: Instruction[]) => withCode({ turns: 0, carried: [], before, body: [], after: [] });
	const loads = own.code!.before;
	const some = (count: number, one: Instruction) => Array.from({ length: count }, () => one);
	return {
		/** So many instructions before the turns. */
		turning: (before: number) =>
			withCode({
				...{ turns: 3, carried: [{ from: 0, next: before + 1, lo: -9n, hi: 9n }] },
				...{ before: [...loads, ...some(before - 1, { x: 4 })], body: [{ x: 10, a: before }] },
				after: [{ x: 12, a: before, b: 0 }],
			}),
		/** A judge gets so many bytes: instructions of 9, 10 and 17 bytes with their registers, and the load. */
		judged: (bytes: number) => {
			const left = bytes - (plain(loads).length - from + 32 + 8) - 150 * 17;
			const [iotas, steps] = [left % 9, (left - 10 * (left % 9)) / 9];
			return plain([
				...some(150, { x: 1, v: 1n }),
				...some(iotas, { x: 2, axis: 0 }),
				...some(steps, { x: 4 }),
				...loads,
			]);
		},
	};
}

/** One state tensor, and one map with turns that writes it. */
const TURNING: Program = {
	k: 2,
	tensors: [{ kind: 2, type: 2, dims: [4], lo: -9n, hi: 9n, name: "w" }],
	init: [],
	step: [
		{
			operator: 1,
			type: 2,
			dims: [4],
			lo: -9n,
			hi: 9n,
			target: 0,
			operands: [{ source: 3, number: 0, type: 2, dims: [4] }],
			code: {
				turns: 3,
				carried: [{ from: 0, next: 2, lo: -9n, hi: 9n }],
				before: [
					{
						x: 0,
						operand: 0,
						places: [{ edge: 0, register: null, constant: 0, terms: [{ variable: 0, times: 1 }] }],
					},
				],
				body: [{ x: 10, a: 1 }],
				after: [{ x: 12, a: 1, b: 0 }],
			},
		},
	],
};

function malformedRows(): Row[] {
	const right = programBytes(TURNING);
	const TENSOR = 20;
	const OP = TENSOR + 2 + 5 + 16 + 2;
	const CODE = OP + 3 + 5 + 16 + 2 + 1 + 9;
	const LOAD = CODE + 9 + 18;
	const put = (at: number, ...bytes: number[]) => {
		const copy = Uint8Array.from(right);
		copy.set(bytes, at);
		return copy;
	};
	const op = { phase: 1, op: 0 };
	const { turning, judged } = longMaps(TURNING, OP);
	const list: [what: string, bytes: Uint8Array, code: string, place: Partial<Fault>][] = [
		["right", right, "", {}],
		["empty", right.slice(0, 0), "MALFORMED", {}],
		["cut in the head", right.slice(0, 19), "MALFORMED", {}],
		["cut in a tensor", right.slice(0, 30), "MALFORMED", { tensor: 0 }],
		["cut in an op", right.slice(0, -1), "MALFORMED", op],
		["a byte more", Uint8Array.from([...right, 0]), "MALFORMED", {}],
		["magic", put(7, 0x32), "MALFORMED", {}],
		["version", put(9, 2), "MALFORMED", {}],
		["k of 0", put(10, 0, 0, 0, 0), "LIMIT", {}],
		["k of 65537", put(10, 0, 1, 0, 1), "LIMIT", {}],
		["4097 tensors", put(14, 0x10, 1), "LIMIT", {}],
		["no step op", put(18, 0, 0), "LIMIT", {}],
		["65536 ops", put(16, 0xff, 0xff), "LIMIT", {}],
		["kind 6", put(TENSOR, 6), "MALFORMED", { tensor: 0 }],
		["type 4", put(TENSOR + 1, 4), "MALFORMED", { tensor: 0 }],
		["rank 0", put(TENSOR + 2, 0), "LIMIT", { tensor: 0 }],
		["rank 7", put(TENSOR + 2, 7), "LIMIT", { tensor: 0 }],
		["an axis of 0", put(TENSOR + 3, 0, 0, 0, 0), "LIMIT", { tensor: 0 }],
		["an axis of 2^31", put(TENSOR + 3, 0x80), "LIMIT", { tensor: 0 }],
		["a metric of 1025", put(TENSOR, 5, 2, 1, 0, 0, 4, 1), "LIMIT", { tensor: 0 }],
		["a metric of 1024 that is no state", put(TENSOR, 5, 2, 1, 0, 0, 4, 0), "TARGET", op],
		["no name", put(OP - 2, 0), "MALFORMED", { tensor: 0 }],
		["a name of 65", put(OP - 2, 65), "LIMIT", { tensor: 0 }],
		["a name with a space", put(OP - 1, 32), "MALFORMED", { tensor: 0 }],
		["a name with a digit first", put(OP - 1, 0x31), "MALFORMED", { tensor: 0 }],
		["operator 4", put(OP, 4), "MALFORMED", op],
		["another phase", put(OP + 1, 0), "MALFORMED", op],
		["phase 2", put(OP + 1, 2), "MALFORMED", op],
		["nine operands", put(CODE - 10, 9), "LIMIT", op],
		["source 5", put(CODE - 9, 5), "MALFORMED", op],
		["4097 turns", put(CODE, 0x10, 1), "LIMIT", op],
		["no turns, sections", put(CODE, 0, 0), "MALFORMED", op],
		["17 carried", put(CODE + 2, 17), "LIMIT", op],
		["none carried", put(CODE + 2, 0), "MALFORMED", op],
		["before is empty", put(CODE + 3, 0, 0), "MALFORMED", op],
		["after is empty", put(CODE + 7, 0, 0), "MALFORMED", op],
		["257 registers", put(CODE + 5, 0, 254), "LIMIT", op],
		["112 instructions before turns", turning(112), "", {}],
		["113 instructions before turns", turning(113), "LIMIT", op],
		["2960 bytes for a judge", judged(2960), "", {}],
		["2961 bytes for a judge", judged(2961), "LIMIT", op],
		["from the body", put(CODE + 9, 1), "MALFORMED", op],
		["next after the body", put(CODE + 10, 3), "MALFORMED", op],
		["operand 1", put(LOAD + 1, 1), "MALFORMED", op],
		["mode 8", put(LOAD + 2, 8), "MALFORMED", op],
		["ten terms", put(LOAD + 7, 10), "MALFORMED", op],
		["a coordinate too many", put(LOAD + 8, 1), "MALFORMED", op],
		["a turn before the turns", put(LOAD + 8, 8), "MALFORMED", op],
		["no times", put(LOAD + 9, 0, 0, 0, 0), "MALFORMED", op],
		["instruction 29", put(LOAD + 13, 29), "MALFORMED", op],
		["a register of its own", put(LOAD + 14, 2), "MALFORMED", op],
		["a register of the body", put(LOAD + 16, 2), "MALFORMED", op],
	];
	return list.map(([, bytes, code, place]) => ({
		program: hex(bytes),
		code: code === "" ? "" : `PROGRAM_${code}`,
		...placeOf(place),
	}));
}

export const refusedRows = (): Row[] => [...malformedRows(), ...faultRows(), ...changedRows()];

export function claimRows(): Row[] {
	return allCases()
		.slice(0, 6)
		.map(({ name, program, end }, i) => {
			const draw = quickNumbers(`work claim ${i}`);
			const [chainId, job, part, first] = [1 + draw(2 ** 31), draw(2 ** 31), draw(9), draw(2 ** 40)];
			const escrow = label(`work escrow ${i}`).subarray(0, 20);
			const segments = end.states.length - 1;
			const segmentRoot = keccakRoot(end.states);
			const head = [
				Uint8Array.of(6),
				be(chainId, 32),
				escrow,
				be(job, 32),
				be(part, 4),
				programRoot(program),
				end.inputs,
			];
			const claim = keccak(...head, be(first, 8), be(segments, 8), segmentRoot, end.result);
			return {
				program: name,
				chainId,
				escrow: hex(escrow),
				job,
				part,
				first,
				segments,
				segmentRoot: hex(segmentRoot),
				claim: hex(claim),
			};
		});
}
