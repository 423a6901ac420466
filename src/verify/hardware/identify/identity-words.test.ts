// What is said of a card names every card that it cannot be told from, and never more than was proven.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { IdentityState } from "../../../protocol/probe/verdict.ts";
import { verifyEvidence } from "../verify.ts";
import { cardsOf, identityWords } from "./identity-words.ts";

test("a real H200 is confirmed, and named beside the cards that its figures leave equal", () => {
	const verdict = verifyEvidence(readFileSync(new URL("../../../../vectors/h200.assay", import.meta.url)));
	assert.ok(verdict.status === "valid");
	const [card] = verdict.identity;
	const others = card!.alike.filter((id) => id !== "H200");
	assert.ok(others.length > 0, "else this test shows nothing");
	const words = identityWords(card);
	assert.deepEqual(words, { card: "H200", note: `confirmed; cannot be told from: ${others.join(", ")}` });
	const devices = [{ kind: "gpu" }, { kind: "cpu" }, { kind: "disk" }] as never;
	assert.equal(cardsOf({ devices }, verdict), "1 × H200");
	assert.equal(cardsOf({ devices }, { ...verdict, figures: [] }), "no GPU proven");
});

test("each state says what it is, and all but a few of the equal cards are named", () => {
	const of = (state: IdentityState, alike: readonly string[] | null, profile: string | null = "H200") =>
		identityWords({ state, profile, alike });
	assert.deepEqual(of("confirmed", ["H200"]), { card: "H200", note: "confirmed: fits no other known card" });
	assert.equal(of("confirmed", null).note, "confirmed", "a row of before does not say that nothing else fits");
	assert.deepEqual(of("consistent", ["H200", "A2"]), {
		card: "possibly H200",
		note: "not confirmed; cannot be told from: A2",
	});
	assert.match(of("consistent", ["H200"]).note, /figures are missing for that$/);
	// Of a kind of which none was ever measured it says so, whatever the state.
	for (const state of ["confirmed", "consistent", "other", "unknown-name"] as const)
		for (const alike of [["L4"], ["L4", "A2"]])
			assert.match(of(state, alike, "L4").note, /; profile from data sheets$/, state);
	assert.equal(of("other", ["H200"]).card, "more like H200");
	assert.deepEqual(of("unknown", [], null).card, "no known card");
	// A row of the store names no profile there.
	assert.equal(of("unknown-name", ["A2", "H200"], null).card, "like A2");
	assert.match(
		of("unknown-name", ["A2", "H200"], null).note,
		/in no profile; cannot be told from: H200; profile from data sheets$/,
	);
	assert.deepEqual(of("unjudged", [], null), { card: "", note: "" });
	const unmeasured = { state: "confirmed", profile: "L4", alike: ["L4", "A2"], basis: "data-sheets" } as const;
	assert.equal(identityWords(unmeasured).note, "confirmed; cannot be told from: A2; profile from data sheets");
	assert.match(
		of(
			"confirmed",
			Array.from({ length: 12 }, (_, i) => `card ${i}`),
			"card 0",
		).note,
		/card 8 and 3 more; profile from data sheets$/,
	);
});
