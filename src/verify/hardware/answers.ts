// The attachments read as what they are: roots and openings of each challenge. A file may number its
// attachments in one way only (each challenge's roots, then its opens), so that nothing can be swapped,
// shared or smuggled in.
import {
	attachmentsOfRound,
	type ChallengeRecord,
	type EvidenceBody,
	type OpenRecord,
} from "../../protocol/probe/evidence.ts";
import { decodeOpenings, decodeRoots, type OpeningRecord, type RootRecord } from "../../protocol/probe/records.ts";
import { withCommonTime } from "./common-time.ts";
import { type Fault, fault } from "./fault.ts";

/** What one request to open gave, and where it stands in the file. */
export interface Opened {
	readonly where: string;
	readonly openings: readonly OpeningRecord[];
}

/** As much of an answer as is needed to judge what was opened of it. */
export interface Committed {
	readonly index: number;
	readonly roots: readonly Pick<RootRecord, "root">[];
	readonly opens: readonly Opened[];
}

interface OpenAnswer extends Opened {
	readonly record: OpenRecord;
}

/** A challenge with its answer. */
export interface Answered extends Committed {
	readonly where: string;
	readonly record: ChallengeRecord;
	readonly roots: readonly RootRecord[];
	readonly opens: readonly OpenAnswer[];
	/** From the request to the last root, microseconds; 0 without a root. */
	readonly ownUs: number;
	/**
	 * What its figures are divided by: `ownUs`, or longer when several devices of its kind ran at once
	 * (common-time.ts).
	 */
	readonly workUs: number;
}

export type AnswersResult =
	| { readonly ok: true; readonly answers: readonly Answered[] }
	| { readonly ok: false; readonly fault: Fault };

export function readAnswers(
	body: Pick<EvidenceBody, "challenges" | "claim" | "attestations">,
	attachments: readonly Uint8Array[],
): AnswersResult {
	const wrong = (found: Fault): AnswersResult => ({ ok: false, fault: found });
	const answers: Answered[] = [];
	let next = 0;
	for (const [index, record] of body.challenges.entries()) {
		const where = `challenges[${index}]`;
		if (record.roots !== next || next >= attachments.length)
			return wrong(fault("ATTACHMENT_ORDER", `${where}.roots`, `must be attachment ${next}`));
		const roots = decodeRoots(attachments[next++]!);
		if (!roots.ok) return wrong(fault("RECORD_MALFORMED", `${where}.roots.record[${roots.record}]`, roots.detail));
		const opens: OpenAnswer[] = [];
		for (const [o, open] of record.opens.entries()) {
			const openWhere = `${where}.opens[${o}]`;
			if (open.attachment !== next || next >= attachments.length)
				return wrong(fault("ATTACHMENT_ORDER", `${openWhere}.attachment`, `must be attachment ${next}`));
			const openings = decodeOpenings(attachments[next++]!);
			if (!openings.ok)
				return wrong(fault("RECORD_MALFORMED", `${openWhere}.record[${openings.record}]`, openings.detail));
			opens.push({ record: open, where: openWhere, openings: openings.records });
		}
		const ownUs = Math.max(0, (roots.records.at(-1)?.atUs ?? record.sentAtUs) - record.sentAtUs);
		answers.push({ index, where, record, roots: roots.records, opens, ownUs, workUs: ownUs });
	}
	for (const [i, round] of body.attestations.entries())
		for (const attachment of attachmentsOfRound(round))
			if (attachment !== next++ || next > attachments.length)
				return wrong(fault("ATTACHMENT_ORDER", `attestations[${i}]`, `must have attachment ${next - 1} next`));
	if (next !== attachments.length)
		return wrong(fault("ATTACHMENT_ORDER", `attachments[${next}]`, "no challenge and no round uses it"));
	return { ok: true, answers: withCommonTime(answers, body.claim) };
}

/** A whole commitment came: all rounds, or (rounds 0) what came until the verifier said stop. */
export function isCommitted({ record: { spec, end } }: Pick<Answered, "record">): boolean {
	return end === (spec.kind === "gemm" && spec.rounds === 0 ? "stopped" : "complete");
}
