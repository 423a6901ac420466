// The forger of a wrapped run that nothing in the file gives away, and the honest run whose program and
// segments it takes (tests/zk/wrapped-mlp.proof, of samples/mlp-proof.json).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { bn254 } from "@noble/curves/bn254.js";
import { concatBytes, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { type G1, G1_ONE, type G2, G2_ONE, times } from "../../../protocol/maths/bn254.ts";
import { HERMEZ_CEREMONY } from "../../../protocol/maths/hermez.ts";
import { decodeContainer, encodeContainer, entriesOf } from "../../../protocol/probe/container.ts";
import type { SegmentStatement } from "../statement.ts";
import { proofSizes } from "../verify-segment.ts";
import type { RunClaim } from "./check-run.ts";
import { openRunFile, type RunSaid } from "./run-file.ts";
import { LINE_BYTES, toldOf } from "./verify-run.ts";
import { wrapInputs, wrappedClaim } from "./verify-wrapped.ts";

export const FILE = new Uint8Array(
	readFileSync(fileURLToPath(new URL("../../../../tests/zk/wrapped-mlp.proof", import.meta.url))),
);
interface Envelope {
	readonly attachments: unknown;
	readonly body: {
		readonly key: readonly string[];
		readonly statements: readonly object[];
		readonly chunkBits: number;
	};
}
const decoded = decodeContainer(FILE, () => null);
assert.ok(decoded.ok);
export const { envelope, attachments } = decoded.evidence as unknown as {
	readonly envelope: Envelope;
	readonly attachments: readonly Uint8Array[];
};
export const KEY = envelope.body.key;

/** The file with another body or other attachments. */
export const changed = (body: object, others: readonly Uint8Array[] = attachments): Uint8Array =>
	encodeContainer({ attachments: entriesOf(others), body: { ...envelope.body, ...body } } as never, others);
const opened = openRunFile(FILE, { isDevAllowed: true });
assert.ok(opened.status === "inconclusive" && opened.unproven);
/** What the file says. */
export const SAID: RunSaid = opened.unproven;

// Whoever makes a key of a known ceremony's alpha and beta and of a delta whose secret it knows needs no
// prover: A = alpha, B = beta, and C takes the inputs away. All commitments are the point at infinity and
// count for nothing, so that they open.
const KNOWN_DELTA = 0x1337n;
const words = (...list: readonly bigint[]) => list.map((one) => one.toString(16).padStart(64, "0"));
const g1Words = (point: G1): string[] => words(...(Object.values(point.toAffine()) as [bigint, bigint]));
const g2Words = (point: G2): string[] => {
	const { x, y } = point.toAffine();
	return words(x.c1, x.c0, y.c1, y.c0);
};
const FORGED_INPUTS = [5n, 6n, 7n, 8n].map((one) => times(G1_ONE, one));
export const FORGED_KEY = [
	...HERMEZ_CEREMONY,
	...g2Words(G2_ONE),
	...g2Words(G2_ONE.multiply(KNOWN_DELTA)),
	...FORGED_INPUTS.flatMap(g1Words),
];
export const REAL_POINT = `${(1).toString(16).padStart(64, "0")}${(2).toString(16).padStart(64, "0")}`;

/** A run from one made-up state to another; `weights`: the commitments to weights of its statements. */
export function forgedRun(weights: string): Uint8Array {
	const { plan } = SAID;
	const at = (i: number) => `${"abc"[i]}1`.repeat(32);
	const statements = SAID.statements.map((one, i): SegmentStatement => {
		const none = (list: readonly string[]) => list.map(() => "00".repeat(64));
		const own = (list: readonly string[]) => list.map(() => weights);
		const data = { featurePoints: none(one.featurePoints), labelPoints: none(one.labelPoints) };
		const states = { stateBefore: at(i), stateAfter: at(i + 1) };
		return { ...one, ...data, ...states, pointsBefore: own(one.pointsBefore), pointsAfter: own(one.pointsAfter) };
	});
	const own = 64 * proofSizes(plan).points;
	const chunks = plan.groups.reduce((sum, one) => sum + one.chunks, 0);
	const proven = statements.map(() => new Uint8Array(own));
	const [mask, cross] = [new Uint8Array(64), new Uint8Array(64)];
	const zeros = (count: number) => Array<bigint>(count).fill(0n);
	const claim: RunClaim<bigint> = {
		...{ weights: [...statements.map(() => zeros(chunks)), zeros(1)] },
		...{ eta: 0n, t: 0n, a: 0n, b: 0n, digest: 0n },
	};
	const claimed = wrappedClaim({ proven, mask, cross }, claim);
	const inputs = wrapInputs(statements, toldOf(plan, statements, proven, { mask, cross }), claim, claimed);
	const sum = FORGED_INPUTS.slice(1).reduce((all, one, i) => all.add(times(one, inputs[i]!)), FORGED_INPUTS[0]!);
	const { Fr } = bn254.fields;
	const c = times(sum, Fr.neg(Fr.inv(KNOWN_DELTA)));
	const groth16 = hexToBytes([...HERMEZ_CEREMONY, ...g1Words(c)].join(""))!;
	const proof = concatBytes(claimed, groth16, new Uint8Array(LINE_BYTES));
	return changed({ statements, key: FORGED_KEY }, [attachments[0]!, proof]);
}
