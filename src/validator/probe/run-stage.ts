// Carries out the steps of a plan on one engine: warm-ups, and stages of challenges with their openings.
// Decides nothing about sizes (plan-probe.ts) and judges nothing (verify/hardware): whatever came back is
// recorded as it came. Order is what makes the proof: seeds from the secret, all roots stamped, and only then
// the places to open.
import type { Answer } from "../../engine/client/engine-answers.ts";
import { ERROR_CODE, type Place } from "../../engine/wire/frame-table.ts";
import { CHAINS, INTERVAL_HOPS } from "../../protocol/hash/chase.ts";
import {
	fmaLeaves,
	gemmLeaves,
	isOverKept,
	keptLeafPlace,
	lanesPerLeaf,
	rootsAsked,
	streamGroups,
} from "../../protocol/probe/challenge-shape.ts";
import {
	type ChallengeSpec,
	type GemmSpec,
	MAX_READINGS,
	type OpenedWhat,
	type Reading,
} from "../../protocol/probe/evidence.ts";
import type { AnsweredChallenge } from "../../protocol/probe/evidence-codec.ts";
import { chaseSamples, fmaSamples, gemmSamples, streamSamples } from "../../protocol/probe/samples.ts";
import { opsOfRound, type Step } from "../../verify/hardware/plan/probe-plan.ts";
import type { Opening, ProbeEngine } from "./probe-engine.ts";
import type { ProbeEvent } from "./probe-event.ts";
import type { CommittedRun } from "./provider-word.ts";
import { bytesOfPass, type Recorded } from "./recorded.ts";

/** FRAMES.md: rounds 1 … 2²⁰. */
const MAX_ROUNDS = 2 ** 20;
type StageStep = Extract<Step, { act: "stage" }>;

/** `broken`: nothing more is asked. `too-big`: nothing was recorded, the plan may ask for less. */
export type StageEnd =
	| { readonly end: "done" | "broken" }
	| { readonly end: "too-big"; readonly specs: readonly ChallengeSpec[] };

/** Of one probe, from its secret and beacon. */
export interface ProbeSeeds {
	/** What a challenge begins with. */
	first(challenge: number, spec: ChallengeSpec, attempt: number): Uint8Array;
	/** What its places to open are drawn from. */
	open(challenge: number, lastRoot: Uint8Array, nonce: Uint8Array | null): Uint8Array;
}

interface StageDeps {
	readonly engine: ProbeEngine;
	readonly seeds: ProbeSeeds;
	readonly recorded: Recorded;
	readonly clockUs: () => number;
	/** The host's nonce for what is committed to; null where it gives none, "none" when it owed one. */
	readonly askWord: (committed: readonly CommittedRun[]) => Promise<Uint8Array | null | "none">;
	readonly onEvent: (event: ProbeEvent) => void;
}

export async function runStage(
	step: StageStep,
	stage: number,
	{ engine, seeds, recorded, clockUs, askWord, onEvent }: StageDeps,
): Promise<StageEnd> {
	const { answered, readings, dropped } = recorded;
	const { specs } = step;
	const first = answered.length;
	const attempt = dropped.filter((one) => one.stage === stage).length;
	const seedOf = (challenge: number, spec: ChallengeSpec) => seeds.first(challenge, spec, attempt);
	const challenges = specs.map((spec, i) => ({ challenge: first + i, spec }));
	onEvent({ kind: "stage", stage, name: step.name, challenges });
	const sentAtUs = clockUs();
	const running = challenges.map(({ challenge, spec }) => {
		const perRound = workOfRound(answered, spec);
		return ask(engine, step, spec, challenge, seedOf(challenge, spec), (done, elapsedUs) => {
			const perS = (1e6 * perRound * done) / elapsedUs;
			onEvent({ kind: "root", challenge, spec, done, of: rootsAsked(spec), perS, elapsedMs: elapsedUs / 1000 });
		});
	});
	const keep = (reading: Reading) => {
		if (readings.length >= MAX_READINGS) return;
		readings.push(reading);
		onEvent({ kind: "reading", reading });
	};
	const stopReading = step.readEveryMs === undefined ? () => {} : keepReading(engine, specs, step.readEveryMs, keep);
	const answers = await Promise.all(running);
	stopReading();
	const tooBig = specs.filter((_, i) => answers[i]?.engineError?.code === ERROR_CODE.no_memory);
	if (tooBig.length > 0 && step.mayShrink) {
		// Before any opening: nothing about the draw is known yet, so asking again gives nobody a second chance
		// at it. The attempt is in the seeds: no answer of this try is worth anything in the next.
		onEvent({ kind: "too-big", name: step.name });
		const refused = tooBig.map(({ device }) => device);
		dropped.push({ stage, attempt, sentAtUs, endedAtUs: clockUs(), specs: [...specs], refused });
		await Promise.all(answers.map(({ end }, i) => (end === "refused" ? null : engine.release(first + i + 1))));
		return { end: "too-big", specs: tooBig };
	}
	answers.forEach((answer, i) => {
		const { sentAtUs, roots, end, detail } = answer;
		answered.push({ spec: specs[i]!, stage, attempt, sentAtUs, roots, end, opens: [] });
		onEvent({ kind: "answered", challenge: first + i, end, detail });
		if (end === "complete" || end === "stopped") engine.hold(first + i, specs[i]!);
	});
	// Silence, a cut and garbage end the whole link: what cannot be sent must not look like a draw that was
	// left unanswered.
	const linkIsUp = answers.every(({ end }) => end !== "silent" && end !== "cut" && end !== "garbage");
	if (linkIsUp) {
		const nonce = await askWord(committedOf(answered, first, seedOf));
		if (nonce === "none") return { end: "broken" };
		const open = ({ challenge }: { readonly challenge: number }) =>
			openChallenge(
				engine,
				answered,
				challenge,
				(lastRoot) => seeds.open(challenge, lastRoot, nonce),
				(opening) => {
					const before = answered[challenge]!;
					answered[challenge] = { ...before, opens: [...before.opens, opening] };
					onEvent({ kind: "opened", challenge, openings: opening.records.length, end: opening.end });
				},
			);
		await Promise.all(challenges.map(open));
	}
	const { hold } = step;
	if (hold !== true) await engine.releaseAll((challenge, device) => challenge >= first && !hold?.includes(device));
	const ended = answered.slice(first);
	const well = ended.every((one) => endedWell(one) && one.opens.every((open) => open.end === "complete"));
	return { end: well ? "done" : "broken" };
}

/** Challenges from `first` on whose commitment is whole: those that will be opened. */
function committedOf(
	answered: readonly AnsweredChallenge[],
	first: number,
	seedOf: (challenge: number, spec: ChallengeSpec) => Uint8Array,
): CommittedRun[] {
	return answered.slice(first).flatMap(({ spec, sentAtUs, roots, end }, i) => {
		if (!endedWell({ spec, end }) || roots.length === 0 || roots.some(({ index }, at) => index !== at)) return [];
		const asked = rootsAsked(spec);
		if (asked !== 0 && roots.length !== asked) return [];
		const tookUs = roots.at(-1)!.atUs - sentAtUs;
		const seed = seedOf(first + i, spec);
		return [{ challenge: first + i, spec, seed, roots: roots.map(({ root }) => root), tookUs }];
	});
}

/** Asks every device of a stage again and again, each only when it has answered the time before. */
function keepReading(
	engine: ProbeEngine,
	specs: readonly ChallengeSpec[],
	everyMs: number,
	keep: (reading: Reading) => void,
): () => void {
	const waiting = new Set<number>();
	const read = async (device: number) => {
		if (waiting.has(device)) return;
		waiting.add(device);
		const reading = await engine.read(device);
		waiting.delete(device);
		if (reading !== null) keep(reading);
	};
	const readAll = () => {
		for (const { device } of specs) void read(device);
	};
	readAll();
	const timer = setInterval(readAll, everyMs);
	return () => clearInterval(timer);
}

function endedWell(challenge: Pick<AnsweredChallenge, "spec" | "end">): boolean {
	const sustained = challenge.spec.kind === "gemm" && challenge.spec.rounds === 0;
	return challenge.end === "complete" || (sustained && challenge.end === "stopped");
}

/**
 * What "until stopped" asks for: 100 rounds a second, where the plan expects 5 to 20. Not simply the most
 * that can be asked for: every root that comes is kept, and a hostile engine may send all of them at once.
 */
function roundsUntilStopped(stopAfterMs: number): number {
	return Math.min(MAX_ROUNDS, 1000 + Math.ceil(stopAfterMs / 10));
}

/** One challenge until its last root; `onRoot` is told how many there are, and after what time. */
async function ask(
	engine: ProbeEngine,
	step: StageStep,
	spec: ChallengeSpec,
	challenge: number,
	seed: Uint8Array,
	onRoot: (done: number, elapsedUs: number) => void,
): Promise<Answer> {
	const stopper = step.stopAfterMs === undefined ? null : new AbortController();
	let done = 0;
	// A run stopped before its first root has committed to nothing; a slow device gets until the deadline for
	// that one.
	let timeIsUp = false;
	const stopIfDue = () => timeIsUp && done > 0 && stopper?.abort();
	const timer =
		stopper &&
		setTimeout(() => {
			timeIsUp = true;
			stopIfDue();
		}, step.stopAfterMs);
	const options = {
		deadlineMs: step.deadlineMs,
		onRoot: (elapsedUs: number) => {
			done += 1;
			onRoot(done, elapsedUs);
			stopIfDue();
		},
		...(stopper && { stop: stopper.signal }),
	};
	const isSustained = spec.kind !== "train" && "rounds" in spec && spec.rounds === 0;
	const run = isSustained ? { ...spec, rounds: roundsUntilStopped(step.stopAfterMs ?? 0) } : spec;
	try {
		return await engine.challenge(challenge, run, seed, options);
	} finally {
		if (timer) clearTimeout(timer);
	}
}

/** Operations of a round, bytes of a pass: only for what is told while it runs. */
function workOfRound(answered: readonly AnsweredChallenge[], spec: ChallengeSpec): number {
	if (spec.kind === "chase") return CHAINS * INTERVAL_HOPS * spec.intervals;
	if (spec.kind === "train") return spec.batch * spec.context;
	return isOverKept(spec) ? bytesOfPass(answered, spec) : opsOfRound(spec);
}

interface OpenRound {
	readonly what: Exclude<OpenedWhat, "trace">;
	readonly places: readonly Place[];
}

/**
 * What to open, drawn from the secret and the commitment; null when the commitment is not whole (verify will
 * say what is wrong with it, and an engine that did not commit is shown no places).
 */
function drawOpenings(
	answered: readonly AnsweredChallenge[],
	{ spec, roots, end }: AnsweredChallenge,
	seed: Uint8Array,
): readonly OpenRound[] | null {
	if (!endedWell({ spec, end }) || roots.some(({ index }, i) => index !== i)) return null;
	const asLeaf = ({ round, leaf }: { round: number; leaf: number }): Place => ({ round, index: leaf });
	if (spec.kind === "chase") {
		const samples = chaseSamples(seed, spec.intervals, spec.samples);
		const labels = samples.flatMap(({ interval }) => [interval - 1, interval].map((index) => ({ round: 0, index })));
		const hops = samples.map(({ interval, chain }) => ({ round: interval, index: chain }));
		return [
			{ what: "labels", places: labels },
			{ what: "hops", places: hops },
		];
	}
	if (isOverKept(spec)) {
		const of = answered[spec.of];
		if (roots.length !== rootsAsked(spec) || of?.spec.kind !== "gemm") return null;
		const gemm: GemmSpec = of.spec;
		const rounds = of.roots.length;
		const samples = streamSamples(seed, roots.length, streamGroups(gemm, rounds, spec.newest), spec.samples);
		const below = samples.map(({ keptLeaf }) => keptLeafPlace(gemm, rounds, spec.newest, keptLeaf));
		return [
			{ what: "digests", places: samples.map(({ pass, group }) => ({ round: pass, index: group })) },
			{ what: "leaves", places: below.map(asLeaf) },
		];
	}
	if (spec.kind === "train" || (spec.rounds !== 0 && roots.length !== spec.rounds)) return null;
	const samples =
		spec.kind === "gemm"
			? gemmSamples(seed, roots.length, gemmLeaves(spec), spec.samples)
			: fmaSamples(seed, roots.length, fmaLeaves(spec), lanesPerLeaf(spec.precision), spec.samples);
	return [{ what: "leaves", places: samples.map(asLeaf) }];
}

async function openChallenge(
	engine: ProbeEngine,
	answered: readonly AnsweredChallenge[],
	challenge: number,
	seedOf: (lastRoot: Uint8Array) => Uint8Array,
	record: (opening: Opening) => void,
): Promise<void> {
	const ended = answered[challenge]!;
	const last = ended.roots.at(-1);
	if (last === undefined) return;
	const { spec } = ended;
	const seed = seedOf(last.root);
	if (spec.kind === "train") return engine.openTraining(challenge, spec, seed, record);
	for (const { what, places } of drawOpenings(answered, ended, seed) ?? []) {
		const opening = await engine.open(challenge, spec, what, places);
		record(opening);
		// The draw is known to the engine now: whatever went wrong, it is not asked a second time.
		if (opening.end !== "complete") return;
	}
}
