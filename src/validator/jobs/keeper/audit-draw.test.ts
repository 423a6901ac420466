// Who may audit a part: nobody of its provider's owner or network, as they stood when that one was drawn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isTooFast } from "../../../market/jobs/economics.ts";
import { leastMs } from "../../../market/jobs/fitting-hosts.ts";
import { DEFAULT_PARAMS } from "../../../market/params.ts";
import { createNodeSigner } from "../../../platform/node-ed25519.ts";
import { timeOfInt8 } from "../../../work/cost/work-time.ts";
import { nextAuditor } from "./audit-draw.ts";
import { type DrawBody, type DrawnHost, drawnHost } from "./draw-part.ts";

const id = (n: number): string => n.toString(16).padStart(64, "0");
const host = (n: number, owner: string, network: string) => ({
	...{ provider: id(n), owner, network, account: null, isFree: true, pricePerHourMicros: 1, reliabilityPpm: 1e6 },
	...{ freeBondMicros: 0, memoryBytes: 2 ** 30, int8OpsPerS: 1e9, bytesPerS: 1e9, weightPpm: 1e6 },
	reputation: { counts: {}, valueMicros: 0, checkedInARow: 0, isBarred: false },
});
const CLAIMANT = host(1, "its account", "10.1.1");

/** A claim of this one, while these are there; who was listed for an audit of it. */
function claimWith(there: readonly ReturnType<typeof host>[]) {
	const told: { drawn: DrawBody | null } = { drawn: null };
	const own: Record<string, DrawnHost> = {
		[CLAIMANT.provider]: {
			owner: CLAIMANT.owner,
			network: CLAIMANT.network,
			int8OpsPerS: 1,
			bytesPerS: 1,
			checkedInARow: 0,
		},
	};
	const body = { atMs: 1, block: id(0), afterBlock: null, drawn: [CLAIMANT.provider], accounts: {}, hosts: own };
	const context = {
		store: {
			jobs: {
				draw: async (_: string, { role }: { role: number }) => (role === 0 ? { listHash: id(0), body } : null),
				async change(change: { draws: readonly { body: DrawBody }[] }) {
					told.drawn = change.draws[0]!.body;
					return null;
				},
			},
		},
		...{ signer: createNodeSigner(new Uint8Array(32).fill(7)), jobChain: null, env: { nowMs: () => 5 } },
		hosts: { areGathering: async () => false, known: async () => there },
		works: {
			ofJob: async () => ({ ops: 1, bytes: 1, peakBytes: 1, time: { init: timeOfInt8(1), segment: timeOfInt8(1) } }),
		},
		...{ config: { params: DEFAULT_PARAMS }, metrics: { jobs: { inc() {} } }, wakeJob() {} },
	};
	const terms = { segments: 4, parts: 1, workMs: 1e6, priceMicros: 1e6, method: { name: "redundant", count: 2 } };
	const part = { part: 0, attempt: 1, provider: CLAIMANT.provider, excluded: [], state: "claimed", audits: [] };
	const job = {
		id: id(9),
		version: 1,
		spec: {},
		offer: { terms, salt: id(3) },
		record: { id: id(9), terms, parts: [part] },
	};
	return { at: [context as never, job as never, part as never] as const, told };
}

async function listed(there: readonly ReturnType<typeof host>[]): Promise<string[]> {
	const { at, told } = claimWith(there);
	assert.equal(await nextAuditor(...at, []), "wait");
	return told.drawn!.list.map(({ provider }) => provider);
}

test("a claimant that hangs up is audited neither by its own account's host nor by its network's", async () => {
	const sibling = host(2, CLAIMANT.owner, "10.2.2");
	const neighbour = host(3, "another", CLAIMANT.network);
	const stranger = host(4, "a third", "10.3.3");
	assert.deepEqual(await listed([CLAIMANT, sibling, neighbour, stranger]), [stranger.provider]);
	assert.deepEqual(await listed([sibling, neighbour, stranger]), [stranger.provider], "it hung up");
});

test("a claimant that hangs up is held against what it had proved: what came too fast is seen as that", async () => {
	const proved = await Promise.all([[CLAIMANT], []].map((there) => drawnHost(...claimWith(there).at)));
	for (const one of proved) assert.deepEqual([one?.int8OpsPerS, one?.bytesPerS], [1, 1]);
	const took = { ops: 20, bytes: 20, peakBytes: 0 };
	assert.equal(leastMs(took, proved[1]!), 20_000);
	assert.equal(isTooFast(17_000, leastMs(took, proved[1]!), DEFAULT_PARAMS), true);
	assert.equal(isTooFast(19_000, leastMs(took, proved[1]!), DEFAULT_PARAMS), false);
});
