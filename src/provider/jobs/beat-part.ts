// Signs of life of a running part: how far it is, its metrics, and pictures of how it goes. Only what is on
// disk is told of: a provider that is killed after it never has to take a word back. A validator that says
// stop, or that the part is another's, ends the run; one that is silent does not.
import type { After } from "../../platform/abortable.ts";
import { repeat } from "../../platform/repeat.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { AskedPart, Beat, JobDesk } from "./job-desk.ts";
import type { RunEvent } from "./run-part.ts";

/** Of one beat; those in between are left out, evenly. */
const MOST_METRICS = 200;

export interface BeatOptions {
	readonly desk: Pick<JobDesk, "beat">;
	readonly asked: AskedPart;
	readonly everyMs: number;
	readonly after: After;
	/** The first segment of the part, and how many were told as done before. */
	readonly first: number;
	readonly done: number;
	/** The part is not ours any more. */
	readonly onStop: (why: string) => void;
	readonly onError: (error: unknown) => void;
}

export type PreviewBlob = Beat["previews"][number];

export type Beats = ReturnType<typeof createBeats>;

export function createBeats({ desk, asked, everyMs, after, first, onStop, onError, ...before }: BeatOptions) {
	/** Never less than was said: an earlier state may have to be gone on with. */
	let { done } = before;
	/** Not saved yet; saved, and not told. */
	let fresh: Beat["metrics"] = [];
	let told: Beat["metrics"] = [];
	let previews: readonly PreviewBlob[] = [];
	const beat = async () => {
		const metrics = thinned(told);
		const [sent, shown] = [told, previews];
		try {
			const { go } = await desk.beat(asked, { done, metrics, previews: [...shown] });
			told = told.slice(sent.length);
			if (previews === shown) previews = [];
			if (!go) onStop("the validator says stop");
		} catch (error) {
			if (error instanceof AssayError && GONE.has(error.code)) onStop(error.message);
			else throw error;
		}
	};
	let beating: ReturnType<typeof repeat> | null = null;
	return {
		/** Once the validator knows that the part is ours. */
		begin(): void {
			beating ??= repeat({ everyMs, after, onError }, beat);
		},
		onEvent(event: RunEvent): void {
			if (event.kind === "metrics" && !event.isRepeated)
				fresh.push({ step: event.step, values: event.values.map((one) => (Number.isFinite(one) ? one : 0)) });
			if (event.kind !== "saved") return;
			done = Math.max(done, event.before - first);
			told = [...told, ...fresh].slice(-MOST_UNTOLD);
			fresh = [];
		},
		/** Uploaded already. */
		show(blobs: readonly PreviewBlob[]): void {
			previews = blobs;
		},
		/**
		 * What was saved since the last sign of life is told first: a short part would show its customer nothing.
		 */
		async stop(): Promise<void> {
			await beating?.stop();
			if (beating !== null && told.length + previews.length > 0) await beat().catch(onError);
		},
	};
}

/** While a validator does not answer: newer ones are worth more. */
const MOST_UNTOLD = 20_000;
/** It was given to another, or is over. */
const GONE: ReadonlySet<string> = new Set(["JOB_STATE", "JOB_UNKNOWN", "ROLE_WRONG"]);

function thinned(metrics: Beat["metrics"]): Beat["metrics"] {
	const every = Math.max(1, Math.ceil(metrics.length / MOST_METRICS));
	// The newest one always.
	return metrics.filter((_, i) => (metrics.length - 1 - i) % every === 0);
}
