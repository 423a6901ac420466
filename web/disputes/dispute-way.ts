// How far a dispute has come, from what was asked so far: by relay, on the chain, or both. Pure. A question
// names a place; each narrower one narrows the way.
import { hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import { type ChainQuestion, decodeChainQuestion } from "../../src/protocol/network/chain-question.ts";
import { type JobQuestion, readQuestion } from "../../src/protocol/network/job-question.ts";
import type { WayStop } from "../../src/verify/optimistic/fraud/explain-fraud.ts";

/** Any question, told in one way: its kind and the places that it names. */
export interface AskedPlace {
	readonly kind: string;
	readonly segment: number | null;
	readonly step: number | null;
	readonly op: number | null;
	/** Of the op's output. */
	readonly leaf: number | null;
	readonly leaves: number | null;
	readonly element: number | null;
	/** In words: which nodes, which tensor. */
	readonly more: string;
}

const NOWHERE = { segment: null, step: null, op: null, leaf: null, leaves: null, element: null, more: "" };

function ofJobQuestion(one: JobQuestion): AskedPlace {
	const { kind, segment } = one;
	const at = { ...NOWHERE, kind, segment };
	if (kind === "nodes") return { ...at, more: `level ${one.level}, node ${one.index}` };
	if (kind === "writer") return { ...at, more: `tensor ${one.tensor}` };
	if (!("op" in one)) return at;
	const placed = { ...at, step: one.step, op: one.op };
	if (kind === "tree") return { ...placed, more: `level ${one.level}, node ${one.index}` };
	if (kind === "leaf") {
		if (one.of !== null) return { ...placed, more: `operand ${one.of}, leaf ${one.leaf}` };
		return { ...placed, leaf: one.leaf };
	}
	if (kind === "transcript")
		return { ...placed, element: one.element, more: one.path.length === 0 ? "" : `turns ${one.path.join(".")}` };
	return placed;
}

function ofChainQuestion(one: ChainQuestion): AskedPlace {
	const at = { ...NOWHERE, kind: one.kind as string };
	switch (one.kind) {
		case "trace":
			return { ...at, segment: one.segment, more: `${one.count} leaves` };
		case "writer":
			return { ...at, more: `tensor ${one.tensor}` };
		case "roots":
			return { ...at, segment: one.segment };
		case "nodes": {
			const more = `${one.tree}: height ${one.height}, node ${one.index}`;
			if (one.tree === "segments") return { ...at, more };
			if (one.tree === "trace") return { ...at, segment: one.segment, more };
			return { ...at, segment: one.segment, step: one.step, op: one.op, more, leaves: one.count };
		}
		case "op":
			return { ...at, segment: one.segment, step: one.step, op: one.op, leaves: one.leaves };
		case "leaf":
			return { ...at, segment: one.segment, step: one.step, op: one.op, leaf: one.index, leaves: one.count };
		case "transcript":
			return {
				...{ ...at, segment: one.segment, step: one.step, op: one.op, element: one.element },
				more: one.turns.length === 0 ? "" : `turns ${one.turns.join(".")}`,
			};
	}
}

/** Null: no question at all. Whoever asks on the chain may send any bytes. */
export function relayedPlace(text: string): AskedPlace | null {
	try {
		return ofJobQuestion(readQuestion(text));
	} catch {
		return null;
	}
}

export function chainPlace(hex: string): AskedPlace | null {
	try {
		const bytes = hexToBytes(hex.slice(2));
		const question = bytes === null ? null : decodeChainQuestion(bytes);
		return question === null ? null : ofChainQuestion(question);
	} catch {
		return null;
	}
}

/**
 * The way so far: the last segment asked about, and below it what was asked last. Steps and ops count
 * together in one tree, so they come at once.
 */
export function wayOf(asked: readonly AskedPlace[]): WayStop[] {
	const last = asked.findLast(({ segment }) => segment !== null);
	if (last === undefined) return [];
	const within = asked.filter(({ segment }) => segment === last.segment);
	const placed = within.findLast(({ op }) => op !== null);
	const here = placed === undefined ? [] : within.filter(({ step, op }) => step === placed.step && op === placed.op);
	const leaf = here.findLast((one) => one.leaf !== null);
	const element = here.findLast((one) => one.element !== null);
	const stop = (name: WayStop["name"], at: number | null | undefined, of: number | null = null): WayStop[] =>
		at === null || at === undefined ? [] : [{ name, at, of, first: 0, what: "" }];
	return [
		...stop("segment", last.segment),
		...stop("step", placed?.step),
		...stop("operator", placed?.op),
		...stop("leaf", leaf?.leaf, here.findLast(({ leaves }) => leaves !== null)?.leaves ?? null),
		...stop("element", element?.element),
	];
}

/** "trace of segment 4" */
export function placeText({ kind, segment, step, op, leaf, element, more }: AskedPlace): string {
	const of = [
		...(element === null ? [] : [`element ${element}`]),
		...(leaf === null ? [] : [`leaf ${leaf}`]),
		...(op === null ? [] : [`step ${step}, op ${op}`]),
		...(segment === null ? [] : [`segment ${segment}`]),
	].join(" of ");
	return [KINDS[kind] ?? kind, of === "" ? "" : `of ${of}`, more === "" ? "" : `(${more})`]
		.filter((part) => part !== "")
		.join(" ");
}

const KINDS: Readonly<Record<string, string>> = {
	trace: "root of the trace",
	nodes: "nodes of the trace",
	op: "inputs and output",
	tree: "nodes of the output",
	leaf: "bytes",
	transcript: "transcript",
	writer: "who writes it",
	roots: "roots of the state",
	state: "the state",
};
