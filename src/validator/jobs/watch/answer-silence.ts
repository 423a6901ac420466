// What a customer does about its own job while it waits for it: a claim that was found false, or whose
// claimant says nothing, is asked about on chain by its validator, at once. Where no validator does, this
// asks: one question, and silence past its clock convicts. It runs nothing again, so a claimant that answers
// is left to whoever does (watcher.ts). docs/disputes.md.
import type { ApiClient } from "../../../api/create-client.ts";
import { bookOf, readGames, type Sitting } from "../../../chain/contracts/dispute-games.ts";
import { readJobPart } from "../../../chain/contracts/job-escrow.ts";
import { readChainTime } from "../../../chain/node/chain-clock.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { Program } from "../../../work/program/shapes.ts";
import { askParty, TwoWords } from "../evidence/ask-party.ts";
import type { ClaimAtHand } from "../evidence/claim-at-hand.ts";
import { memoryAnswers } from "../evidence/memory-answers.ts";
import { SegmentCleared } from "./cleared-claim.ts";
import { openClaim } from "./open-claim.ts";
import { roadOnChain, SilenceConvicted } from "./silent-road.ts";
import type { WatchChain } from "./watch-chain.ts";

/**
 * By the chain's clock, with nobody's game about the claim moving: a validator first asks off chain for ten
 * minutes, and a dispute of its that nobody brings before the chain lapses after thirty.
 */
const GRACE_S = 20 * 60;
/** How long the claimant is asked off chain before that. */
const PATIENCE_MS = 15_000;

export interface SilenceEvent {
	readonly part: number;
	/** "asked": on chain. "answered": it is not silent. */
	readonly kind: "asked" | "answered" | "convicted" | "trouble";
	readonly detail: string;
}

export interface OwnJob {
	readonly api: Pick<ApiClient, "getJob" | "listClaims" | "getClaimCase" | "getBlob" | "getJobBlob" | "askClaim">;
	readonly chain: WatchChain;
	readonly job: string;
	readonly program: Program;
	readonly nowMs: () => number;
	/** False once it is to end. */
	readonly sleep: (ms: number) => Promise<boolean>;
	/** Between two looks. */
	readonly everyMs: number;
	readonly patienceMs?: number;
	readonly onEvent: (event: SilenceEvent) => void;
}

/** A claim that was disputed once, and stood when it was last looked at. */
interface Disputed {
	readonly at: ClaimAtHand;
	readonly hash: string;
	/** Absolute: of the first window that differs. */
	readonly segment: number;
	readonly sitting: Sitting;
	/** Questions and answers in games of its validators. */
	moves: number;
	/** Since then nobody moves, by the chain's clock. */
	sinceS: number;
}

/** The job is over, or its customer has seen enough. */
class Ended extends Error {}

export async function answerSilence(o: OwnJob): Promise<void> {
	const known = new Map<string, Disputed>();
	const playing = new Map<string, Promise<void>>();
	const begin = async (name: string, found: Disputed) => {
		try {
			// What is on the chain is gone on with; whoever answers is left alone until its validator moves again.
			if (await playSafely(o, found)) found.sinceS = Number.POSITIVE_INFINITY;
		} finally {
			playing.delete(name);
		}
	};
	do {
		// A validator that is away: what is known of the claim stays at hand.
		await findDisputed(o, known).catch(mayPass);
		for (const [name, found] of known)
			if (!playing.has(name) && (await isLeft(o, known, name, found).catch(mayPass))) {
				const play = begin(name, found);
				playing.set(name, play);
				// Told where all are waited for.
				play.catch(() => {});
			}
	} while (await o.sleep(o.everyMs));
	await Promise.all(playing.values());
}

/** It is tried again with the next look. */
function mayPass(error: unknown): void {
	if (!(error instanceof AssayError)) throw error;
}

/** Claims of this job that were disputed, and that everybody may read since. */
async function findDisputed(o: OwnJob, known: Map<string, Disputed>): Promise<void> {
	const { api, chain, job: id } = o;
	const { contracts } = chain.evidence;
	const { record } = await api.getJob({ params: { id } });
	for (const { part, attempt, state, disputedAtMs, audits } of record.parts) {
		const name = `${part}/${attempt}`;
		if (disputedAtMs === undefined || state !== "claimed" || known.has(name)) continue;
		const { rows } = await api.listClaims({ query: { job: id, limit: 100 } });
		const row = rows.find((one) => one.part === part && one.attempt === attempt && one.ends !== null);
		if (row === undefined) continue;
		const at = await openClaim(api, row.hash, contracts);
		const { attempt: onChain, provider } = await readJobPart(contracts, at.claim.job, part);
		const differs = audits.find(({ agrees }) => agrees === false);
		known.set(name, {
			at,
			hash: row.hash,
			moves: 0,
			sinceS: await readChainTime(contracts.client, 0),
			segment: at.claim.first + (differs?.first ?? at.claim.segments - 1),
			sitting: { job: at.claim.job, part, attempt: onChain, provider },
		});
	}
}

/** Whether the claim stands, and its validators have left it alone for long enough. */
async function isLeft(
	{ chain }: OwnJob,
	known: Map<string, Disputed>,
	name: string,
	found: Disputed,
): Promise<boolean> {
	const { contracts } = chain.evidence;
	const { sitting, at } = found;
	const part = await readJobPart(contracts, sitting.job, sitting.part);
	if (part.state !== "claimed" || part.attempt !== sitting.attempt) {
		known.delete(name);
		return false;
	}
	const validators = at.escrow!.validators.map((one) => one.toLowerCase());
	const games = (await readGames(contracts, { book: bookOf(sitting) })).filter(({ accuser }) =>
		validators.includes(accuser.toLowerCase()),
	);
	const rounds = games.flatMap((game) => game.rounds);
	const nowS = await readChainTime(contracts.client, 0);
	const moves = rounds.reduce((sum, { answer }) => sum + (answer === null ? 1 : 2), 0);
	const isRunning = rounds.some(({ answer, deadlineS }) => answer === null && nowS <= deadlineS);
	if (moves !== found.moves || isRunning) Object.assign(found, { moves, sinceS: nowS });
	return nowS - found.sinceS >= GRACE_S;
}

/** True: nothing is left to do about it. */
async function playSafely(o: OwnJob, found: Disputed): Promise<boolean> {
	const { part } = found.sitting;
	const tell = (kind: SilenceEvent["kind"], detail: string) => o.onEvent({ part, kind, detail });
	try {
		await play(o, found, tell);
		tell("answered", "");
	} catch (error) {
		if (error instanceof Ended) return false;
		if (error instanceof SilenceConvicted) {
			tell("convicted", error.transaction);
			// Else it is owed until somebody collects again.
			await o.chain.collect().catch(mayPass);
		} else if (error instanceof SegmentCleared || error instanceof TwoWords) tell("answered", error.message);
		else if (error instanceof AssayError) {
			tell("trouble", `${error.message} [${error.code}]`);
			return false;
		} else throw error;
	}
	return true;
}

/**
 * Off chain first: what it signs there shows that it is not silent, and costs nobody anything. A validator
 * that passes nothing on is silence, too. Throws SilenceConvicted, SegmentCleared, TwoWords.
 */
async function play(
	o: OwnJob,
	{ at, hash, segment }: Disputed,
	tell: (kind: "asked", detail: string) => void,
): Promise<void> {
	const { evidence } = o.chain;
	const means = {
		answers: memoryAnswers(),
		nowMs: o.nowMs,
		chain: evidence,
		askEveryMs: o.everyMs,
		patienceMs: o.patienceMs ?? PATIENCE_MS,
		async sleep(ms: number) {
			if (!(await o.sleep(ms))) throw new Ended();
		},
		ask: (_: unknown, question: string) => o.api.askClaim({ params: { hash }, body: { question } }),
	};
	const { first, segments } = at.claim;
	const party = { provider: at.provider, audit: null, first, segments };
	const plain = askParty(means, at, o.program, party);
	const ask = roadOnChain(means, evidence, ({ kind }) => tell("asked", kind))(at, o.program, plain);
	await ask({ kind: "trace", segment, audit: null, page: 0 });
}
