// The real environment: clocks that go forward, randomness in its range, and whatever a test puts in its
// place.
import assert from "node:assert/strict";
import { test } from "node:test";
import { realEnvironment } from "./environment.ts";

test("clocks go forward in their units", async () => {
	const { clockUs, ratesClockUs, nowMs, after } = realEnvironment();
	const [beforeUs, beforeMs] = [clockUs(), Date.now()];
	await new Promise<void>((resolve) => after(20, resolve));
	const spentUs = clockUs() - beforeUs;
	assert.ok(spentUs >= 19_000 && spentUs < 60e6, `${spentUs}`);
	assert.ok(ratesClockUs() >= beforeUs + spentUs && nowMs() >= beforeMs);
});

test("random numbers come from the given bytes, 0 to just below 1", () => {
	const drawn = (byte: number) => realEnvironment({ randomBytes: (size) => new Uint8Array(size).fill(byte) }).random();
	assert.equal(drawn(0), 0);
	assert.equal(drawn(0x80), 0x808080808080 / 2 ** 48);
	assert.ok(drawn(0xff) < 1 && drawn(0xff) > 0.999_999_999);
	const { random } = realEnvironment();
	assert.notEqual(random(), random());
});
