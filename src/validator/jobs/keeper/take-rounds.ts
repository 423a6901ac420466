// The rounds of signed reports that came with a claim: hostile. The vendors' files that they are judged by are put beside them, the whole is kept as
// evidence, and the verdict is that of the kept file. Nothing here decides about the claim: its method does. docs/attestation.md.
import { nodeSignatures } from "../../../platform/node-signatures.ts";
import type { JobBound } from "../../../protocol/attest/binding.ts";
import {
	decodeJobRounds,
	encodeJobRounds,
	type JobRounds,
	MAX_JOB_ROUNDS_BYTES,
} from "../../../protocol/attest/job-rounds.ts";
import { packRound } from "../../../protocol/attest/pack-round.ts";
import type { BlobName } from "../../../protocol/network/job-spec.ts";
import type { CountedAttestation } from "../../../protocol/probe/verdict.ts";
import { cutAttestation } from "../../../store/devices.ts";
import type { CollateralItem } from "../../../verify/attestation/collateral/bundle.ts";
import { DEFAULT_POLICY, VENDOR_ROOTS } from "../../../verify/attestation/settings.ts";
import { elsewhereFindings } from "../../../verify/hardware/checks/check-attestations.ts";
import { type JobAttestation, verifyJobRounds } from "../../../verify/methods/verify-job-rounds.ts";
import { chosenFor } from "../../probe/attest-rounds.ts";
import type { ValidatorContext } from "../../validator-context.ts";

export interface KeptAttestation extends CountedAttestation, Pick<JobAttestation, "fault"> {
	/** SHA-256 of the kept file; null: it was none. */
	readonly file: string | null;
}

/** `provider` holds the blob. Throws BLOB_UNKNOWN. */
export async function takeRounds(
	{ store, blobs, env, collateral }: Pick<ValidatorContext, "store" | "blobs" | "env" | "collateral">,
	of: JobBound,
	name: BlobName,
): Promise<KeptAttestation> {
	const isFit = name.size <= MAX_JOB_ROUNDS_BYTES;
	const given = isFit ? decodeJobRounds(await blobs.read(of.provider, name, 0, name.size)) : null;
	const file = given && withCollateral(given, Math.floor(env.nowMs()), await collateral());
	const judged = verifyJobRounds(file ?? new Uint8Array(), of, nodeSignatures);
	const shown = { ...cutAttestation(judged), fault: judged.fault };
	const elsewhere = await store.devices.boundElsewhere(of.provider, shown);
	const level = elsewhere.length > 0 ? "none" : shown.level;
	const counted = { ...shown, level, elsewhere } as const;
	return {
		...counted,
		reasons: [...counted.reasons, ...elsewhereFindings(counted)],
		file: file && (await store.evidence.keep(file)),
	};
}

function withCollateral(given: JobRounds, atMs: number, items: readonly CollateralItem[]): Uint8Array {
	const settings = { roots: VENDOR_ROOTS, atMs, policy: DEFAULT_POLICY, verify: nodeSignatures };
	const attachments: Uint8Array[] = [];
	const rounds = given.rounds.map((record) => {
		const bytes = (at: number) => given.attachments[at]!;
		const { cpu } = record;
		const round = {
			...record,
			gpus: record.gpus.map(({ device, report, chain }) => ({ device, report: bytes(report), chain: bytes(chain) })),
			cpu: cpu && {
				kind: cpu.kind,
				quote: bytes(cpu.quote),
				certificates: cpu.certificates === null ? null : bytes(cpu.certificates),
			},
		};
		return packRound(round, chosenFor(round, items, settings), attachments);
	});
	return encodeJobRounds({ atMs, rounds, attachments });
}
