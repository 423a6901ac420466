// A wrapped run as a file, docs/zk.md §13: the container of evidence files with the statements of its
// segments, the key's verifying part, the program and the proof. `openRunFile` believes nothing in it: the
// program is compiled again, and of the key all is checked that can be. Who knows a key's secrets can prove
// anything: whose key it is, is for whoever relies on it to know.

import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import { hex, int, list, object, oneOf, type Typed } from "../../../protocol/bytes/shape.ts";
import type { Code } from "../../../protocol/codes.ts";
import { attachmentShape, decodeContainer, encodeContainer, entriesOf } from "../../../protocol/probe/container.ts";
import { compilePlan, type ZkPlan } from "../../../work/plan/compile-plan.ts";
import { encodeProgram } from "../../../work/program/encode.ts";
import { openProgram } from "../../../work/program/open-program.ts";
import type { Program } from "../../../work/program/shapes.ts";
import { type SegmentStatement, statementShape } from "../statement.ts";
import { verifyWrapped } from "./verify-wrapped.ts";
import { isDevKey, KEY_WORDS, type KeyFault, wrapKeyFault, wrapKeyHash } from "./wrap-key.ts";

const RUN_FORMAT = "assay-zk-run";
/** Of one file; a key is for as many. */
export const MOST_SEGMENTS = 1024;

const shape = object({
	/** The program, then the proof. */
	attachments: list(attachmentShape, 2),
	body: object({
		format: oneOf(RUN_FORMAT),
		version: oneOf(2),
		chunkBits: int(2, 24),
		statements: list(statementShape, MOST_SEGMENTS),
		key: list(hex(32), KEY_WORDS),
	}),
});

export interface WrappedRun {
	readonly statements: readonly SegmentStatement[];
	/** verifyWrapped. */
	readonly proof: Uint8Array;
	readonly key: readonly string[];
}

export function encodeRunFile(program: Program, chunkBits: number, { statements, proof, key }: WrappedRun): Uint8Array {
	const attachments = [encodeProgram(program), proof];
	const body: Typed<typeof shape>["body"] = {
		...{ format: RUN_FORMAT, version: 2, chunkBits, statements: [...statements], key: [...key] },
	};
	return encodeContainer({ attachments: entriesOf(attachments), body }, attachments);
}

export type RunFileVerdict =
	| {
			readonly status: "valid";
			readonly plan: ZkPlan;
			readonly statements: readonly SegmentStatement[];
			/** The key's hash, 64 hex digits, as contracts name it. */
			readonly key: string;
			/** Over powers of a known τ, or by a key of known secrets: proves nothing to anybody. */
			readonly isDev: boolean;
	  }
	| { readonly status: "invalid"; readonly code: Code; readonly detail: string };

const invalid = (code: Code, detail: string) => ({ status: "invalid", code, detail }) as const;

const KEY_SAYS: Readonly<Record<KeyFault, string>> = {
	dev: "its key is one of secrets that everybody knows",
	ceremony: "alpha and beta of its key are those of no known ceremony",
	form: "its key has other numbers or points than keys have, or nobody has contributed to it",
};

export interface RunSettings {
	readonly isDevAllowed: boolean;
	/** The only key that is accepted: its hash, or its words. */
	readonly key?: string | readonly string[] | undefined;
}

/** Never throws for what a file says. */
export function openRunFile(file: Uint8Array, { isDevAllowed, key: wanted }: RunSettings): RunFileVerdict {
	const decoded = decodeContainer(file, shape);
	if (!decoded.ok) return invalid(decoded.code, `${decoded.where}: ${decoded.detail}`);
	const { envelope, attachments } = decoded.evidence;
	const [bytes, proof] = attachments;
	if (bytes === undefined || proof === undefined) return invalid("PROOF_FORM", "program or proof is missing");
	const opened = openProgram(bytes);
	if (!opened.ok) return invalid("PROOF_STATEMENT", "its program is none that may run");
	const { chunkBits, statements, key } = envelope.body;
	if (chunkBits % 2 !== 0) return invalid("PROOF_FORM", "chunks of an odd power of two");
	const plan = compilePlan(opened.value.program, chunkBits);
	if ("code" in plan) return invalid("PROOF_STATEMENT", plan.message);
	const fault = wrapKeyFault(key, { isDevAllowed });
	if (fault !== null) return invalid("KEY_UNKNOWN", KEY_SAYS[fault]);
	const hash = bytesToHex(wrapKeyHash(plan, statements.length, key));
	const own = typeof wanted === "string" ? hash : key.join();
	if (wanted !== undefined && wanted.toString() !== own) return invalid("KEY_UNKNOWN", `it is by key ${hash}`);
	const verdict = verifyWrapped(plan, statements, proof, { key, isDevAllowed });
	if (verdict.status === "invalid") return verdict;
	return { ...verdict, plan, statements, key: hash, isDev: statements[0]!.srs === "dev" || isDevKey(key) };
}
