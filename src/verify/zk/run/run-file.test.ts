// A wrapped run as a file: what it proves and by which key, and what is refused. tests/zk/wrapped-mlp.proof
// is of samples/mlp-proof.json, segments 1 and 2, over Ignition's powers and a key of known secrets (assay
// job prove --wrap dev).
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import { DEV_CEREMONY, HERMEZ_CEREMONY } from "../../../protocol/maths/hermez.ts";
import { planHash } from "../../../work/plan/compile-plan.ts";
import { readKeyFile, toKeyFile, toSnarkjsKey } from "../key/snarkjs-form.ts";
import { planFor, shapeOf } from "../segment.test-kit.ts";
import {
	attachments,
	changed,
	envelope,
	FILE,
	FORGED_KEY,
	forgedRun,
	KEY,
	REAL_POINT,
	SAID,
} from "./forged-run.test-kit.ts";
import { saysNoWeights } from "./no-weights.ts";
import { openRunFile, type RunFileVerdict } from "./run-file.ts";
import { wrapKeyFault, wrapKeyHash } from "./wrap-key.ts";

const said = (verdict: RunFileVerdict) =>
	verdict.status === "valid" ? "valid" : `${verdict.status} ${verdict.code} ${verdict.detail}`;
const OPENED = openRunFile(FILE, { isDevAllowed: true });
const BOUND = { plan: bytesToHex(planHash(SAID.plan)), segments: 2, words: KEY };
const HASH = wrapKeyHash(BOUND);
const open = (file: Uint8Array, key: string | undefined = HASH) => openRunFile(file, { isDevAllowed: true, key });

test("the file of a wrapped run is valid by the key that its reader names, and by none without", () => {
	const verdict = open(FILE);
	assert.equal(verdict.status, "valid");
	if (verdict.status !== "valid") return;
	assert.deepEqual(
		verdict.statements.map(({ firstStep }) => firstStep),
		[0, 4],
	);
	assert.ok(verdict.isDev);
	assert.equal(verdict.key, HASH);
	assert.equal(verdict.powers, "the Ignition ceremony's powers");
	// Nobody named its key: what it says is told, and not proven.
	assert.match(said(OPENED), /^inconclusive KEY_UNNAMED nobody has named the key [0-9a-f]{64}/);
	assert.equal(SAID.key, HASH);
	assert.equal("isDev" in OPENED, false);
	const other = HASH.replace(/^./, (digit) => (digit === "0" ? "1" : "0"));
	assert.match(said(open(FILE, other)), /^invalid KEY_OTHER/);
});

test("a file of a key names its plan and number of segments, and is no key for others", () => {
	const read = (file: object) => readKeyFile(JSON.stringify(file));
	assert.deepEqual(read(toKeyFile(BOUND))!.bound, BOUND);
	for (const bound of [
		{ ...BOUND, plan: "00".repeat(32) },
		{ ...BOUND, segments: 3 },
		{ ...BOUND, words: KEY.with(21, KEY[19]!) },
	])
		assert.match(said(open(FILE, wrapKeyHash(read(toKeyFile(bound))!.bound!))), /^invalid KEY_OTHER/);
	// As snarkjs exports it, or with one of both.
	const { plan, segments, ...bare } = toKeyFile(BOUND);
	assert.deepEqual(bare, toSnarkjsKey(KEY));
	const half = [bare, { ...bare, plan }, { ...bare, segments }, { ...bare, plan, segments: "2" }];
	for (const file of [...half, { ...bare, plan: plan.slice(2), segments }, { ...bare, plan, segments: 0 }])
		assert.equal(read(file)!.bound, null);
	for (const none of ["", "{}", JSON.stringify({ ...toKeyFile(BOUND), IC: [["1", "-2", "1"]] })])
		assert.equal(readKeyFile(none), null);
});

test("a file with another key, other statements or another proof is refused", () => {
	assert.match(said(openRunFile(FILE, { isDevAllowed: false, key: HASH })), /^inconclusive SRS_DEV its key is of test/);
	const hermez = [...HERMEZ_CEREMONY, ...KEY.slice(6)];
	assert.match(said(open(changed({ key: hermez }))), /^invalid KEY_OTHER/);
	const unnamed = (change: object, others?: readonly Uint8Array[]) =>
		said(openRunFile(changed(change, others), { isDevAllowed: true }));
	assert.match(unnamed({ key: hermez }), /^invalid PROOF_CLAIMS/);
	assert.match(unnamed({ key: KEY.with(0, "00".repeat(32)) }), /^inconclusive KEY_UNKNOWN/);
	assert.match(unnamed({ statements: envelope.body.statements.toReversed() }), /^invalid PROOF_CHAIN/);
	assert.match(unnamed({ statements: envelope.body.statements.slice(1) }), /^invalid PROOF_FORM/);
	assert.match(unnamed({ statements: [] }), /^invalid PROOF_STATEMENT/);
	assert.match(unnamed({ chunkBits: 8 }), /^invalid PROOF_STATEMENT/);
	assert.match(unnamed({ chunkBits: 9 }), /^invalid PROOF_FORM/);
	assert.match(unnamed({}, [attachments[0]!, attachments[1]!.subarray(1)]), /^invalid PROOF_FORM/);
	assert.match(unnamed({}, [attachments[1]!, attachments[1]!]), /^invalid PROOF_STATEMENT/);
});

test("a forger who knows its key's secrets makes no run that is valid, by no door", () => {
	const real = { isDevAllowed: false };
	const forged = forgedRun(REAL_POINT);
	// All that can be checked of it holds: nothing but the reader's own key stands in its way.
	const unnamed = openRunFile(forged, real);
	assert.match(said(unnamed), /^inconclusive KEY_UNNAMED/);
	assert.match(said(openRunFile(forged, { isDevAllowed: true })), /^inconclusive KEY_UNNAMED/);
	assert.match(said(openRunFile(forged, { ...real, key: HASH })), /^invalid KEY_OTHER/);
	// Without weights it is refused, even by a reader who was talked into its key.
	const empty = forgedRun("00".repeat(64));
	const named = wrapKeyHash({ ...BOUND, words: FORGED_KEY });
	for (const key of [undefined, named])
		assert.match(said(openRunFile(empty, { ...real, key })), /^invalid PROOF_STATEMENT a commitment to weights/);
});

test("a commitment to weights at infinity stands for padding alone", () => {
	const { plan, statements } = SAID;
	const [statement] = statements;
	const infinity = "00".repeat(64);
	assert.equal(saysNoWeights(plan, statement!), false);
	assert.equal(saysNoWeights(plan, { ...statement!, pointsAfter: statement!.pointsAfter.map(() => infinity) }), true);
	// Links of 3 to 9 and 9 to 3 in chunks of 16. Rows of the first have 4 places, so that its third chunk has
	// one row of 3 weights, which may be zeros, and its fourth none. Those of the second have 16: its fourth
	// chunk is padding.
	const small = planFor(shapeOf({ sizes: [3, 9, 3], chunkBits: 4 }));
	const held = (name: "before" | "after") => {
		const { chunks } = small.groups.find((group) => group.name === name)!;
		return Array.from({ length: chunks }, (_, i) =>
			saysNoWeights(small, {
				...statement!,
				...{ pointsBefore: Array<string>(8).fill(REAL_POINT), pointsAfter: Array<string>(8).fill(REAL_POINT) },
				[name === "before" ? "pointsBefore" : "pointsAfter"]: Array<string>(chunks).fill(REAL_POINT).with(i, infinity),
			}),
		);
	};
	const wanted = [true, true, false, false, true, true, true, false];
	assert.deepEqual(held("before"), wanted);
	assert.deepEqual(held("after"), wanted);
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
