// The claim of a part, from a job's public terms and the two roots that its provider gave: whoever has these
// has its hash. Pure.
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import type { JobTerms } from "../../protocol/network/job.ts";
import type { JobClaim } from "../../work/trace/commitments.ts";
import { partRange } from "./job-rules.ts";

const bytes32 = (hex: string): Uint8Array => hexToBytes(hex, 32)!;

/** Hashes are 64 hex digits. */
export function claimOfTerms(
	{
		id,
		terms,
		escrow,
	}: {
		readonly id: string;
		readonly terms: Pick<JobTerms, "program" | "inputs" | "segments" | "parts">;
		readonly escrow: { readonly chainId: number; readonly contract: string } | null;
	},
	part: number,
	{ segmentRoot, resultRoot }: { readonly segmentRoot: string; readonly resultRoot: string },
): JobClaim {
	const { first, count } = partRange(terms, part);
	return {
		...{ chainId: BigInt(escrow?.chainId ?? 0), job: BigInt(`0x${id}`), part },
		escrow: escrow === null ? new Uint8Array(20) : hexToBytes(escrow.contract.slice(2), 20)!,
		...{ program: bytes32(terms.program), inputs: bytes32(terms.inputs), first, segments: count },
		...{ segmentRoot: bytes32(segmentRoot), resultRoot: bytes32(resultRoot) },
	};
}
