// Brings everything that a part needs into the folder of its run: the program, constants, inputs, the state
// that it begins with. Each is checked by its root as it comes; what is there already is not fetched again,
// and a download that goes on for ever ends with the signal.
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { TRANSFERS_AT_ONCE } from "../../api/blob-transfer.ts";
import { isThere, readIfPresent } from "../../platform/durable-file.ts";
import { someAtOnce } from "../../platform/some-at-once.ts";
import type { BlobName } from "../../protocol/network/job-spec.ts";
import type { Program } from "../../work/program/shapes.ts";
import { blobsOf, checkProgram } from "./check-offer.ts";
import type { JobDesk, PartOffer } from "./job-desk.ts";

/** Throws JOB_DECLINED, PROGRAM_…, and what the desk says. */
export async function fetchPart(
	desk: Pick<JobDesk, "download">,
	offer: PartOffer,
	path: string,
	signal: AbortSignal,
): Promise<Program> {
	const store = join(path, "store");
	await mkdir(store, { recursive: true });
	const bring = async (blob: BlobName, to: string): Promise<void> => {
		if (await isThere(to)) return;
		await desk.download(offer.id, blob, to, signal);
		// The engine is a user of its own where it can be; the folder around it is its owner's alone.
		await chmod(to, 0o644);
	};
	const programPath = join(path, "program.fetched");
	await bring(offer.spec.program, programPath);
	// A program that is not the one of the terms is found out before gigabytes of inputs come.
	const program = checkProgram(offer, (await readIfPresent(programPath))!);
	// Of tensors with one root and different lengths one file is enough: whoever loads it cuts or fills it with
	// zeros.
	const byRoot = new Map(blobsOf(offer).map((blob) => [blob.root, blob]));
	await someAtOnce(byRoot.values(), TRANSFERS_AT_ONCE, (blob) => bring(blob, join(store, blob.root)));
	return program;
}
