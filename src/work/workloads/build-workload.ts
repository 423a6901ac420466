// From a job file to the workload that runs. Files come through the caller, who knows where they lie.
import { type JobSpec, KINDS } from "./kinds.ts";
import type { Files, Pause, Workload, WorkloadKind } from "./workload.ts";

export async function buildWorkload(spec: JobSpec, files: Files, pause: Pause = async () => {}): Promise<Workload> {
	return (KINDS[spec.workload] as WorkloadKind<JobSpec>).build(spec, files, pause);
}
