// Whole probes of honest cards, as the plan asks them and as the rules judge them, without an engine: a
// modelled card answers in the time that its data sheet, a power cap, a neighbour and the network let
// expect. Nothing is computed, so nothing can be opened; every check that looks at times and figures is
// made, in verify.ts's order.
import type { Precision } from "../../../protocol/maths/precision.ts";
import { coveredBytes } from "../../../protocol/probe/challenge-shape.ts";
import type { ChallengeSpec, EvidenceBody, HostClaim } from "../../../protocol/probe/evidence.ts";
import type { Answered } from "../answers.ts";
import { checkFills } from "../checks/check-fills.ts";
import { checkIdentity, identitiesOf, identityFindings, judgeCards } from "../checks/check-identity.ts";
import { checkTimes } from "../checks/check-times.ts";
import { checkWork } from "../checks/check-work.ts";
import { figuresOf } from "../derive-figures.ts";
import { FAMILIES } from "../identify/families.ts";
import { card, type Profile } from "../identify/profile.ts";
import { PROFILES } from "../identify/profiles.ts";
import { type Conditions as CardConditions, createDraw, honestClaim, speedsOf } from "../identify/simulate.test-kit.ts";
import { claimOf } from "../plan/plan-host.test-kit.ts";
import { planProbe } from "../plan/plan-probe.ts";
import { type ChallengeSeen, opsOfRound, type Seen, type WarmUpSeen } from "../plan/probe-plan.ts";
import { checkNotRemade, checkOneMemory } from "./check-memory.ts";
import { countedFigures } from "./counted-figures.ts";

/** Slices of cards, and cards that the table does not list: their names are known to nobody. */
const UNLISTED: readonly Profile[] = [
	card("A100-SXM4-40GB MIG 1g.5gb", FAMILIES.ga100, 14, 1410, 5, 4864, 194, 57),
	card("H100 80GB HBM3 MIG 1g.10gb", FAMILIES.hopper, 16, 1980, 10, 9984, 419, 100),
	card("H100 80GB HBM3 MIG 3g.40gb", FAMILIES.hopper, 60, 1980, 40, 40448, 1676, 300),
	card("GeForce RTX 2050", FAMILIES.ampereGeforce, 16, 1477, 4, 4096, 112, 45),
	card("GeForce RTX 4050 Laptop GPU", FAMILIES.adaGeforce, 20, 2370, 6, 6141, 192, 115),
	card("RTX A500", FAMILIES.amperePro, 16, 1537, 4, 4096, 96, 60),
	card("RTX A1000", FAMILIES.amperePro, 18, 1462, 8, 8192, 192, 50),
	card("Orin (nvgpu)", FAMILIES.amperePro, 16, 1300, 61, 0, 205, 60),
	card("NVIDIA GB10", FAMILIES.blackwellPro, 48, 2500, 119, 0, 273, 140),
];
export const HONEST_CARDS: readonly Profile[] = [...PROFILES, ...UNLISTED];

export interface Conditions extends Pick<CardConditions, "cap" | "attention" | "bursts"> {
	readonly rttUs: number;
}

/** Full and half power, the card alone and in two time slices, near and far. */
export const CONDITIONS: Readonly<Record<string, Conditions>> = Object.fromEntries(
	[1, 0.5].flatMap((cap) =>
		[1, 0.5].flatMap((attention) =>
			[1000, 200_000].map((rttUs) => [
				`${100 * cap} % power, ${attention === 1 ? "alone" : "two time slices"}, ${rttUs / 1000} ms`,
				{ cap, attention, rttUs },
			]),
		),
	),
);

export interface SimulatedVerdict {
	/** What would make the verdict invalid. */
	readonly code: string | null;
	readonly state: string;
	readonly findings: readonly string[];
	readonly residentBytes: number | null;
	readonly bytesPerS: number | null;
}

/**
 * A hop over memory, and of what is done with the 1 KiB that it reads; H200: 0.61 µs. Nobody measured
 * others.
 */
const HOP_US = { memory: { low: 0.35, high: 0.7 }, clock: { low: 0.15, high: 0.35 } };
/** Launches, hashes and the engine's own work for one challenge. */
const START_US = 300;
/** One request in so many loses a packet, which is sent again after this time. */
const LOSS = { share: 0.02, us: 250_000 };

export function simulateProbe(profile: Profile, seed: number, conditions: Conditions): SimulatedVerdict {
	const draw = createDraw(seed);
	const claim = claimOf(honestClaim(profile));
	const answers = answersOf(claim, timesOf(profile, draw, conditions), conditions.rttUs);
	const finishedAtUs = answers.reduce((latest, { roots }) => Math.max(latest, roots.at(-1)!.atUs), 0);
	const body = { claim, figures: figuresOf(answers, claim), probe: { finishedAtUs } };
	return judge(answers, body as unknown as EvidenceBody);
}

function judge(answers: readonly Answered[], body: EvidenceBody): SimulatedVerdict {
	const counted = countedFigures(answers, body);
	const judged = judgeCards({ claim: body.claim, figures: counted.figures });
	const fault =
		checkWork(answers) ??
		checkTimes(answers, body) ??
		checkNotRemade(answers, body.claim) ??
		checkOneMemory(answers, body.claim) ??
		checkFills(answers, body.claim) ??
		checkIdentity(judged);
	const value = (wanted: string) => counted.figures.find(({ name }) => name === wanted)?.value ?? null;
	return {
		code: fault?.code ?? null,
		state: identitiesOf(judged)[0]!.state,
		findings: [...counted.findings, ...identityFindings(judged)].map(({ code }) => code),
		residentBytes: value("memory.resident"),
		bytesPerS: value("memory.bandwidth"),
	};
}

/** Seconds of work at each challenge, the network left out; and what the plan's warm-ups would show. */
interface Times {
	readonly secondsOf: (spec: ChallengeSpec, challenges: readonly ChallengeSeen[]) => number;
	readonly opsPerS: (precision: Precision) => number;
	readonly bytesPerS: number;
	readonly lostUs: () => number;
}

function timesOf(profile: Profile, draw: () => number, conditions: Conditions): Times {
	const { rates, bytesPerS } = speedsOf(profile, draw, conditions);
	const within = ({ low, high }: { readonly low: number; readonly high: number }) => low + (high - low) * draw();
	const { cap = 1, attention = 1 } = conditions;
	const hopUs = (within(HOP_US.memory) + within(HOP_US.clock) / cap) / attention;
	// Over a part fewer pages are used.
	const partUs = hopUs * within({ low: 0.7, high: 1 });
	const opsPerS = (precision: Precision) => rates.get(precision) ?? 1e12;
	return {
		opsPerS,
		bytesPerS,
		lostUs: () => (draw() < LOSS.share ? LOSS.us : 0),
		secondsOf: (spec, challenges) => {
			if (spec.kind === "chase") return (64 * spec.intervals * (spec.newest === 0 ? hopUs : partUs)) / 1e6;
			if (spec.kind === "gemm" || spec.kind === "fma")
				return (opsOfRound(spec) * spec.rounds) / opsPerS(spec.precision);
			if (spec.kind !== "stream") throw new Error(`not simulated: ${spec.kind}`);
			const gemm = challenges[spec.of]!.spec;
			if (gemm.kind !== "gemm") throw new Error("not over a product");
			return (spec.passes * coveredBytes(gemm, gemm.rounds, spec.newest)) / bytesPerS;
		},
	};
}

/** The default plan against this card: every challenge with the times of its roots. */
function answersOf(claim: HostClaim, times: Times, rttUs: number): Answered[] {
	const plan = planProbe({ quick: false, sustainMs: 0, samples: null });
	const steps: string[] = [];
	const warmUps: WarmUpSeen[] = [];
	const challenges: ChallengeSeen[] = [];
	const answers: Answered[] = [];
	let nowUs = 1000;
	for (let stage = 0; ; ) {
		const seen: Seen = { claim, rttUs, steps, warmUps, challenges, tooBig: [] };
		const step = plan(seen);
		if (step.act === "finish") return answers;
		steps.push(step.name);
		if (step.act === "warm-up")
			for (const run of step.runs) {
				if (run.kind === "stream" || run.kind === "copy") {
					warmUps.push({ run, opsPerS: 0, bytesPerS: times.bytesPerS, spanS: 1 });
					continue;
				}
				const opsPerS = times.opsPerS(run.precision);
				warmUps.push({ run, opsPerS, bytesPerS: 0, spanS: (opsOfRound(run) * (run.rounds - 1)) / opsPerS });
			}
		if (step.act !== "stage") continue;
		for (const spec of step.specs) {
			const answer = answerOf(
				answers.length,
				spec,
				stage,
				nowUs,
				times.secondsOf(spec, challenges),
				rttUs + times.lostUs(),
			);
			answers.push(answer);
			challenges.push({ spec, end: "complete", seconds: answer.ownUs / 1e6, roots: answer.roots.length });
			nowUs = answer.roots.at(-1)!.atUs + 1000;
		}
		stage++;
	}
}

function answerOf(
	index: number,
	spec: ChallengeSpec,
	stage: number,
	sentAtUs: number,
	workS: number,
	networkUs: number,
): Answered {
	const count = spec.kind === "stream" ? spec.passes : spec.kind === "gemm" || spec.kind === "fma" ? spec.rounds : 1;
	const spanUs = 1e6 * workS;
	const roots = Array.from({ length: count }, (_, i) => ({
		...{ index: i, root: ROOT },
		atUs: sentAtUs + Math.ceil(START_US + networkUs + (spanUs * (i + 1)) / count),
	}));
	const ownUs = roots.at(-1)!.atUs - sentAtUs;
	const record = { spec, stage, attempt: 0, sentAtUs, roots: 0, end: "complete" as const, opens: [] };
	return { index, where: `challenges[${index}]`, record, roots, opens: [], ownUs, workUs: ownUs };
}
const ROOT = new Uint8Array(32);
