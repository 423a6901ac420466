// The tamper list of a roll call's file: every field, a change to it, and what must catch it with a node
// (`code`). Nobody signs the whole file, so each change is simply written. `alone`: what catches it without a
// node, where that is not the same.
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { createSigner } from "../../protocol/probe/signer.ts";
import { COMMITTED, DRAWN, label, NO_CALL } from "./toy-roll-call.test-kit.ts";

// biome-ignore lint/suspicious/noExplicitAny: the list writes into what is read-only to everybody else
type Loose = any;

export interface RollTamper {
	readonly field: string;
	readonly change: (envelope: Loose) => void;
	readonly code: string;
	/** "valid": only the chain knows. */
	readonly alone: string;
}

const at = (path: string, value: unknown, code: string, alone = code): RollTamper => ({
	field: path.replace(/\.\d+/g, "[]"),
	change: (envelope) => {
		const keys = path.split(".");
		const last = keys.pop()!;
		let target = envelope;
		for (const key of keys) target = target[key];
		target[last] = typeof value === "function" ? value(target[last]) : value;
	},
	code,
	alone,
});
const plus = (n: number) => (value: number) => value + n;
const OTHER = label("another hash");
const SIGNED = "CALL_HOST_SIGNATURE";
const BLOCK = "CALL_BLOCK_OTHER";
const LEAF = "CALL_DEVICE_OTHER";

export const ROLL_TAMPER_LIST: readonly RollTamper[] = [
	at("attachments.1.bytes", plus(-1), "FILE_SURPLUS"),
	at("attachments.1.bytes", plus(1), "FILE_TRUNCATED"),
	at("attachments.1.sha256", OTHER, "ATTACHMENT_HASH"),
	at("body.format", "assay-evidence", "NOT_PUBLIC"),
	at("body.format", "assay-roll", "ENVELOPE_SHAPE"),
	at("body.version", 2, "FILE_VERSION"),
	at("body.chain.id", 1, "CALL_CHAIN_OTHER", SIGNED),
	at("body.chain.contract", `0x${"66".repeat(20)}`, "CALL_CHAIN_OTHER", SIGNED),
	at("body.call", plus(1), BLOCK),
	at("body.beacon.kind", "drand", "ENVELOPE_SHAPE"),
	at("body.beacon.called.number", plus(-1), BLOCK),
	at("body.beacon.called.hash", OTHER, BLOCK, LEAF),
	at("body.beacon.called.atS", plus(-1), BLOCK, "valid"),
	at("body.beacon.called.atS", plus(60), "CALL_TIMES"),
	at("body.beacon.drawn.number", plus(1), BLOCK, "valid"),
	at("body.beacon.drawn.number", COMMITTED.number, "CALL_COMMITTED_LATE"),
	at("body.beacon.drawn.hash", OTHER, BLOCK, "OPENING_PLACE"),
	at("body.beacon.drawn.atS", plus(1), BLOCK, "valid"),
	at("body.committed.number", plus(1), BLOCK, "valid"),
	at("body.committed.number", NO_CALL.number, "CALL_TIMES"),
	at("body.committed.number", DRAWN.number, "CALL_COMMITTED_LATE"),
	at("body.committed.hash", OTHER, BLOCK, "valid"),
	at("body.committed.atS", plus(-1), BLOCK, "valid"),
	at("body.committed.atS", 0, "CALL_TIMES"),
	at("body.validator", `0x${"77".repeat(20)}`, "CALL_UNCOMMITTED", "valid"),
	at("body.validator", `0x${"55".repeat(20)}`, "CALL_UNCOMMITTED", "valid"),
	at("body.tree.index", 0, "CALL_LEAF_ABSENT"),
	at("body.tree.index", 99, "CALL_LEAF_ABSENT"),
	at("body.tree.count", plus(1), "CALL_UNCOMMITTED", "CALL_LEAF_ABSENT"),
	at("body.tree.root", OTHER, "CALL_UNCOMMITTED", "CALL_LEAF_ABSENT"),
	at("body.tree.path.0", OTHER, "CALL_LEAF_ABSENT"),
	at("body.host.key", createSigner(new Uint8Array(32).fill(99)).key, LEAF),
	at("body.host.account", `0x${"88".repeat(20)}`, LEAF),
	at("body.host.signature", "00".repeat(64), SIGNED),
	at("body.host.leaves.0", OTHER, LEAF),
	at("body.host.leaves.1", OTHER, SIGNED),
	at("body.answer.device", 1, LEAF),
	at("body.answer.m", 256, LEAF),
	at("body.answer.m", 100, "SPEC_LIMITS"),
	at("body.answer.n", 1024, LEAF),
	at("body.answer.n", 0, "SPEC_LIMITS"),
	at("body.answer.k", 256, LEAF),
	at("body.answer.k", 2 ** 17, "SPEC_LIMITS"),
	at("body.answer.rounds", 4, "ROOTS_MISSING"),
	at("body.answer.rounds", 1025, "SPEC_LIMITS"),
	at("body.answer.rounds", 0, "SPEC_LIMITS"),
	at("body.answer.keep", 2, LEAF),
	at("body.answer.keep", 4, "SPEC_LIMITS"),
	at("body.answer.last", bytesToHex(new Uint8Array(32)), LEAF),
];
