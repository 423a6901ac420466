// Who fits, what it costs: by proven figures alone; where nobody fits, which limit and by how much.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import { PROVEN_H200, type WorkTime } from "../../work/cost/work-time.ts";
import { DEFAULT_PARAMS } from "../params.ts";
import {
	costMicros,
	fittingHosts,
	type JobHost,
	leastMs,
	missOf,
	modelledMs,
	nearestMiss,
	partWork,
} from "./fitting-hosts.ts";
import { missText } from "./miss-text.ts";
import { type QuoteInput, quoteJob } from "./quote.ts";
import { drawWeightPpm, reputationOf, type WorkRow } from "./reputation.ts";

const P = DEFAULT_PARAMS;
const host = (n: number, more: Partial<JobHost> = {}): JobHost => ({
	...{ provider: n.toString(16).padStart(64, "0"), owner: `owner ${n}`, network: `10.0.${n}.0/24`, isFree: true },
	...{ pricePerHourMicros: 3_600_000, reliabilityPpm: 900_000, freeBondMicros: 1e9 },
	...{ memoryBytes: 80e9, ...PROVEN_H200 },
	...more,
});
const NONE: WorkTime = { productsNs: 0, memoryNs: 0, instructionsNs: 0, startsNs: 0 };
const products = (ms: number): WorkTime => ({ ...NONE, productsNs: 1e6 * ms });
const WORK = { peakBytes: 10e9, time: products(60_000) };
/** Five times what the model says. */
const LIMITS = { workMs: 300_000, priceMicros: 1e9, bondMicros: 100, excluded: new Set<string>() };

test("the least time: a host is as fast as its slower figure", () => {
	const slow = (more: Partial<JobHost>) => host(1, { int8OpsPerS: 1e12, bytesPerS: 1e12, ...more });
	const least = { peakBytes: 0, ops: 60e12, bytes: 1e12 };
	assert.equal(leastMs(least, slow({})), 60_000);
	assert.equal(leastMs({ ...least, bytes: 120e12 }, slow({})), 120_000);
	// In doubt longer; and speeds below one count as one.
	assert.equal(leastMs({ ...least, ops: 1e9 + 1, bytes: 0 }, slow({})), 2);
	assert.equal(leastMs({ peakBytes: 0, ops: 10, bytes: 0 }, slow({ int8OpsPerS: 0 })), 10_000);
	assert.equal(leastMs({ peakBytes: 0, ops: 0, bytes: 10 }, slow({ bytesPerS: 0 })), 10_000);
});

test("a host's time is scaled by what it proved of each kind, and costs that time at its price, a minute at least", () => {
	assert.equal(modelledMs(WORK, host(1)), 60_000);
	assert.equal(costMicros(WORK, host(1), P), 60_000);
	const time = { productsNs: 1e9, memoryNs: 2e9, instructionsNs: 4e9, startsNs: 8e9 };
	const of = (more: Partial<JobHost>) => modelledMs({ time }, host(1, more));
	const half = (figure: keyof typeof PROVEN_H200) => ({ [figure]: PROVEN_H200[figure] / 2 });
	assert.equal(of({}), 15_000);
	assert.deepEqual(
		[of(half("int8OpsPerS")), of(half("bytesPerS")), of(half("int32OpsPerS"))],
		[16_000, 17_000, 19_000],
	);
	assert.equal(of({ ...half("int8OpsPerS"), int32OpsPerS: 0 }), 20_000, "without that figure, by the one of int8");
	assert.equal(
		modelledMs({ time: products(1) }, host(1, { int8OpsPerS: 0 })),
		1_317_000_000_000_000,
		"as if one a second",
	);
	const endless = { ...NONE, productsNs: Number.MAX_SAFE_INTEGER };
	assert.equal(modelledMs({ time: endless }, host(1, { int8OpsPerS: 1 })), Number.MAX_SAFE_INTEGER);
	// In doubt longer and dearer.
	assert.equal(modelledMs({ time: { ...NONE, startsNs: 1 } }, host(1)), 1);
	assert.equal(costMicros({ time: NONE }, host(1), P), P.jobLeastPaidMs);
	assert.equal(costMicros(WORK, host(1, { pricePerHourMicros: 3_600_001 }), P), 60_001);
});

test("a part counts as the longest of its job: with the init phase, where that is longer than a segment", () => {
	const work = (init: number, segment: number) => ({
		...{ peakBytes: 7, ops: 0, bytes: 0, time: { init: products(init), segment: products(segment) } },
	});
	const takes = (init: number, segment: number, count: number) =>
		modelledMs(partWork(work(init, segment), count), host(1));
	assert.equal(takes(30, 2, 5), 30 + 4 * 2);
	assert.equal(takes(1, 2, 5), 5 * 2);
	assert.equal(takes(30, 2, 1), 30);
	assert.equal(partWork(work(1, 1), 1).peakBytes, 7);
});

test("each limit keeps out who misses it, and says by how much", () => {
	const why = (more: Partial<JobHost>, limits: Partial<typeof LIMITS> = {}) =>
		missOf(host(1, more), WORK, { ...LIMITS, ...limits }, P);
	assert.equal(why({}), null);
	assert.deepEqual(why({ memoryBytes: 9e9 }), { why: "memory", has: 9e9, wants: 10e9 });
	assert.deepEqual(why({}, { workMs: 280_000 }), { why: "time", has: 60_000, wants: 56_000 });
	assert.deepEqual(why({}, { priceMicros: 59_999 }), { why: "price", has: 60_000, wants: 59_999 });
	assert.equal(why({ reliabilityPpm: 499_999 })!.why, "reliability");
	assert.equal(why({ freeBondMicros: 99 })!.why, "bond");
	assert.deepEqual(why({ isFree: false }), { why: "busy", has: 0, wants: 1 });
	assert.deepEqual(why({}, { excluded: new Set([host(1).provider]) }), { why: "excluded", has: 1, wants: 0 });
	const slow = { why: "speed", has: 0, wants: 1 };
	assert.deepEqual(why({ int8OpsPerS: 0 }), slow, "a host that proved no speed");
	assert.deepEqual(why({ bytesPerS: 0 }), slow);
	const light = { peakBytes: 1, time: NONE };
	assert.equal(missOf(host(1, { int8OpsPerS: 1, bytesPerS: 1 }), light, LIMITS, P), null, "the least that counts");
	assert.equal(missOf(host(1), WORK, { ...LIMITS, workMs: 299_999 }, P)!.why, "time");
	assert.deepEqual(why({ mostWorkMs: 299_999 }), { why: "minutes", has: 299_999, wants: 300_000 });
	const other = missOf(host(1, { methods: ["sampled"] }), WORK, { ...LIMITS, method: "redundant" }, P);
	assert.deepEqual(other, { why: "method", has: 0, wants: 1 });
	assert.equal(missOf(host(1, { methods: ["sampled"] }), WORK, { ...LIMITS, method: "sampled" }, P), null);
	const near = nearestMiss([host(1, { memoryBytes: 1e9 }), host(2, { memoryBytes: 9e9 })], WORK, LIMITS, P);
	assert.deepEqual(near, { provider: host(2).provider, why: "memory", has: 9e9, wants: 10e9 });
	// By its share of what is wanted, not by its number; what has no number is far; and the price comes last.
	const nearest = (...hosts: readonly JobHost[]) =>
		nearestMiss(hosts, WORK, { ...LIMITS, priceMicros: 60_000 }, P)?.why;
	const [memory, bond] = [host(1, { memoryBytes: 9e9 }), host(2, { freeBondMicros: 50 })];
	assert.equal(nearest(memory, bond), "memory");
	assert.equal(nearest(bond, memory), "memory");
	assert.equal(nearest(host(3, { isFree: false }), host(1, { memoryBytes: 4e9 })), "memory");
	const dear = host(4, { pricePerHourMicros: 3_600_001 });
	assert.equal(nearest(dear, memory), "memory");
	assert.equal(nearest(memory, dear), "memory");
	const dearer = host(5, { pricePerHourMicros: 9e6 });
	assert.equal(nearestMiss([dearer, dear], WORK, { ...LIMITS, priceMicros: 60_000 }, P)!.provider, dear.provider);
	assert.equal(nearest(), undefined);
});

test("which limit is missed, in words", () => {
	const text = (why: Parameters<typeof missText>[0]["why"], has: number, wants: number) =>
		missText({ why, has, wants }, "sampled");
	assert.match(text("time", 120_500, 89_500), /takes 2 min at .*, and 89\.5 s are left for it: 31 s too long/);
	assert.match(text("time", 90_000, 1500), /takes 2 min at .* and 1\.5 s .*: 88\.5 s too long/);
	assert.match(
		text("price", 3_000_000, 1_000_000),
		/costs 3 tokens for a part, and 1 tokens are paid: 2 tokens too dear/,
	);
	assert.match(text("busy", 0, 1), /is at work/);
	assert.match(text("excluded", 1, 0), /had this part before/);
});

test("who has just what is wanted fits", () => {
	const just = host(1, {
		memoryBytes: 10e9,
		reliabilityPpm: P.jobReliabilityPpm,
		freeBondMicros: 100,
		mostWorkMs: 300_000,
	});
	const limits = { ...LIMITS, priceMicros: 60_000 };
	assert.equal(missOf(just, WORK, limits, P), null, "a fifth of its time");
});

test("one owner, and one network, stands once on the list", () => {
	const hosts = [host(3), host(1, { owner: "same" }), host(2, { owner: "same" }), host(4, { network: "10.0.3.0/24" })];
	assert.deepEqual(
		fittingHosts(hosts, WORK, LIMITS, P).map(({ provider }) => Number(`0x${provider}`)),
		[1, 3],
	);
});

const segmentsOf = (segment: WorkTime) => ({ init: NONE, segment });
const INPUT: QuoteInput = {
	...{ segments: 400, time: segmentsOf(products(9000)), peakBytes: 10e9 },
	// 34 windows of a part fit on a disk: one is four segments of a part of 134.
	...{ stateBytes: Math.floor(2 ** 34 / 34), givenBytes: 0 },
	method: { name: "sampled", count: 16 },
	...{ mostMicros: null, gasMicros: 0, nowMs: 1000 },
};
/** Parts of 20 minutes, so that the numbers are round. How long parts are is part-length.test.ts's. */
const LONG = { ...P, jobPartMs: 1_200_000 };
const HOSTS = [host(1), host(2, { pricePerHourMicros: 7_200_000 }), host(3), host(4), host(5, { memoryBytes: 1e9 })];

test("a quote: parts of one length, the dearest of the cheaper half, everything in it", () => {
	const quote = quoteJob(INPUT, HOSTS, LONG);
	// 3,600 s of work: three parts.
	assert.deepEqual([quote.parts, quote.estimatedMs, quote.hosts], [3, 134 * 9000, 3]);
	assert.equal(quote.priceMicros, 134 * 9000);
	assert.equal(quote.feeMicros, Math.floor(quote.priceMicros / 50));
	assert.equal(quote.auditMicros, Math.ceil((134 * 9000 * 73 * 12) / 1340));
	assert.equal(quote.totalMicros, 3 * (quote.priceMicros + quote.feeMicros + quote.auditMicros));
	assert.equal(quote.workMs, 5 * quote.estimatedMs, "the room that the model leaves");
	assert.equal(quote.referenceMs, quote.estimatedMs, "these hosts are the reference");
	// Each part may need its time twice, the last one too; the escrow waits a year at most.
	assert.equal(quote.startByMs, 1000 + P.jobStartMs + 5 * quote.workMs);
	const year = quoteJob({ ...INPUT, segments: 400_000 }, HOSTS, LONG);
	assert.ok(year.startByMs < 365 * 86_400_000, `${year.startByMs}`);
	assert.ok(Math.abs(quote.tenthFound - 0.815) < 0.001);
	assert.ok(quote.bondMicros >= quote.priceMicros / 2);
	const twice = quoteJob({ ...INPUT, method: { name: "redundant", count: 2 } }, HOSTS, LONG);
	// The second one, and the random audit.
	assert.equal(twice.auditMicros, Math.ceil(twice.priceMicros * 2.4));
	assert.equal(twice.tenthFound, 1);
	const open = quoteJob({ ...INPUT, method: { name: "optimistic", count: 0 } }, HOSTS, LONG);
	assert.equal(open.auditMicros, Math.ceil(open.priceMicros * 1.2), "one of a whole part");
	assert.deepEqual([open.windowMs, open.checkedMs], [P.jobWindowMs, P.jobCheckedMs]);
	assert.equal(open.bondMicros, 9 * open.priceMicros);
	// Only what a guest signed, whose owner cannot change its work; the rest is as if nothing were signed.
	const attested = { ...INPUT, method: { name: "attested", count: 0 } } as const;
	const hosted = HOSTS.map((one, i) => ({ ...one, attested: i === 2 ? ("hosted" as const) : ("measured" as const) }));
	const signed = quoteJob(attested, hosted, LONG);
	assert.deepEqual([signed.hosts, signed.isSimulated, signed.tenthFound], [1, false, 0.1]);
	assert.equal(signed.auditMicros, Math.ceil(signed.priceMicros * 1.2), "one of a whole part");
	assert.equal(signed.bondMicros, 9 * signed.priceMicros);
	assert.deepEqual([signed.windowMs, signed.checkedMs], [P.jobWindowMs, P.jobCheckedMs]);
	const minted = hosted.map((one) => ({ ...one, isSimulated: true }));
	assert.equal(quoteJob(attested, minted, LONG).isSimulated, true);
	assert.equal(quoteJob(INPUT, minted, LONG).isSimulated, false, "another method rests on nothing that is signed");
	// Evidence never makes a window longer; without any it is as long as the setting says.
	const short = { ...LONG, jobWindowMs: 5, jobCheckedMs: 10 };
	assert.equal(quoteJob(INPUT, HOSTS, short).windowMs, 10);
	assert.equal(quoteJob({ ...INPUT, method: open.method }, HOSTS, short).windowMs, 5);
	assert.equal(quote.windowMs, P.jobWindowMs);
	// As long by its bytes as by its products.
	const wide = quoteJob({ ...INPUT, time: segmentsOf({ ...NONE, memoryNs: 9e12 / 1000 }) }, HOSTS, LONG);
	assert.deepEqual(
		[wide.parts, wide.estimatedMs, wide.priceMicros],
		[quote.parts, quote.estimatedMs, quote.priceMicros],
	);
	// The first and the last window, the drawn one, and a segment more; never more than all.
	const few = { method: { name: "sampled", count: 1 }, segments: 20 } as const;
	const audited = quoteJob({ ...INPUT, ...few, stateBytes: 2 ** 34 / 5 }, HOSTS, LONG);
	assert.equal(audited.auditMicros, Math.ceil((audited.priceMicros * 13 * 1.2) / 20));
	const all = quoteJob({ ...INPUT, ...few, method: { name: "sampled", count: 2 }, stateBytes: 2 ** 34 }, HOSTS, LONG);
	assert.equal(all.auditMicros, Math.ceil(all.priceMicros * 1.2));
	// Gas of a dispute is in the bond, with a fifth.
	const gas = quoteJob({ ...INPUT, gasMicros: 1e8 }, HOSTS, LONG);
	assert.equal(gas.bondMicros, 4 * gas.auditMicros + 1.2e8);
	// Seven segments in five parts are two each, so four parts are enough.
	const uneven = quoteJob({ ...INPUT, segments: 7, time: segmentsOf(products(800_000)) }, HOSTS, LONG);
	assert.deepEqual(
		[uneven.parts, uneven.totalMicros],
		[4, 4 * (uneven.priceMicros + uneven.feeMicros + uneven.auditMicros)],
	);
	// Never more parts than segments, and at least one; what costs nothing costs the least there is.
	assert.equal(quoteJob({ ...INPUT, segments: 2, time: segmentsOf(products(9e7)) }, HOSTS, LONG).parts, 2);
	const free = quoteJob({ ...INPUT, segments: 1, time: segmentsOf(NONE) }, HOSTS, LONG);
	assert.deepEqual([free.parts, free.priceMicros, free.estimatedMs], [1, P.jobLeastPaidMs, 0], "a minute of it");
	const small = quoteJob({ ...INPUT, segments: 2, time: segmentsOf(products(1000)) }, HOSTS, LONG);
	assert.deepEqual([small.parts, small.workMs], [1, P.jobLeastWorkMs]);
	// A dear host does not set the price of three cheap ones; nor does one that nobody could check.
	assert.ok(quote.priceMicros < costMicros({ time: products(9000 * 134) }, HOSTS[1]!, P));
});

test("a job that is paid by proof pays provers instead of auditors, and waits as long as its contracts want", () => {
	const method = { name: "zk", count: 0 } as const;
	const leastWindowMs = 2 * P.jobWindowMs;
	const quoted = (ops: number, gasMicros = 0) =>
		quoteJob({ ...INPUT, method, gasMicros, proving: { ops, leastWindowMs } }, HOSTS, LONG);
	const [cheap, dear] = [quoted(1e15), quoted(4e15)];
	const each = Math.ceil(cheap.segments / cheap.parts);
	assert.ok(Math.abs(dear.auditMicros / cheap.auditMicros - 4) < 0.01, `${dear.auditMicros} ${cheap.auditMicros}`);
	assert.equal(quoted(1e15, 100).auditMicros - cheap.auditMicros, 60 * each);
	assert.deepEqual([cheap.windowMs, cheap.checkedMs, cheap.tenthFound], [leastWindowMs, 1, 1]);
	// Provers are paid whatever becomes of the claim: the bond need not stand for them.
	assert.equal(dear.bondMicros, Math.ceil(dear.priceMicros / 2));
});

test("the dearest of the cheaper half sets the price, the slowest of them the parts; who does not fit sets nothing", () => {
	const one = quoteJob(INPUT, [host(1)], LONG);
	assert.deepEqual([one.hosts, one.priceMicros], [1, 134 * 9000]);
	const priced = (prices: readonly number[]) => prices.map((n) => host(n, { pricePerHourMicros: 3_600_000 * n }));
	const price = (hosts: readonly JobHost[]) => quoteJob(INPUT, hosts, LONG).priceMicros / one.priceMicros;
	assert.equal(price(priced([7, 6, 5, 4, 3, 2, 1])), 4, "four of seven");
	assert.equal(price(priced([1, 2, 3, 4, 5, 6])), 3);
	assert.equal(price(priced([1, 2, 3, 4])), 3, "three at least");
	assert.equal(price(priced([1, 2])), 2);
	const misfit = host(9, { pricePerHourMicros: 36_000_000, memoryBytes: 1 });
	assert.equal(price([...priced([1, 2]), misfit]), 2);
	// Half as fast, and at half the price as dear: 7,200 s are six parts.
	const slow = host(2, { int8OpsPerS: PROVEN_H200.int8OpsPerS / 2, pricePerHourMicros: 1_800_000 });
	for (const hosts of [
		[host(1), slow],
		[slow, host(1)],
	]) {
		const { parts, estimatedMs, priceMicros, workMs } = quoteJob(INPUT, hosts, LONG);
		assert.deepEqual([parts, estimatedMs, priceMicros], [6, 67 * 18_000, 67 * 9000]);
		assert.equal(workMs, 5 * estimatedMs);
	}
	assert.equal(quoteJob({ ...INPUT, segments: 410 }, [host(1)], LONG).parts, 4, "a little more than three");
});

test("long training on cards as measured: none is late, and their time is paid", () => {
	// A step of GPT-2 124M: by the model, and what an H200 took (bench/results/h200-2026-11-16-training.json).
	const [modelled, measuredMs] = [{ ...NONE, productsNs: 227_500_000 }, 217.8];
	for (const segments of [1000, 5000, 20_000, 100_000]) {
		const quote = quoteJob({ ...INPUT, segments, time: segmentsOf(modelled) }, HOSTS.slice(2), LONG);
		const tookMs = Math.ceil(segments / quote.parts) * measuredMs;
		assert.ok(quote.workMs > 2 * tookMs, `${segments} steps: limit ${quote.workMs} ms, ${tookMs} ms measured`);
		assert.ok(quote.priceMicros >= tookMs, `${segments} steps: ${quote.priceMicros} for ${tookMs} ms`);
	}
});

test("the init phase is paid for, and has its time", () => {
	const init = (ms: number) =>
		quoteJob({ ...INPUT, segments: 2, time: { init: products(ms), segment: NONE } }, [host(1)], LONG);
	assert.deepEqual([init(77_000).priceMicros, init(77_000).workMs], [77_000, P.jobLeastWorkMs]);
	assert.deepEqual([init(180_000).priceMicros, init(180_000).workMs], [180_000, 900_000]);
});

test("a host that proves to be slow is not paid more for it", () => {
	const slowly = (n: number, share: number) =>
		host(n, { int8OpsPerS: PROVEN_H200.int8OpsPerS * share, pricePerHourMicros: 3_600_000 });
	const honest = quoteJob(INPUT, [host(1), host(2), host(3)], LONG);
	const held = quoteJob(INPUT, [host(1), host(2), slowly(3, 0.5)], LONG);
	assert.equal(held.referenceMs, honest.referenceMs);
	// A tenth is what figures may differ by. The slow one does not take part at its price an hour.
	assert.equal(held.priceMicros, Math.ceil(1.1 * honest.priceMicros));
	assert.deepEqual([held.hosts, held.estimatedMs], [2, honest.estimatedMs]);
	// At half of it, it does: for the same pay, whatever it asked.
	const cheap = { ...slowly(3, 0.5), pricePerHourMicros: 1_800_000 };
	const joined = quoteJob({ ...INPUT, segments: 60 }, [host(1), host(2), cheap], LONG);
	assert.deepEqual([joined.hosts, joined.priceMicros], [3, 60 * 9000]);
	// Where the method needs it, there is no other price.
	const needed = quoteJob(
		{ ...INPUT, segments: 60, method: { name: "redundant", count: 2 } },
		[host(1), slowly(2, 0.5)],
		LONG,
	);
	assert.deepEqual([needed.hosts, needed.priceMicros], [2, 2 * 60 * 9000]);
});

test("the customer says what an hour of work is paid: whoever asks more is not drawn", () => {
	const small = { ...INPUT, segments: 100 };
	const hosts = [host(1), host(2, { pricePerHourMicros: 7_200_000 })];
	const at = (hourMicros: number) => quoteJob({ ...small, hourMicros }, hosts, LONG);
	assert.deepEqual([at(3_600_000).priceMicros, at(3_600_000).hosts], [900_000, 1]);
	assert.deepEqual([at(7_200_000).priceMicros, at(7_200_000).hosts], [1_800_000, 2]);
	assert.throws(() => at(3_599_000), { code: "JOB_NO_PROVIDER", message: /costs 0\.9 tokens for a part/ });
	assert.throws(() => at(0), { code: "JOB_NO_PROVIDER" });
	const least = quoteJob({ ...small, time: segmentsOf(NONE), hourMicros: 3_600_000 }, hosts, LONG);
	assert.equal(least.priceMicros, P.jobLeastPaidMs, "a minute of it");
});

test("no host, no host with the memory, too dear: refused with what is missing", () => {
	const refused = (input: Partial<QuoteInput>, hosts: readonly JobHost[], code: string, words: RegExp) =>
		assert.throws(
			() => quoteJob({ ...INPUT, ...input }, hosts, LONG),
			(error) => error instanceof AssayError && error.code === code && words.test(error.message) && error.hint !== "",
		);
	const none = (hosts: readonly JobHost[], words: RegExp, input: Partial<QuoteInput> = {}) =>
		refused(input, hosts, "JOB_NO_PROVIDER", words);
	const all = (more: Partial<JobHost>) => HOSTS.slice(0, 4).map((one) => ({ ...one, ...more }));
	none([], /no provider that takes jobs and proved its speed$/);
	const away = (lastVerdict: string | null, ...proven: string[]) => ({
		...{ provider: "aa", lastVerdict, proven: new Set(proven) },
	});
	none([], /speed; of 1 that are there and take jobs, one has not been probed yet$/, { absent: [away(null)] });
	const lacking = [away("valid", "gemm.int8"), away("valid", "gemm.int8"), away("invalid")];
	none([], /of 3 that .*, 2 of them: each has not proven memory bandwidth yet; one has a last probe that is invalid$/, {
		absent: lacking,
	});
	none(HOSTS, /74\.5 GiB of memory, and the job takes 93\.1 GiB: 18\.6 GiB too little/, { peakBytes: 100e9 });
	none(all({ memoryBytes: 0 }), /proved no memory \(its last probe has no figure memory\.resident\).* 9\.31 GiB/);
	none(all({ int8OpsPerS: 0 }), /proved no speed/);
	none(all({ methods: ["optimistic"] }), /takes no jobs that are checked by sampled/);
	const attested = { method: { name: "attested", count: 0 } } as const;
	none(all({}), /showed level none in its last probe, and hosted is needed/, attested);
	none(all({ attested: "measured" }), /showed level measured in its last probe, and hosted is needed/, attested);
	none(all({ mostWorkMs: 60_000 }), /takes parts of at most 60 s, and this one may take 2 h: 2 h too long/);
	none(all({ reliabilityPpm: 400_000 }), /reliability of 40\.0 %, and 50\.0 % is the least/);
	none(
		all({ freeBondMicros: 1_000_000 }),
		/can lock 1 tokens, and the bond is 3\.\d+ tokens: 2\.\d+ tokens too little/,
	);
	// Four fit, and five are asked for; then one owner has them all.
	const five = { method: { name: "redundant", count: 5 } } as const;
	none(HOSTS, /redundant:5 needs 5 providers, and 4 fit: the nearest other, 0+, .*memory/, five);
	const two = { method: { name: "redundant", count: 2 } } as const;
	none(
		all({ owner: "one", memoryBytes: 80e9 }),
		/needs 2 providers, and 1 fit: there are no others, or they are of the same/,
		two,
	);
	none(
		[host(1)],
		/needs 2 providers, and 1 fit: of 2 others that are there and take jobs, one has not proven memory bandwidth yet; one has a last probe that is invalid$/,
		{ ...two, absent: [away("valid", "gemm.int8"), away("invalid")] },
	);
	assert.throws(
		() => quoteJob(INPUT, [], LONG),
		(error) => error instanceof AssayError && /Try later: a provider is proven some minutes/.test(error.hint ?? ""),
	);
	assert.throws(
		() => quoteJob(INPUT, all({ methods: ["optimistic"] }), LONG),
		(error) =>
			error instanceof AssayError &&
			/another --method/.test(error.hint ?? "") &&
			/^no provider fits: the nearest one, 0{12}, /.test(error.message),
	);
	const exact = quoteJob(INPUT, HOSTS, LONG).totalMicros;
	assert.equal(quoteJob({ ...INPUT, mostMicros: exact }, HOSTS, LONG).totalMicros, exact);
	refused({ mostMicros: exact - 1 }, HOSTS, "JOB_PRICE", /: 0\.000001 tokens more/);
	// One of two takes no part that is so long: then there is no second one.
	const short = [host(1), host(2, { mostWorkMs: 60_000 })];
	none(short, /redundant:2 needs 2 providers, and 1 fit: the nearest other, 0+, takes parts of at most 60 s/, two);
	// Whoever runs it a second time locks nothing.
	const poor = HOSTS.map((one, i) => ({ ...one, freeBondMicros: i === 0 ? 1e12 : 0 }));
	assert.equal(quoteJob({ ...INPUT, ...two }, poor, LONG).hosts, 1);
	refused({ mostMicros: 10 }, HOSTS, "JOB_PRICE", /0\.00001 tokens are allowed: [\d.]+ tokens more/);
});

test("reputation: from rows alone; a conviction bars, work weighs a fifth at most", () => {
	const row = (outcome: "checked" | "paid" | "lost" | "convicted" | "declined", atMs = 0) => ({
		outcome,
		valueMicros: 5,
		atMs,
	});
	const good = reputationOf([row("checked"), row("paid"), row("declined"), row("checked")], 10, P);
	assert.deepEqual([good.checkedInARow, good.valueMicros, good.isBarred], [2, 5, false]);
	assert.equal(reputationOf([row("checked"), row("lost")], 10, P).checkedInARow, 0);
	assert.equal(reputationOf([row("convicted", 5)], 5 + P.jobConvictionMs - 1, P).isBarred, true);
	assert.equal(reputationOf([row("convicted", 5)], 5 + P.jobConvictionMs, P).isBarred, false);
	const some = reputationOf([row("checked"), row("paid"), row("paid"), row("lost")], 0, P);
	assert.deepEqual(some.counts, { checked: 1, paid: 2, lost: 1, late: 0, declined: 0, returned: 0, convicted: 0 });
	const weight = { jobWeightPpm: 200_000 };
	assert.equal(drawWeightPpm(some, weight), 1_000_000 + Math.floor((200_000 * 2) / 14));
	const late = { ...some, counts: { ...some.counts, late: 3 } };
	assert.equal(drawWeightPpm(late, weight), 1_000_000 - Math.floor(200_000 / 17), "towards the plain weight");
	assert.equal(drawWeightPpm(reputationOf([], 0, P), P), 1_000_000);
	const many = Array.from({ length: 10_000 }, () => row("checked"));
	const most = drawWeightPpm(reputationOf(many, 0, P), P);
	assert.ok(most > 1_190_000 && most <= 1_200_000);
	const least = drawWeightPpm(
		reputationOf(
			Array.from({ length: 10_000 }, () => row("lost")),
			0,
			P,
		),
		P,
	);
	assert.ok(least < 810_000 && least >= 800_000);
});

test("handing back: one of ten parts is free; whoever does it more often falls in the draw, and earns nothing", () => {
	const of = (...outcomes: readonly WorkRow["outcome"][]) =>
		reputationOf(
			outcomes.map((outcome, atMs) => ({ outcome, atMs, valueMicros: 5 })),
			100,
			P,
		);
	const times = (count: number, ...outcomes: readonly WorkRow["outcome"][]) =>
		Array.from({ length: count }, () => outcomes).flat();
	const marks = (reputation: ReturnType<typeof of>) => [reputation.counts.returned, reputation.counts.late];
	assert.deepEqual(marks(of("returned")), [1, 0], "the first one, of a newcomer too");
	assert.deepEqual(marks(of("returned", "returned", "returned")), [1, 2]);
	const done = times(9, "checked", "paid");
	assert.deepEqual(marks(of("returned", ...done, "returned")), [2, 0]);
	assert.deepEqual(marks(of("returned", ...done.slice(2), "returned")), [1, 1], "eight in between are too few");
	// What was never begun is not a part: declining does not make room.
	assert.deepEqual(marks(of("returned", ...times(20, "declined"), "returned")), [1, 1]);
	// A free one neither helps nor harms; others are what late ones are.
	const kept = of(...done, "returned");
	assert.deepEqual([kept.checkedInARow, drawWeightPpm(kept, P)], [9, drawWeightPpm(of(...done), P)]);
	assert.equal(of("returned", ...done.slice(2), "returned").checkedInARow, 0);
	// Cherry-picking: every third part that turns out dear is handed back. And dribbling: all of them are.
	const [honest, picks, dribbles] = [
		of(...times(60, "checked", "paid")),
		of(...times(20, "checked", "paid", "checked", "paid", "returned")),
		of(...times(60, "returned")),
	];
	const weights = [honest, picks, dribbles].map((one) => drawWeightPpm(one, P));
	assert.ok(weights[0]! > weights[1]! && weights[1]! > 1_000_000 && weights[2]! < 850_000, weights.join(" "));
	assert.deepEqual([dribbles.valueMicros, dribbles.checkedInARow], [0, 0]);
	assert.equal(picks.checkedInARow, 0, "its claims are audited like a newcomer's, and it earns for two of three");
});
