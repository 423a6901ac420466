// contracts/vectors/judge.json: calls of the chain's judge with what it must find, for the Solidity tests.
// Golden fraud files, a changed byte of each, and sums that are cut in leaves. Made from vectors/ and
// src/work; `node contracts/test/judge-vectors.test-kit.ts` writes it.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { encodeFunctionData } from "viem";
import { judgeAbi } from "../../src/chain/abi/judge-abi.ts";
import type { AccusedCase, ElementFault } from "../../src/chain/contracts/disputes.ts";
import { philoxKey } from "../../src/protocol/hash/philox.ts";
import { vectorRows } from "../../src/protocol/vectors.test-kit.ts";
import { elementProof } from "../../src/verify/optimistic/fraud/fraud-proof.ts";
import { numbersFrom } from "../../src/work/builder/samples.test-kit.ts";
import { createElements, elementCount } from "../../src/work/operators/tensor-type.ts";
import { decodeOp } from "../../src/work/program/decode.ts";
import { orThrow } from "../../src/work/program/fault.ts";
import type { Op } from "../../src/work/program/shapes.ts";
import { judgeElement } from "../../src/work/trace/judge.ts";
import { chunkEnds, rowsOf, type SumOp } from "../../src/work/trace/layout.ts";
import { leafOf, tensorTree } from "../../src/work/trace/tensor-tree.ts";
import { createTranscript } from "../../src/work/trace/transcript.ts";
import { caseOf, NO_TERMS } from "./disputes.test-kit.ts";

const NO_SALT = `0x${"0".repeat(64)}` as const;
const SEED = new Uint8Array(createHash("sha256").update("judge").digest());

interface FraudRow {
	readonly code: string;
	readonly kind: string;
	readonly said: string;
	readonly right: string;
	readonly file: string;
}

/**
 * The chain takes program, inputs and segments from the terms of the job, and what is in the claim from the
 * escrow.
 */
export function askedOf(file: Uint8Array): { readonly accused: AccusedCase; readonly fault: ElementFault } | null {
	const proof = elementProof(file);
	if (proof === null) return null;
	const { program, inputs, segments } = proof.claim;
	const terms = { ...NO_TERMS, program, inputs, seed: proof.seed, segments };
	return {
		accused: { ...proof.accused, terms, last: inputs, traceSignature: "0x" },
		fault: { ...proof.fault, signatures: [] },
	};
}

const OPERANDS = {
	matmul: (k: number) => [
		{ source: "input", index: 0, type: "i16", dims: [1, 2, k] },
		{ source: "input", index: 1, type: "i32", dims: [2, 3, k] },
	],
	reduce: (k: number) => [{ source: "input", index: 0, type: "i64", dims: [3, k] }],
	scatter_add: (k: number) => [
		{ source: "input", index: 0, type: "i8", dims: [2, k] },
		{ source: "input", index: 1, type: "i16", dims: [k] },
	],
};
const OUTPUT = { matmul: [2, 2, 3], reduce: [3], scatter_add: [4, 2] };

/** Every chunk of one element of an op with rows of `k`: honest, and with the number after it too high. */
function* sums(operator: keyof typeof OPERANDS, k: number, reduction?: string) {
	const output = { type: "i64", dims: OUTPUT[operator], lo: -(2n ** 63n), hi: 2n ** 63n - 1n };
	const op = { operator, output, target: null, operands: OPERANDS[operator](k), reduction } as unknown as Op & SumOp;
	const draw = numbersFrom(k);
	const inputs = op.operands.map(({ type, dims }, i) => {
		const elements = createElements(type, elementCount(dims));
		for (let e = 0; e < elements.length; e++) {
			const value = operator === "scatter_add" && i === 1 ? draw(4) : draw(200) - 100;
			if (elements instanceof BigInt64Array) elements[e] = BigInt(value);
			else elements[e] = value;
		}
		return elements;
	});
	const trees = inputs.map(tensorTree);
	const element = elementCount(op.output.dims) - 2;
	const moment = { segment: 3, step: 1, k: 2, key: philoxKey(SEED) };
	const asked = {
		op,
		element,
		segment: 3,
		step: 1,
		k: 2,
		seed: SEED,
		inputs: trees.map(({ root }) => root),
		output: SEED,
	};
	const honest = createTranscript(op, element, moment, inputs);
	const ends = chunkEnds(op, element);
	for (let chunk = 0; chunk + 1 < ends.length; chunk++)
		for (const more of [0n, 1n]) {
			const size = (honest.length - 1) / Math.max(1, ends.length - 2);
			const place = chunk + 2 === ends.length ? 0 : 1 + chunk * size + (size - 1);
			const words = { transcript: honest.with(place, honest[place]! + more) };
			const leaves = rowsOf(op, element).rows.map(({ operand, base }) => {
				const { leaf } = leafOf(base + ends[chunk]!, op.operands[operand]!.type);
				return { bytes: trees[operand]!.leaf(leaf), path: trees[operand]!.path(leaf) };
			});
			const shown = { kind: "chunk", chunk, leaves } as const;
			yield { ...caseOf(asked, words, shown), judged: judgeElement({ ...asked, moment }, words, shown) };
		}
}

interface RefusedRow {
	readonly program: string;
	readonly code: string;
}
/**
 * Where the one op begins in the programs that work-refused.json begins with, and in its leaf the load and
 * the instructions of body and after.
 */
const OP_FROM = 45;
const LOAD_FROM = 63;
const LOAD_BYTES = 13;

/**
 * Leaves of maps that no checker reads, each with the judged instruction where the fault is, and those beside
 * them that are right.
 */
function readLeaves(): { readonly refused: string[]; readonly taken: string[] } {
	const rows = vectorRows<RefusedRow>("work-refused");
	const whole = new Uint8Array(Buffer.from(rows[0]!.program, "hex"));
	const { op } = orThrow(decodeOp(whole.slice(OP_FROM)));
	const found = { refused: [] as string[], taken: [] as string[] };
	for (const { program, code } of rows) {
		const bytes = new Uint8Array(Buffer.from(program, "hex"));
		const isOfIt = bytes.length > OP_FROM && whole.slice(0, OP_FROM).every((byte, i) => byte === bytes[i]);
		const opLeaf = bytes.slice(OP_FROM);
		const isRefused = !decodeOp(opLeaf).ok;
		if (!isOfIt || (!isRefused && code !== "")) continue;
		const other = opLeaf.findIndex((byte, i) => byte !== whole[OP_FROM + i]);
		const at = opLeaf.length > whole.length ? 0 : other - LOAD_FROM - LOAD_BYTES;
		const register = at < 0 ? 0 : at < 2 ? 2 : 3;
		const asked = {
			...{ op, opLeaf, element: 0, segment: 3, step: 1, k: 2, seed: SEED, inputs: [SEED], output: SEED },
		};
		const { accused, fault } = caseOf(asked, { transcript: [0n] }, { kind: "instruction", register, leaf: null });
		const args = [NO_SALT, accused, fault] as const;
		const call = encodeFunctionData({ abi: judgeAbi, functionName: "judgeElement", args });
		found[isRefused ? "refused" : "taken"].push(call);
	}
	return found;
}

export function judgeVectors(): string {
	const calls: { call: string; said: string; right: string }[] = [];
	const add = ({ accused, fault }: { accused: AccusedCase; fault: ElementFault }, said: string, right: string) =>
		calls.push({
			call: encodeFunctionData({ abi: judgeAbi, functionName: "judgeElement", args: [NO_SALT, accused, fault] }),
			said,
			right,
		});
	for (const row of vectorRows<FraudRow>("work-fraud").filter(({ kind }) => kind === "element")) {
		const asked = askedOf(new Uint8Array(Buffer.from(row.file, "base64")))!;
		add(asked, row.code === "" ? row.said : "0", row.code === "" ? row.right : "0");
	}
	for (const [operator, k, reduction] of [
		["matmul", 300],
		["reduce", 150, "sum"],
		["reduce", 130, "max"],
		["reduce", 130, "argmin"],
		["scatter_add", 600],
	] as const)
		for (const { accused, fault, judged } of sums(operator, k, reduction))
			add({ accused, fault }, judged.convicts ? `${judged.said}` : "0", judged.convicts ? `${judged.right}` : "0");
	const column = (name: "call" | "said" | "right") => calls.map((one) => one[name]);
	const all = { calls: column("call"), said: column("said"), right: column("right"), ...readLeaves() };
	return `${JSON.stringify(all, null, "\t")}\n`;
}

if (import.meta.main) writeFileSync(new URL("../vectors/judge.json", import.meta.url), judgeVectors());
