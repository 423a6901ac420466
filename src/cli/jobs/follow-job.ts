// A job while strangers work at it: one line for each transition, the curve of its first metric, and its
// picture as far as it is, until it is over; a validator that is away for minutes is waited for. What is
// shown comes from the provider's heartbeats and proves nothing; the claim does.

import { fetchBlob } from "../../api/blob-transfer.ts";
import type { ApiClient } from "../../api/create-client.ts";
import { createPatience } from "../../api/patience.ts";
import type { NetworkEvent } from "../../api/types.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { hex, int, list, object, type Shape, type Typed } from "../../protocol/bytes/shape.ts";
import { isPassing } from "../../protocol/passing.ts";
import type { CliIo } from "../command.ts";
import { paintFor } from "../print/paint.ts";
import { createRunProgress, type RunProgress } from "../print/run-progress.ts";
import { detailOf, eventLine } from "./job-lines.ts";

const preview = object({ tensor: int(0, 0xffff), root: hex(32), size: int(1, 2 ** 31) });
const previews: Shape<readonly Typed<typeof preview>[]> = list(preview, 8);

export interface FollowedJob {
	readonly id: string;
	readonly metrics: readonly { readonly label: string; readonly unit: string }[];
	/** Steps of the whole job; what a curve counts to. */
	readonly steps: number;
	/** Writes what previews show; null: nothing does. */
	readonly preview: ((elements: ReadonlyMap<number, Uint8Array>) => Promise<string>) | null;
	/** Goes on beside it, until the signal; null: nothing does. */
	readonly beside: ((o: { say: (text: string) => void; signal: AbortSignal }) => Promise<void>) | null;
}

/** Resolves when the job is over: true; false: the user has seen enough. */
export async function followJob(
	api: ApiClient,
	{ id, metrics, steps, preview, beside }: FollowedJob,
	io: CliIo,
	nowMs: () => number,
): Promise<boolean> {
	const paint = paintFor(io.err, io.env);
	let progress: RunProgress | null = null;
	const print = (text: string): void => {
		if (progress === null) io.err.write(`${text}\n`);
		else progress.print(text);
	};
	const show = async (event: NetworkEvent): Promise<void> => {
		const line = eventLine(event, paint);
		if (line !== null) return print(`  ${line}`);
		const detail = detailOf(event);
		if (event.kind === "job.metrics") {
			progress ??= createRunProgress(io.err, metrics, steps, nowMs);
			for (const { step, values } of metricsOf(detail, metrics.length))
				progress.show({ kind: "metrics", step, values, isRepeated: false });
		}
		if (event.kind === "job.preview" && preview !== null && previews(detail.previews, "") === null) {
			const made = await fetchPreviews(api, id, detail.previews as Typed<typeof previews>).then(preview, tolerate);
			if (made !== null) print(`  ${paint.dim(`${made} shows how far it is`)}`);
		}
	};
	const ended = new AbortController();
	const besides = beside?.({ say: print, signal: AbortSignal.any([io.interrupted, ended.signal]) });
	const patience = createPatience({ signal: io.interrupted });
	let isAway = false;
	try {
		for (let lastEventId = "0"; ; )
			try {
				for await (const event of api.watchJob({ params: { id } }, { signal: io.interrupted, lastEventId })) {
					[lastEventId, isAway] = [event.id, false];
					patience.renew();
					await show(event);
					if (event.kind === "job.over") return true;
				}
				return true;
			} catch (error) {
				const wait = patience.wait(error);
				if (isPassing(error) && !isAway) print(`  ${paint.dim("the validator is away; the job goes on without it")}`);
				isAway = true;
				await wait;
			}
	} catch (error) {
		if (io.interrupted.aborted) return false;
		throw error;
	} finally {
		ended.abort();
		await besides;
		(progress as RunProgress | null)?.end();
	}
}

/** A picture that did not come is no reason to stop looking. */
function tolerate(error: unknown): null {
	if (error instanceof AssayError) return null;
	throw error;
}

async function fetchPreviews(api: ApiClient, job: string, named: Typed<typeof previews>) {
	const found = new Map<number, Uint8Array>();
	for (const { tensor, root, size } of named) found.set(tensor, await fetchBlob(api, { root, size }, { job }));
	return found;
}

/** Values by metric, where all are numbers. */
function metricsOf({ metrics }: ReturnType<typeof detailOf>, count: number) {
	if (!Array.isArray(metrics)) return [];
	return metrics.flatMap((one: unknown) => {
		const { step, values } = (one ?? {}) as { step?: unknown; values?: unknown };
		const isWhole = Number.isSafeInteger(step) && Array.isArray(values) && values.length === count && count > 0;
		return isWhole && (values as unknown[]).every((value) => typeof value === "number")
			? [{ step: step as number, values: values as number[] }]
			: [];
	});
}
