// One spelling for one value: what is encoded decodes, and any other spelling of it is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { scaled } from "../../../tests/fuzz.test-kit.ts";
import { AssayError } from "../assay-error.ts";
import { decodeCanonicalJson, encodeCanonicalJson } from "./canonical-json.ts";

const RIGHT = [
	"null",
	"true",
	"0",
	"-1",
	"9007199254740991",
	'""',
	'"\\u0000\\n\\"\\\\é😀"',
	'"\\ud800"',
	"[]",
	"{}",
	'[1,[2,{"a":3}]]',
	'{"A":1,"a":2,"é":3}',
	'{"10":1,"9":2}',
	'{"__proto__":1,"constructor":2}',
];

const CHANGES = scaled(20_000);

test("canonical texts are decoded and come back as they were", () => {
	for (const text of RIGHT) {
		const decoded = decodeCanonicalJson(text);
		assert.ok(decoded.ok, text);
		assert.equal(encodeCanonicalJson(decoded.value), text);
	}
});

test("every other spelling is refused", () => {
	const wrong = [
		...[
			"",
			" 1",
			"1 ",
			"[1, 2]",
			'{"b":1,"a":2}',
			'{"a":1,"a":1}',
			'{"9":1,"10":2}',
			"-0",
			"1.0",
			"1e3",
			"1.5",
			"01",
			"+1",
		],
		...[
			"9007199254740992",
			"-9007199254740992",
			"NaN",
			'"\\u0041"',
			'"\\/"',
			'"\\u00E9"',
			"'a'",
			"[1,]",
			"{a:1}",
			"\ufeff1",
		],
		...['"\t"', "[", "]", "[[]", "// x\n1", "undefined"],
	];
	for (const text of wrong) assert.equal(decodeCanonicalJson(text).ok, false, JSON.stringify(text));
});

test("20,000 texts with a place changed: right exactly when the value is spelled so", () => {
	const text =
		'{"10":[-1,0,12,null,true],"9":"","a\\"":{"b\\\\":"\\n[{","c":[[],{}]},"z":"\\u0001é","é":9007199254740991}';
	assert.equal(decodeCanonicalJson(text).ok, true);
	const pieces = [
		'"',
		"\\",
		"[",
		"]",
		"{",
		"}",
		",",
		":",
		"0",
		"1",
		"9",
		"-",
		".",
		"e",
		"a",
		" ",
		"\\u00",
		"null",
		"__proto__",
	];
	let state = 1;
	const random = (below: number) => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
	const seen = { right: 0, wrong: 0 };
	for (let i = 0; i < CHANGES; i++) {
		let changed = text;
		for (let times = 1 + random(2); times > 0; times--) {
			const at = random(changed.length);
			const piece = random(4) === 0 ? "" : pieces[random(pieces.length)]!;
			changed = changed.slice(0, at) + piece + changed.slice(at + random(3));
		}
		let expected = false;
		try {
			expected = encodeCanonicalJson(JSON.parse(changed)) === changed;
		} catch {}
		seen[expected ? "right" : "wrong"] += 1;
		assert.equal(decodeCanonicalJson(changed).ok, expected, changed);
	}
	assert.ok(seen.right > CHANGES * 0.015 && seen.wrong > CHANGES / 2, JSON.stringify(seen));
});

test("deep nesting is refused before it is parsed, brackets in strings are not counted", () => {
	assert.equal(decodeCanonicalJson("[".repeat(16) + "]".repeat(16)).ok, true);
	assert.deepEqual(decodeCanonicalJson("[".repeat(17) + "]".repeat(17)), {
		ok: false,
		at: 16,
		detail: "nested deeper than 16",
	});
	assert.equal(decodeCanonicalJson("[".repeat(1_000_000)).ok, false);
	assert.equal(decodeCanonicalJson(`"${"[".repeat(100)}\\"${"{".repeat(100)}"`).ok, true);
});

test("the first place that differs is named", () => {
	const decoded = decodeCanonicalJson('{"a":1, "b":2}');
	assert.deepEqual(decoded, { ok: false, at: 7, detail: "not the canonical spelling" });
});

test("encoding refuses what canonical JSON cannot say", () => {
	for (const value of [1.5, -0, Number.NaN, Infinity, 2 ** 53, undefined, () => 1, 1n, [undefined], { a: 0.1 }])
		assert.throws(
			() => encodeCanonicalJson(value),
			(error) => error instanceof AssayError && error.code === "NOT_CANONICAL",
		);
});
