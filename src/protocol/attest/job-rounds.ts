// The rounds of signed reports of one part of a job, docs/attestation.md: one at its beginning, one at its
// end, in the container of evidence files. The provider hands it in with its claim; the validator adds the
// vendors' files that it judges by and the time, and keeps that.
import { int, list, object, oneOf, type Shape, type Typed } from "../bytes/shape.ts";
import { attachmentShape, decodeContainer, encodeContainer, entriesOf } from "../probe/container.ts";
import { type AttestationRecord, attachmentsOfRound, attestationShape } from "../probe/evidence.ts";

/** Of a provider's file: twice what an engine gives in a round. */
export const MAX_JOB_ROUNDS_BYTES = 4 * 1024 * 1024;
const MAX_ATTACHMENTS = 1024;

const body = object({
	format: oneOf("assay-job-rounds"),
	version: oneOf(1),
	/** When the claim was handed in; 0 in the provider's own file. */
	atMs: int(),
	rounds: list(attestationShape as Shape<AttestationRecord>, 2),
});
const envelope = object({ attachments: list(attachmentShape, MAX_ATTACHMENTS), body });
type Envelope = Typed<typeof envelope>;

export interface JobRounds {
	readonly atMs: number;
	/** `after` is 0, then 1. */
	readonly rounds: readonly AttestationRecord[];
	readonly attachments: readonly Uint8Array[];
}

export function encodeJobRounds({ atMs, rounds, attachments }: JobRounds): Uint8Array {
	const made = { format: "assay-job-rounds", version: 1, atMs, rounds } as const;
	return encodeContainer({ attachments: entriesOf(attachments), body: made }, attachments);
}

/** Null: not such a file. Every attachment is named once, in order. */
export function decodeJobRounds(file: Uint8Array): JobRounds | null {
	const decoded = decodeContainer(file, envelope as Shape<Envelope>);
	if (!decoded.ok) return null;
	const { envelope: held, attachments } = decoded.evidence;
	const { atMs, rounds } = held.body;
	const named = rounds.flatMap(attachmentsOfRound);
	const isWhole = named.length === attachments.length && named.every((one, i) => one === i);
	const isInOrder = rounds.every(({ after }, i) => after === i);
	return isWhole && isInOrder ? { atMs, rounds, attachments } : null;
}
