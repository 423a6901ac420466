// A claim as a watcher takes it up: everything comes from a validator and nothing is believed. The terms make
// the job's name, program and inputs are those of the terms, the list of states leads to the claim's root,
// and on a chain the escrow holds this very claim. What cannot be shown so is not watched.
import { fetchBlob } from "../../../api/blob-transfer.ts";
import type { ApiClient } from "../../../api/create-client.ts";
import type { ClaimCase } from "../../../api/types.ts";
import { type Contracts, read } from "../../../chain/contracts/contracts.ts";
import { claimCommitment, type JobTerms, jobIdOf, readJobPart } from "../../../chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../../chain/contracts/job-terms-text.ts";
import { claimOfTerms } from "../../../market/jobs/claim-of-terms.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { codes } from "../../../protocol/codes.ts";
import { orThrow } from "../../../work/program/fault.ts";
import { openProgram } from "../../../work/program/open-program.ts";
import { LIMITS } from "../../../work/program/shapes.ts";
import { claimHash, firstState, type JobClaim, segmentTree } from "../../../work/trace/commitments.ts";
import { beginFault, specFault } from "../../../work/workloads/spec-fault.ts";
import type { ClaimAtHand } from "../evidence/claim-at-hand.ts";

type Api = Pick<ApiClient, "getClaimCase" | "getBlob" | "getJobBlob">;

function mustBe(isRight: boolean, why: string): void {
	if (!isRight)
		throw new AssayError("CLAIM_ROOT", `the validator shows something else: ${why}`, { hint: codes.CLAIM_ROOT.hint });
}

/** The claim that follows from the terms and the two roots; its hash must be the one that was asked for. */
function claimOf({ escrow, terms, job, part, hash, ...roots }: ClaimCase): JobClaim {
	const claim = claimOfTerms({ id: job, terms, escrow }, part, roots);
	mustBe(claim.segments > 0 && bytesToHex(claimHash(claim)) === hash, "the hash of its fields is another");
	return claim;
}

/**
 * Throws CLAIM_ROOT where the escrow knows no such terms; JOB_STATE where this claim is not the one that
 * stands there.
 */
async function onChain(contracts: Contracts, shown: ClaimCase): Promise<{ terms: JobTerms; account: Hex }> {
	const { escrow, terms, job, part, hash, ends, spec } = shown;
	const { addresses } = contracts;
	const isHere = escrow?.chainId === addresses.chainId && escrow.contract === addresses.jobEscrow.toLowerCase();
	mustBe(isHere, "it is of another chain or contract");
	const told = jobTermsFromText(escrow!.terms);
	const number = BigInt(`0x${job}`);
	mustBe(jobIdOf(told) === number, "the terms are not those of the job");
	const isSame =
		told.program === `0x${terms.program}` &&
		told.inputs === `0x${terms.inputs}` &&
		told.seed === `0x${spec.seed}` &&
		told.segments === BigInt(terms.segments) &&
		told.parts === terms.parts;
	mustBe(isSame, "the terms on chain are others");
	const found = await readJobPart(contracts, number, part);
	const kept = await read(contracts, "jobEscrow", "commitmentOf", number, part, found.attempt);
	if (found.state !== "claimed" || kept !== claimCommitment(hash, ends!.last))
		throw new AssayError("JOB_STATE", "this claim does not stand on chain", { hint: codes.JOB_STATE.hint });
	return { terms: told, account: found.provider };
}

/** `contracts`: null without a chain. Throws CLAIM_ROOT, JOB_STATE, and what the API refuses. */
export async function openClaim(api: Api, hash: string, contracts: Contracts | null): Promise<ClaimAtHand> {
	const shown = await api.getClaimCase({ params: { hash } });
	const { ends, spec, terms, job, part, attempt, provider, begin } = shown;
	mustBe(shown.hash === hash && ends !== null, "it does not say what it ends with");
	const claim = claimOf(shown);
	mustBe((shown.escrow === null) === (contracts === null), "one of us has no chain");
	const chain = contracts === null ? null : await onChain(contracts, shown);
	// Before it is fetched: no validator fills a watcher's memory.
	mustBe(spec.program.size <= LIMITS.bytes, "no program has so many bytes");
	mustBe(ends!.states.size === 32 * (claim.segments + 1), "its list of states has another length");
	const { program } = orThrow(openProgram(await fetchBlob(api, spec.program, { job })));
	const bytes = await fetchBlob(api, ends!.states, { job });
	const states = Array.from({ length: claim.segments + 1 }, (_, i) => bytes.slice(32 * i, 32 * i + 32));
	mustBe(bytesToHex(segmentTree(states).root) === shown.segmentRoot, "its states do not lead to its root");
	mustBe(bytesToHex(states.at(-1)!) === ends!.last, "it ends in another state");
	const start = bytesToHex(states[0]!);
	const fault =
		specFault(program, spec, terms) ?? (begin === null ? null : beginFault(program, claim.first, begin, start));
	mustBe(fault === null, fault ?? "");
	mustBe((begin === null) === (part === 0), "it does not say where the part begins");
	mustBe(begin !== null || start === bytesToHex(firstState(program)), "part 0 begins elsewhere than at zero");
	return {
		...{ job, spec, part, attempt, provider, claim, states, begin },
		...{ account: chain?.account ?? null, escrow: chain?.terms ?? null },
	};
}
