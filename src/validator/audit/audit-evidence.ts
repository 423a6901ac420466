// The evidence behind one leaf of a report, checked as a stranger would: is the file the one that the leaf
// names, does verify/ find it valid, did this validator sign it, is it of this provider, do its figures give
// the score; and between which two moments it was made. docs/epochs.md §6 says what this cannot show.
import { createHash } from "node:crypto";
import type { ChainClient } from "../../chain/node/chain-client.ts";
import { type AuditCode, type AuditDifference, difference } from "../../market/audit/audit-scores.ts";
import type { Params } from "../../market/params.ts";
import type { Explanation } from "../../market/scores/explanation.ts";
import type { ScoreLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { decodeEvidence } from "../../protocol/probe/evidence-codec.ts";
import type { Verdict } from "../../protocol/probe/verdict.ts";
import { type Expectations, verifyEvidence } from "../../verify/hardware/verify.ts";
import { scoreFromEvidence, termDifferences } from "../scoring/score-from-evidence.ts";

/** A block of the chain, as a moment. */
interface Moment {
	readonly block: number;
	/** Seconds since 1970. */
	readonly timeS: number;
}

export interface ProofTime {
	readonly provider: Hex;
	readonly validator: Hex;
	readonly evidenceSha256: Hex;
	/** Made after this block, whose hash is in its seeds; null: no block is. */
	readonly after: Moment | null;
	/** Made before this one, which has the commitment to its hash. */
	readonly before: Moment | null;
	/** What the validator's own clock says, milliseconds since 1970: worth its word. */
	readonly saidMs: number;
}

export interface CheckedLeaf {
	readonly validator: Hex;
	/** Ed25519, 64 hex digits: signs this validator's evidence. */
	readonly signingKey: string;
	readonly leaf: ScoreLeaf;
	readonly reason: Explanation | null;
	/** The validator's own; null when it states none that can be used. */
	readonly params: Params | null;
	readonly committed: Moment | null;
}

interface CheckedEvidence {
	readonly differences: readonly AuditDifference[];
	readonly made: ProofTime | null;
}

/** `check` gives null for what is not looked at. */
export type EvidenceAudit = ReturnType<typeof createEvidenceAudit>;

export interface EvidenceAuditOptions {
	readonly client: ChainClient;
	/** The file of this hash (64 hex digits), wherever it may be had. Hostile. */
	readonly read: (sha256: string, validator: Hex) => Promise<Uint8Array | null>;
	/** False: hashes only. */
	readonly isVerified: boolean;
	readonly verify?: (file: Uint8Array, expect: Expectations) => Verdict;
}

const MAX_TERMS = 3;

export function createEvidenceAudit(options: EvidenceAuditOptions) {
	return {
		async check(one: CheckedLeaf): Promise<CheckedEvidence | null> {
			const { leaf, validator } = one;
			const sha256 = leaf.evidenceSha256.slice(2);
			const differs = (code: AuditCode, stated: string, right: string): AuditDifference =>
				difference(code, leaf.provider, stated, right);
			const only = (found: AuditDifference) => ({ differences: [found], made: null });
			if (BigInt(leaf.evidenceSha256) === 0n)
				return leaf.scorePpm === 0 || !options.isVerified
					? { differences: [], made: null }
					: only(differs("EVIDENCE_WRONG", String(leaf.scorePpm), "none is named for this score"));
			const bytes = await options.read(sha256, validator);
			if (bytes === null) return only(differs("EVIDENCE_WRONG", sha256, "missing"));
			if (createHash("sha256").update(bytes).digest("hex") !== sha256)
				return only(differs("EVIDENCE_WRONG", sha256, "wrong"));
			if (!options.isVerified) return { differences: [], made: null };
			const verdict = (options.verify ?? verifyEvidence)(bytes, { signers: [one.signingKey] });
			const decoded = decodeEvidence(bytes);
			if (verdict.status !== "valid" || !decoded.ok)
				return only(
					differs(
						"EVIDENCE_WRONG",
						sha256,
						verdict.status === "valid" ? "unreadable" : `${verdict.status}: ${verdict.code}`,
					),
				);
			const { body } = decoded.evidence.envelope;
			const { startedAtMs, target } = body.probe;
			const differences: AuditDifference[] = [];
			if (one.reason !== null && target.startsWith("agent:") && target !== `agent:${one.reason.providerId}`)
				differences.push(differs("EVIDENCE_WRONG", `of ${one.reason.providerId}`, `of ${target.slice(6)}`));
			differences.push(...scoreDifferences(one, { sha256, verdict, claim: body.claim, startedAtMs }, differs));
			const after = await momentOf(options.client, body.beacon);
			if (after === "wrong")
				differences.push(differs("BEACON_WRONG", body.beacon?.value ?? "", "no block of this chain"));
			if (after !== null && after !== "wrong" && one.committed !== null && after.block > one.committed.block)
				differences.push(
					differs("BEACON_WRONG", `block ${after.block}`, `after its commitment, ${one.committed.block}`),
				);
			const made: ProofTime = {
				provider: leaf.provider,
				validator,
				evidenceSha256: leaf.evidenceSha256,
				after: after === "wrong" ? null : after,
				before: one.committed,
				saidMs: startedAtMs,
			};
			return { differences, made };
		},
	};
}

function scoreDifferences(
	{ leaf, reason, params }: CheckedLeaf,
	file: {
		readonly sha256: string;
		readonly verdict: Extract<Verdict, { status: "valid" }>;
		readonly claim: Parameters<typeof scoreFromEvidence>[1]["claim"];
		readonly startedAtMs: number;
	},
	differs: (code: AuditCode, stated: string, right: string) => AuditDifference,
): readonly AuditDifference[] {
	if (reason === null || params === null) return [];
	// A score of 0 needs no proof: paused, receipts missing, and the like are nothing that evidence shows.
	if (leaf.scorePpm === 0) return [];
	let right: Explanation;
	try {
		right = scoreFromEvidence(reason, file, params);
	} catch {
		return [differs("SCORE_WRONG", String(leaf.scorePpm), "its terms are none that evidence gives")];
	}
	const found = termDifferences(reason.root, right.root);
	if (found.length === 0 && right.scorePpm === leaf.scorePpm) return [];
	const figures = found
		.slice(0, MAX_TERMS)
		.map(({ where, stated, right: is }) =>
			differs("FIGURE_WRONG", `${where}: ${stated ?? "none"}`, String(is ?? "none")),
		);
	const isScore = right.scorePpm !== leaf.scorePpm;
	return [...(isScore ? [differs("SCORE_WRONG", String(leaf.scorePpm), String(right.scorePpm))] : []), ...figures];
}

/** A beacon is what the validator wrote; only the chain says that there is such a block. */
async function momentOf(
	{ viem, chainId }: ChainClient,
	beacon: { readonly kind: string; readonly value: string } | null,
): Promise<Moment | "wrong" | null> {
	if (beacon === null || beacon.kind !== "evm-block") return null;
	const [, chain, number, hash] = /^(\d{1,15}):(\d{1,15}):(0x[0-9a-f]{64})$/.exec(beacon.value) ?? [];
	if (chain === undefined || Number(chain) !== chainId) return "wrong";
	const block = await viem.getBlock({ blockNumber: BigInt(number!) }).catch((error: unknown) => {
		if (error instanceof Error && error.name === "BlockNotFoundError") return null;
		throw error;
	});
	return block === null || block.hash !== hash ? "wrong" : { block: Number(number), timeS: Number(block.timestamp) };
}
