// Programs of jobs, opened: from the blobs that their holder has. A program has a MiB at most; those in use
// are kept opened, by their bytes' name, since many jobs have the same one. ATTACK: who names another's
// program must not be told what it is: whatever is kept, the holder must have its bytes.
import { BoundedMap } from "../../../platform/bounded-map.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { JobSpec } from "../../../protocol/network/job-spec.ts";
import type { Blobs } from "../../../store/blobs/blob-store.ts";
import { type JobWork, openProgramWork, type ProgramWork, workOfJob } from "../../../work/program/job-work.ts";
import { LIMITS } from "../../../work/program/shapes.ts";
import { jobHolder } from "../blobs/blob-holders.ts";

const MOST_OPEN = 64;
/** What a job adds to its program is two short strings. */
const MOST_JOBS = 10_000;

export type JobWorks = ReturnType<typeof createJobWorks>;

export function createJobWorks({ blobs }: { readonly blobs: Pick<Blobs, "read"> }) {
	const programs = new BoundedMap<string, ProgramWork>(MOST_OPEN);
	const jobs = new BoundedMap<string, Pick<JobWork, "inputs" | "perWindow">>(MOST_JOBS);
	const nameOf = ({ program: { root, size } }: JobSpec): string => `${root}/${size}`;
	const known = (spec: JobSpec): ProgramWork | undefined => {
		const opened = programs.get(nameOf(spec));
		if (opened !== undefined) programs.set(nameOf(spec), opened);
		return opened;
	};

	async function open(spec: JobSpec, holder: string): Promise<JobWork> {
		const { size } = spec.program;
		if (size > LIMITS.bytes)
			throw new AssayError("PROGRAM_LIMIT", `a program has at most ${LIMITS.bytes} bytes, not ${size}`);
		const opened = known(spec);
		const bytes = await blobs.read(holder, spec.program, 0, opened === undefined ? size : 1).catch((error: unknown) => {
			if (!(error instanceof AssayError) || error.code !== "BLOB_UNKNOWN") throw error;
			throw missing([`the program (${spec.program.root})`]);
		});
		const program = opened ?? openProgramWork(bytes);
		programs.set(nameOf(spec), program);
		return workOfJob(program, spec);
	}

	return {
		open,
		/** The job holds its program: it was there when the job was handed in. */
		async ofJob({ id, spec }: { readonly id: string; readonly spec: JobSpec }): Promise<JobWork> {
			const [opened, own] = [known(spec), jobs.get(id)];
			if (opened !== undefined && own !== undefined) return { ...opened, ...own };
			const work = await open(spec, jobHolder(id));
			jobs.set(id, { inputs: work.inputs, perWindow: work.perWindow });
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
