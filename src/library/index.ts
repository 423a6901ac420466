// What programs import as `assay`: judge evidence, read it, look up a code. Runs in Node and in browsers: no
// clock, no file, no connection. Importing it does nothing. Not here: probing (assay/probe), the API of a
// network (assay/client).
import type { EvidenceBody } from "../protocol/probe/evidence.ts";
import { decodeEvidence } from "../protocol/probe/evidence-codec.ts";
import type { Verdict } from "../protocol/probe/verdict.ts";
import type { Expectations } from "../verify/hardware/expectations.ts";
import { verifyEvidence as judge } from "../verify/hardware/verify.ts";

export { AssayError } from "../protocol/assay-error.ts";
export { type CodeEntry, type CodeKind, codes } from "../protocol/codes.ts";
export type { DeviceClaim, EvidenceBody, Figure, HostClaim } from "../protocol/probe/evidence.ts";
export type { Identity, IdentityState, Strength, Verdict, VerdictStatus } from "../protocol/probe/verdict.ts";
export type { Expectations } from "../verify/hardware/expectations.ts";

/**
 * Is this evidence true? A pure function of the bytes and of what you expect: the signers that you accept,
 * the probe's id, its time. Never throws: bad evidence is a verdict. Takes about half a second for a probe of
 * one card; in a browser, call it in a worker.
 */
export function verifyEvidence(file: Uint8Array, expect: Expectations = {}): Verdict {
	return judge(file, expect);
}

/**
 * What an evidence file says, unchecked: what the host claimed, what was asked, when. null: it is no evidence
 * file. Judge it first.
 */
export function readEvidence(file: Uint8Array): EvidenceBody | null {
	const decoded = decodeEvidence(file);
	return decoded.ok ? decoded.evidence.envelope.body : null;
}
