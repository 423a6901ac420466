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
	/** Places opened, in the largest of its openings; null until then. */
	readonly openings: number | null;
	/** Spot checks as the verifier counts them: one may need many places. Null until it has begun with them. */
	readonly checks: number | null;
	/** Number of spot checks found right so far. */
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
				// A chase is opened twice. The larger one, so that an event that comes again changes nothing.
				openings: Math.max(before.openings ?? 0, whole(detail.openings)),
				end: said(detail.end),
			}));
		case "checked":
			return listed(detail.checked).reduce<LiveProbe>((so, one) => {
				const [challenge, done, of] = listed(one).map(whole);
				if (challenge === undefined || done === undefined || of === undefined) return so;
				return withChallenge(so, challenge, (before) => ({
					...{ ...before, checked: done, checks: of },
					openings: before.openings ?? of,
				}));
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
		checks: null,
		checked: 0,
		end: null,
	};
	const others = probe.challenges.filter((one) => one.challenge !== challenge);
	return { ...probe, challenges: [...others, change(before)].sort((a, b) => a.challenge - b.challenge) };
}

/** A challenge that a verdict calls wrong, and which of its spot checks; null: the challenge as a whole. */
export interface WrongCheck {
	readonly challenge: number;
	readonly check: number | null;
}

/**
 * What an invalid verdict says is wrong: "challenges[3].opens[0].record[5]". Null: nothing of a challenge.
 * `challenges` tells how many opened places belong to one spot check.
 */
export function wrongCheck(
	verdict: { readonly status: string | null; readonly where?: string | null } | null,
	challenges: readonly Pick<LiveChallenge, "challenge" | "what">[],
): WrongCheck | null {
	if (verdict?.status !== "invalid") return null;
	const found = /^challenges\[(\d{1,6})\](?:\.opens\[\d\]\.(interval|record)\[(\d{1,6})\])?/.exec(verdict.where ?? "");
	if (found === null) return null;
	const challenge = Number(found[1]);
	const what = challenges.find((one) => one.challenge === challenge)?.what;
	const at = found[3] === undefined ? null : Number(found[3]);
	if (at === null || found[2] === "interval") return { challenge, check: at };
	// Two labels a check of a chase; how many leaves a check of a training run needs is not known here.
	return { challenge, check: what === "chase" ? Math.floor(at / 2) : what === "train" ? null : at };
}

export type ChallengeState = "asked" | "running" | "opened" | "checked" | "wrong";

/**
 * How far a challenge has come. A valid verdict says that every opened place was checked, also where the
 * events of it did not come; any other verdict says it of nothing.
 */
export function challengeState(
	{ challenge, openings, checks, checked, done }: Omit<LiveChallenge, "end">,
	verdict: string | null,
	wrong: WrongCheck | null,
): ChallengeState {
	if (wrong?.challenge === challenge) return "wrong";
	if (openings === null) return done > 0 ? "running" : "asked";
	return verdict === "valid" || (checks !== null && checked >= checks) ? "checked" : "opened";
}
