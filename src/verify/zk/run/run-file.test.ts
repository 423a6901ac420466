// A wrapped run as a file: what it proves and by which key, and what is refused. tests/zk/wrapped-mlp.proof
// is of samples/mlp-proof.json, segments 1 and 2, over Ignition's powers and a key of known secrets (assay
// job prove --wrap dev).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { DEV_CEREMONY, HERMEZ_CEREMONY } from "../../../protocol/maths/hermez.ts";
import { decodeContainer, encodeContainer, entriesOf } from "../../../protocol/probe/container.ts";
import { snarkjsKeyOf, toSnarkjsKey } from "../key/snarkjs-form.ts";
import { openRunFile, type RunFileVerdict } from "./run-file.ts";
import { wrapKeyFault } from "./wrap-key.ts";

const FILE = new Uint8Array(
	readFileSync(fileURLToPath(new URL("../../../../tests/zk/wrapped-mlp.proof", import.meta.url))),
);
interface Envelope {
	readonly attachments: unknown;
	readonly body: {
		readonly key: readonly string[];
		readonly statements: readonly object[];
		readonly chunkBits: number;
	};
}
const decoded = decodeContainer(FILE, () => null);
assert.ok(decoded.ok);
const { envelope, attachments } = decoded.evidence as unknown as {
	readonly envelope: Envelope;
	readonly attachments: readonly Uint8Array[];
};
const KEY = envelope.body.key;

/** The file with another body or other attachments. */
const changed = (body: object, others: readonly Uint8Array[] = attachments): Uint8Array =>
	encodeContainer({ attachments: entriesOf(others), body: { ...envelope.body, ...body } } as never, others);
const said = (verdict: RunFileVerdict) => (verdict.status === "valid" ? "valid" : `${verdict.code} ${verdict.detail}`);
const open = (file: Uint8Array, key?: string | readonly string[]) => openRunFile(file, { isDevAllowed: true, key });

test("the file of a wrapped run says which segments it proves, and by which key", () => {
	const verdict = open(FILE);
	assert.equal(verdict.status, "valid");
	if (verdict.status !== "valid") return;
	assert.deepEqual(
		verdict.statements.map(({ firstStep }) => firstStep),
		[0, 4],
	);
	assert.ok(verdict.isDev);
	assert.match(verdict.key, /^[0-9a-f]{64}$/);
	const exported = snarkjsKeyOf(JSON.stringify(toSnarkjsKey(KEY)))!;
	assert.deepEqual(exported, KEY);
	const other = verdict.key.replace(/^./, (digit) => (digit === "0" ? "1" : "0"));
	assert.equal(said(open(FILE, other)).split(" ")[0], "KEY_UNKNOWN");
	assert.match(said(open(FILE, exported.with(21, exported[19]!))), /^KEY_UNKNOWN it is by key/);
	for (const none of ["", "{}", JSON.stringify({ ...toSnarkjsKey(KEY), IC: [["1", "-2", "1"]] })])
		assert.equal(snarkjsKeyOf(none), null);
});

test("a file with another key, other statements or another proof is refused", () => {
	assert.match(said(openRunFile(FILE, { isDevAllowed: false })), /^KEY_UNKNOWN its key is one of secrets/);
	assert.match(said(open(changed({ key: [...HERMEZ_CEREMONY, ...KEY.slice(6)] }))), /^PROOF_CLAIMS/);
	assert.match(said(open(changed({ statements: envelope.body.statements.toReversed() }))), /^PROOF_CHAIN/);
	assert.match(said(open(changed({ statements: envelope.body.statements.slice(1) }))), /^PROOF_FORM/);
	assert.match(said(open(changed({ statements: [] }))), /^PROOF_STATEMENT/);
	assert.match(said(open(changed({ chunkBits: 8 }))), /^PROOF_STATEMENT/);
	assert.match(said(open(changed({ chunkBits: 9 }))), /^PROOF_FORM/);
	assert.match(said(open(changed({}, [attachments[0]!, attachments[1]!.subarray(1)]))), /^PROOF_FORM/);
	assert.match(said(open(changed({}, [attachments[1]!, attachments[1]!]))), /^PROOF_STATEMENT/);
});

test("of a key all is checked that can be", () => {
	const fault = (words: readonly string[], isDevAllowed = true) => wrapKeyFault(words, { isDevAllowed });
	const word = (value: number) => value.toString(16).padStart(64, "0");
	assert.equal(fault(KEY), null);
	assert.equal(fault(KEY, false), "dev");
	assert.equal(fault([...HERMEZ_CEREMONY, ...KEY.slice(6)], false), null);
	assert.equal(fault(KEY.with(0, word(1)).with(1, word(2))), "ceremony");
	assert.equal(fault(KEY.slice(2)), "form");
	assert.equal(fault(KEY.with(21, "x")), "form");
	// Gamma of another point, delta of 1, of no point, of infinity; a point for an input that is none.
	assert.equal(fault([...KEY.slice(0, 6), ...DEV_CEREMONY.slice(2), ...KEY.slice(10)]), "form");
	assert.equal(fault([...KEY.slice(0, 10), ...KEY.slice(6, 10), ...KEY.slice(14)]), "form");
	assert.equal(fault(KEY.with(10, word(5))), "form");
	assert.equal(fault([...KEY.slice(0, 10), ...Array(4).fill(word(0)), ...KEY.slice(14)]), "form");
	assert.equal(fault(KEY.with(20, word(5))), "form");
	assert.equal(fault(KEY.with(20, word(0)).with(21, word(0))), "form");
});
