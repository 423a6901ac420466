// The token bucket: the burst at once, then the rate and never more, whatever the clock does.
import assert from "node:assert/strict";
import { test } from "node:test";
import { TokenBucket } from "./token-bucket.ts";

test("gives its burst at once, then its rate, and says how long to wait", () => {
	const bucket = new TokenBucket({ perS: 10, burst: 20 });
	const takes = (nowMs: number) => Array.from({ length: 50 }, () => bucket.take(nowMs)).filter(Boolean).length;
	assert.equal(takes(5000), 20);
	assert.equal(bucket.waitMs(), 100);
	assert.equal(takes(5350), 3);
	assert.equal(bucket.waitMs(), 50);
	assert.equal(takes(5400), 1);
	assert.equal(takes(0), 0, "a clock that is set back refills nothing");
	assert.equal(takes(100), 1);
	assert.equal(takes(1e9), 20, "and a long rest refills no more than the burst");
});

test("what leaves a reserve stops earlier than what does not", () => {
	const bucket = new TokenBucket({ perS: 1, burst: 10 });
	const minor = Array.from({ length: 20 }, () => bucket.take(0, 5)).filter(Boolean).length;
	const major = Array.from({ length: 20 }, () => bucket.take(0)).filter(Boolean).length;
	assert.deepEqual([minor, major], [5, 5]);
	assert.equal(bucket.take(1000, 5), false);
	assert.equal(bucket.waitMs(), 0, "a token is there, it is only reserved");
});

test("a token that was given back can be taken again, and never makes more than the burst", () => {
	const bucket = new TokenBucket({ perS: 1, burst: 1 });
	assert.equal(bucket.take(0), true);
	assert.equal(bucket.take(0), false);
	bucket.giveBack();
	bucket.giveBack();
	assert.equal(bucket.take(0), true);
	assert.equal(bucket.take(0), false);
});
