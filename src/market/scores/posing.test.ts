// Who gains by posing as other cards? One card may show itself as several, or several as one, under whatever
// names: what they prove together is what it has. With scores by name, 37 of 98 cards gained more than 5 % by
// it, the RTX A5000 122 %.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../../tests/fuzz.test-kit.ts";
import type { Figure } from "../../protocol/probe/evidence.ts";
import { createParams, DEFAULT_PARAMS, type Params } from "../params.ts";
import type { Term } from "./explanation.ts";
import { scoreProvider } from "./score-provider.ts";
import { CARDS, EVIDENCE, gpuFigures, hostFigures, inputOf, NOW_MS, SCORED } from "./scored-host.test-kit.ts";

const P = DEFAULT_PARAMS;
const MOST = 8;
/** What a card has of each scored figure, in the order of SCORED. */
type Has = readonly number[];
interface Posed {
	readonly id: string | null;
	readonly has: Has;
}

const UNITS = ["op/s", "op/s", "flop/s", "flop/s", "B/s", "B"];
const ALL: readonly Posed[] = CARDS.map((card) => {
	const figures = gpuFigures(card, 0, 1);
	return { id: card.id, has: SCORED.map((name) => figures.find((f) => f.name === name)?.value ?? 0) };
});
const sumOf = (posed: readonly Posed[]): Has => SCORED.map((_, i) => posed.reduce((sum, { has }) => sum + has[i]!, 0));
const fits = (inner: Has, outer: Has) => inner.every((value, i) => value <= outer[i]!);

function gpuTerm(posed: readonly Posed[], params: Params = P): Term {
	const figures = posed.flatMap(({ has }, device): Figure[] =>
		has.map((value, i) => ({ device, name: SCORED[i]!, unit: UNITS[i]!, value, challenge: 0 })),
	);
	const proof = {
		evidence: EVIDENCE,
		provenAtMs: NOW_MS,
		devices: [
			...posed.map((_, i) => ({ kind: "gpu" as const, uuid: `${i}` })),
			...(["cpu", "disk"] as const).map((kind) => ({ kind, uuid: "" })),
		],
		figures: [...figures, ...hostFigures(posed.length)],
		identity: posed.map(({ id }, device) => ({ device, profile: id })),
		claimedRamBytes: P.ramBytes,
	};
	return scoreProvider(inputOf(proof), params).root.from.find((part): part is Term => (part as Term).name === "gpu")!;
}
/** In millionths of a card, before anything is divided by the size of a full host. */
const worth = (posed: readonly Posed[]) =>
	gpuTerm(posed)
		.from.filter((part): part is Term => /^gpu \d+$/.test((part as Term).name))
		.reduce((sum, { value }) => sum + value, 0);

test("posing as any mix of up to 8 profiles gains 2 % at most: proven by arithmetic for all mixes", () => {
	// The price of what a card has, exactly. A mix that fits into a card has at most the card's price, for
	// prices are sums. So nobody gains more than the card itself lost by rounding, and the mix is rounded down
	// too.
	const weights = [0.15, 0.25, 0.05, 0.1, 0.2, 0.25];
	const full = [5e15, 2.5e15, 126e12, 40e12, 8e12, 288 * 2 ** 30];
	for (const card of ALL) {
		const price = card.has.reduce((sum, value, i) => sum + (1e6 * weights[i]! * value) / full[i]!, 0);
		const value = worth([card]);
		assert.ok(value <= price && value > price - 2, `${card.id}: ${value}, not ${price}`);
		assert.ok(2 / value < 0.002, `${card.id}: two millionths are little of ${value}`);
	}
});

test("posing as up to 8 of any one other profile gains nothing: all pairs, one by one", () => {
	const values = ALL.map((card) => worth([card]));
	let posing = 0;
	for (const [i, card] of ALL.entries())
		for (const [j, other] of ALL.entries()) {
			const times = Math.min(MOST, ...other.has.map((value, at) => Math.floor(card.has[at]! / value)));
			if (i === j || times === 0) continue;
			posing++;
			assert.ok(times * values[j]! <= values[i]!, `${card.id} as ${times} × ${other.id}`);
		}
	assert.ok(posing > 1000, `${posing} pairs fit`);
});

test("posing as mixes that were packed as full as can be gains nothing, through the whole score", () => {
	fc.assert(
		fc.property(fc.constantFrom(...ALL), fc.array(fc.nat(ALL.length - 1), { maxLength: 60 }), (card, order) => {
			const mix: Posed[] = [];
			for (const at of order) if (mix.length < MOST && fits(sumOf([...mix, ALL[at]!]), card.has)) mix.push(ALL[at]!);
			assert.ok(worth(mix) <= worth([card]));
			assert.ok(gpuTerm(mix).value <= gpuTerm([card]).value);
			// Nor do several gain by posing as one: at most what they lost by rounding.
			if (mix.length > 0) assert.ok(worth([{ id: card.id, has: sumOf(mix) }]) <= worth(mix) + 2 * mix.length);
		}),
	);
});

/** Eight of the largest are still a safe integer, as figures are. */
const anything = fc.tuple(
	...[1e15, 1e15, 126e12, 40e12, 8e12, 2e12].map((max) => fc.integer({ min: 0, max })),
) as fc.Arbitrary<Has>;

test("no cut of any device, whatever it has, is worth more than the whole; less of a figure is never worth more", () => {
	fc.assert(
		fc.property(fc.array(anything, { minLength: 1, maxLength: MOST }), fc.nat(5), (parts, at) => {
			const posed = parts.map((has) => ({ id: null, has }));
			const whole = { id: null, has: sumOf(posed) };
			assert.ok(worth(posed) <= worth([whole]));
			const less = whole.has.map((value, i) => (i === at ? Math.floor(value / 2) : value));
			assert.ok(worth([{ id: null, has: less }]) <= worth([whole]));
		}),
	);
});

test("the twin: by SN27's table a name pays", () => {
	const sn27 = createParams({ scoring: "sn27" });
	const [l40s, l40] = ["L40S", "L40"].map((id) => ALL.find((card) => card.id === id)!);
	assert.ok(fits(l40!.has, l40s!.has));
	assert.ok(gpuTerm([l40!], sn27).value > 1.1 * gpuTerm([l40s!], sn27).value);
	assert.ok(gpuTerm([l40!]).value < gpuTerm([l40s!]).value);
});
