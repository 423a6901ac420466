// Which probes are asked for again, and which are not.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { probeAgain } from "./probe-again.ts";

const provider = (id: string, more: object = {}) => ({
	id,
	name: id,
	connected: true,
	lastVerdict: "valid",
	lastProbeAtMs: 1,
	...more,
});

/** Free as long as one of its devices is. */
const hostOf = (...devices: readonly boolean[]) => ({
	isFree: devices.includes(true),
	devices: devices.map((isFree) => ({ isFree })),
});

test("hosts that proved no memory are probed again, one at a time, once for each probe, and not for ever", async () => {
	const asked: string[] = [];
	const rows = [
		provider("proven"),
		provider("away", { connected: false }),
		provider("never", { lastVerdict: null, lastProbeAtMs: null }),
		provider("busy"),
		provider("stuck"),
	];
	const { promise: enough, resolve } = Promise.withResolvers<void>();
	let looks = 0;
	const client = {
		network: async () => ({ probes: { running: looks++ % 3 === 2 ? 1 : 0 } }),
		listProviders: async () => {
			// "busy" is probed anew each time, "stuck" never again.
			rows[3] = provider("busy", { lastProbeAtMs: looks });
			if (looks > 60) resolve();
			return { rows };
		},
		getProvider: async ({ params: { id } }: { params: { id: string } }) => ({
			figures: id === "proven" ? [{ name: "memory.bandwidth" }] : [{ name: "gemm.int8" }],
		}),
		getProviderScore: async () => ({ terms: { why: null } }),
		askProbe: async ({ params: { id } }: { params: { id: string } }) => void asked.push(id),
	};
	let nowMs = 1_000_000;
	const stop = probeAgain(client as never, { onAsked: () => {}, isMemoryWanted: true, everyMs: 1, nowMs: () => nowMs });
	await enough;
	const count = (name: string) => asked.filter((id) => id === name).length;
	assert.deepEqual([count("busy"), count("stuck")], [6, 1]);
	// After a rest, once more.
	nowMs += 300_000;
	for (const until = looks + 20; looks < until; ) await sleep(1);
	await stop();
	assert.deepEqual([count("busy"), count("stuck")], [7, 1]);
	assert.deepEqual([...new Set(asked)].sort(), ["busy", "stuck"]);
});

test("a host that is too slow for roll calls is probed again; one that is fit, refuses calls, or is at work is not", async () => {
	const asked: string[] = [];
	const why: Readonly<Record<string, string>> = {
		late: "no roll call was answered",
		fresh: "no roll call was answered",
		excused: "no roll call was answered",
		refused: "no roll call was answered",
		early: "no roll call has come yet",
		// A second provider of this machine.
		uncalled: "it answers no roll calls, as its owner wants",
	};
	const states: Readonly<Record<string, string>> = { excused: "excused", refused: "absent", uncalled: "uncalled" };
	const rows = [
		provider("there"),
		provider("refused"),
		provider("uncalled"),
		provider("late"),
		provider("fresh", { lastProbeAtMs: 70_001 }),
		provider("excused"),
		provider("early"),
		provider("wrong", { lastVerdict: "invalid" }),
	];
	let looks = 0;
	let isAtWork = true;
	const client = {
		network: async () => ({ probes: { running: 0 } }),
		listProviders: async () => {
			looks += 1;
			return { rows };
		},
		getProvider: async () => assert.fail("memory is not asked for"),
		getProviderScore: async ({ params: { id } }: { params: { id: string } }) => ({ terms: { why: why[id] ?? null } }),
		listProviderRollCalls: async ({ params: { id } }: { params: { id: string } }) => ({
			rows: [{ atMs: 70_000, state: states[id] ?? "late" }],
		}),
		listJobHosts: async () => ({ rows: [hostOf(true), hostOf(true, !isAtWork)] }),
		askProbe: async ({ params: { id } }: { params: { id: string } }) => void asked.push(id),
	};
	const stop = probeAgain(client as never, { onAsked: () => {}, isMemoryWanted: false, everyMs: 1 });
	const looked = async (until: number) => {
		while (looks < until) await sleep(1);
	};
	await looked(5);
	assert.deepEqual(asked, [], "jobs explain it");
	isAtWork = false;
	await looked(looks + 5);
	await stop();
	assert.deepEqual(asked, ["late"]);
});
