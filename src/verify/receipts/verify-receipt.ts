// `verifyReceipt`: is this receipt of a zkVM true? Pure; trusts nothing in the file but hex. The form is in
// docs/receipts.md; SP1's own fixtures fit it.
import { bytesToUtf8 } from "../../protocol/bytes/bytes.ts";
import { hasDoubleKeys } from "../../protocol/bytes/double-keys.ts";
import { verifyRisc0 } from "./risc0.ts";
import { isPlonkProof, verifySp1 } from "./sp1.ts";
import { invalid, type Receipt, type ReceiptSystem, type ReceiptVerdict } from "./verdict.ts";

/** A proof has less than a kilobyte, and public values are small. */
const MOST_BYTES = 16 * 1024 * 1024;

type Members = Readonly<Record<string, unknown>>;

/** Lower-case digits without 0x; null: no hex. */
function hexOf(value: unknown): string | null {
	if (typeof value !== "string") return null;
	const digits = value.replace(/^0x/, "").toLowerCase();
	return digits.length % 2 === 0 && !/[^0-9a-f]/.test(digits) ? digits : null;
}

function parse(file: Uint8Array): Members | null {
	const text = file.length > MOST_BYTES ? null : bytesToUtf8(file);
	if (text === null || !text.trimStart().startsWith("{")) return null;
	try {
		const value: unknown = JSON.parse(text);
		return typeof value === "object" && value !== null && !hasDoubleKeys(text, value) ? (value as Members) : null;
	} catch {
		return null;
	}
}

const isRisc0 = (members: Members): boolean => "seal" in members || "imageId" in members;

/** Whether a file claims to be one, whatever is in it. */
export function isReceipt(file: Uint8Array): boolean {
	const members = parse(file);
	return members !== null && (isRisc0(members) || ("proof" in members && "vkey" in members));
}

function systemOf(members: Members, proof: string): ReceiptSystem | null {
	const own: ReceiptSystem = isRisc0(members) ? "risc0-groth16" : isPlonkProof(proof) ? "sp1-plonk" : "sp1-groth16";
	const said = members.system ?? own;
	return (["risc0-groth16", "sp1-groth16", "sp1-plonk"] as const).find((one) => one === said) ?? null;
}

function receiptOf(members: Members): Receipt | null {
	const [proof, program, values] = (
		isRisc0(members) ? ["seal", "imageId", "journal"] : ["proof", "vkey", "publicValues"]
	).map((name) => hexOf(members[name]));
	const { version = null } = members;
	if (proof == null || program == null || values == null || program.length !== 64) return null;
	const system = systemOf(members, proof);
	if (system === null || (system === "risc0-groth16") !== isRisc0(members)) return null;
	return version === null || typeof version === "string" ? { system, proof, program, values, version } : null;
}

/**
 * Without `program` any program is as good as another: whoever relies on a receipt knows which one it means.
 */
export function verifyReceipt(file: Uint8Array, expect: { readonly program?: string } = {}): ReceiptVerdict {
	const members = parse(file);
	const receipt = members === null ? null : receiptOf(members);
	if (receipt === null)
		return invalid("RECEIPT_SHAPE", "it has not seal, imageId and journal, nor proof, vkey and publicValues, in hex");
	if (expect.program !== undefined && receipt.program !== expect.program)
		return invalid("RECEIPT_PROGRAM", `it is of the program ${receipt.program}`);
	return receipt.system === "risc0-groth16" ? verifyRisc0(receipt) : verifySp1(receipt);
}
