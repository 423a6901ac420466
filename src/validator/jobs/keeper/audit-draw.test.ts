// Who may audit a part: nobody of its provider's owner or network, as they stood when that one was drawn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_PARAMS } from "../../../market/params.ts";
import { createNodeSigner } from "../../../platform/node-ed25519.ts";
import { UNKNOWN_DEVICE } from "../../../store/jobs/job-rows.ts";
import { timeOfInt8 } from "../../../work/cost/work-time.ts";
import { nextAuditor } from "./audit-draw.ts";
import { type DrawBody, type DrawnHost, drawnHost, idleDevice } from "./draw-part.ts";

const id = (n: number): string => n.toString(16).padStart(64, "0");
const host = (n: number, owner: string, network: string) => ({
	...{ provider: id(n), owner, network, account: null, isFree: true, pricePerHourMicros: 1, reliabilityPpm: 1e6 },
	...{ device: 0, freeBondMicros: 0, memoryBytes: 2 ** 30, int8OpsPerS: 1e9, bytesPerS: 1e9, weightPpm: 1e6 },
	reputation: { counts: {}, valueMicros: 0, checkedInARow: 0, isBarred: false },
});
const CLAIMANT = host(1, "its account", "10.1.1");

/** Who is listed for an audit while these are there. */
async function listed(there: readonly ReturnType<typeof host>[]): Promise<string[]> {
	let drawn: DrawBody | null = null;
	const own: Record<string, DrawnHost> = {
		[CLAIMANT.provider]: {
			owner: CLAIMANT.owner,
			network: CLAIMANT.network,
			checkedInARow: 0,
			devices: [{ device: 0, int8OpsPerS: 1, bytesPerS: 1 }],
		},
	};
	const body = { atMs: 1, block: id(0), afterBlock: null, drawn: [CLAIMANT.provider], accounts: {}, hosts: own };
	const context = {
		store: {
			jobs: {
				draw: async (_: string, { role }: { role: number }) => (role === 0 ? { listHash: id(0), body } : null),
				async change(change: { draws: readonly { body: DrawBody }[] }) {
					drawn = change.draws[0]!.body;
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
	assert.equal(await nextAuditor(context as never, job as never, part as never, []), "wait");
	return drawn!.list.map(({ provider }) => provider);
}

test("a claimant that hangs up is audited neither by its own account's host nor by its network's", async () => {
	const sibling = host(2, CLAIMANT.owner, "10.2.2");
	const neighbour = host(3, "another", CLAIMANT.network);
	const stranger = host(4, "a third", "10.3.3");
	assert.deepEqual(await listed([CLAIMANT, sibling, neighbour, stranger]), [stranger.provider]);
	assert.deepEqual(await listed([sibling, neighbour, stranger]), [stranger.provider], "it hung up");
	const cards = [0, 1, 2, 3].map((device) => ({ ...CLAIMANT, device }));
	assert.deepEqual(await listed([...cards, stranger]), [stranger.provider], "its other cards");
});

/** Who audits next, of those that were drawn in this order, each with devices 0 to 2. */
async function next(
	drawn: readonly string[],
	{ atWork = {}, audits = [], name = "redundant" }: { atWork?: object; audits?: readonly object[]; name?: string },
) {
	const fitting = [0, 1, 2].map((device) => ({ device, int8OpsPerS: 1, bytesPerS: 1 }));
	const hosts = Object.fromEntries(
		drawn.map((one) => [one, { owner: one, network: one, checkedInARow: 0, devices: fitting }]),
	);
	const row = { listHash: id(0), body: { atMs: 1, block: id(0), afterBlock: null, drawn, accounts: {}, hosts } };
	const busy = new Map(Object.entries(atWork).map(([one, devices]) => [one, new Set(devices as number[])]));
	const context = {
		store: { jobs: { draw: async () => row, devicesAtWork: async () => busy } },
		signer: createNodeSigner(new Uint8Array(32).fill(7)),
		hosts: { there: async () => new Set(drawn) },
	};
	const job = { id: id(9), spec: {}, offer: { terms: { method: { name, count: 3 } }, salt: id(3) } };
	const part = { part: 0, attempt: 1, provider: id(1), excluded: [], state: "claimed" };
	return nextAuditor(context as never, job as never, part as never, audits as never);
}

test("an auditor is asked for a device that is idle; a host gets one of the runs of a part, whatever it has free", async () => {
	const [a, b] = [id(2), id(3)];
	assert.deepEqual(await next([a, b], {}), { auditor: a, device: 0 });
	assert.deepEqual(await next([a, b], { atWork: { [a]: [0, 1] } }), { auditor: a, device: 2 });
	assert.deepEqual(await next([a, b], { atWork: { [a]: [0, 1, 2] } }), { auditor: b, device: 0 });
	assert.deepEqual(await next([a, b], { atWork: { [a]: [UNKNOWN_DEVICE], [b]: [0, 1, 2] } }), {
		auditor: a,
		device: 0,
	});
	const had = (auditor: string, device: number) => ({ auditor, device, tried: [] });
	assert.deepEqual(await next([a, b], { audits: [had(a, 1)] }), { auditor: b, device: 0 });
	assert.equal(await next([a, b], { audits: [had(a, 1), had(b, 1)] }), null, "two free devices more count for nothing");
	// Windows are dealt out in turns, and all of one host's are for one of its devices.
	const windows = { audits: [had(a, 1), had(b, 2)], name: "sampled", atWork: { [a]: [1], [b]: [2] } };
	assert.deepEqual(await next([a, b], windows), { auditor: a, device: 1 });
});

const JOB = { id: id(9), spec: {}, offer: { terms: {}, salt: id(3) } };

test("a part's speed is that of the device that has it; where nobody knows which, of the fastest", async () => {
	const devices = [7, 2, 0].map((device, i) => ({ device, int8OpsPerS: 100 - i, bytesPerS: 10 - i }));
	const hosts = { [id(2)]: { owner: "o", network: "n", checkedInARow: 0, devices } };
	const body = { atMs: 1, block: id(0), afterBlock: null, drawn: [id(2)], accounts: {}, hosts };
	const source = {
		store: { jobs: { draw: async () => ({ listHash: id(0), body }) } },
		signer: createNodeSigner(new Uint8Array(32).fill(7)),
	};
	const speedOf = async (device?: number) => {
		const part = { part: 0, attempt: 1, provider: id(2), device };
		const host = await drawnHost(source as never, JOB as never, part as never);
		return [host!.int8OpsPerS, host!.bytesPerS];
	};
	assert.deepEqual(
		[await speedOf(2), await speedOf(0), await speedOf(), await speedOf(9)],
		[
			...[
				[99, 9],
				[98, 8],
				[100, 10],
			],
			[100, 10],
		],
	);
	const busy = (...numbers: number[]) => new Map([[id(2), new Set(numbers)]]);
	assert.equal(idleDevice(new Map(), id(2), { devices }), 7);
	assert.equal(idleDevice(busy(7, 0), id(2), { devices }), 2);
	assert.equal(idleDevice(busy(7, 0, 2), id(2), { devices }), null);
	assert.equal(idleDevice(busy(UNKNOWN_DEVICE), id(2), { devices }), null);
});
