// The provider's word on every opened stage: its nonces lead back to what it committed to, its signatures are over the roots of this very
// file. A verifier cannot make them, so one that is missing or wrong is the verifier's lie. docs/hardware-proof.md §7.
import { hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { endOfRun, followsNonce, stageHash } from "../../../protocol/probe/countersign.ts";
import type { EvidenceBody } from "../../../protocol/probe/evidence.ts";
import { isSignature, isWeakKey } from "../../../protocol/probe/signer.ts";
import { type Answered, isCommitted } from "../answers.ts";
import { type Fault, fault } from "../fault.ts";
import { probeSeeds } from "../probe-seeds.ts";

/** `verifier`: the key that signed the file. */
export function checkCountersign(answers: readonly Answered[], body: EvidenceBody, verifier: string): Fault | null {
	const { countersign, link, probe } = body;
	if (countersign === undefined || countersign === null) return null;
	const { key, commitment, stages } = countersign;
	const wrong = (where: string, detail: string) => fault("COUNTERSIGN_WRONG", `countersign.${where}`, detail);
	if (isWeakKey(key)) return wrong("key", "anybody can sign with this key");
	if (link.kind !== "agent" || link.hostKey !== `ed25519:${key}`) return wrong("key", "not the key behind the link");
	const opened = answers.filter(({ opens }) => opens.length > 0);
	const without = opened.find(({ record }) => record.stage >= stages.length);
	if (without !== undefined)
		return wrong(`stages[${stages.length}]`, `stage ${without.record.stage} was opened without it`);
	const seeds = probeSeeds(body, answers);
	let previous = hexToBytes(commitment, 32)!;
	for (const [stage, { nonce: hex, signature }] of stages.entries()) {
		const nonce = hexToBytes(hex, 32)!;
		if (!followsNonce(nonce, previous)) return wrong(`stages[${stage}].nonce`, "not the one that was committed to");
		previous = nonce;
		const runs = answers.filter((one) => one.record.stage === stage && isCommitted(one) && one.roots.length > 0);
		const ends = runs.map(({ index, roots }) =>
			endOfRun(
				seeds.first(index),
				roots.map(({ root }) => root),
			),
		);
		const hash = stageHash({ probeId: probe.id, verifier, stage }, nonce, ends);
		if (runs.length === 0 || !isSignature(key, signature, hash))
			return wrong(`stages[${stage}].signature`, "not this key's signature of what was answered");
	}
	return null;
}

/** The provider committed to nonces and then gave no word on a stage that it had answered: nothing was opened, nothing is shown. */
export function withoutWord(answers: readonly Answered[], { countersign }: EvidenceBody): Answered | null {
	if (countersign === undefined || countersign === null) return null;
	return answers.find((one) => isCommitted(one) && one.record.stage >= countersign.stages.length) ?? null;
}
