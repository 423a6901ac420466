// What a job that goes on need not hold any longer, docs/jobs.md §12: states that windows began with once
// these were run again, and the ends of parts that nobody can dispute or build on any more. Without this a
// training run of a day would keep thousands of states of some gigabytes each. Not here: jobs that are over
// (sweep-blobs.ts).
import { partRange } from "../../../market/jobs/job-rules.ts";
import { BoundedMap } from "../../../platform/bounded-map.ts";
import type { JobPart } from "../../../protocol/network/job.ts";
import type { BlobName } from "../../../protocol/network/job-spec.ts";
import { methodOf } from "../../../verify/methods/methods.ts";
import type { Job, JobContext } from "../keeper/job-context.ts";
import type { ClaimBody } from "../keeper/take-claim.ts";
import { auditHolder, jobHolder } from "./blob-holders.ts";

type Source = Pick<JobContext, "store" | "blobs" | "works" | "auditBegins">;

const MAX_REMEMBERED = 10_000;
/** A job that holds no more keeps all it has, so that anybody may still run any segment of it again. */
const MAX_KEPT_BYTES = 2 ** 30;
const nameOf = ({ root, size }: BlobName): string => `${root}/${size}`;
const tensorsOf = ({ state, results }: Pick<ClaimBody, "state" | "results">): readonly BlobName[] => [
	...state,
	...results,
];

/** Parts from the first on that are paid: their claims are final, and settled in order. */
function paidInFront(parts: readonly JobPart[]): number {
	const other = parts.findIndex(({ state }) => state !== "paid");
	return other < 0 ? parts.length : other;
}

/** `source` is asked for when it is there: it holds this. */
export function createSpentStates(source: () => Source, maxKeptBytes = MAX_KEPT_BYTES) {
	/** Parts of a job whose ends were let go. After a restart it begins anew: twice changes nothing. */
	const ended = new BoundedMap<string, number>(MAX_REMEMBERED);
	/** How a job was when it was last trimmed. */
	const seen = new BoundedMap<string, string>(MAX_REMEMBERED);

	const claimOf = async ({ claim }: JobPart): Promise<{ provider: string; body: ClaimBody } | null> => {
		const row = claim === null ? null : await source().store.jobs.claim(claim);
		return row === null ? null : { provider: row.provider, body: row.body as unknown as ClaimBody };
	};

	/** Everything that somebody may still have to read, by name; and sizes of which everything stays. */
	async function needed({ id, spec, offer, record }: Job) {
		const { works, auditBegins } = source();
		const { program, given, generation, previews } = spec;
		const names = new Set([program, ...given, ...(generation === undefined ? [] : [generation])].map(nameOf));
		const front = paidInFront(record.parts);
		for (const part of record.parts.slice(Math.max(0, front - 1))) {
			const found = await claimOf(part);
			for (const one of found === null ? [] : tensorsOf(found.body)) names.add(nameOf(one));
			if (part.state === "paid") continue;
			for (const { agrees, first } of part.audits)
				for (const one of agrees === true ? [] : auditBegins.known(id, part, first)) names.add(nameOf(one));
		}
		// Which picture is shown now only its events tell. Lists of states are small, and part of the result.
		const { state, results } = await works.ofJob({ id, spec });
		const shown = [...state, ...results].filter(({ tensor }) => previews.includes(tensor));
		const lists = record.parts.map(({ part }) => 32 * (partRange(offer.terms, part).count + 1));
		return { names, sizes: new Set([...shown.map(({ size }) => size), ...lists]) };
	}

	async function release(holder: string, isSpent: (blob: BlobName) => boolean): Promise<void> {
		const { blobs } = source();
		for (const one of await blobs.held(holder)) if (isSpent(one)) await blobs.release(holder, one);
	}

	async function trim(job: Job): Promise<void> {
		const held = await source().blobs.held(jobHolder(job.id));
		if (held.reduce((sum, { size }) => sum + size, 0) <= maxKeptBytes) return;
		const { names, sizes } = await needed(job);
		const isNeeded = (blob: BlobName) => names.has(nameOf(blob)) || sizes.has(blob.size);
		await release(jobHolder(job.id), (one) => !isNeeded(one));
		const front = paidInFront(job.record.parts);
		const ends = new Set<string>();
		const providers = new Set<string>();
		for (const part of job.record.parts.slice(ended.get(job.id) ?? 0, front)) {
			const found = await claimOf(part);
			if (found === null) continue;
			providers.add(found.provider);
			for (const one of tensorsOf(found.body)) ends.add(nameOf(one));
		}
		const isEnd = (blob: BlobName) => ends.has(nameOf(blob));
		await release(auditHolder(job.id), (one) => isEnd(one) && !isNeeded(one));
		// Its provider's own room is small, and the job has what anybody may still ask for.
		for (const provider of providers) await release(provider, isEnd);
		source().auditBegins.forget(job.id, job.record.parts);
		// The last of them is held until the next one is paid.
		ended.set(job.id, Math.max(0, front - 1));
	}

	return {
		/**
		 * Lets go what nobody needs any longer, when a window was found to agree or a part was paid since the
		 * last time. One look at a job at a time calls it.
		 */
		async trim(job: Job): Promise<void> {
			const { parts } = job.record;
			const agreed = parts.reduce((sum, { audits }) => sum + audits.filter(({ agrees }) => agrees === true).length, 0);
			const now = `${paidInFront(parts)}/${agreed}`;
			// Of a proven job everybody may need any state until it is over.
			if (now === "0/0" || seen.get(job.id) === now || methodOf(job.offer.terms.method).driver === "proofs") return;
			await trim(job);
			seen.set(job.id, now);
		},
	};
}
