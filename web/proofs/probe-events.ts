// A probe's events folded into what a screen shows: its stages in order, and how far each challenge of them
// has come. Pure. A stream that begins anew tells things twice: folding an event again changes nothing.
import type { NetworkEvent } from "../../src/api/types.ts";

export interface LiveChallenge {
	readonly challenge: number;
	readonly stage: number;
	readonly device: number;
	readonly what: string;
	/** Empty for streams and copies. */
	readonly precision: string;
	readonly done: number;
	/** 0: no fixed end. */
	readonly of: number;
	/** 0: not known. */
	readonly perS: number;
	/** Places opened; null until then. */
	readonly openings: number | null;
	/** Of them found right by the verifier, so far. */
	readonly checked: number;
	readonly end: string | null;
}

interface LiveStage {
	readonly stage: number;
	readonly name: string;
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

type Detail = Readonly<Record<string, unknown>>;
const whole = (value: unknown): number => (typeof value === "number" && Number.isSafeInteger(value) ? value : 0);
const said = (value: unknown): string => (typeof value === "string" ? value : "");
const listed = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const detailOf = (value: unknown): Detail => (typeof value === "object" && value !== null ? (value as Detail) : {});

export function withEvent(probe: LiveProbe, event: Pick<NetworkEvent, "kind" | "detail">): LiveProbe {
	const detail = detailOf(event.detail);
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
	switch (step) {
		case "claim":
			return { ...next, devices: whole(detail.devices), rttUs: whole(detail.rttUs) };
		case "stage":
			return withStage(next, detail);
		case "checking":
			return { ...next, bytes: whole(detail.bytes) };
		case "root":
			return withChallenge(next, whole(detail.challenge), (before) => ({
				...before,
				device: whole(detail.device),
				what: said(detail.what),
				precision: said(detail.precision),
				done: whole(detail.done),
				of: whole(detail.of),
				perS: whole(detail.perS),
			}));
		case "opened":
			return withChallenge(next, whole(detail.challenge), (before) => ({
				...before,
				openings: whole(detail.openings),
				end: said(detail.end),
			}));
		case "checked":
			return listed(detail.checked).reduce<LiveProbe>((so, one) => {
				const [challenge, done, of] = listed(one).map(whole);
				if (challenge === undefined || done === undefined || of === undefined) return so;
				return withChallenge(so, challenge, (before) => ({ ...before, checked: done, openings: of }));
			}, next);
		default:
			return { ...next, step: said(detail.name) || step };
	}
}

function withStage(probe: LiveProbe, detail: Detail): LiveProbe {
	const stage = whole(detail.stage);
	const known = probe.stages.filter((one) => one.stage !== stage);
	const stages = [...known, { stage, name: said(detail.name) }].sort((a, b) => a.stage - b.stage);
	return listed(detail.asked)
		.map(detailOf)
		.reduce<LiveProbe>(
			(so, one) =>
				withChallenge(so, whole(one.challenge), (before) => ({
					...before,
					stage,
					device: whole(one.device),
					what: said(one.what),
					precision: said(one.precision),
					of: whole(one.of),
				})),
			{ ...probe, stages },
		);
}

function withChallenge(
	probe: LiveProbe,
	challenge: number,
	change: (before: LiveChallenge) => LiveChallenge,
): LiveProbe {
	const before = probe.challenges.find((one) => one.challenge === challenge) ?? {
		challenge,
		stage: probe.stages.at(-1)?.stage ?? 0,
		device: 0,
		what: "",
		precision: "",
		done: 0,
		of: 0,
		perS: 0,
		openings: null,
		checked: 0,
		end: null,
	};
	const others = probe.challenges.filter((one) => one.challenge !== challenge);
	return { ...probe, challenges: [...others, change(before)].sort((a, b) => a.challenge - b.challenge) };
}

/**
 * Where a verdict says that one opening is wrong: "challenges[3].opens[0].record[5]". Null: it says something
 * else.
 */
export function wrongOpening(where: string | null): { readonly challenge: number; readonly opening: number } | null {
	const found = /^challenges\[(\d{1,6})\]\.opens\[\d\]\.record\[(\d{1,6})\]/.exec(where ?? "");
	return found === null ? null : { challenge: Number(found[1]), opening: Number(found[2]) };
}
