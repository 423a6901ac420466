// What happens in a job, event by event, as its page shows it: the curve of its metrics, the way of each
// part, the newest picture, and lines. Whatever providers say in heartbeats proves nothing. Made for sixty
// events a second over half an hour: adding one costs the same however many there were.
import type { NetworkEvent } from "../../src/api/types.ts";

/** Something else of a job than what its providers tell several times a second. */
export const isMove = ({ kind }: Pick<NetworkEvent, "kind">) => /^job\.(?!(metrics|preview|progress)$)/.test(kind);

interface JobEventLine {
	readonly id: string;
	readonly atMs: number;
	/** Null: about the whole job. */
	readonly part: number | null;
	readonly what: string;
	readonly provider: string | null;
	readonly why: string | null;
	/** Of what was given back: at whose wish. */
	readonly by: string | null;
}

export interface CurvePoint {
	readonly step: number;
	readonly atMs: number;
	readonly values: readonly number[];
}

/** A part in one state, from one event to the next. */
export interface PartSpan {
	readonly part: number;
	readonly state: string;
	readonly provider: string | null;
	readonly fromMs: number;
	/** Null: it is so now. */
	readonly toMs: number | null;
}

export interface NamedPreview {
	readonly tensor: number;
	readonly root: string;
	readonly size: number;
}

export interface LiveJob {
	readonly lines: readonly JobEventLine[];
	/** Ascending by step. */
	readonly curve: readonly CurvePoint[];
	readonly spans: readonly PartSpan[];
	/** Segments done, by part, as providers say. */
	readonly done: ReadonlyMap<number, number>;
	readonly preview: readonly NamedPreview[] | null;
	readonly isOver: boolean;
}

export const NO_EVENTS: LiveJob = {
	...{ lines: [], curve: [], spans: [], preview: null, isOver: false },
	done: new Map(),
};
const MOST_LINES = 500;
const MOST_SPANS = 2000;
/** More points than these: every second one is left out. */
const MOST_POINTS = 20_000;

/** What a part is after an event. */
const STATES: Readonly<Record<string, string>> = {
	...{
		offered: "assigned",
		running: "running",
		declined: "open",
		reopened: "lost",
		returned: "lost",
		convicted: "convicted",
	},
	...{
		claimed: "claimed",
		recovered: "claimed",
		checked: "checked",
		disputed: "disputed",
		undisputed: "claimed",
		paid: "paid",
		refunded: "refunded",
	},
};

type Detail = { readonly [key: string]: unknown };
const text = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** Of a comparison. */
const verdictOf = ({ agrees }: Detail): string | null =>
	typeof agrees === "boolean" ? (agrees ? "they agree" : "they differ") : null;

function pointsOf(metrics: unknown, atMs: number): CurvePoint[] {
	return (Array.isArray(metrics) ? metrics : []).flatMap((one: unknown) => {
		const { step, values } = (one ?? {}) as Detail;
		const isRight = Number.isSafeInteger(step) && Array.isArray(values) && values.every(Number.isFinite);
		return isRight ? [{ step: step as number, atMs, values: values as number[] }] : [];
	});
}

function previewsOf(previews: unknown): NamedPreview[] {
	return (Array.isArray(previews) ? previews : []).flatMap((one: unknown) => {
		const { tensor, root, size } = (one ?? {}) as Detail;
		const isRight = Number.isSafeInteger(tensor) && /^[0-9a-f]{64}$/.test(String(root)) && Number.isSafeInteger(size);
		return isRight ? [{ tensor: tensor as number, root: root as string, size: size as number }] : [];
	});
}

export interface JobEvents {
	/** Said again it changes nothing. */
	add(event: NetworkEvent): void;
	shown(): LiveJob;
}

export function createJobEvents(): JobEvents {
	let curve: CurvePoint[] = [];
	let spans: PartSpan[] = [];
	let lines: JobEventLine[] = [];
	const done = new Map<number, number>();
	let preview: readonly NamedPreview[] | null = null;
	let isOver = false;
	let last = 0;

	/** Mostly at the end; a step that was run again takes the place of what it was. */
	function put(point: CurvePoint): void {
		if (curve.length === 0 || curve.at(-1)!.step < point.step) curve.push(point);
		else {
			let [low, high] = [0, curve.length - 1];
			while (low < high) {
				const middle = (low + high) >> 1;
				if (curve[middle]!.step < point.step) low = middle + 1;
				else high = middle;
			}
			curve.splice(low, curve[low]!.step === point.step ? 1 : 0, point);
		}
		if (curve.length > MOST_POINTS) curve = curve.filter((_, i) => i % 2 === 0);
	}

	function move(part: number, state: string, provider: string | null, atMs: number): void {
		const at = spans.findLastIndex((one) => one.part === part);
		const before = spans[at];
		if (before !== undefined && before.toMs === null) spans[at] = { ...before, toMs: atMs };
		const whose = provider ?? (["claimed", "checked", "disputed"].includes(state) ? (before?.provider ?? null) : null);
		spans.push({ part, state, provider: whose, fromMs: atMs, toMs: null });
		if (spans.length > MOST_SPANS) spans = spans.slice(-MOST_SPANS);
	}

	return {
		add({ id, atMs, kind, detail }) {
			const held = (typeof detail === "object" && detail !== null ? detail : {}) as Detail;
			const part = Number.isSafeInteger(held.part) ? (held.part as number) : null;
			const what = kind.replace(/^job\./, "");
			if (what === "metrics") return pointsOf(held.metrics, atMs).forEach(put);
			if (what === "preview") {
				preview = previewsOf(held.previews);
				return;
			}
			if (what === "progress") {
				if (part !== null && Number.isSafeInteger(held.done)) done.set(part, held.done as number);
				return;
			}
			// In their order; a stream that was cut may begin with one that is known.
			if (!(Number(id) > last)) return;
			last = Number(id);
			const line = {
				id,
				atMs,
				part,
				what,
				provider: text(held.provider),
				why: text(held.why) ?? verdictOf(held),
				by: text(held.by),
			};
			lines.push(line);
			if (lines.length > MOST_LINES) lines = lines.slice(-MOST_LINES);
			const state = STATES[what];
			if (state !== undefined && part !== null) move(part, state, line.provider, atMs);
			if (what === "reopened" || what === "returned" || what === "convicted") done.delete(part ?? -1);
			isOver ||= what === "over";
		},
		shown: () => ({ lines: [...lines], curve: [...curve], spans: [...spans], done: new Map(done), preview, isOver }),
	};
}

/** At most so many points that a curve is drawn with: means of neighbours. */
export function thinned(curve: readonly CurvePoint[], metric: number, most: number) {
	const each = Math.max(1, Math.ceil(curve.length / most));
	const points: { step: number; lastStep: number; atMs: number; value: number }[] = [];
	for (let i = 0; i < curve.length; i += each) {
		const group = curve.slice(i, i + each).filter(({ values }) => values[metric] !== undefined);
		const end = group.at(-1);
		if (end === undefined) continue;
		const value = group.reduce((sum, { values }) => sum + values[metric]!, 0) / group.length;
		points.push({ step: group[0]!.step, lastStep: end.step, atMs: end.atMs, value });
	}
	return points;
}

/** Steps a second over the last minute of the curve; null: too little is known. */
export function stepsPerS(curve: readonly CurvePoint[]): number | null {
	const end = curve.at(-1);
	const begin = end && curve.find(({ atMs }) => atMs >= end.atMs - 60_000);
	if (end === undefined || begin === undefined || end.atMs - begin.atMs < 200) return null;
	return (1000 * (end.step - begin.step)) / (end.atMs - begin.atMs);
}
