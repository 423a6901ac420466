// Every cheater of tests/toy/cheats.ts against the whole probe: each must end in its code. Those that play
// with the wire run as processes behind a real link, the others inside this one. The honest toy with the same
// challenges is in honest.test.ts; skipped rows are counted in skipped-rows.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import type {
	ChallengeSpec,
	ChaseSpec,
	CopySpec,
	FmaSpec,
	GemmSpec,
	StreamSpec,
} from "../src/protocol/probe/evidence.ts";
import { CHEATS, POSERS } from "./toy/cheats.ts";
import { outcomeOf, probeToy, type ToyProbe } from "./toy/probe-toy.ts";

const GEMM: GemmSpec = {
	kind: "gemm",
	device: 0,
	precision: "int8",
	m: 128,
	n: 1024,
	k: 128,
	rounds: 3,
	keep: 3,
	samples: 64,
};
const FILL: GemmSpec = { ...GEMM, n: 512, rounds: 2, keep: 2, samples: 16 };
const STREAM: StreamSpec = { kind: "stream", device: 0, of: 0, newest: 0, passes: 2, samples: 2 };
const FMA: FmaSpec = { kind: "fma", device: 0, precision: "fp32", lanes: 1024, steps: 1024, rounds: 2, samples: 8 };

const gemm = [[GEMM]];
const fma = [[FMA]];
const stream = [[FILL], [STREAM]];
const twoCards: ChallengeSpec[][] = [
	[FILL, { ...FILL, device: 1 }],
	[STREAM, { ...STREAM, device: 1, of: 1 }],
];

/** Both cards fill three rounds and keep two; each reads the other's newest two, then its own. */
const KEPT: GemmSpec = { ...FILL, rounds: 3 };
const peers: ChallengeSpec[][] = [
	[KEPT, { ...KEPT, device: 1 }],
	[
		{ ...STREAM, of: 1 },
		{ ...STREAM, device: 1, of: 0 },
	],
];
const twoGpus = { gpus: 2 };
const COPY: CopySpec = { kind: "copy", device: 1, of: 0, newest: 1, samples: 1 };
const READ_BACK: StreamSpec = { ...STREAM, device: 1, newest: 1 };
const disk: ChallengeSpec[][] = [[KEPT], [COPY], [READ_BACK]];
const twoFills: ChallengeSpec[][] = [...disk, [KEPT], [{ ...COPY, of: 3 }], [{ ...READ_BACK, of: 3 }]];
const withDisk = { disk: true };
const CHASE: ChaseSpec = { kind: "chase", device: 0, of: 0, newest: 0, intervals: 8, samples: 1 };
const chase: ChallengeSpec[][] = [[FILL], [CHASE]];
/** Three times all of it, then one of two rounds: what the default plan asks of a memory that seems slow. */
const wholeAndPart: ChallengeSpec[][] = [...chase, [CHASE], [CHASE], [{ ...CHASE, newest: 1 }]];

const PROCESS = { asProcess: true };

type Row = readonly [cheat: string, outcome: string, stages: ToyProbe["stages"], more?: Partial<ToyProbe>];

// Deadlines are short only for what never comes, so that a busy machine changes no code: a toy of its own may
// take seconds to start there.
const SHORT_READY = { asProcess: true, deadlines: { readyMs: 1500 } };
const SHORT_ANSWER = { asProcess: true, deadlines: { answerMs: 1500 } };
const SHORT_PING_AND_ANSWER = { asProcess: true, deadlines: { pingMs: 1500, answerMs: 1500 } };
const SHORT_DRAW = { asProcess: true, deadlines: { openMs: 1500 } };

const TABLE: readonly Row[] = [
	["diagonal", "invalid ELEMENT_WRONG", gemm],
	["smaller-n", "invalid PATH_LENGTH", gemm],
	["smaller-n-repeated", "invalid ELEMENT_WRONG", gemm],
	["smaller-k", "invalid ELEMENT_WRONG", gemm],
	["fewer-rounds", "invalid ROOTS_MISSING", gemm],
	["fewer-lanes", "invalid PATH_LENGTH", fma],
	["fewer-steps", "invalid LANE_WRONG", fma],
	["skipped-rows", "invalid ELEMENT_WRONG", gemm],
	["precision-fp8", "invalid ELEMENT_WRONG", gemm],
	["precision-int8", "invalid ELEMENT_WRONG", [[{ ...GEMM, precision: "fp16" }]]],
	["not-fused", "invalid LANE_WRONG", fma],
	["stale-seed", "invalid ELEMENT_WRONG", gemm],
	["stale-product", "invalid ELEMENT_WRONG", gemm],
	["unchained-rounds", "invalid ELEMENT_WRONG", gemm],
	["reordered-rounds", "invalid ROOT_ORDER", gemm],
	["reordered-roots", "invalid ROOT_MISMATCH", gemm],
	["repeated-round", "invalid ROOT_REPEATED", gemm],
	["surplus-round", "invalid ROOTS_SURPLUS", gemm],
	["no-rounds", "invalid ROOTS_MISSING", gemm],
	["empty-openings", "invalid OPENINGS_MISSING", gemm],
	["missing-opening", "invalid OPENINGS_MISSING", gemm],
	["surplus-opening", "invalid OPENINGS_SURPLUS", gemm],
	["duplicated-opening", "invalid OPENING_REPEATED", gemm],
	["reordered-openings", "invalid OPENING_ORDER", gemm],
	["short-path", "invalid PATH_LENGTH", gemm],
	["long-path", "invalid PATH_LENGTH", gemm],
	["wrong-path", "invalid ROOT_MISMATCH", gemm],
	["wrong-leaf", "invalid ROOT_MISMATCH", gemm],
	["short-leaf", "invalid LEAF_LENGTH", gemm],
	["parent-as-leaf", "invalid LEAF_LENGTH", gemm],
	["leaves-hashed-as-nodes", "invalid ROOT_MISMATCH", gemm],
	["wrong-digest", "invalid ROOT_MISMATCH", stream],
	["wrong-leaf-below-digest", "invalid ROOT_MISMATCH", stream],
	["recomputed-late", "invalid STREAM_LATE", stream, { gpus: 1 }],
	["fetched-late", "invalid STREAM_LATE", stream, { gpus: 1 }],
	["one-device-as-two", "invalid DEVICE_REPEATED", twoCards, twoGpus],
	["one-memory-as-two", "invalid STREAM_LATE", twoCards, twoGpus],
	["one-card-as-two", "invalid STREAM_LATE", twoCards, twoGpus],
	["second-card-refuses", "invalid CARD_WITHOUT_MEMORY", twoCards, twoGpus],
	["all-cards-refuse", "inconclusive CHALLENGE_REFUSED", twoCards, twoGpus],
	["peer-own-bytes", "invalid DIGEST_WRONG", peers, twoGpus],
	["peer-zeros", "invalid DIGEST_WRONG", peers, twoGpus],
	["peer-first-rounds", "invalid DIGEST_WRONG", peers, twoGpus],
	["peer-breaks-off", "invalid STREAM_WITHHELD", peers, twoGpus],
	["disk-wrong-copy", "invalid DIGEST_WRONG", disk, withDisk],
	["disk-other-rounds", "invalid DIGEST_WRONG", disk, withDisk],
	["disk-stale", "invalid DIGEST_WRONG", twoFills, withDisk],
	["disk-forgets", "invalid DIGEST_WRONG", disk, withDisk],
	["disk-refuses-to-read", "invalid STREAM_WITHHELD", disk, withDisk],
	["disk-copy-withheld", "inconclusive CHALLENGE_REFUSED", disk, withDisk],
	["disk-wrong-openings", "invalid ROOT_MISMATCH", disk, withDisk],
	// Valid, and worth what there is: red-team.test.ts counts what these gain.
	["cards-in-turn", "valid", twoCards, twoGpus],
	["gpu-as-cpu", "valid", [[FILL, { ...FILL, device: 1 }]], { gpus: 1 }],
	["cpu-refuses", "valid", [[FILL, { ...FILL, device: 1 }]], { gpus: 1 }],
	["pool", "invalid MEMORY_APART", wholeAndPart, { gpus: 1 }],
	["pool-in-halves", "valid", wholeAndPart, { gpus: 1 }],
	["half-its-time", "valid", wholeAndPart, { gpus: 1 }],
	["relay", "valid", chase],
	["commitment-changed", "invalid ROOT_MISMATCH", gemm],
	["commitment-withheld", "inconclusive CHALLENGE_SILENT", gemm, SHORT_ANSWER],
	["commitment-after-draw", "invalid OPENING_WITHHELD", gemm],
	["hang-up-on-claim", "inconclusive CHALLENGE_SILENT", gemm, PROCESS],
	// N15: a host that was killed looks the same. It counts as withholding does, and is forgiven as seldom
	// (schedule.test.ts).
	["hang-up-on-draw", "inconclusive OPENING_CUT", gemm, PROCESS],
	["refuses-draw", "invalid OPENING_WITHHELD", gemm],
	["silent-on-draw", "invalid OPENING_WITHHELD", gemm, SHORT_DRAW],
	["silence", "inconclusive LINK_SILENT", gemm, SHORT_READY],
	["silence-after-claim", "inconclusive CHALLENGE_SILENT", gemm, SHORT_PING_AND_ANSWER],
	["trickle", "inconclusive LINK_DEADLINE", gemm, { deadlines: { readyMs: 1500 } }],
	["trickled-openings", "invalid OPENING_WITHHELD", gemm, SHORT_DRAW],
	["endless", "inconclusive FRAME_TOO_LARGE", gemm, PROCESS],
	["endless-progress", "inconclusive CHALLENGE_GARBAGE", gemm, PROCESS],
	["endless-roots", "invalid ROOTS_SURPLUS", gemm, PROCESS],
	["endless-openings", "invalid OPENING_WITHHELD", gemm, PROCESS],
	["giant-frame", "inconclusive FRAME_TOO_LARGE", gemm, PROCESS],
	["giant-frame-later", "inconclusive CHALLENGE_GARBAGE", gemm, PROCESS],
];

test("every cheat has its row", () => {
	assert.deepEqual(TABLE.map(([cheat]) => cheat).sort(), Object.keys({ ...CHEATS, ...POSERS }).sort());
});

// Two at a time: each probe is a process of its own, and none of the bounds is near.
test("cheaters", { concurrency: 2 }, async (t) => {
	await Promise.all(
		TABLE.map(([cheat, outcome, stages, more]) =>
			t.test(cheat, async () => {
				const result = await probeToy({ cheat, stages, ...more });
				const detail = result.verdict.status === "valid" ? "" : ` at ${result.verdict.where}: ${result.verdict.detail}`;
				assert.equal(`${outcomeOf(result)}${detail}`, `${outcome}${detail}`);
			}),
		),
	);
});

test("a CPU that is as late is not accused, but its memory does not count", async () => {
	for (const cheat of ["recomputed-late", "fetched-late"]) {
		const { verdict } = await probeToy({ cheat, stages: stream });
		assert.equal(verdict.status, "valid");
		assert.ok(verdict.status === "valid" && verdict.findings.some(({ code }) => code === "MEMORY_UNPROVEN"));
		assert.ok(!verdict.figures.some(({ name }) => name.startsWith("memory.")));
	}
});

test("a disk that makes its bytes again instead of keeping them is not accused, but nothing of it counts", async () => {
	for (const cheat of ["recomputed-late", "fetched-late"]) {
		const { verdict } = await probeToy({ cheat, stages: disk, disk: true });
		assert.ok(verdict.status === "valid", JSON.stringify(verdict));
		assert.ok(verdict.findings.some(({ code }) => code === "DISK_UNPROVEN"));
		assert.ok(!verdict.figures.some(({ name }) => name.startsWith("disk.")));
	}
	const { verdict } = await probeToy({ stages: disk, disk: true });
	assert.ok(verdict.status === "valid" && !verdict.findings.some(({ code }) => code === "DISK_UNPROVEN"));
});

test("a peer whose bytes are made again instead of read is as slow as that", async () => {
	const speedOf = async (cheat?: string) => {
		const { verdict } = await probeToy({ ...(cheat && { cheat }), stages: peers, gpus: 2 });
		assert.ok(verdict.status === "valid", JSON.stringify(verdict));
		return verdict.figures.filter(({ name }) => name.startsWith("peer.")).map(({ value }) => value);
	};
	const [honest, remade] = [await speedOf(), await speedOf("recomputed-late")];
	assert.deepEqual([honest.length, remade.length], [2, 2]);
	// No faster than the proven products: those took three rounds of two, late() twice as long again.
	assert.ok(Math.max(...remade) < Math.min(...honest), `${remade} against ${honest}`);
});

test("floods, giant frames and endless output did not fill the verifier's memory", () => {
	// Of this whole process: the verifier, the toys inside it and the test runner.
	const peakMiB = process.resourceUsage().maxRSS / 1024;
	assert.ok(peakMiB < 300, `${peakMiB} MiB`);
});
