// A probe's events folded into what a screen shows: its stages in order, and how far each challenge of them has come. Pure.
import type { NetworkEvent } from "../../src/api/types.ts";

export interface LiveChallenge {
	readonly challenge: number;
	readonly device: number;
	readonly what: string;
	readonly done: number;
	/** 0: no fixed end. */
	readonly of: number;
	readonly perS: number;
	/** Null until opened. */
	readonly openings: number | null;
	readonly end: string | null;
}

export interface LiveStage {
	readonly name: string;
	readonly challenges: number;
}

export interface LiveProbe {
	readonly step: string;
	readonly devices: number | null;
	readonly rttUs: number | null;
	readonly stages: readonly LiveStage[];
	readonly challenges: readonly LiveChallenge[];
	readonly bytes: number | null;
	readonly verdict: string | null;
	readonly code: string | null;
	readonly isOver: boolean;
}

export const NOTHING_YET: LiveProbe = {
	step: "waiting",
	devices: null,
	rttUs: null,
	stages: [],
	challenges: [],
	bytes: null,
	verdict: null,
	code: null,
	isOver: false,
};

const whole = (value: unknown): number => (typeof value === "number" && Number.isSafeInteger(value) ? value : 0);
const said = (value: unknown): string => (typeof value === "string" ? value : "");

export function withEvent(probe: LiveProbe, event: Pick<NetworkEvent, "kind" | "detail">): LiveProbe {
	const detail = (typeof event.detail === "object" && event.detail !== null ? event.detail : {}) as Readonly<
		Record<string, unknown>
	>;
	if (event.kind === "probe.verdict")
		return {
			...probe,
			step: "over",
			isOver: true,
			verdict: said(detail.verdict) || null,
			code: said(detail.code) || null,
		};
	if (event.kind === "probe.abandoned") return { ...probe, step: "abandoned", isOver: true };
	if (event.kind !== "probe.progress") return probe;
	const step = said(detail.step);
	const next = { ...probe, step };
	if (step === "claim") return { ...next, devices: whole(detail.devices), rttUs: whole(detail.rttUs) };
	if (step === "stage")
		return { ...next, stages: [...probe.stages, { name: said(detail.name), challenges: whole(detail.challenges) }] };
	if (step === "checking") return { ...next, bytes: whole(detail.bytes) };
	if (step !== "root" && step !== "opened") return { ...next, step: said(detail.name) || step };
	const challenge = whole(detail.challenge);
	const before = probe.challenges.find((one) => one.challenge === challenge) ?? {
		challenge,
		device: 0,
		what: "",
		done: 0,
		of: 0,
		perS: 0,
		openings: null,
		end: null,
	};
	const now: LiveChallenge =
		step === "opened"
			? { ...before, openings: whole(detail.openings), end: said(detail.end) }
			: {
					...before,
					device: whole(detail.device),
					what: said(detail.what),
					done: whole(detail.done),
					of: whole(detail.of),
					perS: whole(detail.perS),
				};
	const others = probe.challenges.filter((one) => one.challenge !== challenge);
	return { ...next, challenges: [...others, now].sort((a, b) => a.challenge - b.challenge) };
}
