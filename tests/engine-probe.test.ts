// The real engine, built if it is not there, through the whole probe: a tiny plan of every kind and
// precision, the quick plan, a sustained run. On a machine with a GPU the quick plan covers it; elsewhere the
// CPU is probed and nothing is said of GPUs.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { before, test } from "node:test";
import { findEngine, hostPlatform } from "../src/engine/builds.ts";
import { createLocalLink } from "../src/engine/links/create-local-link.ts";
import { FMA_PRECISIONS, type FmaPrecision, type GemmPrecision } from "../src/protocol/maths/precision.ts";
import type { HostClaim } from "../src/protocol/probe/evidence.ts";
import { decodeEvidence } from "../src/protocol/probe/evidence-codec.ts";
import { type ProbeOptions, runProbe } from "../src/validator/probe/run-probe.ts";
import { planProbe } from "../src/verify/hardware/plan/plan-probe.ts";
import type { Plan, Step } from "../src/verify/hardware/plan/probe-plan.ts";
import { verifyEvidence } from "../src/verify/hardware/verify.ts";
import { outcomeOf, SIGNER } from "./toy/probe-toy.ts";

let enginePath = "";
before(async () => {
	enginePath = (await findEngine(hostPlatform())).path;
});

/**
 * The verifier's clock runs this much slower: whether a busy test machine reads its RAM quickly enough is not
 * what is tested.
 */
const SLOWER_BY = 50;

/**
 * The default plan, told the speeds that the wall's clock would have shown: it sizes runs in seconds that
 * somebody waits.
 */
function realPlan(o: { quick: boolean; sustainMs: number; samples: number | null }): Plan {
	const plan = planProbe(o);
	return (seen) =>
		plan({
			...seen,
			warmUps: seen.warmUps.map((warmUp) => ({
				...warmUp,
				opsPerS: warmUp.opsPerS / SLOWER_BY,
				// The plan asks nothing of RAM that a busy machine reads slowly; here the stream shall be asked
				// whatever the load.
				bytesPerS: Math.max(warmUp.run.kind === "stream" ? 5e9 : 0, warmUp.bytesPerS / SLOWER_BY),
				spanS: warmUp.spanS * SLOWER_BY,
			})),
		});
}

function options(more: Partial<ProbeOptions>): ProbeOptions {
	return {
		openLink: () => createLocalLink({ command: enginePath, env: process.env }),
		target: "local",
		quick: true,
		sustainMs: 0,
		signer: SIGNER,
		clockUs: () => (performance.now() * 1000) / SLOWER_BY,
		nowMs: () => Date.now(),
		randomBytes: (size) => new Uint8Array(randomBytes(size)),
		...more,
	};
}

/**
 * Every kind and precision that a device claims, one small challenge each, all devices in the order of the
 * claim.
 */
function tinyStages(claim: HostClaim): Extract<Step, { act: "stage" }>[] {
	const stages: Extract<Step, { act: "stage" }>[] = [];
	const add = (specs: Extract<Step, { act: "stage" }>["specs"]) =>
		stages.push({ act: "stage", name: `tiny ${stages.length}`, specs, deadlineMs: 600_000 });
	claim.devices.forEach(({ precisions }, device) => {
		for (const precision of precisions) {
			if ((FMA_PRECISIONS as readonly string[]).includes(precision)) {
				const fma = precision as FmaPrecision;
				add([{ kind: "fma", device, precision: fma, lanes: 1024, steps: 1024, rounds: 3, samples: 6 }]);
			} else {
				const gemm = precision as GemmPrecision;
				add([{ kind: "gemm", device, precision: gemm, m: 256, n: 1024, k: 384, rounds: 3, keep: 2, samples: 24 }]);
			}
		}
	});
	return stages;
}

test("a tiny plan of every kind and precision is valid", async () => {
	const plan: Plan = (seen) => tinyStages(seen.claim)[seen.steps.length] ?? { act: "finish" };
	const result = await runProbe(options({ plan }));
	assert.equal(outcomeOf(result), "valid", JSON.stringify(result.verdict));
	assert.ok(result.claim !== null);
	assert.ok(result.claim.devices.some(({ kind }) => kind === "cpu"));
	const decoded = decodeEvidence(result.evidence!);
	assert.ok(decoded.ok);
	assert.equal(decoded.evidence.envelope.body.challenges.length, tinyStages(result.claim).length);
	assert.match(decoded.evidence.envelope.body.link.engineSha256 ?? "", /^[0-9a-f]{64}$/);
});

test("the quick plan is valid and proves speed, memory and scalar work of every device", async () => {
	const result = await runProbe(options({ plan: realPlan({ quick: true, sustainMs: 0, samples: null }) }));
	assert.ok(result.verdict.status === "valid", JSON.stringify(result.verdict));
	assert.ok(result.claim);
	for (let device = 0; device < result.claim.devices.length; device++) {
		const names = result.verdict.figures.filter((figure) => figure.device === device).map(({ name }) => name);
		if (result.claim.devices[device]?.kind === "disk") continue;
		for (const name of ["gemm.int8", "memory.resident", "memory.bandwidth", "fma.fp32"])
			assert.ok(names.includes(name), name);
	}
	assert.deepEqual(verifyEvidence(result.evidence!), result.verdict);
	const flipped = result.evidence!.map((byte, i) => (i === result.evidence!.length - 100 ? byte ^ 1 : byte));
	assert.equal(verifyEvidence(flipped).status, "invalid");
});

test("a sustained run is stopped and valid", async () => {
	const whole = realPlan({ quick: true, sustainMs: 700, samples: 8 });
	// Warm-ups and the sustained stage alone.
	const plan: Plan = (seen) => {
		const skipped: string[] = [...seen.steps];
		for (;;) {
			const step = whole({ ...seen, steps: skipped });
			if (step.act !== "stage" || step.stopAfterMs !== undefined) return step;
			skipped.push(step.name);
		}
	};
	const result = await runProbe(options({ plan }));
	assert.equal(outcomeOf(result), "valid", JSON.stringify(result.verdict));
	const decoded = decodeEvidence(result.evidence!);
	assert.ok(decoded.ok);
	assert.ok(decoded.evidence.envelope.body.challenges.every(({ end }) => end === "stopped"));
});
