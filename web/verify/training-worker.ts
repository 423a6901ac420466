// The verdict on a proof of training in a thread of its own: the same check as the CLI's. Powers of a known τ
// are refused. Bytes that the proof is about are compared by `assay verify`, not here.
import type { Code } from "../../src/protocol/codes.ts";
import { openProofFile } from "../../src/verify/zk/proof-file.ts";
import type { SegmentStatement } from "../../src/verify/zk/statement.ts";

export interface TrainingQuestion {
	readonly bytes: Uint8Array;
}

type TrainingVerdict =
	| { readonly status: "valid"; readonly statement: SegmentStatement; readonly sizes: readonly number[] }
	| { readonly status: "invalid"; readonly code: Code; readonly detail: string };

export interface TrainingWord {
	readonly verdict: TrainingVerdict;
	readonly tookMs: number;
}

interface Scope {
	postMessage(word: TrainingWord): void;
	onmessage: ((event: MessageEvent<TrainingQuestion>) => void) | null;
}
const scope = globalThis as unknown as Scope;

function verdictOf(bytes: Uint8Array): TrainingVerdict {
	const found = openProofFile(bytes, { isDevAllowed: false });
	if (found.status === "invalid") return found;
	const { links } = found.plan;
	return {
		status: "valid",
		statement: found.statement,
		sizes: [links[0]!.inputs, ...links.map(({ outputs }) => outputs)],
	};
}

scope.onmessage = ({ data: { bytes } }) => {
	const started = performance.now();
	const verdict = verdictOf(bytes);
	scope.postMessage({ verdict, tookMs: Math.round(performance.now() - started) });
};
