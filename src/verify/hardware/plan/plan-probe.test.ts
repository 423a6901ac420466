// The plan against pretended hosts: every request stays inside engine/FRAMES.md, memory is filled, speeds set
// the sizes, refusals shrink, and a hostile claim gets a bounded probe. Several devices and disks are in
// plan-devices.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { HostClaim } from "../../../protocol/probe/evidence.ts";
import { POLICY } from "../policy.ts";
import { gpuFmaSpec } from "./gpu-sizes.ts";
import {
	assertLegal,
	claimOf,
	device,
	fillOf,
	GiB,
	H200,
	OPTIONS,
	play,
	secondsOf,
	TWO_CORES,
} from "./plan-host.test-kit.ts";
import { opsOfRound } from "./probe-plan.ts";

test("an H200 is filled, streamed and asked in every precision", () => {
	const { stages } = play(H200);
	assertLegal(stages, H200);
	const names = stages.map(({ name }) => name);
	const kinds = stages.map(({ specs }) => specs.map((spec) => H200.claim.devices[spec.device]!.kind).join(" "));
	assert.deepEqual(
		names.map((name, i) => `${name}: ${kinds[i]}`),
		[
			"gpu fill: gpu cpu",
			"gpu stream: gpu cpu",
			"gpu chase: gpu",
			...[1, 2, 3, 4].map((i) => `gpu reach ${i}: gpu`),
			"gpu gemm fp8: gpu",
			"gpu gemm fp16: gpu",
			"gpu gemm bf16: gpu",
			"gpu gemm tf32: gpu",
			"gpu fma fp32: gpu cpu",
			"gpu fma fp64: gpu cpu",
			"gpu fma int32: gpu cpu",
		],
	);
});

test("what is asked of the CPU beside cards lasts as long as what is asked of them", () => {
	for (const cpu of [1e10, 1e12, 3e13]) {
		const host = { ...H200, opsPerS: [1.6e15, cpu] };
		for (const { name, specs } of play(host).stages) {
			const [gpus, cpus] = [0, 1].map((d) => specs.find((spec) => spec.device === d));
			if (!gpus || !cpus || gpus.kind === "stream") continue;
			const longer = secondsOf(host, cpus) / secondsOf(host, gpus);
			assert.ok(longer > 1, `${name}: ${longer}`);
			// The slowest CPU is busy for as long as its least takes.
			if (cpu > 1e10) assert.ok(longer < 1.3, `${name}: ${longer}`);
		}
	}
});

test("at least 95 % of the free memory is kept products, and operands still fit, on every size of card", () => {
	for (let free = 2 * GiB; free < 300 * GiB; free = Math.floor(free * 1.037)) {
		const host = { ...H200, claim: claimOf(device("gpu", free), device("cpu", GiB)) };
		const [spec] = fillOf(play(host).stages);
		assert.ok(spec?.kind === "gemm");
		const kept = 2 * spec.m * spec.n * spec.keep;
		assert.ok(kept + (spec.m + spec.n) * spec.k + (spec.m * spec.n) / 8 < free, `fits ${free}`);
		assert.ok(kept >= (free >= 4 * GiB ? 0.95 : 0.9) * free, `${kept / free} of ${free}`);
	}
});

test("several cards are asked at once in every stage", () => {
	const gpus = Array.from({ length: 8 }, () => device("gpu", 139 * GiB));
	const host = { ...H200, claim: claimOf(...gpus, device("cpu", GiB)), opsPerS: [...gpus.map(() => 1e15), 1e11] };
	const { stages } = play(host);
	assertLegal(stages, host);
	for (const stage of stages.filter(({ name }) => /^gpu (?!alone|reach)/.test(name))) {
		assert.deepEqual(
			stage.specs.map((spec) => spec.device).filter((d) => d < 8),
			[0, 1, 2, 3, 4, 5, 6, 7],
		);
	}
	const ofs = stages.find(({ name }) => name === "gpu stream")!.specs.map((spec) => spec.kind === "stream" && spec.of);
	assert.deepEqual(ofs, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

test("a fill that is refused for memory is asked once more, 5 % smaller, for the card that refused", () => {
	const gpus = [device("gpu", 139 * GiB), device("gpu", 139 * GiB)];
	const host = { ...H200, claim: claimOf(...gpus, device("cpu", GiB)), opsPerS: [1e15, 1e15, 1e11], refuses: [1] };
	const { stages, dropped } = play(host);
	assertLegal(stages, host);
	assert.equal(dropped.length, 1);
	const before = dropped[0]!.specs.map((spec) => (spec.kind === "gemm" ? spec.keep : 0));
	const after = fillOf(stages, "gpu fill, smaller").map((spec) => (spec.kind === "gemm" ? spec.keep : 0));
	assert.equal(after[0], before[0]);
	assert.ok(after[1]! <= 0.95 * before[1]! && after[1]! >= 0.94 * before[1]!);
	assert.equal(stages[0]?.mayShrink, undefined, "a second refusal is recorded");
});

test("two cores: runs long enough to repeat, bytes 20 times dearer to compute than to read", () => {
	const { stages, seconds } = play(TWO_CORES);
	assertLegal(stages, TWO_CORES);
	const [keep] = fillOf(stages, "cpu keep");
	assert.ok(keep?.kind === "gemm");
	const keepS = (opsOfRound(keep) * keep.rounds) / 6e10;
	assert.ok(keepS >= 0.5 && keepS < 5 && keep.rounds >= 4, `${keepS} s`);
	assert.ok((keep.k * 1e10) / 6e10 >= 20);
	assert.ok(2 * keep.m * keep.n * keep.keep <= GiB);
	assert.ok(seconds < 12, `${seconds} s`);
});

test("RAM is asked for however slowly it reads: verify decides whether it counts", () => {
	const names = (bytesPerS: number) => play({ ...TWO_CORES, bytesPerS }).stages.map(({ name }) => name);
	assert.ok(names(5e9).includes("cpu stream"));
	assert.ok(names(1e9).includes("cpu stream"));
});

test("a machine that is found busy is asked to keep as much as when it is idle", () => {
	const kept = [2.2e11, 1.5e11, 1e11, 6e10].map((speed) => {
		const [keep] = fillOf(play({ ...TWO_CORES, opsPerS: [speed], bytesPerS: speed / 13 }).stages, "cpu keep");
		assert.ok(keep?.kind === "gemm");
		return [keep.k, keep.keep];
	});
	assert.equal(new Set(kept.map(String)).size, 1, JSON.stringify(kept));
});

test("a fast server's bytes are made dearer by a larger k", () => {
	const [keep] = fillOf(play({ ...TWO_CORES, opsPerS: [2e13], bytesPerS: 3e11 }).stages, "cpu keep");
	assert.ok(keep?.kind === "gemm" && (keep.k * 3e11) / 2e13 >= 20 && keep.k > 1024);
});

test("quick asks for less of everything and stays within seconds", () => {
	for (const host of [H200, TWO_CORES]) {
		const quick = play(host, { ...OPTIONS, quick: true });
		assertLegal(quick.stages, host);
		assert.ok(quick.stages.length < play(host).stages.length);
		assert.ok(quick.seconds < 3.5, `${quick.seconds} s`);
		for (const spec of quick.stages.flatMap(({ specs }) => specs)) assert.ok(spec.samples <= 32);
	}
});

test("sustained runs come last, on the cards if there are any, in rounds of 50 to 200 ms", () => {
	for (const [host, kind] of [
		[H200, "gpu"],
		[TWO_CORES, "cpu"],
	] as const) {
		const { stages } = play(host, { ...OPTIONS, sustainMs: 60_000 });
		assertLegal(stages, host);
		const sustained = stages.filter((stage) => stage.stopAfterMs !== undefined);
		assert.deepEqual(
			sustained.map(({ name }) => name),
			[`${kind} sustained`],
		);
		const spec = sustained[0]!.specs[0]!;
		assert.ok(spec.kind === "gemm" && spec.rounds === 0);
		const roundS = opsOfRound(spec) / host.opsPerS[spec.device]!;
		assert.ok(roundS >= 0.05 && roundS <= 0.2, `${roundS} s`);
	}
	assert.equal(
		play(H200).stages.some((stage) => stage.stopAfterMs !== undefined),
		false,
	);
});

test("lanes of a large card are whole waves in rounds of 5 to 15 ms, of a slow one few", () => {
	for (const [precision, opsPerS] of [
		["fp32", 60e12],
		["fp64", 30e12],
		["int32", 30e12],
	] as const) {
		const spec = gpuFmaSpec(0, precision, 64, { units: 132, budgetS: 0.1, opsPerS });
		assert.equal(spec.lanes % (132 * 8 * 1024), 0);
		assert.equal(spec.lanes % (132 * 6 * 1024), 0);
		const roundS = opsOfRound(spec) / opsPerS;
		assert.ok(roundS > 0.005 && roundS <= 0.015, `${precision}: ${roundS} s`);
		// What a verifier needs for its lanes, on a slow core.
		assert.ok(64 * spec.steps * POLICY.workNs.step[precision] < 0.05e9);
	}
	for (const [units, opsPerS] of [
		[0, 60e12],
		[132, 1e10],
		[1e9, 60e12],
	] as const)
		assert.equal(gpuFmaSpec(0, "fp64", 64, { units, budgetS: 0.1, opsPerS }).lanes, 2 ** 20);
});

test("beside cards the disk is tried while they are, elsewhere in its own turn", () => {
	const disk = device("disk", 100 * GiB, []);
	for (const [host, isBeside] of [
		[H200, true],
		[TWO_CORES, false],
	] as const) {
		const claim = claimOf(...host.claim.devices, disk);
		const { trials } = play({ ...host, claim, opsPerS: [...host.opsPerS, 1] });
		const copies = trials.filter((runs) => runs.some(({ kind }) => kind === "copy"));
		const kinds = copies.map((runs) => runs.some((run) => claim.devices[run.device]!.kind !== "disk"));
		assert.deepEqual(kinds, [isBeside]);
	}
});

test("who seems slow is asked again, and a part of it where all runs were slow; nobody else is", () => {
	const asked = (host: Partial<typeof H200>) => {
		const { stages } = play({ ...H200, ...host });
		assertLegal(stages, H200);
		const names = stages.map(({ name }) => name).filter((name) => /chase|stream/.test(name));
		return { names, specs: stages.filter(({ name }) => /chase/.test(name)).map(({ specs }) => specs[0]!) };
	};
	assert.deepEqual(asked({}).names, ["gpu stream", "gpu chase"]);
	assert.deepEqual(asked({ bytesPerS: 1.5e11 }).names, ["gpu stream", "gpu stream again", "gpu chase"]);
	const slow = asked({ hopUs: () => 1.3 });
	assert.deepEqual(slow.names, [
		"gpu stream",
		"gpu chase",
		"gpu chase again 1",
		"gpu chase again 2",
		"gpu chase, part",
	]);
	const [first, again, last, part] = slow.specs;
	assert.ok(first?.kind === "chase" && again?.kind === "chase" && last?.kind === "chase" && part?.kind === "chase");
	assert.deepEqual([again, last], [again, again]);
	assert.ok(again.intervals === 4 * first.intervals && again.newest === 0);
	// A 64th of what is kept, so that no cache holds it.
	assert.ok(part.newest >= 1 && part.newest <= 5 && part.intervals < first.intervals);
	// A packet that was lost once: the second run says so.
	const once = asked({ hopUs: (phase) => (phase === "gpu chase" ? 3 : 0.6) });
	assert.deepEqual(once.names, ["gpu stream", "gpu chase", "gpu chase again 1"]);
});

test("fp32 and fp64 are asked again, and longer, where their ratio is about to speak against the claimed name", () => {
	const named = (name: string, fp64Share: number) => {
		const gpu = { ...device("gpu", 139 * GiB), name };
		const fmaShare = (precision: string) => (precision === "fp64" ? fp64Share : 1);
		const { stages } = play({ ...H200, claim: claimOf(gpu, H200.claim.devices[1]!), fmaShare });
		return stages.filter(({ name: stage }) => stage.startsWith("gpu fma"));
	};
	const isAgain = ({ name }: { readonly name: string }) => name.endsWith("again");
	// An H200 has half of its fp32 rate in fp64; the rule speaks below a fifth of that.
	assert.ok(!named("NVIDIA H200", 0.5).some(isAgain) && !named("NVIDIA H200", 0.21).some(isAgain));
	assert.ok(!named("Nobody's card", 0.01).some(isAgain));
	const stages = named("NVIDIA H200", 0.19);
	assert.deepEqual(
		stages.filter(isAgain).map(({ name }) => name),
		["gpu fma fp32 again", "gpu fma fp64 again"],
	);
	const rounds = (name: string) => {
		const [spec] = stages.find((stage) => stage.name === name)!.specs;
		return spec?.kind === "fma" ? spec.rounds : 0;
	};
	assert.ok(rounds("gpu fma fp64 again") > 20 * rounds("gpu fma fp64"));
});

test("samples as asked for", () => {
	const { stages } = play(H200, { ...OPTIONS, samples: 300 });
	const specs = stages.filter(({ name }) => !name.includes("reach")).flatMap((stage) => stage.specs);
	assert.ok(
		specs.every(
			(spec) => spec.samples === { gemm: 300, stream: 300, copy: 64, fma: 150, chase: 16, train: 1 }[spec.kind],
		),
	);
});

test("hostile claims get a bounded, legal probe", () => {
	const hostile: HostClaim[] = [
		claimOf(),
		claimOf(device("gpu", 0), device("cpu", 0)),
		claimOf(device("gpu", Number.MAX_SAFE_INTEGER), device("cpu", Number.MAX_SAFE_INTEGER)),
		claimOf(device("gpu", GiB, []), device("cpu", GiB, [])),
		claimOf(device("gpu", GiB, ["fp64"]), device("cpu", GiB, ["fp16"])),
		claimOf(...Array.from({ length: 64 }, () => device("gpu", 80 * GiB))),
		claimOf(...Array.from({ length: 64 }, () => device("cpu", 80 * GiB))),
		claimOf(device("disk", Number.MAX_SAFE_INTEGER), device("cpu", GiB)),
		claimOf(device("cpu", GiB), ...Array.from({ length: 63 }, () => device("disk", 80 * GiB))),
		claimOf(...Array.from({ length: 16 }, () => device("gpu", 80 * GiB)), device("disk", GiB), device("cpu", GiB)),
		claimOf(device("disk", 80 * GiB)),
	];
	for (const claim of hostile) {
		for (const speed of [1, 1e9, 1e15, 1e300]) {
			for (const quick of [true, false]) {
				const opsPerS = claim.devices.map(() => speed);
				const { stages } = play({ claim, opsPerS, bytesPerS: speed }, { quick, sustainMs: 1000, samples: null });
				assertLegal(stages, { claim });
				assert.ok(stages.every((stage) => stage.specs.length <= 33));
			}
		}
	}
});
