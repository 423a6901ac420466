// How far a dispute has come, from its questions: by relay and on the chain, out of order, about several
// segments; and bytes that are no question.
import assert from "node:assert/strict";
import { test } from "node:test";
import { toHex } from "../../src/protocol/chain/hex.ts";
import { type ChainQuestion, encodeChainQuestion } from "../../src/protocol/network/chain-question.ts";
import { type JobQuestion, questionText } from "../../src/protocol/network/job-question.ts";
import { chainPlace, placeText, relayedPlace, wayOf } from "./dispute-way.ts";

const about = { audit: null, page: 0, segment: 4 };
const place = { ...about, step: 1, op: 7 };
const told = (...asked: readonly JobQuestion[]) =>
	wayOf(asked.map((one) => relayedPlace(questionText(one))!)).map(({ name, at }) => `${name} ${at}`);

test("each question narrows the way; another segment begins it anew", () => {
	assert.deepEqual(told(), []);
	const trace: JobQuestion = { kind: "trace", ...about };
	assert.deepEqual(told(trace), ["segment 4"]);
	assert.deepEqual(told(trace, { kind: "nodes", ...about, level: 2, index: 5 }), ["segment 4"]);
	const whole: JobQuestion[] = [
		trace,
		{ kind: "op", ...place },
		{ kind: "leaf", ...place, of: null, leaf: 2 },
		{ kind: "transcript", ...place, element: 600, path: [] },
	];
	assert.deepEqual(told(...whole), ["segment 4", "step 1", "operator 7", "leaf 2", "element 600"]);
	// What an operand holds is not where the output is false.
	assert.deepEqual(told(trace, { kind: "leaf", ...place, of: 1, leaf: 9 }), ["segment 4", "step 1", "operator 7"]);
	assert.deepEqual(told(...whole, { kind: "trace", ...about, segment: 6 }), ["segment 6"]);
});

test("the same from the chain; what is no question is nobody’s place", () => {
	const at = { segment: 4, step: 1, op: 7 };
	const asked: ChainQuestion[] = [
		{ kind: "trace", segment: 4, count: 38 },
		{ kind: "op", ...at, operands: 2, leaves: 3, hash: new Uint8Array(32) },
		{ kind: "leaf", ...at, index: 2, count: 3, hash: new Uint8Array(32) },
		{ kind: "transcript", ...at, element: 600, turns: [], numbers: 3 },
	];
	const places = asked.map((one) => chainPlace(toHex(encodeChainQuestion(one)))!);
	assert.deepEqual(
		wayOf(places).map(({ name, at: number, of }) => `${name} ${number} ${of}`),
		["segment 4 null", "step 1 null", "operator 7 null", "leaf 2 3", "element 600 null"],
	);
	assert.equal(placeText(places[0]!), "root of the trace of segment 4 (38 leaves)");
	assert.equal(placeText(places[3]!), "transcript of element 600 of step 1, op 7 of segment 4");
	for (const bytes of ["0x", "0x07", "0xff00", `0x07${"ff".repeat(40)}`, "0xzz", "<b>"])
		assert.equal(chainPlace(bytes), null);
	for (const text of ["", "{}", "<b>", '{"kind":"trace"}']) assert.equal(relayedPlace(text), null);
});
