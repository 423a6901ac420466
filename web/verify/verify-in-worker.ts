// Hands a file to the verifier's worker and gives what it says. A worker that fails is an error, never a
// verdict.
import { rollCallWorkerUrl, trainingWorkerUrl, verifierWorkerUrl } from "../shell/trusted-url.ts";
import type { AttestationQuestion } from "./judge-attestation.ts";
import type { RollQuestion, RollWord } from "./roll-call-worker.ts";
import type { TrainingQuestion, TrainingWord } from "./training-worker.ts";
import type { WorkerQuestion, WorkerWord } from "./verifier-worker.ts";

/** A file to be judged, as the page has it. */
export interface VerifiedFile {
	readonly name: string;
	readonly bytes: Uint8Array;
}

export type Verified = Extract<WorkerWord, { kind: "verdict" }>;
export type Progress = Exclude<WorkerWord, { kind: "verdict" | "attestation" }>;

export const verifyInWorker = (
	bytes: Uint8Array,
	onProgress: (word: Progress) => void,
	signal: AbortSignal,
): Promise<Verified> =>
	inWorker<WorkerQuestion, WorkerWord, Verified>(verifierWorkerUrl(), { bytes }, signal, (word) => {
		if (word.kind === "verdict") return word;
		if (word.kind !== "attestation") onProgress(word);
		return null;
	});

export type AttestationWord = Extract<WorkerWord, { kind: "attestation" }>;

export const attestationInWorker = (attestation: AttestationQuestion, signal: AbortSignal): Promise<AttestationWord> =>
	inWorker<WorkerQuestion, WorkerWord, AttestationWord>(verifierWorkerUrl(), { attestation }, signal, (word) =>
		word.kind === "attestation" ? word : null,
	);

export const rollCallInWorker = (
	question: RollQuestion,
	signal: AbortSignal,
): Promise<Extract<RollWord, { ok: true }>> =>
	inWorker<RollQuestion, RollWord, Extract<RollWord, { ok: true }>>(rollCallWorkerUrl(), question, signal, (word) => {
		if (!word.ok) throw new Error(word.detail);
		return word;
	});

export const trainingInWorker = (question: TrainingQuestion, signal: AbortSignal): Promise<TrainingWord> =>
	inWorker<TrainingQuestion, TrainingWord, TrainingWord>(trainingWorkerUrl(), question, signal, (word) => word);

/** `read` gives the last word, or null where more follow. */
function inWorker<Question, Word, Last>(
	url: string,
	question: Question,
	signal: AbortSignal,
	read: (word: Word) => Last | null,
): Promise<Last> {
	return new Promise((resolve, reject) => {
		const worker = new Worker(url, { type: "module" });
		const end = (act: () => void) => {
			worker.terminate();
			act();
		};
		signal.addEventListener("abort", () => end(() => reject(signal.reason)), { once: true });
		worker.onmessage = ({ data }: MessageEvent<Word>) => {
			try {
				const last = read(data);
				if (last !== null) end(() => resolve(last));
			} catch (error) {
				end(() => reject(error));
			}
		};
		worker.onerror = () => end(() => reject(new Error("the verifier could not be started; load the page again")));
		worker.postMessage(question);
	});
}
