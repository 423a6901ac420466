// Parts that need no server: buckets and addresses, hostile text, fields from text.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod/mini";
import { fc, scaled } from "../../tests/fuzz.test-kit.ts";
import { bytesToHex, utf8ToBytes } from "../protocol/bytes/bytes.ts";
import { requestHash } from "./request-signature.ts";
import { parseBody } from "./server/parse-body.ts";
import { addressGroup, createRateLimiter, neighbourhoodOf } from "./server/rate-limit.ts";
import { parseQuery, readTextFields } from "./server/read-text-fields.ts";

test("addresses are counted as one subscriber has them", () => {
	assert.equal(addressGroup("198.51.100.7"), "198.51.100.7");
	assert.equal(addressGroup("::ffff:198.51.100.7"), "198.51.100.7");
	assert.equal(addressGroup("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
	assert.equal(addressGroup("2001:0db8:1:2::1"), "2001:db8:1:2::/64");
	assert.equal(addressGroup("fe80::1%eth0"), "fe80:0:0:0::/64");
	assert.equal(addressGroup("::1"), "0:0:0:0::/64");
	assert.notEqual(addressGroup("2001:db8:1:3::1"), addressGroup("2001:db8:1:2::1"));
	assert.equal(neighbourhoodOf("2001:db8:1:1234::1"), "2001:db8:1:1200::/56");
	assert.equal(neighbourhoodOf("2001:db8:1:12ff:5::"), "2001:db8:1:1200::/56");
	assert.notEqual(neighbourhoodOf("2001:db8:1:1300::1"), neighbourhoodOf("2001:db8:1:1200::1"));
	assert.equal(neighbourhoodOf("::ffff:198.51.100.7"), "198.51.100.7");
});

test("a bucket gives its limit at once, then one for each part of a second, never more", () => {
	let nowMs = 0;
	const limiter = createRateLimiter({ read: 10, transfer: 5, write: 2, bytes: 100, allBytes: 150 }, () => nowMs);
	const takes = (count: number) =>
		Array.from({ length: count }, () => limiter.take("a", "read")).filter((wait) => wait === 0).length;
	assert.equal(takes(20), 10);
	assert.equal(limiter.take("a", "read"), 100);
	assert.equal(limiter.take("b", "read"), 0);
	nowMs += 350;
	assert.equal(takes(20), 3);
	nowMs -= 10_000;
	assert.equal(takes(20), 0, "a clock that is set back refills nothing");
	nowMs += 1e9;
	assert.equal(takes(20), 10);
	nowMs += 1e9;
	assert.equal(limiter.take("a", "read", 9), 0);
	assert.equal(limiter.take("a", "read", 9), 0, "lent");
	assert.equal(limiter.take("a", "read"), 900);
});

test("bytes are counted for each address and for all; what is begun is sent whole", () => {
	let nowMs = 0;
	const limiter = createRateLimiter({ read: 1, transfer: 5, write: 1, bytes: 100, allBytes: 150 }, () => nowMs);
	assert.equal(limiter.takeBytes("a", 120), 0);
	assert.equal(limiter.takeBytes("a", 1), 210);
	assert.equal(limiter.takeBytes("b", 40), 0, "30 are left of all");
	assert.ok(limiter.takeBytes("c", 1) > 0, "nothing is left of all");
	nowMs += 1000;
	assert.equal(limiter.takeBytes("c", 1), 0);
});

test("forgets the longest unused address, not the busy one", () => {
	const limiter = createRateLimiter({ read: 1, transfer: 5, write: 1, bytes: 1, allBytes: 1 }, () => 0, 3);
	limiter.take("busy", "read");
	for (let i = 0; i < 100; i++) {
		limiter.take(`stranger ${i}`, "read");
		assert.notEqual(limiter.take("busy", "read"), 0);
		assert.ok(limiter.size <= 3);
	}
});

test("bodies: what JSON says comes out, whatever else is refused", () => {
	fc.assert(
		fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
			const text = JSON.stringify(value);
			if (/__proto__|constructor|prototype|\\u0000|\\ud[89a-f]/.test(text)) return;
			assert.deepEqual(parseBody(utf8ToBytes(text)), JSON.parse(text));
		}),
		{ numRuns: scaled(300) },
	);
	fc.assert(
		fc.property(fc.uint8Array(), (bytes) => {
			try {
				parseBody(bytes);
			} catch (error) {
				assert.equal((error as { code: string }).code, "BODY_BAD");
			}
		}),
		{ numRuns: scaled(300) },
	);
});

test("fields from text: one spelling each", () => {
	const schema = z.strictObject({
		n: z.optional(z.int()),
		b: z._default(z.boolean(), false),
		s: z.optional(z.nullable(z.string())),
	});
	const read = (query: string) => ({ ...readTextFields(schema, parseQuery(query)) });
	assert.deepEqual(read("n=5&b=true&s=5"), { n: 5, b: true, s: "5" });
	for (const odd of ["05", "+5", "-5", "5.0", "1e3", "0x5", " 5", "5 ", "", "99999999999999999"])
		assert.equal(typeof read(`n=${encodeURIComponent(odd)}`).n, "string", odd);
	for (const odd of ["1", "True", "yes", ""]) assert.equal(typeof read(`b=${odd}`).b, "string", odd);
	assert.deepEqual(read("s=a&s=b&s=c"), { s: ["a", "b", "c"] });
	assert.equal(Object.getPrototypeOf(parseQuery("__proto__=x")), null);
});

test("no two requests share a hash by moving a border between their parts", () => {
	const parts = { audience: "a", method: "GET", path: "/x", bodyName: "0", timeMs: 1, nonce: "2" };
	const hash = (changed: Partial<typeof parts>) => bytesToHex(requestHash({ ...parts, ...changed }));
	assert.notEqual(hash({}), hash({ audience: "a\nGET", method: "/x" }));
	assert.equal(hash({}), hash({}));
});
