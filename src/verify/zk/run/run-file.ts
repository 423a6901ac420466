// A wrapped run as a file, docs/zk.md §13: the container of evidence files with the statements of its
// segments, the key's verifying part, the program and the proof. `openRunFile` believes nothing in it: the
// program is compiled again, and of the key all is checked that can be. Whoever knows a key's secrets can
// prove anything, so a run is valid only for a reader who names the key.

import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import { hex, int, list, object, oneOf, type Typed } from "../../../protocol/bytes/shape.ts";
import { attachmentShape, decodeContainer, encodeContainer, entriesOf } from "../../../protocol/probe/container.ts";
import { compilePlan, planHash, type ZkPlan } from "../../../work/plan/compile-plan.ts";
import { encodeProgram } from "../../../work/program/encode.ts";
import { openProgram } from "../../../work/program/open-program.ts";
import type { Program } from "../../../work/program/shapes.ts";
import { inconclusive, invalid, type Refused } from "../refused.ts";
import { DEV_ID, powersName } from "../srs.ts";
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

/** Which segments a file is about, and by which key. */
export interface RunSaid {
	readonly plan: ZkPlan;
	readonly statements: readonly SegmentStatement[];
	/** The key's hash, 64 hex digits, as contracts name it. */
	readonly key: string;
	/** Over test parameters, powers or key: proves nothing to anybody. */
	readonly isDev: boolean;
	/** Powers in words. */
	readonly powers: string;
}

export type RunFileVerdict =
	| (RunSaid & { readonly status: "valid" })
	| (Refused & {
			/** Of KEY_UNNAMED: what would be proven if nobody knew the secrets of the key. */
			readonly unproven?: RunSaid;
	  });

const KEY_SAYS: Readonly<Record<KeyFault, Refused>> = {
	dev: inconclusive("SRS_DEV", "its key is of test parameters (not secure): everybody knows its secrets"),
	ceremony: inconclusive("KEY_UNKNOWN", "alpha and beta of its key are those of no known ceremony"),
	form: invalid(
		"PROOF_FORM",
		"its key has other numbers or points than keys have, or nobody has contributed to it: anybody can prove anything with it",
	),
};

export interface RunSettings {
	readonly isDevAllowed: boolean;
	/** Hash of the key that the reader trusts (wrapKeyHash). Without it no run is ever valid. */
	readonly key?: string | undefined;
}

/** Never throws for what a file says. */
export function openRunFile(file: Uint8Array, { isDevAllowed, key: named }: RunSettings): RunFileVerdict {
	const decoded = decodeContainer(file, shape);
	if (!decoded.ok) return invalid(decoded.code, `${decoded.where}: ${decoded.detail}`);
	const { envelope, attachments } = decoded.evidence;
	const [bytes, proof] = attachments;
	if (bytes === undefined || proof === undefined) return invalid("PROOF_FORM", "program or proof is missing");
	const opened = openProgram(bytes);
	if (!opened.ok) return invalid("PROOF_STATEMENT", "its program is none that may run");
	const { chunkBits, statements, key: words } = envelope.body;
	if (chunkBits % 2 !== 0) return invalid("PROOF_FORM", "chunks of an odd power of two");
	const plan = compilePlan(opened.value.program, chunkBits);
	if ("code" in plan) return invalid("PROOF_STATEMENT", plan.message);
	const fault = wrapKeyFault(words, { isDevAllowed });
	if (fault !== null) return KEY_SAYS[fault];
	const key = wrapKeyHash({ plan: bytesToHex(planHash(plan)), segments: statements.length, words });
	if (named !== undefined && named !== key)
		return invalid("KEY_OTHER", `the key of this plan and number of segments has the hash ${key}, not ${named}`);
	const verdict = verifyWrapped(plan, statements, proof, { key: words, isDevAllowed });
	if (verdict.status !== "valid") return verdict;
	const { srs } = statements[0]!;
	const isDev = srs === DEV_ID || isDevKey(words);
	const said: RunSaid = { plan, statements, key, isDev, powers: powersName(srs) };
	// ATTACK: a forger makes a key of a known ceremony's alpha and beta and a delta of its own, and leaves it
	// in the file. Nothing in the file tells such a key from one of an honest ceremony.
	if (named === undefined) {
		const detail = `nobody has named the key ${key}, and the file cannot speak for its own key`;
		return { ...inconclusive("KEY_UNNAMED", detail), unproven: said };
	}
	return { status: "valid", ...said };
}
