// A tensor's bytes: what the machine's own memory gives is what is written element by element.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
	bytesByElement,
	bytesToElements,
	createElements,
	elementByElement,
	elementsAsBytes,
	elementsToBytes,
	TENSOR_TYPES,
} from "./tensor-type.ts";

test("a tensor's own memory and its elements one by one are the same bytes, there and back", () => {
	for (const type of TENSOR_TYPES) {
		// A view into something longer, at an offset that is no multiple of eight.
		const whole = createElements(type, 40);
		const bytes = new Uint8Array(whole.buffer);
		for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 167 + 29) & 255;
		const part = whole.subarray(1, 38);
		const expected = bytesByElement(part);
		assert.deepEqual(elementsToBytes(part), expected, type);
		assert.deepEqual(elementsAsBytes(part), expected, type);
		assert.deepEqual(bytesToElements(expected, type, 37), part, type);
		assert.deepEqual(elementByElement(expected, type, 37), part, type);
		// Bytes that begin anywhere.
		const shifted = new Uint8Array(expected.length + 3).subarray(3);
		shifted.set(expected);
		assert.deepEqual(bytesToElements(shifted, type, 37), part, type);
		assert.equal(bytesToElements(expected, type, 36), null);
	}
});

test("bytes of a tensor are its own unless only its memory is asked for", () => {
	const elements = Int32Array.of(1, 2);
	const copy = elementsToBytes(elements);
	copy[0] = 9;
	assert.equal(elements[0], 1);
	const made = bytesToElements(copy, "i32", 2)!;
	copy[0] = 7;
	assert.equal(made[0], 9);
});
