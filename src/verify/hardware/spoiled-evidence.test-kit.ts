// Honest evidence with one thing spoiled before it is packed and signed, and the code that this must end in.
import assert from "node:assert/strict";
import type { DeviceClaim, EvidenceBody, HostClaim } from "../../protocol/probe/evidence.ts";
import type { AnsweredChallenge } from "../../protocol/probe/evidence-codec.ts";
import { answerStages, CLAIM, STAGES, sign } from "./honest-evidence.test-kit.ts";
import { type Expectations, verifyEvidence } from "./verify.ts";

export const ANSWERED = answerStages(STAGES);

export type Change = (answered: AnsweredChallenge[]) => void;

/** A deep copy to spoil; leaves and paths are copied as well. */
export function spoiled(change: Change): AnsweredChallenge[] {
	const copy = structuredClone(ANSWERED) as AnsweredChallenge[];
	change(copy);
	return copy;
}

export function codeOf(file: Uint8Array, expect?: Expectations): string {
	const verdict = verifyEvidence(file, expect);
	return verdict.status === "valid" ? "valid" : verdict.code;
}

export function expectCode(code: string, where: string, change: Change, changes: Partial<EvidenceBody> = {}): void {
	const verdict = verifyEvidence(sign(spoiled(change), changes));
	assert.ok(verdict.status !== "valid", `${code}: still valid`);
	assert.deepEqual([verdict.code, verdict.where], [code, where]);
}

/** The kit's claim with one device changed. */
export function claimWith(device: number, changes: Partial<DeviceClaim>): HostClaim {
	return { ...CLAIM, devices: CLAIM.devices.map((d, i) => (i === device ? { ...d, ...changes } : d)) };
}

// biome-ignore lint/suspicious/noExplicitAny: tests write into what is read-only to everybody else
export const writable = (value: unknown): any => value;

/** The whole challenge earlier or later. */
export function shift(challenge: AnsweredChallenge, byUs: number): void {
	writable(challenge).sentAtUs += byUs;
	for (const root of challenge.roots) writable(root).atUs += byUs;
	for (const open of challenge.opens) {
		writable(open).sentAtUs += byUs;
		writable(open).receivedAtUs += byUs;
	}
}
