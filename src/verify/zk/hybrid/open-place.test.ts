// One number of a committed list, shown: by powers of a known τ and by points alike, and taken by the
// verifier of openings at that place and for that number only.
import assert from "node:assert/strict";
import { test } from "node:test";
import { concatBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import { type G2_ONE, mod } from "../../../protocol/maths/bn254.ts";
import { verifyOpening } from "../opening.ts";
import { commitTo, DEV_POWERS, powerOf, srsWord, tauOf } from "../srs.ts";
import { createTranscript } from "../transcript.ts";
import { pointBytes } from "../twin-tree.ts";
import { proveBare } from "./bare.ts";
import { openPlace } from "./open-place.ts";

const BITS = 4;
const list = Array.from({ length: 2 ** BITS }, (_, i) => (i % 3 === 0 ? 0n : BigInt(7 * i - 50)));
/** The same powers, as points. */
const POINTS = {
	...DEV_POWERS,
	points: concatBytes(...Array.from({ length: 2 ** BITS + 1 }, (_, i) => pointBytes(powerOf(DEV_POWERS)(i)))),
};
const tau = tauOf("dev", { isDevAllowed: true }) as typeof G2_ONE;

function isTaken(place: number, value: bigint, proof: Uint8Array): boolean {
	const point = Array.from({ length: BITS }, (_, i) => BigInt((place >> (BITS - 1 - i)) & 1));
	const transcript = createTranscript(keccak(utf8ToBytes("assay/zk/weight/1"), srsWord("dev")));
	const claim = { commitment: commitTo(DEV_POWERS, list), point, value: mod(value) };
	return verifyOpening(transcript, tau, claim, proof) === "true";
}

test("a number of a list is shown, and no other in its place", () => {
	for (const place of [0, 5, 15]) {
		const value = list[place]!;
		const proof = openPlace(list, place, DEV_POWERS);
		assert.ok(isTaken(place, value, proof), `${place}`);
		assert.ok(!isTaken(place, value + 1n, proof));
		assert.ok(!isTaken((place + 1) % list.length, value, proof));
	}
});

test("points give the same as a known τ", () => {
	for (const some of [list, list.map(() => 0n), [5n]])
		assert.deepEqual(commitTo(POINTS, some), commitTo(DEV_POWERS, some));
	assert.deepEqual(openPlace(list, 5, POINTS), openPlace(list, 5, DEV_POWERS));
	assert.deepEqual(proveBare([list], 16, BITS, POINTS), proveBare([list], 16, BITS, DEV_POWERS));
});
