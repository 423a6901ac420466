// A field that stands twice is found, whatever its spelling and wherever it stands.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hasDoubleKeys } from "./double-keys.ts";

const isDouble = (text: string) => hasDoubleKeys(text, JSON.parse(text));

test("fields that stand once", () => {
	const single = [
		"{}",
		"[]",
		'"a:b"',
		'{"a": 1, "b": {"a": 2}}',
		'[{"a": 1}, {"a": 1}]',
		String.raw`{"a\":b": "x\\", "c:d": ":\":"}`,
		'{"__proto__": {"a": 1}, "a": 2}',
		'{"1":0,"__proto__":{"1":0}}',
		'{"a":{"a":[{"a":1},{"a":1}]}}',
		'{":":":","\\"":"\\\\"}',
	];
	for (const text of single) assert.equal(isDouble(text), false, text);
});

test("fields that stand twice", () => {
	const double = [
		'{"a": 1, "a": 1}',
		'{"a": {"b": 1, "b": 2}}',
		String.raw`{"a": 1, "\u0061": 1}`,
		'[[{"x": ":"}, {"x": 1, "x": 2}]]',
		'{"__proto__": 1, "__proto__": 2}',
		'[{"b":{"a":{},"a":[]}}]',
		String.raw`{"a": "\\", "a": "\""}`,
	];
	for (const text of double) assert.equal(isDouble(text), true, text);
});

test("deep nesting is no trouble", () => {
	const deep = `${"[".repeat(200_000)}{"a": 1}${"]".repeat(200_000)}`;
	assert.equal(isDouble(deep), false);
});
