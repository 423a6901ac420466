// Carries out the steps of a plan on one engine: warm-ups, and stages of challenges with their openings.
// Decides nothing about sizes (plan-probe.ts) and judges nothing (verify/hardware): whatever came back is
// recorded as it came. Order is what makes the proof: seeds from the secret, all roots stamped, and only then
// the places to open.
import type { Answer, OpeningRecord } from "../../engine/client/engine-answers.ts";
import { ERROR_CODE, type Place } from "../../engine/wire/frame-table.ts";
import { CHAINS, INTERVAL_HOPS } from "../../protocol/hash/chase.ts";
import { firstSeed, openSeed } from "../../protocol/probe/challenge-seed.ts";
import {
	fmaLeaves,
	gemmLeaves,
	isOverKept,
	keptLeafPlace,
	lanesPerLeaf,
	rootsAsked,
	streamGroups,
} from "../../protocol/probe/challenge-shape.ts";
import { type ChallengeSpec, type GemmSpec, MAX_READINGS, type OpenedWhat } from "../../protocol/probe/evidence.ts";
import type { AnsweredChallenge } from "../../protocol/probe/evidence-codec.ts";
import { chaseSamples, fmaSamples, gemmSamples, streamSamples } from "../../protocol/probe/samples.ts";
import { opsOfRound, type Step } from "../../verify/hardware/plan/probe-plan.ts";
import { beforeDeadline, openTraining, runTraining } from "./run-training.ts";
import { bytesOfPass, type CommittedGemm, type StageContext, sendRun } from "./stage-context.ts";

/** FRAMES.md: rounds 1 … 2²⁰. */
const MAX_ROUNDS = 2 ** 20;
/** READ is answered at once, whatever else runs; only a stuck link takes this long. */
const READ_DEADLINE_MS = 60_000;

type StageStep = Extract<Step, { act: "stage" }>;

/** `broken`: nothing more is asked. `too-big`: nothing was recorded, the plan may ask for less. */
export type StageEnd =
	| { readonly end: "done" | "broken" }
	| { readonly end: "too-big"; readonly specs: readonly ChallengeSpec[] };

export async function runStage(context: StageContext, step: StageStep, stage: number): Promise<StageEnd> {
	const first = context.answered.length;
	const attempt = context.dropped.filter((dropped) => dropped.stage === stage).length;
	context.onEvent({
		kind: "stage",
		stage,
		name: step.name,
		challenges: step.specs.map((spec, i) => ({ challenge: first + i, spec })),
	});
	const sentAtUs = context.clockUs();
	const running = step.specs.map((spec, i) => ask(context, step, { spec, attempt }, first + i));
	const stopReading = step.readEveryMs === undefined ? () => {} : keepReading(context, step.specs, step.readEveryMs);
	const answers = await Promise.all(running);
	stopReading();
	const tooBig = step.specs.filter((_, i) => answers[i]?.engineError?.code === ERROR_CODE.no_memory);
	if (tooBig.length > 0 && step.mayShrink) {
		// Before any opening: nothing about the draw is known yet, so asking again gives nobody a second chance
		// at it. The attempt is in the seeds: no answer of this try is worth anything in the next.
		context.onEvent({ kind: "too-big", name: step.name });
		const refused = tooBig.map(({ device }) => device);
		const endedAtUs = context.clockUs();
		context.dropped.push({ stage, attempt, sentAtUs, endedAtUs, specs: [...step.specs], refused });
		await Promise.all(step.specs.map((_, i) => (answers[i]?.end === "refused" ? null : release(context, first + i))));
		return { end: "too-big", specs: tooBig };
	}
	answers.forEach((answer, i) => {
		const { sentAtUs, roots, end, detail } = answer;
		context.answered.push({ spec: step.specs[i]!, stage, attempt, sentAtUs, roots, end, opens: [] });
		context.onEvent({ kind: "answered", challenge: first + i, end, detail });
		if (end === "complete" || end === "stopped") context.held.add(first + i);
	});
	// Silence, a cut and garbage end the whole link: what cannot be sent must not look like a draw that was
	// left unanswered.
	const linkIsUp = answers.every(({ end }) => end !== "silent" && end !== "cut" && end !== "garbage");
	if (linkIsUp) {
		const nonce = await askWord(context, first);
		if (nonce === "none") return { end: "broken" };
		await Promise.all(answers.map((_, i) => openChallenge(context, first + i, nonce)));
	}
	const { hold } = step;
	if (hold !== true) await releaseAll(context, (index, device) => index >= first && !hold?.includes(device));
	const ended = context.answered.slice(first);
	const well = ended.every((c) => endedWell(c) && c.opens.every((open) => open.end === "complete"));
	return { end: well ? "done" : "broken" };
}

/** Challenges of this stage whose commitment is whole: those that will be opened. */
function committedOf(context: StageContext, from: number) {
	return context.answered.slice(from).flatMap(({ spec, attempt, sentAtUs, roots, end }, i) => {
		if (!endedWell({ spec, end }) || roots.length === 0 || roots.some(({ index }, at) => index !== at)) return [];
		const asked = rootsAsked(spec);
		if (asked !== 0 && roots.length !== asked) return [];
		const challenge = from + i;
		const seed = firstSeed(context.secret, challenge, context.beacon, spec, attempt);
		const tookUs = roots.at(-1)!.atUs - sentAtUs;
		return [{ challenge, spec, seed, roots: roots.map(({ root }) => root) as readonly Uint8Array[], tookUs }];
	});
}

/**
 * The provider's nonce for this stage, null where it gives none at all; "none" when it owed one: then nothing
 * is opened.
 */
async function askWord(context: StageContext, first: number): Promise<Uint8Array | null | "none"> {
	const { word, onCommitted } = context;
	const committed = committedOf(context, first);
	if (committed.length === 0) return null;
	const isGemm = (one: (typeof committed)[number]): one is (typeof committed)[number] & CommittedGemm =>
		one.spec.kind === "gemm";
	const gemms = onCommitted === undefined ? [] : committed.filter(isGemm);
	if (word === null) {
		onCommitted?.(gemms, null);
		return null;
	}
	const runs = committed.map(({ seed, roots, tookUs }) => ({ first: seed, roots, tookUs }));
	const { nonce, receipts } = await word.ask(
		runs,
		gemms.map(({ challenge }) => challenge),
	);
	onCommitted?.(gemms, receipts);
	return nonce ?? "none";
}

/** Asks every device of a stage again and again, each only when it has answered the time before. */
function keepReading(context: StageContext, specs: readonly ChallengeSpec[], everyMs: number): () => void {
	const waiting = new Set<number>();
	const read = async (device: number) => {
		if (waiting.has(device)) return;
		waiting.add(device);
		const reading = await context.client.read(device, { deadlineMs: READ_DEADLINE_MS });
		waiting.delete(device);
		if (reading === null || context.readings.length >= MAX_READINGS) return;
		context.readings.push(reading);
		context.onEvent({ kind: "reading", reading });
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

async function ask(
	context: StageContext,
	step: StageStep,
	{ spec, attempt }: Pick<AnsweredChallenge, "spec" | "attempt">,
	challenge: number,
): Promise<Answer> {
	const seed = firstSeed(context.secret, challenge, context.beacon, spec, attempt);
	const stopper = step.stopAfterMs === undefined ? null : new AbortController();
	const of = rootsAsked(spec);
	const perRound = workOfRound(context, spec);
	let sentAtUs = context.clockUs();
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
		deadlineMs: context.deadlines.answerMs ?? step.deadlineMs,
		onRoot: (root: { readonly atUs: number }) => {
			done += 1;
			const elapsedUs = Math.max(1, root.atUs - sentAtUs);
			const perS = (1e6 * perRound * done) / elapsedUs;
			context.onEvent({ kind: "root", challenge, spec, done, of, perS, elapsedMs: elapsedUs / 1000 });
			stopIfDue();
		},
		...(stopper && { stop: stopper.signal }),
	};
	try {
		if (spec.kind === "train") {
			const run = {
				clockUs: context.clockUs,
				// Before it come the program and its tables.
				onSeed: (atUs: number) => {
					sentAtUs = atUs;
				},
				onRoot: options.onRoot,
			};
			const hangUp = () => context.client.close();
			const { answer, held } = await beforeDeadline(options.deadlineMs, hangUp, () =>
				runTraining((work) => context.client.openWork(work), spec, seed, run),
			);
			if (held !== null) context.trained.set(challenge, held);
			return answer;
		}
		const isSustained = "rounds" in spec && spec.rounds === 0;
		const run = isSustained ? { ...spec, rounds: roundsUntilStopped(step.stopAfterMs ?? 0) } : spec;
		return await sendRun(context.client, run, challenge + 1, seed, options);
	} finally {
		if (timer) clearTimeout(timer);
	}
}

/** Operations of a round, bytes of a pass: only for what is told while it runs. */
function workOfRound(context: StageContext, spec: ChallengeSpec): number {
	if (spec.kind === "chase") return CHAINS * INTERVAL_HOPS * spec.intervals;
	if (spec.kind === "train") return spec.batch * spec.context;
	return isOverKept(spec) ? bytesOfPass(context, spec) : opsOfRound(spec);
}

interface OpenRound {
	readonly what: Exclude<OpenedWhat, "trace">;
	readonly places: readonly Place[];
}

/**
 * What to open, drawn from the secret and the commitment; null when the commitment is not whole (verify will
 * say what is wrong with it, and an engine that did not commit is shown no places).
 */
function drawOpenings(context: StageContext, challenge: number, nonce: Uint8Array | null): readonly OpenRound[] | null {
	const { spec, roots, ...rest } = context.answered[challenge]!;
	const last = roots.at(-1);
	if (!last || !endedWell({ spec, ...rest }) || roots.some(({ index }, i) => index !== i)) return null;
	const seed = openSeed(context.secret, challenge, last.root, nonce);
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
		const of = context.answered[spec.of];
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

async function openChallenge(context: StageContext, challenge: number, nonce: Uint8Array | null): Promise<void> {
	const { spec } = context.answered[challenge]!;
	const add = (open: AnsweredChallenge["opens"][number]): void => {
		const before = context.answered[challenge]!;
		context.answered[challenge] = { ...before, opens: [...before.opens, open] };
		context.onEvent({ kind: "opened", challenge, openings: open.records.length, end: open.end });
	};
	const trained = context.trained.get(challenge);
	if (spec.kind === "train" && trained !== undefined) {
		const last = context.answered[challenge]!.roots.at(-1)!.root;
		const seed = openSeed(context.secret, challenge, last, nonce);
		const hangUp = () => context.client.close();
		await beforeDeadline(context.deadlines.openMs, hangUp, () =>
			openTraining(trained, spec, seed, context.clockUs, add),
		);
		context.trained.delete(challenge);
		return;
	}
	const draws = drawOpenings(context, challenge, nonce);
	if (!draws) return;
	const session = (isOverKept(spec) ? spec.of : challenge) + 1;
	for (const { what, places } of draws) {
		const wanted = spec.kind === "copy" && what === "digests" ? "copied-digests" : what;
		const answer = await context.client.open(
			{ session, what: wanted, places },
			{ deadlineMs: context.deadlines.openMs },
		);
		const { sentAtUs, receivedAtUs, end, openings } = answer;
		add({ what, sentAtUs, receivedAtUs, end, records: openings.map(toRecord) });
		// The draw is known to the engine now: whatever went wrong, it is not asked a second time.
		if (end !== "complete") return;
	}
}

function toRecord({ round, index, leaf, path }: OpeningRecord) {
	const nodes = Array.from({ length: path.length / 32 }, (_, i) => path.subarray(32 * i, 32 * (i + 1)));
	return { round, index, leaf, path: nodes };
}

async function release(context: StageContext, challenge: number): Promise<void> {
	context.held.delete(challenge);
	await context.client.release(challenge + 1, { deadlineMs: context.deadlines.releaseMs });
}

/** Frees what the engine still holds for these challenges; by default for all. */
export async function releaseAll(
	context: StageContext,
	isDone: (challenge: number, device: number) => boolean = () => true,
): Promise<void> {
	for (const challenge of [...context.held]) {
		const spec = context.answered[challenge]?.spec;
		// A stream or copy has no session of its own: it runs over its gemm's.
		if (spec !== undefined && isOverKept(spec)) context.held.delete(challenge);
		else if (spec !== undefined && isDone(challenge, spec.device)) await release(context, challenge);
	}
}
