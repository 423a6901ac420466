// Routes of what is proven of zk jobs. It all stands on chain: everybody may see it. What the routes do is
// validator/jobs/proofs/.
import type { Handlers } from "../../api/routes.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import type { JobContext } from "../jobs/keeper/job-context.ts";
import { mustFindJob } from "../jobs/keeper/part-calls.ts";
import { createJobProofs } from "../jobs/proofs/job-proofs.ts";

export function proofHandlers(context: JobContext) {
	const proofs = createJobProofs(context);
	return {
		async listJobProofs({ params }) {
			const job = await mustFindJob(context, params.id);
			const rows = await proofs.list(job);
			return {
				segments: job.offer.terms.segments - 1,
				proofs: rows.map(({ amount, ...row }) => ({ ...row, amount: String(amount) })),
			};
		},
		async getJobProof({ params }) {
			const bytes = await proofs.file(await mustFindJob(context, params.id), params.segment);
			return { bytes, sizeBytes: bytes.length, sha256: bytesToHex(sha256Of(bytes)) };
		},
	} satisfies Partial<Handlers>;
}
