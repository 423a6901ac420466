// The claim of a run as files, docs/jobs.md §3: claim.json beside the list of state hashes S_first …
// S_{first+T}, which is 32 bytes each. Whoever reads them recomputes every hash; nothing in them is taken on
// its word. Pure.
import { bytesToHex, bytesToUtf8, equalBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { hex, int, object, oneOf, pattern, type Typed } from "../../protocol/bytes/shape.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { LIMITS } from "../program/shapes.ts";
import { claimHash, type JobClaim, segmentTree } from "../trace/commitments.ts";

const decimal = pattern(/^(0|[1-9][0-9]{0,77})$/, "must be a whole number as text");
const U32 = 0xffff_ffff;

/** What a claim's hash is of. */
export const claimFields = {
	chainId: decimal,
	escrow: hex(20),
	job: decimal,
	part: int(0, U32),
	program: hex(32),
	inputs: hex(32),
	first: int(0, LIMITS.segment),
	segments: int(1, LIMITS.segment + 1),
	segmentRoot: hex(32),
	resultRoot: hex(32),
};

const shape = object({
	format: oneOf("assay-claim"),
	version: oneOf(1),
	...claimFields,
	seed: hex(32),
	hash: hex(32),
	/** The file of S_first … S_{first+segments}. */
	states: oneOf("states.bin"),
});

export interface RunClaim {
	readonly claim: JobClaim;
	readonly hash: Uint8Array;
	readonly seed: Uint8Array;
	/** S_first … S_{first + segments}. */
	readonly states: readonly Uint8Array[];
}

/** A run of one's own, which no chain knows. */
export const NO_JOB = { chainId: 0n, escrow: new Uint8Array(20), job: 0n, part: 0 } as const;

export function claimText(claim: JobClaim, seed: Uint8Array): string {
	const { chainId, escrow, job, part, program, inputs, first, segments, segmentRoot, resultRoot } = claim;
	const file: Typed<typeof shape> = {
		...{ format: "assay-claim", version: 1, chainId: `${chainId}`, escrow: bytesToHex(escrow), job: `${job}`, part },
		...{ program: bytesToHex(program), inputs: bytesToHex(inputs), seed: bytesToHex(seed), first, segments },
		...{ segmentRoot: bytesToHex(segmentRoot), resultRoot: bytesToHex(resultRoot) },
		...{ hash: bytesToHex(claimHash(claim)), states: "states.bin" },
	};
	return `${JSON.stringify(file, null, "\t")}\n`;
}

/** Throws CLAIM_MALFORMED, CLAIM_ROOT. */
export function readClaim(file: Uint8Array, states: Uint8Array): RunClaim {
	let json: unknown;
	try {
		json = JSON.parse(bytesToUtf8(file) ?? "");
	} catch {
		throw codedError("CLAIM_MALFORMED", "the claim is no whole JSON");
	}
	const fault = shape(json, "");
	if (fault !== null) throw codedError("CLAIM_MALFORMED", `the claim: ${fault.where} ${fault.detail}`);
	const said = json as Typed<typeof shape>;
	const bytes = (text: string) => hexToBytes(text)!;
	const claim: JobClaim = {
		...{ chainId: BigInt(said.chainId), escrow: bytes(said.escrow), job: BigInt(said.job), part: said.part },
		...{ program: bytes(said.program), inputs: bytes(said.inputs), first: said.first, segments: said.segments },
		...{ segmentRoot: bytes(said.segmentRoot), resultRoot: bytes(said.resultRoot) },
	};
	if (claim.chainId >= 2n ** 256n || claim.job >= 2n ** 256n)
		throw codedError("CLAIM_MALFORMED", "the claim: a number has more than 256 bits");
	const count = said.segments + 1;
	if (states.length !== 32 * count)
		throw codedError(
			"CLAIM_MALFORMED",
			`${said.states} has ${states.length} bytes; ${count} states have ${32 * count}`,
		);
	const all = Array.from({ length: count }, (_, i) => Uint8Array.from(states.subarray(32 * i, 32 * (i + 1))));
	if (!equalBytes(segmentTree(all).root, claim.segmentRoot))
		throw codedError("CLAIM_ROOT", `the states of ${said.states} do not lead to the claim's segment root`);
	const hash = claimHash(claim);
	if (!equalBytes(hash, bytes(said.hash))) throw codedError("CLAIM_ROOT", "the claim's hash is not that of its fields");
	return { claim, hash, seed: bytes(said.seed), states: all };
}
