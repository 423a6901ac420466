// The places drawn from a secret and a commitment: as in vectors/, distinct, and within bounds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToHex, utf8ToBytes } from "../bytes/bytes.ts";
import { sha256Of } from "../hash/tagged-hash.ts";
import { fromHex, vectorRows } from "../vectors.test-kit.ts";
import { firstSeed, nextNonce, nextSeed, openSeed, seedChain } from "./challenge-seed.ts";
import type { ChallengeSpec } from "./evidence.ts";
import { chaseSamples, fmaSamples, gemmSamples, streamSamples } from "./samples.ts";

interface Row {
	kind: "gemm" | "fma" | "stream" | "chase";
	openSeed: string;
	rounds: number;
	leaves: number;
	samples: number;
	lanes: number;
	places: string;
}

function placesOf({ kind, openSeed: seedHex, rounds, leaves, samples, lanes }: Row): string[] {
	const seed = fromHex(seedHex);
	if (kind === "gemm")
		return gemmSamples(seed, rounds, leaves, samples).map((s) => [s.round, s.leaf, ...s.columns].join(","));
	if (kind === "fma")
		return fmaSamples(seed, rounds, leaves, lanes, samples).map((s) => [s.round, s.leaf, s.lane].join(","));
	if (kind === "chase") return chaseSamples(seed, leaves, samples).map((s) => [s.interval, s.chain].join(","));
	return streamSamples(seed, rounds, leaves, samples).map((s) => {
		assert.equal(s.keptLeaf, 128 * s.group + s.digest);
		return [s.pass, s.group, s.digest, ...s.columns].join(",");
	});
}

test("samples are those of the vectors, distinct and as many as asked or as there are", () => {
	for (const row of vectorRows<Row>("samples")) {
		const places = placesOf(row);
		assert.equal(places.length, Math.min(row.samples, row.kind === "chase" ? row.leaves - 1 : row.rounds * row.leaves));
		assert.equal(new Set(places.map((place) => place.split(",").slice(0, 2).join())).size, places.length);
		const text = places.join(";");
		assert.equal(places.length > 200 ? bytesToHex(sha256Of(utf8ToBytes(text))) : text, row.places);
	}
});

test("another commitment moves the samples", () => {
	const row = vectorRows<Row>("samples")[1]!;
	const flipped = row.openSeed.startsWith("0") ? `1${row.openSeed.slice(1)}` : `0${row.openSeed.slice(1)}`;
	assert.notEqual(placesOf({ ...row, openSeed: flipped }).join(";"), row.places);
});

test("seeds are those of the vectors; every input moves them", () => {
	for (const row of vectorRows<Record<string, string> & { index: number }>("seeds")) {
		const secret = fromHex(row.secret!);
		const beacon = row.beacon === "" ? null : JSON.parse(row.beacon!);
		const spec = JSON.parse(row.spec!) as ChallengeSpec;
		assert.equal(bytesToHex(firstSeed(secret, row.index, beacon, spec, 0)), row.seed);
		const root = fromHex(row.lastRoot!);
		assert.equal(bytesToHex(openSeed(secret, row.index, root, null)), row.openSeed);
		assert.equal(bytesToHex(firstSeed(secret, row.index, beacon, spec, 1)), row.seedOfSecondTry);
		assert.equal(bytesToHex(openSeed(secret, row.index, root, fromHex(row.nonce!))), row.openSeedWithNonce);
		const others = [
			firstSeed(secret, row.index + 1, beacon, spec, 0),
			firstSeed(secret, row.index, { kind: "block", value: "0100" }, spec, 0),
			firstSeed(secret, row.index, beacon, { ...spec, samples: spec.samples + 1 }, 0),
			firstSeed(root, row.index, beacon, spec, 0),
			firstSeed(secret, row.index, beacon, spec, 1),
		];
		assert.equal(new Set([row.seed, ...others.map(bytesToHex)]).size, others.length + 1);
		assert.notEqual(bytesToHex(openSeed(secret, row.index, root, secret)), row.openSeed);
	}
});

test("chains are those of the vectors", () => {
	const gemm = vectorRows<{ seed: string; root: string; nextSeed: string }>("gemm");
	for (const { seed, root, nextSeed: next } of gemm)
		assert.deepEqual(seedChain(fromHex(seed), [fromHex(root), fromHex(root)], nextSeed).map(bytesToHex), [seed, next]);
	for (const { nonce, root, nextNonce: next } of vectorRows<Record<string, string>>("stream"))
		assert.equal(bytesToHex(nextNonce(fromHex(nonce!), fromHex(root!))), next);
});
