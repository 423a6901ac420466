// From a job file and the command line to what strangers are asked for: the workload, its spec, the blobs
// that it names, and the customer's limits. Everything that is wrong with the job itself is found here,
// before anything is uploaded.
import { basename, resolve } from "node:path";
import { type BlobRoots, nameBlob } from "../../api/blob-transfer.ts";
import { type JobOrder, parseMethod, readOrder } from "../../market/jobs/read-order.ts";
import { foldPieces } from "../../platform/blob-tree.ts";
import { safeText } from "../../protocol/bytes/safe-text.ts";
import type { JobSpec } from "../../protocol/network/job-spec.ts";
import { orThrow } from "../../work/program/fault.ts";
import { sealProgram } from "../../work/program/open-program.ts";
import { type SpecBlob, specOfWorkload } from "../../work/workloads/spec-of-workload.ts";
import type { Workload } from "../../work/workloads/workload.ts";
import type { CliIo } from "../command.ts";
import { parsedJob, workloadOf } from "../run-job-file.ts";

export interface OrderValues {
	readonly steps: number | undefined;
	readonly method: string | undefined;
	readonly "most-price": number | undefined;
	readonly "most-minutes": number | undefined;
	readonly "price-per-hour": number | undefined;
}

export interface PreparedJob {
	/** The job file, absolute. */
	readonly path: string;
	/** As it is kept: with what --steps changed. */
	readonly text: string;
	readonly workload: Workload;
	readonly order: JobOrder;
	readonly spec: JobSpec;
	readonly blobs: readonly (SpecBlob & { readonly named: BlobRoots })[];
}

const MICROS = 1_000_000;
const MINUTE = 60_000;

/**
 * Throws the reason of `interrupted`: what a job is given may have gigabytes, and nobody waits for their
 * hashes then.
 */
export async function prepareJob(
	file: string,
	values: OrderValues,
	{ cwd, interrupted }: Pick<CliIo, "cwd" | "interrupted">,
): Promise<PreparedJob> {
	const path = resolve(cwd, file);
	const { text, json } = parsedJob(path, values.steps);
	const said = readOrder(json);
	const order: JobOrder = {
		method: values.method === undefined ? said.method : parseMethod(values.method),
		mostMicros: values["most-price"] === undefined ? said.mostMicros : Math.floor(values["most-price"] * MICROS),
		hourMicros:
			values["price-per-hour"] === undefined ? said.hourMicros : Math.floor(values["price-per-hour"] * MICROS),
		mostMs: values["most-minutes"] === undefined ? said.mostMs : Math.floor(values["most-minutes"] * MINUTE),
	};
	const workload = await workloadOf(path, json, { interrupted });
	// As the validator and every provider will: a program that overflows is refused here, with its place.
	orThrow(sealProgram(workload.program));
	const title = safeText(basename(path).replace(/\.json$/, "")).slice(0, 100);
	const kind = String((json as { readonly workload: unknown }).workload);
	const named = new Map<string, BlobRoots>();
	// By OpenSSL.
	const rootOf = async (bytes: Uint8Array): Promise<Uint8Array> => {
		const found = await nameBlob({ bytes }, interrupted);
		named.set(found.blob.root, found);
		return foldPieces(found.roots);
	};
	const { spec, blobs } = await specOfWorkload(workload, { title, kind, method: order.method, rootOf });
	return { path, text, workload, order, spec, blobs: blobs.map((one) => ({ ...one, named: named.get(one.root)! })) };
}
