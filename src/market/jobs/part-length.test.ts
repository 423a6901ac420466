// How long a part is: what a dead host takes along, what handing over costs, what is paid at least; and that
// jobs of a day and of a week are quoted, in so few parts that their records stay small.
import assert from "node:assert/strict";
import { test } from "node:test";
import { PROVEN_H200, type WorkTime } from "../../work/cost/work-time.ts";
import { DEFAULT_PARAMS } from "../params.ts";
import type { JobHost } from "./fitting-hosts.ts";
import { MAX_PARTS, partCount, partLengthMs } from "./part-length.ts";
import { quoteJob } from "./quote.ts";

const P = DEFAULT_PARAMS;
const MINUTE = 60_000;
const LIGHT = { stateBytes: 1e6, givenBytes: 0, initMs: 0, spread: 1 };

test("a part is five minutes; longer where handing it over would be more than a tenth of it; 20 at most", () => {
	const minutes = (more: Partial<typeof LIGHT>) => partLengthMs({ ...LIGHT, ...more }, P) / MINUTE;
	assert.equal(minutes({}), 5);
	// 150 MB up and down at 10 MB/s are half a minute.
	assert.equal(minutes({ stateBytes: 150e6 }), 5);
	assert.equal(minutes({ stateBytes: 300e6 }), 10);
	assert.equal(minutes({ stateBytes: 150e6, givenBytes: 300e6 }), 10);
	assert.equal(minutes({ stateBytes: 1.5e9 }), 20);
	// All parts are paid as if they had the init phase.
	assert.equal(minutes({ initMs: MINUTE }), 10);
	assert.equal(minutes({ initMs: 60 * MINUTE }), 20);
	// The middle host would be done in less than the minute that is paid at least.
	assert.equal(minutes({ spread: 8 }), 8);
	assert.equal(minutes({ spread: 1000 }), 20);
	// Operators may set longer parts; then nothing shortens them.
	assert.equal(partLengthMs({ ...LIGHT, initMs: 60 * MINUTE }, { ...P, jobPartMs: 30 * MINUTE }), 30 * MINUTE);
});

test("parts: never more than segments, nor more than a record holds", () => {
	assert.equal(partCount(1000, 0, 5 * MINUTE), 1);
	assert.equal(partCount(1000, 5 * MINUTE, 5 * MINUTE), 1);
	assert.equal(partCount(1000, 5 * MINUTE + 1, 5 * MINUTE), 2);
	assert.equal(partCount(3, 1e9, 5 * MINUTE), 3);
	assert.equal(partCount(1e9, 1e15, 5 * MINUTE), MAX_PARTS);
});

const NONE: WorkTime = { productsNs: 0, memoryNs: 0, instructionsNs: 0, startsNs: 0 };
const hosts = (more: Partial<JobHost> = {}): JobHost[] =>
	[1, 2, 3].map((n) => ({
		...{ provider: `${n}`, owner: `${n}`, network: `${n}`, isFree: true, pricePerHourMicros: 3_000_000 },
		...{ reliabilityPpm: 900_000, freeBondMicros: 1e12, memoryBytes: 80e9, ...PROVEN_H200, ...more },
	}));
const quoted = (segments: number, segmentMs: number, all = hosts()) =>
	quoteJob(
		{
			...{ segments, time: { init: NONE, segment: { ...NONE, productsNs: segmentMs * 1e6 } } },
			...{ peakBytes: 1e9, ...LIGHT, method: { name: "sampled", count: 16 } },
			...{ mostMicros: null, gasMicros: 0, nowMs: 0 },
		},
		all,
		P,
	);

test("a job of a day and one of a week: what is lost, paid and waited for stays in proportion", () => {
	const [day, week] = [quoted(86_400, 1000), quoted(7 * 86_400, 1000)];
	assert.deepEqual([day.parts, day.estimatedMs, day.workMs], [288, 5 * MINUTE, 25 * MINUTE]);
	assert.deepEqual([week.parts, week.estimatedMs], [288, 35 * MINUTE]);
	// Checks are what they are of a job of one part: 18 windows of 100, and a segment, at a price and a fifth.
	for (const { priceMicros, auditMicros } of [day, week]) assert.ok(auditMicros < 0.23 * priceMicros);
	assert.equal(day.parts * day.priceMicros, 24 * 3_000_000, "24 hours at 3 an hour");
	// Each part may take its limit twice: the escrow waits a year at most.
	assert.ok(week.startByMs < 360 * 24 * 60 * MINUTE);
	// What is paid at least adds nothing.
	assert.equal(quoted(3600, 1000).priceMicros * 12, 3_000_000);
});

test("one slow host that asks next to nothing does not make fast hosts dearer by parts of seconds", () => {
	const slow = { ...hosts({ int8OpsPerS: PROVEN_H200.int8OpsPerS / 15, pricePerHourMicros: 1 })[0]!, provider: "9" };
	const all = [...hosts(), { ...slow, owner: "9", network: "9" }];
	const [plain, mixed] = [quoted(3600, 1000), quoted(3600, 1000, all)];
	assert.equal(mixed.hosts, 4);
	assert.ok(mixed.parts * mixed.priceMicros <= 1.01 * plain.parts * plain.priceMicros);
});
