// A program that dies is started again, later each time; a real provider's process that is killed comes back,
// and stopping ends it for good.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { keepRunning, PAUSES, type RunningProgram } from "./keep-running.ts";
import { startLocalProvider } from "./local-provider.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));

function toy() {
	const clock = { ms: 0 };
	const ends: ((said: string) => void)[] = [];
	const rests: { readonly ms: number; readonly run: () => void }[] = [];
	const told: [string, number][] = [];
	let stops = 0;
	const start = (): RunningProgram => {
		const { promise: ended, resolve } = Promise.withResolvers<string>();
		ends.push(resolve);
		const stop = async () => {
			stops += 1;
			resolve("");
		};
		return { ended, stop };
	};
	const kept = keepRunning({
		...{ first: start(), start: async () => start(), clockMs: () => clock.ms },
		onEnd: (said, againMs) => told.push([said, againMs]),
		after: (ms, run) => {
			const rest = { ms, run };
			rests.push(rest);
			return () => void rests.splice(rests.indexOf(rest), 1);
		},
	});
	/** The newest one dies after so long, and the pause passes. */
	const die = async (ranMs: number) => {
		clock.ms += ranMs;
		ends.at(-1)!("died");
		await settle();
		rests.at(-1)!.run();
		await settle();
	};
	return { clock, ends, rests, told, kept, die, stops: () => stops };
}

test("N20: it is started again after 1, 2, 4 … 60 s, and after 1 s once it has run for a minute", async () => {
	const { told, die, kept, ends } = toy();
	for (let n = 0; n < 8; n++) await die(5);
	assert.deepEqual(
		told.map(([, ms]) => ms / 1000),
		[1, 2, 4, 8, 16, 32, 60, 60],
	);
	await die(PAUSES.calmMs);
	assert.deepEqual(told.at(-1), ["died", 1000]);
	assert.equal(ends.length, 10);
	await kept.stop();
	assert.equal(told.length, 9);
});

test("one that cannot be started is tried again", async () => {
	const { promise: ended, resolve: die } = Promise.withResolvers<string>();
	const said: string[] = [];
	let starts = 0;
	const { promise: third, resolve } = Promise.withResolvers<void>();
	const kept = keepRunning({
		first: { ended, stop: async () => {} },
		start: async () => {
			if (++starts === 3) resolve();
			throw new Error("no port");
		},
		onEnd: (text) => said.push(text),
		clockMs: () => 0,
		after: (_, run) => {
			setImmediate(run);
			return () => {};
		},
	});
	die("died");
	await third;
	await kept.stop();
	assert.deepEqual(said.slice(0, 3), ["died", "Error: no port", "Error: no port"]);
});

test("N20: stopping ends it, and the pause before it would be started again", async () => {
	const { kept, ends, rests, told, stops } = toy();
	ends[0]!("died");
	await settle();
	assert.equal(rests.length, 1);
	await kept.stop();
	assert.deepEqual([rests.length, ends.length, told.length, stops()], [0, 1, 1, 1]);
});

test("N20: a provider's process that is killed comes back; one that is stopped does not", {
	timeout: 300_000,
}, async () => {
	const folder = mkdtempSync(join(tmpdir(), "assay-keep-"));
	const program = join(folder, "provider.mjs");
	const pids = join(folder, "pids");
	writeFileSync(pids, "");
	writeFileSync(
		program,
		`import { appendFileSync } from "node:fs"; appendFileSync(${JSON.stringify(pids)}, process.pid + "\\n");
		console.log('{"kind":"started"}'); setInterval(() => {}, 1000);`,
	);
	const [node, own] = process.argv;
	process.argv[1] = program;
	const ended: number[] = [];
	try {
		const provider = await startLocalProvider({
			...{ validator: "ws://127.0.0.1:1", key: "0".repeat(64), dataFolder: folder, env: process.env },
			...{ name: undefined, pricePerHour: undefined, diskWritesPerDay: undefined, chain: null, rentable: false },
			...{ rollCalls: true, jobs: null },
			onEvent: () => {},
			onEnd: (_, againMs) => ended.push(againMs),
		});
		const started = () => readFileSync(pids, "utf8").trim().split("\n").map(Number);
		process.kill(started()[0]!, "SIGKILL");
		while (started().length < 2) await sleep(20);
		await provider.stop();
		assert.deepEqual([ended, started().length], [[1000], 2]);
		assert.throws(() => process.kill(started()[1]!, 0), { code: "ESRCH" });
	} finally {
		process.argv.splice(0, 2, node!, own!);
		rmSync(folder, { recursive: true, force: true });
	}
});
