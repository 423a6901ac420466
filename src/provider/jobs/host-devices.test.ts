// A host of several devices: each has a part of its own, at once with the others; what happens to one device
// takes nothing from the others; and no device ever has two parts.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import { mlpSample } from "../../work/builder/samples.test-kit.ts";
import { seenFor } from "./job-engine.ts";
import { ToyDesk } from "./toy-desk.test-kit.ts";
import { ASKED, type Host, isCode, LIMITS, soonAfter, startHost, VALIDATOR } from "./toy-host.test-kit.ts";
import { toyOpener, toyWorkload } from "./toy-run.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-host-devices-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
let folders = 0;
const newFolder = (): string => join(scratch, `host${folders++}`);

const DEVICES = [0, 2, 3, 5];
const ATTEMPTS = [1, 2, 3, 4];
const deviceOf = (attempt: number): number => DEVICES[(attempt - 1) % DEVICES.length]!;

/** Its parts are attempts of one, which no host can tell from parts of several jobs. */
async function openDesk(segments: number): Promise<ToyDesk> {
	const desk = await ToyDesk.open(toyWorkload(mlpSample(), segments));
	desk.deviceOf = ({ attempt }) => deviceOf(attempt);
	return desk;
}
const nudgeAll = (host: Host) =>
	Promise.all(ATTEMPTS.map((attempt) => host.nudge({ attempt, device: deviceOf(attempt) })));
const untilAll = (host: Host, state: string, attempts = ATTEMPTS) =>
	Promise.all(attempts.map((attempt) => host.until((event) => event.attempt === attempt && event.state === state)));
const untilAllBeat = async (desk: ToyDesk) => {
	const done = () =>
		new Set(desk.heard.flatMap(({ what, asked, body }) => (isBegun(what, body) ? [asked.attempt] : [])));
	while (done().size < ATTEMPTS.length) await new Promise((resolve) => setTimeout(resolve, 1));
};
const isBegun = (what: string, body: unknown): boolean => what === "beat" && (body as { done: number }).done >= 3;

test("each device has a part at once; a further one for the same device has to wait", async () => {
	const desk = await openDesk(3000);
	await using host = await startHost(newFolder(), desk, { devices: DEVICES, after: soonAfter });
	assert.deepEqual(host.jobs.offer.devices, DEVICES);
	await nudgeAll(host);
	await untilAll(host, "running");
	assert.deepEqual(host.working.toSorted(), DEVICES);
	await assert.rejects(host.nudge({ attempt: 5, device: 0 }), isCode("PROVIDER_BUSY"));
	await assert.rejects(host.nudge({ attempt: 5, device: 1 }), isCode("JOB_DECLINED"), "it does not work");
	await assert.rejects(host.nudge({ attempt: 5, device: 63 }), isCode("JOB_DECLINED"));
	const events = host.events.flatMap((event) => (event.kind === "job" && event.state === "running" ? [event] : []));
	assert.deepEqual(
		events.map(({ attempt, device }) => [attempt, device]).toSorted(),
		ATTEMPTS.map((attempt) => [attempt, deviceOf(attempt)]),
	);
	// One is told to stop: the others go on, and its device is free.
	await host.jobs.handlers("").stop!({ ...ASKED, attempt: 2, validatorKey: VALIDATOR });
	await untilAll(host, "lost", [2]);
	assert.deepEqual(host.working.toSorted(), [0, 3, 5]);
	await host.jobs.stop();
	assert.deepEqual([host.held, host.engines], [0, 0], "all of them end");
});

test("stopped with four parts under way and started again, it goes on with all of them", async () => {
	const [desk, folder] = [await openDesk(300), newFolder()];
	await using first = await startHost(folder, desk, { devices: DEVICES, after: soonAfter });
	await nudgeAll(first);
	await untilAllBeat(desk);
	await first.jobs.stop();
	assert.equal(desk.claims.length, 0);
	await using second = await startHost(folder, desk, { devices: DEVICES });
	await untilAll(second, "claimed");
	assert.equal(desk.said.filter((what) => what === "accept").length, ATTEMPTS.length);
	assert.equal(new Set(desk.claims.map(({ segmentRoot }) => segmentRoot)).size, 1, "all of them computed the same");
});

test("parts of a device that is gone are done by another, one after the other", async () => {
	const [desk, folder] = [await openDesk(300), newFolder()];
	await using first = await startHost(folder, desk, { devices: DEVICES, after: soonAfter });
	await nudgeAll(first);
	await untilAllBeat(desk);
	await first.jobs.stop();
	let most = 0;
	await using second = await startHost(folder, desk, {
		devices: [2],
		async startEngine({ device, storePath }) {
			assert.equal(device, 2);
			second.engines += 1;
			most = Math.max(most, second.engines);
			const close = async () => {
				second.engines -= 1;
			};
			return { ...{ open: toyOpener(storePath), device: 0, allow() {} }, close };
		},
	});
	await untilAll(second, "claimed");
	assert.equal(most, 1);
});

test("a device whose engine dies each time loses its own part alone", async () => {
	const desk = await openDesk(200);
	const broken = deviceOf(3);
	await using host = await startHost(newFolder(), desk, {
		devices: DEVICES,
		after: soonAfter,
		async startEngine({ device, storePath }) {
			if (device === broken) throw new AssayError("ENGINE_NOT_STARTED", "the card has fallen off the bus");
			return { ...{ open: toyOpener(storePath), device: 0, allow() {} }, close: async () => {} };
		},
	});
	await nudgeAll(host);
	await untilAll(host, "claimed", [1, 2, 4]);
	await untilAll(host, "declined", [3]);
	assert.equal(desk.claims.length, 3);
	assert.equal(host.held, 0);
});

test("a device that gave different results takes nothing more and is named; the others work on", async () => {
	const [desk, folder] = [await openDesk(20), newFolder()];
	const alarm = join(folder, "jobs", `alarm-${deviceOf(2)}.txt`);
	await using host = await startHost(folder, desk, { devices: DEVICES });
	writeFileSync(alarm, "two results\n");
	await assert.rejects(host.nudge({ attempt: 2, device: deviceOf(2) }), isCode("JOB_DECLINED"));
	await host.nudge({ attempt: 1, device: deviceOf(1) });
	await untilAll(host, "claimed", [1]);
	assert.ok(existsSync(alarm));
	assert.deepEqual(readdirSync(join(folder, "jobs")).length, 2);
});

test("an offer for another device than it was told is declined: no device gets a part behind another's back", async () => {
	const desk = await openDesk(20);
	desk.deviceOf = () => 2;
	await using host = await startHost(newFolder(), desk, { devices: DEVICES });
	await host.nudge({ attempt: 1, device: 0 });
	const { detail } = await host.until(({ state }) => state === "declined");
	assert.match(detail, /not what was asked for/);
	assert.ok(!desk.said.includes("accept"));
});

test("the price of a part is held against what its own device has proven", async () => {
	const desk = await openDesk(20);
	const asked: number[] = [];
	desk.proven = async (device?: number) => {
		asked.push(device!);
		return device === 5 ? null : desk.speed;
	};
	const limits = { ...LIMITS, pricePerHourMicros: 1 };
	await using host = await startHost(newFolder(), desk, { devices: DEVICES, limits });
	await host.nudge({ attempt: 4, device: deviceOf(4) });
	assert.match((await host.until(({ state }) => state === "declined")).detail, /nothing is proven of .* device/);
	await host.nudge({ attempt: 2, device: deviceOf(2) });
	await untilAll(host, "claimed", [2]);
	assert.deepEqual([...new Set(asked)], [5, 2]);
});

test("the disk of one device's parts is not that of another's", async () => {
	const desk = await openDesk(20);
	const size = desk.spec.given.reduce((sum, one) => sum + one.size, 0) + desk.spec.program.size;
	const folder = newFolder();
	await using host = await startHost(folder, desk, { devices: DEVICES, limits: { ...LIMITS, diskBytes: 64 * size } });
	await host.nudge({ attempt: 1, device: deviceOf(1) });
	await untilAll(host, "claimed", [1]);
	// What the first device's claim keeps is as much as it may.
	const [run] = readdirSync(join(folder, "jobs"));
	writeFileSync(join(folder, "jobs", run!, "kept"), new Uint8Array(64 * size));
	await host.nudge({ attempt: 5, device: deviceOf(1) });
	assert.match(
		(await host.until(({ attempt, state }) => attempt === 5 && state === "declined")).detail,
		/bytes of \d+ are in use/,
	);
	await host.nudge({ attempt: 2, device: deviceOf(2) });
	await untilAll(host, "claimed", [2]);
});

test("an engine sees the card that it works on and no other, where a host has several", () => {
	const gpu = (uuid: string) => ({ kind: "gpu" as const, uuid });
	const cpu = { kind: "cpu" as const, uuid: "" };
	const [two, one] = [
		[gpu("GPU-a"), gpu("GPU-b"), cpu, cpu],
		[gpu("GPU-a"), cpu],
	];
	assert.deepEqual(seenFor(two, 1), { env: { CUDA_VISIBLE_DEVICES: "GPU-b" }, device: 0 });
	assert.deepEqual(seenFor(two, 3), { env: { CUDA_VISIBLE_DEVICES: "" }, device: 1 });
	assert.deepEqual(seenFor(one, 1), { env: {}, device: 1 });
	assert.deepEqual(seenFor([cpu, cpu, cpu], 2), { env: {}, device: 2 });
});
