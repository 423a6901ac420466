// Files made of the real H200's (vectors/h200.assay) and signed anew with a test's key, for what no file in
// vectors/ shows: a card of which little is proven, and one card that is claimed as two.
import { readFileSync } from "node:fs";
import type { ChallengeRecord, EvidenceBody } from "../../src/protocol/probe/evidence.ts";
import { encodeEvidence } from "../../src/protocol/probe/evidence-codec.ts";
import { encodeRoots } from "../../src/protocol/probe/records.ts";
import { deriveFigures } from "../../src/verify/hardware/derive-figures.ts";
import { partsOf, VERIFIER } from "../../src/verify/hardware/honest-evidence.test-kit.ts";

const REAL = partsOf(readFileSync(new URL("../../vectors/h200.assay", import.meta.url)));
const { body: BODY } = REAL.envelope;

function signed(probeId: string, changes: Partial<EvidenceBody>, attachments: readonly Uint8Array[]): Uint8Array {
	const probe = { ...BODY.probe, id: probeId };
	const body = { ...BODY, probe, attestations: [], ...changes };
	return encodeEvidence({ ...body, figures: deriveFigures(body, attachments) }, attachments, VERIFIER);
}

/** Its first challenges alone; attachments lie in their order. */
function firstOf(count: number): { readonly challenges: readonly ChallengeRecord[]; readonly attachments: number } {
	const challenges = BODY.challenges.slice(0, count);
	const used = challenges.flatMap(({ roots, opens }) => [roots, ...opens.map(({ attachment }) => attachment)]);
	return { challenges, attachments: Math.max(...used) + 1 };
}

/** Products of int8 and the memory alone, and the card claims four times the memory that it has. */
export function partOfH200(): Uint8Array {
	const { challenges, attachments } = firstOf(4);
	const devices = BODY.claim.devices.map((one) =>
		one.kind === "gpu" ? { ...one, memoryBytes: 4 * one.memoryBytes } : one,
	);
	const changes = { challenges, claim: { ...BODY.claim, devices } };
	return signed("4a".repeat(16), changes, REAL.attachments.slice(0, attachments));
}

/** A second card that refused to fill its memory while the first one filled its own. */
export function h200AsTwo(): Uint8Array {
	const { challenges, attachments } = firstOf(2);
	const [card] = BODY.claim.devices;
	const [product] = challenges;
	const refused: ChallengeRecord = {
		...product!,
		spec: { ...product!.spec, device: BODY.claim.devices.length },
		roots: attachments,
		...{ end: "refused", opens: [] },
	};
	const devices = [...BODY.claim.devices, { ...card!, uuid: "GPU-the-same-again" }];
	const changes = { challenges: [...challenges, refused], claim: { ...BODY.claim, devices } };
	return signed("2b".repeat(16), changes, [...REAL.attachments.slice(0, attachments), encodeRoots([])]);
}
