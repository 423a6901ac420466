// One device's answer to a roll call: its sizes, its leaf in the validator's tree and under the host's
// signature, and what was opened of it, by the same checks as a probe's. Seeds and places follow from the two
// random values alone.
import { bytesToHex, equalBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { keccakNode } from "../../protocol/hash/keccak-tree.ts";
import { rootFromPath } from "../../protocol/hash/merkle.ts";
import { createRowScratch } from "../../protocol/maths/gemm-element.ts";
import { nextSeed, seedChain } from "../../protocol/probe/challenge-seed.ts";
import { endOfRun } from "../../protocol/probe/countersign.ts";
import { decodeOpenings } from "../../protocol/probe/records.ts";
import { isSignature, isWeakKey } from "../../protocol/probe/signer.ts";
import {
	MAX_ROLL_ROUNDS,
	rollAnswerHash,
	rollChallenges,
	rollLeaf,
	rollNonce,
	rollOpenSeed,
	rollSeed,
} from "../../protocol/roll-call/roll-call.ts";
import { type RollCallBody, rollRandomness, specOfAnswer } from "../../protocol/roll-call/roll-file.ts";
import type { Committed, Opened } from "../hardware/answers.ts";
import { checkGemm } from "../hardware/checks/check-gemm.ts";
import { checkStream } from "../hardware/checks/check-stream.ts";
import { type Fault, fault } from "../hardware/fault.ts";
import { POLICY } from "../hardware/policy.ts";
import type { Seeds } from "../hardware/probe-seeds.ts";

const HASH_BYTES = 32;

/** With these no answer takes more than some 100 ms to check. */
export function checkSizes({ answer }: RollCallBody): Fault | null {
	const { mStep, nStep, kStep, maxSide } = POLICY.gemm;
	const limits = [
		["m", mStep, maxSide, mStep],
		["n", nStep, maxSide, nStep],
		["k", kStep, maxSide, kStep],
		["rounds", 1, MAX_ROLL_ROUNDS, 1],
		["keep", 1, answer.rounds, 1],
	] as const;
	for (const [field, least, most, step] of limits) {
		const value = answer[field];
		if (value < least || value > most || value % step !== 0)
			return fault("SPEC_LIMITS", `answer.${field}`, `must be from ${least} to ${most} and a multiple of ${step}`);
	}
	return null;
}

export interface RollAnswered {
	readonly gemm: Committed;
	readonly stream: Committed;
}

export type RollAnswerResult =
	| { readonly ok: true; readonly answered: RollAnswered }
	| { readonly ok: false; readonly fault: Fault };

const OPENED = ["products", "digests", "kept"] as const;

/** The attachments as what they are. */
export function readRollAnswer(
	{ answer }: Pick<RollCallBody, "answer">,
	attachments: readonly Uint8Array[],
): RollAnswerResult {
	const wrong = (code: "ATTACHMENT_ORDER" | "RECORD_MALFORMED" | "ROOTS_MISSING", where: string, detail: string) =>
		({ ok: false, fault: fault(code, where, detail) }) as const;
	const [joined, ...rest] = attachments;
	if (joined === undefined || rest.length !== OPENED.length)
		return wrong("ATTACHMENT_ORDER", "attachments", "must be roots, products, digests and kept leaves");
	if (joined.length !== HASH_BYTES * answer.rounds)
		return wrong("ROOTS_MISSING", "attachments[0]", `${joined.length} bytes are not ${answer.rounds} roots`);
	const opened: Opened[] = [];
	for (const [i, where] of OPENED.entries()) {
		const records = decodeOpenings(rest[i]!);
		if (!records.ok) return wrong("RECORD_MALFORMED", `${where}.record[${records.record}]`, records.detail);
		opened.push({ where, openings: records.records });
	}
	const roots = Array.from({ length: answer.rounds }, (_, i) => ({
		root: joined.subarray(HASH_BYTES * i, HASH_BYTES * (i + 1)),
	}));
	const [products, digests, kept] = opened as [Opened, Opened, Opened];
	const last = { root: hexToBytes(answer.last, HASH_BYTES)! };
	return {
		ok: true,
		answered: {
			gemm: { index: 0, roots, opens: [products] },
			stream: { index: 1, roots: [last], opens: [digests, kept] },
		},
	};
}

/** Is this answer the one that the host signed and the validator committed to? */
export function checkLeaf(body: RollCallBody, { gemm }: RollAnswered): Fault | null {
	const { answer, chain, call, host, tree, beacon } = body;
	const { beta0 } = rollRandomness(beacon);
	const spec = specOfAnswer(answer);
	const end = endOfRun(
		rollSeed(beta0, host, spec),
		gemm.roots.map(({ root }) => root),
	);
	const leaf = rollLeaf(host, { ...spec, end: bytesToHex(end), last: answer.last });
	if (host.leaves.filter((one) => one === bytesToHex(leaf)).length !== 1)
		return fault("CALL_DEVICE_OTHER", "answer", "its leaf is not one of the host's");
	const path = tree.path.map((node) => hexToBytes(node, HASH_BYTES)!);
	const root = rootFromPath(leaf, tree.index, tree.count, path, keccakNode);
	if (root === null || !equalBytes(root, hexToBytes(tree.root, HASH_BYTES)!))
		return fault("CALL_LEAF_ABSENT", "tree", "index and path do not lead from the answer to the root");
	const leaves = host.leaves.map((one) => hexToBytes(one, HASH_BYTES)!);
	const hash = rollAnswerHash({ chainId: chain.id, contract: chain.contract, call }, beta0, leaves);
	if (isWeakKey(host.key)) return fault("CALL_HOST_SIGNATURE", "host.key", "anybody can sign with this key");
	return isSignature(host.key, host.signature, hash)
		? null
		: fault("CALL_HOST_SIGNATURE", "host.signature", "not this key's signature of these leaves and this call");
}

/** The dear part: opened leaves against their roots, and what is in them against the seeds. */
export function checkRollContents(body: RollCallBody, { gemm, stream }: RollAnswered): Fault | null {
	const { host, beacon } = body;
	const spec = specOfAnswer(body.answer);
	const { beta0, beta2 } = rollRandomness(beacon);
	const [gemmSpec, streamSpec] = rollChallenges(spec);
	const roots = gemm.roots.map(({ root }) => root);
	const first = rollSeed(beta0, host, spec);
	const chains = [seedChain(first, roots, nextSeed), [rollNonce(endOfRun(first, roots))]] as const;
	const seeds: Seeds = {
		chain: (index) => chains[index]!,
		open: (index) => rollOpenSeed(beta2, host.key, spec.device, index === 0 ? "gemm" : "stream"),
	};
	const scratch = createRowScratch();
	return (
		checkGemm(gemm, gemmSpec, seeds, scratch) ??
		checkStream(stream, streamSpec, { answer: gemm, spec: gemmSpec }, seeds, scratch)
	);
}
