// The verifier in a thread of its own: the same verifyEvidence as in the validator and the CLI, over the
// bytes that the page hands in. Tells each check as it begins and each spot check that was found right; the
// verdict is the function's value and nothing else.
import type { Evidence } from "../../src/protocol/probe/evidence.ts";
import { decodeEvidence } from "../../src/protocol/probe/evidence-codec.ts";
import type { Verdict } from "../../src/protocol/probe/verdict.ts";
import { formatOf } from "../../src/protocol/roll-call/roll-file.ts";
import type { VerifySignature } from "../../src/verify/attestation/x509/signature.ts";
import { readAnswers } from "../../src/verify/hardware/answers.ts";
import { judgeAttestations } from "../../src/verify/hardware/checks/check-attestations.ts";
import { type CheckName, verifyEvidence } from "../../src/verify/hardware/verify.ts";
import { explainFraud, type FraudStory } from "../../src/verify/optimistic/fraud/explain-fraud.ts";
import type { FraudVerdict } from "../../src/verify/optimistic/fraud/fraud-verdict.ts";
import { verifyFraud } from "../../src/verify/optimistic/fraud/judge-fraud.ts";
import type { ReceiptVerdict } from "../../src/verify/receipts/verdict.ts";
import { isReceipt, verifyReceipt } from "../../src/verify/receipts/verify-receipt.ts";
import { openingsOf, rootsOf } from "../proofs/merkle-path.ts";
import type { LiveChallenge } from "../proofs/probe-events.ts";
import { type AttestationQuestion, type JudgedAttestation, judgeQuickly } from "./judge-attestation.ts";
import { platformSignatures } from "./platform-signatures.ts";

export type WorkerQuestion = { readonly bytes: Uint8Array } | { readonly attestation: AttestationQuestion };

/** A challenge of the file, as far as a screen names it. */
export interface FileChallenge extends Pick<LiveChallenge, "challenge" | "stage" | "device" | "what" | "precision"> {
	readonly roots: number;
	readonly openings: number;
}

export type WorkerWord =
	/** The file of a roll call, which another worker judges. */
	| { readonly kind: "roll-call" }
	/** A proof of training, of a segment or a wrapped run, which another worker judges. */
	| { readonly kind: "training" }
	/** A fraud file, judged. */
	| {
			readonly kind: "fraud";
			readonly verdict: FraudVerdict;
			readonly story: FraudStory | null;
			readonly tookMs: number;
	  }
	/** A receipt of a zkVM, judged. */
	| { readonly kind: "receipt"; readonly verdict: ReceiptVerdict; readonly tookMs: number }
	/** Reports and quotes, judged together. */
	| { readonly kind: "attestation"; readonly judged: JudgedAttestation; readonly tookMs: number }
	| { readonly kind: "file"; readonly challenges: readonly FileChallenge[] }
	| { readonly kind: "check"; readonly name: CheckName; readonly where: string; readonly challenges: number }
	/** Spot checks found right so far: by challenge how many, and how many there are. */
	| { readonly kind: "spot-checks"; readonly right: readonly SpotChecks[] }
	| {
			readonly kind: "verdict";
			readonly verdict: Verdict;
			readonly evidence: Evidence | null;
			readonly tookMs: number;
	  };

type SpotChecks = readonly [challenge: number, done: number, of: number];

interface Scope {
	postMessage(word: WorkerWord): void;
	onmessage: ((event: MessageEvent<WorkerQuestion>) => void) | null;
}
const scope = globalThis as unknown as Scope;

/** About a frame: a screen shows no more, and thousands of words would only queue. */
const TOLD_EVERY_MS = 16;

scope.onmessage = ({ data }) => {
	const started = performance.now();
	if ("attestation" in data) {
		judgeQuickly(data.attestation).then((judged) =>
			scope.postMessage({ kind: "attestation", judged, tookMs: Math.round(performance.now() - started) }),
		);
		return;
	}
	const decoded = decodeEvidence(data.bytes);
	const format = decoded.ok ? null : formatOf(data.bytes);
	if (format === "assay-roll-call") {
		scope.postMessage({ kind: "roll-call" });
		return;
	}
	if (format === "assay-zk" || format === "assay-zk-run") {
		scope.postMessage({ kind: "training" });
		return;
	}
	if (format === "assay-fraud") {
		const verdict = verifyFraud(data.bytes);
		const tookMs = Math.round(performance.now() - started);
		scope.postMessage({ kind: "fraud", verdict, story: explainFraud(data.bytes, verdict), tookMs });
		return;
	}
	if (!decoded.ok && isReceipt(data.bytes)) {
		const verdict = verifyReceipt(data.bytes);
		scope.postMessage({ kind: "receipt", verdict, tookMs: Math.round(performance.now() - started) });
		return;
	}
	void judgeEvidence(data.bytes, decoded.ok ? decoded.evidence : null, started);
};

/** Its reports' signatures first, by the browser's curves: judging cannot wait for them. */
async function signaturesOf(evidence: Evidence | null): Promise<VerifySignature | undefined> {
	if (evidence === null || evidence.envelope.body.attestations.length === 0) return undefined;
	const { attachments, envelope } = evidence;
	return platformSignatures((verify) => {
		// Nothing of the file is checked yet: what cannot be read is verifyEvidence's to name.
		try {
			const read = readAnswers(envelope.body, attachments);
			if (read.ok) judgeAttestations(envelope.body, read.answers, attachments, { verify, guests: null });
		} catch {}
	});
}

async function judgeEvidence(bytes: Uint8Array, evidence: Evidence | null, started: number): Promise<void> {
	const challenges = evidence?.envelope.body.challenges.length ?? 0;
	scope.postMessage({ kind: "file", challenges: evidence === null ? [] : challengesOf(evidence) });
	const right = new Map<number, SpotChecks>();
	let toldAtMs = started;
	const tell = () => {
		if (right.size > 0) scope.postMessage({ kind: "spot-checks", right: [...right.values()] });
		right.clear();
	};
	const signatures = await signaturesOf(evidence);
	const verdict = verifyEvidence(
		bytes,
		{},
		(name, where) => scope.postMessage({ kind: "check", name, where, challenges }),
		(challenge, done, of) => {
			right.set(challenge, [challenge, done, of]);
			const atMs = performance.now();
			if (atMs - toldAtMs < TOLD_EVERY_MS) return;
			toldAtMs = atMs;
			tell();
		},
		signatures,
	);
	tell();
	const tookMs = Math.round(performance.now() - started);
	scope.postMessage({ kind: "verdict", verdict, evidence, tookMs });
}

function challengesOf(evidence: Evidence): FileChallenge[] {
	return evidence.envelope.body.challenges.map((one, challenge) => ({
		challenge,
		stage: one.stage,
		device: one.spec.device,
		what: one.spec.kind,
		precision: "precision" in one.spec ? one.spec.precision : "",
		roots: rootsOf(one, evidence).length,
		openings: openingsOf(one, evidence).length,
	}));
}
