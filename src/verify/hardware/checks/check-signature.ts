// Who signed it, and is it the evidence that was asked for? docs/hardware-proof.md §8.
import type { Envelope } from "../../../protocol/probe/evidence.ts";
import { signedHash } from "../../../protocol/probe/evidence-codec.ts";
import { isSignature } from "../../../protocol/probe/signer.ts";
import type { Expectations } from "../expectations.ts";
import { type Fault, fault } from "../fault.ts";

export function checkSignature({ attachments, body, signature }: Envelope, expect: Expectations): Fault | null {
	if (expect.signers !== undefined && !expect.signers.includes(signature.key))
		return fault("SIGNER_UNKNOWN", "signature.key", `signed by ${signature.key}`);
	if (!isSignature(signature.key, signature.value, signedHash(attachments, body)))
		return fault("SIGNATURE_WRONG", "signature.value", "not this key's signature of this content");
	return null;
}

export function checkExpectations({ body: { probe } }: Envelope, expect: Expectations): Fault | null {
	if (expect.probeId !== undefined && probe.id !== expect.probeId)
		return fault("REPLAYED", "body.probe.id", `probe ${probe.id} is not ${expect.probeId}`);
	if (expect.seenProbeIds?.has(probe.id))
		return fault("REPLAYED", "body.probe.id", `probe ${probe.id} was seen before`);
	if (expect.notBeforeMs !== undefined && probe.startedAtMs < expect.notBeforeMs)
		return fault("STALE", "body.probe.startedAtMs", "the probe began before the time asked for");
	if (expect.notAfterMs !== undefined && probe.startedAtMs + probe.finishedAtUs / 1000 > expect.notAfterMs)
		return fault("STALE", "body.probe.finishedAtUs", "the probe ended after the time asked for");
	if (expect.target !== undefined && probe.target !== expect.target)
		return fault("TARGET_OTHER", "body.probe.target", "not the target asked for");
	return null;
}
