// SP1's Groth16 and PLONK receipts: selector, from version 6 on exit code, root of the recursion keys and a
// nonce, then gnark's proof.
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import { bigOf, POINTS, wordsOf } from "../../protocol/maths/bn254.ts";
import { GROTH16_BYTES, verifyGroth16 } from "./groth16.ts";
import { PLONK_BYTES, verifyPlonk } from "./plonk.ts";
import { SP1_GROTH16, type Sp1Verifier } from "./sp1-groth16-keys.ts";
import { IGNITION, SP1_PLONK } from "./sp1-plonk-keys.ts";
import { invalid, type Receipt, type ReceiptVerdict, type ReleaseStatus, releaseFindings } from "./verdict.ts";

/** Up to 3, and 6.0: CVE-2026-40323. */
export const sp1Status = (version: string): ReleaseStatus =>
	/^v([0-3]\.|6\.0\.)/.test(version) ? "retired" : "current";
const selectorOf = ({ verifierHash }: Sp1Verifier): string => verifierHash.slice(0, 8);

/** By its selector; what no version has is taken for the other kind. */
export const isPlonkProof = (proof: string): boolean => SP1_PLONK.some((one) => proof.startsWith(selectorOf(one)));

/** Versions that have the selector; with what the receipt says they must agree. */
function verifierOf(isPlonk: boolean, selector: string, version: string | null): Sp1Verifier | "other" | "unknown" {
	const same = isPlonk ? SP1_PLONK : SP1_GROTH16;
	const found = same.find((one) => selectorOf(one) === selector);
	if (found !== undefined) return version === null || found.version === version ? found : "other";
	return [...SP1_GROTH16, ...SP1_PLONK].some((one) => selectorOf(one) === selector) ? "other" : "unknown";
}

export function verifySp1({ system, proof, program, values, version }: Receipt): ReceiptVerdict {
	const isPlonk = system === "sp1-plonk";
	const bytes = hexToBytes(proof);
	if (bytes === null || bytes.length < 4) return invalid("PROOF_FORM", "a proof begins with a selector of four bytes");
	const selector = bytesToHex(bytes.subarray(0, 4));
	const verifier = verifierOf(isPlonk, selector, version);
	if (verifier === "unknown") return invalid("VERIFIER_UNKNOWN", `no version of SP1 has the selector ${selector}`);
	if (verifier === "other")
		return invalid("VERIFIER_OTHER", `the selector ${selector} is not that of ${version ?? "this kind of proof"}`);
	const headBytes = verifier.vkRoot === null ? 4 : 4 + 96;
	const wanted = headBytes + (isPlonk ? PLONK_BYTES : GROTH16_BYTES);
	if (bytes.length !== wanted) return invalid("PROOF_FORM", `a proof of ${verifier.version} has ${wanted} bytes`);
	const said = hexToBytes(values);
	const vkey = hexToBytes(program, 32);
	if (said === null || vkey === null) return invalid("RECEIPT_SHAPE", "vkey or public values are not hex");
	const head = wordsOf(bytes.subarray(4, headBytes));
	if (verifier.vkRoot !== null) {
		if (head[0] !== 0n) return invalid("PROOF_EXIT", "the program did not end with exit code 0");
		if (head[1] !== BigInt(`0x${verifier.vkRoot}`))
			return invalid("PROOF_WRONG", `the recursion keys are not those of ${verifier.version}`);
	}
	const inputs = [bigOf(vkey), bigOf(sha256Of(said)) & (2n ** 253n - 1n), ...head];
	const rest = bytes.subarray(headBytes);
	const plonk = SP1_PLONK.find((one) => one === verifier);
	const found =
		plonk === undefined ? verifyGroth16(verifier.key, rest, inputs) : verifyPlonk(plonk, IGNITION, rest, inputs);
	if (found === "spelling") return invalid("PROOF_FORM", POINTS.spelling);
	if (found === "nowhere") return invalid("PROOF_WRONG", POINTS.nowhere);
	if (found === "false") return invalid("PROOF_WRONG", "it does not prove these public values of this program");
	const release = `SP1 ${verifier.version}`;
	return {
		...{ status: "valid", system, release, program, values },
		findings: releaseFindings(sp1Status(verifier.version), release),
	};
}
