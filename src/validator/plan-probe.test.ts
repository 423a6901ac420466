// The plan against pretended hosts: every request stays inside engine/FRAMES.md, memory is filled, speeds set the sizes,
// refusals shrink, and a hostile claim gets a bounded probe. No engine runs here.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChallengeSpec, Claim, DeviceClaim, DeviceKind, Precision } from "../protocol/evidence.ts";
import { checkSpecs } from "../verify/hardware/check-specs.ts";
import { planProbe } from "./plan-probe.ts";
import type { PlanOptions } from "./plan-stage.ts";
import { type ChallengeSeen, opsOfRound, type Seen, type Step, type WarmUpSeen } from "./probe-plan.ts";

const GiB = 2 ** 30;
const ALL: readonly Precision[] = ["int8", "fp8", "fp16", "bf16", "tf32", "fp32", "fp64", "int32"];

function device(kind: DeviceKind, freeBytes: number, precisions: readonly Precision[] = ALL): DeviceClaim {
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

function claimOf(...devices: readonly DeviceClaim[]): Claim {
	return {
		engine: { version: "1", arch: "toy", cuda: true },
		host: { os: "", cpu: "", cores: 2, ramBytes: 8 * GiB, ramFreeBytes: 8 * GiB },
		driver: null,
		why: "",
		devices,
	};
}

interface Host {
	readonly claim: Claim;
	/** int8 op/s of each device; fma runs at a tenth. */
	readonly opsPerS: readonly number[];
	readonly bytesPerS: number;
	/** Of disks, reading and writing. */
	readonly diskBytesPerS?: number;
	/** Devices whose peers cannot read them. */
	readonly lonely?: readonly number[];
	/** Devices that refuse the first fill. */
	readonly refuses?: readonly number[];
}

type Stage = Extract<Step, { act: "stage" }>;
const OPTIONS: PlanOptions = { quick: false, sustainMs: 0, samples: null };

/** Plays the plan against a host that answers as fast as it says, and returns the stages that would be recorded. */
function play(host: Host, options: PlanOptions = OPTIONS): { stages: Stage[]; dropped: Stage[]; seconds: number } {
	const plan = planProbe(options);
	const steps: string[] = [];
	const warmUps: WarmUpSeen[] = [];
	const challenges: ChallengeSeen[] = [];
	const tooBig: ChallengeSpec[] = [];
	const stages: Stage[] = [];
	const dropped: Stage[] = [];
	let seconds = 0;
	const rate = (d: number, kind: "gemm" | "fma") => host.opsPerS[d]! / (kind === "gemm" ? 1 : 10);
	for (let guard = 0; guard < 300; guard++) {
		const seen: Seen = { claim: host.claim, rttUs: 200, steps, warmUps, challenges, tooBig };
		const step = plan(seen);
		if (step.act === "finish") return { stages, dropped, seconds };
		assert.equal(steps.includes(step.name), false, `${step.name} twice`);
		steps.push(step.name);
		const runs = step.act === "warm-up" ? step.runs : step.act === "stage" ? (step.whileOpening ?? []) : [];
		const warmUp = () => {
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
		if (step.act === "warm-up") warmUp();
		else if (step.act === "stage") {
			const refused = step.mayShrink ? step.specs.filter((spec) => host.refuses?.includes(spec.device)) : [];
			if (refused.length > 0) {
				tooBig.push(...refused);
				dropped.push(step);
				continue;
			}
			stages.push(step);
			for (const spec of step.specs) {
				if (spec.kind === "stream" || spec.kind === "copy") {
					const passes = spec.kind === "stream" ? spec.passes : 1;
					challenges.push({
						spec,
						end: "complete",
						seconds: (passes * 2 * 16384 ** 2) / host.bytesPerS,
						roots: passes,
					});
					continue;
				}
				const s = (opsOfRound(spec) * Math.max(1, spec.rounds)) / rate(spec.device, spec.kind);
				challenges.push({ spec, end: "complete", seconds: s, roots: spec.rounds });
				seconds += s;
			}
			const busy = step.specs.map(({ device: d }) => d);
			assert.ok(
				runs.every((run) => !busy.includes(run.device)),
				"a warm-up beside openings is another device's",
			);
			warmUp();
		}
	}
	assert.fail("the plan has no end");
}

/** engine/FRAMES.md, requests. */
function assertLegal(stages: readonly Stage[], { claim }: { readonly claim: Claim }): void {
	const specs = stages.flatMap((stage) => stage.specs);
	// What a verifier insists on is what the plan asks.
	const asked = stages.flatMap((stage, number) =>
		stage.specs.map((spec) => ({ spec, stage: number, sentAtUs: 0, roots: 0, end: "complete" as const, opens: [] })),
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

const fillOf = (stages: readonly Stage[], name = "gpu fill") => stages.find((stage) => stage.name === name)!.specs;

const H200: Host = {
	claim: claimOf(device("gpu", 139 * GiB), device("cpu", 64 * GiB)),
	opsPerS: [1.6e15, 1e12],
	bytesPerS: 4e12,
};
const TWO_CORES: Host = { claim: claimOf(device("cpu", 6 * GiB)), opsPerS: [6e10], bytesPerS: 1e10 };

test("an H200 is filled, streamed and asked in every precision", () => {
	const { stages } = play(H200);
	assertLegal(stages, H200);
	const names = stages.map(({ name }) => name);
	assert.deepEqual(names.slice(0, 9), [
		"gpu fill",
		"gpu stream",
		"gpu gemm fp8",
		"gpu gemm fp16",
		"gpu gemm bf16",
		"gpu gemm tf32",
		"gpu fma fp32",
		"gpu fma fp64",
		"gpu fma int32",
	]);
	assert.deepEqual(names.slice(9), ["cpu keep", "cpu stream", "cpu fma fp32", "cpu fma fp64", "cpu fma int32"]);
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
	for (const stage of stages.filter(({ name }) => name.startsWith("gpu") && !name.startsWith("gpu alone"))) {
		assert.deepEqual(
			stage.specs.map((spec) => spec.device),
			[0, 1, 2, 3, 4, 5, 6, 7],
		);
	}
	const ofs = stages.find(({ name }) => name === "gpu stream")!.specs.map((spec) => spec.kind === "stream" && spec.of);
	assert.deepEqual(ofs, [0, 1, 2, 3, 4, 5, 6, 7]);
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

test("samples as asked for", () => {
	const specs = play(H200, { ...OPTIONS, samples: 300 }).stages.flatMap((stage) => stage.specs);
	assert.ok(specs.every((spec) => spec.samples === (spec.kind === "fma" ? 150 : 300)));
});

test("hostile claims get a bounded, legal probe", () => {
	const hostile: Claim[] = [
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
				assert.ok(stages.every((stage) => stage.specs.length <= 16));
			}
		}
	}
});

test("the CPU warms up once: beside the openings of the cards' streams, or on its own", () => {
	const runs = (host: Host) => play(host).stages.map(({ name, whileOpening }) => [name, whileOpening?.length ?? 0]);
	assert.deepEqual(
		runs(H200).filter(([, count]) => count !== 0),
		[["gpu stream", 4]],
	);
	assert.ok(runs(TWO_CORES).every(([, count]) => count === 0));
	// A plan that had not warmed up would ask for the smallest runs.
	for (const host of [H200, TWO_CORES]) {
		const [fma] = fillOf(play(host).stages, "cpu fma fp32");
		assert.ok(fma?.kind === "fma" && fma.rounds > 4);
	}
});

const named = (stages: readonly Stage[], start: string) => stages.filter(({ name }) => name.startsWith(start));

test("a table of peers: every card reads every other one once, all cards at once", () => {
	const gpus = Array.from({ length: 4 }, () => device("gpu", 139 * GiB));
	const host: Host = {
		claim: claimOf(...gpus, device("cpu", GiB)),
		opsPerS: [...gpus.map(() => 1e15), 1e11],
		bytesPerS: 4e11,
	};
	const { stages } = play(host);
	assertLegal(stages, host);
	const specs = stages.flatMap((stage) => stage.specs);
	const pairs = named(stages, "gpu peers").map((stage) =>
		stage.specs.map((spec) => `${spec.device}<${spec.kind === "stream" && specs[spec.of]!.device}`),
	);
	assert.deepEqual(pairs, [
		["0<1", "1<2", "2<3", "3<0"],
		["0<2", "1<3", "2<0", "3<1"],
		["0<3", "1<0", "2<1", "3<2"],
	]);
	for (const spec of named(stages, "gpu peers").flatMap((stage) => stage.specs)) {
		assert.ok(spec.kind === "stream" && spec.newest === 1 && spec.passes >= 2 && spec.samples <= 16);
		assert.ok((spec.passes * 2 ** 29) / 4e11 < 0.2, "short");
	}
	// Between the cards' own streams and their release, and only then.
	const names = stages.map(({ name }) => name);
	assert.ok(names.indexOf("gpu stream") < names.indexOf("gpu peers 1"));
	assert.ok(names.indexOf("gpu peers 3") < names.indexOf("gpu gemm fp8"));
});

test("cards that cannot reach each other are not asked to, the others are", () => {
	const gpus = Array.from({ length: 3 }, () => device("gpu", 139 * GiB));
	const host: Host = {
		claim: claimOf(...gpus, device("cpu", GiB)),
		opsPerS: [1e15, 1e15, 1e15, 1e11],
		bytesPerS: 4e11,
		lonely: [2],
	};
	const { stages } = play(host);
	assertLegal(stages, host);
	assert.deepEqual(
		named(stages, "gpu peers").map((stage) => stage.specs.map(({ device: reader }) => reader)),
		[
			[0, 2],
			[1, 2],
		],
	);
	assert.deepEqual(named(play({ ...host, lonely: [0, 1, 2] }).stages, "gpu peers"), []);
});

test("alone: one card a stage, the product of the stage with all of them; nothing where there is one", () => {
	const gpus = [device("gpu", 139 * GiB), device("gpu", 139 * GiB)];
	const host = { ...H200, claim: claimOf(...gpus, device("cpu", GiB)), opsPerS: [1e15, 1e15, 1e11] };
	const { stages } = play(host);
	const [together] = named(stages, "gpu gemm fp16");
	const alone = named(stages, "gpu alone");
	assert.deepEqual(
		alone.map(({ specs }) => specs.map(({ device: d }) => d)),
		[[0], [1]],
	);
	for (const { specs } of alone) {
		const [spec] = specs;
		const whole = together!.specs.find(({ device: d }) => d === spec!.device);
		assert.ok(spec?.kind === "gemm" && whole?.kind === "gemm" && spec.rounds >= 2);
		assert.deepEqual([spec.precision, spec.m, spec.n, spec.k], ["fp16", whole.m, whole.n, whole.k]);
	}
	assert.deepEqual(named(play(H200).stages, "gpu alone"), []);
	assert.deepEqual(named(play(H200).stages, "cpu alone"), []);
});

test("a CPU shown as three: all at once, peers and alone, no more bytes than one", () => {
	const cpus = Array.from({ length: 3 }, () => device("cpu", 2 * GiB));
	const host: Host = { claim: claimOf(...cpus), opsPerS: [7e10, 7e10, 7e10], bytesPerS: 5e9 };
	const { stages } = play(host);
	assertLegal(stages, host);
	for (const name of ["cpu keep", "cpu stream", "cpu fma fp32", "cpu peers 1", "cpu peers 2"])
		assert.deepEqual(
			fillOf(stages, name).map(({ device: d }) => d),
			[0, 1, 2],
			name,
		);
	assert.equal(named(stages, "cpu alone").length, 3);
	const kept = fillOf(stages, "cpu keep").map((spec) => (spec.kind === "gemm" ? 2 * spec.m * spec.n * spec.keep : 0));
	assert.ok(kept.reduce((sum, bytes) => sum + bytes, 0) <= GiB / 4);
});

test("a disk gets products that are dear enough for its speed", () => {
	const host = (diskBytesPerS: number, opsPerS = 2e11): Host => ({
		claim: claimOf(device("cpu", 6 * GiB), device("disk", 100 * GiB)),
		opsPerS: [opsPerS, 0],
		bytesPerS: 1e10,
		diskBytesPerS,
	});
	for (const [speed, ops] of [
		[5e9, 2e11],
		[1e9, 2e11],
		[2e8, 2e11],
		[8e7, 2e11],
		[2e9, 8e12],
	] as const) {
		const { stages } = play(host(speed, ops));
		assertLegal(stages, host(speed, ops));
		const [copy] = fillOf(stages, "disk copy");
		const [stream] = fillOf(stages, "disk stream");
		assert.ok(copy?.kind === "copy" && stream?.kind === "stream");
		assert.deepEqual([stream.device, stream.of, stream.newest], [1, copy.of, copy.newest]);
		const of = stages.flatMap((stage) => stage.specs)[copy.of];
		assert.ok(of?.kind === "gemm" && (of.k * speed) / ops >= 3, `k ${of?.kind === "gemm" && of.k} at ${speed} B/s`);
		const bytes = 2 * of.m * of.n * copy.newest;
		assert.ok((bytes * (1 + stream.passes)) / speed < 1, "within a second");
		assert.equal(fillOf(stages, "cpu keep")[0] === of, !stages.some(({ name }) => name === "disk fill"));
	}
	// Full, absent, or a trial that fails: not asked.
	const full = { ...host(1e9), claim: claimOf(device("cpu", 6 * GiB), device("disk", GiB / 2)) };
	assert.deepEqual(named(play(full).stages, "disk"), []);
	assert.deepEqual(named(play(TWO_CORES).stages, "disk"), []);
	assert.deepEqual(named(play(host(0)).stages, "disk"), []);
});

test("devices are read while they fill and while they run for long, not too often for the file", () => {
	const { stages } = play(H200, { ...OPTIONS, sustainMs: 60_000 });
	const read = stages.filter(({ readEveryMs }) => readEveryMs !== undefined);
	assert.deepEqual(
		read.map(({ name, readEveryMs }) => [name, readEveryMs]),
		[
			["gpu fill", 1000],
			["gpu sustained", 1000],
		],
	);
	const day = play(H200, { ...OPTIONS, sustainMs: 86_400_000 }).stages.find(({ name }) => name === "gpu sustained");
	assert.ok(day?.readEveryMs && 86_400_000 / day.readEveryMs <= 2048);
});
