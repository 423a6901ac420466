// What a verdict says of a card, for people: who it is, what it cannot be told from, and what that rests on.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Identity, Verdict } from "../../protocol/probe/verdict.ts";
import { assemble, CLAIM } from "../../verify/hardware/honest-evidence.test-kit.ts";
import { ANSWERED } from "../../verify/hardware/spoiled-evidence.test-kit.ts";
import { plain } from "./paint.ts";
import { verdictTable } from "./verdict-table.ts";

const { body } = assemble(ANSWERED);

/** The line about the model of the first GPU. */
function modelLine(identity: Partial<Identity>): string {
	const { name } = CLAIM.devices[0]!;
	const verdict: Verdict = {
		...{ status: "valid", figures: body.figures, confidence: [], findings: [], strength: "private" },
		identity: [{ device: 0, claimed: name, state: "confirmed", profile: "A2", ranked: [], alike: [], ...identity }],
		...{ signer: "", host: null, probeId: "" },
	};
	const [, line] = /gpu 0 +model (.*)/.exec(verdictTable(body, verdict, plain)) ?? [];
	return line!.replace(name, "").trim();
}

test("a card of which no example was measured says so, in every state that names one", () => {
	const basis = "data-sheets";
	assert.match(modelLine({ basis }), /^A2 +profile from data sheets$/);
	assert.match(modelLine({ basis, alike: ["A2", "A16"] }), /^A2 +also matches A16; profile from data sheets$/);
	assert.match(modelLine({ basis, state: "consistent" }), /^possibly A2 +profile from data sheets$/);
	assert.match(modelLine({ basis, state: "other" }), /^more like A2 +profile from data sheets$/);
	assert.match(modelLine({ basis, state: "unknown-name" }), /^like A2 .*; profile from data sheets$/);
	// A measured one does not, nor a verdict of before, nor one without a card.
	assert.equal(modelLine({ basis: "measured", profile: "H200" }), "H200");
	assert.equal(modelLine({}), "A2");
	assert.equal(modelLine({ basis: null, profile: null, state: "unknown" }), "no known card");
});
