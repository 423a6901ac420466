// A fraud file of a false wire, end or writer as the chain's judge takes it, docs/chain.md §12: the arguments
// of `proveWire`. Where the file has no signature of a word, the one that stands on the chain counts. Not
// here: whether it convicts (judge-wire.ts).
import { hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { type Hex, toHex } from "../../../protocol/chain/hex.ts";
import { treeFromRoot } from "../../../work/trace/commitments.ts";
import { NO_WRITER } from "../answers.ts";
import {
	decodeFraudFile,
	type FaultShown,
	type FraudBody,
	type OpShown,
	type OriginShown,
	type RootShown,
	type StateShown,
	type TraceShown,
} from "./fraud-file.ts";
import { unwrittenTensor } from "./fraud-proof.ts";

const hex = (text: string): Hex => `0x${text}`;
const ZERO = hex("00".repeat(32));
const ORIGINS = ["op", "constant", "input", "state", "zero"] as const;
const NO_BYTES = "0x" as Hex;

const opOf = ({ number, path }: OpShown, leaf: Uint8Array | undefined) => ({
	...{ number, leaf: leaf === undefined ? NO_BYTES : toHex(leaf), path: path.map(hex) },
});
const traceOf = ({ step, op, inputs, output, path }: TraceShown) => ({
	...{ step, op, inputs: inputs.map(hex), output: hex(output), path: path.map(hex) },
});
const stateOf = ({ states, results, path }: StateShown) => ({
	...{ states: hex(states), results: hex(results), path: path.map(hex) },
});
const rootOf = ({ tensor, root, index, count, path }: RootShown) => ({
	...{ tensor, root: hex(root), index, count, path: path.map(hex) },
});

const NO_OP = { number: 0, leaf: NO_BYTES, path: [] as Hex[] };
const NO_TRACE = { step: 0, op: 0, inputs: [] as Hex[], output: ZERO, path: [] as Hex[] };
const NO_STATE = { states: ZERO, results: ZERO, path: [] as Hex[] };
const NO_ROOT = { tensor: 0, root: ZERO, index: 0, count: 0, path: [] as Hex[] };
const EMPTY = {
	...{ wire: 0, origin: 0, operand: 0, op: NO_OP, leaf: NO_TRACE, end: NO_STATE, root: NO_ROOT, from: NO_TRACE },
	...{ writer: NO_OP, tensor: { leaf: NO_BYTES, path: [] as Hex[] }, start: NO_STATE, fromRoot: NO_ROOT, inputs: ZERO },
	...{ said: 0, signature: NO_BYTES },
};
type WireArguments = typeof EMPTY;

/** `attached`: what the origin needs. */
function originOf(origin: OriginShown, attached: Uint8Array | undefined): Partial<WireArguments> {
	const named = { origin: ORIGINS.indexOf(origin.from) };
	switch (origin.from) {
		case "op":
			return { ...named, from: traceOf(origin.leaf), ...(origin.writer && { writer: opOf(origin.writer, attached) }) };
		case "constant":
			return { ...named, tensor: { leaf: toHex(attached ?? new Uint8Array()), path: origin.path.map(hex) } };
		case "input": {
			const { tensor, root, index, count, path } = origin.root;
			const nodes = path.map((node) => hexToBytes(node)!);
			const tree = treeFromRoot({ tensor, root: hexToBytes(root)! }, { index, count, path: nodes });
			return { ...named, fromRoot: rootOf(origin.root), inputs: tree === null ? ZERO : toHex(tree) };
		}
		case "state":
			return { ...named, start: stateOf(origin.state), fromRoot: rootOf(origin.root) };
		case "zero":
			return named;
	}
}

function faultOf(fault: FaultShown, attachments: readonly Uint8Array[]): WireArguments | null {
	if (fault.kind === "wire") {
		const [leaf, attached] = attachments;
		const own = { operand: fault.operand, op: opOf(fault.op, leaf), leaf: traceOf(fault.leaf) };
		return { ...EMPTY, ...own, ...originOf(fault.origin, attached) };
	}
	if (fault.kind === "end") {
		const own = { wire: fault.of === "state" ? 1 : 2, end: stateOf(fault.state), root: rootOf(fault.root) };
		return { ...EMPTY, ...own, ...originOf(fault.origin, attachments[0]) };
	}
	if (fault.kind !== "writer") return null;
	const op = fault.op === null ? NO_OP : opOf(fault.op, attachments[0]);
	return { ...EMPTY, wire: 3, op, root: { ...NO_ROOT, tensor: fault.tensor }, said: fault.said };
}

/** Without terms; null for any other file. */
export function wireProof(file: Uint8Array) {
	const decoded = decodeFraudFile(file);
	if (!decoded.ok) return null;
	const { body } = decoded.evidence.envelope;
	const { attachments } = decoded.evidence;
	const made = faultOf(body.fault, attachments);
	if (made === null) return null;
	const tensor = unwrittenTensor(body.fault, attachments);
	const word = tensor === null ? {} : { said: NO_WRITER, root: { ...made.root, tensor } };
	const hasWord = tensor !== null || body.fault.kind === "writer";
	const { traceSignature, signature } = signaturesOf(body, hasWord);
	const { claim, program, segment, trace } = body;
	return {
		claim: { program: hex(claim.program), inputs: hex(claim.inputs), segments: BigInt(claim.segments) },
		accused: {
			...{ part: claim.part, segmentRoot: hex(claim.segmentRoot), resultRoot: hex(claim.resultRoot) },
			...{ head: hex(program.head), tensors: hex(program.tensors), ops: hex(program.ops), segment: BigInt(segment) },
			...{ trace: trace === null ? ZERO : hex(trace), traceSignature },
		},
		fault: { ...made, ...word, signature },
	};
}

/** The trace comes first where there is one, the word about a writer last. */
function signaturesOf({ signed, trace }: FraudBody, hasWord: boolean) {
	const all = (signed?.signatures ?? []).map(hex);
	return {
		traceSignature: (trace === null ? undefined : all[0]) ?? NO_BYTES,
		signature: (hasWord ? all.at(-1) : undefined) ?? NO_BYTES,
	};
}
