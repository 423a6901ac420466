// The states that audits in the middle of a part begin with: asked of its claimant, checked against its
// claim, and remembered while this process lives.
import { partRange } from "../../../market/jobs/job-rules.ts";
import { BoundedMap } from "../../../platform/bounded-map.ts";
import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import type { JobPart } from "../../../protocol/network/job.ts";
import type { BlobName } from "../../../protocol/network/job-spec.ts";
import { claimAtHand } from "./claim-at-hand.ts";
import type { AuditBegin, Job, JobContext } from "./job-context.ts";

const MOST_REMEMBERED = 1000;

/** `context` is asked for when it is there: it holds this. */
export function createAuditBegins(context: () => JobContext) {
	const known = new BoundedMap<string, AuditBegin>(MOST_REMEMBERED);
	const named = (job: string, { part, attempt }: JobPart, first: number) => `${job}/${part}/${attempt}/${first}`;
	return {
		async get(job: Job, number: number, at: number): Promise<AuditBegin | null> {
			const part = job.record.parts[number]!;
			const { audits } = part;
			const name = named(job.id, part, audits[at]!.first);
			const found = known.get(name);
			if (found !== undefined) return found;
			const claim = await claimAtHand(context(), job, number);
			const { first } = partRange(job.offer.terms, number);
			const begin = await context().evidence.stateBefore(claim, first + audits[at]!.first);
			if (begin === null) return null;
			const made = { start: bytesToHex(claim.states[audits[at]!.first]!), begin, previous: null };
			known.set(name, made);
			return made;
		},
		known(job: string, part: JobPart, first: number): readonly BlobName[] {
			const found = known.get(named(job, part, first));
			return found === undefined ? [] : [...found.begin.state, ...found.begin.results];
		},
		forget(job: string, parts: readonly JobPart[]): void {
			for (const part of parts)
				for (const { agrees, first } of part.audits) if (agrees === true) known.delete(named(job, part, first));
		},
	};
}
