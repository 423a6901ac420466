// One opened leaf's way up to its committed root, level by level, for a drawing: whose hash is ours, which
// one came along. Pure.
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { leafHash, nodeHash, pathLength } from "../../src/protocol/hash/merkle.ts";
import { fmaLeaves, gemmLeaves, streamGroups } from "../../src/protocol/probe/challenge-shape.ts";
import type { ChallengeRecord, Evidence } from "../../src/protocol/probe/evidence.ts";
import { decodeOpenings, decodeRoots, type OpeningRecord } from "../../src/protocol/probe/records.ts";

interface PathLevel {
	/** Position among the nodes of its level, and how many there are. */
	readonly index: number;
	readonly width: number;
	readonly hash: string;
	/** Null at the root, and where a node without a neighbour is promoted. */
	readonly sibling: { readonly hash: string; readonly side: "left" | "right" } | null;
}

export interface DrawnPath {
	readonly levels: readonly PathLevel[];
	readonly root: string;
	readonly isEqual: boolean;
}

/** Leaves of the tree that a challenge's roots are over, or null when the file does not say it right. */
export function leavesOf(challenge: ChallengeRecord, evidence: Evidence): number | null {
	const { spec } = challenge;
	if (spec.kind === "gemm") return gemmLeaves(spec);
	if (spec.kind === "fma") return fmaLeaves(spec);
	if (spec.kind === "chase") return spec.intervals;
	// A state is committed by a tree over roots of many tensors: no single way up.
	if (spec.kind === "train") return null;
	const gemm = evidence.envelope.body.challenges[spec.of];
	if (gemm?.spec.kind !== "gemm") return null;
	const roots = decodeRoots(evidence.attachments[gemm.roots] ?? new Uint8Array(0));
	return roots.ok ? streamGroups(gemm.spec, roots.records.length, spec.newest) : null;
}

export function rootsOf(challenge: ChallengeRecord, { attachments }: Evidence): readonly string[] {
	const decoded = decodeRoots(attachments[challenge.roots] ?? new Uint8Array(0));
	return decoded.ok ? decoded.records.map(({ root }) => bytesToHex(root)) : [];
}

/**
 * The first opens of a challenge: its own leaves (or groups of digests); those below belong to the gemm that
 * is read.
 */
export function openingsOf(challenge: ChallengeRecord, { attachments }: Evidence): readonly OpeningRecord[] {
	const [first] = challenge.opens;
	const decoded = first === undefined ? null : decodeOpenings(attachments[first.attachment] ?? new Uint8Array(0));
	return decoded?.ok ? decoded.records : [];
}

export function drawPath(opening: OpeningRecord, leaves: number, root: string): DrawnPath | null {
	const { index, path } = opening;
	if (index >= leaves || path.length !== pathLength(index, leaves)) return null;
	const levels: PathLevel[] = [];
	let node = leafHash(opening.leaf);
	let at = index;
	let used = 0;
	for (let width = leaves; width > 1; width = Math.ceil(width / 2)) {
		const isPromoted = at === width - 1 && width % 2 === 1;
		const other = isPromoted ? null : path[used++]!;
		const side = at % 2 === 0 ? "right" : "left";
		levels.push({
			index: at,
			width,
			hash: bytesToHex(node),
			sibling: other === null ? null : { hash: bytesToHex(other), side },
		});
		if (other !== null) node = side === "right" ? nodeHash(node, other) : nodeHash(other, node);
		at = Math.floor(at / 2);
	}
	const top = bytesToHex(node);
	levels.push({ index: 0, width: 1, hash: top, sibling: null });
	return { levels, root, isEqual: top === root };
}
