// Judges the rounds of signed reports that came with a claim (docs/attestation.md): one bound to what was
// assigned, one bound to the claim, both of the same devices. What is false is named by the code that a probe
// would have; it takes nothing from the claim, whose method decides.
import { bindOfJob, type JobBound } from "../../protocol/attest/binding.ts";
import { decodeJobRounds } from "../../protocol/attest/job-rounds.ts";
import type { ProbeAttestation } from "../../protocol/probe/verdict.ts";
import { areOthers, type RoundQuestion, type RoundVerdict, verifyRound } from "../attestation/verify-round.ts";
import { roundEvidence, summaryOf } from "../hardware/checks/check-attestations.ts";

export interface JobAttestation extends ProbeAttestation {
	/** What is false; null: nothing. Then the level is none. */
	readonly fault: { readonly code: string; readonly where: string; readonly detail: string } | null;
}

/** `file`: as the validator keeps it. */
export function verifyJobRounds(
	file: Uint8Array,
	of: JobBound,
	by: Pick<RoundQuestion, "verify" | "guests">,
): JobAttestation {
	const held = decodeJobRounds(file);
	if (held === null) return fallen("ATTEST_FORM", "file", "not the rounds of a job");
	const judged: RoundVerdict[] = [];
	for (const [i, record] of held.rounds.entries()) {
		const where = `rounds[${i}]`;
		if (record.gpus.length === 0 && record.switches.length === 0 && record.cpu === null) continue;
		const bind = bindOfJob(of, i === 0 ? null : of.claim);
		const verdict = verifyRound(roundEvidence(record, held.attachments), { ...by, bind, atMs: held.atMs });
		const { fault, policy } = verdict;
		if (fault !== null) return fallen(fault.code ?? "INTERNAL", `${where}.${fault.where}`, fault.detail, policy);
		const [first] = judged;
		if (first !== undefined && areOthers(first, verdict))
			return fallen("DEVICE_OTHER", where, "other devices signed than at the beginning", policy);
		judged.push(verdict);
	}
	const summary = summaryOf(judged, held.rounds);
	// One end alone does not show that the cards were there meanwhile.
	return held.rounds.length === 2 ? { ...summary, fault: null } : { ...summary, ...NOTHING, fault: null };
}

const NOTHING = { level: "none", shown: "none" } as const;

const fallen = (
	code: string,
	where: string,
	detail: string,
	policy: ProbeAttestation["policy"] = null,
): JobAttestation => ({
	...{ ...NOTHING, isSimulated: false, rounds: 0, devices: [], guest: null, reasons: [], says: [], policy },
	fault: { code, where, detail },
});
