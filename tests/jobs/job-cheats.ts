// The cheaters of jobs in a network, one function each: a provider as owners run it, with one thing replaced.
// What each ends as: docs/jobs.md §9, §14.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fetchBlob, nameBlob } from "../../src/api/blob-transfer.ts";
import type { ApiClient } from "../../src/api/create-client.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import type { JobMethod } from "../../src/protocol/network/job.ts";
import { questionText } from "../../src/protocol/network/job-question.ts";
import type { AskedPart, ClaimReply, JobDesk } from "../../src/provider/jobs/job-desk.ts";
import { TOY_SEGMENTS } from "./customer.ts";
import * as lies from "./job-lies.ts";
import type { Handlers, JobCheat } from "./job-market.ts";

export interface NetworkCheat extends JobCheat {
	/** What it does. */
	readonly name: string;
	readonly party: "provider" | "auditor";
	/**
	 * How it ends. convicted: by a proof on chain, its bond is gone. lost: the part goes to another, nobody is
	 * paid. unchecked: its claim is known to be false and disputed; its silence on chain convicts it half an
	 * hour later, which no simulation waits for (silent-liars.test.ts does). unpaid: an auditor that is
	 * replaced.
	 */
	readonly ends: "convicted" | "lost" | "unchecked" | "unpaid";
	/** Takes jobs of this method only; by default what is sampled. */
	readonly method?: JobMethod["name"];
	/** That it is found out; 1 unless given. Else it is paid. */
	readonly chance?: number;
	/** Does some work as it must, and is paid for that. */
	readonly mayEarn?: true;
}

const LAST = TOY_SEGMENTS - 1;
const MIDDLE = { segment: 3, step: 0, op: 0, element: 3 } as const;
/**
 * Windows are of one segment; the first is run again for sure, and the last with the one before it; of the
 * others one is drawn.
 */
const ONE_OF_MIDDLE = 1 / (TOY_SEGMENTS - 3);

/** Works as it must, but at parts of more segments than these: those it takes, and lets lie. */
function dropsAbove(most: number): JobCheat {
	const dear = new Set<string>();
	const isDear = ({ job, audit }: AskedPart): boolean => audit === null && dear.has(job);
	return {
		desk: (honest) => ({
			...honest,
			async offer(asked, signal) {
				const offer = await honest.offer(asked, signal);
				if (offer.count > most) dear.add(asked.job);
				return offer;
			},
			beat: async (asked, beat) => (isDear(asked) ? { go: true } : honest.beat(asked, beat)),
			claim: async (asked, claim) => (isDear(asked) ? noReply(asked) : honest.claim(asked, claim)),
		}),
	};
}

const noReply = (asked: AskedPart): Promise<ClaimReply> => {
	throw new AssayError("API_UNREACHABLE", `nothing is handed in for ${asked.job}`);
};

/**
 * One part and no more: a claim that nobody can judge would hold up every job that its provider gets, and one
 * try is one try.
 */
export const onceOnly = (honest: Handlers): Handlers => {
	let taken: string | null = null;
	return {
		...honest,
		async job(asked) {
			if (asked.audit !== null || (taken !== null && taken !== asked.job))
				throw new AssayError("JOB_DECLINED", "it has what it wants");
			taken = asked.job;
			await honest.job!(asked);
		},
	};
};

/** Who ran nothing knows the state before its window, and nothing else. */
const echoed = (right: Uint8Array): Uint8Array =>
	Buffer.concat(Array.from({ length: right.length / 32 }, () => right.subarray(0, 32)));

/** What the claim says, from whoever tells it; null: nobody does. */
async function copied(api: ApiClient, job: string, right: Uint8Array): Promise<Uint8Array | null> {
	const { rows } = await api.listClaims({ query: { job, limit: 1 } });
	const [claim] = rows;
	if (claim === undefined) return null;
	if (claim.ends !== null) {
		const states = Buffer.from(await fetchBlob(api, claim.ends.states, { job }));
		const at = states.indexOf(right.subarray(0, 32));
		return states.subarray(at, at + right.length);
	}
	const question = questionText({ kind: "roots", segment: 1, audit: null, page: 0 });
	const told = await api.askClaim({ params: { hash: claim.hash }, body: { question } }).catch(() => null);
	return told === null ? null : right;
}

export const NETWORK_CHEATS: readonly NetworkCheat[] = [
	{
		...{ name: "forges the last segment", party: "provider", ends: "convicted" },
		engine: lies.lying(lies.lastOf(TOY_SEGMENTS)),
	},
	{
		...{ name: "other seed", party: "provider", ends: "convicted" },
		engine: lies.otherSeed,
	},
	{ name: "skips steps", party: "provider", ends: "convicted", engine: lies.lying(lies.skipSteps) },
	{ name: "smaller batch", party: "provider", ends: "convicted", engine: lies.lying(lies.smallerBatch) },
	{ name: "cheaper model", party: "provider", ends: "convicted", engine: lies.lying(lies.cheaperModel) },
	{ name: "stale weights", party: "provider", ends: "convicted", engine: lies.lying(lies.staleWeights) },
	{ name: "other data", party: "provider", ends: "convicted", engine: lies.otherData },
	{ name: "other program", party: "provider", ends: "convicted", engine: lies.otherProgram },
	{
		...{ name: "forges one segment", party: "provider", ends: "convicted", chance: ONE_OF_MIDDLE },
		...{ handlers: onceOnly, engine: lies.lying(MIDDLE) },
	},
	{
		...{ name: "forges one segment, redundant", party: "provider", ends: "convicted", method: "redundant" },
		engine: lies.lying(MIDDLE),
	},
	{
		...{ name: "drops expensive jobs", party: "provider", ends: "lost", mayEarn: true },
		...dropsAbove(TOY_SEGMENTS),
	},
	{
		...{ name: "lies and says nothing", party: "provider", ends: "unchecked" },
		engine: lies.lying({ segment: LAST, step: 0, op: 0, element: 3 }),
		handlers: (honest) => ({
			...onceOnly(honest),
			ask: async () => {
				throw new AssayError("PROVIDER_BUSY", "ask later");
			},
		}),
	},
	{
		...{ name: "claims without running", party: "provider", ends: "unchecked", handlers: onceOnly },
		engine: lies.otherStates((states) => {
			for (const state of states.slice(1, -1)) state[5]! ^= 1;
		}),
	},
	{
		...{ name: "begins at another state", party: "provider", ends: "lost" },
		engine: lies.otherStates(([first]) => {
			first![5]! ^= 1;
		}),
	},
	{
		...{ name: "withholds the result", party: "provider", ends: "lost" },
		desk: (honest) => ({ ...honest, upload: async (from) => (await nameBlob(from)).blob }),
	},
	{
		...{ name: "blobs that change", party: "provider", ends: "lost" },
		desk: (honest) => ({
			...honest,
			async upload(from, signal) {
				const { root } = (await nameBlob(from)).blob;
				const bytes = "bytes" in from ? from.bytes : readFileSync(from.path);
				const sent = await honest.upload({ bytes: lies.flipped(bytes) }, signal);
				return { root, size: sent.size };
			},
		}),
	},
	{
		...{ name: "beats without work", party: "provider", ends: "lost", engine: lies.idle },
		desk: (honest) => {
			let done = 0;
			const more = () => Math.min(TOY_SEGMENTS, ++done);
			return { ...honest, beat: (asked, beat) => honest.beat(asked, { ...beat, done: more() }) };
		},
	},
	{
		...{ name: "drops what it took", party: "provider", ends: "lost", engine: lies.idle },
		desk: (honest) => ({ ...honest, beat: async () => ({ go: true }) }),
	},
	{
		...{ name: "claims after its deadline", party: "provider", ends: "lost" },
		desk: (honest) => ({
			...honest,
			async claim(asked, claim) {
				for (;;) {
					// Alive until its time is over, and then it claims.
					const { go } = await honest.beat(asked, { done: TOY_SEGMENTS, metrics: [], previews: [] });
					if (!go) return honest.claim(asked, claim);
					await sleep(1000);
				}
			},
		}),
	},
	{
		...{ name: "answers for another job", party: "provider", ends: "lost" },
		desk: (honest) => ({
			...honest,
			claim: (asked, claim) => honest.claim({ ...asked, job: bytesToHex(lies.flipped(hexToBytes(asked.job)!)) }, claim),
		}),
	},
	{
		...{ name: "claims nothing", party: "provider", ends: "lost" },
		desk: (honest): JobDesk => ({ ...honest, claim: noReply }),
	},
	{
		...{ name: "auditor that accuses", party: "auditor", ends: "unpaid" },
		engine: lies.lying(lies.spoiled, true),
	},
	{
		...{ name: "auditor that echoes", party: "auditor", ends: "unpaid" },
		desk: (honest) => ({
			...honest,
			async upload(from, signal) {
				if (!("bytes" in from)) return honest.upload(from, signal);
				return honest.upload({ bytes: echoed(from.bytes) }, signal);
			},
		}),
	},
	{
		...{ name: "auditor that copies", party: "auditor", ends: "unpaid" },
		desk: (honest, api) => {
			let right: Uint8Array | null = null;
			return {
				...honest,
				upload(from, signal) {
					if ("bytes" in from) right = from.bytes;
					return honest.upload(from, signal);
				},
				async answerAudit(asked) {
					const bytes = (await copied(api, asked.job, right!)) ?? echoed(right!);
					await honest.answerAudit(asked, await honest.upload({ bytes }, AbortSignal.timeout(60_000)));
				},
			};
		},
	},
	{
		...{ name: "auditor that is silent", party: "auditor", ends: "unpaid" },
		desk: (honest) => ({ ...honest, answerAudit: async () => {} }),
	},
];
