// Programs of threads: where one lies, beside the file that starts it, as TypeScript or packed; its start.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker, type WorkerOptions } from "node:worker_threads";

/** Null: nowhere; then whoever asks does the work itself. */
export function threadFile(name: string, besideUrl: string): URL | null {
	const found = [".ts", ".mjs"].map((end) => new URL(`./${name}${end}`, besideUrl));
	return found.find((url) => existsSync(fileURLToPath(url))) ?? null;
}

/**
 * It sees nothing of our environment but where Node keeps what it compiled: without that, a thread of a
 * checkout would load Node's compiler for types and hold it for as long as it lives.
 */
export function startThread(file: URL, options: Pick<WorkerOptions, "workerData" | "resourceLimits"> = {}): Worker {
	const { NODE_COMPILE_CACHE } = process.env;
	const env = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
	return new Worker(file, { ...options, env, stdout: false });
}
