// The provider's word on every opened stage: its nonces lead back to what it committed to, its signatures are
// over the roots of this very file. A verifier cannot make them, so one that is missing or wrong is the
// verifier's lie. docs/hardware-proof.md §7.
import { hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { claimHash, endOfRun, wrongInWord } from "../../../protocol/probe/countersign.ts";
import type { EvidenceBody } from "../../../protocol/probe/evidence.ts";
import { isWeakKey } from "../../../protocol/probe/signer.ts";
import { type Answered, isCommitted } from "../answers.ts";
import { type Fault, fault } from "../fault.ts";
import { probeSeeds } from "../probe-seeds.ts";

/** `verifier`: the key that signed the file. */
export function checkCountersign(answers: readonly Answered[], body: EvidenceBody, verifier: string): Fault | null {
	const { countersign, link, probe } = body;
	if (countersign === null) return null;
	const { key, commitment, stages } = countersign;
	const wrong = (where: string, detail: string) => fault("COUNTERSIGN_WRONG", `countersign.${where}`, detail);
	if (isWeakKey(key)) return wrong("key", "anybody can sign with this key");
	if (link.kind !== "agent" || link.hostKey !== `ed25519:${key}`) return wrong("key", "not the key behind the link");
	const opened = answers.filter(({ opens }) => opens.length > 0);
	const without = opened.find(({ record }) => record.stage >= stages.length);
	if (without !== undefined)
		return wrong(`stages[${stages.length}]`, `stage ${without.record.stage} was opened without it`);
	const seeds = probeSeeds(body, answers);
	const claim = claimHash(body.claim);
	let previous = hexToBytes(commitment, 32)!;
	for (const [stage, word] of stages.entries()) {
		const committed = answers.filter((one) => one.record.stage === stage && isCommitted(one) && one.roots.length > 0);
		const runs = committed.map(({ index, roots, ownUs: tookUs }) => {
			const all = roots.map(({ root }) => root);
			return { end: endOfRun(seeds.first(index), all), tookUs };
		});
		const found = wrongInWord(word, { key, previous, of: { probeId: probe.id, verifier, claim, stage }, runs });
		if (runs.length === 0 || found !== null)
			return wrong(`stages[${stage}].${found ?? "signature"}`, WRONG[found ?? "signature"]);
		previous = hexToBytes(word.nonce, 32)!;
	}
	return null;
}

const WRONG = {
	nonce: "not the one that was committed to",
	spansUs: "the host saw a run take longer than the file says, or other runs",
	signature: "not this key's signature of what was claimed and answered",
} as const;

/**
 * The provider committed to nonces and then gave no word on a stage that it had answered: nothing was opened,
 * nothing is shown.
 */
export function withoutWord(answers: readonly Answered[], { countersign }: EvidenceBody): Answered | null {
	if (countersign === null) return null;
	return answers.find((one) => isCommitted(one) && one.record.stage >= countersign.stages.length) ?? null;
}
