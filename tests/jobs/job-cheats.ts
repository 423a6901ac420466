// The cheaters of jobs in a network, one function each: a provider as owners run it, with one thing replaced. What each ends as: docs/jobs.md §9, §14.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { nameBlob } from "../../src/api/blob-transfer.ts";
import type { Cheat } from "../../src/engine/client/toy-work-session.test-kit.ts";
import type { WorkSession } from "../../src/engine/client/work-session.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import type { AskedPart, ClaimReply, JobDesk } from "../../src/provider/jobs/job-desk.ts";
import type { JobEngine, StartJobEngine } from "../../src/provider/jobs/job-engine.ts";
import { toyOpener } from "../../src/provider/jobs/toy-run.test-kit.ts";
import { claimText, readClaim } from "../../src/work/runs/claim-file.ts";
import { segmentTree } from "../../src/work/trace/commitments.ts";
import { TOY_SEGMENTS } from "./customer.ts";
import type { Handlers, JobCheat } from "./job-market.ts";

export interface NetworkCheat extends JobCheat {
	/** What it does. */
	readonly name: string;
	readonly party: "provider" | "auditor";
	/**
	 * How it ends. convicted: by a proof on chain, its bond is gone. lost: the part goes to another, nobody is paid. unchecked: its claim is known to be
	 * false and never checked, but nothing that it said convicts it on chain yet, so that only the long window keeps it from its pay. unpaid: an auditor
	 * that is replaced.
	 */
	readonly ends: "convicted" | "lost" | "unchecked" | "unpaid";
}

type At = Parameters<StartJobEngine>[0];
const isAudit = ({ storePath }: At): boolean => /-audit\d+\/store$/.test(storePath);

/** Lies in one element, and stands by it in all that it says. */
const lying =
	(cheat: Cheat, inAudits = false) =>
	(honest: JobEngine, at: At): JobEngine =>
		isAudit(at) === inAudits ? { ...honest, open: toyOpener(at.storePath, cheat) } : honest;

/** Every session is another's. */
const otherSession =
	(change: (session: WorkSession) => WorkSession) =>
	(honest: JobEngine, at: At): JobEngine =>
		isAudit(at) ? honest : { ...honest, open: async (work) => change(await honest.open(work)) };

/** The list of states is another than what was run, from the end of the run on. */
const otherStates =
	(change: (states: Uint8Array[]) => void) =>
	(honest: JobEngine, at: At): JobEngine => {
		if (isAudit(at)) return honest;
		const folder = dirname(at.storePath);
		const [claimPath, statesPath] = [join(folder, "claim.json"), join(folder, "states.bin")];
		return {
			...honest,
			async close() {
				await honest.close();
				let run: ReturnType<typeof readClaim>;
				try {
					run = readClaim(readFileSync(claimPath), readFileSync(statesPath));
				} catch {
					return; // Not run to its end, or changed before.
				}
				const states = run.states.map((state) => Uint8Array.from(state));
				change(states);
				const claim = { ...run.claim, segmentRoot: segmentTree(states).root };
				writeFileSync(statesPath, Buffer.concat(states));
				writeFileSync(claimPath, claimText(claim, run.seed));
			},
		};
	};

const never = (signal?: AbortSignal): Promise<never> =>
	new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason), { once: true }));

/** Runs nothing, for as long as it is let. */
const idle = otherSession((session) => proxy(session, { run: ({ signal }) => never(signal) }));

/** Methods of classes stay bound to their own. */
function proxy<T extends object>(of: T, over: Partial<T>): T {
	return new Proxy(of, {
		get(target, name) {
			const changed = over[name as keyof T];
			if (changed !== undefined) return changed;
			const value = target[name as keyof T];
			return typeof value === "function" ? value.bind(target) : value;
		},
	});
}

const flipped = (bytes: Uint8Array): Uint8Array => bytes.map((byte, i) => (i === 0 ? byte ^ 1 : byte));

/** Runs and answers with another seed than the job's. */
const otherSeed = (honest: JobEngine): JobEngine => ({
	...honest,
	async open(work) {
		const session = await honest.open({ ...work, seed: flipped(work.seed) });
		return proxy(session, { seed: (seed) => session.seed(flipped(seed)) });
	},
});

const LAST = TOY_SEGMENTS - 1;
const noReply = (asked: AskedPart): Promise<ClaimReply> => {
	throw new AssayError("API_UNREACHABLE", `nothing is handed in for ${asked.job}`);
};

/** One part and no more: a claim that nobody can judge would hold up every job that its provider gets. */
const onceOnly = (honest: Handlers): Handlers => {
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

export const NETWORK_CHEATS: readonly NetworkCheat[] = [
	{
		...{ name: "forges the last segment", party: "provider", ends: "convicted" },
		engine: lying({ segment: LAST, step: 0, op: 0, element: 3 }),
	},
	{
		...{ name: "other seed", party: "provider", ends: "convicted" },
		engine: (honest, at) => (isAudit(at) ? honest : otherSeed(honest)),
	},
	{
		...{ name: "lies and says nothing", party: "provider", ends: "unchecked" },
		engine: lying({ segment: LAST, step: 0, op: 0, element: 3 }),
		handlers: (honest) => ({
			...onceOnly(honest),
			ask: async () => {
				throw new AssayError("PROVIDER_BUSY", "ask later");
			},
		}),
	},
	{
		...{ name: "claims without running", party: "provider", ends: "unchecked", handlers: onceOnly },
		engine: otherStates((states) => {
			for (const state of states.slice(1, -1)) state[5]! ^= 1;
		}),
	},
	{
		...{ name: "begins at another state", party: "provider", ends: "lost" },
		engine: otherStates(([first]) => {
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
				const sent = await honest.upload({ bytes: flipped(bytes) }, signal);
				return { root, size: sent.size };
			},
		}),
	},
	{
		...{ name: "beats without work", party: "provider", ends: "lost", engine: idle },
		desk: (honest) => {
			let done = 0;
			const more = () => Math.min(TOY_SEGMENTS, ++done);
			return { ...honest, beat: (asked, beat) => honest.beat(asked, { ...beat, done: more() }) };
		},
	},
	{
		...{ name: "drops what it took", party: "provider", ends: "lost", engine: idle },
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
					await sleep(500);
				}
			},
		}),
	},
	{
		...{ name: "answers for another job", party: "provider", ends: "lost" },
		desk: (honest) => ({
			...honest,
			claim: (asked, claim) => honest.claim({ ...asked, job: bytesToHex(flipped(hexToBytes(asked.job)!)) }, claim),
		}),
	},
	{
		...{ name: "claims nothing", party: "provider", ends: "lost" },
		desk: (honest): JobDesk => ({ ...honest, claim: noReply }),
	},
	{
		...{ name: "auditor that accuses", party: "auditor", ends: "unpaid" },
		engine: (honest, at) => (isAudit(at) ? otherSeed(honest) : honest),
	},
	{
		...{ name: "auditor that echoes", party: "auditor", ends: "unpaid" },
		desk: (honest) => ({
			...honest,
			async upload(from, signal) {
				if (!("bytes" in from)) return honest.upload(from, signal);
				// It knows the state before its window, and nothing else.
				const [first, count] = [from.bytes.subarray(0, 32), from.bytes.length / 32];
				return honest.upload({ bytes: Buffer.concat(Array.from({ length: count }, () => first)) }, signal);
			},
		}),
	},
	{
		...{ name: "auditor that is silent", party: "auditor", ends: "unpaid" },
		desk: (honest) => ({ ...honest, answerAudit: async () => {} }),
	},
];
