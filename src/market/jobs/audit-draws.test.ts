// Draws of a job done again: as they are nothing is named; whatever a validator changes afterwards, list,
// secret, block, choice, windows, is.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobAudit, JobPart } from "../../protocol/network/job.ts";
import { drawHash } from "../../protocol/network/job-offer.ts";
import { auditDraws, type DrawBounds, type DrawFinding, type PublicDraw, type PublicDraws } from "./audit-draws.ts";
import { drawFrom, drawSeed, drawWindows, listHash, NO_BLOCK, secretCommitment } from "./draw.ts";
import { newJob } from "./job-rules.ts";

const id = "aa".repeat(32);
const secret = "5e".repeat(32);
const name = (n: number) => n.toString(16).padStart(64, "0");
const blockOf = (n: number) => `b10c${name(n).slice(4)}`;
/** Others for each part. */
const list = (n: number, part = 0) =>
	Array.from({ length: n }, (_, i) => ({ provider: name(100 * part + i + 1), weightPpm: 1_000_000 + i }));
const SEGMENTS = 40;

function draw(part: number, role: 0 | 1 | 2, hosts: number, isOnChain = true): PublicDraw & { seed: Uint8Array } {
	const all = list(hosts, part);
	const afterBlock = isOnChain ? 10 + 3 * part + role : null;
	const block = afterBlock === null ? NO_BLOCK : blockOf(afterBlock + 1);
	const hash = listHash(all);
	const seed = drawSeed({ job: id, part, attempt: 1, role }, hash, secret, block);
	return {
		part,
		attempt: 1,
		role,
		list: all,
		listHash: hash,
		afterBlock,
		block,
		drawn: drawFrom(all, seed, hosts),
		seed,
	};
}

function stage(isOnChain = true): { of: PublicDraws; bounds: DrawBounds } {
	const terms = { segments: SEGMENTS, parts: 2, method: { name: "sampled", count: 2 } as const };
	const parts: JobPart[] = [];
	const draws: PublicDraw[] = [];
	const assigned = new Map<number, string[]>();
	for (const part of [0, 1]) {
		const [provider, auditors, windows] = [
			draw(part, 0, 9, isOnChain),
			draw(part, 1, 7, isOnChain),
			draw(part, 2, 0, isOnChain),
		];
		for (const { seed: _, ...one } of [provider, auditors, windows]) draws.push(one);
		const audits = drawWindows(windows.seed, SEGMENTS / 2, 2, 2).map((one, i): JobAudit => {
			const auditor = i === 0 ? null : auditors.drawn[i]!;
			return { ...one, auditor, untilMs: 0, tried: i === 1 ? [auditors.drawn[0]!] : [], answer: name(9), agrees: true };
		});
		const made = newJob(id, terms as Parameters<typeof newJob>[1]).parts[part]!;
		parts.push({
			...made,
			attempt: 1,
			state: "paid",
			provider: provider.drawn[part]!,
			audits,
			claim: name(5),
			isChecked: true,
		});
		const { list: all, listHash: hash, block, drawn } = provider;
		assigned.set(part, [
			drawHash({ for: { job: id, part, attempt: 1, role: 0 }, list: all, listHash: hash, block, drawn }),
		]);
	}
	const blocks = new Map(Array.from({ length: 30 }, (_, n) => [n, blockOf(n)]));
	return {
		of: { id, secret, perWindow: 2, draws, parts },
		bounds: {
			...terms,
			secretCommitment: secretCommitment(secret),
			isOnChain,
			blocks,
			assigned: isOnChain ? assigned : null,
		},
	};
}

test("draws that are as they must be name nobody, with a chain and without one", () => {
	for (const isOnChain of [true, false]) {
		const { of, bounds } = stage(isOnChain);
		const found = auditDraws(of, bounds);
		assert.deepEqual(found.changed, []);
		assert.equal(found.redrawn, 6);
		const passed = found.notes.filter((note) => note.includes("passed over"));
		assert.deepEqual(passed, ["part 1: 1 drawn before its provider were passed over as busy or away"]);
		assert.equal(
			found.notes.some((note) => note.includes("secret alone")),
			!isOnChain,
		);
	}
	const { of, bounds } = stage();
	const early = auditDraws({ ...of, secret: null }, { ...bounds, blocks: null, assigned: null });
	assert.deepEqual([early.changed, early.redrawn], [[], 0]);
	assert.equal(early.notes.filter((note) => /secret|--rpc/.test(note)).length, 2);
});

test("of a long list 32 are drawn, and a weight may be as small as 1", () => {
	const { of, bounds } = stage(false);
	const all = list(40).map((one) => ({ ...one, weightPpm: 1 }));
	const hash = listHash(all);
	const seed = drawSeed({ job: id, part: 0, attempt: 1, role: 1 }, hash, secret, NO_BLOCK);
	const one = { part: 0, attempt: 1, role: 1, list: all, listHash: hash, afterBlock: null, block: NO_BLOCK };
	const changed = (drawn: number) =>
		auditDraws({ ...of, draws: [{ ...one, drawn: drawFrom(all, seed, drawn) }], parts: [] }, bounds).changed;
	assert.deepEqual(changed(32), []);
	for (const drawn of [31, 33, 40]) assert.equal(changed(drawn)[0]?.what, "drawn");
});

test("what is named says where and why, and such a draw does not count as done again", () => {
	const { of, bounds } = stage();
	const found = (change: Partial<PublicDraw>, more: Partial<DrawBounds> = {}) =>
		auditDraws(
			{ ...of, draws: of.draws.with(0, { ...of.draws[0]!, ...change }) },
			{ ...bounds, assigned: null, ...more },
		);
	const other = found({ block: blockOf(20) });
	assert.deepEqual(other.changed, [{ part: 0, attempt: 1, what: "block", why: "block 11 has another hash" }]);
	assert.equal(other.redrawn, 5);
	assert.equal(found({ afterBlock: null }).redrawn, 5);
	assert.equal(found({}, { blocks: null }).redrawn, 6, "nobody looked at the chain");
	assert.equal(found({ role: 3 }).changed[0]!.why, "there is no such draw");
	const [part] = of.parts;
	const stranger = "abcdef".repeat(11).slice(0, 64);
	const audits = part!.audits.with(1, { ...part!.audits[1]!, auditor: stranger });
	const named = auditDraws({ ...of, parts: [{ ...part!, audits }] }, { ...bounds, assigned: null }).changed;
	assert.deepEqual(named, [{ part: 0, attempt: 1, what: "auditor", why: "abcdefabcdef… was not drawn" }]);
	const claimed = auditDraws({ ...of, parts: [{ ...part!, state: "claimed", audits: [] }] }, bounds);
	assert.ok(!claimed.notes.some((note) => note.includes("without evidence")), "it is not paid");
	// An assignment is by the draw of its own part's provider, and by no other.
	for (const at of [1, 3]) {
		const { list: all, listHash: hash, block, drawn } = of.draws[at]!;
		const hashed = drawHash({
			for: { job: id, part: 0, attempt: 1, role: 0 },
			list: all,
			listHash: hash,
			block,
			drawn,
		});
		const why = "the chain has an assignment by another draw";
		assert.deepEqual(auditDraws(of, { ...bounds, assigned: new Map([[0, [hashed]]]) }).changed, [
			{ part: 0, attempt: 0, what: "assignment", why },
		]);
	}
});

test("whatever was changed afterwards is named", () => {
	const { of, bounds } = stage();
	const withDraw = (at: number, change: Partial<PublicDraw>): PublicDraws => ({
		...of,
		draws: of.draws.map((one, i) => (i === at ? { ...one, ...change } : one)),
	});
	const withPart = (change: Partial<JobPart>): PublicDraws => ({
		...of,
		parts: of.parts.map((one, i) => (i === 0 ? { ...one, ...change } : one)),
	});
	const [first] = of.draws;
	const windows = of.parts[0]!.audits;
	const fewer = first!.list.slice(1);
	const other = { list: fewer, listHash: listHash(fewer) };
	/** A draw that is right in itself, of a list made up later. */
	const seed = drawSeed({ job: id, part: 0, attempt: 1, role: 0 }, other.listHash, secret, first!.block!);
	const redrawn = { ...other, drawn: drawFrom(fewer, seed, 9) };
	const listed = (all: PublicDraw["list"]) => ({ list: all, listHash: listHash(all) });
	const cases: readonly [string, DrawFinding["what"], PublicDraws, Partial<DrawBounds>?][] = [
		["a host less on the list", "list", withDraw(0, { list: fewer })],
		[
			"another weight",
			"list",
			withDraw(0, { list: first!.list.map((one, i) => (i === 2 ? { ...one, weightPpm: 9_000_000 } : one)) }),
		],
		[
			"a list out of order",
			"list",
			withDraw(0, { list: first!.list.toReversed(), listHash: listHash(first!.list.toReversed()) }),
		],
		["another list, drawn anew", "assignment", withDraw(0, redrawn)],
		["another secret", "secret", { ...of, secret: "5f".repeat(32) }],
		["no secret at all", "secret", { ...of, secret: "what" }],
		["another block", "block", withDraw(0, { block: blockOf(20) })],
		["a block that the chain has not", "block", withDraw(0, { afterBlock: 99 })],
		["no block on a chain", "block", withDraw(0, { block: NO_BLOCK })],
		["no number of a block on a chain", "block", withDraw(0, { afterBlock: null })],
		[
			"two drawn in another order",
			"drawn",
			withDraw(0, { drawn: [first!.drawn[1]!, first!.drawn[0]!, ...first!.drawn.slice(2)] }),
		],
		["fewer drawn", "drawn", withDraw(1, { drawn: of.draws[1]!.drawn.slice(0, 3) })],
		["a provider that nobody drew", "provider", withPart({ provider: name(77) })],
		[
			"an auditor that nobody drew",
			"auditor",
			withPart({ audits: windows.with(1, { ...windows[1]!, auditor: name(77) }) }),
		],
		[
			"an auditor replaced by nobody's draw",
			"auditor",
			withPart({ audits: windows.with(1, { ...windows[1]!, tried: [name(77)] }) }),
		],
		[
			"another window",
			"windows",
			withPart({ audits: windows.with(1, { ...windows[1]!, first: windows[1]!.first === 2 ? 4 : 2 }) }),
		],
		["a window less", "windows", withPart({ audits: windows.slice(0, -1) })],
		["no draw of the provider", "missing", { ...of, draws: of.draws.slice(1) }],
		["no draw of windows", "missing", { ...of, draws: of.draws.filter(({ role }) => role !== 2) }],
		["no draw of auditors", "missing", { ...of, draws: of.draws.filter(({ role }) => role !== 1) }],
		["a host twice on the list", "list", withDraw(0, listed([first!.list[0]!, ...first!.list]))],
		["a host without weight", "list", withDraw(0, listed(first!.list.map((one) => ({ ...one, weightPpm: 0 }))))],
		["a weight beyond all", "list", withDraw(0, listed(first!.list.map((one) => ({ ...one, weightPpm: 2 ** 31 }))))],
		["a draw for nothing", "drawn", withDraw(0, { role: 3 })],
		["a block that is no hash", "block", withDraw(0, { block: "what" })],
		["no number of a block, and nobody looks", "block", withDraw(0, { afterBlock: null }), { blocks: null }],
		["a block where there is no chain", "block", of, { isOnChain: false, assigned: null }],
		["an assignment by another draw", "assignment", of, { assigned: new Map([[0, [name(1)]]]) }],
	];
	for (const [what, named, changed, more] of cases) {
		const found = auditDraws(changed, { ...bounds, ...more });
		assert.ok(
			found.changed.some((one) => one.what === named),
			`${what}: ${JSON.stringify(found.changed)}`,
		);
	}
	// What is not drawn yet, and what nobody has or audits, is nobody's fault.
	const early = { ...of, draws: of.draws.map((one) => ({ ...one, block: null, drawn: [] })) };
	const untaken = of.parts.map((one) => ({ ...one, state: "open" as const, provider: null, audits: [] }));
	assert.deepEqual(auditDraws({ ...early, parts: untaken }, { ...bounds, assigned: null }).changed, []);
	assert.deepEqual(auditDraws({ ...of, draws: [], parts: untaken }, { ...bounds, assigned: null }).changed, []);
	const unchecked = auditDraws(withPart({ audits: [] }), bounds);
	assert.deepEqual(unchecked.changed, []);
	assert.ok(unchecked.notes.some((note) => note.includes("part 0 was paid without evidence")));
	// What is run again whole is more than was drawn.
	const whole = withPart({ audits: [{ ...windows[0]!, first: 0, count: SEGMENTS / 2 }] });
	assert.deepEqual(auditDraws(whole, bounds).changed, []);
});
