// Events: told once to everyone, gone on after the last one seen, ended when nobody reads. Gates: open when all have come, and only then.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { NetworkEvent } from "../../api/types.ts";
import type { EventStore, StoreEvent } from "../../store/store.ts";
import { createEventHub } from "./event-hub.ts";
import { createTogetherGate } from "./together-gate.ts";

/** What the database's notifications do, in memory: every subscriber of every process hears every event. */
function memoryEvents(): EventStore & { miss(): void } {
	const listeners = new Set<(event: StoreEvent | { readonly kind: "missed" }) => void>();
	return {
		async publish(event) {
			for (const listener of listeners) listener(event);
		},
		subscribe(listener) {
			listeners.add(listener);
			return () => listeners.delete(listener);
		},
		miss() {
			for (const listener of listeners) listener({ kind: "missed" });
		},
	};
}

const nowMs = () => 1000;
const hubOf = (events: EventStore, process: string) => createEventHub({ events, process, nowMs });
const told = (n: number) => ({ kind: "probe.progress", subject: `${n}`, providerId: null, detail: { n } });

async function take(stream: AsyncIterable<NetworkEvent>, count: number): Promise<NetworkEvent[]> {
	const seen: NetworkEvent[] = [];
	for await (const event of stream) {
		seen.push(event);
		if (seen.length === count) break;
	}
	return seen;
}

test("two processes see each other's events; a stream goes on after the last one it saw", async () => {
	const events = memoryEvents();
	const [one, two] = [hubOf(events, "one"), hubOf(events, "two")];
	const signal = new AbortController().signal;
	const all = () => true;
	const stream = take(two.watch({ wants: all, after: null, signal }), 3);
	for (let n = 0; n < 3; n++) one.tell(told(n));
	await one.flush();
	const seen = await stream;
	assert.deepEqual(
		seen.map(({ subject }) => subject),
		["0", "1", "2"],
	);
	const rest = await take(two.watch({ wants: all, after: seen[0]!.id, signal }), 2);
	assert.deepEqual(rest, seen.slice(1));
	// Another process's id, or a forgotten one, is no place to go on from.
	one.tell(told(9));
	await one.flush();
	const fresh = two.watch({ wants: all, after: "one:1", signal })[Symbol.asyncIterator]();
	const next = fresh.next();
	one.tell(told(10));
	assert.equal((await next).value?.subject, "10");
});

test("a stream ends with its last event, with its signal, and tells what was missed", async () => {
	const events = memoryEvents();
	const hub = hubOf(events, "one");
	const stopper = new AbortController();
	const wants = ({ kind }: NetworkEvent) => kind !== "noise";
	const ends = take(
		hub.watch({ wants, after: null, signal: stopper.signal, last: ({ subject }) => subject === "1" }),
		99,
	);
	const missed = take(hub.watch({ wants, after: null, signal: stopper.signal }), 3);
	const cut = take(hub.watch({ wants: () => false, after: null, signal: stopper.signal }), 1);
	hub.tell({ ...told(0), kind: "noise" });
	hub.tell(told(0));
	hub.tell(told(1));
	hub.tell(told(2));
	await hub.flush();
	events.miss();
	assert.deepEqual(
		(await ends).map(({ subject }) => subject),
		["0", "1"],
	);
	assert.equal((await missed).length, 3);
	stopper.abort();
	assert.deepEqual(await cut, []);
});

test("a gate opens for members of two processes when all are there, and not before", async () => {
	const events = memoryEvents();
	const after = (ms: number, run: () => void) => {
		const timer = setTimeout(run, ms);
		return () => clearTimeout(timer);
	};
	const gates = ["one", "two"].map((name) => createTogetherGate({ hub: hubOf(events, name), nowMs, after }));
	const [here, there] = [gates[0]!, gates[1]!];
	const members = ["a", "b", "c"];
	let open = 0;
	const arrive = (gate: typeof here, member: string, name: string, waitMs = 60_000) =>
		gate.arrive({ group: "g", members, member, gate: name, waitMs }).then((together) => {
			open += 1;
			return together;
		});
	const first = [arrive(here, "a", "fill"), arrive(there, "b", "fill")];
	await new Promise(setImmediate);
	assert.equal(open, 0);
	first.push(arrive(here, "c", "fill"));
	assert.deepEqual(await Promise.all(first), [true, true, true]);

	// One that is gone is not waited for; one that never comes is waited for so long and no longer.
	const second = [arrive(here, "a", "stream"), arrive(there, "b", "stream")];
	here.leave({ group: "g", member: "c" });
	assert.deepEqual(await Promise.all(second), [true, true]);
	assert.equal(await here.arrive({ group: "h", members, member: "a", gate: "fill", waitMs: 1 }), false);
});
