// The watcher of docs/disputes.md: follows claims, runs them again on its own engine, has the false ones
// convicted, and collects. It trusts no validator and no provider. The next move follows from the chain and
// its own run, so that a crash or a second process does nothing twice.
import { join } from "node:path";
import type { ApiClient } from "../../../api/create-client.ts";
import { readJobPart } from "../../../chain/contracts/job-escrow.ts";
import { writeDurably } from "../../../platform/durable-file.ts";
import { createMutex } from "../../../platform/keyed-mutex.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { sha256Of } from "../../../protocol/hash/tagged-hash.ts";
import { readQuestion } from "../../../protocol/network/job-question.ts";
import type { ClaimAtHand, EvidenceChain, EvidenceMeans } from "../evidence/claim-at-hand.ts";
import { memoryAnswers } from "../evidence/memory-answers.ts";
import type { OwnEngine } from "../evidence/own-engine.ts";
import { proveFraud } from "../evidence/prove-fraud.ts";
import { spokenWords } from "../evidence/spoken-words.ts";
import { createTries } from "../keeper/tries.ts";
import { type ClearedClaim, type Contested, clearedClaim, SegmentCleared } from "./cleared-claim.ts";
import { openJobBlobs } from "./job-blobs.ts";
import { openClaim } from "./open-claim.ts";
import { roadOnChain, SilenceConvicted } from "./silent-road.ts";
import type { WatchBook } from "./watch-book.ts";
import type { WatchChain } from "./watch-chain.ts";
import { type Watched, watchClaim } from "./watch-claim.ts";

interface WatchPolicy {
	/** `mine`: of this customer's jobs. `share`: of all, one in so many. */
	readonly jobs: "mine" | "all" | "share";
	readonly sharePpm: number;
}

/** What happened to a claim; `state` is a word for people and programs. */
export interface WatchEvent {
	readonly kind: "claim";
	readonly claim: string;
	readonly job: string;
	readonly part: number;
	readonly state:
		| "checking"
		| "right"
		| "unable"
		| "unsteady"
		| "false"
		| "asked"
		| "silent"
		| "proven"
		| "over"
		| "closed"
		| "trouble";
	readonly detail: string;
}

export interface WatcherOptions {
	readonly api: ApiClient;
	readonly chain: WatchChain | null;
	readonly engine: OwnEngine;
	readonly policy: WatchPolicy;
	/** Draws shares: nobody else knows which claims are looked at. */
	readonly secret: Uint8Array;
	/** Fraud files, and what is being run. */
	readonly folder: string;
	readonly book: WatchBook;
	/** Finds and tells, sends nothing. */
	readonly isDry: boolean;
	readonly nowMs: () => number;
	readonly sleep: (ms: number) => Promise<void>;
	readonly onEvent: (event: WatchEvent) => void;
	/** Shows what is false of a claim whose segments are proven on chain; absent: nothing is. */
	readonly contest?: (claim: ClearedClaim) => Promise<Contested>;
	/** Ends waiting. */
	readonly signal?: AbortSignal;
	/** How long one that does not answer is asked again, and how often. */
	readonly patienceMs?: number;
	readonly askEveryMs?: number;
}

const PATIENCE_MS = 600_000;
const ASK_EVERY_MS = 5000;
const PUBLISH_TRIES = 60;
const PUBLISH_EVERY_MS = 1000;
const PPM = 1_000_000;
/** Claimants that are asked at once; each keeps an idle process of the engine. */
const MOST_ACCUSED = 32;
/** A claim stands, and may be convicted, in these states. */
const STANDING = ["claimed", "checked"] as const;

interface Found {
	readonly hash: string;
	readonly job: string;
	readonly part: number;
	readonly atMs: number;
}

type Tell = (found: Found, state: WatchEvent["state"], detail?: string) => void;

const meansFor = (
	o: WatcherOptions,
	claim: ClaimAtHand,
	found: Found,
	{ blobs, tell, onAsking }: { readonly blobs: EvidenceMeans["blobs"]; readonly tell: Tell; onAsking(): void },
): EvidenceMeans => {
	const sleep = async (ms: number) => {
		await o.sleep(ms);
		if (o.signal?.aborted) throw new Stopped();
	};
	const means = {
		...{ blobs, scratch: join(o.folder, "scratch"), engine: o.engine, answers: memoryAnswers(), sleep },
		ask: ((_, question) => {
			// A state is asked for before anything is run.
			if (readQuestion(question).kind !== "state") onAsking();
			return o.api.askClaim({ params: { hash: found.hash }, body: { question } });
		}) satisfies EvidenceMeans["ask"],
		...{ patienceMs: o.patienceMs ?? PATIENCE_MS, askEveryMs: o.askEveryMs ?? ASK_EVERY_MS },
		...{ nowMs: o.nowMs, chain: claim.account === null ? null : (o.chain?.evidence ?? null) },
		beforeWaits: new Set<() => Promise<void>>(),
	};
	if (o.chain === null || o.isDry) return means;
	const onAsked = ({ kind }: { readonly kind: string }) => tell(found, "asked", `on chain: ${kind}`);
	return { ...means, road: roadOnChain(means, o.chain.evidence, onAsked) };
};

/** The watcher is being stopped: what it waited for is left to the next one. */
class Stopped extends Error {}

const isDrawn = ({ policy, secret }: WatcherOptions, hash: string): boolean => {
	if (policy.jobs !== "share") return true;
	const drawn = sha256Of(new Uint8Array([...secret, ...hexToBytes(hash, 32)!]));
	return (new DataView(drawn.buffer, drawn.byteOffset).getUint32(0) * PPM) / 2 ** 32 < policy.sharePpm;
};

/** The attempt that stands on the chain now. */
const attemptNow = async ({ contracts }: EvidenceChain, { job, part }: Pick<Found, "job" | "part">): Promise<number> =>
	(await readJobPart(contracts, BigInt(`0x${job}`), part)).attempt;

/**
 * ATTACK: once a false claim has fallen, another one may claim the very same, with the same hash, and would
 * be passed over. Which attempt stands is the chain's to tell, not the validator's.
 */
async function isDone({ book, chain }: WatcherOptions, row: Pick<Found, "hash" | "job" | "part">): Promise<boolean> {
	if (book.verdictOf(row.hash) !== null) return true;
	const ended = book.endOf(row.hash);
	if (ended === null) return false;
	return chain === null || (await attemptNow(chain.evidence, row).catch(() => ended)) <= ended;
}

/**
 * Claims that stand and that nobody has to compute blind any more, the oldest first: their windows end first.
 */
async function dueClaims(o: WatcherOptions, mayLook: (hash: string) => boolean): Promise<Found[]> {
	const own = o.policy.jobs === "mine" ? new Set<string>() : null;
	if (own !== null)
		for await (const { id } of o.api.rows("listJobs", { query: { open: true, limit: 500 } })) own.add(id);
	const found: Found[] = [];
	for (const state of STANDING)
		for await (const row of o.api.rows("listClaims", { query: { state, limit: 500 } })) {
			const { hash, job, part, atMs, ends } = row;
			const isWanted = ends !== null && mayLook(hash) && isDrawn(o, hash) && (own === null || own.has(job));
			if (isWanted && !(await isDone(o, row))) found.push({ hash, job, part, atMs });
		}
	return found.sort((a, b) => a.atMs - b.atMs);
}

interface Watching {
	readonly o: WatcherOptions;
	readonly tries: ReturnType<typeof createTries>;
	readonly tell: Tell;
	readonly collect: () => Promise<void>;
}

/** Until nothing is left to do about it; `onAsking` when the claimant is asked for the first time. */
async function look(watching: Watching, found: Found, onAsking: () => void): Promise<void> {
	const { o, tries, tell, collect } = watching;
	const { hash, job } = found;
	const proven = async (how: string) => {
		await o.book.end(hash, attempt, "proven");
		tell(found, "proven", how);
		await collect();
	};
	const at = await openClaim(o.api, hash, o.chain?.evidence.contracts ?? null);
	const attempt = o.chain === null ? 0 : await attemptNow(o.chain.evidence, found);
	const blobs = openJobBlobs(o.api, job, join(o.folder, "scratch", `job-${job}`));
	const means = meansFor(o, at, found, { blobs, tell, onAsking });
	try {
		tell(found, "checking");
		const watched = await watchClaim(means, at);
		if (watched.kind === "right" || watched.kind === "unsteady") {
			await o.book.keep(hash, watched.kind);
			return tell(found, watched.kind, watched.kind === "right" ? "" : watched.why);
		}
		if (watched.kind === "unable") {
			tries.failed(hash);
			return tell(found, "unable", watched.why);
		}
		await accuse(watching, { ...found, attempt }, at, means, watched);
	} catch (error) {
		if (error instanceof SilenceConvicted) return await proven(`by silence: ${error.transaction}`);
		if (!(error instanceof SegmentCleared)) throw error;
		const { ends } = await o.api.getClaim({ params: { hash } });
		const claim = await clearedClaim(means, at, error.sitting, ends?.state ?? []);
		const shown = (await o.contest?.(claim)) ?? { why: "nobody here contests it" };
		if ("transaction" in shown) return await proven(`by a proof: ${shown.transaction}`);
		tries.failed(hash);
		tell(found, "unable", `${error.message}; ${shown.why}`);
	} finally {
		await blobs.remove();
	}
}

async function accuse(
	{ o, tries, tell, collect }: Watching,
	found: Found & { readonly attempt: number },
	at: ClaimAtHand,
	means: EvidenceMeans,
	{ segment, file, isProvable, why }: Extract<Watched, { kind: "false" }>,
): Promise<void> {
	const { hash, attempt } = found;
	tries.failed(hash);
	if (file === null) return tell(found, "silent", `segment ${segment} ends elsewhere; ${why}`);
	const path = join(o.folder, "frauds", `${bytesToHex(sha256Of(file))}.fraud`);
	await writeDurably(path, file);
	tell(found, "false", `${why}; ${path}`);
	if (o.isDry || o.chain === null) return;
	const spoken = isProvable ? null : await spokenWords(means, at, file);
	if (!isProvable && spoken === null) return;
	const proof = await proveFraud(o.chain.evidence, at, file, spoken);
	await o.book.end(hash, attempt, proof === null ? "over" : "proven");
	tell(found, proof === null ? "over" : "proven", proof?.transaction ?? "it stands no more");
	await collect();
	if (proof !== null) await publish(o, file);
}

/**
 * For whoever looks at the claim: not before it has fallen, so that nobody proves it first. A validator that
 * does not take it changes nothing.
 */
async function publish(o: WatcherOptions, file: Uint8Array): Promise<void> {
	for (let left = PUBLISH_TRIES; left > 0; left--)
		try {
			await o.api.handInFraud({ body: file });
			return;
		} catch (error) {
			if (!(error instanceof AssayError)) throw error;
			// It follows the chain within seconds.
			if (error.code !== "JOB_STATE" || o.signal?.aborted) return;
			await o.sleep(PUBLISH_EVERY_MS);
		}
}

export function createWatcher(o: WatcherOptions) {
	const tries = createTries(o.nowMs, Number.POSITIVE_INFINITY);
	const counts = new Map<WatchEvent["state"], number>();
	/** Claims whose claimants are being asked: on chain that takes hours, and the other claims do not wait. */
	const accusing = new Map<string, Promise<void>>();
	/**
	 * Jobs of other methods are for their parties alone: told once. A validator may say so of any job, so each
	 * is asked for again.
	 */
	const closed = new Set<string>();
	let failure: { readonly error: unknown } | null = null;
	// An earlier process may have been killed between a conviction and what it brought.
	let isOwed = !o.isDry && o.chain !== null;
	const collecting = createMutex();
	const collect = async () => {
		if (o.isDry || o.chain === null) return;
		isOwed = true;
		await collecting.run(o.chain.collect);
		isOwed = false;
	};

	const tell: Tell = ({ hash, job, part }, state, detail = "") => {
		counts.set(state, (counts.get(state) ?? 0) + 1);
		o.onEvent({ kind: "claim", claim: hash, job, part, state, detail });
	};

	/** Troubles of one are told and leave the others alone. */
	async function lookSafely(found: Found, onAsking: () => void): Promise<void> {
		try {
			await look({ o, tries, tell, collect }, found, onAsking);
		} catch (error) {
			// Whatever is closed meanwhile is nobody's trouble.
			if (error instanceof Stopped || o.signal?.aborted) return;
			if (!(error instanceof AssayError)) failure ??= { error };
			else {
				tries.failed(found.hash);
				const isClosed = error.code === "CALLER_OTHER";
				if (!isClosed) tell(found, "trouble", `${error.code}: ${error.message}`);
				else if (!closed.has(found.hash)) {
					closed.add(found.hash);
					tell(found, "closed", error.message);
				}
			}
		} finally {
			accusing.delete(found.hash);
		}
	}

	const mustBeOurs = (error: unknown) => {
		if (!(error instanceof AssayError)) throw error;
	};

	const mustBeWell = () => {
		if (failure !== null) throw failure.error;
	};

	return {
		/** Once over all claims; those whose claimants are asked now are gone on with meanwhile. */
		async round(signal?: AbortSignal): Promise<void> {
			// What the chain does not take now is tried with the next round: watching comes first.
			if (isOwed) await collect().catch(mustBeOurs);
			for (const found of await dueClaims(o, (hash) => !accusing.has(hash) && tries.mayTry(hash))) {
				if (signal?.aborted) return;
				while (accusing.size >= MOST_ACCUSED) await Promise.race(accusing.values());
				const { promise: asking, resolve } = Promise.withResolvers<void>();
				const looking = lookSafely(found, () => {
					accusing.set(found.hash, looking);
					resolve();
				});
				await Promise.race([looking, asking]);
				mustBeWell();
			}
		},
		/** Until nobody is asked any more. */
		async settle(): Promise<void> {
			while (accusing.size > 0) await Promise.all(accusing.values());
			mustBeWell();
		},
		/** How often each state was told, since the start. */
		counts: (): ReadonlyMap<WatchEvent["state"], number> => counts,
	};
}
