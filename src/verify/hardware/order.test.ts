// What was ordered beside what was proven: a box that lacks one card, has another one or is too slow is told
// in one line.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Identity, IdentityState, Verdict } from "../../protocol/probe/verdict.ts";
import { notAsOrdered, type Order } from "./order.ts";

const order: Order = { count: 2, model: "h100", profiles: ["H100 PCIe", "H100 NVL"], least: [] };

type Card = readonly [profile: string | null, state: IdentityState, fp16: number];

function verdictOf(cards: readonly Card[]): Verdict {
	const identity = cards.map(
		([profile, state], device): Identity => ({
			device,
			claimed: "NVIDIA H100",
			state,
			profile,
			basis: null,
			ranked: [],
			alike: [],
		}),
	);
	const figures = cards
		.map(([, , value], device) => ({ challenge: 0, device, name: "gemm.fp16", value, unit: "op/s" }))
		.filter(({ value }) => value > 0);
	const rest = { confidence: [], findings: [], strength: "private", signer: "", host: null, probeId: "" } as const;
	return { status: "valid", figures, identity, ...rest };
}

const good: Card = ["H100 NVL", "confirmed", 600e12];

test("enough cards of the model are as ordered, more too", () => {
	assert.equal(notAsOrdered(order, verdictOf([good, good])), null);
	assert.equal(notAsOrdered(order, verdictOf([good, ["L4", "confirmed", 1e12], good])), null);
	assert.equal(notAsOrdered({ ...order, model: null, profiles: [] }, verdictOf([good, ["L4", "confirmed", 1]])), null);
});

test("what is missing, another card, only possible, unproven or too slow is said with its reason", () => {
	const told = (cards: readonly Card[], more: Partial<Order> = {}) =>
		notAsOrdered({ ...order, ...more }, verdictOf(cards));
	assert.equal(told([good]), "ordered: 2 × h100; proven: 1 of 2");
	assert.equal(told([]), "ordered: 2 × h100; proven: 0 of 2; no GPU was proven");
	assert.match(told([good, ["L4", "confirmed", 1e12]])!, /1 of 2; gpu 1 is L4$/);
	assert.match(told([good, ["L4", "other", 1e12]])!, /gpu 1 claims to be NVIDIA H100, its figures are more like L4$/);
	assert.match(told([good, ["H100 NVL", "consistent", 1e12]])!, /gpu 1 is only possibly H100 NVL/);
	assert.match(told([good, ["H100 NVL", "unjudged", 1e12]])!, /1 of 2$/);
	// Named, but without a figure: nothing was proven.
	assert.match(told([good, ["H100 NVL", "confirmed", 0]])!, /1 of 2$/);
	const least = [{ figure: "gemm.fp16", label: "fp16", value: 650e12, unit: "FLOPS" }] as const;
	assert.match(
		told([good, good], { least })!,
		/0 of 2; gpu 0 has fp16 600 TFLOPS, ordered was at least 650 TFLOPS \(and 1 more\)$/,
	);
	const memory = [{ figure: "memory.resident", label: "memory", value: 1, unit: "B" }] as const;
	assert.match(told([good, good], { least: memory })!, /gpu 0 has no proven memory/);
});

test("a verdict that is not valid proves nothing", () => {
	const verdict: Verdict = { status: "inconclusive", code: "ABORTED", where: "", detail: "" };
	assert.equal(notAsOrdered(order, verdict), "ordered: 2 × h100; proven: nothing, the verdict is inconclusive");
});
