// `assay verify FILE` judges what assay wrote. Evidence that devices signed is judged by another command. It
// is not false because somebody gave it to this one.
import { AssayError } from "../../protocol/assay-error.ts";
import { type FileKind, kindOfFile, openText } from "../../verify/attestation/file-kind.ts";

const SIGNED_BY_DEVICES: readonly FileKind[] = [
	...(["device report", "device list", "quote", "SNP report", "Azure evidence", "dstack evidence"] as const),
];

/** Throws FILE_UNREADABLE, which names the right command. */
export function refuseAttestation(file: Uint8Array, path: string): void {
	const kind = kindOfFile(openText(file));
	if (!SIGNED_BY_DEVICES.includes(kind)) return;
	throw new AssayError("FILE_UNREADABLE", `${path} is attestation evidence (${kind}), not a file of a probe`, {
		hint: `Use \`assay attest verify ${path}\`, with the files that belong to it.`,
	});
}
