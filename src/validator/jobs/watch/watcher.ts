// The watcher of docs/disputes.md: follows claims, runs them again on its own engine, has the false ones convicted, and collects. It trusts no validator and
// no provider. The next move follows from the chain and its own run, so that a crash or a second process does nothing twice.
import { join } from "node:path";
import type { ApiClient } from "../../../api/create-client.ts";
import { writeDurably } from "../../../platform/durable-file.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { sha256Of } from "../../../protocol/hash/tagged-hash.ts";
import type { ClaimAtHand, EvidenceChain, EvidenceMeans } from "../evidence/claim-at-hand.ts";
import { memoryAnswers } from "../evidence/memory-answers.ts";
import type { OwnEngine } from "../evidence/own-engine.ts";
import { proveFraud } from "../evidence/prove-fraud.ts";
import { spokenWords } from "../evidence/spoken-words.ts";
import { createTries } from "../keeper/tries.ts";
import { openJobBlobs } from "./job-blobs.ts";
import { openClaim } from "./open-claim.ts";
import { SilenceConvicted, silentRoad } from "./silent-road.ts";
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
	/** How long one that does not answer is asked again, and how often. */
	readonly patienceMs?: number;
	readonly askEveryMs?: number;
}

const PATIENCE_MS = 600_000;
const ASK_EVERY_MS = 5000;
const PPM = 1_000_000;
/** A claim stands, and may be convicted, in these states. */
const STANDING = ["claimed", "checked"] as const;

interface Found {
	readonly hash: string;
	readonly job: string;
	readonly part: number;
	readonly atMs: number;
}

type Tell = (found: Found, state: WatchEvent["state"], detail?: string) => void;

/** On chain, once it is silent off chain. */
const roadOf =
	(
		o: WatcherOptions,
		{ chain, answers }: { readonly chain: EvidenceChain; readonly answers: EvidenceMeans["answers"] },
		found: Found,
		tell: Tell,
	): NonNullable<EvidenceMeans["road"]> =>
	(at, program, ask) => {
		const onAsked = ({ kind }: { readonly kind: string }) => tell(found, "asked", `on chain: ${kind}`);
		const everyMs = o.askEveryMs ?? ASK_EVERY_MS;
		return silentRoad({ chain, answers, sleep: o.sleep, everyMs, onAsked }, at, program, ask);
	};

const meansFor = (
	o: WatcherOptions,
	claim: ClaimAtHand,
	found: Found,
	{ blobs, tell }: { readonly blobs: EvidenceMeans["blobs"]; readonly tell: Tell },
): EvidenceMeans => {
	const answers = memoryAnswers();
	return {
		...{ blobs, scratch: join(o.folder, "scratch"), engine: o.engine, answers },
		ask: (_, question) => o.api.askClaim({ params: { hash: found.hash }, body: { question } }),
		...{ patienceMs: o.patienceMs ?? PATIENCE_MS, askEveryMs: o.askEveryMs ?? ASK_EVERY_MS },
		...{ nowMs: o.nowMs, sleep: o.sleep, chain: claim.account === null ? null : (o.chain?.evidence ?? null) },
		...(o.chain !== null && !o.isDry && { road: roadOf(o, { chain: o.chain.evidence, answers }, found, tell) }),
	};
};

export function createWatcher(o: WatcherOptions) {
	const tries = createTries(o.nowMs, Number.POSITIVE_INFINITY);
	const counts = new Map<WatchEvent["state"], number>();

	const tell: Tell = ({ hash, job, part }, state, detail = "") => {
		counts.set(state, (counts.get(state) ?? 0) + 1);
		o.onEvent({ kind: "claim", claim: hash, job, part, state, detail });
	};

	const isDrawn = (hash: string): boolean => {
		if (o.policy.jobs !== "share") return true;
		const drawn = sha256Of(new Uint8Array([...o.secret, ...hexToBytes(hash, 32)!]));
		return (new DataView(drawn.buffer, drawn.byteOffset).getUint32(0) * PPM) / 2 ** 32 < o.policy.sharePpm;
	};

	/** Claims that stand and that nobody has to compute blind any more, the oldest first: their windows end first. */
	async function due(): Promise<Found[]> {
		const own = o.policy.jobs === "mine" ? new Set<string>() : null;
		if (own !== null)
			for await (const { id } of o.api.rows("listJobs", { query: { open: true, limit: 500 } })) own.add(id);
		const found: Found[] = [];
		for (const state of STANDING)
			for await (const row of o.api.rows("listClaims", { query: { state, limit: 500 } })) {
				const { hash, job, part, atMs, ends } = row;
				const isWanted = ends !== null && o.book.verdictOf(hash) === null && tries.mayTry(hash);
				if (isWanted && isDrawn(hash) && (own === null || own.has(job))) found.push({ hash, job, part, atMs });
			}
		return found.sort((a, b) => a.atMs - b.atMs);
	}

	async function look(found: Found): Promise<void> {
		const { hash, job } = found;
		const at = await openClaim(o.api, hash, o.chain?.evidence.contracts ?? null);
		const blobs = openJobBlobs(o.api, job, join(o.folder, "scratch", `job-${job}`));
		try {
			tell(found, "checking");
			const means = meansFor(o, at, found, { blobs, tell });
			const watched = await watchClaim(means, at);
			if (watched.kind === "right" || watched.kind === "unsteady") {
				await o.book.keep(hash, watched.kind);
				return tell(found, watched.kind, watched.kind === "right" ? "" : watched.why);
			}
			if (watched.kind === "unable") {
				tries.failed(hash);
				return tell(found, "unable", watched.why);
			}
			await accuse(found, at, means, watched);
		} catch (error) {
			if (!(error instanceof SilenceConvicted)) throw error;
			await o.book.keep(hash, "proven");
			tell(found, "proven", `by silence: ${error.transaction}`);
			await o.chain?.collect(at);
		} finally {
			await blobs.remove();
		}
	}

	async function accuse(
		found: Found,
		at: ClaimAtHand,
		means: EvidenceMeans,
		{ segment, file, isProvable, why }: Extract<Watched, { kind: "false" }>,
	): Promise<void> {
		const { hash } = found;
		tries.failed(hash);
		if (file === null) return tell(found, "silent", `segment ${segment} ends elsewhere; ${why}`);
		const path = join(o.folder, "frauds", `${bytesToHex(sha256Of(file))}.fraud`);
		await writeDurably(path, file);
		tell(found, "false", `${why}; ${path}`);
		if (o.isDry || o.chain === null) return;
		const spoken = isProvable ? null : await spokenWords(means, at, file);
		if (!isProvable && spoken === null) return;
		const proof = await proveFraud(o.chain.evidence, at, file, spoken);
		await o.book.keep(hash, proof === null ? "over" : "proven");
		tell(found, proof === null ? "over" : "proven", proof?.transaction ?? "it stands no more");
		if (proof !== null) await o.chain.collect(at);
	}

	return {
		/** Once over all claims. Troubles of one are told and leave the others alone. */
		async round(signal?: AbortSignal): Promise<void> {
			for (const found of await due()) {
				if (signal?.aborted) return;
				try {
					await look(found);
				} catch (error) {
					if (!(error instanceof AssayError)) throw error;
					tries.failed(found.hash);
					tell(found, "trouble", `${error.code}: ${error.message}`);
				}
			}
		},
		/** How often each state was told, since the start. */
		counts: (): ReadonlyMap<WatchEvent["state"], number> => counts,
	};
}
