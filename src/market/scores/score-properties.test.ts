// What no provider can do to its score, for hosts drawn at random: hide, claim, reorder, split.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../../tests/fuzz.test-kit.ts";
import { createParams, DEFAULT_PARAMS } from "../params.ts";
import { mismatchesOf } from "./recompute.ts";
import { NEVER_RENTED, type Proof } from "./score-input.ts";
import { scoreProvider } from "./score-provider.ts";
import { CARDS, gpuFigures, hostFigures, inputOf, NOW_MS, profile } from "./scored-host.test-kit.ts";

const P = DEFAULT_PARAMS;

interface DrawnGpu {
	readonly id: string;
	readonly share: number;
	readonly uuid: number;
	/** Of the data sheet. */
	readonly sustained: number | null;
}

const cardId = fc.constantFrom(...CARDS.map(({ id }) => id));
const gpu: fc.Arbitrary<DrawnGpu> = fc.record({
	id: cardId,
	share: fc.double({ min: 0, max: 1.2, noNaN: true }),
	uuid: fc.integer({ min: 0, max: 1000 }),
	sustained: fc.option(fc.double({ min: 0, max: 1.2, noNaN: true })),
});
const host = fc.record({
	gpus: fc.array(gpu, { minLength: 1, maxLength: 10 }),
	hostShare: fc.double({ min: 0, max: 1.5, noNaN: true }),
	ramGiB: fc.integer({ min: 0, max: 512 }),
});
type DrawnHost = typeof host extends fc.Arbitrary<infer T> ? T : never;

const sustainedFigure = (device: number, id: string, share: number) => ({
	...{ device, name: "gemm.int8.sustained", unit: "op/s", challenge: 0 },
	value: Math.floor(share * profile(id).rates.int8!),
});

function proofOf({ gpus, hostShare, ramGiB }: DrawnHost): Proof {
	return {
		evidence: "e".repeat(64),
		provenAtMs: NOW_MS - 1,
		devices: [
			...gpus.map(({ uuid }) => ({ kind: "gpu" as const, uuid: `GPU-${uuid}` })),
			{ kind: "cpu" as const, uuid: "" },
			{ kind: "disk" as const, uuid: "" },
		],
		figures: [
			...gpus.flatMap(({ id, share, sustained }, device) => [
				...gpuFigures(profile(id), device, share),
				...(sustained === null ? [] : [sustainedFigure(device, id, sustained)]),
			]),
			...hostFigures(gpus.length, hostShare),
		],
		identity: gpus.map(({ id }, device) => ({ device, profile: id })),
		claimedRamBytes: ramGiB * 2 ** 30,
	};
}
const score = (proof: Proof, params = P, rented = NEVER_RENTED) =>
	scoreProvider(inputOf(proof, { rented }), params).scorePpm;

test("bounded, whole, and explained", () => {
	fc.assert(
		fc.property(
			host,
			fc.record({ calls: fc.nat(30), paidPpm: fc.nat(2_000_000) }),
			fc.constantFrom("holistic", "sn27"),
			fc.constantFrom("carried", "plain"),
			(h, rented, scoring, hostParts) => {
				const params = createParams({ scoring, hostParts });
				const explanation = scoreProvider(inputOf(proofOf(h), { rented }), params);
				assert.ok(Number.isSafeInteger(explanation.scorePpm));
				assert.ok(explanation.scorePpm >= 0 && explanation.scorePpm <= 1_000_000);
				assert.deepEqual(mismatchesOf(explanation), []);
			},
		),
	);
});

test("monotone: a better figure never lowers a score, a hidden one never raises it", () => {
	fc.assert(
		fc.property(host, fc.nat(), fc.integer({ min: 0, max: 2 ** 50 }), (h, at, more) => {
			const proof = proofOf(h);
			const i = at % proof.figures.length;
			const whole = score(proof);
			const better = proof.figures.map((f, j) =>
				i === j ? { ...f, value: Math.min(Number.MAX_SAFE_INTEGER, f.value + more) } : f,
			);
			assert.ok(score({ ...proof, figures: better }) >= whole);
			// Sustained runs are the validator's to ask for: one that is asked for and not answered leaves no valid
			// verdict at all.
			if (proof.figures[i]!.name.endsWith(".sustained")) return;
			assert.ok(score({ ...proof, figures: proof.figures.filter((_, j) => i !== j) }) <= whole);
		}),
	);
});

test("the order of devices plays no part", () => {
	fc.assert(
		fc.property(host, fc.array(fc.nat(), { minLength: 10, maxLength: 10 }), (h, keys) => {
			const gpus = h.gpus.map((one, i) => ({ one, key: keys[i]! })).sort((a, b) => a.key - b.key);
			assert.equal(score(proofOf({ ...h, gpus: gpus.map(({ one }) => one) })), score(proofOf(h)));
		}),
	);
});

test("one more GPU never lowers a score, unless it shows the UUID of another", () => {
	fc.assert(
		fc.property(host, gpu, (h, one) => {
			const added = { ...one, uuid: 5000 };
			assert.ok(score(proofOf({ ...h, gpus: [...h.gpus, added] })) >= score(proofOf(h)));
			const copy = { ...one, uuid: h.gpus[0]!.uuid };
			assert.ok(score(proofOf({ ...h, gpus: [...h.gpus, copy] })) <= score(proofOf(h)));
		}),
	);
});

/**
 * Two providers of one host, each with some of its GPUs, and each with the whole CPU, RAM and disk: they are
 * not probed at once.
 */
function split(h: DrawnHost, mask: number): [Proof, Proof] {
	const side = (which: number) => ({ ...h, gpus: h.gpus.filter((_, i) => ((mask >> i) & 1) === which) });
	return [proofOf(side(0)), proofOf(side(1))];
}

test("a host that is split into two providers gains nothing, however many GPUs it has", () => {
	// So large that ten cards drawn here, overclocked, are within it: the next test has what is beyond.
	const params = createParams({ fullHostGpus: 16 });
	fc.assert(
		fc.property(host, fc.integer({ min: 0, max: 1023 }), (h, mask) => {
			const whole = { ...h, gpus: h.gpus.map((one, i) => ({ ...one, uuid: i })) };
			const [a, b] = split(whole, mask);
			// Each of the two is rounded down, as the whole is: the sum may be one millionth above it by that,
			// never more.
			assert.ok(score(a, params) + score(b, params) <= score(proofOf(whole), params) + 1);
		}),
	);
});

test("beyond a full host a second provider does pay: a score is at most 1", () => {
	const card = { id: "full card", share: 1, sustained: null };
	const h = { gpus: Array.from({ length: 10 }, (_, uuid) => ({ ...card, uuid })), hostShare: 1, ramGiB: 128 };
	const [a, b] = split(h, 0b11111);
	assert.equal(score(proofOf(h)), 1_000_000);
	assert.equal(score(a) + score(b), 1_250_000);
});

test("the twin: with CPU, RAM and disk added beside the GPUs, a split host is paid twice for them", () => {
	const plain = createParams({ hostParts: "plain" });
	const card = { id: "GeForce RTX 4090", share: 0.9, sustained: null };
	const whole = {
		gpus: [
			{ ...card, uuid: 0 },
			{ ...card, uuid: 1 },
		],
		hostShare: 1,
		ramGiB: 128,
	};
	const [a, b] = split(whole, 1);
	assert.ok(score(a, plain) + score(b, plain) > 1.8 * score(proofOf(whole), plain));
	assert.equal(score(a) + score(b), score(proofOf(whole)));
});

test("a claimed size of RAM never raises a score above what it is with all the RAM in the world", () => {
	fc.assert(
		fc.property(host, fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), (h, claimedRamBytes) => {
			const proof = proofOf({ ...h, ramGiB: 512 });
			assert.ok(score({ ...proof, claimedRamBytes }) <= score(proof));
		}),
	);
});

const TRIAL = createParams({ hostOnlyPpm: 10_000 });
/** What one more provider without a GPU gets at most: all host parts, none of the GPU's. */
const MAX_ALONE = 4500;

test("with hostOnlyPpm: explained, never lower than without, and a proven GPU is never worth hiding", () => {
	fc.assert(
		fc.property(host, fc.integer({ min: 0, max: 1023 }), (h, mask) => {
			const whole = scoreProvider(inputOf(proofOf(h)), TRIAL);
			assert.deepEqual(mismatchesOf(whole), []);
			const plain = score(proofOf(h));
			assert.ok(whole.scorePpm >= plain && whole.scorePpm <= Math.max(plain, MAX_ALONE));
			// Nothing of the GPUs was proven: nothing for the rest, however good.
			if (score(proofOf({ ...h, hostShare: 1, ramGiB: 128 })) === 0) return assert.equal(whole.scorePpm, 0);
			const shown = h.gpus.filter((_, i) => (mask >> i) & 1);
			const uuids = new Set(h.gpus.map(({ uuid }) => uuid));
			if (uuids.size === h.gpus.length) assert.ok(score(proofOf({ ...h, gpus: shown }), TRIAL) <= whole.scorePpm);
			assert.ok(score(proofOf({ ...h, gpus: [] }), TRIAL) <= whole.scorePpm);
		}),
	);
});

test("with hostOnlyPpm a host that is split gains at most the share itself for each piece: why it is 0 in a real network", () => {
	fc.assert(
		fc.property(host, fc.integer({ min: 0, max: 1023 }), (h, mask) => {
			const whole = { ...h, gpus: h.gpus.map((one, i) => ({ ...one, uuid: i })) };
			const [a, b] = split(whole, mask);
			assert.ok(score(a, TRIAL) + score(b, TRIAL) <= score(proofOf(whole), TRIAL) + 2 * MAX_ALONE + 1);
		}),
	);
});
