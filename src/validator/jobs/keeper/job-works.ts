// Programs of jobs, opened: from the blobs that their holder has. A program has a MiB at most; those in use are kept opened.
import { BoundedMap } from "../../../platform/bounded-map.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { JobSpec } from "../../../protocol/network/job-spec.ts";
import type { Blobs } from "../../../store/blobs/blob-store.ts";
import { type JobWork, openJobWork } from "../../../work/program/job-work.ts";
import { LIMITS } from "../../../work/program/shapes.ts";
import { jobHolder } from "../blobs/blob-holders.ts";

const MOST_OPEN = 64;

export type JobWorks = ReturnType<typeof createJobWorks>;

export function createJobWorks({ blobs }: { readonly blobs: Blobs }) {
	const opened = new BoundedMap<string, JobWork>(MOST_OPEN);

	async function open(spec: JobSpec, holder: string): Promise<JobWork> {
		const { size } = spec.program;
		if (size > LIMITS.bytes)
			throw new AssayError("PROGRAM_LIMIT", `a program has at most ${LIMITS.bytes} bytes, not ${size}`);
		const bytes = await blobs.read(holder, spec.program, 0, size).catch((error: unknown) => {
			if (!(error instanceof AssayError) || error.code !== "BLOB_UNKNOWN") throw error;
			throw missing([`the program (${spec.program.root})`]);
		});
		return openJobWork(spec, bytes);
	}

	return {
		open,
		async ofJob({ id, spec }: { readonly id: string; readonly spec: JobSpec }): Promise<JobWork> {
			const work = opened.get(id) ?? (await open(spec, jobHolder(id)));
			opened.set(id, work);
			return work;
		},
	};
}

const MOST_NAMED = 5;
export const missing = (names: readonly string[]): AssayError =>
	new AssayError(
		"JOB_INPUTS",
		`the validator does not have ${names.slice(0, MOST_NAMED).join(", ")}${names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : ""}`,
		{ hint: "Upload them first." },
	);
