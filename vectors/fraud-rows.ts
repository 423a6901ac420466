// Rows of work-fraud.json, from docs/jobs.md §7 and docs/work.md alone: one small program with every kind of
// source, run twice over, its trace told with one root or element changed, and the file that shows it. Beside
// each kind a file about the honest run, which shows nothing.
import { type Bytes, sha256, taggedHash } from "./naive-maths.ts";
import {
	be,
	head,
	type Instruction,
	keccak,
	keccakRoot,
	leaves,
	NONE,
	type Op,
	type Place,
	type Program,
	programBytes,
	programRoot,
	type Ran,
	run,
	tensorBytes,
	tensorRoot,
	traceLeaf,
	transcript,
} from "./naive-work.ts";
import { hex, label, type Row } from "./rows.ts";

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

function canonical(value: Json): string {
	if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
	if (typeof value !== "object" || value === null) return JSON.stringify(value);
	const of = value as { readonly [key: string]: Json };
	return `{${Object.keys(of)
		.sort()
		.map((key) => `${JSON.stringify(key)}:${canonical(of[key]!)}`)
		.join(",")}}`;
}

function fileOf(body: Json, attachments: readonly Bytes[]): Bytes {
	const listed = attachments.map((one) => ({ bytes: one.length, sha256: hex(sha256(one)) }));
	const json = Buffer.from(canonical({ attachments: listed, body }));
	const length = Buffer.alloc(4);
	length.writeUInt32LE(json.length);
	return Buffer.concat([Buffer.from("ASSAYEV1"), length, json, ...attachments]);
}

/** From a leaf hash to the root, bottom up. */
function pathOf(hashes: readonly Bytes[], index: number): string[] {
	const path: string[] = [];
	let [level, at] = [[...hashes], index];
	while (level.length > 1) {
		const other = level[at % 2 === 0 ? at + 1 : at - 1];
		if (other !== undefined) path.push(hex(other));
		const above: Bytes[] = [];
		for (let i = 0; i < level.length; i += 2)
			above.push(i + 1 < level.length ? keccak(Uint8Array.of(1), level[i]!, level[i + 1]!) : level[i]!);
		[level, at] = [above, Math.floor(at / 2)];
	}
	return path;
}
const leafHash = (bytes: Bytes): Bytes => keccak(Uint8Array.of(0), bytes);
const numbers = (all: readonly bigint[]): Bytes => Buffer.concat(all.map((one) => be(one, 8)));

const coordinate = (variable = 0): Place[] => [
	{ edge: 0, register: null, constant: 0, terms: [{ variable, times: 1 }] },
];
const load = (operand: number, variable = 0): Instruction => ({ x: 0, operand, places: coordinate(variable) });
const WIDE = { lo: -100_000n, hi: 100_000n };
const clamped = (of: number, next: number): Instruction[] => [
	{ x: 1, v: WIDE.lo },
	{ x: 1, v: WIDE.hi },
	{ x: 28, a: of, b: next, c: next + 1 },
];
const straight = (before: Instruction[]) => ({ turns: 0, carried: [], before, body: [], after: [] });

const [CONSTANT, INPUT, STATE, IDLE, SCRATCH, RESULT] = [0, 1, 2, 3, 4, 5] as const;
const TABLE = [3n, -2n, 5n];
const DATA = [1n, -2n, 3n, 4n, 0n, -5n];

function smallProgram(): Program {
	const tensor = (kind: number, name: string, type: number, dims: number[], ends = WIDE) => ({
		kind,
		name,
		type,
		dims,
		...ends,
	});
	const i32 = (source: number, number: number) => ({ source, number, type: 2, dims: [2] });
	const map = (target: number, operands: Op["operands"], code: Op["code"]): Op => ({
		...{ operator: 1, type: 2, dims: [2], ...WIDE, target, operands },
		...(code && { code }),
	});
	const x = { source: 2, number: INPUT, type: 0, dims: [1, 2, 3] };
	return {
		k: 2,
		tensors: [
			{ ...tensor(0, "table", 0, [3], { lo: -9n, hi: 9n }), root: tensorRoot(TABLE, 0) },
			tensor(1, "x", 0, [2, 3], { lo: -9n, hi: 9n }),
			tensor(2, "s", 2, [2]),
			tensor(2, "idle", 2, [2]),
			tensor(3, "m", 2, [2]),
			tensor(4, "r", 2, [2]),
		],
		init: [],
		step: [
			{ operator: 0, type: 2, dims: [1, 2, 2], lo: -243n, hi: 243n, target: NONE, operands: [x, x] },
			{
				...{ operator: 2, type: 2, dims: [2], lo: -486n, hi: 486n, target: NONE, which: 0 },
				operands: [{ source: 0, number: 0, type: 2, dims: [2, 2] }],
			},
			map(
				STATE,
				[i32(3, STATE), i32(0, 1), i32(3, IDLE), { source: 1, number: CONSTANT, type: 0, dims: [3] }, i32(4, SCRATCH)],
				{
					turns: 3,
					carried: [{ from: 1, next: 5, lo: -1000n, hi: 1000n }],
					before: [load(0), load(1), load(2)],
					body: [load(3, 8), { x: 7, a: 3, b: 4 }],
					after: [load(4), { x: 7, a: 0, b: 3 }, { x: 7, a: 7, b: 6 }, { x: 7, a: 8, b: 2 }, ...clamped(9, 10)],
				},
			),
			map(SCRATCH, [i32(4, SCRATCH), i32(0, 2)], straight([load(0), load(1), { x: 7, a: 0, b: 1 }, ...clamped(2, 3)])),
			map(RESULT, [i32(0, 2)], straight([load(0)])),
		],
	};
}

interface Told {
	step: number;
	op: number;
	inputs: Bytes[];
	output: Bytes;
}

const SEED = label("work fraud");
const SEGMENT = 1;
const OTHER = label("another root");
const KINDS: Readonly<Record<number, number[]>> = { 2: [STATE, IDLE], 4: [RESULT] };

class Game {
	readonly program = smallProgram();
	readonly ran: Ran[] = [];
	readonly end: ReturnType<typeof run>;
	/** Trace of the segment, as the accused tells it. */
	readonly trace: Told[];
	/** Roots of state and results before segments 0, 1, 2. */
	readonly roots: Map<number, Bytes>[];
	resultRoot: Bytes | null = null;

	constructor() {
		const given = new Map([
			[CONSTANT, TABLE],
			[INPUT, DATA],
		]);
		this.end = run(this.program, SEED, given, SEGMENT, (one) => this.ran.push(one));
		this.trace = this.ran.map(({ step, op, inputs, output }) => ({
			...{ step, op, output: tensorRoot(output, this.op(op).type) },
			inputs: inputs.map((values, i) => tensorRoot(values, this.op(op).operands[i]!.type)),
		}));
		const zero = tensorRoot([0n, 0n], 2);
		const before = new Map([STATE, IDLE, RESULT].map((tensor) => [tensor, zero] as const));
		const last = new Map(
			[STATE, IDLE, RESULT].map((tensor) => [tensor, tensorRoot(this.end.now[tensor]!, 2)] as const),
		);
		this.roots = [new Map(before), new Map(before), last];
	}

	op(number: number): Op {
		return this.program.step[number]!;
	}

	at(step: number, op: number): Told {
		return this.trace[step * this.program.step.length + op]!;
	}

	private hashes(segment: number, kind: number): Bytes[] {
		return KINDS[kind]!.map((tensor) => leafHash(Buffer.concat([be(tensor, 2), this.roots[segment]!.get(tensor)!])));
	}

	private tree(segment: number, kind: number): Bytes {
		return keccakRoot(this.hashes(segment, kind));
	}

	private states(): Bytes[] {
		return [0, 1, 2].map((j) => keccak(Uint8Array.of(4), be(j, 8), this.tree(j, 2), this.tree(j, 4)));
	}

	shownState(segment: number): Json {
		const path = pathOf(this.states(), segment);
		return { segment, states: hex(this.tree(segment, 2)), results: hex(this.tree(segment, 4)), path };
	}

	shownRoot(segment: number, kind: number, tensor: number): Json {
		const index = KINDS[kind]!.indexOf(tensor);
		const path = pathOf(this.hashes(segment, kind), index);
		return { tensor, root: hex(this.roots[segment]!.get(tensor)!), index, count: KINDS[kind]!.length, path };
	}

	shownOp(number: number): Json {
		return { number, path: pathOf(leaves(this.program).ops.map(leafHash), number) };
	}

	shownLeaf(step: number, op: number): Json {
		const all = this.trace.map((one) => traceLeaf(one.step, one.op, one.inputs, one.output));
		const { inputs, output } = this.at(step, op);
		const path = pathOf(all, step * this.program.step.length + op);
		return { step, op, inputs: inputs.map(hex), output: hex(output), path };
	}

	opBytes = (number: number): Bytes => leaves(this.program).ops[number]!;
	tensorBytes = (number: number): Bytes => leaves(this.program).tensors[number]!;
	tensorPath = (number: number): string[] => pathOf(leaves(this.program).tensors.map(leafHash), number);
	inputTree = (): Bytes => leafHash(Buffer.concat([be(INPUT, 2), tensorRoot(DATA, 0)]));

	file(segment: number, hasTrace: boolean, fault: Json, attachments: readonly Bytes[]): Bytes {
		const { program } = this;
		const root = programRoot(program);
		const inputs = keccak(Uint8Array.of(5), SEED, this.inputTree());
		const segmentRoot = keccakRoot(this.states());
		const resultRoot = this.resultRoot ?? this.tree(2, 4);
		const numbers = [be(0, 32), new Uint8Array(20), be(0, 32), be(0, 4)];
		const hash = keccak(Uint8Array.of(6), ...numbers, root, inputs, be(0, 8), be(2, 8), segmentRoot, resultRoot);
		const trace = keccakRoot(this.trace.map((one) => traceLeaf(one.step, one.op, one.inputs, one.output)));
		const body = {
			...{ format: "assay-fraud", version: 2, accused: hex(hash), segment, trace: hasTrace ? hex(trace) : null, fault },
			signed: null,
			claim: {
				...{ chainId: "0", escrow: "00".repeat(20), job: "0", part: 0, program: hex(root), inputs: hex(inputs) },
				...{ first: 0, segments: 2, segmentRoot: hex(segmentRoot), resultRoot: hex(resultRoot) },
			},
			program: {
				head: hex(head(program)),
				tensors: hex(keccakRoot(leaves(program).tensors.map(leafHash))),
				ops: hex(keccakRoot(leaves(program).ops.map(leafHash))),
			},
		};
		return fileOf(body, attachments);
	}
}

interface Shows {
	readonly kind: string;
	readonly shows: string;
	readonly segment?: number;
	readonly step?: number;
	readonly op?: number;
	readonly element?: number;
	readonly said: string;
	readonly right: string;
}

function row(
	name: string,
	file: Bytes,
	code: string,
	{ kind, shows, segment = SEGMENT, step = -1, op = -1, element = -1, said, right }: Shows,
): Row {
	return {
		name,
		code,
		kind,
		shows,
		segment,
		step,
		op,
		element,
		said,
		right,
		file: Buffer.from(file).toString("base64"),
	};
}

const leafOfBytes = (bytes: Bytes): Bytes => {
	const leaf = new Uint8Array(1024);
	leaf.set(bytes);
	return leaf;
};

interface ToldOf {
	turns?: number[];
	/** So many parts of the path lead to the span with the mark. */
	marked?: number;
	attached?: (game: Game, leaf: Bytes) => Bytes[];
	element?: number;
}

/** One element of an op in step 1, as the accused tells it. */
function elementRows(): Row[] {
	const made: Row[] = [];
	const tell = (
		name: string,
		op: number,
		shows: string,
		contradiction: Json,
		lie: (game: Game, words: bigint[][], leaf: Bytes) => { said: bigint; right: bigint },
		options: ToldOf = {},
	): void => {
		const { turns = [], marked, element = 1 } = options;
		for (const isHonest of [false, true]) {
			const game = new Game();
			const ran = game.ran.find((one) => one.step === 1 && one.op === op)!;
			const words = [transcript(game.op(op), element, ran.moment, ran.inputs, turns)];
			if (marked !== undefined)
				words.push(transcript(game.op(op), element, ran.moment, ran.inputs, turns.slice(0, marked)));
			if (shows === "filling") words[0] = [];
			const leaf = leafOfBytes(tensorBytes(ran.output, 2));
			const told = isHonest ? { said: 0n, right: 0n } : lie(game, words, leaf);
			game.at(1, op).output = taggedHash("assay/leaf/1", leaf);
			const fault = {
				...{ kind: "element", op: game.shownOp(op), leaf: game.shownLeaf(1, op), seed: hex(SEED) },
				...{ inputs: hex(game.inputTree()), element, turns },
				...{ marked: marked ?? null, contradiction },
			};
			const attached = [game.opBytes(op), ...words.map(numbers), ...(options.attached?.(game, leaf) ?? [])];
			const file = game.file(SEGMENT, true, fault, attached);
			const place = { kind: "element", shows, step: 1, op, element, said: `${told.said}`, right: `${told.right}` };
			made.push(row(`${name}${isHonest ? ", honest" : ""}`, file, isHonest ? "FRAUD_AGREES" : "", place));
		}
	};
	const put = (leaf: Bytes, element: number, value: bigint) =>
		new DataView(leaf.buffer).setInt32(4 * element, Number(value), true);
	const input =
		(op: number, operand: number) =>
		(game: Game): Bytes => {
			const ran = game.ran.find((one) => one.step === 1 && one.op === op)!;
			return leafOfBytes(tensorBytes(ran.inputs[operand]!, game.op(op).operands[operand]!.type));
		};
	/** The value that the output has, said in the transcript too. */
	const consistent = (by: bigint) => (_: Game, words: bigint[][], leaf: Bytes) => {
		const right = words[0]![0]!;
		words[0]![0] = right + by;
		put(leaf, 1, right + by);
		return { said: right + by, right };
	};
	/** Another number of a transcript: `which` transcript, place. */
	const number = (which: number, place: number) => (_: Game, words: bigint[][], leaf: Bytes) => {
		put(leaf, 1, 7n);
		const right = words[which]![place]!;
		words[which]![place] = right + 4n;
		return { said: right + 4n, right };
	};
	tell(
		"value",
		4,
		"value",
		{ kind: "value", path: [] },
		(_, words, leaf) => {
			put(leaf, 1, words[0]![0]! + 1n);
			return { said: words[0]![0]! + 1n, right: words[0]![0]! };
		},
		{ attached: (_, leaf) => [leaf] },
	);
	tell(
		"filling",
		4,
		"filling",
		{ kind: "filling", path: [] },
		(_game, _words, leaf) => {
			leaf[1023] = 9;
			return { said: 9n, right: 0n };
		},
		{ attached: (_, leaf) => [leaf], element: 0 },
	);
	tell("chunk of a product", 0, "chunk", { kind: "chunk", chunk: 0, paths: [[], []] }, consistent(5n), {
		attached: (game) => [input(0, 0)(game), input(0, 1)(game)],
	});
	tell("chunk of a reduction", 1, "chunk", { kind: "chunk", chunk: 0, paths: [[]] }, consistent(-3n), {
		attached: (game) => [input(1, 0)(game)],
	});
	tell("end", 4, "end", { kind: "end" }, consistent(1n));
	const at = (register: number, path: string[] | null = null) => ({ kind: "instruction", register, path });
	// Registers: 0 to 2 before, 3 carried, 4 and 5 body, from 6 on after. Of the whole: value, before, three
	// marks, after.
	tell("load of before", 2, "instruction", at(1, []), number(0, 2), { attached: (game) => [input(2, 1)(game)] });
	tell("load of after", 2, "instruction", at(6, []), number(0, 7), { attached: (game) => [input(2, 4)(game)] });
	tell("load of a turn", 2, "instruction", at(4, []), number(0, 4), {
		turns: [1],
		attached: (game) => [input(2, 3)(game)],
	});
	tell("sum of a turn", 2, "instruction", at(5), number(0, 5), { turns: [1] });
	tell("start", 2, "start", { kind: "start" }, number(0, 3), { turns: [1], marked: 0 });
	tell("first start", 2, "start", { kind: "start" }, number(0, 3), { turns: [0] });
	tell("turn", 2, "turn", { kind: "turn" }, number(1, 5), { turns: [1], marked: 0 });
	return made;
}

const state = (game: Game, segment: number, kind: number, tensor: number, whole: boolean): [Json, Bytes[]] => [
	{ from: "state", whole, state: game.shownState(segment), root: game.shownRoot(segment, kind, tensor) },
	whole ? [programBytes(game.program)] : [],
];
const writer = (game: Game, step: number, op: number): [Json, Bytes[]] => [
	{ from: "op", leaf: game.shownLeaf(step, op), writer: game.shownOp(op) },
	[game.opBytes(op)],
];

/** A false wire of each source, beside the honest one. */
function wireRows(): Row[] {
	const made: Row[] = [];
	const wire = (
		name: string,
		step: number,
		op: number,
		operand: number,
		shows: string,
		origin: (game: Game) => [Json, Bytes[]],
	): void => {
		for (const isHonest of [false, true]) {
			const game = new Game();
			const right = game.at(step, op).inputs[operand]!;
			if (!isHonest) game.at(step, op).inputs[operand] = OTHER;
			const [from, attached] = origin(game);
			const fault = { kind: "wire", op: game.shownOp(op), leaf: game.shownLeaf(step, op), operand, origin: from };
			const file = game.file(SEGMENT, true, fault, [game.opBytes(op), ...attached]);
			const place = { kind: "wire", shows, step, op, said: isHonest ? hex(right) : hex(OTHER), right: hex(right) };
			made.push(row(`${name}${isHonest ? ", honest" : ""}`, file, isHonest ? "FRAUD_AGREES" : "", place));
		}
	};
	wire("wire to an op", 1, 2, 1, "op", (game) => [{ from: "op", leaf: game.shownLeaf(1, 1), writer: null }, []]);
	wire("wire to a constant", 0, 2, 3, "constant", (game) => [
		{ from: "constant", path: game.tensorPath(CONSTANT) },
		[game.tensorBytes(CONSTANT)],
	]);
	wire("wire to an input", 1, 0, 1, "input", () => [
		{
			from: "input",
			seed: hex(SEED),
			root: { tensor: INPUT, root: hex(tensorRoot(DATA, 0)), index: 0, count: 1, path: [] },
		},
		[],
	]);
	wire("wire to a state in step 0", 0, 2, 0, "state", (game) => state(game, SEGMENT, 2, STATE, false));
	wire("wire to a state's writer", 1, 2, 0, "op", (game) => writer(game, 0, 2));
	wire("wire to a state that nobody writes", 1, 2, 2, "state", (game) => state(game, SEGMENT, 2, IDLE, true));
	wire("wire to scratch in step 0", 0, 3, 0, "zero", () => [{ from: "zero", whole: false }, []]);
	wire("wire to scratch's writer", 1, 3, 0, "op", (game) => writer(game, 0, 3));
	return made;
}

/** A false state or result after the segment. */
function endRows(): Row[] {
	const made: Row[] = [];
	const after = (
		name: string,
		of: string,
		tensor: number,
		hasTrace: boolean,
		shows: string,
		origin: (game: Game) => [Json, Bytes[]],
	): void => {
		for (const isHonest of [false, true]) {
			const game = new Game();
			const right = game.roots[2]!.get(tensor)!;
			if (!isHonest) game.roots[2]!.set(tensor, OTHER);
			const kind = of === "state" ? 2 : 4;
			const [from, attached] = origin(game);
			const fault = { kind: "end", of, state: game.shownState(2), root: game.shownRoot(2, kind, tensor), origin: from };
			const place = { kind: "end", shows, said: isHonest ? hex(right) : hex(OTHER), right: hex(right) };
			const file = game.file(SEGMENT, hasTrace, fault, attached);
			made.push(row(`${name}${isHonest ? ", honest" : ""}`, file, isHonest ? "FRAUD_AGREES" : "", place));
		}
	};
	after("state after the segment", "state", STATE, true, "op", (game) => writer(game, 1, 2));
	after("result after the segment", "result", RESULT, true, "op", (game) => writer(game, 1, 4));
	after("state that nobody writes after the segment", "state", IDLE, false, "state", (game) =>
		state(game, SEGMENT, 2, IDLE, true),
	);
	return made;
}

/** A false start, another result. */
function claimedRows(): Row[] {
	const made: Row[] = [];
	for (const isHonest of [false, true]) {
		const code = isHonest ? "FRAUD_AGREES" : "";
		const zero = hex(tensorRoot([0n, 0n], 2));
		const start = new Game();
		if (!isHonest) start.roots[0]!.set(IDLE, OTHER);
		const fault = {
			kind: "start",
			of: "state",
			state: start.shownState(0),
			root: start.shownRoot(0, 2, IDLE),
			path: start.tensorPath(IDLE),
		};
		const place = { kind: "start", shows: "zero", segment: 0, said: isHonest ? zero : hex(OTHER), right: zero };
		made.push(
			row(`start${isHonest ? ", honest" : ""}`, start.file(0, false, fault, [start.tensorBytes(IDLE)]), code, place),
		);
		const result = new Game();
		const right = hex(result.end.result);
		if (!isHonest) result.resultRoot = OTHER;
		const file = result.file(SEGMENT, false, { kind: "result", state: result.shownState(2) }, []);
		made.push(
			row(`result${isHonest ? ", honest" : ""}`, file, code, {
				kind: "result",
				shows: "state",
				said: isHonest ? right : hex(OTHER),
				right,
			}),
		);
	}
	return made;
}

export const fraudRows = (): Row[] => [...elementRows(), ...wireRows(), ...endRows(), ...claimedRows()];
