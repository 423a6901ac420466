// Suspicion finds those who may share a card, and cannot be used against those who do not.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_PARAMS } from "../params.ts";
import { creditUuids } from "../scores/credit-uuids.ts";
import { freshState, resting } from "./schedule-state.test-kit.ts";
import type { Outcome, SuspectView } from "./schedule-state.ts";
import {
	clearedPairs,
	fallenFigures,
	onCleared,
	onSuspected,
	suspectGroups,
	type TogetherResult,
} from "./suspicion.ts";

const P = DEFAULT_PARAMS;
const T0 = 1_800_000_000_000;

interface Sketch {
	readonly uuids?: readonly string[];
	readonly firstMs?: number | null;
	readonly clearedWith?: readonly string[];
	readonly values?: readonly number[];
	readonly profile?: string;
}
function view(
	providerId: string,
	{ uuids = [], firstMs = T0, clearedWith = [], values = [], profile = "L4" }: Sketch,
): SuspectView {
	return {
		providerId,
		state: freshState(T0),
		gpus: uuids.map((uuid) => ({ uuid, firstProvenAtMs: firstMs, profile })),
		series: values.length === 0 ? [] : [{ uuid: uuids[0] ?? "", name: "gemm.int8", values }],
		clearedWith,
	};
}
const groups = (...views: SuspectView[]) => suspectGroups(views, T0, P).map(({ providerIds }) => providerIds);

test("one UUID on two providers: both at once; different ones: nobody", () => {
	const [group] = suspectGroups(
		[view("b", { uuids: ["GPU-1"] }), view("a", { uuids: [" gpu-1"] }), view("c", { uuids: ["GPU-2"] })],
		T0,
		P,
	);
	assert.deepEqual(group, {
		providerIds: ["a", "b"],
		suspicion: { kind: "shared-uuid", sinceMs: T0, uuids: ["gpu-1"] },
	});
	assert.deepEqual(groups(view("a", { uuids: ["GPU-1"] }), view("b", { uuids: ["GPU-2"] })), []);
	assert.deepEqual(groups(view("a", { uuids: ["GPU-1", "GPU-1"] })), [], "one provider is verify's to judge");
	assert.deepEqual(groups(view("a", { uuids: [""] }), view("b", { uuids: [" "] })), [], "no UUID is no name");
});

test("one device key on two providers: both at once, under its own name, and worth what it was", () => {
	const keyed = (id: string, keys: readonly string[], more: Sketch = {}) => ({ ...view(id, more), deviceKeys: keys });
	const [a, b, c] = [keyed("a", ["k1", "k2"]), keyed("b", ["k2", "k2"]), keyed("c", ["k3"], { uuids: ["GPU-3"] })];
	assert.deepEqual(suspectGroups([b, c, a], T0, P), [
		{ providerIds: ["a", "b"], suspicion: { kind: "shared-key", sinceMs: T0, keys: ["k2"] } },
	]);
	// One group with those who share a UUID with them.
	const d = keyed("d", ["k1"], { uuids: ["gpu-3"] });
	const [all] = suspectGroups([a, b, c, d], T0, P);
	assert.deepEqual(all, {
		providerIds: ["a", "b", "c", "d"].sort((x, y) => ("cd".includes(x) ? 0 : 1) - ("cd".includes(y) ? 0 : 1)),
		suspicion: { kind: "shared-key", sinceMs: T0, keys: ["k1", "k2"] },
	});
	assert.equal(creditUuids([a, b]).size, 0, "figures are nobody else's for it");
	const cleared = [keyed("a", ["k2"], { clearedWith: ["b"] }), keyed("b", ["k2"], { clearedWith: ["a"] })];
	assert.deepEqual(groups(...cleared), [], "who passed at once is not asked again");
});

test("suspects that are linked over several UUIDs make one group; separate ones stay apart", () => {
	const chain = [
		view("a", { uuids: ["1"] }),
		view("b", { uuids: ["1", "2"] }),
		view("c", { uuids: ["2", "3"] }),
		view("d", { uuids: ["3"] }),
		view("x", { uuids: ["9"] }),
		view("y", { uuids: ["9"] }),
	];
	const found = groups(...chain).map((ids) => ids.join(""));
	assert.deepEqual(found.sort(), ["abcd", "xy"]);
	// The order in which they are looked at plays no part.
	assert.deepEqual(
		groups(...[...chain].reverse())
			.map((ids) => ids.join(""))
			.sort(),
		found,
	);
});

test("groups are bounded, first provers first, and a thousand claimants cost no million steps", () => {
	const many = Array.from({ length: 5000 }, (_, i) =>
		view(`p${String(i).padStart(4, "0")}`, { uuids: ["same", `u${i >> 1}`], firstMs: null }),
	);
	const [group, ...others] = groups(...many, view("z-victim", { uuids: ["same"], firstMs: T0 - 1 }));
	assert.equal(group?.length, P.suspectsAtOnce);
	assert.equal(group?.[0], "z-victim");
	assert.equal(others.length, 0);
});

test("nobody is probed out of turn more than once in the limit, whoever else claims its UUID", () => {
	const victim = view("victim", { uuids: ["1"] });
	const probed = {
		...victim,
		state: onSuspected(victim.state, { kind: "shared-uuid", sinceMs: T0, uuids: ["1"] }, T0),
	};
	assert.equal(probed.state.nextProbeAtMs, T0);
	assert.equal(probed.state.why, "suspected");
	const fresh = view("newcomer", { uuids: ["1"], firstMs: null });
	const at = (ms: number) => suspectGroups([probed, fresh], T0 + ms, P).length;
	assert.equal(at(P.suspicionLimitMs - 1), 0);
	assert.equal(at(P.suspicionLimitMs), 1);
});

test("who is rented or paused is not probed; the others of the group are not probed without it", () => {
	const a = view("a", { uuids: ["1"] });
	const b = view("b", { uuids: ["1"] });
	assert.equal(groups(a, b).length, 1);
	assert.equal(groups(a, { ...b, state: resting(b.state, "rented") }).length, 0);
	assert.equal(groups(a, { ...b, state: resting(b.state, "paused") }).length, 0);
});

test("pairs that passed together are no suspects any more; a third one is", () => {
	const a = view("a", { uuids: ["1"], clearedWith: ["b"] });
	const b = view("b", { uuids: ["1"], clearedWith: ["a"] });
	assert.deepEqual(groups(a, b), []);
	assert.deepEqual(groups(a, view("b", { uuids: ["1"] })).length, 1, "both must say so");
	assert.deepEqual(groups(a, b, view("c", { uuids: ["1"] })), [["a", "b", "c"]]);
});

test("a figure that fell by more than 20 % against the median of the last five", () => {
	const fallen = (...values: number[]) => fallenFigures([{ uuid: "U", name: "gemm.int8", values }], P).length;
	assert.equal(fallen(100, 100, 100, 100, 100, 79), 1);
	assert.equal(fallen(100, 100, 100, 100, 100, 80), 0, "by 20 % is not by more");
	assert.equal(fallen(100, 100, 79), 0, "two before it say nothing");
	assert.equal(fallen(100, 100, 100, 79), 1);
	assert.equal(fallen(...Array<number>(9).fill(1000), 100, 100, 100, 100, 100, 90), 0, "older ones are forgotten");
	assert.equal(fallen(100, 100, 500, 100, 100, 85), 0, "one outlier does not move a median");
	assert.equal(fallen(100, 100, 100, 200), 0, "a rise is none");
	assert.equal(fallen(100, 100, 70, 70, 79), 0, "of four the lower middle");
	assert.equal(fallen(), 0);
});

test("fallen ones of one profile are probed together, of another apart, a single one again", () => {
	const values = [100, 100, 100, 50];
	const found = suspectGroups(
		[
			view("a", { uuids: ["1"], values }),
			view("b", { uuids: ["2"], values }),
			view("c", { uuids: ["3"], values, profile: "H200" }),
			view("d", { uuids: ["4"], values: [100, 100, 100, 95] }),
		],
		T0,
		P,
	);
	assert.deepEqual(
		found.map(({ providerIds }) => providerIds),
		[["a", "b"], ["c"]],
	);
	assert.deepEqual(found[1]?.suspicion, { kind: "fallen", sinceMs: T0, figures: ["3 gemm.int8"] });
});

test("a provider is in one group only: the shared UUID comes first", () => {
	const values = [100, 100, 100, 50];
	assert.deepEqual(
		groups(view("a", { uuids: ["1"], values }), view("b", { uuids: ["1"] }), view("c", { uuids: ["3"], values })),
		[["a", "b"], ["c"]],
	);
});

const result = (providerId: string, from: number, to: number, status: Outcome["status"] = "valid"): TogetherResult => ({
	providerId,
	outcome: { status, code: null, startedAtMs: T0, endedAtMs: T0 + 10 },
	windowMs: { from, to },
});

test("cleared are those whose fill and stream overlapped, and only if they are valid", () => {
	assert.deepEqual(clearedPairs([result("b", 0, 10), result("a", 5, 15)]), [["a", "b"]]);
	assert.deepEqual(
		clearedPairs([result("a", 0, 10), result("b", 10, 20)]),
		[],
		"one after the other: one card can do that",
	);
	assert.deepEqual(clearedPairs([result("a", 0, 10), result("b", 5, 15, "invalid")]), []);
	assert.deepEqual(clearedPairs([result("a", 0, 10), result("b", 5, 15, "inconclusive")]), []);
	assert.deepEqual(clearedPairs([result("a", 0, 10), { ...result("b", 5, 15), windowMs: null }]), []);
	assert.deepEqual(clearedPairs([result("a", 0, 10), result("b", 5, 15), result("c", 8, 9), result("d", 12, 13)]), [
		["a", "b"],
		["a", "c"],
		["b", "c"],
		["b", "d"],
	]);
	assert.deepEqual(clearedPairs([result("a", 0, 10), result("a", 0, 10)]), [], "nobody is cleared with itself");
	assert.equal(
		onCleared(onSuspected(freshState(T0), { kind: "fallen", sinceMs: T0, figures: [] }, T0)).suspicion,
		null,
	);
});

test("a UUID counts for who proved it first; a stranger who claims it takes nothing away", () => {
	const owner = view("z-owner", { uuids: ["GPU-1"], firstMs: T0 - 100 });
	const thief = view("a-thief", { uuids: ["gpu-1", "GPU-2"], firstMs: T0 });
	const claimant = view("b-claimant", { uuids: ["GPU-1"], firstMs: null });
	assert.deepEqual(
		[...creditUuids([thief, claimant, owner])],
		[
			["a-thief", ["gpu-1"]],
			["b-claimant", ["gpu-1"]],
		],
	);
	assert.deepEqual([...creditUuids([owner, view("c", { uuids: ["GPU-3"] })])], []);
});

test("after a simultaneous probe both count; a third who passed with one of them only does not", () => {
	const a = view("a", { uuids: ["1"], firstMs: T0, clearedWith: ["b", "c"] });
	const b = view("b", { uuids: ["1"], firstMs: T0 + 1, clearedWith: ["a"] });
	const c = view("c", { uuids: ["1"], firstMs: T0 + 2, clearedWith: ["a"] });
	assert.deepEqual([...creditUuids([a, b])], []);
	assert.deepEqual([...creditUuids([a, b, c])], [["c", ["1"]]]);
});
