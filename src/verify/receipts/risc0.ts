// RISC Zero's Groth16 receipts. The claim is computed here from image id and journal: no assumptions, exit
// code Halted(0). One that came with the receipt would prove nothing.
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import { bigOf, POINTS } from "../../protocol/maths/bn254.ts";
import { GROTH16_BYTES, verifyGroth16 } from "./groth16.ts";
import { RISC0_KEY, RISC0_RELEASES } from "./risc0-releases.ts";
import { invalid, type Receipt, type ReceiptVerdict, type ReleaseStatus, releaseFindings } from "./verdict.ts";

/** 2.0: GHSA-g3qg-6746-3mg9. 2.1: GHSA-f6rc-24x4-ppxp. */
const RETIRED: readonly string[] = ["2.0", "2.1"];
/** null: a state of the code between two releases. */
export const risc0Status = (release: string | null): ReleaseStatus =>
	release === null ? "unreleased" : RETIRED.includes(release) ? "retired" : "current";
/** Digest of the state in which a program has halted. */
const HALTED = "a3acc27117418996340b84e5a90f3ef4c49d22c79e44aad822ec9c313e1eb8e2";
const ZEROS = new Uint8Array(32);

const u16 = (value: number): Uint8Array => Uint8Array.of(value & 255, value >> 8);
const bytes32 = (hex: string): Uint8Array => hexToBytes(hex, 32)!;

/** A hash of a struct: its tag, the hashes below it, its own data, how many hashes. */
export const structDigest = (tag: string, below: readonly Uint8Array[], data: Uint8Array = new Uint8Array(0)) =>
	sha256Of(concatBytes(sha256Of(utf8ToBytes(tag)), ...below, data, u16(below.length)));

function claimDigest(image: Uint8Array, journal: Uint8Array): Uint8Array {
	const output = structDigest("risc0.Output", [sha256Of(journal), ZEROS]);
	return structDigest("risc0.ReceiptClaim", [ZEROS, image, bytes32(HALTED), output], new Uint8Array(8));
}

/** Low and high half of the reversed digest. */
function halves(digest: Uint8Array): readonly [bigint, bigint] {
	const reversed = digest.toReversed();
	return [bigOf(reversed.subarray(16)), bigOf(reversed.subarray(0, 16))];
}

export function verifyRisc0({ proof, program, values }: Receipt): ReceiptVerdict {
	const seal = hexToBytes(proof);
	if (seal === null || seal.length !== 4 + GROTH16_BYTES)
		return invalid("PROOF_FORM", `a seal has ${4 + GROTH16_BYTES} bytes: a selector and three points`);
	const selector = bytesToHex(seal.subarray(0, 4));
	const release = Object.hasOwn(RISC0_RELEASES, selector) ? RISC0_RELEASES[selector] : undefined;
	if (release === undefined) return invalid("VERIFIER_UNKNOWN", `no release of RISC Zero has the selector ${selector}`);
	const journal = hexToBytes(values);
	const image = hexToBytes(program, 32);
	if (journal === null || image === null) return invalid("RECEIPT_SHAPE", "image id or journal is not hex");
	const inputs = [
		...halves(bytes32(release.controlRoot)),
		...halves(claimDigest(image, journal)),
		bigOf(bytes32(release.controlId)),
	];
	const found = verifyGroth16(RISC0_KEY, seal.subarray(4), inputs);
	if (found === "spelling" || found === "nowhere") return invalid("PROOF_FORM", POINTS[found]);
	if (found === "false")
		return invalid("PROOF_WRONG", "it does not prove this journal of this image under this release");
	const name = release.release ?? `a state of ${release.since}`;
	return {
		...{ status: "valid", system: "risc0-groth16", release: `RISC Zero ${name}`, program, values },
		findings: releaseFindings(risc0Status(release.release), `RISC Zero ${name}`),
	};
}
