// One card behind many keys: every roll call is answered once, whichever key answers. What all keys are paid
// together is what the card alone would be, whatever they agree on. (A card cannot answer for two: the rule
// asks for more than half of it, roll-call-rules.test.ts.)
import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_PARAMS } from "../params.ts";
import { presencePpm } from "../scores/presence-ppm.ts";

const CALLS = 24 * 60;
const WINDOW = DEFAULT_PARAMS.rollCallWindow;

/**
 * The sum of all keys' presence, in cards, after each call once the window is full; the highest and the mean.
 */
function paidLike(keys: number, answers: (call: number) => number): { readonly most: number; readonly mean: number } {
	let most = 0;
	let sum = 0;
	for (let now = WINDOW; now <= CALLS; now++) {
		const counts = new Map<number, number>();
		for (let call = now - WINDOW; call < now; call++) counts.set(answers(call), (counts.get(answers(call)) ?? 0) + 1);
		let cards = 0;
		for (const [key, answered] of counts)
			if (key < keys) cards += Number(presencePpm(BigInt(answered), BigInt(WINDOW), BigInt(WINDOW))) / 1e6;
		most = Math.max(most, cards);
		sum += cards;
	}
	return { most, mean: sum / (CALLS - WINDOW + 1) };
}

/** Small, and the same in every run. */
const drawn = (call: number, of: number) => ((call * 2_654_435_761) % 4_294_967_296) % of;

const STRATEGIES: Readonly<Record<string, (keys: number) => (call: number) => number>> = {
	"always the same key": () => () => 0,
	"each in its turn": (keys) => (call) => call % keys,
	"any of them": (keys) => (call) => drawn(call, keys),
	"two of them in turn": () => (call) => call % 2,
	"three of them in turn": () => (call) => call % 3,
	"a new one each window": (keys) => (call) => Math.floor(call / WINDOW) % keys,
	"a new one each half window": (keys) => (call) => Math.floor(call / (WINDOW / 2)) % keys,
	"one most of the time, the others seldom": (keys) => (call) => (call % 4 === 0 ? 1 + (call % (keys - 1)) : 0),
};

for (const [name, of] of Object.entries(STRATEGIES))
	for (const keys of [2, 20, 400])
		test(`${keys} keys on one card, ${name}: paid like at most 1.1 cards`, () => {
			const { most, mean } = paidLike(keys, of(keys));
			assert.ok(most <= 1.1, `like ${most} cards`);
			assert.ok(mean <= 1.0001, `like ${mean} cards on average`);
		});

test("an honest card is paid like one", () => {
	assert.ok(paidLike(1, () => 0).most > 0.999);
});
