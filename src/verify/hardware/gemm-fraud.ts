// Wrong elements of an evidence file in the form in which the chain takes them (docs/slashing.md): a leaf,
// its path, its round's path, one column. Pure, for anyone who holds a file. Only what the file
// itself shows is used; whether its provider is bound by it is for the receipt to say. Not here: the verdict.
import { equalBytes, readU16 } from "../../protocol/bytes/bytes.ts";
import { type Hex, toHex } from "../../protocol/chain/hex.ts";
import { factsOfGemm, type ReceiptFacts, roundTree } from "../../protocol/chain/probe-receipt.ts";
import { leafHash, rootFromPath } from "../../protocol/hash/merkle.ts";
import { createRowScratch, gemmElements, type RowScratch } from "../../protocol/maths/gemm-element.ts";
import {
	gemmLeafPlace,
	gemmLeaves,
	keptLeafPlace,
	LEAF_BYTES,
	streamGroups,
} from "../../protocol/probe/challenge-shape.ts";
import type { GemmSpec } from "../../protocol/probe/evidence.ts";
import { decodeEvidence } from "../../protocol/probe/evidence-codec.ts";
import type { OpeningRecord } from "../../protocol/probe/records.ts";
import { gemmSamples, streamSamples } from "../../protocol/probe/samples.ts";
import { type Answered, isCommitted, readAnswers } from "./answers.ts";
import { checkSpecs } from "./checks/check-specs.ts";
import { checkWork } from "./checks/check-work.ts";
import { type ProbeSeeds, probeSeeds } from "./probe-seeds.ts";

/** As the contract's proveGemm wants it. */
interface GemmFraud {
	readonly round: number;
	readonly seed: Hex;
	readonly root: Hex;
	readonly roundPath: readonly Hex[];
	readonly leaf: number;
	readonly column: number;
	readonly leafBytes: Hex;
	readonly path: readonly Hex[];
}

export interface WrongElement {
	/** What a receipt for this challenge must say. */
	readonly facts: ReceiptFacts;
	readonly committed: number;
	readonly right: number;
	readonly fraud: GemmFraud;
}

interface OpenedLeaf extends OpeningRecord {
	readonly columns: readonly number[];
}

/** One gemm challenge of a file, not yet looked at. */
export interface GemmToCheck {
	readonly challenge: number;
	/**
	 * Of its first wrong round that was opened; null when nothing that was drawn is wrong. Costs what a verdict
	 * spends on this challenge.
	 */
	find(): WrongElement | null;
}

/**
 * Committed gemms in the file's order, each to be looked at by itself: a caller with other things to do may
 * do them in between. A file that cannot be read has none.
 */
export function* gemmsToCheck(file: Uint8Array): Generator<GemmToCheck, void> {
	const decoded = decodeEvidence(file);
	if (!decoded.ok) return;
	const { envelope, attachments } = decoded.evidence;
	const { body } = envelope;
	// Bounds the work below as it bounds a verdict's.
	if (checkSpecs(body) !== null) return;
	const read = readAnswers(body, attachments);
	if (!read.ok || checkWork(read.answers) !== null) return;
	const seeds = probeSeeds(body, read.answers);
	const scratch = createRowScratch();
	for (const answer of read.answers) {
		const { spec } = answer.record;
		if (spec.kind !== "gemm" || !isCommitted(answer) || !areInOrder(answer)) continue;
		const find = () => wrongOf(answer, spec, seeds, openedOf(answer, spec, read.answers, seeds), scratch);
		yield { challenge: answer.index, find };
	}
}

const areInOrder = ({ roots }: Answered) => roots.length > 0 && roots.every(({ index }, i) => index === i);

/**
 * Leaves opened of this gemm, by itself and by streams and copies over it, with the columns that were drawn
 * for each. Places that were not drawn are passed over.
 */
function openedOf(gemm: Answered, spec: GemmSpec, answers: readonly Answered[], seeds: ProbeSeeds): OpenedLeaf[] {
	const rounds = gemm.roots.length;
	return answers.flatMap((answer) => {
		const { spec: asked } = answer.record;
		const open = answer.opens.find(({ record }) => record.what === "leaves");
		if (answer.roots.length === 0 || open === undefined || !isCommitted(answer)) return [];
		const seed = seeds.open(answer.index);
		let drawn: readonly { round: number; leaf: number; columns: readonly number[] }[];
		if (answer === gemm) drawn = gemmSamples(seed, rounds, gemmLeaves(spec), spec.samples);
		else if ((asked.kind === "stream" || asked.kind === "copy") && asked.of === gemm.index) {
			const groups = streamGroups(spec, rounds, asked.newest);
			drawn = streamSamples(seed, answer.roots.length, groups, asked.samples).map(({ keptLeaf, columns }) => ({
				...keptLeafPlace(spec, rounds, asked.newest, keptLeaf),
				columns,
			}));
		} else return [];
		return open.openings.flatMap((opening, i) => {
			const due = drawn[i];
			return due?.round === opening.round && due.leaf === opening.index ? { ...opening, columns: due.columns } : [];
		});
	});
}

function wrongOf(
	{ index: challenge, roots: records }: Answered,
	spec: GemmSpec,
	probe: ProbeSeeds,
	opened: readonly OpenedLeaf[],
	scratch: RowScratch,
): WrongElement | null {
	const roots = records.map(({ root }) => root);
	const seeds = probe.chain(challenge);
	for (const { round, index, leaf, path, columns } of opened) {
		const seed = seeds[round];
		if (seed === undefined || leaf.length !== LEAF_BYTES) continue;
		const root = rootFromPath(leafHash(leaf), index, gemmLeaves(spec), path);
		// A leaf that the provider did not commit to says nothing about it.
		if (root === null || !equalBytes(root, roots[round]!)) continue;
		const { row, column } = gemmLeafPlace(spec, index);
		const places = columns.map((inLeaf) => column + inLeaf);
		const right = gemmElements(spec.precision, seed, spec.k, row, places, scratch);
		const at = columns.findIndex((inLeaf, i) => readU16(leaf, 2 * inLeaf) !== right[i]);
		if (at < 0) continue;
		const fraud = {
			round,
			seed: toHex(seed),
			root: toHex(root),
			roundPath: roundTree(probe.first(challenge), roots).path(round).map(toHex),
			leaf: index,
			column: columns[at]!,
			leafBytes: toHex(leaf),
			path: path.map(toHex),
		};
		const facts = factsOfGemm(challenge, spec, probe.first(challenge), roots);
		return { facts, committed: readU16(leaf, 2 * columns[at]!), right: right[at]!, fraud };
	}
	return null;
}
