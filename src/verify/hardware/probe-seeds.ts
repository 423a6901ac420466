// Every seed of a file, derived anew from its secret, beacon and roots: nothing in the file may choose one.
// Each chain is walked once, however many streams go over the same gemm: 2²⁰ rounds are a second of hashing.
// docs/hardware-proof.md §7.
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import { firstSeed, nextNonce, nextSeed, openSeed, seedChain } from "../../protocol/probe/challenge-seed.ts";
import { isOverKept } from "../../protocol/probe/challenge-shape.ts";
import type { EvidenceBody } from "../../protocol/probe/evidence.ts";
import type { Answered } from "./answers.ts";

/** What the content of an answer follows from, by its index. */
export interface Seeds {
	/** The seed or nonce of each round or pass that has a root. */
	chain(challenge: number): readonly Uint8Array[];
	/** What the places of this challenge are drawn from; it must have a root. */
	open(challenge: number): Uint8Array;
}

export interface ProbeSeeds extends Seeds {
	first(challenge: number): Uint8Array;
}

export function probeSeeds(
	{ secret: hex, beacon, countersign }: Pick<EvidenceBody, "secret" | "beacon" | "countersign">,
	answers: readonly Answered[],
): ProbeSeeds {
	const secret = hexToBytes(hex, 32)!;
	const chains = new Map<number, readonly Uint8Array[]>();
	const rootsOf = (challenge: number) => answers[challenge]!.roots.map(({ root }) => root);
	const first = (challenge: number) => {
		const { spec, attempt } = answers[challenge]!.record;
		return firstSeed(secret, challenge, beacon, spec, attempt);
	};
	return {
		first,
		chain(challenge) {
			const known = chains.get(challenge);
			if (known !== undefined) return known;
			const next = isOverKept(answers[challenge]!.record.spec) ? nextNonce : nextSeed;
			const made = seedChain(first(challenge), rootsOf(challenge), next);
			chains.set(challenge, made);
			return made;
		},
		open(challenge) {
			const { record, roots } = answers[challenge]!;
			const nonce = countersign?.stages[record.stage]?.nonce;
			return openSeed(secret, challenge, roots.at(-1)!.root, nonce === undefined ? null : hexToBytes(nonce, 32)!);
		},
	};
}
