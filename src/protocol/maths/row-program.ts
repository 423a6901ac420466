// The inner loops of a verifier as a WebAssembly program: Philox blocks, entries of a row, inner products. Most of the time that it takes
// to check an evidence file is spent in these three, and JavaScript has neither a 32×32→64 multiply nor vectors.
// Assembled here, opcode by opcode, from the WebAssembly core specification (with its 128-bit vectors), so that there is no
// binary in the project that nobody can read. gemm-element.ts falls back to plain JavaScript where it cannot run; tests hold the two together.
//
// Functions of the program (addresses and counts are bytes and entries of its memory, `memory`):
//   blocks(k0, k1, block, domain, out, count)   count Philox blocks with counters (block + i, domain, 0, 0), 16 bytes each
//   bytes(from, out, k)                         k signed bytes → i16                                 (int8)
//   small(from, out, k)                         k bytes u → i16 ((u·17) >> 8) − 8                    (fp8)
//   wide(from, out, k)                          k u16 u → i16 ((u·363) >> 16) − 181                  (fp16, bf16, tf32)
//   dot(a, b, k)                                Σ a[i]·b[i] over k i16, modulo 2^32
// k is a multiple of 16.

type Code = readonly number[];

const I32 = 0x7f;
const I64 = 0x7e;
const V128 = 0x7b;

function leb(value: bigint, isSigned: boolean): number[] {
	const bytes: number[] = [];
	for (let rest = value; ; ) {
		const byte = Number(rest & 0x7fn);
		rest >>= 7n;
		const done = isSigned ? (rest === 0n && byte < 64) || (rest === -1n && byte >= 64) : rest === 0n;
		bytes.push(done ? byte : byte | 0x80);
		if (done) return bytes;
	}
}
const u32 = (value: number) => leb(BigInt(value), false);
const i32Const = (value: number): Code => [0x41, ...leb(BigInt(value | 0), true)];
const i64Const = (value: bigint): Code => [0x42, ...leb(value, true)];
const get = (local: number): Code => [0x20, ...u32(local)];
const set = (local: number): Code => [0x21, ...u32(local)];
const vector = (opcode: number): Code => [0xfd, ...u32(opcode)];
const load = (local: number): Code => [...get(local), ...vector(0), 0, 0];
const load64s = (local: number): Code => [...get(local), ...vector(1), 0, 0];
const load64u = (local: number): Code => [...get(local), ...vector(2), 0, 0];
const storeAt = (address: number, offset: number, value: Code): Code => [
	...get(address),
	...value,
	0x36,
	2,
	...u32(offset),
];
const store128 = (address: number, value: Code): Code => [...get(address), ...value, ...vector(11), 0, 0];
const add = (local: number, step: number): Code => [...get(local), ...i32Const(step), 0x6a, ...set(local)];

const ADD = 0x6a;
const XOR = 0x73;
const EXTEND_U = 0xad;
const WRAP = 0xa7;
const MUL64 = 0x7e;
const SHR64 = 0x88;
const I16_SPLAT = 0x10;
const I16_ADD = 0x8e;
const I16_MUL = 0x95;
const I16_SHR_U = 0x8d;
const I32_ADD = 0xae;
const I32_DOT_I16 = 0xba;
const I32_EXTMUL_LOW_U = 0xbe;
const I32_EXTMUL_HIGH_U = 0xbf;
const I8_SHUFFLE = 0x0d;
const I32_LANE = 0x1b;

/** Repeats while the local, which each pass brings down by `step`, is not 0. It must not be 0 at first. */
const countDown = (local: number, step: number, body: Code): Code => [
	...[0x03, 0x40, ...body],
	...[...get(local), ...i32Const(-step), ADD, 0x22, ...u32(local), 0x0d, 0],
	0x0b,
];

interface Program {
	readonly name: string;
	readonly parameters: number;
	readonly hasResult: boolean;
	/** Types of the locals after the parameters. */
	readonly locals: readonly number[];
	readonly code: Code;
}

function blocksProgram(): Program {
	const [K0, K1, BLOCK, DOMAIN, OUT, COUNT, X0, X1, X2, X3, R0, R1, P0, P1] = Array.from(
		{ length: 14 },
		(_, i) => i,
	) as [number, number, number, number, number, number, number, number, number, number, number, number, number, number];
	const product = (x: number, factor: bigint, into: number): Code => [
		...get(x),
		EXTEND_U,
		...i64Const(factor),
		MUL64,
		...set(into),
	];
	const low = (p: number, into: number): Code => [...get(p), WRAP, ...set(into)];
	const mixed = (p: number, x: number, key: number, into: number): Code => [
		...[...get(p), ...i64Const(32n), SHR64, WRAP],
		...[...get(x), XOR, ...get(key), XOR, ...set(into)],
	];
	const round: Code = [
		...product(X0, 0xd2511f53n, P0),
		...product(X2, 0xcd9e8d57n, P1),
		...mixed(P1, X1, R0, X0),
		...low(P1, X1),
		...mixed(P0, X3, R1, X2),
		...low(P0, X3),
		...add(R0, 0x9e3779b9),
		...add(R1, 0xbb67ae85),
	];
	const copy = (from: number, to: number): Code => [...get(from), ...set(to)];
	const body: Code = [
		...[...copy(BLOCK, X0), ...copy(DOMAIN, X1), ...i32Const(0), ...set(X2), ...i32Const(0), ...set(X3)],
		...[...copy(K0, R0), ...copy(K1, R1)],
		...Array.from({ length: 10 }, () => round).flat(),
		...[X0, X1, X2, X3].flatMap((x, i) => storeAt(OUT, 4 * i, get(x))),
		...[...add(OUT, 16), ...add(BLOCK, 1)],
	];
	const locals = [I32, I32, I32, I32, I32, I32, I64, I64];
	return { name: "blocks", parameters: 6, hasResult: false, locals, code: countDown(COUNT, 1, body) };
}

/** Eight entries a pass: `step` bytes read at FROM (local 0), 16 written at OUT (local 1), K (local 2) down by 8. */
function rowProgram(name: string, step: number, entries: Code): Program {
	const body: Code = [...store128(1, entries), ...add(0, step), ...add(1, 16)];
	return { name, parameters: 3, hasResult: false, locals: [V128], code: countDown(2, 8, body) };
}

const splat = (value: number): Code => [...i32Const(value), ...vector(I16_SPLAT)];
/** Upper halves of the eight 32-bit products, in order: bytes 2, 3 of each lane of both halves. */
const upperHalves = [2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31];

const PROGRAMS: readonly Program[] = [
	blocksProgram(),
	rowProgram("bytes", 8, load64s(0)),
	rowProgram("small", 8, [
		...[...load64u(0), ...splat(17), ...vector(I16_MUL), ...i32Const(8), ...vector(I16_SHR_U)],
		...[...splat(-8), ...vector(I16_ADD)],
	]),
	rowProgram("wide", 16, [
		...[...load(0), ...set(3)],
		...[...get(3), ...splat(363), ...vector(I32_EXTMUL_LOW_U), ...get(3), ...splat(363), ...vector(I32_EXTMUL_HIGH_U)],
		...[...vector(I8_SHUFFLE), ...upperHalves, ...splat(-181), ...vector(I16_ADD)],
	]),
	{
		name: "dot",
		parameters: 3,
		hasResult: true,
		locals: [V128],
		code: [
			...countDown(2, 8, [
				...[...get(3), ...load(0), ...load(1), ...vector(I32_DOT_I16), ...vector(I32_ADD), ...set(3)],
				...[...add(0, 16), ...add(1, 16)],
			]),
			...[0, 1, 2, 3].flatMap((lane) => [...get(3), ...vector(I32_LANE), lane, ...(lane === 0 ? [] : [ADD])]),
		],
	},
];

const withLength = (bytes: Code): Code => [...u32(bytes.length), ...bytes];
const list = (items: readonly Code[]): Code => [...u32(items.length), ...items.flat()];
const section = (id: number, items: readonly Code[]): Code => [id, ...withLength(list(items))];
const text = (name: string): Code => withLength([...name].map((c) => c.charCodeAt(0)));

const PAGE_BYTES = 65536;
/** The longest row that the memory holds: raw draws and two rows, two bytes an entry each. As long as any row may be. */
export const MAX_PROGRAM_K = 65536;

export interface RowProgram {
	blocks(k0: number, k1: number, block: number, domain: number, out: number, count: number): void;
	bytes(from: number, out: number, k: number): void;
	small(from: number, out: number, k: number): void;
	wide(from: number, out: number, k: number): void;
	dot(a: number, b: number, k: number): number;
	readonly memory: WebAssembly.Memory;
}

let compiled: WebAssembly.Module | null | undefined;

/** A program with memory of its own; null where there is no WebAssembly, no vectors, or a page's policy forbids it. */
export function startRowProgram(): RowProgram | null {
	try {
		if (compiled === null) return null;
		compiled ??= new WebAssembly.Module(assembleRowProgram());
		return new WebAssembly.Instance(compiled).exports as unknown as RowProgram;
	} catch {
		compiled = null;
		return null;
	}
}

export function assembleRowProgram(): Uint8Array<ArrayBuffer> {
	const type = ({ parameters, hasResult }: Program): Code => [
		0x60,
		...list(Array.from({ length: parameters }, () => [I32])),
		...list(hasResult ? [[I32]] : []),
	];
	const code = (program: Program): Code =>
		withLength([...list(program.locals.map((local) => [1, local])), ...program.code, 0x0b]);
	return Uint8Array.from([
		...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
		...section(1, PROGRAMS.map(type)),
		...section(
			3,
			PROGRAMS.map((_, i) => u32(i)),
		),
		...section(5, [[0, ...u32((6 * MAX_PROGRAM_K) / PAGE_BYTES)]]),
		...section(7, [[...text("memory"), 2, 0], ...PROGRAMS.map(({ name }, i) => [...text(name), 0, ...u32(i)])]),
		...section(10, PROGRAMS.map(code)),
	]);
}
