// The engine under one probe: the sessions that stand on it, and by when it must answer. What is asked is
// run-stage.ts's and run-warm-ups.ts's; nothing is judged or recorded here.
import type { EngineClient } from "../../engine/client/create-engine-client.ts";
import type { Answer, OpeningRecord, RunOptions } from "../../engine/client/engine-answers.ts";
import type { Place } from "../../engine/wire/frame-table.ts";
import { isOverKept } from "../../protocol/probe/challenge-shape.ts";
import type { ChallengeSpec, OpenedWhat, Reading, TrainSpec } from "../../protocol/probe/evidence.ts";
import type { AnsweredChallenge } from "../../protocol/probe/evidence-codec.ts";
import { beforeDeadline, type HeldTraining, openTraining, runTraining } from "./run-training.ts";

/** READ is answered at once, whatever else runs; only a stuck link takes this long. */
const READ_DEADLINE_MS = 60_000;

export type Opening = AnsweredChallenge["opens"][number];
type Unsampled<S> = S extends unknown ? Omit<S, "samples"> : never;
type Run = Unsampled<Exclude<ChallengeSpec, TrainSpec>>;

/** `answerMs` takes the place of what a run's caller allows; null leaves it to the caller. */
interface Deadlines {
	readonly openMs: number;
	readonly releaseMs: number;
	readonly answerMs: number | null;
}

interface ChallengeOptions extends Pick<RunOptions, "deadlineMs" | "stop"> {
	readonly onRoot: (elapsedUs: number) => void;
}

export class ProbeEngine {
	private readonly client: EngineClient;
	private readonly clockUs: () => number;
	private readonly deadlines: Deadlines;
	/** Challenges that the engine still holds. */
	private readonly held = new Map<number, ChallengeSpec>();
	/** Training runs whose traces are not opened yet. */
	private readonly trained = new Map<number, HeldTraining>();

	constructor(client: EngineClient, clockUs: () => number, deadlines: Deadlines) {
		this.client = client;
		this.clockUs = clockUs;
		this.deadlines = deadlines;
	}

	/** A run that is recorded. Until `hold` says otherwise the engine keeps nothing of it. */
	async challenge(
		challenge: number,
		spec: ChallengeSpec,
		seed: Uint8Array,
		{ onRoot: tell, ...options }: ChallengeOptions,
	): Promise<Answer> {
		let sentAtUs = this.clockUs();
		const onRoot = ({ atUs }: { readonly atUs: number }) => tell(Math.max(1, atUs - sentAtUs));
		if (spec.kind !== "train") return this.send(challenge + 1, spec, seed, { ...options, onRoot });
		// Before it come the program and its tables.
		const onSeed = (atUs: number) => {
			sentAtUs = atUs;
		};
		const open = this.client.openWork.bind(this.client);
		const { answer, held } = await this.beforeDeadline(this.deadlines.answerMs ?? options.deadlineMs, () =>
			runTraining(open, spec, seed, { clockUs: this.clockUs, onSeed, onRoot }),
		);
		if (held !== null) this.trained.set(challenge, held);
		return answer;
	}

	/** Any run, recorded or not. A stream or copy runs over its gemm's session. */
	send(session: number, run: Run, seed: Uint8Array, options: RunOptions): Promise<Answer> {
		const within = { ...options, deadlineMs: this.deadlines.answerMs ?? options.deadlineMs };
		return sendRun(this.client, run, session, seed, within);
	}

	/** Null: it gave none. */
	read(device: number): Promise<Reading | null> {
		return this.client.read(device, { deadlineMs: READ_DEADLINE_MS });
	}

	async open(
		challenge: number,
		spec: ChallengeSpec,
		what: Exclude<OpenedWhat, "trace">,
		places: readonly Place[],
	): Promise<Opening> {
		const session = (isOverKept(spec) ? spec.of : challenge) + 1;
		const wanted = spec.kind === "copy" && what === "digests" ? "copied-digests" : what;
		const asked = { session, what: wanted, places } as const;
		const { sentAtUs, receivedAtUs, end, openings } = await this.client.open(asked, {
			deadlineMs: this.deadlines.openMs,
		});
		return { what, sentAtUs, receivedAtUs, end, records: openings.map(toRecord) };
	}

	/** Of a training run that is still held; `record` is called with each opening as it ends. */
	async openTraining(challenge: number, spec: TrainSpec, seed: Uint8Array, record: (open: Opening) => void) {
		const held = this.trained.get(challenge);
		if (held === undefined) return;
		await this.beforeDeadline(this.deadlines.openMs, () => openTraining(held, spec, seed, this.clockUs, record));
		this.trained.delete(challenge);
	}

	hold(challenge: number, spec: ChallengeSpec): void {
		this.held.set(challenge, spec);
	}

	/** Frees what the engine still holds for these challenges. */
	async releaseAll(isDone: (challenge: number, device: number) => boolean): Promise<void> {
		for (const [challenge, spec] of [...this.held]) {
			// A stream or copy has no session of its own: it runs over its gemm's.
			if (isOverKept(spec)) this.held.delete(challenge);
			else if (isDone(challenge, spec.device)) {
				this.held.delete(challenge);
				await this.release(challenge + 1);
			}
		}
	}

	async release(session: number): Promise<void> {
		await this.client.release(session, { deadlineMs: this.deadlines.releaseMs });
	}

	private beforeDeadline<T>(deadlineMs: number, act: () => Promise<T>): Promise<T> {
		return beforeDeadline(deadlineMs, () => this.client.close(), act);
	}
}

function sendRun(
	client: EngineClient,
	run: Run,
	session: number,
	seed: Uint8Array,
	options: RunOptions,
): Promise<Answer> {
	const { device } = run;
	if (run.kind === "stream") {
		const { newest, passes } = run;
		return client.stream({ session: run.of + 1, reader: device, newest, passes, nonce: seed }, options);
	}
	if (run.kind === "chase")
		return client.chase({ session: run.of + 1, newest: run.newest, intervals: run.intervals, nonce: seed }, options);
	if (run.kind === "copy")
		return client.copy({ session: run.of + 1, device, newest: run.newest, nonce: seed }, options);
	if (run.kind === "gemm") {
		const { precision, m, n, k, rounds, keep } = run;
		return client.gemm({ session, device, precision, m, n, k, rounds, keep, seed }, options);
	}
	const { precision, lanes, steps, rounds } = run;
	return client.fma({ session, device, precision, lanes, steps, rounds, seed }, options);
}

export function toRecord({ round, index, leaf, path }: OpeningRecord) {
	const nodes = Array.from({ length: path.length / 32 }, (_, i) => path.subarray(32 * i, 32 * (i + 1)));
	return { round, index, leaf, path: nodes };
}
