// Hands a file to the verifier's worker and gives what it says. A worker that fails is an error, never a verdict.
import { verifierWorkerUrl } from "../shell/trusted-url.ts";
import type { WorkerQuestion, WorkerWord } from "./verifier-worker.ts";

export type Verified = Extract<WorkerWord, { kind: "verdict" }>;
export type Progress = Exclude<WorkerWord, { kind: "verdict" }>;

export function verifyInWorker(
	bytes: Uint8Array,
	onProgress: (word: Progress) => void,
	signal: AbortSignal,
): Promise<Verified> {
	return new Promise((resolve, reject) => {
		const worker = new Worker(verifierWorkerUrl(), { type: "module" });
		const end = (act: () => void) => {
			worker.terminate();
			act();
		};
		signal.addEventListener("abort", () => end(() => reject(signal.reason)), { once: true });
		worker.onmessage = ({ data }: MessageEvent<WorkerWord>) => {
			if (data.kind === "verdict") end(() => resolve(data));
			else onProgress(data);
		};
		worker.onerror = () => end(() => reject(new Error("the verifier could not be started; load the page again")));
		const question: WorkerQuestion = { bytes };
		worker.postMessage(question);
	});
}
