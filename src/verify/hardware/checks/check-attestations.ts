// Signed reports of a probe (docs/attestation.md): each round bound to the roots that were there when it was
// asked, every round of the same devices. A false report makes the probe invalid. A report that is missing,
// or in a format that is not known here, takes nothing away, nor does missing collateral. The moment is the
// probe's own: a file is judged in ten years as it is today.
import { bindOf, rootsCommitment } from "../../../protocol/attest/binding.ts";
import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import type { AttestationRecord, EvidenceBody } from "../../../protocol/probe/evidence.ts";
import {
	ATTESTED_LEVELS,
	type CountedAttestation,
	type Finding,
	type ProbeAttestation,
	unreadAttestation,
} from "../../../protocol/probe/verdict.ts";
import {
	areOthers,
	type RoundEvidence,
	type RoundQuestion,
	type RoundVerdict,
	verifyRound,
} from "../../attestation/verify-round.ts";
import type { Answered } from "../answers.ts";
import { type Fault, fault } from "../fault.ts";
import type { Architecture } from "../identify/profile.ts";
import { profilesNamed } from "../identify/profiles.ts";

/** Null: no round was asked, since the engine does not know ATTEST. */
export function judgeAttestations(
	body: EvidenceBody,
	answers: readonly Answered[],
	attachments: readonly Uint8Array[],
	by: Pick<RoundQuestion, "verify" | "guests">,
): ProbeAttestation | Fault | null {
	const { attestations } = body;
	if (attestations.length === 0) return null;
	const rounds: RoundVerdict[] = [];
	for (const [i, record] of attestations.entries()) {
		const where = `attestations[${i}]`;
		const found = checkOrder(record, attestations[i - 1], answers, body, where);
		if (found !== null) return found;
		if (record.gpus.length === 0 && record.switches.length === 0 && record.cpu === null) continue;
		const bind = bindOfRound(body, answers, record.after);
		const verdict = verifyRound(roundEvidence(record, attachments), { ...by, bind, atMs: body.probe.startedAtMs });
		if (verdict.fault !== null)
			return fault(verdict.fault.code ?? "INTERNAL", `${where}.${verdict.fault.where}`, verdict.fault.detail);
		const [first] = rounds;
		if (first !== undefined && areOthers(first, verdict))
			return fault("DEVICE_OTHER", where, "other devices signed than in the first round");
		rounds.push(verdict);
	}
	const claimed = body.claim.devices.filter(({ kind }) => kind === "gpu").map(({ name }) => name);
	return withAllCards(summaryOf(rounds, attestations), claimed);
}

/**
 * The level is the host's: a card that signed nothing shows none. ATTACK: one genuine card would lend its
 * level to seven others. Which report is whose nobody knows (no report names a UUID), so they are counted,
 * those of each generation of chips apart: else the report of an H100 somewhere would do for a gaming card
 * here, which cannot sign at all.
 */
function withAllCards(summary: ProbeAttestation, claimed: readonly string[]): ProbeAttestation {
	const chips = summary.devices.filter(({ kind }) => kind === "gpu").map(({ chip }) => chip);
	if (chips.length === 0 || unreadAttestation(summary) !== null) return summary;
	const without = (code: string, detail: string): ProbeAttestation => ({
		...{ ...summary, level: "none", shown: "none" },
		reasons: [{ code, detail }, ...summary.reasons],
	});
	if (chips.length < claimed.length)
		return without("REPORTS_MISSING", `${chips.length} of ${claimed.length} GPUs signed a report`);
	const generations = chips.map((chip) => CHIPS.find(([begin]) => chip.startsWith(begin))?.[1] ?? null);
	// A chip that is not known may be any card's.
	const unknown = generations.filter((one) => one === null).length;
	for (const generation of new Set(claimed.map(generationOf))) {
		const names = claimed.filter((one) => generationOf(one) === generation);
		const signed = generations.filter((one) => one === generation).length;
		if (generation !== null && names.length > signed + unknown)
			return without(
				"DEVICE_OTHER",
				`${signed} of ${names.length} cards like ${names[0]} signed; the reports are of ${chips[0]}`,
			);
	}
	return summary;
}

/** How the names of chips begin. */
const CHIPS: readonly (readonly [string, Architecture])[] = [
	["GH", "hopper"],
	["GB1", "blackwell-dc"],
	["GB2", "blackwell"],
];

/** Null: a card that is in no profile. */
const generationOf = (name: string): Architecture | null => profilesNamed(name)[0]?.architecture ?? null;

/** The nonce of a round: `after` challenges were answered when it was asked. */
export function bindOfRound(
	{ probe, countersign }: Pick<EvidenceBody, "probe" | "countersign">,
	answers: readonly Pick<Answered, "roots">[],
	after: number,
): Uint8Array {
	const lastRoots = answers.slice(0, after).flatMap(({ roots }) => roots.at(-1)?.root ?? []);
	return bindOf({
		kind: "probe",
		id: probe.id,
		provider: countersign?.key ?? null,
		validator: probe.verifier,
		chain: null,
		contract: null,
		commitment: bytesToHex(rootsCommitment(lastRoots)),
	});
}

/** Rounds follow each other, and what they are bound to. */
function checkOrder(
	record: AttestationRecord,
	before: AttestationRecord | undefined,
	answers: readonly Answered[],
	{ probe }: EvidenceBody,
	where: string,
): Fault | null {
	const { after, sentAtUs, receivedAtUs } = record;
	if (after > answers.length || (before !== undefined && after <= before.after))
		return fault("ATTEST_FORM", `${where}.after`, "a round must follow more challenges than the one before it");
	const lastUs = Math.max(0, ...answers.slice(0, after).map(({ roots }) => roots.at(-1)?.atUs ?? 0));
	const nextUs = answers[after]?.record.sentAtUs ?? probe.finishedAtUs;
	if (sentAtUs < lastUs || receivedAtUs < sentAtUs || receivedAtUs > nextUs)
		return fault("TIME_ORDER", `${where}.sentAtUs`, "not between the challenges that it lies between");
	return null;
}

export function roundEvidence(record: AttestationRecord, attachments: readonly Uint8Array[]): RoundEvidence {
	const { gpus, switches, cpu, collateral } = record;
	const device = (kind: "gpu" | "switch") => (one: (typeof gpus)[number]) => ({
		kind,
		report: attachments[one.report]!,
		chain: attachments[one.chain]!,
	});
	const certificates = cpu === null || cpu.certificates === null ? null : attachments[cpu.certificates]!;
	return {
		devices: [...gpus.map(device("gpu")), ...switches.map(device("switch"))],
		guest: cpu === null ? null : { quote: attachments[cpu.quote]!, certificates },
		collateral: collateral.map(({ kind, id, attachment }) => ({ kind, id, bytes: attachments[attachment]! })),
	};
}

/** The lowest level of all rounds; a round without a report shows nothing. */
export function summaryOf(rounds: readonly RoundVerdict[], asked: readonly AttestationRecord[]): ProbeAttestation {
	const last = rounds.at(-1);
	const levels = asked.length === rounds.length ? rounds.map(({ shown }) => shown) : [];
	const shown = ATTESTED_LEVELS.find((level) => levels.includes(level)) ?? "none";
	const isSimulated = rounds.some((round) => round.isSimulated);
	const reasons = [...unreadIn(rounds), ...rounds.flatMap((round) => round.reasons)];
	return {
		level: isSimulated ? "none" : shown,
		shown,
		isSimulated,
		rounds: rounds.length,
		devices: last?.devices ?? [],
		guest: last?.guest ?? null,
		reasons: reasons.filter((one, i) => reasons.findIndex(({ code }) => code === one.code) === i),
		says: asked.at(-1)?.says ?? [],
		policy: (rounds.find((round) => round.isSimulated) ?? last)?.policy ?? null,
	};
}

/** ATTACK: cards that are genuine at one end of the work, and say nothing that can be read at the other. */
function unreadIn(rounds: readonly RoundVerdict[]): Finding[] {
	const unread = rounds.map((round) => round.unread);
	const detail = unread.find((one) => one !== null);
	if (detail === undefined || detail === null) return [];
	const where = unread.includes(null) ? "at one end of the work, and not at the other: " : "";
	return [{ code: "ATTEST_VERSION", detail: `${where}${detail}` }];
}

/** For whoever reads findings alone: the level, that it is simulated, or that it cannot be told. */
export function attestationFindings(attestation: ProbeAttestation | null): Finding[] {
	if (attestation === null) return [];
	const unread = unreadAttestation(attestation);
	if (unread !== null)
		return [{ code: unread.code, detail: `attestation cannot be told: ${unread.detail.slice(0, 400)}` }];
	if (attestation.devices.length === 0) return [];
	const { shown, isSimulated, devices, guest } = attestation;
	const keys = devices.map(({ chip, key }) => `${chip} ${key.slice(0, 16)}`).join(", ");
	const detail = `level ${shown}: ${keys.slice(0, 400)}${guest === null ? "" : `; named by a guest (${guest.tee})`}`;
	return isSimulated
		? [{ code: "SIMULATED_ROOTS", detail: `simulated, counts for nothing: ${detail}` }]
		: [{ code: "ATTESTED", detail }];
}

/** The same of devices that count for others; `elsewhere` is what the store says. */
export function elsewhereFindings(attestation: CountedAttestation | null): Finding[] {
	const { elsewhere = [], isSimulated } = attestation ?? {};
	if (elsewhere.length === 0) return [];
	const some = elsewhere.slice(0, 4).map(({ key, providerId }) => `${key.slice(0, 16)} for ${providerId}`);
	const more = elsewhere.length > some.length ? ` and ${elsewhere.length - some.length} more` : "";
	const detail = `${isSimulated ? "simulated: " : ""}counted already: ${some.join(", ")}${more}`;
	return [{ code: "DEVICE_ELSEWHERE", detail }];
}
