// Where the program of a thread lies: beside the file that starts it, as TypeScript or packed.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Null: nowhere; then whoever asks does the work itself. */
export function threadFile(name: string, besideUrl: string): URL | null {
	const found = [".ts", ".mjs"].map((end) => new URL(`./${name}${end}`, besideUrl));
	return found.find((url) => existsSync(fileURLToPath(url))) ?? null;
}
