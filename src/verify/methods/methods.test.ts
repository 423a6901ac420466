// Methods: what each asks for and when, that nothing is drawn before the claim, that a difference goes to the
// referee and never to a majority; and a method of another kind (a proof) behind the same interface.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type JobAudit, type JobPart, METHOD_NAMES } from "../../protocol/network/job.ts";
import { createMethod, type Drawn } from "./method.ts";
import { METHODS, methodOf } from "./methods.ts";
import { audit, CLAIMED, type MethodToy, viewOf as view } from "./toy.test-kit.ts";

const TWICE = { name: "redundant", count: 3 } as const;
const SAMPLED = { name: "sampled", count: 2 } as const;
const OPTIMISTIC = { name: "optimistic", count: 0 } as const;
const draws: Drawn = {
	windows: (count) => Array.from({ length: count + 2 }, (_, i) => ({ first: 10 * i, count: 10 })),
	isAudited: () => false,
};
const never: Drawn = {
	windows: () => assert.fail("drawn before the claim"),
	isAudited: () => assert.fail("drawn before the claim"),
};

/** Named whole, so that this runs again after a change of a toy. */
const ROOM = "src/verify/methods";

test("an honest part is checked, and none of the tamper list of its method is", async () => {
	const windows = () => [{ first: 0, count: 10 }];
	for (const name of METHOD_NAMES) {
		const { toy } = (await import(`../../../${ROOM}/${name}/toy.test-kit.ts`)) as { readonly toy: MethodToy };
		const { next, judge } = methodOf({ name });
		// That chance audits nothing, and that it audits all.
		for (const isAudited of [false, true]) {
			const draw: Drawn = { windows, isAudited: () => isAudited };
			const checks = (of: typeof toy.honest) => next(of, draw).some(({ kind }) => kind === "check");
			if (!isAudited) assert.equal(checks(toy.honest), toy.isDecided === undefined, `${name}: honest`);
			for (const [what, of] of Object.entries(toy.tampered)) assert.equal(checks(of), false, `${name}: ${what}`);
		}
		assert.equal(judge(toy.honest).isChecked, true, `${name}: honest`);
		for (const [what, of] of Object.entries(toy.tampered))
			if (of.part.state === "claimed") assert.equal(judge(of).isChecked, false, `${name}: ${what}`);
	}
});

test("nothing is drawn before the claim, and nothing is asked of a part that nobody runs", () => {
	for (const method of [TWICE, SAMPLED, OPTIMISTIC]) {
		for (const state of ["open", "assigned", "paid", "refunded"] as const)
			assert.deepEqual(METHODS[method.name].next(view(method, { state }), never), []);
		assert.equal(METHODS[method.name].next(view(method, { state: "running" }), never).length, method === TWICE ? 2 : 0);
	}
});

test("redundant: the others run all of it at once; all must agree, the count of them too", () => {
	const { next, judge } = METHODS.redundant;
	assert.deepEqual(next(view(TWICE, { state: "running", audits: [audit(0, 100, null)] }), draws), [
		{ kind: "audit", first: 0, count: 100, by: "drawn" },
	]);
	const two = [audit(0, 100), audit(0, 100)];
	assert.deepEqual(next(view(TWICE, { audits: two }), draws), [{ kind: "check" }]);
	assert.deepEqual(next(view(TWICE, { audits: two, isChecked: true }), draws), []);
	assert.equal(judge(view(TWICE, { audits: two })).isChecked, true);
	assert.equal(judge(view(TWICE, { audits: [audit(0, 100)] })).isChecked, false);
	assert.deepEqual(next(view(TWICE, { state: "running", audits: two }), draws), [], "no evidence before the claim");
});

test("redundant: by chance one more runs it, drawn after the claim, and must agree too", () => {
	const { next } = METHODS.redundant;
	const audited: Drawn = { ...draws, isAudited: () => true };
	const two = [audit(0, 100), audit(0, 100)];
	const whole = { kind: "audit", first: 0, count: 100, by: "drawn" };
	assert.deepEqual(next(view(TWICE, { state: "running", audits: two }), audited), [], "not before the claim");
	assert.deepEqual(next(view(TWICE, { audits: two }), audited), [whole]);
	assert.deepEqual(next(view(TWICE, { audits: [...two, audit(0, 100, false)] }), audited), [
		{ kind: "referee", at: 2 },
	]);
	assert.deepEqual(next(view(TWICE, { audits: [...two, audit(0, 100)] }), audited), [{ kind: "check" }]);
});

test("one that differs goes to the referee, however many agree", () => {
	for (const method of [TWICE, SAMPLED, OPTIMISTIC]) {
		const audits = [audit(0, 100), audit(0, 100), audit(0, 100), audit(0, 10, false)];
		assert.deepEqual(METHODS[method.name].next(view(method, { audits }), draws), [{ kind: "referee", at: 3 }]);
		assert.equal(METHODS[method.name].judge(view(method, { audits })).isChecked, false);
		const [first] = METHODS[method.name].next(view(method, { audits: [...audits, audit(0, 10, null)] }), draws);
		assert.deepEqual(first, { kind: "compare", at: 4 }, "what came is compared first");
	}
});

test("sampled: windows after the claim; answers are compared as they come; evidence when all have agreed", () => {
	const { next, judge } = METHODS.sampled;
	assert.deepEqual(
		next(view(SAMPLED), draws),
		[0, 10, 20, 30].map((first) => ({ kind: "audit", first, count: 10, by: "anyone" })),
	);
	assert.deepEqual(next(view(SAMPLED, {}, true), never), [{ kind: "audit", first: 0, count: 100, by: "anyone" }]);
	const open: JobAudit = { ...audit(0, 10, null), answer: null };
	assert.deepEqual(next(view(SAMPLED, { audits: [open, audit(10, 10, null)] }), never), [{ kind: "compare", at: 1 }]);
	assert.deepEqual(next(view(SAMPLED, { audits: [open, audit(10, 10)] }), never), [], "one is missing still");
	assert.deepEqual(next(view(SAMPLED, { audits: [audit(0, 10), audit(10, 10)] }), never), [{ kind: "check" }]);
	const verdict = judge(view(SAMPLED, { audits: [audit(0, 10), audit(5, 10), audit(20, 10, false)] }));
	assert.deepEqual(verdict, { isChecked: false, audited: 15, segments: 100, trust: "the draw" });
	assert.equal(judge(view(SAMPLED)).isChecked, false);
});

test("one audit that agrees is evidence, one that differs or is open is none; and it is asked for once", () => {
	for (const method of [SAMPLED, OPTIMISTIC]) {
		const { next, judge } = METHODS[method.name];
		for (const agrees of [true, false, null])
			assert.equal(judge(view(method, { audits: [audit(0, 100, agrees)] })).isChecked, agrees === true);
		assert.deepEqual(next(view(method, { audits: [audit(0, 100)] }), never), [{ kind: "check" }]);
	}
});

test("optimistic: nothing, but by chance, or when it came too fast", () => {
	const { next, judge } = METHODS.optimistic;
	assert.deepEqual(next(view(OPTIMISTIC), draws), []);
	assert.equal(next(view(OPTIMISTIC), { ...draws, isAudited: () => true }).length, 1);
	assert.equal(next(view(OPTIMISTIC, {}, true), never).length, 1);
	assert.deepEqual(judge(view(OPTIMISTIC)), {
		isChecked: false,
		audited: 0,
		segments: 100,
		trust: "one honest watcher",
	});
});

test("attested: an allowed guest's word is enough, but by chance, or when it came too fast; less is run again whole", () => {
	const { attested } = METHODS;
	const run = { kind: "audit", first: 0, count: 100, by: "drawn" };
	const hosted = (more: Partial<JobPart> = {}, isTooFast = false) => ({
		...view(OPTIMISTIC, more, isTooFast),
		attested: "hosted" as const,
	});
	assert.deepEqual(attested.next(hosted({ state: "running" }), never), []);
	assert.deepEqual(attested.next(hosted(), draws), [{ kind: "check" }]);
	assert.deepEqual(attested.judge(hosted()), { isChecked: true, audited: 0, segments: 100, trust: "the vendor" });
	assert.deepEqual(attested.next(hosted({ isChecked: true }), never), []);
	assert.deepEqual(attested.next(hosted(), { ...draws, isAudited: () => true }), [run]);
	assert.deepEqual(attested.next(hosted({}, true), never), [run]);
	assert.equal(attested.judge(hosted({}, true)).isChecked, false);
	// Level none is also what is simulated, or counts for another provider.
	for (const level of [undefined, "none", "genuine", "measured"] as const) {
		const less = { ...view(OPTIMISTIC), ...(level && { attested: level }) };
		assert.deepEqual(attested.next(less, draws), [run], level);
		assert.equal(attested.judge(less).isChecked, false);
	}
	const differs = hosted({ audits: [audit(0, 100, false)] });
	assert.deepEqual(
		attested.next(differs, never),
		[{ kind: "referee", at: 0 }],
		"arithmetic counts for more than a vendor",
	);
	assert.equal(attested.judge(differs).isChecked, false);
	// One who agrees does not make up for one who does not; who was run again is trusted as the draw is.
	const both = attested.judge(hosted({ audits: [audit(0, 100), audit(0, 100, false)] }));
	assert.deepEqual([both.isChecked, both.trust], [false, "the draw"]);
	assert.equal(attested.judge(hosted({ audits: [audit(0, 100)] })).trust, "the draw");
});

test("another kind of evidence fits the same interface: a proof that takes the place of all audits", () => {
	const proofs = new Map([[CLAIMED.claim, true]]);
	const proven = createMethod({
		next: ({ part }) =>
			part.state === "claimed" && !part.isChecked && proofs.get(part.claim) ? [{ kind: "check" }] : [],
		judge: ({ part, segments }) => ({
			...{ isChecked: proofs.get(part.claim) === true, audited: segments, segments, trust: "the draw" },
		}),
	});
	assert.deepEqual(proven.next(view(SAMPLED), never), [{ kind: "check" }]);
	assert.deepEqual(proven.next(view(SAMPLED, { claim: "00".repeat(32) }), never), []);
});

test("zk: nothing is run again; what the chain took is checked, and nothing else is", () => {
	const { next, judge, driver } = METHODS.zk;
	assert.equal(driver, "proofs");
	for (const more of [{}, { isChecked: true }, { audits: [audit(0, 100, false)] }])
		assert.deepEqual(next(view({ name: "zk", count: 0 }, more), never), []);
	for (const isChecked of [false, true])
		assert.deepEqual(judge(view({ name: "zk", count: 0 }, { isChecked })), {
			...{ isChecked, audited: 0, segments: 100, trust: "arithmetic alone" },
		});
});
