// The plan for several devices of a kind and for disks: peers, each alone, products dear enough for the disk,
// readings.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
	assertLegal,
	claimOf,
	device,
	fillOf,
	GiB,
	H200,
	type Host,
	OPTIONS,
	play,
	type Stage,
	TWO_CORES,
} from "./plan-host.test-kit.ts";

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

test("only some of the devices: nothing is asked of the others, and no disk without memory to keep", () => {
	const gpus = Array.from({ length: 4 }, () => device("gpu", 139 * GiB));
	const host: Host = {
		claim: claimOf(...gpus, device("cpu", GiB), device("disk", 64 * GiB)),
		opsPerS: [...gpus.map(() => 1e15), 1e11, 0],
		bytesPerS: 4e11,
	};
	const askedFor = (devices: readonly number[]) => {
		const { stages } = play(host, { ...OPTIONS, sustainMs: 5000, devices });
		assertLegal(stages, host);
		return stages;
	};
	const devicesIn = (stages: readonly Stage[]) => [
		...new Set(stages.flatMap(({ specs }) => specs.map((s) => s.device))),
	];
	const one = askedFor([2]);
	assert.deepEqual(devicesIn(one), [2]);
	assert.ok(named(one, "gpu fill").length > 0 && named(one, "gpu sustained").length > 0);
	assert.equal(named(one, "gpu peers").length, 0);
	assert.deepEqual(devicesIn(askedFor([4])), [4]);
	const two = askedFor([3, 1]);
	assert.deepEqual(devicesIn(two), [1, 3]);
	assert.equal(named(two, "gpu peers").length, 1);
});
