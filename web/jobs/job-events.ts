// What happens in a job, event by event, as a page shows it: a curve of its first metric, and lines. Pure; whatever providers say in heartbeats proves nothing.
import type { NetworkEvent } from "../../src/api/types.ts";

interface JobEventLine {
	readonly id: string;
	readonly atMs: number;
	/** Null: about the whole job. */
	readonly part: number | null;
	readonly what: string;
	readonly provider: string | null;
	readonly why: string | null;
}

export interface LiveJob {
	readonly lines: readonly JobEventLine[];
	/** By step: the values of all metrics. */
	readonly curve: readonly { readonly step: number; readonly values: readonly number[] }[];
	readonly isOver: boolean;
}

export const NO_EVENTS: LiveJob = { lines: [], curve: [], isOver: false };
const MOST_LINES = 500;
const MOST_POINTS = 2000;

type Detail = { readonly [key: string]: unknown };

/** The next picture of a job. Values of a step that was run again replace those before. */
export function withJobEvent(live: LiveJob, { id, atMs, kind, detail }: NetworkEvent): LiveJob {
	const held = (typeof detail === "object" && detail !== null ? detail : {}) as Detail;
	if (kind === "job.preview" || kind === "job.progress") return live;
	if (kind === "job.metrics") {
		const found = (Array.isArray(held.metrics) ? held.metrics : []).flatMap((one: unknown) => {
			const { step, values } = (one ?? {}) as Detail;
			const isRight = Number.isSafeInteger(step) && Array.isArray(values) && values.every(Number.isFinite);
			return isRight ? [{ step: step as number, values: values as number[] }] : [];
		});
		const known = new Map([...live.curve, ...found].map((point) => [point.step, point]));
		return { ...live, curve: [...known.values()].sort((a, b) => a.step - b.step).slice(-MOST_POINTS) };
	}
	const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
	const line: JobEventLine = {
		...{ id, atMs, what: kind.replace(/^job\./, "") },
		part: typeof held.part === "number" ? held.part : null,
		provider: text(held.provider),
		why: text(held.why),
	};
	const lines = live.lines.some((one) => one.id === id) ? live.lines : [...live.lines, line].slice(-MOST_LINES);
	return { ...live, lines, isOver: live.isOver || kind === "job.over" };
}
