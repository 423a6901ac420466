// Pretended hosts for the plan's tests: they answer as fast as they say, and what the plan would record comes
// back. No engine runs here.
import assert from "node:assert/strict";
import { PRECISIONS, type Precision } from "../../../protocol/maths/precision.ts";
import type { ChallengeSpec, DeviceClaim, DeviceKind, HostClaim } from "../../../protocol/probe/evidence.ts";
import { checkSpecs } from "../checks/check-specs.ts";
import { planProbe } from "./plan-probe.ts";
import type { PlanOptions } from "./plan-stage.ts";
import {
	type ChallengeSeen,
	opsOfRound,
	roundBytes,
	type Seen,
	type Step,
	type WarmUp,
	type WarmUpSeen,
} from "./probe-plan.ts";

export const GiB = 2 ** 30;

export function device(
	kind: DeviceKind,
	freeBytes: number,
	precisions: readonly Precision[] = PRECISIONS,
): DeviceClaim {
	const numbers = {
		units: 1,
		clockMHz: 1,
		pcieGen: 0,
		pcieWidth: 0,
		powerLimitW: 0,
		powerDefaultW: 0,
		temperatureC: 0,
	};
	return { kind, name: kind, uuid: "", memoryBytes: freeBytes, freeBytes, compute: "", ...numbers, precisions };
}

export function claimOf(...devices: readonly DeviceClaim[]): HostClaim {
	return {
		engine: { version: "1", arch: "toy", cuda: true },
		host: { os: "", cpu: "", cores: 2, ramBytes: 8 * GiB, ramFreeBytes: 8 * GiB },
		driver: null,
		why: "",
		devices,
	};
}

export interface Host {
	readonly claim: HostClaim;
	/** int8 op/s of each device; fma runs at a tenth. */
	readonly opsPerS: readonly number[];
	readonly bytesPerS: number;
	/** How fast fma runs of this precision are, against the others. */
	readonly fmaShare?: (precision: string) => number;
	/** Of a chase, by the name of the phase; 0.6 where it is not said. */
	readonly hopUs?: (phase: string) => number;
	/** Of disks, reading and writing. */
	readonly diskBytesPerS?: number;
	/** Devices whose peers cannot read them. */
	readonly lonely?: readonly number[];
	/** Devices that refuse the first fill. */
	readonly refuses?: readonly number[];
}

/** How long a gemm or fma takes a host that is as fast as it says. */
export function secondsOf({ opsPerS, fmaShare }: Host, spec: ChallengeSpec): number {
	assert.ok(spec.kind === "gemm" || spec.kind === "fma");
	const share = spec.kind === "gemm" ? 1 : (fmaShare?.(spec.precision) ?? 1) / 10;
	return (opsOfRound(spec) * Math.max(1, spec.rounds)) / (opsPerS[spec.device]! * share);
}

export type Stage = Extract<Step, { act: "stage" }>;
export const OPTIONS: PlanOptions = { quick: false, sustainMs: 0, samples: null };

/**
 * Plays the plan against a host that answers as fast as it says, and returns the stages that would be
 * recorded.
 */
export function play(
	host: Host,
	options: PlanOptions = OPTIONS,
): { stages: Stage[]; dropped: Stage[]; trials: (readonly WarmUp[])[]; seconds: number } {
	const plan = planProbe(options);
	const steps: string[] = [];
	const warmUps: WarmUpSeen[] = [];
	const challenges: ChallengeSeen[] = [];
	const tooBig: ChallengeSpec[] = [];
	const stages: Stage[] = [];
	const dropped: Stage[] = [];
	const trials: (readonly WarmUp[])[] = [];
	let seconds = 0;
	const rate = (d: number, kind: "gemm" | "fma") => host.opsPerS[d]! / (kind === "gemm" ? 1 : 10);
	for (let guard = 0; guard < 300; guard++) {
		const seen: Seen = { claim: host.claim, rttUs: 200, steps, warmUps, challenges, tooBig };
		const step = plan(seen);
		if (step.act === "finish") return { stages, dropped, trials, seconds };
		assert.equal(steps.includes(step.name), false, `${step.name} twice`);
		steps.push(step.name);
		const warmUp = (runs: readonly WarmUp[]) => {
			trials.push(runs);
			for (const run of runs) {
				if (run.kind === "stream" || run.kind === "copy") {
					const holder = challenges[run.of]!.spec.device;
					const isDisk = host.claim.devices[run.device]!.kind === "disk";
					const isRefused = holder !== run.device && host.lonely?.includes(holder) === true;
					const bytesPerS = isDisk ? (host.diskBytesPerS ?? 1e9) : isRefused ? 0 : host.bytesPerS;
					warmUps.push({ run, opsPerS: 0, bytesPerS, spanS: 1 });
					continue;
				}
				const opsPerS = rate(run.device, run.kind);
				const spanS = (opsOfRound(run) * (run.rounds - 1)) / opsPerS;
				seconds += spanS;
				warmUps.push({ run, opsPerS, bytesPerS: run.kind === "gemm" && run.passes > 0 ? host.bytesPerS : 0, spanS });
			}
		};
		if (step.act === "warm-up") warmUp(step.runs);
		else if (step.act === "stage") {
			const refused = step.mayShrink ? step.specs.filter((spec) => host.refuses?.includes(spec.device)) : [];
			if (refused.length > 0) {
				tooBig.push(...refused);
				dropped.push(step);
				continue;
			}
			stages.push(step);
			for (const spec of step.specs) {
				if (spec.kind === "chase") {
					const s = 1e-6 * (host.hopUs?.(step.name) ?? 0.6) * 64 * spec.intervals;
					challenges.push({ spec, end: "complete", seconds: s, roots: 1 });
					continue;
				}
				if (spec.kind === "stream" || spec.kind === "copy") {
					const passes = spec.kind === "stream" ? spec.passes : 1;
					const of = challenges[spec.of]!.spec;
					const bytes = of.kind === "gemm" ? passes * roundBytes(of) * (spec.newest || of.keep) : 0;
					challenges.push({ spec, end: "complete", seconds: bytes / host.bytesPerS, roots: passes });
					continue;
				}
				const s = secondsOf(host, spec);
				challenges.push({ spec, end: "complete", seconds: s, roots: spec.rounds });
			}
			const counted = challenges
				.slice(-step.specs.length)
				.filter(({ spec }) => !["stream", "copy"].includes(spec.kind));
			seconds += Math.max(0, ...counted.map((challenge) => challenge.seconds));
		}
	}
	assert.fail("the plan has no end");
}

/** engine/FRAMES.md, requests. */
export function assertLegal(stages: readonly Stage[], { claim }: { readonly claim: HostClaim }): void {
	const specs = stages.flatMap((stage) => stage.specs);
	// What a verifier insists on is what the plan asks.
	const asked = stages.flatMap((stage, number) =>
		stage.specs.map((spec) => ({
			...{ spec, stage: number, attempt: 0, sentAtUs: 0, roots: 0, end: "complete" as const, opens: [] },
		})),
	);
	if (asked.length > 0) assert.equal(checkSpecs({ challenges: asked, claim }), null);
	for (const stage of stages) {
		assert.equal(new Set(stage.specs.map((spec) => spec.device)).size, stage.specs.length, "one challenge a device");
		assert.ok(stage.deadlineMs > 0 && stage.deadlineMs <= 86_400_000);
	}
	for (const spec of specs) {
		assert.ok(spec.samples >= 1 && spec.samples <= 4096);
		if (spec.kind === "gemm") {
			assert.ok(spec.m % 128 === 0 && spec.m >= 128 && spec.m <= 65536);
			assert.ok(spec.k % 128 === 0 && spec.k >= 128 && spec.k <= (spec.precision === "int8" ? 65536 : 16384));
			assert.ok(spec.n % 512 === 0 && spec.n >= 512 && spec.n <= 65536);
			assert.ok(spec.rounds >= 0 && spec.rounds <= 2 ** 20 && spec.keep >= 1);
		} else if (spec.kind === "fma") {
			assert.ok(spec.lanes % 256 === 0 && spec.lanes <= 2 ** 28 && spec.steps % 512 === 0 && spec.steps <= 2 ** 20);
			assert.ok(spec.rounds >= 1 && spec.rounds <= 2 ** 20);
		} else if (spec.kind === "stream") {
			assert.ok(spec.passes >= 1 && spec.passes <= 65536);
		}
	}
}

export const fillOf = (stages: readonly Stage[], name = "gpu fill") =>
	stages.find((stage) => stage.name === name)!.specs;

export const H200: Host = {
	claim: claimOf(device("gpu", 139 * GiB), device("cpu", 64 * GiB)),
	opsPerS: [1.6e15, 1e12],
	bytesPerS: 4e12,
};
export const TWO_CORES: Host = { claim: claimOf(device("cpu", 6 * GiB)), opsPerS: [6e10], bytesPerS: 1e10 };
