// Who of several processes keeps the jobs of a network with a chain: the one that sends, and always somebody.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { realAfter } from "../../../platform/abortable.ts";
import { createWatchdog } from "../../../platform/watchdog.ts";
import type { JobContext } from "./job-context.ts";
import { startJobWatch } from "./watch-jobs.ts";

const params = { jobBeatMs: 1000, jobBeatMisses: 3 };

test("two processes that hold one lease each come to one that holds both, and keeps the jobs", async () => {
	const holders = new Map([
		["jobs", "a"],
		["chain", "b"],
	]);
	const keeps = new Set<string>();
	const processes = ["a", "b"].map((me) => {
		let asked = 0;
		const leases = {
			acquire: async (name: string) => {
				// At its first look this one had both.
				if (me === "a" && asked++ < 2) return true;
				if (!holders.has(name)) holders.set(name, me);
				return holders.get(name) === me;
			},
			release: async (name: string) => void (holders.get(name) === me && holders.delete(name)),
		};
		const jobs = {
			async open() {
				keeps.add(me);
				return new Map();
			},
		};
		const watchdog = createWatchdog({ after: realAfter, onStuck() {} });
		const context = {
			...{ store: { leases, jobs }, env: { nowMs: () => Date.now(), after: realAfter }, config: { params } },
			...{ hub: { listen: () => () => {} }, watchdog, jobChain: null, stopping: new AbortController().signal },
			log: { warn() {}, error() {} },
		};
		const watch = startJobWatch(context as unknown as JobContext, "chain");
		return { stop: () => watch.stop().then(() => watchdog.stop()) };
	});
	try {
		while (holders.get("jobs") !== "b") await sleep(50);
		keeps.clear();
		while (!keeps.has("b")) await sleep(50);
		assert.deepEqual([Object.fromEntries(holders), [...keeps]], [{ chain: "b", jobs: "b" }, ["b"]]);
	} finally {
		for (const { stop } of processes) await stop();
	}
});
