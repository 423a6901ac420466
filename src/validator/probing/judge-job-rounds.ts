// Rounds of signed reports that came with a job's claim: hostile. The vendors' files that they are judged by
// are put beside them, and the verdict is that of the whole, which is what is kept. Pure; it takes some 50 ms
// a GPU, so the verifier's threads do it.
import { nodeSignatures } from "../../platform/node-signatures.ts";
import type { JobBound } from "../../protocol/attest/binding.ts";
import { decodeJobRounds, encodeJobRounds, type JobRounds } from "../../protocol/attest/job-rounds.ts";
import { packRound } from "../../protocol/attest/pack-round.ts";
import type { CollateralItem } from "../../verify/attestation/collateral/bundle.ts";
import type { GuestRule } from "../../verify/attestation/guest-rules.ts";
import { DEFAULT_POLICY, VENDOR_ROOTS } from "../../verify/attestation/settings.ts";
import { type JobAttestation, verifyJobRounds } from "../../verify/work/verify-job-rounds.ts";
import { chosenFor } from "../probe/attest-rounds.ts";

export interface RoundsOfClaim {
	/** As the provider uploaded it. */
	readonly given: Uint8Array;
	readonly of: JobBound;
	readonly atMs: number;
	readonly items: readonly CollateralItem[];
	readonly guests: readonly GuestRule[] | null;
}

export interface JudgedRounds {
	readonly judged: JobAttestation;
	/** What is to be kept; null: it was no such file. */
	readonly file: Uint8Array | null;
}

export function judgeJobRounds({ given, of, atMs, items, guests }: RoundsOfClaim): JudgedRounds {
	const read = decodeJobRounds(given);
	const file = read && withCollateral(read, atMs, items);
	return { judged: verifyJobRounds(file ?? new Uint8Array(), of, { verify: nodeSignatures, guests }), file };
}

function withCollateral(given: JobRounds, atMs: number, items: readonly CollateralItem[]): Uint8Array {
	const settings = { roots: VENDOR_ROOTS, atMs, policy: DEFAULT_POLICY, verify: nodeSignatures };
	const attachments: Uint8Array[] = [];
	const rounds = given.rounds.map((record) => {
		const bytes = (at: number) => given.attachments[at]!;
		const { cpu } = record;
		const opened = ({ device, report, chain }: (typeof record.gpus)[number]) => ({
			...{ device, report: bytes(report), chain: bytes(chain) },
		});
		const round = {
			...record,
			gpus: record.gpus.map(opened),
			switches: record.switches.map(opened),
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
