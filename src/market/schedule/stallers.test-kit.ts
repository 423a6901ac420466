// A validator process in simulated time, for tests: places, slots and due dates as in docs/schedule.md §3,
// with the real rules for who is due when, whose turn it is and how long it may take. No sockets, no
// database.
import { createHash } from "node:crypto";
import { DEFAULT_PARAMS } from "../params.ts";
import { nextProbe } from "./schedule.ts";
import { freshState } from "./schedule-state.test-kit.ts";
import type { ScheduleState } from "./schedule-state.ts";
import { holdMs, placesOfOthers } from "./turns.ts";

const P = DEFAULT_PARAMS;
const MIN = 60_000;
const HOUR = 60 * MIN;
/** As validator-config.ts has them. */
const [SLOTS, PLACES, OTHERS_PERCENT, TOTAL_MS] = [16, 64, 75, 15 * MIN];
/** Until a host has said what it is, and how long an honest one is at work. */
const [HELLO_MS, WORK_MS] = [1000, 8000];

/** What a host does in its n-th probe: `valid` after some time, or it stalls for as long as it may. */
export type Habit = (n: number) => { readonly validAfterMs: number } | "stall";
export const honest: Habit = () => ({ validAfterMs: WORK_MS });

interface Host {
	readonly number: number;
	readonly crowd: number;
	readonly comesAtMs: number;
	readonly habit: Habit;
	state: ScheduleState;
	probes: number;
	phase: "free" | "hello" | "waiting" | "work";
	takenAtMs: number;
	/** Of the proof that counts, when it was made, and the time until now in which one counted. */
	provenUntilMs: number;
	countedMs: number;
}

/** Free hosts, the next to be probed last. */
type Queue = Host[];

/** Behind those that are later; of one moment, whoever comes first is nearer to the end. */
function placeIn<T>(list: readonly T[], momentOf: (one: T) => number, atMs: number): number {
	let low = 0;
	for (let high = list.length; low < high; ) {
		const middle = (low + high) >> 1;
		if (momentOf(list[middle]!) > atMs) low = middle + 1;
		else high = middle;
	}
	return low;
}

interface Event {
	readonly atMs: number;
	readonly run: () => void;
}

export interface Crowd {
	readonly habit: Habit;
	readonly count: number;
	/** They come at moments drawn from the hour that begins here. */
	readonly fromHour: number;
}

interface Run {
	readonly hours: number;
	/**
	 * As it was before there were turns: nobody is remembered to have stalled, and everybody may take 15 min.
	 */
	readonly withoutTurns?: boolean;
	readonly places?: number;
}

/** For each crowd, the mean share of the time since they came in which its hosts had a proof that counts. */
export function simulate(
	crowds: readonly Crowd[],
	{ hours, withoutTurns = false, places: most = PLACES }: Run,
): number[] {
	const endMs = hours * HOUR;
	const random = drawsOf("stallers");
	const percent = withoutTurns ? 100 : OTHERS_PERCENT;
	const [otherPlaces, otherSlots] = [placesOfOthers(most, percent), placesOfOthers(SLOTS, percent)];
	const events: Event[] = [];
	let nowMs = 0;

	let made = 0;
	const hosts = crowds.flatMap(({ habit, count, fromHour }, crowd) =>
		Array.from({ length: count }, (): Host => {
			const comesAtMs = Math.floor((fromHour + random()) * HOUR);
			const idle = { probes: 0, phase: "free", takenAtMs: 0, provenUntilMs: 0, countedMs: 0 } as const;
			return { number: made++, crowd, comesAtMs, habit, state: freshState(comesAtMs), ...idle };
		}),
	);
	const waiting: Host[] = [];
	const isOther = ({ state }: Host) => state.turn > 0;
	const places = { all: 0, others: 0 };
	const slots = { all: 0, others: 0 };
	function add(to: { all: number; others: number }, host: Host, by: 1 | -1): void {
		to.all += by;
		if (isOther(host)) to.others += by;
	}

	function at(atMs: number, run: () => void): void {
		events.splice(
			placeIn(events, (one) => one.atMs, atMs),
			0,
			{ atMs, run },
		);
	}

	// Those whose turn is the first, and the others, whose places may be full.
	const free: Record<"first" | "others", Queue> = { first: [], others: [] };
	function release(host: Host): void {
		const queue = isOther(host) ? free.others : free.first;
		const nextMs = host.state.nextProbeAtMs!;
		queue.splice(
			placeIn(queue, (one) => one.state.nextProbeAtMs!, nextMs),
			0,
			host,
		);
	}

	function take(): void {
		if (places.all >= most) return;
		const due: Host[] = [];
		for (const queue of places.others < otherPlaces ? [free.first, free.others] : [free.first])
			for (let i = queue.length - 1; i >= 0 && queue[i]!.state.nextProbeAtMs! <= nowMs; i--) due.push(queue[i]!);
		const turn = (host: Host) => (withoutTurns ? 0 : host.state.turn);
		due.sort((a, b) => turn(a) - turn(b) || a.state.nextProbeAtMs! - b.state.nextProbeAtMs! || a.number - b.number);
		for (const host of due) {
			if (places.all >= most) return;
			if (isOther(host) && places.others >= otherPlaces) continue;
			const queue = isOther(host) ? free.others : free.first;
			queue.splice(queue.indexOf(host), 1);
			add(places, host, 1);
			host.phase = "hello";
			host.takenAtMs = nowMs;
			at(nowMs + HELLO_MS, () => {
				host.phase = "waiting";
				waiting.push(host);
				const probe = host.probes;
				// Who gets no slot in time gives its place back. Before there were turns it waited on, with a closed
				// link.
				if (withoutTurns) return;
				at(host.takenAtMs + TOTAL_MS, () => {
					if (host.phase !== "waiting" || host.probes !== probe) return;
					waiting.splice(waiting.indexOf(host), 1);
					end(host, "inconclusive", null);
				});
			});
		}
	}

	function give(): void {
		const urgent = withoutTurns ? [] : waiting.filter((host) => !isOther(host));
		for (const host of new Set([...urgent, ...waiting])) {
			if (slots.all >= SLOTS) return;
			if (isOther(host) && slots.others >= otherSlots) continue;
			waiting.splice(waiting.indexOf(host), 1);
			add(slots, host, 1);
			host.phase = "work";
			const fromMs = nowMs;
			const mayMs = withoutTurns ? TOTAL_MS : holdMs(host.state, P);
			const untilMs = Math.max(nowMs, Math.min(nowMs + mayMs, host.takenAtMs + TOTAL_MS));
			const act = host.habit(host.probes);
			const doneMs = act === "stall" ? Number.POSITIVE_INFINITY : nowMs + act.validAfterMs;
			at(Math.min(doneMs, untilMs), () => {
				add(slots, host, -1);
				end(host, doneMs <= untilMs ? "valid" : "inconclusive", nowMs - fromMs);
			});
		}
	}

	function end(host: Host, status: "valid" | "inconclusive", heldMs: number | null): void {
		add(places, host, -1);
		const code = status === "valid" ? null : "CHALLENGE_SILENT";
		const outcome = { status, code, startedAtMs: host.takenAtMs, endedAtMs: nowMs };
		host.state = nextProbe(host.state, { ...outcome, heldMs: withoutTurns ? null : heldMs }, P, random()).state;
		host.probes += 1;
		host.phase = "free";
		release(host);
		if (status === "valid") {
			const untilMs = Math.min(endMs, host.takenAtMs + P.maxAgeMs);
			host.countedMs += Math.max(0, untilMs - Math.max(nowMs, host.provenUntilMs));
			host.provenUntilMs = untilMs;
		}
		at(host.state.nextProbeAtMs!, () => {});
	}

	for (const host of hosts) {
		at(host.comesAtMs, () => {});
		release(host);
	}
	for (let next = events.pop(); next !== undefined && next.atMs < endMs; next = events.pop()) {
		nowMs = next.atMs;
		next.run();
		take();
		give();
	}
	return crowds.map(({ count }, crowd) =>
		hosts
			.filter((host) => host.crowd === crowd)
			.reduce((sum, { countedMs, comesAtMs }) => sum + countedMs / (endMs - comesAtMs) / count, 0),
	);
}

/** Draws in [0, 1) that are the same in every run. */
function drawsOf(seed: string): () => number {
	let n = 0;
	return () => createHash("sha256").update(`${seed} ${n++}`).digest().readUInt32BE() / 2 ** 32;
}
