// What a fraud file shows, part by part, each bound to the claim: ops and tensors by the program's root,
// states by the segment tree, the trace by its root. A part that is not what it says ends the judgement with
// its code.
import { bytesToHex, equalBytes, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import type { Code } from "../../../protocol/codes.ts";
import { keccakLeaf, keccakNode } from "../../../protocol/hash/keccak-tree.ts";
import { rootFromPath } from "../../../protocol/hash/merkle.ts";
import { decodeHead, decodeOp, decodeProgram, decodeTensor } from "../../../work/program/decode.ts";
import type { Checked } from "../../../work/program/fault.ts";
import { programRoot, programRootOf } from "../../../work/program/open-program.ts";
import type { Op, Phase, Program, Tensor } from "../../../work/program/shapes.ts";
import {
	claimHash,
	inputsHashFrom,
	type JobClaim,
	stateHashFrom,
	traceLeafHash,
	treeFromRoot,
} from "../../../work/trace/commitments.ts";
import type { FraudBody, OpShown, RootShown, StateShown, TraceShown } from "./fraud-file.ts";
import { Unproven } from "./fraud-verdict.ts";

export const bytesOfHex = (hex: string): Uint8Array => hexToBytes(hex)!;
const nodes = (path: readonly string[]): Uint8Array[] => path.map(bytesOfHex);

/** Leads from a leaf hash to the root, or the judgement ends. */
function mustLead(
	leaf: Uint8Array,
	index: number,
	count: number,
	path: readonly string[],
	root: Uint8Array,
	[code, where, detail]: readonly [Code, string, string],
): void {
	const found = rootFromPath(leaf, index, count, nodes(path), keccakNode);
	if (found === null || !equalBytes(found, root)) throw new Unproven(code, where, detail);
}

/** Attachments, each used once, in order. */
export class Attached {
	private next = 0;
	private readonly all: readonly Uint8Array[];

	constructor(all: readonly Uint8Array[]) {
		this.all = all;
	}

	take(what: string): Uint8Array {
		const found = this.all[this.next++];
		if (found === undefined) throw new Unproven("ATTACHMENT_ORDER", "attachments", `${what} is not attached`);
		return found;
	}

	mustEnd(): void {
		if (this.next !== this.all.length) throw new Unproven("ATTACHMENT_ORDER", "attachments", "more than is needed");
	}
}

function mustDecode<T>(decoded: Checked<T>, where: string): T {
	if (decoded.ok) return decoded.value;
	throw new Unproven("FRAUD_PROGRAM", where, decoded.fault.message);
}

export class Shown {
	readonly body: FraudBody;
	readonly attached: Attached;
	readonly claim: JobClaim;
	readonly k: number;
	private readonly counts: { readonly tensors: number; readonly init: number; readonly step: number };

	constructor(body: FraudBody, attachments: readonly Uint8Array[]) {
		this.body = body;
		this.attached = new Attached(attachments);
		const { claim, program } = body;
		this.claim = {
			...{ chainId: BigInt(claim.chainId), escrow: bytesOfHex(claim.escrow), job: BigInt(claim.job), part: claim.part },
			...{ program: bytesOfHex(claim.program), inputs: bytesOfHex(claim.inputs) },
			...{ first: claim.first, segments: claim.segments },
			...{ segmentRoot: bytesOfHex(claim.segmentRoot), resultRoot: bytesOfHex(claim.resultRoot) },
		};
		if (this.claim.chainId >= 2n ** 256n || this.claim.job >= 2n ** 256n)
			throw new Unproven("FRAUD_CLAIM", "claim", "a number has more than 256 bits");
		if (bytesToHex(claimHash(this.claim)) !== body.accused)
			throw new Unproven("FRAUD_CLAIM", "accused", "not the hash of the claim");
		const head = bytesOfHex(program.head);
		if (!equalBytes(programRootOf(head, bytesOfHex(program.tensors), bytesOfHex(program.ops)), this.claim.program))
			throw new Unproven("FRAUD_PROGRAM", "program", "not the claim's program");
		const { k, tensors, init, step } = mustDecode(decodeHead(head), "program.head");
		this.k = k;
		this.counts = { tensors, init, step };
		if (body.segment < claim.first || body.segment >= claim.first + claim.segments)
			throw new Unproven("FRAUD_PLACE", "segment", "not one of the claim's");
	}

	/** Of the segment in question. */
	get phase(): Phase {
		return this.body.segment === 0 ? "init" : "step";
	}

	get steps(): number {
		return this.phase === "init" ? 1 : this.k;
	}

	get ops(): number {
		return this.counts[this.phase];
	}

	/** An op of the segment's phase; its leaf is the next attachment. */
	op({ number, path }: OpShown, where: string): Op {
		const leaf = this.attached.take(`the leaf of ${where}`);
		const { init, step } = this.counts;
		if (number >= this.ops) throw new Unproven("FRAUD_PLACE", `${where}.number`, "there is no such op");
		const index = this.phase === "init" ? number : init + number;
		const root = bytesOfHex(this.body.program.ops);
		mustLead(keccakLeaf(leaf), index, init + step, path, root, [
			"FRAUD_PROGRAM",
			where,
			"not an op of the claim's program",
		]);
		const { op, phase } = mustDecode(decodeOp(leaf), where);
		if (phase !== this.phase) throw new Unproven("FRAUD_PROGRAM", where, "an op of the other phase");
		return op;
	}

	/** A tensor of the program; its leaf is the next attachment. */
	tensor(number: number, path: readonly string[], where: string): Tensor {
		const leaf = this.attached.take(`the leaf of ${where}`);
		const root = bytesOfHex(this.body.program.tensors);
		if (number >= this.counts.tensors) throw new Unproven("FRAUD_PLACE", where, "there is no such tensor");
		mustLead(keccakLeaf(leaf), number, this.counts.tensors, path, root, [
			"FRAUD_PROGRAM",
			where,
			"not a tensor of the claim's program",
		]);
		return mustDecode(decodeTensor(leaf), where);
	}

	/** The whole program, which is the next attachment. */
	wholeProgram(): Program {
		const program = mustDecode(decodeProgram(this.attached.take("the program")), "program");
		if (!equalBytes(programRoot(program), this.claim.program))
			throw new Unproven("FRAUD_PROGRAM", "attachments", "not the claim's program");
		return program;
	}

	/** A leaf of the segment's trace, at its place. */
	trace({ step, op, inputs, output, path }: TraceShown, where: string): { inputs: Uint8Array[]; output: Uint8Array } {
		const { trace } = this.body;
		if (trace === null) throw new Unproven("FRAUD_TRACE", "trace", "is missing");
		if (step >= this.steps || op >= this.ops) throw new Unproven("FRAUD_PLACE", where, "there is no such op or step");
		const leaf = { step, op, inputs: inputs.map(bytesOfHex), output: bytesOfHex(output) };
		const index = step * this.ops + op;
		mustLead(traceLeafHash(leaf), index, this.steps * this.ops, path, bytesOfHex(trace), [
			"FRAUD_TRACE",
			where,
			"not a leaf of the trace that was answered",
		]);
		return leaf;
	}

	/** S_segment; it must be that segment's. */
	state({ segment, states, results, path }: StateShown, wanted: number, where: string): void {
		if (segment !== wanted) throw new Unproven("FRAUD_PLACE", `${where}.segment`, `must be ${wanted}`);
		const { first, segments, segmentRoot } = this.claim;
		mustLead(
			stateHashFrom(segment, bytesOfHex(states), bytesOfHex(results)),
			segment - first,
			segments + 1,
			path,
			segmentRoot,
			["FRAUD_STATE", where, "not a state of the claim"],
		);
	}

	/** A tensor's root under a tree. Which place it has there does not matter: the leaf names the tensor. */
	root(shown: RootShown, tree: string, code: Code, where: string): Uint8Array {
		const root = bytesOfHex(shown.root);
		const found = this.treeOf(shown, root);
		if (found === null || !equalBytes(found, bytesOfHex(tree))) throw new Unproven(code, where, "not in that tree");
		return root;
	}

	private treeOf({ tensor, index, count, path }: RootShown, root: Uint8Array): Uint8Array | null {
		return treeFromRoot({ tensor, root }, { index, count, path: nodes(path) });
	}

	/** An input's root, under the claim's inputs. */
	input(seed: string, shown: RootShown, where: string): Uint8Array {
		const root = bytesOfHex(shown.root);
		const tree = this.treeOf(shown, root);
		if (tree === null) throw new Unproven("FRAUD_INPUTS", where, "not the claim's inputs");
		this.inputs(seed, bytesToHex(tree), where);
		return root;
	}

	/** The seed and the tree of the inputs are the claim's. */
	inputs(seed: string, tree: string, where: string): void {
		const found = inputsHashFrom(bytesOfHex(seed), bytesOfHex(tree));
		if (!equalBytes(found, this.claim.inputs)) throw new Unproven("FRAUD_INPUTS", where, "not the claim's inputs");
	}
}
