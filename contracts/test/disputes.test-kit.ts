// Cases for the chain's judge: any op, question and words, in a program and a trace that are made up around
// them. Only the paths are drawn, so trees may be as large as one likes.
import { createHash } from "node:crypto";
import type { AccusedCase, ElementFault } from "../../src/chain/contracts/disputes.ts";
import type { JobTerms } from "../../src/chain/contracts/job-escrow.ts";
import { concatBytes } from "../../src/protocol/bytes/bytes.ts";
import { type Hex, packed, toHex } from "../../src/protocol/chain/hex.ts";
import { keccak, keccakLeaf, keccakNode } from "../../src/protocol/hash/keccak-tree.ts";
import { leafHash, pathLength, rootFromPath } from "../../src/protocol/hash/merkle.ts";
import { chunkStart, traceQuestion, transcriptQuestion } from "../../src/verify/optimistic/fraud/fraud-proof.ts";
import { encodeOp, MAGIC } from "../../src/work/program/encode.ts";
import { programRootOf } from "../../src/work/program/open-program.ts";
import type { Op } from "../../src/work/program/shapes.ts";
import { traceLeafHash } from "../../src/work/trace/commitments.ts";
import type { Contradiction, Words } from "../../src/work/trace/judge.ts";
import { encodeTranscript } from "../../src/work/trace/transcript.ts";

const digest = (text: string): Uint8Array => new Uint8Array(createHash("sha256").update(text).digest());
const nodes = (name: string, index: number, count: number): Uint8Array[] =>
	Array.from({ length: pathLength(index, count) }, (_, i) => digest(`${name} ${i}`));

/** A leaf of a tensor with so many of them: its path is drawn, its root follows. */
export function drawnLeaf(bytes: Uint8Array, index: number, count: number) {
	const path = nodes("tensor", index, count);
	return { leaf: { bytes, path }, root: rootFromPath(leafHash(bytes), index, count, path)! };
}

export interface Asked {
	readonly op: Op;
	readonly segment: number;
	readonly step: number;
	readonly k: number;
	readonly seed: Uint8Array;
	readonly inputs: readonly Uint8Array[];
	readonly output: Uint8Array;
	readonly element: number;
}

export const NO_TERMS: JobTerms = {
	...{ customer: `0x${"00".repeat(20)}`, salt: `0x${"00".repeat(32)}`, spec: `0x${"00".repeat(32)}` },
	...{ program: `0x${"00".repeat(32)}`, inputs: `0x${"00".repeat(32)}`, seed: `0x${"00".repeat(32)}` },
	...{ start: `0x${"00".repeat(32)}`, segments: 1024n, parts: 1, price: 1n, fee: 0n, audit: 0n, bond: 1n },
	...{ startBy: 0n, workSeconds: 1, windowSeconds: 1, checkedSeconds: 0, method: 0, quorum: 1, validators: [] },
};

const KINDS = ["value", "filling", "chunk", "instruction", "start", "turn", "end"];

/** `ops` in the phase, of which the asked one is the last but one. Its leaf may be any bytes. */
export function caseOf(
	asked: Asked & { readonly opLeaf?: Uint8Array | undefined },
	words: Words,
	shown: Contradiction,
	ops = 3,
	terms: JobTerms = NO_TERMS,
) {
	const { op, segment, step, k, seed } = asked;
	const isInit = segment === 0;
	const number = ops > 1 ? ops - 2 : 0;
	const opLeaf = asked.opLeaf ?? encodeOp(op, isInit ? "init" : "step");
	const head = concatBytes(
		MAGIC,
		...[packed(1, 2), packed(k, 4), packed(0, 2)],
		...[packed(isInit ? ops : 1, 2), packed(isInit ? 1 : ops, 2)],
	);
	const index = isInit ? number : 1 + number;
	const opPath = nodes("op", index, ops + 1);
	const opTree = rootFromPath(keccakLeaf(opLeaf), index, ops + 1, opPath, keccakNode)!;
	const steps = isInit ? 1 : k;
	const leaf = { step, op: number, inputs: asked.inputs, output: asked.output };
	const tracePath = nodes("trace", step * ops + number, steps * ops);
	const trace = rootFromPath(traceLeafHash(leaf), step * ops + number, steps * ops, tracePath, keccakNode)!;
	const inputTree = digest("inputs");
	const { transcript, path = [], marked } = words;
	const said = [transcript, ...(marked === undefined ? [] : [marked.transcript])];
	const transcripts = shown.kind === "filling" ? [] : said.map(encodeTranscript);
	const leaves = "leaves" in shown ? shown.leaves : "leaf" in shown && shown.leaf !== null ? [shown.leaf] : [];
	const accused = {
		terms: {
			...terms,
			program: toHex(programRootOf(head, digest("tensors"), opTree)),
			inputs: toHex(keccak(Uint8Array.of(5), seed, inputTree)),
			seed: toHex(seed),
		},
		...{
			part: 0,
			segmentRoot: toHex(digest("segments")),
			resultRoot: toHex(digest("results")),
			last: toHex(digest("last")),
		},
		...{ head: toHex(head), tensors: toHex(digest("tensors")), ops: toHex(opTree), segment: BigInt(segment) },
		...{ trace: toHex(trace), traceSignature: "0x" as Hex },
	} satisfies AccusedCase;
	const fault = {
		op: { number, leaf: toHex(opLeaf), path: opPath.map(toHex) },
		leaf: { step, op: number, inputs: leaf.inputs.map(toHex), output: toHex(leaf.output), path: tracePath.map(toHex) },
		inputs: toHex(inputTree),
		words: {
			element: BigInt(asked.element),
			turns: path,
			marked: marked?.depth ?? 0,
			transcripts: transcripts.map(toHex),
		},
		signatures: [] as Hex[],
		shown: {
			kind: KINDS.indexOf(shown.kind),
			place:
				shown.kind === "chunk"
					? chunkStart(opLeaf, asked.element, shown.chunk)
					: shown.kind === "instruction"
						? shown.register
						: 0,
			leaves: leaves.map(({ bytes }) => toHex(bytes)),
			paths: leaves.map(({ path: one }) => one.map(toHex)),
		},
	} satisfies ElementFault;
	const answers = [
		{ question: traceQuestion(segment), answerHash: toHex(keccak(trace)) },
		...transcripts.map((bytes, i) => ({
			question: transcriptQuestion(segment, leaf, asked.element, i === 0 ? path : path.slice(0, marked!.depth)),
			answerHash: toHex(keccak(bytes)),
		})),
	];
	return { accused, fault, answers };
}
