// The contract for receipts of zkVMs beside its twin, src/verify/receipts: the same constants, the same
// verdict on each row of the vectors, on every real case and on random changes; and what a receipt costs in
// gas. What each row must give in Solidity is receipts/Receipts.t.sol.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { decodeErrorResult, decodeFunctionResult, encodeFunctionData } from "viem";
import { receiptKeyFiles } from "../../scripts/generate-receipt-keys.ts";
import { receiptsCode } from "../../src/chain/abi/creation-code.ts";
import { receiptsAbi } from "../../src/chain/abi/receipts-abi.ts";
import { RpcRefusal } from "../../src/chain/node/rpc.ts";
import { bytesToHex, hexToBytes, utf8ToBytes } from "../../src/protocol/bytes/bytes.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import { SP1_GROTH16 } from "../../src/verify/receipts/sp1-groth16-keys.ts";
import type { ReceiptVerdict } from "../../src/verify/receipts/verdict.ts";
import { verifyReceipt } from "../../src/verify/receipts/verify-receipt.ts";
import { fc, scaled } from "../../tests/fuzz.test-kit.ts";
import { checkGas } from "./gas.test-kit.ts";
import { type BareChain, openBareChain } from "./network.test-kit.ts";
import {
	ANY_RELEASE,
	type ChainReceipt,
	chainReceipt,
	type ReceiptFile,
	realReceipts,
	receiptRows,
	receiptVectors,
	STATUSES,
} from "./receipt-vectors.test-kit.ts";

/** Whole transactions; the design allows no more. */
const MOST_GAS = 260_000;
let chain: BareChain;
let address: Hex;

before(async () => {
	chain = await openBareChain();
	address = await chain.put(receiptsCode);
});
after(() => chain.close());

type Act = "statusOf" | "mustAccept";
const dataOf = (functionName: Act, receipt: ChainReceipt): Hex =>
	encodeFunctionData({ abi: receiptsAbi, functionName, args: [receipt] });

/** The status, or the name of the error. */
async function onChain(receipt: ChainReceipt, act: Act = "statusOf"): Promise<string> {
	try {
		const data = (await chain.client.rpc("eth_call", [{ to: address, data: dataOf(act, receipt) }, "latest"])) as Hex;
		const found = decodeFunctionResult({ abi: receiptsAbi, functionName: act, data });
		return found === undefined ? "taken" : STATUSES[found]!;
	} catch (error) {
		if (!(error instanceof RpcRefusal)) throw error;
		const given = error.data as Hex | { readonly data: Hex };
		return decodeErrorResult({ abi: receiptsAbi, data: typeof given === "string" ? given : given.data }).errorName;
	}
}

/**
 * What the contract says where the verifier has this code. A point that is nowhere has each system's own
 * code.
 */
const ERRORS: Readonly<Record<string, readonly string[]>> = {
	VERIFIER_UNKNOWN: ["VerifierUnknown"],
	VERIFIER_OTHER: ["VerifierOther"],
	PROOF_FORM: ["ProofLength", "NumberTooLarge", "PointNowhere"],
	PROOF_EXIT: ["ProgramFailed"],
	PROOF_WRONG: ["ProofFalse", "PointNowhere", "RecursionRootOther"],
};

function expectedOf(verdict: ReceiptVerdict): readonly string[] {
	if (verdict.status === "invalid") return ERRORS[verdict.code] ?? [];
	const codes = verdict.findings.map(({ code }) => code);
	if (codes.includes("RELEASE_RETIRED")) return ["Retired"];
	return [codes.includes("RELEASE_UNRELEASED") ? "Unreleased" : "Current"];
}

const fileOf = ({ system, program, values, proof }: ChainReceipt): Uint8Array =>
	utf8ToBytes(
		JSON.stringify(
			system === 0
				? { system: "risc0-groth16", seal: proof, imageId: program, journal: values }
				: { system: "sp1-groth16", proof, vkey: program, publicValues: values },
		),
	);

test("keys and vectors are what their generators make", () => {
	const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
	for (const [file, text] of receiptKeyFiles())
		assert.ok(read(`../src/receipts/${file}`) === text, `${file} is stale: node scripts/generate-receipt-keys.ts`);
	assert.ok(read("../vectors/receipts.json") === receiptVectors(), "receipts.json is stale");
});

test("the verifier says the same of each row as the contract must", () => {
	for (const { what, receipt, wanted } of receiptRows()) {
		// Files name a version, not a selector.
		if (receipt.release !== ANY_RELEASE) continue;
		assert.ok(expectedOf(verifyReceipt(fileOf(receipt))).includes(wanted), `${what}: ${wanted}`);
	}
});

const beside = fileURLToPath(new URL("../../../shared", import.meta.url));
const CASES = join(process.env.ASSAY_SHARED ?? beside, "zkvm-receipts/cases.json");
const missing = existsSync(CASES) ? false : `real receipts are not at ${CASES}; the committed ones run without them`;

test("every real case has its verdict from the contract too", { skip: missing }, async () => {
	type Expected = { readonly status: string; readonly code?: string };
	type RealCase = ReceiptFile & { readonly expect: Expected; readonly version?: string };
	const cases = (JSON.parse(readFileSync(CASES, "utf8")) as RealCase[]).filter(({ system }) => system !== "sp1-plonk");
	assert.ok(cases.length >= 50);
	for (const one of cases) {
		const known = SP1_GROTH16.find(({ version }) => version === one.version);
		const release: Hex = known === undefined ? ANY_RELEASE : `0x${known.verifierHash.slice(0, 8)}`;
		const found = await onChain({ ...chainReceipt(one), release });
		// That the verifier says so too is its own test.
		const wanted = one.expect.code === undefined ? STATUSES : ERRORS[one.expect.code]!;
		assert.ok((wanted as readonly string[]).includes(found), `${one.id}: ${found}`);
		const accepted = await onChain({ ...chainReceipt(one), release }, "mustAccept");
		assert.equal(accepted === "taken", found === "Current", one.id);
	}
});

test("random changes: contract and verifier agree, and nothing is true", async () => {
	const real = realReceipts().map(chainReceipt);
	const place = fc.tuple(
		fc.nat(real.length - 1),
		fc.constantFrom("proof" as const, "program" as const, "values" as const),
		fc.array(fc.nat(2 ** 20), { minLength: 1, maxLength: 3 }),
	);
	await fc.assert(
		fc.asyncProperty(place, async ([at, name, bits]) => {
			const bytes = hexToBytes(real[at]![name].slice(2))!;
			// Each bit once: two changes of one would be none.
			for (const bit of new Set(bits.map((one) => one % (8 * bytes.length)))) bytes[bit >> 3]! ^= 1 << (bit & 7);
			const receipt = { ...real[at]!, [name]: `0x${bytesToHex(bytes)}` as Hex };
			const verdict = verifyReceipt(fileOf(receipt));
			assert.equal(verdict.status, "invalid");
			assert.ok(expectedOf(verdict).includes(await onChain(receipt)));
		}),
		{ numRuns: scaled(8) },
	);
});

test("a receipt costs no more than its golden gas, and that no more than 260,000", async () => {
	const gasOf = async (id: string) => {
		const receipt = chainReceipt(realReceipts().find((one) => one.id === id)!);
		const { gasUsed } = await chain.send({ to: address, data: dataOf("mustAccept", receipt) });
		return Number(gasUsed);
	};
	const gas = {
		receiptRisc0: await gasOf("risc0-73c457ba"),
		receiptSp1: await gasOf("sp1-groth16-v5.0.0"),
		receiptSp1V6: await gasOf("sp1-groth16-v6.1.0"),
	};
	checkGas("receipts", gas);
	for (const [act, used] of Object.entries(gas)) assert.ok(used <= MOST_GAS, `${act}: ${used}`);
});
