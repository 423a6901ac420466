// The rounds of signed reports that came with a claim: judged by the verifier's threads, and kept as evidence
// together with the vendors' files that they were judged by. Nothing here decides about the claim: its method
// does. docs/attestation.md.
import { AssayError } from "../../../protocol/assay-error.ts";
import type { JobBound } from "../../../protocol/attest/binding.ts";
import { MAX_JOB_ROUNDS_BYTES } from "../../../protocol/attest/job-rounds.ts";
import type { BlobName } from "../../../protocol/network/job-spec.ts";
import type { CountedAttestation } from "../../../protocol/probe/verdict.ts";
import { cutAttestation } from "../../../store/devices.ts";
import { elsewhereFindings } from "../../../verify/hardware/checks/check-attestations.ts";
import type { JobAttestation } from "../../../verify/work/verify-job-rounds.ts";
import { type JudgedRounds, judgeJobRounds, type RoundsOfClaim } from "../../probing/judge-job-rounds.ts";
import type { VerifierPool } from "../../probing/verifier-pool.ts";
import type { ValidatorContext } from "../../validator-context.ts";

export interface KeptAttestation extends CountedAttestation, Pick<JobAttestation, "fault"> {
	/** SHA-256 of the kept file; null: it was none. */
	readonly file: string | null;
}

export interface RoundsContext
	extends Pick<ValidatorContext, "store" | "blobs" | "env" | "collateral" | "config" | "log" | "keyHolders"> {
	readonly pool: Pick<VerifierPool, "judgeJobRounds">;
}

/** `provider` holds the blob. Throws BLOB_UNKNOWN. */
export async function takeRounds(context: RoundsContext, of: JobBound, name: BlobName): Promise<KeptAttestation> {
	const { store, blobs, env, collateral, config } = context;
	const isFit = name.size <= MAX_JOB_ROUNDS_BYTES;
	const given = isFit ? await blobs.read(of.provider, name, 0, name.size) : new Uint8Array();
	const question = { given, of, atMs: Math.floor(env.nowMs()), items: await collateral(), guests: config.guests };
	const { judged, file } = await judge(context, question);
	const shown = { ...cutAttestation(judged), fault: judged.fault };
	const keys = shown.isSimulated ? [] : shown.devices.map(({ key }) => key);
	const elsewhere = await store.devices.boundElsewhere(of.provider, shown, await context.keyHolders(of.provider, keys));
	const level = elsewhere.length > 0 ? "none" : shown.level;
	const counted = { ...shown, level, elsewhere } as const;
	return {
		...counted,
		reasons: [...counted.reasons, ...elsewhereFindings(counted)],
		file: file && (await store.evidence.keep(file)),
	};
}

/** Should a thread die twice over it, this one judges: late, but judged. */
async function judge({ pool, log }: RoundsContext, question: RoundsOfClaim): Promise<JudgedRounds> {
	try {
		return await pool.judgeJobRounds(question);
	} catch (error) {
		if (!(error instanceof AssayError) || error.code !== "VERIFIER_DIED") throw error;
		log.error({ err: error }, "a thread died over a claim's rounds; judged here");
		return judgeJobRounds(question);
	}
}
