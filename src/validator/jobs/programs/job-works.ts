// Programs of jobs, opened: from the blobs that their holder has, on a thread of their own (program-desk.ts).
// A program has a MiB at most; what those in use are and cost is kept, by their bytes' name, since many jobs
// have the same one. ATTACK: who names another's program must not be told what it is: whatever is kept, the
// holder must have its bytes.
import { BoundedMap } from "../../../platform/bounded-map.ts";
import { inSlices } from "../../../platform/in-slices.ts";
import { TokenBucket } from "../../../platform/token-bucket.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { JobSpec } from "../../../protocol/network/job-spec.ts";
import type { Blobs } from "../../../store/blobs/blob-store.ts";
import { orThrow } from "../../../work/program/fault.ts";
import { type JobWork, type ProgramWork, workOfJob } from "../../../work/program/job-work.ts";
import { openProgramSteps } from "../../../work/program/open-program.ts";
import { LIMITS, type Program } from "../../../work/program/shapes.ts";
import { jobHolder } from "../blobs/blob-holders.ts";
import type { ProgramDesk } from "./program-desk.ts";

const MAX_OPEN = 64;
/** What a job adds to its program is two short strings. */
const MAX_JOBS = 10_000;
/**
 * Bytes of programs that an address may have opened: a MiB may take a second and a half of the thread, an
 * ordinary program has a tenth of that.
 */
const OPENED_BYTES = { perS: 128 << 10, burst: 4 << 20 };
const MAX_ADDRESSES = 10_000;
/** Who opens for its own sake, and pays nobody. */
const OURSELVES = "";

export type JobWorks = ReturnType<typeof createJobWorks>;

export interface Opener {
	/** Who has the program's bytes. */
	readonly holder: string;
	/** Whose time it is; it pays by bytes. */
	readonly address: string;
}

export function createJobWorks({
	blobs,
	desk,
	nowMs,
}: {
	readonly blobs: Pick<Blobs, "read">;
	readonly desk: ProgramDesk;
	readonly nowMs: () => number;
}) {
	const programs = new BoundedMap<string, ProgramWork>(MAX_OPEN);
	const jobs = new BoundedMap<string, Pick<JobWork, "inputs" | "givenBytes">>(MAX_JOBS);
	const paces = new BoundedMap<string, TokenBucket>(MAX_ADDRESSES);
	const nameOf = ({ program: { root, size } }: JobSpec): string => `${root}/${size}`;
	const known = (spec: JobSpec): ProgramWork | undefined => {
		const opened = programs.get(nameOf(spec));
		if (opened !== undefined) programs.set(nameOf(spec), opened);
		return opened;
	};

	function charge(address: string, bytes: number): void {
		if (address === OURSELVES) return;
		const pace = paces.get(address) ?? new TokenBucket(OPENED_BYTES);
		paces.set(address, pace);
		if (pace.take(nowMs(), 0, bytes)) return;
		const retryAfterS = Math.max(1, Math.ceil(pace.waitMs() / 1000));
		throw new AssayError("RATE_LIMITED", `too many bytes of programs to open; wait ${retryAfterS} s`, {
			cause: { retryAfterS },
		});
	}

	/** So many bytes of it: of one that is known, one, to see that the holder has it. */
	function read(spec: JobSpec, holder: string, length: number): Promise<Uint8Array> {
		return blobs.read(holder, spec.program, 0, length).catch((error: unknown) => {
			if (!(error instanceof AssayError) || error.code !== "BLOB_UNKNOWN") throw error;
			throw missing([`the program (${spec.program.root})`]);
		});
	}

	async function opened(spec: JobSpec, { holder, address }: Opener): Promise<ProgramWork> {
		const { size } = spec.program;
		if (size > LIMITS.bytes)
			throw new AssayError("PROGRAM_LIMIT", `a program has at most ${LIMITS.bytes} bytes, not ${size}`);
		const before = known(spec);
		await read(spec, holder, 1);
		if (before !== undefined) return before;
		charge(address, size);
		return await desk.ask(address, async (ask) => {
			// Somebody may have had the same one opened meanwhile.
			const made = known(spec);
			if (made !== undefined) return made;
			const answer = await ask({ bytes: await read(spec, holder, size), segments: null });
			if (answer.kind !== "work") throw new Error("another question was answered");
			programs.set(nameOf(spec), answer.work);
			return answer.work;
		});
	}

	const open = async (spec: JobSpec, opener: Opener): Promise<JobWork> => workOfJob(await opened(spec, opener), spec);

	return {
		open,
		/** Int8 operations that the proof of one of its segments is worth. Throws PROGRAM_UNPROVABLE. */
		async provingOps(spec: JobSpec, { holder, address }: Opener): Promise<number> {
			charge(address, spec.program.size);
			return await desk.ask(address, async (ask) => {
				const bytes = await read(spec, holder, spec.program.size);
				const answer = await ask({ bytes, segments: spec.segments });
				if (answer.kind !== "proving") throw new Error("another question was answered");
				return answer.ops;
			});
		},
		/** The job holds its program: it was there when the job was handed in. */
		async ofJob({ id, spec }: { readonly id: string; readonly spec: JobSpec }): Promise<JobWork> {
			const [before, own] = [known(spec), jobs.get(id)];
			if (before !== undefined && own !== undefined) return { ...before, ...own };
			const work = await open(spec, { holder: jobHolder(id), address: OURSELVES });
			jobs.set(id, { inputs: work.inputs, givenBytes: work.givenBytes });
			return work;
		},
		/** With its ops. It was opened before, so it is right; others are served meanwhile. */
		async programOfJob({ id, spec }: { readonly id: string; readonly spec: JobSpec }): Promise<Program> {
			const bytes = await read(spec, jobHolder(id), spec.program.size);
			return orThrow(await inSlices(openProgramSteps(bytes))).program;
		},
	};
}

const MAX_NAMED = 5;
export const missing = (names: readonly string[]): AssayError =>
	new AssayError(
		"JOB_INPUTS",
		`the validator does not have ${names.slice(0, MAX_NAMED).join(", ")}${names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ""}`,
		{ hint: "Upload them first." },
	);
