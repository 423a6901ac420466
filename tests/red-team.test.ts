// Attacks of a red team on the landed proof, each as the program that did it: validators that lie, hosts that
// are asked twice, crowds behind one door. What each gained before is in the comment of its test;
// docs/hardware-proof.md §9 and §11 say what holds now.
import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../src/cli/print/paint.ts";
import { verdictLine } from "../src/cli/print/verdict-table.ts";
import { ERROR_CODE, type Request } from "../src/engine/wire/frame-table.ts";
import { bytesToHex, writeU16 } from "../src/protocol/bytes/bytes.ts";
import { leafHash, merkleLevels, merklePath } from "../src/protocol/hash/merkle.ts";
import { createRowScratch, gemmElements } from "../src/protocol/maths/gemm-element.ts";
import { firstSeed, nextSeed, openSeed } from "../src/protocol/probe/challenge-seed.ts";
import { gemmLeafPlace, gemmLeaves } from "../src/protocol/probe/challenge-shape.ts";
import { claimHash, endOfRun, nonceChain, stageHash } from "../src/protocol/probe/countersign.ts";
import type { ChaseSpec, Countersign, EvidenceBody, GemmSpec, StreamSpec } from "../src/protocol/probe/evidence.ts";
import { decodeEvidence, encodeEvidence, packChallenges } from "../src/protocol/probe/evidence-codec.ts";
import { type GemmSample, gemmSamples } from "../src/protocol/probe/samples.ts";
import type { Signer } from "../src/protocol/probe/signer.ts";
import { deriveFigures } from "../src/verify/hardware/derive-figures.ts";
import { verifyEvidence } from "../src/verify/hardware/verify.ts";
import { verifyRollCall } from "../src/verify/roll-call/verify-roll-call.ts";
import { CHEATS } from "./toy/cheats.ts";
import { countedBytes, FOREIGN_SIGNER, probeToy, SIGNER, type ToyProbe } from "./toy/probe-toy.ts";
import { toyClaim } from "./toy/toy-claim.ts";
import { type Cheat, TOY_OPS_PER_S } from "./toy/toy-engine.ts";

const FORGED: GemmSpec = {
	...{ kind: "gemm", device: 0, precision: "int8", m: 128, n: 512, k: 128, rounds: 64, keep: 1, samples: 16 },
};
const STAGE_NONCES = nonceChain(new Uint8Array(32).fill(3));

/**
 * A validator that never met a host. The places follow from its own secret and from the last root alone: it
 * picks that root first, draws the places, and computes two elements of each opened leaf and nothing else.
 * `host` signs whatever it is given.
 */
function forge(host: Signer | null): Uint8Array {
	const random = countedBytes("forger");
	const nonce = host && STAGE_NONCES.nonceOf(0);
	const lastRoot = random(32);
	let secret: Uint8Array;
	let samples: GemmSample[];
	do {
		secret = random(32);
		const seed = openSeed(secret, 0, lastRoot, nonce);
		samples = gemmSamples(seed, FORGED.rounds, gemmLeaves(FORGED), FORGED.samples);
	} while (samples.some(({ round }) => round === FORGED.rounds - 1));
	const scratch = createRowScratch();
	const first = firstSeed(secret, 0, null, FORGED, 0);
	const roots: Uint8Array[] = [];
	const records = new Map<GemmSample, { leaf: Uint8Array; path: Uint8Array[] }>();
	let seed = first;
	for (let round = 0; round < FORGED.rounds - 1; round++) {
		const leaves = Array.from({ length: gemmLeaves(FORGED) }, () => new Uint8Array(1024));
		const here = samples.filter((sample) => sample.round === round);
		for (const { leaf, columns } of here) {
			const { row, column } = gemmLeafPlace(FORGED, leaf);
			const places = columns.map((c) => column + c);
			const elements = gemmElements(FORGED.precision, seed, FORGED.k, row, places, scratch);
			for (const [i, c] of columns.entries()) writeU16(leaves[leaf]!, 2 * c, elements[i]!);
		}
		const levels = merkleLevels(leaves.map(leafHash));
		for (const sample of here)
			records.set(sample, { leaf: leaves[sample.leaf]!, path: merklePath(levels, sample.leaf) });
		roots.push(levels.at(-1)![0]!);
		seed = nextSeed(seed, roots.at(-1)!);
	}
	roots.push(lastRoot);
	const opened = samples.map((sample) => ({ round: sample.round, index: sample.leaf, ...records.get(sample)! }));
	const { challenges, attachments } = packChallenges([
		{
			...{ spec: FORGED, stage: 0, attempt: 0, sentAtUs: 1000, end: "complete" },
			roots: roots.map((root, index) => ({ index, atUs: 1001 + index, root })),
			opens: [{ what: "leaves", sentAtUs: 3000, receivedAtUs: 4000, records: opened, end: "complete" }],
		},
	]);
	const id = bytesToHex(random(16));
	let countersign: Countersign | null = null;
	if (host !== null) {
		const of = { probeId: id, verifier: SIGNER.key, claim: claimHash(toyClaim(1)), stage: 0 };
		const hash = stageHash(of, nonce!, [{ end: endOfRun(first, roots), spanUs: 5 }]);
		const stages = [{ nonce: bytesToHex(nonce!), signature: bytesToHex(host.sign(hash)), spansUs: [5] }];
		countersign = { key: host.key, commitment: bytesToHex(STAGE_NONCES.commitment), stages };
	}
	const facts: Omit<EvidenceBody, "figures"> = {
		...{ format: "assay-evidence", version: 4, beacon: null, secret: bytesToHex(secret), claim: toyClaim(1) },
		probe: { id, startedAtMs: 1_800_000_000_000, finishedAtUs: 5000, target: "nobody", verifier: SIGNER.key },
		link: {
			...{ kind: host ? "agent" : "local", engineSha256: null, handshakeUs: null, rttUs: [100] },
			hostKey: host ? `ed25519:${host.key}` : null,
		},
		...{ challenges, readings: [], dropped: [], countersign, attestations: [] },
	};
	return encodeEvidence({ ...facts, figures: deriveFigures(facts, attachments) }, attachments, SIGNER);
}

test("a lone validator that never met a host: its file is worth its word, and says so first", () => {
	// Before: "VALID", and nothing about whose word it is.
	const verdict = verifyEvidence(forge(null));
	assert.ok(verdict.status === "valid", JSON.stringify(verdict));
	assert.equal(verdict.strength, "private");
	assert.equal(verdictLine(verdict, plain), `VALID, on the word of ${SIGNER.key.slice(0, 16)}…`);
	// A stranger who asks a chain about it: no chain drew anything in it. With a host's word under it, neither.
	for (const file of [forge(null), forge(FOREIGN_SIGNER)]) {
		const asked = verifyRollCall(file, null);
		assert.ok(asked.status === "invalid" && asked.code === "NOT_PUBLIC", JSON.stringify(asked));
	}
});

test("it cannot put a host's word under it: without the host's key there is none, with a made-up key the file names that key", () => {
	const real = { ...FOREIGN_SIGNER, sign: () => new Uint8Array(64) };
	const stolen = verifyEvidence(forge(real));
	assert.ok(stolen.status === "invalid" && stolen.code === "COUNTERSIGN_WRONG", JSON.stringify(stolen));
	// Two who lie together, or one who is both: the host is named, and whoever reads decides whether it is the
	// one they mean.
	const together = verifyEvidence(forge(FOREIGN_SIGNER));
	assert.ok(together.status === "valid" && together.strength === "countersigned");
	const line = verdictLine(together, plain);
	assert.ok(line.includes(`and of the host ${FOREIGN_SIGNER.key.slice(0, 16)}…`), line);
});

test("one card refuses late, the stage is asked again, the other plays its known answers again: its seeds are others now", async () => {
	// Before: int8 2.00 POPS of an H200 that has 1.30, confirmed.
	const seeds: string[] = [];
	let refusals = 0;
	const replay: Cheat = {
		request(toy, id, request: Request) {
			if (request.kind !== "gemm") return false;
			if (request.device === 0) seeds.push(bytesToHex(request.seed));
			if (request.device !== 1 || refusals++ > 0) return false;
			toy.send(id, { kind: "error", code: ERROR_CODE.no_memory, message: "no room" });
			return true;
		},
	};
	(CHEATS as Record<string, Cheat>)["refuse-once"] = replay;
	const spec = (device: number): GemmSpec => ({ ...FORGED, device, rounds: 3, keep: 3, samples: 4 });
	const specs = [spec(0), spec(1)];
	const { evidence, verdict } = await probeToy({
		...{ cheat: "refuse-once", gpus: 2, stages: [] },
		more: {
			plan: ({ steps }) =>
				steps.length < 2
					? { act: "stage", name: `fill ${steps.length}`, specs, deadlineMs: 600_000, mayShrink: steps.length === 0 }
					: { act: "finish" },
		},
	});
	assert.equal(verdict.status, "valid", JSON.stringify(verdict));
	assert.equal(seeds.length, 2);
	assert.notEqual(seeds[0], seeds[1]);
	const decoded = decodeEvidence(evidence!);
	assert.ok(decoded.ok);
	const { dropped, challenges } = decoded.evidence.envelope.body;
	assert.deepEqual(
		dropped!.map(({ stage, attempt, refused }) => [stage, attempt, refused]),
		[[0, 0, [1]]],
	);
	assert.deepEqual(
		challenges.map(({ attempt }) => attempt),
		[1, 1],
	);
});

/** Operations a second of all devices together, as the verdict has them; and what it found. */
async function shownBy(probe: ToyProbe): Promise<{ readonly opsPerS: number; readonly found: readonly string[] }> {
	const { verdict } = await probeToy(probe);
	assert.ok(verdict.status === "valid", JSON.stringify(verdict));
	const speeds = verdict.figures.filter(({ name }) => name === "gemm.int8").map(({ value }) => value);
	return { opsPerS: speeds.reduce((sum, value) => sum + value, 0), found: verdict.findings.map(({ code }) => code) };
}
const LONG: GemmSpec = { ...FORGED, rounds: 40, keep: 1, samples: 1 };

test("one card shown as four and served in turn within a stage: all figures together are what one card does", async () => {
	// Before: 1 + ½ + ⅓ + ¼ of its speed.
	const specs = [0, 1, 2, 3].map((device) => ({ ...LONG, rounds: 10, device }));
	for (const cheat of [{}, { cheat: "cards-in-turn" }]) {
		const { opsPerS } = await shownBy({ ...cheat, gpus: 4, cpus: 0, stages: [specs] });
		assert.ok(opsPerS <= 1.02 * TOY_OPS_PER_S, `${opsPerS / TOY_OPS_PER_S} cards`);
	}
});

test("a card that answers for the CPU as well: beside each other they show what the card does", async () => {
	// Before: both were asked apart, and an H200 with one core beside it was also an EPYC of 192.
	const [gpu, cpu] = [LONG, { ...LONG, device: 1 }];
	for (const cheat of [{}, { cheat: "gpu-as-cpu" }]) {
		const { opsPerS, found } = await shownBy({ ...cheat, gpus: 1, stages: [[gpu, cpu]] });
		assert.ok(opsPerS <= 1.05 * TOY_OPS_PER_S, `${opsPerS / TOY_OPS_PER_S} cards`);
		assert.ok(!found.includes("KINDS_APART"));
	}
	// A verifier that asks them apart is told so.
	const apart = await shownBy({ gpus: 1, stages: [[gpu], [cpu]] });
	assert.ok(apart.opsPerS > 1.9 * TOY_OPS_PER_S && apart.found.includes("KINDS_APART"));
});

const KEPT: GemmSpec = { ...FORGED, rounds: 2, keep: 2, samples: 2 };
const CHASE: ChaseSpec = { kind: "chase", device: 0, of: 0, newest: 0, intervals: 16, samples: 1 };
const STREAM: StreamSpec = { kind: "stream", device: 0, of: 0, newest: 0, passes: 2, samples: 2 };

test("several machines behind one device: streams do not tell, a chase does", async () => {
	// Before: two A10 were one better card, +129 %.
	const unchased = await shownBy({ cheat: "pool", gpus: 1, stages: [[KEPT], [STREAM]] });
	assert.ok(unchased.found.includes("MEMORY_LATENCY_UNPROVEN"));
	const whole = { ...CHASE, intervals: 64 };
	const stages = [[KEPT], [STREAM], [whole], [whole], [whole], [{ ...whole, newest: 1 }]];
	const { verdict } = await probeToy({ cheat: "pool", gpus: 1, stages });
	assert.ok(verdict.status === "invalid" && verdict.code === "MEMORY_APART", JSON.stringify(verdict));
	const honest = await shownBy({ gpus: 1, stages });
	assert.ok(!honest.found.includes("MEMORY_LATENCY_UNPROVEN") && !honest.found.includes("MEMORY_FAR"));
	// One that is slow all over looks like a card that has half of its time: neither is accused, and no byte of
	// either counts.
	for (const cheat of ["pool-in-halves", "half-its-time"]) {
		const { verdict: slow } = await probeToy({ cheat, gpus: 1, stages });
		assert.ok(slow.status === "valid", JSON.stringify(slow));
		assert.ok(slow.findings.some(({ code }) => code === "MEMORY_FAR"));
		assert.deepEqual(
			slow.figures.map(({ name }) => name).filter((name) => name.startsWith("memory.")),
			["memory.latency"],
		);
	}
});

test("a relay that answers echoes itself is as far away as the memory behind it", async () => {
	// Before: DISTANT_ENGINE was gone at 150 ms.
	const reach = { ...CHASE, intervals: 8 };
	const stages = [[KEPT], [{ ...CHASE, intervals: 4096 }], [reach], [reach]];
	const far = await shownBy({ cheat: "relay", gpus: 1, handshakeUs: 1000, stages });
	assert.ok(far.found.includes("DISTANT_ENGINE"), JSON.stringify(far));
	const near = await shownBy({ gpus: 1, handshakeUs: 1000, stages });
	assert.ok(!near.found.includes("DISTANT_ENGINE"), JSON.stringify(near));
});
