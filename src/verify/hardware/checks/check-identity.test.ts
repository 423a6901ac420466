// What identification makes of a file: a contradiction is a fault, doubt is a finding, certainty is silent.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { IdentityJudgement, JudgedState } from "../identify/identify.ts";
import type { Objection, Shows } from "../identify/rules.ts";
import { checkIdentity, identitiesOf, identityFindings } from "./check-identity.ts";

const objection = (shows: Shows, detail: string): Objection => ({
	...{ rule: "memory-above", shows, proven: 2, bound: 1, detail },
});
const judged = (state: JudgedState, profile: string | null = "A100 80GB"): IdentityJudgement => ({
	claimed: "NVIDIA H200",
	state,
	profile,
	ranked: Array.from({ length: 9 }, (_, i) => ({ id: `card ${i}`, likelihood: 1 / 9, fit: 0 })),
	alike: [],
	lesser: [],
	objections: state === "contradicted" ? [objection("lie", "too much memory")] : [],
});

test("only a contradiction is a fault, and it names the device and the reason", () => {
	for (const state of ["confirmed", "consistent", "other", "unknown", "unknown-name", "unjudged"] as const)
		assert.equal(checkIdentity([judged(state)]), null);
	const found = checkIdentity([judged("confirmed"), judged("contradicted")]);
	assert.deepEqual([found?.code, found?.where], ["CARD_CONTRADICTED", "claim.devices[1].name"]);
	assert.match(found?.detail ?? "", /too much memory/);
});

test("doubts are findings, certainty is not", () => {
	const codesFor = (state: JudgedState, profile?: string | null) =>
		identityFindings([judged(state, profile)]).map(({ code }) => code);
	assert.deepEqual(codesFor("other"), ["CARD_OTHER"]);
	assert.deepEqual(codesFor("unknown", null), ["CARD_UNKNOWN"]);
	assert.deepEqual(codesFor("unknown-name"), ["CARD_UNKNOWN"]);
	for (const state of ["confirmed", "consistent", "unjudged"] as const) assert.deepEqual(codesFor(state), []);
	// Slow and larger have a code each, with the reasons.
	const objections = [objection("slow", "half of it"), objection("larger", "twice as much"), objection("slow", "too")];
	const told = identityFindings([{ ...judged("unknown", null), objections }]);
	assert.deepEqual(
		told.map(({ code }) => code),
		["CARD_UNKNOWN", "CARD_SLOW", "CARD_LARGER"],
	);
	assert.match(told[1]!.detail, /half of it; too$/);
});

test("a verdict tells the likeliest few", () => {
	const [identity] = identitiesOf([judged("confirmed")]);
	assert.equal(identity?.ranked.length, 5);
	assert.deepEqual(Object.keys(identity ?? {}), ["device", "claimed", "state", "profile", "basis", "ranked", "alike"]);
});

test("a verdict tells whether a card of that kind was ever measured", () => {
	const basis = (profile: string | null) => identitiesOf([judged("confirmed", profile)])[0]?.basis;
	assert.deepEqual([basis("H200"), basis("H200 NVL"), basis(null)], ["measured", "data-sheets", null]);
});
