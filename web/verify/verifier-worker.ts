// The verifier in a thread of its own: the same verifyEvidence as in the validator and the CLI, over the bytes that the page hands in.
// Tells each check as it begins; the verdict is the function's value and nothing else.
import type { Evidence } from "../../src/protocol/evidence.ts";
import { decodeEvidence } from "../../src/protocol/evidence-codec.ts";
import type { Verdict } from "../../src/protocol/verdict.ts";
import { type CheckName, verifyEvidence } from "../../src/verify/hardware/verify.ts";

export interface WorkerQuestion {
	readonly bytes: Uint8Array;
}

export type WorkerWord =
	| { readonly kind: "check"; readonly name: CheckName; readonly where: string; readonly challenges: number }
	| {
			readonly kind: "verdict";
			readonly verdict: Verdict;
			readonly evidence: Evidence | null;
			readonly tookMs: number;
	  };

interface Scope {
	postMessage(word: WorkerWord): void;
	onmessage: ((event: MessageEvent<WorkerQuestion>) => void) | null;
}
const scope = globalThis as unknown as Scope;

scope.onmessage = ({ data }) => {
	const started = performance.now();
	const decoded = decodeEvidence(data.bytes);
	const evidence = decoded.ok ? decoded.evidence : null;
	const challenges = evidence?.envelope.body.challenges.length ?? 0;
	const verdict = verifyEvidence(data.bytes, {}, (name, where) =>
		scope.postMessage({ kind: "check", name, where, challenges }),
	);
	const tookMs = Math.round(performance.now() - started);
	scope.postMessage({ kind: "verdict", verdict, evidence, tookMs });
};
