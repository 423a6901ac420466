// After a restart nobody is drawn before most hosts are there again: a list binds, and the first few that
// came would get everything. And what a host's deposit still covers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_PARAMS } from "../../../market/params.ts";
import type { ProviderQuery } from "../../../store/provider-query.ts";
import { createJobHosts } from "./job-hosts.ts";

/** So many proven hosts are there, and so many are away. */
function hostsOf(at: { nowMs: number; there: number; away: number }) {
	const list = async ({ connected }: ProviderQuery) => ({ rows: Array(connected ? at.there : at.away).fill({}) });
	const means = { store: { providers: { list } }, env: { nowMs: () => at.nowMs }, config: { params: DEFAULT_PARAMS } };
	return createJobHosts({ ...means, jobChain: null } as never);
}

test("after a restart a draw waits for the hosts that were there before, and not for ever", async () => {
	const at = { nowMs: 1_000_000, there: 2, away: 10 };
	const hosts = hostsOf(at);
	assert.equal(await hosts.areGathering(), true, "the first two would get everything");
	Object.assign(at, { nowMs: at.nowMs + 5000, there: 10, away: 2 });
	assert.equal(await hosts.areGathering(), false, "somebody is always away");
	Object.assign(at, { nowMs: at.nowMs + 1000, there: 0, away: 12 });
	assert.equal(await hosts.areGathering(), false, "who leaves later holds up nobody");

	const alone = { nowMs: 1_000_000, there: 1, away: 11 };
	const few = hostsOf(alone);
	assert.equal(await few.areGathering(), true);
	alone.nowMs += 15_000;
	assert.equal(await few.areGathering(), false, "those that stay away are not waited for");
});

test("in a new network nobody is waited for", async () => {
	assert.equal(await hostsOf({ nowMs: 1_000_000, there: 1, away: 0 }).areGathering(), false);
});

test("a deposit covers as many bonds as are free in it, and what was just promised is not free", async () => {
	const at = { free: 1000, promised: 0, reads: 0 };
	const means = {
		store: { jobs: { promisedMicros: async () => at.promised } },
		...{ env: { nowMs: () => 1 }, config: { params: DEFAULT_PARAMS } },
		jobChain: {
			async bondOf() {
				at.reads += 1;
				return { freeMicros: at.free, wholeMicros: 1e9 };
			},
		},
	};
	const hosts = createJobHosts(means as never);
	const can = (bondMicros: number) => hosts.canLock("ab".repeat(32), "0xab", bondMicros);
	assert.deepEqual([await can(1000), await can(1001)], [true, false]);
	at.promised = 600;
	assert.deepEqual([await can(400), await can(401)], [true, false], "two parts at one moment");
	Object.assign(at, { promised: 0, free: 399 });
	assert.deepEqual([await can(399), await can(400)], [true, false], "it is locked by now");
	assert.equal(at.reads, 6, "nothing that was remembered counts");
	assert.equal(await createJobHosts({ ...means, jobChain: null } as never).canLock("ab", null, 1e15), true);
	assert.equal(await hosts.canLock("ab", null, 1), false, "without an account nothing can be locked");
});
