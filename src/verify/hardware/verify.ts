// Is this evidence true? A pure function of the file's bytes and of what the asker knows; the same in
// validator, CLI and browser. Bad evidence is a value, never an exception. Cheap checks come first; seeds and
// places are derived anew from the secret, so that nothing in the file can choose them. Page:
// docs/hardware-proof.md.
import { createRowScratch, type RowScratch } from "../../protocol/maths/gemm-element.ts";
import { isOverKept } from "../../protocol/probe/challenge-shape.ts";
import type { Evidence, EvidenceBody } from "../../protocol/probe/evidence.ts";
import { decodeEvidence } from "../../protocol/probe/evidence-codec.ts";
import type { Verdict } from "../../protocol/probe/verdict.ts";
import { nobleSignatures, type VerifySignature } from "../attestation/x509/signature.ts";
import { type Answered, isCommitted, readAnswers } from "./answers.ts";
import { isAside } from "./aside.ts";
import { attestationFindings, judgeAttestations } from "./checks/check-attestations.ts";
import { checkChase } from "./checks/check-chase.ts";
import { checkClaims } from "./checks/check-claims.ts";
import { checkCountersign, withoutWord } from "./checks/check-countersign.ts";
import { checkDropped } from "./checks/check-dropped.ts";
import { checkFigures } from "./checks/check-figures.ts";
import { checkFills } from "./checks/check-fills.ts";
import { checkFma } from "./checks/check-fma.ts";
import { checkGemm } from "./checks/check-gemm.ts";
import { checkIdentity, identitiesOf, identityFindings, judgeCards } from "./checks/check-identity.ts";
import { checkOpens, wasCut } from "./checks/check-opens.ts";
import { checkReadings } from "./checks/check-readings.ts";
import { checkRoots } from "./checks/check-roots.ts";
import { checkExpectations, checkSignature } from "./checks/check-signature.ts";
import { checkSpecs } from "./checks/check-specs.ts";
import { checkStream } from "./checks/check-stream.ts";
import { checkTimes } from "./checks/check-times.ts";
import { checkTrain } from "./checks/check-train.ts";
import { checkWork } from "./checks/check-work.ts";
import { confidenceOf, spotChecksOf } from "./confidence.ts";
import type { Expectations } from "./expectations.ts";
import { type Fault, fault, firstFault } from "./fault.ts";
import { findingsOf } from "./findings.ts";
import { checkNotRemade, checkOneMemory } from "./memory/check-memory.ts";
import { countedFigures } from "./memory/counted-figures.ts";
import { probeSeeds } from "./probe-seeds.ts";

export type { Expectations } from "./expectations.ts";

/**
 * Told before each check is made: its name, and the place in the file when it is about one. For progress on a
 * screen; it decides nothing.
 */
export type OnCheck = (name: CheckName, where: string) => void;
/**
 * Told when the spot checks of a challenge begin (0 done), and after each one that was found right. `of` is
 * the number of them, so that done equals it once the challenge is checked.
 */
export type OnSpotCheck = (challenge: number, done: number, of: number) => void;
export type CheckName =
	| "container"
	| "signature"
	| "expectations"
	| "specs"
	| "claims"
	| "work"
	| "times"
	| "readings"
	| "roots"
	| "countersign"
	| "streams"
	| "figures"
	| "residency"
	| "contents"
	| "fills"
	| "attestation"
	| "identity";

/** `expect` absent: any signer, any probe, any time. */
export function verifyEvidence(
	file: Uint8Array,
	expect: Expectations = {},
	onCheck: OnCheck = () => {},
	onSpotCheck: OnSpotCheck = () => {},
	/** Of reports and quotes. Node's own does it five times as fast. */
	verifySignature: VerifySignature = nobleSignatures,
): Verdict {
	try {
		return judge(file, expect, onCheck, onSpotCheck, verifySignature);
	} catch (error) {
		// Last resort, never the way a bad file is refused: tests show that no mutation gets here.
		return invalid(fault("INTERNAL", "verify", error instanceof Error ? error.message : "unknown"));
	}
}

function invalid({ code, where, detail }: Fault): Verdict {
	return { status: "invalid", code, where, detail };
}

function judge(
	file: Uint8Array,
	expect: Expectations,
	onCheck: OnCheck,
	onSpotCheck: OnSpotCheck,
	verifySignature: VerifySignature,
): Verdict {
	const told = (name: CheckName, where: string, check: () => Fault | null) => () => {
		onCheck(name, where);
		return check();
	};
	const scratch = createRowScratch(); // before anything is hashed: from here on that is quick
	onCheck("container", "");
	const decoded = decodeEvidence(file);
	if (!decoded.ok) return { status: "invalid", code: decoded.code, where: decoded.where, detail: decoded.detail };
	const { envelope, attachments }: Evidence = decoded.evidence;
	const { body } = envelope;
	const early = firstFault(
		told("signature", "", () => checkSignature(envelope, expect)),
		told("expectations", "", () => checkExpectations(envelope, expect)),
		told("specs", "", () => checkSpecs(body) ?? checkDropped(body)),
		told("claims", "", () => checkClaims(body.claim)),
	);
	if (early !== null) return invalid(early);
	const read = readAnswers(body, attachments);
	if (!read.ok) return invalid(read.fault);
	const { answers } = read;
	const found = firstFault(
		told("work", "", () => checkWork(answers)),
		told("times", "", () => checkTimes(answers, body)),
		told("readings", "", () => checkReadings(body)),
		...answers.map((answer) =>
			told(
				"roots",
				answer.where,
				() => checkRoots(answer) ?? checkOpens(answer, couldNotBeOpened(answer, answers, body)),
			),
		),
		told("countersign", "", () => checkCountersign(answers, body, envelope.signature.key)),
		told("streams", "", () => checkStreamedAreCommitted(answers)),
		told("figures", "", () => checkFigures(answers, body)),
		told("residency", "", () => checkNotRemade(answers, body.claim) ?? checkOneMemory(answers, body.claim)),
		() => checkContents(answers, body, scratch, onCheck, onSpotCheck),
		told("fills", "", () => checkFills(answers, body.claim)),
	);
	if (found !== null) return invalid(found);
	onCheck("attestation", "");
	const attested = judgeAttestations(body, answers, attachments, {
		verify: verifySignature,
		guests: expect.guests ?? null,
	});
	if (attested !== null && "code" in attested) return invalid(attested);
	const cut = answers.find(wasCut);
	if (cut !== undefined) {
		const detail = `the connection ended before ${cut.record.spec.kind} on device ${cut.record.spec.device} was answered for`;
		return { status: "inconclusive", code: "OPENING_CUT", where: cut.where, detail };
	}
	const unfinished = answers.find((answer) => !isCommitted(answer) && !isAside(answer, answers, body.claim));
	if (unfinished !== undefined) return inconclusive(unfinished);
	const wordless = withoutWord(answers, body);
	if (wordless !== null) {
		const { stage } = wordless.record;
		const detail = `the provider gave no word on what it had answered in stage ${stage}`;
		return { status: "inconclusive", code: "COUNTERSIGN_MISSING", where: `countersign.stages[${stage}]`, detail };
	}
	// Last: only figures that stand can contradict a name.
	onCheck("identity", "");
	const counted = countedFigures(answers, body);
	const judged = judgeCards({ claim: body.claim, figures: counted.figures });
	const contradicted = checkIdentity(judged);
	if (contradicted !== null) return invalid(contradicted);
	return {
		status: "valid",
		figures: counted.figures,
		identity: identitiesOf(judged),
		confidence: answers.map(confidenceOf),
		strength: body.countersign ? "countersigned" : "private",
		findings: [
			...findingsOf(answers, body, counted.figures),
			...counted.findings,
			...identityFindings(judged),
			...attestationFindings(attested),
		],
		signer: envelope.signature.key,
		host: body.countersign?.key ?? null,
		probeId: body.probe.id,
		...(attested === null ? {} : { attestation: attested }),
	};
}

/** A gemm or fma without a commitment proves nothing against anybody: hosts are busy and links break. */
function inconclusive({ where, record: { end, spec } }: Answered): Verdict {
	const code = end === "refused" ? "CHALLENGE_REFUSED" : end === "garbage" ? "CHALLENGE_GARBAGE" : "CHALLENGE_SILENT";
	return {
		status: "inconclusive",
		code,
		where: `${where}.end`,
		detail: `${spec.kind} on device ${spec.device} ended ${end}`,
	};
}

/**
 * Silence, a cut and garbage end the whole link; what else the stage had committed could not be opened any
 * more. Nor is a stage opened on which the provider gave no word.
 */
function couldNotBeOpened(answer: Answered, answers: readonly Answered[], { countersign }: EvidenceBody): boolean {
	if (countersign && answer.record.stage >= countersign.stages.length) return true;
	return answers.some(
		({ record }) => record.stage === answer.record.stage && ["silent", "cut", "garbage"].includes(record.end),
	);
}

function checkStreamedAreCommitted(answers: readonly Answered[]): Fault | null {
	for (const { record, where } of answers) {
		const { spec } = record;
		if (isOverKept(spec) && !isCommitted(answers[spec.of]!))
			return fault("SPEC_OF", `${where}.spec.of`, "the gemm it names did not end well");
	}
	return null;
}

/** The dear part: opened leaves against their roots, and what is in them against the seeds. */
function checkContents(
	answers: readonly Answered[],
	body: EvidenceBody,
	scratch: RowScratch,
	onCheck: OnCheck,
	onSpotCheck: OnSpotCheck,
): Fault | null {
	const seeds = probeSeeds(body, answers);
	for (const answer of answers) {
		// Of a cut one not all has come that could be checked, and it proves nothing.
		if (!isCommitted(answer) || answer.opens.length === 0 || wasCut(answer)) continue;
		onCheck("contents", answer.where);
		const of = spotChecksOf(answer);
		let done = 0;
		onSpotCheck(answer.index, done, of);
		const onRight = () => onSpotCheck(answer.index, ++done, of);
		const { spec } = answer.record;
		let found: Fault | null;
		if (spec.kind === "gemm") found = checkGemm(answer, spec, seeds, scratch, onRight);
		else if (spec.kind === "fma") found = checkFma(answer, spec, seeds, onRight);
		else if (spec.kind === "train") found = checkTrain(answer, spec, seeds, onRight);
		else {
			const read = answers[spec.of]!;
			if (read.record.spec.kind !== "gemm") return fault("SPEC_OF", `${answer.where}.spec.of`, "not a gemm");
			const gemm = { answer: read, spec: read.record.spec };
			found =
				spec.kind === "chase"
					? checkChase(answer, spec, gemm, seeds, onRight)
					: checkStream(answer, spec, gemm, seeds, scratch, onRight);
		}
		if (found !== null) return found;
	}
	return null;
}
