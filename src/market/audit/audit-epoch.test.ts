// Each check of the audit with its negative twin: an honest epoch has no differences; one thing changed, and
// the code, whose it is and the right value are told, of nobody else. Also weights that a quorum signed
// although they are wrong: named, and with a fault that the chain can be shown.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RewardLeaf, Weights } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { weightsId } from "../../protocol/chain/weights-statement.ts";
import { readScoreReport } from "../epochs/score-report.ts";
import { createWeights } from "../epochs/weights.ts";
import { auditEpoch } from "./audit-epoch.ts";
import type { PostedWeights } from "./audit-view.ts";
import {
	account,
	BASE,
	DOMAIN,
	EPOCH,
	FACTS,
	forged,
	PROVIDERS,
	REPORTS,
	RIGHT,
	rooted,
	type Scene,
	SEATS,
	sceneOf,
	signedBy,
	signedByStranger,
	VALIDATORS,
	weightsIf,
} from "./epoch-scene.test-kit.ts";

const run = ({ view, files }: Scene) => auditEpoch(view, files, { onStep() {}, evidence: null });
const changedAt = (who: Hex, change: (leaf: RewardLeaf) => Partial<RewardLeaf>) =>
	RIGHT.leaves.map((leaf) => (leaf.account === who ? { ...leaf, ...change(leaf) } : leaf));
const leafOf = (who: Hex): RewardLeaf => RIGHT.leaves.find((leaf) => leaf.account === who)!;

test("an honest epoch: every check is equal, nothing is missing, nothing can be proven wrong", async () => {
	const found = await run(await sceneOf());
	assert.deepEqual(
		found.checks.filter(({ state }) => state !== "equal"),
		[],
	);
	assert.deepEqual([found.differences, found.missing, found.wrong], [[], [], []]);
	assert.ok(leafOf(VALIDATORS[0]!).earned > 0n, "validators earn too");
	assert.ok(leafOf(account(9)).total > 0n && leafOf(account(9)).earned === 0n, "who earned once stays listed");
});

/**
 * What a hostile quorum signs, and posts with its leaves: the only difference, and the fault to be shown on
 * chain.
 */
const SIGNED: [string, () => { weights: Weights; leaves: readonly RewardLeaf[] }, string, Hex | "id", string][] = [
	[
		"a weight above the median, earned by it",
		() => weightsIf(PROVIDERS[1]!, (scorePpm) => scorePpm + 9),
		"WEIGHT_WRONG",
		PROVIDERS[1]!,
		"weight",
	],
	[
		"one earns a unit too little",
		() => forged((leaf) => (leaf.account === PROVIDERS[2] ? { earned: leaf.earned - 1n, total: leaf.total - 1n } : {})),
		"EARNED_WRONG",
		PROVIDERS[2]!,
		"earned",
	],
	[
		"a validator earns nothing",
		() => forged((leaf) => (leaf.account === VALIDATORS[1] ? { earned: 0n, total: leaf.total - leaf.earned } : {})),
		"EARNED_WRONG",
		VALIDATORS[1]!,
		"earned",
	],
	[
		"a total that forgets the epochs before",
		() => forged((leaf) => (leaf.account === VALIDATORS[1] ? { total: leaf.earned } : {})),
		"TOTAL_WRONG",
		VALIDATORS[1]!,
		"total",
	],
	[
		"a weight below the median",
		() => weightsIf(PROVIDERS[1]!, (scorePpm) => scorePpm - 9),
		"WEIGHT_WRONG",
		PROVIDERS[1]!,
		"weight",
	],
	["a provider left out", () => weightsIf(PROVIDERS[4]!, () => null), "WEIGHT_WRONG", PROVIDERS[4]!, "weight"],
	[
		"a validator left out",
		() => {
			const left = forged((leaf) => (leaf.account === VALIDATORS[0] ? { earned: 0n } : {}));
			const { paid } = left.weights;
			return rooted(
				left.leaves.filter((leaf) => leaf.account !== VALIDATORS[0]),
				{ paid },
			);
		},
		"EARNED_WRONG",
		VALIDATORS[0]!,
		"earned",
	],
	[
		"somebody with earlier rewards left out",
		() => rooted(RIGHT.leaves.filter((leaf) => leaf.account !== account(9))),
		"TOTAL_WRONG",
		account(9),
		"total",
	],
	[
		"the sum of weights",
		() => forged(() => ({}), { totalWeight: RIGHT.weights.totalWeight + 1n }),
		"SUMS_WRONG",
		"id",
		"shape",
	],
	["the sum of what is paid", () => forged(() => ({}), { paid: RIGHT.weights.paid - 1n }), "SUMS_WRONG", "id", "shape"],
	[
		"a running sum of weights",
		() => rooted(changedAt(PROVIDERS[3]!, ({ weightBefore }) => ({ weightBefore: weightBefore + 1n }))),
		"SUMS_WRONG",
		PROVIDERS[3]!,
		"shape",
	],
	[
		"a running sum of rewards",
		() => rooted(changedAt(PROVIDERS[3]!, ({ earnedBefore }) => ({ earnedBefore: earnedBefore + 1n }))),
		"SUMS_WRONG",
		PROVIDERS[3]!,
		"shape",
	],
	[
		"one that has nothing",
		() => {
			const { weightBefore, earnedBefore } = leafOf(account(9));
			const nobody = { account: account(8), weightPpm: 0, weightBefore, earned: 0n, earnedBefore, total: 0n };
			const at = RIGHT.leaves.findIndex((leaf) => leaf.account === account(9));
			return rooted(RIGHT.leaves.toSpliced(at, 0, nobody));
		},
		"SUMS_WRONG",
		account(8),
		"shape",
	],
	[
		"one listed twice",
		() => {
			const at = RIGHT.leaves.findIndex((leaf) => leaf.account === account(9));
			return rooted(RIGHT.leaves.toSpliced(at, 0, leafOf(account(9))));
		},
		"SUMS_WRONG",
		account(9),
		"shape",
	],
	["a seat that nobody has", () => forged(() => ({}), { set: 15n }), "SET_WRONG", "id", "set"],
	["a set without a quorum", () => createWeights(6n, FACTS), "SET_WRONG", "id", "set"],
];
for (const [what, make, code, who, kind] of SIGNED)
	test(`signed by a quorum, and wrong: ${what}`, async () => {
		const lie = make();
		const scene = await sceneOf(lie);
		const found = await run({ ...scene, view: { ...scene.view, payments: [] } });
		const id = weightsId(DOMAIN, lie.weights);
		// A changed sum also changes what everybody's share of it is, and what all have earned.
		const named = found.differences.filter((one) => kind !== "shape" || one.code === "SUMS_WRONG");
		assert.deepEqual(
			named.map((one) => [one.code, one.who]),
			[[code, who === "id" ? id : who]],
		);
		assert.deepEqual(
			found.wrong.map((one) => [one.id, one.fault.kind, one.signatures.length]),
			[[id, kind, 2]],
		);
	});

test("a malformed report in the set: its author is named, and so is the set", async () => {
	const scene = await sceneOf();
	const [first, second, ...rest] = REPORTS[2]!.leaves;
	const bad = readScoreReport([second!, first!, ...rest]);
	const seats = SEATS.map((seat, i) => (i === 2 ? { ...seat, root: bad.reportRoot } : seat));
	const found = await run({
		view: { ...scene.view, seats },
		files: { ...scene.files, report: async (who) => (who === VALIDATORS[2] ? bad.leaves : scene.files.report(who)) },
	});
	assert.deepEqual(
		found.differences.filter(({ who }) => who === VALIDATORS[2]).map(({ code }) => code),
		["REPORT_WRONG", "SET_WRONG"],
	);
	assert.equal(found.wrong[0]!.fault.kind, "report");
});

const posted = (scene: Scene, change: Partial<PostedWeights>) => {
	scene.view = { ...scene.view, posted: { ...scene.view.posted!, ...change } };
};

/** One thing changed in what the chain or a file says. */
const CHANGED: [string, (scene: Scene) => void | Promise<void>, [string, Hex | "id"][]][] = [
	[
		"a signature that is another's",
		async (scene) => {
			const [first, second] = await signedBy(RIGHT.weights, 3n);
			posted(scene, { signatures: [first!, { ...second!, signature: first!.signature }] });
		},
		[
			["SIGNATURE_WRONG", VALIDATORS[1]!],
			["STAKE_WRONG", "id"],
		],
	],
	[
		"a signature of other weights",
		async (scene) => posted(scene, { signatures: await signedBy({ ...RIGHT.weights, paid: 1n }, 3n) }),
		[
			["SIGNATURE_WRONG", VALIDATORS[0]!],
			["SIGNATURE_WRONG", VALIDATORS[1]!],
			["STAKE_WRONG", "id"],
		],
	],
	[
		"too little stake behind them",
		async (scene) => posted(scene, { signers: 1n, signatures: await signedBy(RIGHT.weights, 1n) }),
		[["STAKE_WRONG", "id"]],
	],
	[
		"a payment above what was earned",
		(scene) => {
			scene.view = { ...scene.view, payments: [{ account: account(9), amount: leafOf(account(9)).total + 1n }] };
		},
		[["PAYMENT_WRONG", account(9)]],
	],
	[
		"a payment to somebody who earned nothing",
		(scene) => {
			scene.view = { ...scene.view, payments: [{ account: account(0xbad), amount: 1n }] };
		},
		[["PAYMENT_WRONG", account(0xbad)]],
	],
	[
		"a row of the table",
		(scene) => {
			const { weightPpm, earned, total } = leafOf(PROVIDERS[3]!);
			scene.view = { ...scene.view, shown: [{ account: PROVIDERS[3]!, weightPpm, earned: earned + 1n, total }] };
		},
		[["SHOWN_WRONG", PROVIDERS[3]!]],
	],
	["what all have earned", (scene) => posted(scene, { total: 5n }), [["TOTAL_WRONG", "id"]]],
	[
		"the weights that they continue",
		(scene) => {
			scene.view = { ...scene.view, base: { ...BASE, weights: { ...BASE.weights, paid: 1n } } };
		},
		[["BASE_WRONG", "id"]],
	],
	[
		"weights that they continue, of an epoch that is no earlier",
		async (scene) => {
			const later = { ...BASE.weights, epoch: BigInt(EPOCH) };
			const weights = { ...RIGHT.weights, base: weightsId(DOMAIN, later) };
			posted(scene, { weights, id: weightsId(DOMAIN, weights), signatures: await signedBy(weights, 3n) });
			scene.view = { ...scene.view, base: { ...BASE, id: weights.base, weights: later } };
			const { rewards } = scene.files;
			const right = { [weights.base]: BASE.id, [scene.view.posted!.id]: weightsId(DOMAIN, RIGHT.weights) };
			scene.files = { ...scene.files, rewards: (epoch, id) => rewards(epoch, right[id]!) };
		},
		[["BASE_WRONG", "id"]],
	],
	[
		"weights that they continue, others than those that stood",
		async (scene) => {
			const weights = { ...RIGHT.weights, base: weightsId(DOMAIN, RIGHT.weights) };
			posted(scene, { weights, id: weightsId(DOMAIN, weights), signatures: await signedBy(weights, 3n) });
			const { rewards } = scene.files;
			const of = scene.view.posted!.id;
			scene.files = { ...scene.files, rewards: (epoch, id) => rewards(epoch, id === of ? weights.base : id) };
		},
		[["BASE_WRONG", "id"]],
	],
	[
		"a pot that was not funded",
		(scene) => {
			scene.view = { ...scene.view, funded: BASE.total };
		},
		[
			...RIGHT.leaves
				.filter(({ earned }) => earned > 0n)
				.map(({ account: who }): [string, Hex] => ["EARNED_WRONG", who]),
			["POT_WRONG", "id"],
		],
	],
	[
		"a leaf of the published weights: the right ones follow from the reports",
		(scene) => {
			const { rewards } = scene.files;
			scene.files = {
				...scene.files,
				async rewards(epoch, id) {
					const leaves = await rewards(epoch, id);
					if (id === BASE.id || leaves === null || leaves === "unreadable") return leaves;
					return leaves.map((leaf) => (leaf.account === PROVIDERS[4] ? { ...leaf, total: 1n } : leaf));
				},
			};
		},
		[
			["ROOT_WRONG", "id"],
			["TOTAL_WRONG", PROVIDERS[4]!],
		],
	],
	[
		"leaves that are none",
		(scene) => {
			const { rewards } = scene.files;
			scene.files = {
				...scene.files,
				rewards: async (epoch, id) => (id === BASE.id ? rewards(epoch, id) : "unreadable"),
			};
		},
		[["ROOT_WRONG", "id"]],
	],
];
for (const [what, change, named] of CHANGED)
	test(`changed: ${what}`, async () => {
		const scene = await sceneOf();
		await change(scene);
		const found = await run(scene);
		assert.deepEqual(
			found.differences.map(({ code, who }) => [code, who]),
			named.map(([code, who]) => [code, who === "id" ? scene.view.posted!.id : who]),
		);
		assert.ok(found.checks.some(({ state }) => state === "differs"));
	});

test("changed: an id, which nobody has signed", async () => {
	const scene = await sceneOf();
	posted(scene, { id: BASE.id });
	const codes = (await run(scene)).differences.map(({ code }) => code);
	assert.deepEqual(codes.slice(0, 2), ["ID_WRONG", "SIGNATURE_WRONG"]);
});

test("a wrong statement that was signed and never posted names its signer; one that nobody with a seat signed does not", async () => {
	const lie = forged((leaf) => (leaf.account === PROVIDERS[0] ? { earned: 5n } : {}));
	const id = weightsId(DOMAIN, lie.weights);
	for (const isPosted of [true, false])
		for (const [signatures, accused] of [
			[await signedBy(lie.weights, 4n), [["STATEMENT_WRONG", VALIDATORS[2]]]],
			[(await signedBy(lie.weights, 4n)).map((one) => ({ ...one, signer: account(0x99) })), []],
			[await signedBy(RIGHT.weights, 4n), []],
			[[await signedByStranger(lie.weights)], []],
		] as const) {
			const scene = await sceneOf();
			const { rewards } = scene.files;
			if (!isPosted) scene.view = { ...scene.view, posted: null };
			scene.files = {
				...scene.files,
				statements: async () => [{ weights: lie.weights, signatures }],
				rewards: async (epoch, of) => (of === id ? lie.leaves : rewards(epoch, of)),
			};
			const found = await run(scene);
			assert.deepEqual(
				found.differences.map(({ code, who }) => [code, who]),
				accused,
			);
			assert.equal(found.wrong.length, accused.length);
		}
});

test("statements of other epochs are not looked at; who did not sign is not accused with those who did", async () => {
	const scene = await sceneOf();
	const other = { ...RIGHT.weights, epoch: 8n, set: 15n };
	const signatures = await signedBy(other, 4n);
	scene.files = { ...scene.files, statements: async () => [{ weights: other, signatures }] };
	const found = await run(scene);
	assert.deepEqual([found.differences, found.wrong], [[], []]);
	const lie = forged(() => ({}), { set: 15n });
	const posted_ = await sceneOf(lie);
	const [first, second] = await signedBy(lie.weights, 3n);
	posted(posted_, { signatures: [first!, { ...second!, signature: first!.signature }] });
	assert.deepEqual((await run(posted_)).wrong[0]!.signatures, [first]);
});

test("one that signs a thousand wrong statements is named once", async () => {
	const scene = await sceneOf();
	const lies = await Promise.all(
		Array.from({ length: 40 }, async (_, i) => {
			const { weights } = forged(() => ({}), { set: 15n + BigInt(i) * 16n });
			return { weights, signatures: await signedBy(weights, 4n) };
		}),
	);
	const found = await run({ ...scene, files: { ...scene.files, statements: async () => lies } });
	assert.deepEqual(
		found.differences.map(({ code, who }) => [code, who]),
		[["STATEMENT_WRONG", VALIDATORS[2]]],
	);
	assert.equal(found.wrong.length, 1);
});

test("right statements besides the posted one are no fault: sets grow", async () => {
	const scene = await sceneOf();
	const fewer = createWeights(3n, FACTS);
	const signatures = await signedBy(fewer.weights, 1n);
	const { rewards } = scene.files;
	scene.files = {
		...scene.files,
		statements: async () => [{ weights: fewer.weights, signatures }],
		rewards: async (epoch, id) => (id === weightsId(DOMAIN, fewer.weights) ? fewer.leaves : rewards(epoch, id)),
	};
	const found = await run(scene);
	assert.deepEqual([found.differences, found.wrong], [[], []]);
});

test("what cannot be had is not called equal, and nobody is accused for it", async () => {
	const scene = await sceneOf();
	const without = async (files: Partial<Scene["files"]>) => run({ ...scene, files: { ...scene.files, ...files } });
	const states = (found: Awaited<ReturnType<typeof run>>) =>
		Object.fromEntries(found.checks.map(({ title, state }) => [title.split(" ")[0], state]));
	const noReport = await without({ report: async (who) => (who === VALIDATORS[2] ? null : scene.files.report(who)) });
	assert.deepEqual(noReport.differences, []);
	assert.deepEqual(
		noReport.missing.map(({ code, who }) => [code, who]),
		[["REPORT_MISSING", VALIDATORS[2]]],
	);
	assert.equal(states(noReport).Medians, "unknown");
	const noBase = await without({
		rewards: async (epoch, id) => (id === BASE.id ? null : scene.files.rewards(epoch, id)),
	});
	assert.deepEqual([noBase.differences, noBase.wrong, states(noBase).Totals], [[], [], "unknown"]);
	const nothing = await without({ report: async () => null, rewards: async () => null });
	assert.deepEqual([nothing.differences, nothing.wrong], [[], []]);
	assert.deepEqual(
		["Sums", "Medians", "Earned", "Totals", "Payments"].map((title) => states(nothing)[title]),
		Array.from({ length: 5 }, () => "unknown"),
	);
	const noTransaction = await run({
		...scene,
		view: { ...scene.view, posted: { ...scene.view.posted!, signatures: null } },
	});
	assert.deepEqual([noTransaction.differences, states(noTransaction).Signatures], [[], "unknown"]);
	const early = await run({ ...scene, view: { ...scene.view, posted: null, base: null, seats: [], epoch: EPOCH } });
	assert.deepEqual(
		early.checks.map(({ state }) => state),
		["unknown", "unknown"],
	);
});

test("a report that is left out of the set is not needed", async () => {
	const fewer = createWeights(3n, FACTS);
	const scene = await sceneOf(fewer);
	const files = {
		...scene.files,
		report: async (who: Hex) => (who === VALIDATORS[2] ? null : scene.files.report(who)),
	};
	const found = await run({ ...scene, files });
	assert.deepEqual([found.differences, found.missing], [[], []]);
	assert.ok(found.notes.some((note) => note.includes("does not count")));
});
