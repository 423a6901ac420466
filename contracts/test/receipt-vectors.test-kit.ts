// Real receipts of zkVMs (contracts/vectors/real-receipts.json: published data, each with its origin) and
// every change of them that a check is for, with what the contract must say. Written to
// contracts/vectors/receipts.json, which Receipts.t.sol reads.
//   node contracts/test/receipt-vectors.test-kit.ts
import { readFileSync, writeFileSync } from "node:fs";
import { bn254 } from "@noble/curves/bn254.js";
import { encodeFunctionData, toFunctionSelector } from "viem";
import { receiptsAbi } from "../../src/chain/abi/receipts-abi.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import { RISC0_RELEASES } from "../../src/verify/receipts/risc0-releases.ts";
import { SP1_GROTH16 } from "../../src/verify/receipts/sp1-groth16-keys.ts";
import { SP1_PLONK } from "../../src/verify/receipts/sp1-plonk-keys.ts";

/** As files have them: members of docs/receipts.md §1. */
export interface ReceiptFile {
	readonly id: string;
	readonly system: string;
	readonly [member: string]: unknown;
}

export interface ChainReceipt {
	/** 0: RISC Zero, 1: SP1. */
	readonly system: number;
	/** The selector that is meant. */
	readonly release: Hex;
	readonly program: Hex;
	readonly values: Hex;
	readonly proof: Hex;
}

export interface ReceiptRow {
	readonly what: string;
	readonly receipt: ChainReceipt;
	/** A status, or the name of an error. */
	readonly wanted: "Current" | "Retired" | "Unreleased" | ErrorName;
}
type ErrorName = Extract<(typeof receiptsAbi)[number], { type: "error" }>["name"];

export const ANY_RELEASE: Hex = "0x00000000";
export const STATUSES = ["Current", "Retired", "Unreleased"] as const;
const P = bn254.fields.Fp.ORDER;
const R = bn254.fields.Fr.ORDER;

export const realReceipts = (): readonly ReceiptFile[] =>
	JSON.parse(readFileSync(new URL("../vectors/real-receipts.json", import.meta.url), "utf8"));

const hexOf = (value: unknown): Hex => `0x${(value as string).replace(/^0x/, "")}`;
export const chainReceipt = (file: ReceiptFile): ChainReceipt => ({
	system: file.system === "risc0-groth16" ? 0 : 1,
	release: ANY_RELEASE,
	program: hexOf(file.imageId ?? file.vkey),
	values: hexOf(file.journal ?? file.publicValues),
	proof: hexOf(file.seal ?? file.proof),
});

const word = (value: bigint): string => value.toString(16).padStart(64, "0");
const flip = (hex: Hex, byte: number): Hex => {
	const at = 2 + 2 * byte;
	const other = (Number.parseInt(hex.slice(at, at + 2), 16) ^ 1).toString(16).padStart(2, "0");
	return `0x${hex.slice(2, at)}${other}${hex.slice(at + 2)}`;
};

/** The proof with its A, B, C (eight words at the end) changed. */
function withWords(proof: Hex, change: (words: bigint[]) => readonly bigint[]): Hex {
	const start = proof.length - 512;
	const words = Array.from({ length: 8 }, (_, i) => BigInt(`0x${proof.slice(start + 64 * i, start + 64 * i + 64)}`));
	return `0x${proof.slice(2, start)}${change(words).map(word).join("")}`;
}

/** On the twist, but not in the subgroup: hardly any small x is. Imaginary parts first. */
function strayPoint(): readonly bigint[] {
	const { Fp2 } = bn254.fields;
	const b = Fp2.div(Fp2.create({ c0: 3n, c1: 0n }), Fp2.create({ c0: 9n, c1: 1n }));
	for (let x = 1n; ; x++) {
		const at = Fp2.create({ c0: x, c1: 0n });
		const square = Fp2.add(Fp2.mul(Fp2.sqr(at), at), b);
		try {
			const y = Fp2.sqrt(square);
			return [0n, x, y.c1, y.c0];
		} catch {
			// No point has this x.
		}
	}
}

/** Changes of any receipt that is true and current. */
function* changesOf(receipt: ChainReceipt): Generator<readonly [string, Partial<ChainReceipt>, ReceiptRow["wanted"]]> {
	const { proof, program, values } = receipt;
	const words = (change: (words: bigint[]) => readonly bigint[]) => ({ proof: withWords(proof, change) });
	const end = (proof.length - 2) / 2;
	yield ["the release that is meant", { release: proof.slice(0, 10) as Hex }, "Current"];
	yield ["another release is meant", { release: "0x12345678" }, "VerifierOther"];
	yield ["no release has the selector", { proof: `0x12345678${proof.slice(10)}` }, "VerifierUnknown"];
	yield ["other values", { values: flip(values, 0) }, "ProofFalse"];
	yield ["a value more", { values: `${values}00` }, "ProofFalse"];
	yield ["another program", { program: flip(program, 31) }, "ProofFalse"];
	yield [
		"A and B negated",
		words(([ax, ay, a, b, c, d, x, y]) => [ax!, P - ay!, a!, b!, P - c!, P - d!, x!, y!]),
		"Current",
	];
	yield ["A negated", words(([ax, ay, ...rest]) => [ax!, P - ay!, ...rest]), "ProofFalse"];
	yield ["C negated", words((w) => w.with(7, P - w[7]!)), "ProofFalse"];
	yield ["A and C swapped", words((w) => [...w.slice(6), ...w.slice(2, 6), ...w.slice(0, 2)]), "ProofFalse"];
	yield ["B's parts swapped", words((w) => [w[0]!, w[1]!, w[3]!, w[2]!, w[5]!, w[4]!, w[6]!, w[7]!]), "PointNowhere"];
	for (let at = 0; at < 8; at++) {
		yield [`word ${at} by the order more`, words((w) => w.with(at, w[at]! + P)), "NumberTooLarge"];
		yield [`word ${at} is the order`, words((w) => w.with(at, P)), "NumberTooLarge"];
		yield [`a bit of word ${at}`, { proof: flip(proof, end - 256 + 32 * at + 31) }, "PointNowhere"];
	}
	yield ["A at infinity", words((w) => [0n, 0n, ...w.slice(2)]), "PointNowhere"];
	yield ["B at infinity", words((w) => [...w.slice(0, 2), 0n, 0n, 0n, 0n, ...w.slice(6)]), "PointNowhere"];
	yield ["C at infinity", words((w) => [...w.slice(0, 6), 0n, 0n]), "PointNowhere"];
	yield ["all at infinity", words(() => new Array<bigint>(8).fill(0n)), "PointNowhere"];
	yield ["B in no subgroup", words((w) => [...w.slice(0, 2), ...strayPoint(), ...w.slice(6)]), "PointNowhere"];
	yield ["a byte more", { proof: `${proof}00` }, "ProofLength"];
	yield ["a byte less", { proof: proof.slice(0, -2) as Hex }, "ProofLength"];
	yield ["the selector alone", { proof: proof.slice(0, 10) as Hex }, "ProofLength"];
	yield ["less than a selector", { proof: proof.slice(0, 8) as Hex }, "ProofLength"];
	yield ["nothing", { proof: "0x" }, "ProofLength"];
}

/** Of SP1 alone. From version 6 on the proof has three words before A. */
function* changesOfSp1(
	receipt: ChainReceipt,
): Generator<readonly [string, Partial<ChainReceipt>, ReceiptRow["wanted"]]> {
	const { proof, program } = receipt;
	yield ["a program by the order more", { program: `0x${word(BigInt(program) + R)}` }, "NumberTooLarge"];
	yield ["a program that is the order", { program: `0x${word(R)}` }, "NumberTooLarge"];
	yield ["an unknown selector alone", { proof: "0x12345678" }, "VerifierUnknown"];
	yield ["SP1's other kind of proof", { proof: `0x54bdcae3${proof.slice(10)}` }, "VerifierOther"];
	if (proof.length !== 2 + 2 * 356) return;
	const head = (at: number, value: bigint) => ({
		proof: `${proof.slice(0, 10 + 64 * at)}${word(value)}${proof.slice(10 + 64 * (at + 1))}` as Hex,
	});
	const nonce = BigInt(`0x${proof.slice(138, 202)}`);
	yield ["exit code 1", head(0, 1n), "ProgramFailed"];
	yield ["exit code that is the order", head(0, R), "ProgramFailed"];
	yield ["other recursion keys", head(1, 1n), "RecursionRootOther"];
	yield ["another nonce", head(2, nonce + 1n), "ProofFalse"];
	yield ["a nonce by the order more", head(2, nonce + R), "NumberTooLarge"];
}

/** A proof of zeros under each selector: a known release comes as far as its points. */
function everyRelease(receipt: ChainReceipt): readonly ReceiptRow[] {
	const zeros = word(0n).repeat(8);
	const row = (system: number, selector: string, head: string, wanted: ErrorName): ReceiptRow => ({
		what: `zeros under ${selector}`,
		receipt: { ...receipt, system, proof: `0x${selector}${head}${zeros}` },
		wanted,
	});
	return [
		...Object.keys(RISC0_RELEASES).map((selector) => row(0, selector, "", "PointNowhere")),
		...SP1_GROTH16.map(({ verifierHash, vkRoot }) =>
			row(1, verifierHash.slice(0, 8), vkRoot === null ? "" : word(0n) + vkRoot + word(0n), "PointNowhere"),
		),
		...SP1_PLONK.map(({ verifierHash }) => row(1, verifierHash.slice(0, 8), "", "VerifierOther")),
	];
}

export function receiptRows(): readonly ReceiptRow[] {
	const rows: ReceiptRow[] = [];
	const real = new Map(realReceipts().map((file) => [file.id, chainReceipt(file)]));
	const status: Readonly<Record<string, ReceiptRow["wanted"]>> = {
		"risc0-9f39696c": "Retired",
		"sp1-groth16-v6.0.0": "Retired",
		"risc0-8875b7f3": "Unreleased",
	};
	for (const [id, receipt] of real) {
		const own = status[id] ?? "Current";
		rows.push({ what: id, receipt, wanted: own });
		if (own !== "Current") continue;
		const changes = [...changesOf(receipt), ...(receipt.system === 1 ? changesOfSp1(receipt) : [])];
		for (const [what, change, wanted] of changes)
			rows.push({ what: `${id}: ${what}`, receipt: { ...receipt, ...change }, wanted });
	}
	const [current, retired, sp1] = ["risc0-73c457ba", "risc0-9f39696c", "sp1-groth16-v5.0.0"].map((id) => real.get(id)!);
	const under = (selector: Hex, { proof }: ChainReceipt): Hex => `0x${selector.slice(2, 10)}${proof.slice(10)}`;
	const others: (readonly [string, ChainReceipt, ReceiptRow["wanted"]])[] = [
		["the selector of another release", { ...current!, proof: under(retired!.proof, current!) }, "ProofFalse"],
		["the selector of another version", { ...sp1!, proof: under("0x11b6a09d", sp1!) }, "ProofFalse"],
		["a proof of SP1 for RISC Zero", { ...sp1!, system: 0 }, "VerifierUnknown"],
		["a seal of RISC Zero for SP1", { ...current!, system: 1 }, "VerifierUnknown"],
	];
	return [...rows, ...others.map(([what, receipt, wanted]) => ({ what, receipt, wanted })), ...everyRelease(sp1!)];
}

const errorSelector = (name: string): Hex => {
	const error = receiptsAbi.find((one) => one.type === "error" && one.name === name);
	if (error?.type !== "error") throw new Error(`the contract has no error ${name}`);
	return toFunctionSelector(`${name}(${error.inputs.map(({ type }) => type).join(",")})`);
};

export function receiptVectors(): string {
	const rows = receiptRows();
	const list = {
		what: rows.map(({ what }) => what),
		calls: rows.map(({ receipt }) =>
			encodeFunctionData({ abi: receiptsAbi, functionName: "statusOf", args: [receipt] }),
		),
		// A status by number, or an error's selector.
		wanted: rows.map(({ wanted }) => {
			const status = (STATUSES as readonly string[]).indexOf(wanted);
			return status >= 0 ? status : Number(errorSelector(wanted));
		}),
	};
	return `${JSON.stringify(list, null, "\t")}\n`;
}

if (import.meta.main) writeFileSync(new URL("../vectors/receipts.json", import.meta.url), receiptVectors());
