// Each check at its edge, by hand-made answers: the last value that passes and the first that does not. Found
// by changing one comparison at a time and looking which change no test of whole files saw.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FMA_PRECISIONS } from "../../../protocol/maths/precision.ts";
import type {
	ChallengeSpec,
	DroppedTry,
	EvidenceBody,
	FmaSpec,
	GemmSpec,
	HostClaim,
	OpenRecord,
	Reading,
} from "../../../protocol/probe/evidence.ts";
import { type Answered, isCommitted, readAnswers } from "../answers.ts";
import { type Fault, firstFault } from "../fault.ts";
import { CLAIM } from "../honest-evidence.test-kit.ts";
import { POLICY } from "../policy.ts";
import { withoutWord } from "./check-countersign.ts";
import { checkDropped } from "./check-dropped.ts";
import { checkFills } from "./check-fills.ts";
import { checkOpens, wasCut } from "./check-opens.ts";
import { checkReadings } from "./check-readings.ts";
import { checkRoots } from "./check-roots.ts";
import { checkSpecs } from "./check-specs.ts";
import { checkTimes } from "./check-times.ts";
import { checkWork } from "./check-work.ts";

const said = (found: Fault | null) => (found === null ? null : `${found.code} ${found.where}`);
const root = new Uint8Array(32);
const GEMM: GemmSpec = {
	...{ kind: "gemm", device: 0, precision: "int8", m: 128, n: 512, k: 128, rounds: 1, keep: 1, samples: 1 },
};
const FMA: FmaSpec = {
	...{ kind: "fma", device: 0, precision: "fp32", lanes: 256, steps: 512, rounds: 1, samples: 1 },
};
const CHASE: ChallengeSpec = { kind: "chase", device: 0, of: 0, newest: 0, intervals: 8, samples: 1 };
const stream = (of = 0, device = 0): ChallengeSpec => ({
	...{ kind: "stream", device, of, newest: 0, passes: 1, samples: 1 },
});

interface Given {
	readonly stage?: number;
	readonly sentAtUs?: number;
	readonly rootsAtUs?: readonly number[];
	readonly end?: Answered["record"]["end"];
	readonly opens?: readonly Partial<OpenRecord>[];
	readonly ownUs?: number;
}
function answered(index: number, spec: ChallengeSpec, given: Given = {}): Answered {
	const { stage = index, sentAtUs = 0, rootsAtUs = [1], end = "complete", ownUs = 1 } = given;
	const where = `challenges[${index}]`;
	const opens = (given.opens ?? []).map((open, o) => ({
		record: { what: "leaves", sentAtUs: 2, receivedAtUs: 3, end: "complete", attachment: 0, ...open } as OpenRecord,
		...{ where: `${where}.opens[${o}]`, openings: [] },
	}));
	const record = { spec, stage, attempt: 0, sentAtUs, roots: 0, end, opens: opens.map((open) => open.record) };
	const roots = rootsAtUs.map((atUs, i) => ({ index: i, atUs, root }));
	return { index, where, record, roots, opens, ownUs, workUs: ownUs };
}

test("the cost of a file, kind by kind: as many challenges as fit, and one more", () => {
	const { hash, opening, entry, step } = POLICY.workNs;
	const most = (each: number, of: (n: number) => readonly Answered[]) => {
		const fit = Math.floor(POLICY.maxWorkNs / each);
		assert.ok(fit > 5, `${each} ns each`);
		assert.equal(checkWork(of(fit)), null);
		assert.equal(checkWork(of(fit + 1))?.code, "WORK_LIMIT");
	};
	const rooted = (count: number) => Array.from({ length: count }, () => 1);
	const repeat = (spec: ChallengeSpec, roots = 1) => {
		const one = answered(0, spec, { rootsAtUs: rooted(roots) });
		return (n: number) => Array.from({ length: n }, () => one);
	};
	const gemm = { ...GEMM, k: 65536, samples: 1000 };
	most(2 * hash + 1000 * (opening + 3 * 65536 * entry), repeat(gemm));
	most(2 * 50_000 * hash + opening + 3 * 128 * entry, repeat({ ...GEMM, samples: 1 }, 50_000));
	for (const precision of FMA_PRECISIONS)
		most(2 * hash + 50 * (opening + 65536 * step[precision]), repeat({ ...FMA, precision, steps: 65536, samples: 50 }));
	// A stream opens digests and leaves, and makes the rows of its gemm again; a chase opens 64 hops and two
	// labels.
	const over = (spec: ChallengeSpec) => (n: number) => [answered(0, GEMM), ...repeat(spec)(n)];
	most(2 * hash + 1000 * (2 * opening + 3 * 128 * entry), over({ ...stream(), samples: 1000 }));
	most(2 * hash + 100 * 66 * opening, over({ ...CHASE, samples: 100 }));
});

test("what counts as committed: all rounds that were asked for, or a run that was stopped", () => {
	const of = (spec: ChallengeSpec, end: Answered["record"]["end"]) => isCommitted(answered(0, spec, { end }));
	assert.deepEqual([of(GEMM, "complete"), of(GEMM, "stopped")], [true, false]);
	assert.deepEqual([of({ ...GEMM, rounds: 0 }, "complete"), of({ ...GEMM, rounds: 0 }, "stopped")], [false, true]);
	assert.deepEqual([of({ ...FMA, rounds: 0 }, "complete"), of({ ...FMA, rounds: 0 }, "stopped")], [true, false]);
	assert.equal(
		said(checkRoots(answered(0, { ...FMA, rounds: 0 }, { end: "stopped", rootsAtUs: [] }))),
		"END_WRONG challenges[0].end",
	);
});

test("attachments that are not there, and roots before the request", () => {
	const { record } = answered(0, GEMM, { sentAtUs: 50, rootsAtUs: [] });
	const body = (changes: Partial<typeof record>) => ({
		claim: CLAIM,
		attestations: [],
		challenges: [{ ...record, ...changes }],
	});
	const read = (changes: Partial<typeof record>, ...attachments: Uint8Array[]) => {
		const result = readAnswers(body(changes), attachments);
		return result.ok ? result.answers[0]!.ownUs : `${result.fault.code} ${result.fault.where}`;
	};
	assert.equal(read({}), "ATTACHMENT_ORDER challenges[0].roots");
	const none = new Uint8Array(0);
	assert.equal(read({}, none), 0);
	const opens = [{ what: "leaves", sentAtUs: 1, receivedAtUs: 1, end: "complete", attachment: 1 } as OpenRecord];
	assert.equal(read({ opens }, none), "ATTACHMENT_ORDER challenges[0].opens[0].attachment");
});

test("times: a challenge may end with its probe, not after; a reading likewise", () => {
	const probe = { finishedAtUs: 100 } as EvidenceBody["probe"];
	const ends = (atUs: number) => said(checkTimes([answered(0, GEMM, { rootsAtUs: [atUs] })], { probe }));
	assert.deepEqual([ends(100), ends(101)], [null, "TIME_ORDER challenges[0]"]);
	const reads = (...atUs: number[]) => {
		const readings = atUs.map((at): Reading => ({ device: 0, atUs: at }) as Reading);
		return said(checkReadings({ readings, claim: CLAIM, probe } as unknown as EvidenceBody));
	};
	assert.deepEqual([reads(0, 100), reads(7, 7), reads(101)], [null, null, "TIME_ORDER readings[0].atUs"]);
	assert.equal(reads(8, 7), "TIME_ORDER readings[1].atUs");
});

test("dropped tries: in the order of stages, after what came before, before what came after", () => {
	const TRY: DroppedTry = {
		stage: 1,
		attempt: 0,
		sentAtUs: 20,
		endedAtUs: 30,
		specs: [GEMM, { ...GEMM, device: 3 }],
		refused: [0],
	};
	const asked = (stage: number, sentAtUs: number, attempt = 0) => ({
		...answered(0, GEMM).record,
		stage,
		sentAtUs,
		attempt,
	});
	const CHALLENGES = [asked(0, 10), asked(1, 40, 1), asked(2, 50)];
	const judge = (dropped: readonly DroppedTry[], challenges = CHALLENGES) => {
		const probe = { finishedAtUs: 60 };
		return said(checkDropped({ dropped, challenges, probe } as unknown as EvidenceBody));
	};
	const one = (changes: Partial<DroppedTry>) => judge([{ ...TRY, ...changes }]);
	assert.equal(judge([TRY]), null);
	// Each time may be that of its neighbour, and not beyond it.
	assert.equal(one({ sentAtUs: 10, endedAtUs: 40 }), null);
	assert.equal(one({ sentAtUs: 30 }), null);
	assert.equal(one({ sentAtUs: 9 }), "ATTEMPT_WRONG dropped[0].sentAtUs", "before the stage before it");
	assert.equal(one({ endedAtUs: 41 }), "ATTEMPT_WRONG dropped[0].sentAtUs", "after its own stage was asked again");
	assert.equal(one({ sentAtUs: 31 }), "ATTEMPT_WRONG dropped[0].sentAtUs", "it ends before it begins");
	for (const refused of [[], [1], [0, 1], [1, 0]])
		assert.equal(one({ refused }), "ATTEMPT_WRONG dropped[0].refused", refused.join());
	assert.equal(one({ refused: [0, 3] }), null);
	// The last stage of a probe that was given up: only the probe's own end bounds it.
	const last = (endedAtUs: number) =>
		judge([{ ...TRY, stage: 3, sentAtUs: 55, endedAtUs }], [asked(0, 10), asked(1, 40), asked(2, 50)]);
	assert.deepEqual([last(60), last(61)], [null, "ATTEMPT_WRONG dropped[0].sentAtUs"]);
	// Two tries: one after the other.
	const twice = [asked(0, 10), asked(1, 40, 2), asked(2, 50)];
	const second = (sentAtUs: number) => judge([TRY, { ...TRY, attempt: 1, sentAtUs, endedAtUs: 35 }], twice);
	assert.deepEqual([second(30), second(29)], [null, "ATTEMPT_WRONG dropped[1].sentAtUs"]);
	const stages = [asked(0, 10), asked(1, 40, 1), asked(2, 55, 1)];
	const later = { ...TRY, stage: 2, sentAtUs: 45, endedAtUs: 50 };
	assert.equal(judge([TRY, later], stages), null);
	assert.equal(judge([later, TRY], stages), "ATTEMPT_WRONG dropped[1].attempt", "stages in order");
});

test("a card without memory: only beside a card that filled its own, and only for what it claimed to have", () => {
	const bytes = 2 * 128 * 512;
	const claim = (freeBytes: number): HostClaim => ({
		...CLAIM,
		devices: CLAIM.devices.map((one) => ({ ...one, freeBytes })),
	});
	const judge = (beside: ChallengeSpec, spec: GemmSpec = GEMM, freeBytes = 8 * bytes) =>
		said(
			checkFills(
				[answered(0, spec, { stage: 0, end: "refused" }), answered(1, beside, { stage: 0 })],
				claim(freeBytes),
			),
		);
	const other = { ...GEMM, device: 3 };
	assert.equal(judge(other), "CARD_WITHOUT_MEMORY challenges[0].end");
	assert.equal(judge({ ...FMA, device: 3 }), null, "steps fill nothing");
	assert.equal(judge({ ...GEMM, device: 1 }), null, "a CPU is no card");
	// Of five rounds that may stay two do, and of two rounds no more.
	for (const spec of [
		{ ...GEMM, rounds: 5, keep: 2 },
		{ ...GEMM, rounds: 2, keep: 5 },
	]) {
		assert.equal(judge(other, spec, 2 * bytes), "CARD_WITHOUT_MEMORY challenges[0].end");
		assert.equal(judge(other, spec, 2 * bytes - 1), null);
	}
});

test("openings of a chase are withheld like those of a stream; a link that ended is a cut in either", () => {
	for (const spec of [stream(), CHASE]) {
		const ended = (end: Answered["record"]["end"]) => answered(1, spec, { end, rootsAtUs: [] });
		assert.equal(said(checkOpens(ended("silent"), false)), "STREAM_WITHHELD challenges[1].end");
		assert.equal(said(checkOpens(ended("cut"), false)), null);
		assert.deepEqual([wasCut(ended("cut")), wasCut(ended("silent"))], [true, false]);
		// The verifier had to stop: nothing was asked for, or all of it.
		const whats = spec.kind === "chase" ? (["labels", "hops"] as const) : (["digests", "leaves"] as const);
		const opens = whats.map((what) => ({ what }));
		const judge = (count: number, couldNot: boolean) =>
			said(checkOpens(answered(1, spec, { opens: opens.slice(0, count) }), couldNot));
		assert.deepEqual([judge(2, false), judge(2, true), judge(0, true)], [null, null, null]);
		assert.equal(judge(0, false), "OPENS_MISSING challenges[1].opens[0]");
		assert.equal(judge(1, true), "OPENS_MISSING challenges[1].opens[1]", "it did not stop before it asked");
	}
	assert.equal(wasCut(answered(0, GEMM, { end: "cut" })), false, "nothing was drawn yet");
});

test("what stands between a gemm and its reader, and what a disk was given", () => {
	const disks: HostClaim = { ...CLAIM, devices: [...CLAIM.devices, CLAIM.devices[2]!] };
	const judge = (...specs: ChallengeSpec[]) => {
		const challenges = specs.map((spec, i) => answered(i, spec).record);
		return said(checkSpecs({ challenges, claim: disks }));
	};
	assert.equal(judge(GEMM, stream()), null);
	for (const between of [GEMM, FMA]) assert.equal(judge(GEMM, between, stream()), "SPEC_OF challenges[2].spec.of");
	for (const between of [
		{ ...GEMM, device: 3 },
		{ ...FMA, device: 3 },
	])
		assert.equal(judge(GEMM, between, stream()), null);
	assert.equal(judge(GEMM, stream(), stream()), null, "readers do not change what is kept");
	const cpu = { ...GEMM, device: 1 };
	const copy = (of: number, device: number, newest = 0): ChallengeSpec => ({
		kind: "copy",
		device,
		of,
		newest,
		samples: 1,
	});
	assert.equal(judge(cpu, copy(0, 2), stream(0, 2)), null);
	assert.equal(judge(cpu, copy(0, 2), stream(0, 2), stream(0, 2)), null, "read back twice");
	assert.equal(judge(cpu, copy(0, 2), copy(0, 4), stream(0, 2)), null, "another disk has its own");
	assert.equal(judge(cpu, copy(0, 4), stream(0, 2)), "SPEC_OF challenges[2].spec.of", "another disk's copy");
	assert.equal(judge(cpu, stream(0, 2)), "SPEC_OF challenges[1].spec.of", "no copy");
	assert.equal(judge(cpu, copy(0, 2, 1), stream(0, 2)), "SPEC_OF challenges[2].spec.of", "of other rounds");
	assert.equal(judge({ ...cpu, keep: 1 }, stream(1)), "SPEC_OF challenges[1].spec.of", "itself");
	assert.equal(judge(stream(1), GEMM), "SPEC_OF challenges[0].spec.of", "one that comes later");
});

test("who committed to nonces and gave no word on a stage that it had answered", () => {
	const countersign = { stages: [{}] } as unknown as EvidenceBody["countersign"];
	const judge = (...answers: Answered[]) => withoutWord(answers, { countersign } as EvidenceBody)?.index ?? null;
	assert.equal(judge(answered(0, GEMM)), null);
	assert.equal(judge(answered(0, GEMM), answered(1, GEMM)), 1);
	assert.equal(judge(answered(0, GEMM), answered(1, GEMM, { end: "refused" })), null, "it had not answered it");
	assert.equal(withoutWord([answered(1, GEMM)], { countersign: null } as EvidenceBody), null);
});

test("the first fault ends the judgement", () => {
	const fault = { code: "X", where: "", detail: "" } as unknown as Fault;
	const never = (): Fault | null => assert.fail("asked for after a fault");
	assert.equal(
		firstFault(
			() => null,
			() => fault,
			never,
		),
		fault,
	);
	assert.equal(
		firstFault(() => null),
		null,
	);
});

test("the numbers of the policy are those of docs/hardware-proof.md: a change of one is a change of the page", () => {
	const { fullSamples, fullSamplesOther, fullSamplesSustained, gemm, fma, train, workNs, fetchBytesPerS, ...rest } =
		POLICY;
	assert.deepEqual(fullSamples, { gemm: 128, stream: 128, copy: 64, fma: 64, chase: 16, train: 1 });
	assert.deepEqual([fullSamplesOther, fullSamplesSustained], [{ peer: 16, disk: 64 }, 32]);
	assert.deepEqual(gemm, { mStep: 128, nStep: 512, kStep: 128, maxSide: 65536 });
	assert.deepEqual(fma, { laneStep: 256, maxLanes: 268_435_456, stepStep: 512, maxSteps: 1_048_576 });
	assert.deepEqual(workNs, { entry: 4, step: { fp32: 10, fp64: 63, int32: 26 }, hash: 2600, opening: 60_000 });
	const limits = { maxLayers: 12, maxWidth: 1024, maxContext: 1024, maxTokens: 131_072, maxRounds: 4096 };
	assert.deepEqual(train, { ...limits, maxDraws: 16, maxSamples: 16 });
	assert.deepEqual(fetchBytesPerS, { gpu: 64e9, cpu: 1e9 });
	assert.deepEqual(rest, {
		...{ maxSamples: 4096, maxRounds: 1_048_576, maxPasses: 65536, maxIntervals: 65536 },
		...{
			maxHopPs: 1_200_000,
			maxPassUs: 150_000,
			apartFactor: 3,
			minSlowRuns: 3,
			minPartShare: 1 / 64,
			maxWorkNs: 40e9,
		},
		...{ fetchBytesPerSSlow: 128e9, makingShare: 0.5 },
		...{ streamMargin: 3, memoryShare: 0.9, distantFactor: 3, distantSlackUs: 20_000 },
	});
});
