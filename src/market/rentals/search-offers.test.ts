// Offers are found by what was proven, and come in an order that two machines share.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { OfferFilter, OfferOrder, OfferView } from "./rental.ts";
import { searchOffers } from "./search-offers.ts";

const gpu = (profile: string | null, memory: number, more: Partial<OfferView["gpus"][number]> = {}) => ({
	profile,
	state: "confirmed",
	figures: { "memory.resident": memory, "memory.bandwidth": 1000, "gemm.fp16": 500 },
	...more,
});
const offer = (providerId: string, more: Partial<OfferView> = {}): OfferView => ({
	providerId,
	name: "8 × B200, believe me",
	pricePerHourMicros: 100,
	rentable: true,
	scorePpm: 1000,
	uptimePpm: 900_000,
	provenAtMs: 0,
	evidence: "e".repeat(64),
	gpus: [gpu("L4", 24)],
	...more,
});
const found = (offers: OfferView[], filter: OfferFilter, order: OfferOrder = "price") =>
	searchOffers(offers, filter, order).map(({ providerId }) => providerId);

test("by proven model and count; what a provider calls itself does not count", () => {
	const offers = [
		offer("a", { gpus: [gpu("H200", 140), gpu("H200", 140)] }),
		offer("b", { gpus: [gpu("H200", 140), gpu("L4", 24)] }),
	];
	assert.deepEqual(found(offers, { profile: "H200" }), ["a", "b"]);
	assert.deepEqual(found(offers, { profile: "H200", devices: 2 }), ["a"]);
	assert.deepEqual(found(offers, { devices: 2 }), ["a", "b"]);
	assert.deepEqual(found(offers, { devices: 3 }), []);
	assert.deepEqual(found(offers, { profile: "B200" }), []);
	assert.deepEqual(found([offer("c", { gpus: [] })], {}), [], "no GPU is nothing to rent");
	assert.deepEqual(found([offer("c", { gpus: [gpu("H200", 140, { state: "unknown" })] })], { profile: "H200" }), []);
});

test("every limit holds for one and the same device", () => {
	const mixed = offer("a", {
		gpus: [
			gpu("X", 100, { figures: { "memory.resident": 100, "memory.bandwidth": 1 } }),
			gpu("Y", 1, { figures: { "memory.resident": 1, "memory.bandwidth": 100 } }),
		],
	});
	assert.deepEqual(found([mixed], { leastMemoryBytes: 100 }), ["a"]);
	assert.deepEqual(found([mixed], { leastBytesPerS: 100 }), ["a"]);
	assert.deepEqual(found([mixed], { leastMemoryBytes: 100, leastBytesPerS: 100 }), []);
});

test("a figure that was not proven meets no limit", () => {
	assert.deepEqual(found([offer("a")], { leastFigures: { "gemm.fp16": 500 } }), ["a"]);
	assert.deepEqual(found([offer("a")], { leastFigures: { "gemm.fp16": 501 } }), []);
	assert.deepEqual(found([offer("a")], { leastFigures: { "fma.fp64": 1 } }), []);
	assert.deepEqual(found([offer("a")], { leastFigures: { constructor: 1 } }), []);
});

test("price, uptime, score, and whether it can be rented", () => {
	const offers = [
		offer("a"),
		offer("b", { rentable: false }),
		offer("c", { pricePerHourMicros: 101 }),
		offer("d", { uptimePpm: 899_999 }),
		offer("e", { scorePpm: 999 }),
	];
	assert.deepEqual(found(offers, {}), ["a", "d", "e", "c"]);
	assert.deepEqual(found(offers, { rentableOnly: false }), ["a", "b", "d", "e", "c"]);
	assert.deepEqual(found(offers, { mostPricePerHourMicros: 100, leastUptimePpm: 900_000, leastScorePpm: 1000 }), ["a"]);
});

test("orders, with ties by name and a score of 0 as the dearest", () => {
	const offers = [
		offer("d", { pricePerHourMicros: 300, scorePpm: 3001, gpus: [gpu("A", 10)] }),
		offer("c", { pricePerHourMicros: 100, scorePpm: 1000, gpus: [gpu("A", 30)] }),
		offer("b", { pricePerHourMicros: 200, scorePpm: 2000, uptimePpm: 950_000, gpus: [gpu("A", 20)] }),
		offer("a", { pricePerHourMicros: 1, scorePpm: 0, gpus: [gpu("A", 20)] }),
	];
	const by = (order: OfferOrder) => found(offers, {}, order).join("");
	assert.equal(by("price"), "acbd");
	assert.equal(by("score"), "dbca");
	assert.equal(by("price-per-score"), "dbca");
	assert.equal(by("memory"), "cabd");
	assert.equal(by("uptime"), "bacd");
	assert.deepEqual(searchOffers([...offers].reverse(), {}, "memory"), searchOffers(offers, {}, "memory"));
});
