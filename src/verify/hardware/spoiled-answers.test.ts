// Roots and openings that are missing, surplus, repeated, reordered, withheld or wrong: each ends in a code
// and a place of its own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { createRowScratch } from "../../protocol/maths/gemm-element.ts";
import { firstSeed } from "../../protocol/probe/challenge-seed.ts";
import type { ChallengeSpec } from "../../protocol/probe/evidence.ts";
import type { AnsweredChallenge } from "../../protocol/probe/evidence-codec.ts";
import type { OpeningRecord } from "../../protocol/probe/records.ts";
import { checkElements } from "./checks/check-gemm.ts";
import { answerStages, assemble, SECRET, sign } from "./honest-evidence.test-kit.ts";
import { ANSWERED, type Change, codeOf, expectCode, shift, spoiled, writable } from "./spoiled-evidence.test-kit.ts";
import { verifyEvidence } from "./verify.ts";

test("roots missing, surplus, repeated, reordered", () => {
	const roots = (a: AnsweredChallenge[]) => writable(a[0]!.roots) as unknown[];
	expectCode("ROOTS_MISSING", "challenges[0].roots.record[2]", (a) => roots(a).pop());
	expectCode("ROOTS_MISSING", "challenges[0].roots.record[0]", (a) => roots(a).splice(0));
	expectCode("ROOTS_MISSING", "challenges[5].roots.record[0]", (a) => writable(a[5]!.roots).splice(0));
	expectCode("ROOTS_SURPLUS", "challenges[0].roots.record[3]", (a) => {
		roots(a).push({ ...a[0]!.roots[2]!, index: 3 });
	});
	expectCode("ROOT_REPEATED", "challenges[0].roots.record[2]", (a) => {
		writable(a[0]!.roots[2]).index = 1;
	});
	expectCode("ROOT_ORDER", "challenges[0].roots.record[1]", (a) => {
		writable(a[0]!.roots[1]).index = 2;
		writable(a[0]!.roots[2]).index = 1;
	});
	// Swapped contents under right numbers: the chain of seeds and the draw no longer fit.
	expectCode("OPENING_PLACE", "challenges[0].opens[0].record[0]", (a) => {
		const [, one, two] = a[0]!.roots;
		[writable(one).root, writable(two).root] = [two!.root, one!.root];
	});
	expectCode("END_WRONG", "challenges[0].end", (a) => {
		writable(a[0]).end = "stopped";
	});
	expectCode("END_WRONG", "challenges[5].end", (a) => {
		writable(a[5]).end = "complete";
	});
});

test("a challenge without a commitment is inconclusive; a commitment that is not opened is not", () => {
	for (const [end, code] of [
		["refused", "CHALLENGE_REFUSED"],
		["silent", "CHALLENGE_SILENT"],
		["garbage", "CHALLENGE_GARBAGE"],
	] as const) {
		const breakOff: Change = (a) => {
			a.splice(4);
			Object.assign(writable(a[3]), { end, opens: [] });
		};
		const verdict = verifyEvidence(sign(spoiled(breakOff)));
		assert.deepEqual([verdict.status, "code" in verdict && verdict.code], ["inconclusive", code]);
		expectCode("STREAM_WITHHELD", "challenges[2].end", (a) => {
			a.splice(3);
			Object.assign(writable(a[2]), { end, opens: [] });
		});
		expectCode("OPENING_WITHHELD", "challenges[3].opens[0].end", (a) => {
			a.splice(4);
			writable(a[3]!.opens[0]).end = end;
		});
		expectCode("OPENS_WRONG", "challenges[3].opens[0]", (a) => {
			writable(a[3]).end = end;
		});
		// A lie elsewhere is still a lie.
		expectCode("ELEMENT_WRONG", "challenges[0].opens[0].record[0]", (a) => {
			breakOff(a);
			writable(a[0]!.spec).precision = "fp8";
		});
	}
	expectCode("OPENS_MISSING", "challenges[3].opens[0]", (a) => writable(a[3]).opens.pop());
	expectCode("OPENS_MISSING", "challenges[2].opens[1]", (a) => writable(a[2]).opens.pop());
	expectCode("OPENS_WRONG", "challenges[2].opens[0].what", (a) => {
		writable(a[2]!.opens[0]).what = "leaves";
	});
	expectCode("OPENS_WRONG", "challenges[0].opens[1].what", (a) => {
		writable(a[0]).opens.push({ ...a[0]!.opens[0]!, sentAtUs: a[0]!.opens[0]!.receivedAtUs });
		for (const c of a.slice(2)) shift(c, 1000);
		shift(a[1]!, 0);
	});
	// The link broke with another device's silence: what this one had committed could not be opened.
	const unopened = verifyEvidence(
		sign(
			spoiled((a) => {
				a.splice(2);
				writable(a[0]).opens = [];
				Object.assign(writable(a[1]), { end: "silent", opens: [] });
			}),
		),
	);
	assert.equal("code" in unopened && unopened.code, "CHALLENGE_SILENT");
});

test("N15: a connection that ended after the draw proves nothing, for nobody; a lie elsewhere is still a lie", () => {
	const cuts: readonly Change[] = [
		(a) => {
			a.splice(4);
			Object.assign(writable(a[3]!.opens[0]), { end: "cut" });
		},
		(a) => {
			a.splice(3);
			Object.assign(writable(a[2]), { end: "cut", opens: [] });
		},
		// The first of two openings, and the second.
		...[0, 1].map(
			(open): Change =>
				(a) => {
					a.splice(3);
					writable(a[2]).opens.splice(open + 1);
					Object.assign(writable(a[2]!.opens[open]), { end: "cut" });
				},
		),
	];
	for (const cut of cuts) {
		const verdict = verifyEvidence(sign(spoiled(cut)));
		assert.deepEqual([verdict.status, "code" in verdict && verdict.code], ["inconclusive", "OPENING_CUT"]);
		expectCode("ELEMENT_WRONG", "challenges[0].opens[0].record[0]", (a) => {
			cut(a);
			writable(a[0]!.spec).precision = "fp8";
		});
	}
	// Asked on after the end; and a commitment that was never opened, without a word on why.
	expectCode("OPENS_WRONG", "challenges[2].opens[1]", (a) => {
		a.splice(3);
		Object.assign(writable(a[2]!.opens[0]), { end: "cut" });
	});
	expectCode("OPENS_MISSING", "challenges[3].opens[0]", (a) => {
		a.splice(4);
		writable(a[3]).opens.pop();
	});
});

test("a stream of a gemm that did not end well", () => {
	expectCode("SPEC_OF", "challenges[2].spec.of", (a) => {
		a.splice(3);
		Object.assign(writable(a[0]), { end: "refused", opens: [] });
	});
});

test("openings empty, missing, surplus, repeated, reordered, elsewhere", () => {
	const at = "challenges[0].opens[0]";
	const records = (a: AnsweredChallenge[]) => writable(a[0]!.opens[0]!.records);
	expectCode("OPENINGS_MISSING", `${at}.record[0]`, (a) => records(a).splice(0));
	expectCode("OPENINGS_MISSING", `${at}.record[2]`, (a) => records(a).pop());
	expectCode("OPENINGS_MISSING", `${at}.record[0]`, (a) => records(a).shift());
	expectCode("OPENINGS_SURPLUS", `${at}.record[3]`, (a) => records(a).push({ ...records(a)[0], index: 0 }));
	expectCode("OPENING_REPEATED", `${at}.record[1]`, (a) => {
		records(a)[1] = records(a)[0];
	});
	expectCode("OPENING_ORDER", `${at}.record[0]`, (a) => records(a).reverse());
	expectCode("OPENING_PLACE", `${at}.record[1]`, (a) => {
		records(a)[1].index ^= 1;
	});
	for (const open of [0, 1])
		expectCode("OPENINGS_MISSING", `challenges[2].opens[${open}].record[2]`, (a) =>
			writable(a[2]!.opens[open]!.records).pop(),
		);
});

test("leaves and paths", () => {
	for (const [challenge, open] of [
		[0, 0],
		[2, 0],
		[2, 1],
		[3, 0],
	] as const) {
		const at = `challenges[${challenge}].opens[${open}].record[1]`;
		const record = (a: AnsweredChallenge[]) => writable(a[challenge]!.opens[open]!.records[1]);
		expectCode("LEAF_LENGTH", at, (a) => {
			record(a).leaf = record(a).leaf.slice(0, 1023);
		});
		expectCode("LEAF_LENGTH", at, (a) => {
			record(a).leaf = new Uint8Array(0);
		});
		expectCode("PATH_LENGTH", at, (a) => record(a).path.push(new Uint8Array(32)));
		expectCode("PATH_LENGTH", at, (a) => {
			record(a).path = Array.from({ length: 3000 }, () => new Uint8Array(32));
		});
		if (ANSWERED[challenge]!.opens[open]!.records[1]!.path.length > 0)
			expectCode("PATH_LENGTH", at, (a) => record(a).path.pop());
		expectCode("ROOT_MISMATCH", at, (a) => {
			record(a).leaf[1023] ^= 128;
		});
		if (ANSWERED[challenge]!.opens[open]!.records[1]!.path.length > 0)
			expectCode("ROOT_MISMATCH", at, (a) => {
				record(a).path[0][31] ^= 1;
			});
	}
});

/** The stream of the GPU takes so long. */
const late =
	(us: number): Change =>
	(a) => {
		for (const later of a.slice(2)) shift(later, 500_000);
		writable(a[2]!).sentAtUs -= 500_000;
		writable(a[2]!.roots[0]).atUs = a[2]!.sentAtUs + 1;
		writable(a[2]!.roots[1]).atUs = a[2]!.sentAtUs + us;
	};

test("a late stream", () => {
	// The GPU makes 2·128·512·128·3 operations in 300 ms: 256 KiB in 200 ms. Half of that a pass, two passes:
	// 200 ms.
	const { figures } = assemble(spoiled(late(2))).body;
	const made = figures.find(({ name }) => name === "gemm.int8")!.value / 128;
	const all = Math.ceil((2 * 0.5 * 262_144e6) / made);
	assert.equal(codeOf(sign(spoiled(late(all - 10)))), "valid");
	expectCode("STREAM_LATE", "challenges[2]", late(all + 10));
});

test("a GPU that reads slower than bytes can be fetched: no bytes, a finding, and nobody is accused", () => {
	const read = (us: number) => {
		const verdict = verifyEvidence(sign(spoiled(late(us))));
		assert.ok(verdict.status === "valid", JSON.stringify(verdict));
		const value = (name: string) => verdict.figures.find((f) => f.device === 0 && f.name === name)?.value ?? null;
		const isSlow = verdict.findings.some(({ code }) => code === "MEMORY_SLOW");
		return [value("memory.resident"), value("memory.bandwidth"), isSlow];
	};
	// Two passes of 256 KiB. At three times PCIe 5 and more: what that could have fetched is left out.
	assert.deepEqual(read(2), [262_144 - 64_000 - 2, 262_144_000_000, false]);
	// Below that what PCIe 6 could have fetched, and nothing where that is all.
	assert.deepEqual(read(3), [262_144 - 192_000 - 2, 174_762_666_666, false]);
	assert.deepEqual(read(4), [262_144 - 256_000 - 3, 131_072_000_000, false]);
	assert.deepEqual(read(5), [null, null, true]);
	assert.deepEqual(read(60), [null, null, true]);
});

test("both elements of an opened leaf are checked, and only they", () => {
	const { spec, opens } = ANSWERED[1]!;
	assert.ok(spec.kind === "gemm");
	const seeds = [firstSeed(SECRET, 1, null, spec, 0)];
	const [{ round, index, leaf, path }] = opens[0]!.records as [OpeningRecord];
	const check = (wrongColumn: number | null) => {
		const bytes = leaf.slice();
		if (wrongColumn !== null) bytes[2 * wrongColumn]! ^= 1;
		const openings = [{ round, index, leaf: bytes, path }];
		const open = { record: { ...opens[0]!, attachment: 0 }, where: "open", openings };
		return checkElements(open, spec, seeds, [[17, 400]], createRowScratch())?.code;
	};
	assert.deepEqual(
		[check(null), check(17), check(400), check(18)],
		[undefined, "ELEMENT_WRONG", "ELEMENT_WRONG", undefined],
	);
});

test("a stream looks into the leaves beneath it: a wrong product that the gemm's own draw missed is caught there", () => {
	const stages: ChallengeSpec[][] = [
		[{ kind: "gemm", device: 0, precision: "int8", m: 128, n: 512, k: 128, rounds: 2, keep: 2, samples: 1 }],
		[{ kind: "stream", device: 0, of: 0, newest: 0, passes: 2, samples: 4 }],
	];
	// All four (pass, group) places are opened, so the first round is always looked into. Try secrets until the
	// gemm's one draw falls into the second round, which is right.
	for (let attempt = 1; attempt < 40; attempt++) {
		const secret = new Uint8Array(32).fill(attempt);
		let round = 0;
		const answered = answerStages(stages, null, secret, (challenge, bytes) => {
			if (challenge === 0 && round++ === 0) for (let i = 0; i < bytes.length; i++) bytes[i]! ^= 1;
		});
		if (answered[0]!.opens[0]!.records[0]!.round === 0) continue;
		const verdict = verifyEvidence(sign(answered, { secret: bytesToHex(secret) }));
		assert.ok(verdict.status === "invalid");
		assert.equal(verdict.code, "ELEMENT_WRONG");
		assert.match(verdict.where, /^challenges\[1\]\.opens\[1\]\.record/);
		return;
	}
	assert.fail("no secret drew the right round");
});
