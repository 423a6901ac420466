// One probe of one host: link → claim → the plan's stages → evidence → verdict. The wiring only: what to ask
// is decided in plan-probe.ts, asked in run-stage.ts, judged in verify/hardware. Page:
// docs/hardware-proof.md.
//
// The verdict is always what verify says about the very bytes that are handed out, so nobody who holds the
// file can see less than the probe saw. Only before a claim came is there nothing to verify: then the verdict
// is inconclusive with the link's code.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { EngineClient } from "../../engine/client/create-engine-client.ts";
import { createEngineClient } from "../../engine/client/create-engine-client.ts";
import type { Link } from "../../engine/links/link.ts";
import { orAbort } from "../../platform/abortable.ts";
import { nodeSignatures } from "../../platform/node-signatures.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { type Beacon, firstSeed, openSeed } from "../../protocol/probe/challenge-seed.ts";
import { claimHash } from "../../protocol/probe/countersign.ts";
import type { ChallengeSpec, EvidenceBody, HostClaim } from "../../protocol/probe/evidence.ts";
import { type AnsweredChallenge, encodeEvidence, packChallenges } from "../../protocol/probe/evidence-codec.ts";
import type { Signer } from "../../protocol/probe/signer.ts";
import type { Verdict } from "../../protocol/probe/verdict.ts";
import type { CollateralItem } from "../../verify/attestation/collateral/bundle.ts";
import { deriveFigures } from "../../verify/hardware/derive-figures.ts";
import { planProbe } from "../../verify/hardware/plan/plan-probe.ts";
import type { Plan, Seen, Step, WarmUpSeen } from "../../verify/hardware/plan/probe-plan.ts";
import { type Expectations, verifyEvidence } from "../../verify/hardware/verify.ts";
import { type AttestRounds, createAttestRounds } from "./attest-rounds.ts";
import { ProbeEngine } from "./probe-engine.ts";
import type { ProbeEvent } from "./probe-event.ts";
import { askWord, createProviderWord, type OnCommitted } from "./provider-word.ts";
import { bytesOfPass, type Recorded } from "./recorded.ts";
import { type ProbeSeeds, runStage, type StageEnd } from "./run-stage.ts";
import { runWarmUps } from "./run-warm-ups.ts";

const DEADLINES = {
	readyMs: 20_000,
	/** The first HELLO wakes every card and driver. */
	helloMs: 60_000,
	pingMs: 10_000,
	/** Rounds that are not kept are computed again to be opened. */
	openMs: 120_000,
	releaseMs: 30_000,
	/** Instead of what the plan allows each answer; null leaves it to the plan. */
	answerMs: null as number | null,
};
export type ProbeDeadlines = Readonly<typeof DEADLINES>;

/** Echoes before the first challenge. The first finds everything cold, and does not move the median. */
const ECHOES = 9;

export interface ProbeOptions {
	readonly openLink: () => Promise<Link>;
	/** As the user named it; goes into the evidence. */
	readonly target: string;
	readonly quick: boolean;
	readonly sustainMs: number;
	/** A small GPT is trained, too. */
	readonly training?: boolean;
	readonly samples?: number;
	/**
	 * Only these devices, by their numbers in the claim. One that is not there, or that cannot be asked alone,
	 * throws DEVICE_MISSING.
	 */
	readonly devices?: readonly number[];
	readonly signer: Signer;
	/** Monotonic microseconds. */
	readonly clockUs: () => number;
	/** Wall clock, milliseconds since 1970. */
	readonly nowMs: () => number;
	readonly randomBytes: (size: number) => Uint8Array;
	readonly beacon?: NonNullable<Beacon>;
	readonly onEvent?: (event: ProbeEvent) => void;
	/** Aborting closes the link; the verdict is then inconclusive, ABORTED. */
	readonly signal?: AbortSignal;
	readonly deadlines?: Partial<ProbeDeadlines>;
	/** Another plan than the default one. */
	readonly plan?: Plan;
	/** 32 hex digits, when whoever keeps books has named the probe already; default: drawn here. */
	readonly probeId?: string;
	/** Judges the file elsewhere (in a thread). It must be verifyEvidence: nothing else may give verdicts. */
	readonly verify?: (evidence: Uint8Array, expect: Expectations) => Promise<Verdict>;
	/** Awaited before each stage, outside every measured time: lets several probes begin one together. */
	readonly beforeStage?: (name: string) => Promise<void>;
	/** Told between a stage's roots and its openings. */
	readonly onCommitted?: OnCommitted;
	/** Vendors' files that signed reports may be judged by; the ones that fit go into the evidence. */
	readonly collateral?: readonly CollateralItem[];
}

export interface ProbeResult {
	readonly verdict: Verdict;
	/** The signed file; null when nothing could be recorded, or the probe was aborted. */
	readonly evidence: Uint8Array | null;
	readonly claim: HostClaim | null;
}

export async function runProbe(options: ProbeOptions): Promise<ProbeResult> {
	const { signal, signer, randomBytes, beacon = null, onCommitted, target, onEvent = () => {} } = options;
	const { quick, sustainMs, training = false, samples = null, devices = null } = options;
	const plan = options.plan ?? planProbe({ quick, sustainMs, training, samples, devices });
	const probeId = options.probeId ?? bytesToHex(randomBytes(16));
	const zeroUs = options.clockUs();
	const startedAtMs = Math.floor(options.nowMs());
	const clockUs = () => Math.floor(options.clockUs() - zeroUs);
	const deadlines = { ...DEADLINES, ...options.deadlines };
	const finish = (verdict: Verdict, evidence: Uint8Array | null, claim: HostClaim | null): ProbeResult => {
		onEvent({ kind: "verdict", verdict });
		return { verdict, evidence, claim };
	};

	let link: Link | null = null;
	let client: EngineClient | null = null;
	let claim: HostClaim | null = null;
	const abort = () => void (client ?? link)?.close();
	signal?.addEventListener("abort", abort, { once: true });
	try {
		link = await unlessAborted(options.openLink, signal);
		const { readyMs: readyDeadlineMs, helloMs, pingMs } = deadlines;
		client = await createEngineClient(link, { clockUs, readyDeadlineMs, randomBytes });
		claim = await client.hello({ deadlineMs: helloMs });
		requireDevices(claim, devices ?? [], target);
		const rttUs = await echoes(client, pingMs);
		onEvent({ kind: "claim", claim, rttUs: median(rttUs) });

		const secret = randomBytes(32);
		const seeds: ProbeSeeds = {
			first: (challenge, spec, attempt) => firstSeed(secret, challenge, beacon, spec, attempt),
			open: (challenge, lastRoot, nonce) => openSeed(secret, challenge, lastRoot, nonce),
		};
		const recorded: Recorded = { answered: [], readings: [], dropped: [] };
		const { answered, readings, dropped } = recorded;
		const { countersigner } = link;
		const word = countersigner
			? createProviderWord(countersigner, { probeId, verifier: signer.key, claim: claimHash(claim) })
			: null;
		const probe = { id: probeId, startedAtMs, finishedAtUs: 0, target, verifier: signer.key };
		const of = { probe, countersign: word?.countersign ?? null };
		const attest = createAttestRounds({ client, of, collateral: options.collateral ?? [], verify: nodeSignatures });
		const engine = new ProbeEngine(client, clockUs, deadlines);
		await carryOut(plan, claim, median(rttUs), answered, signal, {
			release: (isTheirs) => engine.releaseAll((_, device) => isTheirs(device)),
			async warmUp({ name, runs }) {
				onEvent({ kind: "warm-up", name });
				const newSeed = () => randomBytes(32);
				return runWarmUps(engine, runs, newSeed, (over) => bytesOfPass(answered, over));
			},
			async stage(step, stage) {
				await options.beforeStage?.(step.name);
				// A run that lasts has a round at both ends.
				if (step.stopAfterMs !== undefined) await attest.ask(answered);
				const ask = (committed: Parameters<typeof askWord>[2]) => askWord(word, onCommitted, committed);
				return runStage(step, stage, { engine, seeds, recorded, clockUs, askWord: ask, onEvent });
			},
		});
		signal?.throwIfAborted();
		await attest.ask(answered);
		signal?.throwIfAborted();
		const finishedAtUs = clockUs();
		// An engine takes a while to end and a card's memory to be given back: meanwhile the file is made and
		// judged, which would keep the word from leaving.
		void client.close();
		await nextTurn();

		const facts = { beacon, secret: bytesToHex(secret), claim, link: linkFacts(link, rttUs), readings, dropped };
		const made = { ...of, probe: { ...of.probe, finishedAtUs }, ...facts };
		const evidence = evidenceOf(made, answered, attest, signer);
		onEvent({ kind: "checking", bytes: evidence.length });
		const expect = { signers: [signer.key], probeId };
		const verdict = options.verify
			? await options.verify(evidence, expect)
			: verifyEvidence(evidence, expect, undefined, undefined, nodeSignatures);
		return finish(verdict, evidence, claim);
	} catch (error) {
		if (signal?.aborted) {
			const detail = "the probe was stopped before its end";
			return finish({ status: "inconclusive", code: "ABORTED", where: "probe", detail }, null, claim);
		}
		// The link's code: the host could not be reached, or its engine broke off before the first challenge.
		if (!(error instanceof AssayError) || error.code === "DEVICE_MISSING") throw error;
		const detail = error.hint ? `${error.message}. ${error.hint}` : error.message;
		return finish({ status: "inconclusive", code: error.code, where: "link", detail }, null, claim);
	} finally {
		signal?.removeEventListener("abort", abort);
		await (client ?? link)?.close();
	}
}

function linkFacts({ kind, engineSha256, hostKey, handshakeUs }: Link, rttUs: readonly number[]): EvidenceBody["link"] {
	return { kind, engineSha256, hostKey, handshakeUs: handshakeUs === null ? null : Math.floor(handshakeUs), rttUs };
}

/** The whole file, signed. */
function evidenceOf(
	facts: Omit<EvidenceBody, "format" | "version" | "challenges" | "attestations" | "figures">,
	answered: readonly AnsweredChallenge[],
	attest: AttestRounds,
	signer: Signer,
): Uint8Array {
	const { challenges, attachments } = packChallenges(answered);
	const attestations = attest.pack(attachments);
	const body: Omit<EvidenceBody, "figures"> = {
		...facts,
		format: "assay-evidence",
		version: 4,
		challenges,
		readings: [...facts.readings].sort((a, b) => a.atUs - b.atUs),
		attestations,
	};
	return encodeEvidence({ ...body, figures: deriveFigures(body, attachments) }, attachments, signer);
}

/** What a disk must keep comes from another device's memory, so that it cannot be asked alone. */
function requireDevices({ devices }: HostClaim, asked: readonly number[], target: string): void {
	for (const number of asked) {
		const device = devices[number];
		if (device !== undefined && device.kind !== "disk") continue;
		const others = devices.flatMap(({ kind, name }, index) => (kind === "disk" ? [] : [`${index} (${kind}, ${name})`]));
		const why = device === undefined ? `there is no device ${number} on the host` : `device ${number} is a disk`;
		throw new AssayError("DEVICE_MISSING", `${why}; it shows ${others.slice(0, 16).join(", ") || "none"}`, {
			hint: `Leave --device out to probe all of them. \`assay devices ${target}\` lists them with their numbers.`,
		});
	}
}

/** A link that opens after the user has stopped is closed at once. */
async function unlessAborted(openLink: () => Promise<Link>, signal: AbortSignal | undefined): Promise<Link> {
	signal?.throwIfAborted();
	const opening = openLink();
	try {
		return await orAbort(opening, signal);
	} catch (error) {
		if (signal?.aborted) void opening.then((link) => link.close()).catch(() => {});
		throw error;
	}
}

/** What a plan's steps do. */
interface Acts {
	release(isTheirs: (device: number) => boolean): Promise<void>;
	warmUp(step: Extract<Step, { act: "warm-up" }>): Promise<WarmUpSeen[]>;
	stage(step: Extract<Step, { act: "stage" }>, stage: number): Promise<StageEnd>;
}

/** Goes through the plan until it is finished, something breaks, or the user stops. */
async function carryOut(
	plan: Plan,
	claim: HostClaim,
	rttUs: number,
	answered: readonly AnsweredChallenge[],
	signal: AbortSignal | undefined,
	acts: Acts,
): Promise<void> {
	const steps: string[] = [];
	const warmUps: WarmUpSeen[] = [];
	const tooBig: ChallengeSpec[] = [];
	let stage = 0;
	while (!signal?.aborted) {
		const challenges = answered.map(({ spec, end, roots, sentAtUs }): Seen["challenges"][number] => {
			const seconds = Math.max(0, (roots.at(-1)?.atUs ?? sentAtUs) - sentAtUs) / 1e6;
			return { spec, end, seconds, roots: roots.length };
		});
		const step = plan({ claim, rttUs, steps, warmUps, challenges, tooBig });
		if (step.act === "finish") break;
		steps.push(step.name);
		if (step.act === "release") {
			const released = acts.release((device) => step.devices?.includes(device) ?? true);
			if (!step.isAside) await released;
		} else if (step.act === "warm-up") {
			// A link that dies here is recorded by the next stage, which then gets no answer.
			warmUps.push(...(await acts.warmUp(step)));
		} else {
			const result = await acts.stage(step, stage);
			if (result.end === "broken") break;
			if (result.end === "too-big") tooBig.push(...result.specs);
			else stage += 1;
		}
	}
}

/** An engine that stops echoing is judged by the challenge that follows. */
async function echoes(client: EngineClient, deadlineMs: number): Promise<number[]> {
	const rttUs: number[] = [];
	try {
		for (let i = 0; i < ECHOES; i++) rttUs.push(Math.floor(await client.ping({ deadlineMs })));
	} catch (error) {
		if (!(error instanceof AssayError)) throw error;
	}
	return rttUs;
}

function median(values: readonly number[]): number {
	return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
}
