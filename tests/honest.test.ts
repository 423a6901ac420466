// The honest toy through the whole probe: valid for every kind, precision and shape; and the ways a probe
// ends without an answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../src/protocol/assay-error.ts";
import { FMA_PRECISIONS, GEMM_PRECISIONS } from "../src/protocol/maths/precision.ts";
import type { ChallengeSpec, CopySpec, FmaSpec, GemmSpec, StreamSpec } from "../src/protocol/probe/evidence.ts";
import { decodeEvidence } from "../src/protocol/probe/evidence-codec.ts";
import { runProbe } from "../src/validator/probe/run-probe.ts";
import { verifyEvidence } from "../src/verify/hardware/verify.ts";
import { FOREIGN_SIGNER, outcomeOf, probeToy, SIGNER, type ToyProbe, toyOptions } from "./toy/probe-toy.ts";

const GEMM: GemmSpec = {
	kind: "gemm",
	device: 0,
	precision: "int8",
	m: 128,
	n: 512,
	k: 128,
	rounds: 2,
	keep: 2,
	samples: 16,
};
const FILL: GemmSpec = { ...GEMM, k: 256 };
const STREAM: StreamSpec = { kind: "stream", device: 0, of: 0, newest: 0, passes: 4, samples: 16 };
const COPY: CopySpec = { kind: "copy", device: 2, of: 0, newest: 1, samples: 1 };
const FMA: FmaSpec = { kind: "fma", device: 0, precision: "fp32", lanes: 512, steps: 1024, rounds: 2, samples: 4 };

const HONEST: Readonly<Record<string, ToyProbe>> = {
	"every gemm precision": {
		stages: GEMM_PRECISIONS.map((precision) => [{ ...GEMM, precision }]),
	},
	"every fma precision": {
		stages: FMA_PRECISIONS.map((precision) => [{ ...FMA, precision }]),
	},
	"several leaves a row": { asProcess: true, stages: [[{ ...GEMM, n: 1536, samples: 64 }]] },
	"one round": { stages: [[{ ...GEMM, rounds: 1, keep: 1 }]] },
	"rounds that were not kept": { stages: [[{ ...GEMM, rounds: 4, keep: 1, samples: 64 }]] },
	"more samples than places": { stages: [[{ ...GEMM, rounds: 1, keep: 1, samples: 1000 }]] },
	stream: { stages: [[FILL], [STREAM]] },
	"stream over the newest rounds only": { stages: [[{ ...FILL, rounds: 3 }], [STREAM]] },
	"two cards at once": {
		gpus: 2,
		stages: [
			[FILL, { ...FILL, device: 1 }],
			[STREAM, { ...STREAM, device: 1, of: 1 }],
		],
	},
	"the newest round of several": { stages: [[{ ...FILL, rounds: 3, keep: 3 }], [{ ...STREAM, newest: 1 }]] },
	"three cards that read each other's memory, then each alone": {
		gpus: 3,
		stages: [
			[0, 1, 2].map((device) => ({ ...FILL, device })),
			...[1, 2].map((shift) =>
				[0, 1, 2].map((device) => ({ ...STREAM, device, of: (device + shift) % 3, newest: 1, passes: 2, samples: 4 })),
			),
			...[0, 1, 2].map((device) => [{ ...FILL, device, rounds: 1, keep: 1 }]),
		],
	},
	"a processor shown as two, and a disk": {
		asProcess: true,
		cpus: 2,
		disk: true,
		stages: [[FILL, { ...FILL, device: 1 }], [COPY], [{ ...STREAM, device: 2, newest: 1, passes: 2, samples: 4 }]],
	},
	sustained: { stages: [[{ ...GEMM, rounds: 0, keep: 1 }]], stopAfterMs: 300 },
	beacon: { stages: [[GEMM]], more: { beacon: { kind: "test", value: "00ff" } } },
};

for (const [name, probe] of Object.entries(HONEST)) {
	test(`honest: ${name}`, async () => {
		const result = await probeToy(probe);
		const detail = result.verdict.status === "valid" ? "" : JSON.stringify(result.verdict);
		assert.equal(outcomeOf(result), "valid", detail);
		assert.ok(result.evidence);
		// Anyone gets the same verdict from the bytes alone; a stranger's key list does not accept them.
		assert.deepEqual(verifyEvidence(result.evidence), result.verdict);
		assert.equal(verifyEvidence(result.evidence, { signers: [FOREIGN_SIGNER.key] }).status, "invalid");
		const kinds = result.events.map(({ kind }) => kind);
		assert.equal(kinds[0], "claim");
		assert.equal(kinds.at(-1), "verdict");
		assert.equal(kinds.filter((kind) => kind === "stage").length, probe.stages.length);
	});
}

test("a probe of nothing is no valid probe", async () => {
	const result = await probeToy({ stages: [] });
	assert.notEqual(result.verdict.status, "valid");
});

test("no room: the stage is dropped, asked again smaller, and only that is recorded", async () => {
	const stages: ChallengeSpec[] = [{ ...GEMM, m: 2048, n: 8192, k: 128, rounds: 4, keep: 4 }, GEMM];
	const seenTooBig: number[] = [];
	const result = await probeToy({
		stages: [],
		more: {
			plan: (seen) => {
				seenTooBig.push(seen.tooBig.length);
				const spec = stages[seen.steps.length];
				if (!spec) return { act: "finish" };
				const name = `try ${seen.steps.length}`;
				return { act: "stage", name, specs: [spec], deadlineMs: 600_000, mayShrink: seen.steps.length === 0 };
			},
		},
	});
	assert.equal(outcomeOf(result), "valid");
	assert.deepEqual(seenTooBig, [0, 1, 1]);
	const decoded = decodeEvidence(result.evidence!);
	assert.ok(decoded.ok);
	assert.deepEqual(
		decoded.evidence.envelope.body.challenges.map(({ spec, stage }) => [spec, stage]),
		[[GEMM, 0]],
	);
});

test("no room for what may not shrink is recorded, and never valid", async () => {
	const result = await probeToy({ stages: [[{ ...GEMM, m: 2048, n: 8192, rounds: 4, keep: 4 }]] });
	assert.notEqual(result.verdict.status, "valid");
	assert.ok(result.evidence);
});

test("an abort ends the probe as inconclusive, whenever it comes", async () => {
	for (const when of ["before", "claim", "stage", "root"]) {
		const stopper = new AbortController();
		if (when === "before") stopper.abort();
		const options = toyOptions({ stages: [[{ ...GEMM, rounds: 0, keep: 1 }]], stopAfterMs: 60_000 });
		const onEvent = ({ kind }: { kind: string }) => kind === when && stopper.abort();
		const result = await runProbe({ ...options, onEvent, signal: stopper.signal });
		assert.deepEqual([outcomeOf(result), result.evidence], ["inconclusive ABORTED", null], when);
		assert.equal(result.claim === null, when === "before");
	}
});

test("a link that does not open is inconclusive with its own code", async () => {
	const options = toyOptions({ stages: [[GEMM]] });
	const openLink = () => Promise.reject(new AssayError("ENGINE_NOT_STARTED", "no such file"));
	const result = await runProbe({ ...options, openLink });
	assert.deepEqual([outcomeOf(result), result.evidence, result.claim], ["inconclusive ENGINE_NOT_STARTED", null, null]);
	// Our own mistakes are not blamed on the host.
	const broken = () => Promise.reject(new TypeError("a bug"));
	await assert.rejects(runProbe({ ...options, openLink: broken }), TypeError);
});

test("the verdict is about the signer of this probe", async () => {
	const result = await probeToy({ stages: [[GEMM]] });
	assert.ok(result.verdict.status === "valid" && result.verdict.signer === SIGNER.key);
});

test("three cards: a table of peers, and what each loses when all work", async () => {
	const { verdict } = await probeToy(HONEST["three cards that read each other's memory, then each alone"]!);
	assert.ok(verdict.status === "valid");
	for (const device of [0, 1, 2]) {
		const names: string[] = verdict.figures.filter((f) => f.device === device).map(({ name }) => name);
		const others = [0, 1, 2].filter((other) => other !== device).map((other) => `peer.bandwidth.${other}`);
		for (const name of ["gemm.int8", "gemm.int8.alone", "scaling.int8", ...others])
			assert.ok(names.includes(name), name);
		assert.equal(names.filter((name) => name.startsWith("peer.")).length, 2);
	}
});

test("readings are recorded while a stage runs, and only of devices that say something", async () => {
	const read = async (gpus: number) => {
		const { evidence, events } = await probeToy({
			gpus,
			stages: [],
			more: {
				sustainMs: 200,
				plan: (seen) =>
					seen.steps.length > 0
						? { act: "finish" }
						: {
								act: "stage",
								name: "long",
								specs: [{ ...GEMM, rounds: 0, keep: 1 }],
								deadlineMs: 600_000,
								stopAfterMs: 200,
								readEveryMs: 50,
							},
			},
		});
		const decoded = decodeEvidence(evidence!);
		assert.ok(decoded.ok && verifyEvidence(evidence!).status === "valid");
		const { readings } = decoded.evidence.envelope.body;
		assert.equal(events.filter(({ kind }) => kind === "reading").length, readings.length);
		return readings;
	};
	const readings = await read(1);
	assert.ok(readings.length >= 1 && readings.every(({ device, coreMHz }) => device === 0 && coreMHz === 1500));
	assert.deepEqual(await read(0), [], "a toy processor can read nothing");
});

test("a fill that a card refuses twice, by the default plan: no valid verdict with two cards", async () => {
	const { planProbe } = await import("../src/verify/hardware/plan/plan-probe.ts");
	const plan = planProbe({ quick: true, sustainMs: 0, samples: 4 });
	const tiny = { m: 128, n: 512, k: 256, rounds: 2, keep: 2 };
	// The default plan's own steps up to its fills, at toy sizes; its warm-ups are for real cards.
	const result = await probeToy({
		cheat: "second-card-refuses",
		gpus: 2,
		stages: [],
		more: {
			plan: (seen) => {
				const step = plan(seen);
				if (step.act === "warm-up") return { act: "release", name: step.name };
				if (step.act !== "stage") return step;
				return { ...step, specs: step.specs.map((spec) => ({ ...spec, ...tiny }) as ChallengeSpec) };
			},
		},
	});
	assert.equal(outcomeOf(result), "invalid CARD_WITHOUT_MEMORY");
	assert.deepEqual(
		result.events.flatMap((event) => (event.kind === "stage" || event.kind === "too-big" ? [event.name] : [])),
		["gpu fill", "gpu fill", "gpu fill, smaller"],
	);
});
