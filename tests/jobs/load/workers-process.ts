// A process full of toy hosts for the job market under load: real agent links, real routes, real blobs. All
// jobs compute the same, so the work itself is done once and then told; what is measured is the market. What
// was acknowledged goes into a file before anything else is said, so that it outlives a kill. Started by
// startChild. Killed, its hosts have forgotten what they were at.
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { uploadBlob } from "../../../src/api/blob-transfer.ts";
import { type ApiClient, createApiClient } from "../../../src/api/create-client.ts";
import type { PartOffer } from "../../../src/api/types.ts";
import { createSemaphore } from "../../../src/platform/semaphore.ts";
import { concatBytes } from "../../../src/protocol/bytes/bytes.ts";
import { isPassing } from "../../../src/protocol/passing.ts";
import { answerParent, usageOfThis } from "../../network/child-program.ts";
import { kindNamed } from "../../network/simulated-kinds.ts";
import { runSimulatedProvider, simulatedSigner } from "../../network/simulated-provider.ts";
import { claimBody, run } from "../toy-part.test-kit.ts";

export interface StartWorkers {
	/** One dials the first, the next the second, and so on. */
	readonly urls: readonly string[];
	/** Of the validator. */
	readonly audience: string;
	/** Number of the first. */
	readonly from: number;
	readonly count: number;
	/** A part or audit takes so long at least, and at most. */
	readonly workMs: readonly [least: number, most: number];
	readonly beatMs: number;
	/** What was acknowledged, a JSON object a line. */
	readonly acknowledged: string;
}

/** One line of that file. `what`: which event of the job must be there. */
export interface Acknowledged {
	readonly what: "running" | "claimed" | "answered";
	readonly job: string;
	readonly part: number;
	readonly attempt: number;
	readonly provider: string;
	/** A claim's hash, or the number of an audit. */
	readonly detail: string | number | null;
}

export interface WorkersStatus {
	readonly dialled: number;
	/** Milliseconds of requests that were answered since this was asked last. */
	readonly took: readonly number[];
	readonly errors: readonly string[];
}

type Task = Pick<Acknowledged, "job" | "part" | "attempt"> & { readonly audit: number | null };

const PATIENCE_MS = 60_000;
const DIALLING_AT_ONCE = 16;
const MEMORY = 2 ** 30;
const dialled = new Set<number>();
let took: number[] = [];
const errors: string[] = [];
/** By first segment and count. */
const ran = new Map<string, ReturnType<typeof run>>();

async function patient<T>(act: () => Promise<T>): Promise<T> {
	const untilMs = Date.now() + PATIENCE_MS;
	for (;;) {
		const beganMs = performance.now();
		try {
			const answer = await act();
			took.push(performance.now() - beganMs);
			return answer;
		} catch (error) {
			if (!isPassing(error) || Date.now() > untilMs) throw error;
			await sleep(200);
		}
	}
}

function runOnce(client: ApiClient, offer: PartOffer): ReturnType<typeof run> {
	const name = `${offer.spec.program.root} ${offer.first} ${offer.count}`;
	// As an audit: those send no beats.
	const known = ran.get(name) ?? run(client, { ...offer, audit: 0 }, {});
	ran.set(name, known);
	known.catch(() => ran.delete(name));
	return known;
}

/** Beats until the work's time is over; false: it was told to stop. */
async function beatFor(o: StartWorkers, client: ApiClient, { attempt, ...task }: Task, ms: number): Promise<boolean> {
	const untilMs = Date.now() + ms;
	for (let step = 0; Date.now() < untilMs; step++) {
		await sleep(Math.min(o.beatMs, Math.max(0, untilMs - Date.now())));
		const body = { attempt, done: 0, metrics: [{ step, values: [step] }], previews: [] };
		const params = { id: task.job, part: task.part };
		if (!(await patient(() => client.beatPart({ params, body }))).go) return false;
	}
	return true;
}

async function work(o: StartWorkers, client: ApiClient, provider: string, task: Task): Promise<void> {
	const { job, part, attempt, audit } = task;
	const params = { id: job, part };
	const acknowledged = (what: Acknowledged["what"], detail: Acknowledged["detail"] = null) => {
		const line: Acknowledged = { what, job, part, attempt, provider, detail };
		appendFileSync(o.acknowledged, `${JSON.stringify(line)}\n`);
	};
	const [least, most] = o.workMs;
	const ms = least + (most - least) * Math.random();
	const offer = await patient(() => client.getPartOffer({ params, query: audit === null ? {} : { audit } }));
	const made = await runOnce(client, offer);
	const bytes = concatBytes(...made.states);
	if (audit !== null) {
		await sleep(ms);
		const states = await uploadBlob(client, { bytes });
		await patient(() => client.answerAudit({ params: { ...params, at: audit }, body: { attempt, states } }));
		return acknowledged("answered", audit);
	}
	await patient(() => client.acceptPart({ params, body: { attempt } }));
	acknowledged("running");
	if (!(await beatFor(o, client, task, ms))) return;
	const body = await claimBody(client, attempt, await uploadBlob(client, { bytes }), made);
	const { claim } = await patient(() => client.claimPart({ params, body }));
	acknowledged("claimed", claim);
}

/** A part that went to another meanwhile is no mistake of anybody's. */
const EXPECTED = ["JOB_STATE", "JOB_UNKNOWN"];

function startHost(o: StartWorkers, number: number, dialling: ReturnType<typeof createSemaphore>): void {
	const signer = simulatedSigner(number);
	const url = o.urls[number % o.urls.length]!;
	const client = createApiClient({ baseUrl: url, signer, audience: o.audience });
	const tasks = new Set<string>();
	void runSimulatedProvider({
		...{ number, kind: kindNamed("honest"), url, turn: createSemaphore(1), dialling },
		signal: new AbortController().signal,
		onConnected: () => dialled.add(number),
		jobs: {
			offer: {
				...{ account: null, consent: null, pricePerHourMicros: 3_600_000 },
				...{ mostBondMicros: Number.MAX_SAFE_INTEGER, memoryBytes: MEMORY, minutes: 60, devices: [0] },
				methods: ["redundant", "sampled", "optimistic"],
			},
			handlers: {
				async job({ job, part, attempt, audit }) {
					const task = { job, part, attempt, audit };
					const name = JSON.stringify(task);
					if (tasks.has(name)) return;
					tasks.add(name);
					work(o, client, signer.key, task).catch((error: Error & { code?: string }) => {
						if (!EXPECTED.includes(error.code ?? "")) errors.push(`${error.code}: ${error.message}`);
						tasks.delete(name);
					});
				},
				async stop() {},
			},
		},
	});
}

answerParent({
	start(o: StartWorkers) {
		const dialling = createSemaphore(DIALLING_AT_ONCE);
		for (let i = 0; i < o.count; i++) startHost(o, o.from + i, dialling);
	},
	status(): WorkersStatus {
		const status = { dialled: dialled.size, took, errors: errors.splice(0) };
		took = [];
		return status;
	},
	usage: usageOfThis,
});
