// Events: told once to everyone, gone on after the last one seen, ended when nobody reads. Gates: open when
// all have come, and only then.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { NetworkEvent } from "../api/types.ts";
import { realAfter } from "../platform/abortable.ts";
import type { EventStore, StoreEvent } from "../store/events.ts";
import { EventHub } from "./event-hub.ts";
import { createProbeHistory } from "./probing/probe-history.ts";
import { createTogetherGate } from "./probing/together-gate.ts";

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
const hubOf = (events: EventStore, process: string) => new EventHub({ events, process, nowMs });
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

test("who comes late to a probe hears first what has happened of it, from any process", async () => {
	const events = memoryEvents();
	const [one, two] = [hubOf(events, "one"), hubOf(events, "two")];
	const signal = new AbortController().signal;
	const tell = (detail: NetworkEvent["detail"], subject = "p") =>
		one.tell({ kind: "probe.progress", subject, providerId: null, detail: detail as never });
	one.tell({ kind: "probe.started", subject: "p", providerId: null, detail: {} });
	tell({ step: "stage", name: "fill" });
	for (let done = 1; done <= 50; done++) tell({ step: "root", challenge: 0, done });
	tell({ step: "root", challenge: 7, done: 1 }, "another");
	tell({ step: "opened", challenge: 0 });
	await one.flush();
	const wants = ({ subject }: NetworkEvent) => subject === "p";
	const last = ({ kind }: NetworkEvent) => kind === "probe.verdict";
	const late = take(two.watch({ wants, after: null, signal, last, probe: "p" }), 99);
	one.tell({ kind: "probe.verdict", subject: "p", providerId: null, detail: {} });
	const seen = await late;
	assert.deepEqual(
		seen.map(({ kind, detail }) => (detail as { step?: string }).step ?? kind),
		["probe.started", "stage", "root", "opened", "probe.verdict"],
	);
	assert.equal((seen[2]!.detail as { done?: number }).done, 50, "of a challenge's roots the newest");
	// One that goes on is told only what came since.
	const rest = await take(two.watch({ wants, after: seen[3]!.id, signal, last, probe: "p" }), 99);
	assert.deepEqual(rest, seen.slice(4));
	assert.equal(two.historyOf("nobody's").length, 0);
});

test("what is remembered of probes is bounded: the oldest probe goes first, a talkative one is cut", () => {
	const history = createProbeHistory({ mostEvents: 1000 });
	const see = (subject: string, n: number) =>
		history.see({ id: `${subject}:${n}`, kind: "probe.progress", subject, providerId: null, atMs: 0, detail: { n } });
	for (let n = 0; n < 5000; n++) see("talkative", n);
	const kept = history.of("talkative").length;
	assert.ok(kept > 100 && kept < 1000, `${kept}`);
	for (let probe = 0; probe < 100; probe++) for (let n = 0; n < 20; n++) see(`probe ${probe}`, n);
	assert.deepEqual([history.of("talkative").length, history.of("probe 0").length], [0, 0]);
	assert.equal(history.of("probe 99").length, 20);
	let all = 0;
	for (let probe = 0; probe < 100; probe++) all += history.of(`probe ${probe}`).length;
	assert.ok(all <= 1000, `${all}`);
});

test("a gate opens for members of two processes when all are there, and not before", async () => {
	const events = memoryEvents();
	const gates = ["one", "two"].map((name) => createTogetherGate({ hub: hubOf(events, name), after: realAfter }));
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
