// Rounds of signed reports at both ends of a part (docs/attestation.md), kept in the run's folder until the
// claim is handed in. A host without such devices is asked once and loses nothing; nor does one whose engine
// dies between the two: its claim has no rounds then.
import type { CollectedRound } from "../../engine/client/collect-round.ts";
import { bindOfJob, type JobBound } from "../../protocol/attest/binding.ts";
import { decodeJobRounds, encodeJobRounds, MAX_JOB_ROUNDS_BYTES } from "../../protocol/attest/job-rounds.ts";
import { packRound } from "../../protocol/attest/pack-round.ts";
import type { RunReader, RunWriter } from "../../store/runs/run-folder.ts";
import type { AskedPart, JobDesk, PartOffer } from "./job-desk.ts";
import type { JobEngine } from "./job-engine.ts";

const FILE = "rounds.bin";

/** Null: nobody asks, for this is an audit, or a toy. */
export function boundPart(desk: JobDesk, asked: AskedPart, offer: PartOffer): Omit<JobBound, "claim"> | null {
	if (asked.audit !== null || desk.provider === undefined) return null;
	const { job, part, attempt } = asked;
	return { job, part, attempt, provider: desk.provider, escrow: offer.escrow, start: offer.start };
}

/** `claim` null: at the beginning. A second time it changes nothing. */
export async function attestPart(
	folder: RunWriter,
	{ attest }: Pick<JobEngine, "attest">,
	of: Omit<JobBound, "claim"> | null,
	claim: string | null,
): Promise<void> {
	if (of === null || attest === undefined) return;
	const held = await roundsIn(folder);
	const after = claim === null ? 0 : 1;
	if ((held?.rounds.length ?? 0) !== after) return;
	const round = await attest(bindOfJob(of, claim));
	if (round.end !== "complete" || isEmpty(round)) return;
	const attachments = [...(held?.attachments ?? [])];
	const rounds = [...(held?.rounds ?? []), packRound({ ...round, after }, [], attachments)];
	await folder.write(FILE, encodeJobRounds({ atMs: 0, rounds, attachments }));
}

const isEmpty = ({ gpus, cpu }: CollectedRound): boolean => gpus.length === 0 && cpu === null;

async function roundsIn(folder: Pick<RunReader, "read">) {
	const file = await folder.read(FILE);
	return file === null ? null : decodeJobRounds(file);
}

/** To be handed in with the claim; null: not whole, or too long. */
export const wholeRounds = (file: Uint8Array | null): Uint8Array | null =>
	file !== null && file.length <= MAX_JOB_ROUNDS_BYTES && decodeJobRounds(file)?.rounds.length === 2 ? file : null;
