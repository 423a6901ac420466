// A CPU or a disk that refuses what it is asked says nothing against the GPUs beside it: that part of the
// host has no figure, and a finding says so. A GPU that refuses is no such thing, else a host could show
// one of eight. Nor is anything that was committed to and then withheld (check-opens.ts).
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import { type Answered, isCommitted } from "./answers.ts";

/** Refused by a CPU or a disk, on a host of which a GPU answered. */
export function isAside({ record }: Answered, answers: readonly Answered[], { devices }: HostClaim): boolean {
	const isGpu = (device: number) => devices[device]?.kind === "gpu";
	if (record.end !== "refused" || isGpu(record.spec.device)) return false;
	return answers.some((other) => isGpu(other.record.spec.device) && isCommitted(other));
}
