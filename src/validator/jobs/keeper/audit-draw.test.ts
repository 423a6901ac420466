// Who may audit a part: nobody of its provider's owner or network, as they stood when that one was drawn. And
// whether it is run again whole, by what its provider was then.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isTooFast } from "../../../market/jobs/economics.ts";
import { leastMs } from "../../../market/jobs/fitting-hosts.ts";
import { DEFAULT_PARAMS } from "../../../market/params.ts";
import { createNodeSigner } from "../../../platform/node-ed25519.ts";
import { UNKNOWN_DEVICE } from "../../../store/jobs/job-rows.ts";
import { timeOfInt8 } from "../../../work/cost/work-time.ts";
import { cameTooFast, chanceOfAudit, nextAuditor } from "./audit-draw.ts";
import { type DrawBody, type DrawnHost, drawnHost, idleDevice } from "./draw-part.ts";

const id = (n: number): string => n.toString(16).padStart(64, "0");
const host = (n: number, owner: string, network: string) => ({
	...{ provider: id(n), owner, network, account: null, isFree: true, pricePerHourMicros: 1, reliabilityPpm: 1e6 },
	...{ device: 0, freeBondMicros: 0, memoryBytes: 2 ** 30, int8OpsPerS: 1e9, bytesPerS: 1e9, weightPpm: 1e6 },
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

const TERMS = { segments: 8, parts: 2, priceMicros: 1000, bondMicros: 12_000 };
/** A claim of part 1 by who was drawn as this; null: no draw has it. */
function claimOf(drawn: DrawnHost | null, terms = TERMS) {
	const hosts = drawn === null ? {} : { [CLAIMANT.provider]: drawn };
	const body = { atMs: 1, block: id(0), afterBlock: null, drawn: [CLAIMANT.provider], accounts: {}, hosts };
	const context = {
		store: {
			jobs: { draw: async (_: string, { role }: { role: number }) => (role === 0 ? { listHash: id(0), body } : null) },
		},
		// A segment of a thousand operations and a hundred bytes.
		works: { ofJob: async () => ({ ops: 1000, bytes: 100, peakBytes: 1 }) },
		...{ config: { params: DEFAULT_PARAMS }, signer: createNodeSigner(new Uint8Array(32).fill(7)) },
	};
	const part = { part: 1, attempt: 2, provider: CLAIMANT.provider, assignedAtMs: 5000 };
	const job = { id: id(9), spec: {}, offer: { terms, salt: id(3) } };
	return {
		tookMs: (ms: number) => cameTooFast(context as never, job as never, { ...part, claimedAtMs: 5000 + ms } as never),
		chance: (gas: number) => chanceOfAudit(context as never, job as never, part as never, gas),
	};
}
const drawnAs = ({ checkedInARow = 0, int8OpsPerS = 1000, bytesPerS = 1000 }): DrawnHost => ({
	...{ owner: "o", network: "n", checkedInARow },
	devices: [{ device: 0, int8OpsPerS, bytesPerS }],
});

test("a claim that came more than a tenth faster than its provider's proven speed allows came too fast", async () => {
	// Four segments of a second each by its products; by its bytes a tenth of that.
	const { tookMs } = claimOf(drawnAs({}));
	assert.deepEqual([await tookMs(3599), await tookMs(3600), await tookMs(60_000)], [true, false, false]);
	const slowMemory = claimOf(drawnAs({ bytesPerS: 10 }));
	assert.deepEqual([await slowMemory.tookMs(35_999), await slowMemory.tookMs(36_000)], [true, false]);
	const faster = claimOf(drawnAs({ int8OpsPerS: 10_000, bytesPerS: 10_000 }));
	assert.deepEqual([await faster.tookMs(359), await faster.tookMs(360)], [true, false]);
	assert.equal(await claimOf(null).tookMs(0), false, "nobody knows how fast it is");
});

test("a part is run again by chance as its provider's record was when it was drawn, and as its bond needs", async () => {
	const chance = (checkedInARow: number, gas = 0, bondMicros = 12_000) =>
		claimOf(drawnAs({ checkedInARow }), { ...TERMS, bondMicros }).chance(gas);
	for (const checked of [0, 9, 10, 1000]) assert.equal(await chance(checked), 100_000, "the bond needs as much");
	assert.deepEqual([await chance(10, 0, 120_000), await chance(20, 0, 120_000)], [100_000, 50_000]);
	assert.equal(await chance(1000, 0, 120_000), 10_990);
	// The escrow gives an accuser 96,000 for gas, which a friend brings back: that much deters nobody.
	assert.equal(await chance(1000, 80_000, 120_000), 52_632);
	assert.equal(await claimOf(null).chance(0), 100_000);
});

test("a claimant that hangs up is held against what it had proved: what came too fast is seen as that", async () => {
	const proved = await Promise.all([[CLAIMANT], []].map((there) => drawnHost(...claimWith(there).at)));
	for (const one of proved) assert.deepEqual([one?.int8OpsPerS, one?.bytesPerS], [1, 1]);
	const took = { ops: 20, bytes: 20, peakBytes: 0 };
	assert.equal(leastMs(took, proved[1]!), 20_000);
	assert.equal(isTooFast(17_000, leastMs(took, proved[1]!), DEFAULT_PARAMS), true);
	assert.equal(isTooFast(19_000, leastMs(took, proved[1]!), DEFAULT_PARAMS), false);
});
