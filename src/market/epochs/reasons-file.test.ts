// The file of reasons: written and read line by line, parsed whole by whoever likes; what is none is refused,
// however it is made.
import assert from "node:assert/strict";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import type { Hex } from "../../protocol/chain/hex.ts";
import { zipped } from "../../validator/settlement/report-archive.ts";
import type { Explanation } from "../scores/explanation.ts";
import { given } from "../scores/recompute.ts";
import { encodeReasons, parseReasons, type ReasonEntry } from "./reasons-file.ts";

const account = (n: number): Hex => `0x${n.toString(16).padStart(40, "0")}`;
const entry = (n: number): ReasonEntry => {
	const root = given("score", "ppm", n, "a\nline");
	const reason = { version: 1, providerId: "", mode: "holistic", evidence: null, scorePpm: n, why: "", root };
	return [account(n), reason as Explanation];
};
const read = async (bytes: Uint8Array) => {
	const found = await parseReasons(bytes);
	if (found === null) return null;
	const entries: ReasonEntry[] = [];
	for await (const one of found.entries()) entries.push(one);
	return { params: found.params, entries };
};
const text = (lines: string) => gzipSync(lines);
const HEAD = '{"version":1,"params":null,"reasons":{\n';

test("what was written is read again, and is plain JSON", async () => {
	const entries = Array.from({ length: 300 }, (_, n) => entry(n));
	const bytes = await buffer(zipped(encodeReasons(entries, { maxDevices: 8 })));
	assert.deepEqual(await read(bytes), { params: { maxDevices: 8 }, entries });
	const whole = JSON.parse(String(gunzipSync(bytes)));
	assert.deepEqual([whole.params, whole.reasons], [{ maxDevices: 8 }, Object.fromEntries(entries)]);
	assert.deepEqual(await read(await buffer(zipped(encodeReasons([], null)))), { params: null, entries: [] });
});

test("an error while scores are read is the writer's error, not silence", async () => {
	async function* broken(): AsyncGenerator<ReasonEntry> {
		yield entry(1);
		throw new Error("the database is gone");
	}
	await assert.rejects(buffer(zipped(encodeReasons(broken(), null))), /the database is gone/);
});

test("files that are none, and lines without an end", async () => {
	for (const bad of [
		Buffer.from("{}"),
		text("{}"),
		text("[]"),
		text('{"version":1,"params":7,"reasons":{\n'),
		text(""),
	])
		assert.equal(await read(bad), null);
	const line = (n: number) => `"${account(n)}":${JSON.stringify(entry(n)[1])}`;
	for (const bad of [
		'"0x12":{"root":{}}',
		`${line(1)},${line(2)}`,
		`"${account(1)}":7`,
		`"${account(1)}":{"root":null}`,
		'"__proto__":{"root":{}}',
		"]",
		"x".repeat(9 << 20),
	])
		await assert.rejects(read(text(`${HEAD}${bad}\n}}\n`)), RangeError, bad.slice(0, 60));
	const cut = text(`${HEAD}${line(1)},\n${line(2)}\n}}\n`);
	await assert.rejects(read(cut.subarray(0, cut.length - 20)), RangeError);
});
