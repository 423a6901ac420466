// The vendors' files that signed reports of probes are judged by (docs/attestation.md): a bundle of `assay
// attest update`, or a release's snapshot. Those that fit go into the evidence, which is judged by them ever
// after. Read again when the file has changed.
import { stat } from "node:fs/promises";
import type { Logger } from "pino";
import { readIfPresent } from "../../platform/durable-file.ts";
import { type CollateralItem, decodeBundle } from "../../verify/attestation/collateral/bundle.ts";

/**
 * Of `paths`, the first that is there. What cannot be read is told once and changes nothing: no host is to
 * blame for it.
 */
export function createCollateral(
	paths: readonly string[],
	log: Pick<Logger, "warn">,
): () => Promise<readonly CollateralItem[]> {
	let items: readonly CollateralItem[] = [];
	let seen = "";
	let reading: Promise<void> = Promise.resolve();
	const look = async (): Promise<void> => {
		const found = await firstOf(paths);
		if (found.mark === seen) return;
		seen = found.mark;
		const file = found.path === null ? null : await readIfPresent(found.path);
		const decoded = file === null ? null : decodeBundle(new Uint8Array(file));
		if (decoded === null) items = [];
		else if (decoded.ok) items = decoded.bundle.items;
		else log.warn({ path: found.path, detail: decoded.detail }, "no bundle of collateral; the one before it counts");
	};
	return async () => {
		// One at a time: a bundle may be large, and many probes begin at once.
		reading = reading.then(look).catch((err: unknown) => log.warn({ err }, "collateral cannot be read"));
		await reading;
		return items;
	};
}

async function firstOf(paths: readonly string[]): Promise<{ readonly path: string | null; readonly mark: string }> {
	for (const path of paths) {
		const found = await stat(path).catch(() => null);
		if (found?.isFile()) return { path, mark: `${path} ${found.ino} ${found.size} ${found.ctimeMs}` };
	}
	return { path: null, mark: "" };
}
