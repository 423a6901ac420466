// Whether an auditor that says what the claim says has run its window, docs/jobs.md §9: its list of states
// may be a copy, since whatever is asked on chain about a claim is answered there for everybody to read. So
// it is asked over its link for 1,024 bytes of what an op gave in the last segment of its window, at a place
// that is drawn now: nobody else knows which, and the chain is never asked for all of them. They count if
// they lead to the trace that the claimant has of that segment.
//
// ATTACK: who ran nothing runs its window now, as far as the place: that is all of it, since the place lies
// in its last segment, and what the step writes there follows from all before. Or it asks the claimant for
// the place on chain: everybody sees that.
import { AssayError } from "../../../protocol/assay-error.ts";
import { equalBytes, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { decodeChainQuestion } from "../../../protocol/network/chain-question.ts";
import { type OpPlace, phaseOf, stepsOf } from "../../../verify/optimistic/answers.ts";
import { bytesOf, elementCount } from "../../../work/operators/tensor-type.ts";
import type { Program } from "../../../work/program/shapes.ts";
import { leafCount } from "../../../work/trace/tensor-tree.ts";
import { TwoWords } from "./ask-party.ts";
import type { AuditAtHand } from "./auditor-of.ts";
import { auditorOf } from "./auditor-of.ts";
import { type ClaimAtHand, type EvidenceMeans, jobAtHand } from "./claim-at-hand.ts";
import { claimantOf } from "./rerun.ts";

export type Confirmed =
	| { readonly kind: "ran" }
	/** The auditor does not show it, as far as anybody can tell. */
	| { readonly kind: "unshown"; readonly why: string }
	/** The claimant has another trace of this segment of the part (`isSilent`: it tells none). */
	| { readonly kind: "differs"; readonly segment: number; readonly isSilent: boolean; readonly why: string };

export interface ConfirmMeans extends EvidenceMeans {
	/** A number from 0 to `most` − 1 that nobody can foresee. */
	readonly drawBelow: (most: number) => number;
}

/** What was asked on chain about the claim until now. */
export type AskedOnChain = () => Promise<readonly Hex[]>;

const nameOf = ({ segment, step, op }: OpPlace): string => `${segment} ${step} ${op}`;

/** The ops whose inside the chain was asked for. */
function opened(questions: readonly Hex[]): ReadonlySet<string> {
	return new Set(
		questions.flatMap((question) => {
			const asked = decodeChainQuestion(hexToBytes(question.slice(2)) ?? new Uint8Array());
			if (asked === null || !("op" in asked) || (asked.kind === "nodes" && asked.tree !== "output")) return [];
			return [nameOf(asked)];
		}),
	);
}

/** Draws before an earlier segment is looked at: on average that few of a place that most are opened of. */
const MAX_DRAWS = 64;

/** In the last segment of the window that has an op which the chain was not asked about. */
function drawPlace(
	program: Program,
	{ first, count }: { readonly first: number; readonly count: number },
	known: ReadonlySet<string>,
	drawBelow: ConfirmMeans["drawBelow"],
): OpPlace | null {
	for (let segment = first + count - 1; segment >= first; segment--) {
		const ops = [...program[phaseOf(segment)].entries()];
		const writing = ops.filter(([, { target }]) => target !== null && program.tensors[target]!.kind === "state");
		const from = writing.length > 0 ? writing : ops;
		for (let left = from.length === 0 ? 0 : MAX_DRAWS; left > 0; left--) {
			const [op] = from[drawBelow(from.length)]!;
			const place = { segment, step: drawBelow(stepsOf(program, segment)), op };
			if (!known.has(nameOf(place))) return place;
		}
	}
	return null;
}

const isNoAnswer = (error: unknown): error is AssayError => error instanceof AssayError && error.code === "NO_ANSWER";

/** Throws what is nobody's fault: ask again. */
export async function confirmAudit(
	means: ConfirmMeans,
	at: ClaimAtHand,
	audit: AuditAtHand,
	askedOnChain: AskedOnChain,
): Promise<Confirmed> {
	const job = await jobAtHand(means, at);
	const { program } = job;
	const auditor = auditorOf(means, at, audit, job);
	const window = { first: at.claim.first + audit.first, count: audit.count };
	const place = drawPlace(program, window, opened(await askedOnChain()), means.drawBelow);
	// The validator itself copies from nobody; where nothing is run there is nothing to copy.
	if (auditor === null || (place === null && isEmpty(program, window))) return { kind: "ran" };
	if (place === null) return { kind: "unshown", why: "the chain was asked about every op of its window" };
	const { segment } = place;
	const { type, dims } = program[phaseOf(segment)][place.op]!.output;
	try {
		const leaf = means.drawBelow(leafCount(elementCount(dims) * bytesOf(type)));
		await auditor.leaf(place, "output", leaf);
	} catch (error) {
		if (!isNoAnswer(error)) throw error;
		return { kind: "unshown", why: error.message };
	}
	if (opened(await askedOnChain()).has(nameOf(place)))
		return { kind: "unshown", why: "what it was asked was asked on chain meanwhile" };
	const inside = segment - at.claim.first;
	try {
		// Only now: whoever hears of the segment before could ask the chain for its auditor.
		const trace = await claimantOf(means, at, job).traceRoot(segment);
		if (equalBytes(trace, await auditor.traceRoot(segment))) return { kind: "ran" };
		return { kind: "differs", segment: inside, isSilent: false, why: `their traces of segment ${segment} differ` };
	} catch (error) {
		const told = { kind: "differs", segment: inside } as const;
		// The referee hears them again, and convicts it by them.
		if (error instanceof TwoWords) return { ...told, isSilent: false, why: error.message };
		if (!isNoAnswer(error)) throw error;
		return { ...told, isSilent: true, why: error.message };
	}
}

function isEmpty(program: Program, { first, count }: { readonly first: number; readonly count: number }): boolean {
	return Array.from({ length: count }, (_, i) => program[phaseOf(first + i)]).every((ops) => ops.length === 0);
}
