// The page's side of the job worker: questions and answers by number; files of the samples are fetched for
// it, since it has no connection.
import { AssayError } from "../../../src/protocol/assay-error.ts";
import type { Code } from "../../../src/protocol/codes.ts";
import { jobWorkerUrl } from "../../shell/trusted-url.ts";
import type { Asks, Progress, Question, Word } from "./job-worker.ts";
import { sampleFile } from "./samples.ts";

export interface JobWork {
	ask<Name extends keyof Asks>(
		ask: Name,
		of: Parameters<Asks[Name]>[0],
		onProgress?: (progress: Progress) => void,
	): Promise<Awaited<ReturnType<Asks[Name]>>>;
	close(): void;
}

const closed = () => new DOMException("closed", "AbortError");

export function openJobWork(): JobWork {
	const worker = new Worker(jobWorkerUrl(), { type: "module" });
	interface Asked {
		readonly resolve: (value: never) => void;
		readonly reject: (error: unknown) => void;
		readonly onProgress: ((progress: Progress) => void) | undefined;
	}
	const open = new Map<number, Asked>();
	let asked = 0;
	let isClosed = false;
	const failAll = (error: unknown) => {
		for (const { reject } of open.values()) reject(error);
		open.clear();
	};
	worker.onmessage = async ({ data }: MessageEvent<Word>) => {
		if ("need" in data) return worker.postMessage({ given: data.need, bytes: await sampleFile(data.need) });
		const found = open.get(data.id);
		if ("progress" in data) return found?.onProgress?.(data.progress);
		open.delete(data.id);
		if (data.ok) found?.resolve(data.value as never);
		else found?.reject(new AssayError(data.code as Code, data.detail, { hint: data.hint }));
	};
	worker.onerror = () =>
		failAll(
			new AssayError("INTERNAL", "the part that builds jobs could not be started", { hint: "Load the page again." }),
		);
	return {
		ask(ask, of, onProgress) {
			return new Promise((resolve, reject) => {
				if (isClosed) return reject(closed());
				const id = ++asked;
				open.set(id, { resolve, reject, onProgress });
				worker.postMessage({ id, ask, of } satisfies Question);
			});
		},
		close() {
			isClosed = true;
			worker.terminate();
			failAll(closed());
		},
	};
}
