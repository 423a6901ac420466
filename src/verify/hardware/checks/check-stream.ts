// A stream's answer, and a copy's, which is that of one pass: opened digests, the kept leaf beneath each,
// opened against the gemm's own root, and the digest and two elements recomputed. A digest is worth nothing
// without the leaf: it must be that of the bytes that were computed. §5, §7.
import { equalBytes } from "../../../protocol/bytes/bytes.ts";
import { mixKeys, mixLeaf } from "../../../protocol/hash/mix.ts";
import type { RowScratch } from "../../../protocol/maths/gemm-element.ts";
import { DIGEST_BYTES, gemmLeaves, keptLeafPlace, streamGroups } from "../../../protocol/probe/challenge-shape.ts";
import type { CopySpec, GemmSpec, StreamSpec } from "../../../protocol/probe/evidence.ts";
import { streamSamples } from "../../../protocol/probe/samples.ts";
import type { Committed, Opened } from "../answers.ts";
import { type Fault, fault } from "../fault.ts";
import type { Seeds } from "../probe-seeds.ts";
import { checkElements, type OnRight } from "./check-gemm.ts";
import { checkOpenings } from "./check-openings.ts";

export interface StreamedGemm {
	readonly answer: Committed;
	readonly spec: GemmSpec;
}

export function checkStream(
	answer: Committed,
	spec: StreamSpec | CopySpec,
	gemm: StreamedGemm,
	seeds: Seeds,
	scratch: RowScratch,
	onRight: OnRight = () => {},
): Fault | null {
	const roots = answer.roots.map(({ root }) => root);
	const gemmRoots = gemm.answer.roots.map(({ root }) => root);
	const groups = streamGroups(gemm.spec, gemmRoots.length, spec.newest);
	const samples = streamSamples(seeds.open(answer.index), roots.length, groups, spec.samples);
	const [digests, leaves] = answer.opens as [Opened, Opened];

	const groupPlaces = samples.map(({ pass, group }) => ({ round: pass, index: group }));
	const leafPlaces = samples.map(({ keptLeaf }) => {
		const { round, leaf } = keptLeafPlace(gemm.spec, gemmRoots.length, spec.newest, keptLeaf);
		return { round, index: leaf };
	});
	const found =
		checkOpenings(digests, groupPlaces, roots, groups) ??
		checkOpenings(leaves, leafPlaces, gemmRoots, gemmLeaves(gemm.spec));
	if (found !== null) return found;

	const nonces = seeds.chain(answer.index);
	for (const [i, { pass, digest, keptLeaf }] of samples.entries()) {
		const expected = mixLeaf(mixKeys(nonces[pass]!), leaves.openings[i]!.leaf, keptLeaf);
		const opened = digests.openings[i]!.leaf.subarray(digest * DIGEST_BYTES, (digest + 1) * DIGEST_BYTES);
		if (!equalBytes(expected, opened))
			return fault("DIGEST_WRONG", `${digests.where}.record[${i}]`, `kept leaf ${keptLeaf} in pass ${pass}`);
	}
	const columns = samples.map((sample) => sample.columns);
	return checkElements(leaves, gemm.spec, seeds.chain(gemm.answer.index), columns, scratch, onRight);
}
