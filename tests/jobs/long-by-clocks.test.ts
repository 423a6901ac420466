// Jobs of minutes and of a day on hosts that are clocks: they take the time that an H200 took, with the
// overheads that were measured. The rules are the market's own: quote, draw, life of a part, settlement.
// Nobody is late, and owners have what they ask for an hour of their machine, overhead included.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { drawFrom, drawSeed, listHash } from "../../src/market/jobs/draw.ts";
import { fittingHosts, type JobHost, partWork } from "../../src/market/jobs/fitting-hosts.ts";
import * as rules from "../../src/market/jobs/job-rules.ts";
import { nextSteps } from "../../src/market/jobs/next-steps.ts";
import { type QuoteInput, quoteJob } from "../../src/market/jobs/quote.ts";
import { DEFAULT_PARAMS as P } from "../../src/market/params.ts";
import type { JobRecord } from "../../src/protocol/network/job.ts";
import { PROVEN_H200, timeOfInt8 } from "../../src/work/cost/work-time.ts";

const HOUR_MICROS = 3_000_000;
const sha = (text: string): string => createHash("sha256").update(text).digest("hex");
const HOSTS: readonly JobHost[] = [0, 1, 2, 3].map((n) => ({
	...{
		provider: sha(`host ${n}`),
		owner: `${n}`,
		network: `${n}`,
		isFree: true,
		pricePerHourMicros: HOUR_MICROS,
		device: 0,
	},
	...{ reliabilityPpm: 900_000, freeBondMicros: 1e12, memoryBytes: 140e9, ...PROVEN_H200 },
}));

interface Work {
	readonly segments: number;
	/** A step: by the model, and as an H200 took it (bench/results/h200-2026-11-16-training.json). */
	readonly modelledMs: number;
	readonly measuredMs: number;
	readonly stateBytes: number;
	/** Of the host's line. */
	readonly bytesPerS: number;
}
const GPT2 = { modelledMs: 227.5, measuredMs: 217.8 };
/** A block of a chain of 12 s, for the assignment and for the claim; an engine until its first segment. */
const [BLOCK_MS, ENGINE_MS] = [12_000, 8000];
const BEAT_MS = P.jobBeatMs / 2;

function play({ segments, modelledMs, measuredMs, stateBytes, bytesPerS }: Work) {
	const none = timeOfInt8(0);
	const time = { init: none, segment: { ...none, productsNs: Math.round(modelledMs * 1e6) } };
	const input: QuoteInput = {
		...{ segments, time, peakBytes: 40e9, stateBytes, givenBytes: 0, method: { name: "sampled", count: 16 } },
		...{ mostMicros: null, gasMicros: 1000, nowMs: 0 },
	};
	const quote = quoteJob(input, HOSTS, P);
	const { parts, priceMicros, workMs, bondMicros } = quote;
	let job: JobRecord = rules.newJob("aa".repeat(32), { ...quote, customer: "c", program: "p", inputs: "i" });
	const each = partWork({ peakBytes: 40e9, time }, Math.ceil(segments / parts));
	const limits = { workMs, priceMicros, bondMicros, excluded: new Set<string>() };
	const list = fittingHosts(HOSTS, each, limits, P).map(({ provider }) => ({ provider, weightPpm: 1_000_000 }));
	let [nowMs, machineMs] = [0, 0];
	const settle = () => {
		for (const step of nextSteps(job, nowMs, P)) if (step.kind === "settle") job = rules.settle(job, step.part, nowMs);
	};
	for (let part = 0; part < parts; part++) {
		const steps = nextSteps(job, nowMs, P);
		assert.deepEqual(
			steps.filter(({ kind }) => kind === "draw").map((step) => step.part),
			[part],
		);
		const place = { job: job.id, part, attempt: 1, role: 0 as const };
		const hash = listHash(list);
		const seed = drawSeed(place, hash, sha("secret"), sha(`block ${part}`));
		job = rules.offer(job, part, drawFrom(list, seed, 1)[0]!, nowMs, P);
		const begunMs = nowMs;
		const moveMs = Math.ceil((1000 * stateBytes) / bytesPerS);
		nowMs += BLOCK_MS + (part === 0 ? 0 : moveMs);
		job = rules.accept(job, part, nowMs);
		const { count } = rules.partRange(job.terms, part);
		const endMs = nowMs + ENGINE_MS + count * measuredMs;
		const handedInMs = endMs + moveMs + BLOCK_MS;
		const ranMs = nowMs + ENGINE_MS;
		for (; nowMs < handedInMs; nowMs = Math.min(handedInMs, nowMs + BEAT_MS)) {
			const done = Math.max(0, Math.min(count, Math.floor((nowMs - ranMs) / measuredMs)));
			job = rules.beat(job, part, done, nowMs);
			assert.equal(rules.lapse(job, part, nowMs, P), null, `part ${part}`);
		}
		job = rules.claim(job, part, sha(`claim ${part}`), nowMs);
		machineMs += nowMs - begunMs;
		// Windows are run again meanwhile; the next part is begun by anyone then.
		nowMs += BLOCK_MS;
		job = rules.markChecked(job, part, nowMs);
		settle();
	}
	nowMs += P.jobCheckedMs + 1;
	settle();
	assert.ok(
		job.parts.every(({ state, attempt }) => state === "paid" && attempt === 1),
		"paid, and nobody late",
	);
	const earned = parts * priceMicros;
	const asked = (machineMs * HOUR_MICROS) / 3_600_000;
	return { ...quote, nowMs, share: earned / asked, machineMs, record: job };
}

test("GPT-2 124M, 5,000 steps: paid, nobody late, the owner has what it asks", () => {
	const { parts, share, workMs, estimatedMs } = play({ ...GPT2, segments: 5000, stateBytes: 1.5e9, bytesPerS: 125e6 });
	// 1.5 GB to hand over: one part of 19 minutes.
	assert.deepEqual([parts, workMs], [1, 5 * estimatedMs]);
	assert.ok(share > 0.8 && share < 1.2, `${share}`);
});

test("a day of it, and a day of work with a small state: parts of 20 and of 5 minutes, paid like an hour each", () => {
	const day = Math.floor(86_400_000 / GPT2.modelledMs);
	const heavy = play({ ...GPT2, segments: day, stateBytes: 1.5e9, bytesPerS: 125e6 });
	assert.equal(heavy.parts, 72);
	assert.ok(heavy.share > 0.8 && heavy.share < 1.2, `${heavy.share}`);
	const light = play({ ...GPT2, segments: day, stateBytes: 10e6, bytesPerS: 10e6 });
	assert.deepEqual([light.parts, Math.round(light.estimatedMs / 60_000)], [288, 5]);
	assert.ok(light.share > 0.8 && light.share < 1.2, `${light.share}`);
	// All of it in time, and within the escrow's time to start.
	for (const { nowMs, startByMs } of [heavy, light]) assert.ok(nowMs < 1.3 * 86_400_000 && nowMs < startByMs);
});

test("on a home line the state of such a model is a fifth of the part; a model of a fifth of the size is not", () => {
	const segments = Math.floor(14_400_000 / GPT2.modelledMs);
	const large = play({ ...GPT2, segments, stateBytes: 1.5e9, bytesPerS: 10e6 });
	assert.ok(large.share > 0.75 && large.share < 0.85, `${large.share}`);
	const small = play({ ...GPT2, segments, stateBytes: 0.3e9, bytesPerS: 10e6 });
	assert.deepEqual([small.parts, small.share > 0.85], [24, true], `${small.share}`);
});

test("a day's record stays small enough to be written at each sign of life", () => {
	const audit = {
		...{ auditor: sha("a"), first: 1000, count: 14, untilMs: 1e13, tried: [], answer: sha("b"), agrees: true },
	};
	const { record } = play({ ...GPT2, segments: 396_000, stateBytes: 10e6, bytesPerS: 10e6 });
	const full = { ...record, parts: record.parts.map((part) => ({ ...part, audits: Array(18).fill(audit) })) };
	assert.ok(JSON.stringify(full).length < 1.5e6, "below what a record may hold, also with 18 audits a part");
});
