// Whether an offered part is what its terms say, and within its owner's limits: before anything is fetched,
// and again when the program is there. Nothing is taken on the validator's word: the terms make the job's
// name, the program and its inputs are those of the terms, the state at the start folds to what the part must
// begin with. Pure. docs/provider.md.
import { partRange } from "../../market/jobs/job-rules.ts";
import type { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { type JobMethod, METHOD_NUMBERS } from "../../protocol/network/job.ts";
import type { EscrowTermsText } from "../../protocol/network/job-offer.ts";
import type { BlobName } from "../../protocol/network/job-spec.ts";
import { orThrow } from "../../work/program/fault.ts";
import { openProgram } from "../../work/program/open-program.ts";
import type { Program } from "../../work/program/shapes.ts";
import { firstState } from "../../work/trace/commitments.ts";
import { beginFault, specFault } from "../../work/workloads/spec-fault.ts";
import type { AskedPart, PartOffer } from "./job-desk.ts";

/** What the owner allows. */
export interface JobLimits {
	/** Of the device, by the engine's PLAN. */
	readonly memoryBytes: number;
	/** Inputs, states and results of all parts of one device that lie here. */
	readonly diskBytes: number;
	/** Longest time limit of a part. */
	readonly minutes: number;
	/** The least that an hour of work brings: validators quote by it, from proven speed. */
	readonly pricePerHourMicros: number;
	/** The least that a part brings, whatever a validator reckons. */
	readonly leastMicros: number;
	/** The most that is locked for a part. */
	readonly mostBondMicros: number;
	readonly methods: readonly JobMethod["name"][];
	/** What answers on chain may take in 24 hours; absent: whatever they take. */
	readonly answerGas?: number;
	/** Games about claims that have a proof are ended by it. */
	readonly provesDisputes?: boolean;
}

/** The chain that this provider works on. */
export interface OwnChain {
	readonly chainId: number;
	/** 0x and lower case, as the account. */
	readonly escrow: string;
	readonly account: string;
	/** A job's name: the hash of its terms. */
	idOf(terms: EscrowTermsText): string;
}

/** One micro-unit of the record in the token's smallest unit. */
const PER_MICRO = 10n ** 12n;
/** Programs are some kilobytes; it is held in memory. */
const MOST_PROGRAM = 64 << 20;

export const declined = (why: string): AssayError => codedError("JOB_DECLINED", why);

function must(isRight: boolean, why: string): void {
	if (!isRight) throw declined(why);
}

/** Everything that is fetched before the run. */
export function blobsOf({ spec, begin }: PartOffer): BlobName[] {
	const plain = ({ root, size }: BlobName) => ({ root, size });
	return [...spec.given.map(plain), ...(begin === null ? [] : [...begin.state, ...begin.results].map(plain))];
}

/** Before anything is fetched. Throws JOB_DECLINED. */
export function checkOffer(
	offer: PartOffer,
	asked: AskedPart & Pick<PartOffer, "device">,
	limits: JobLimits,
	chain: OwnChain | null,
): void {
	const { spec, terms } = offer;
	const isAsked =
		offer.id === asked.job &&
		offer.part === asked.part &&
		offer.attempt === asked.attempt &&
		offer.audit === asked.audit &&
		offer.device === asked.device;
	must(isAsked, "what is offered is not what was asked for");
	must(terms.segments === spec.segments && terms.parts <= terms.segments, "terms and spec have other segments");
	must(offer.part < terms.parts, "the job has no such part");
	const { first, count } = partRange(terms, offer.part);
	must(count >= 1, "the part has no segment");
	const isRange =
		offer.audit === null
			? offer.first === first && offer.count === count
			: offer.first >= first && offer.first + offer.count <= first + count;
	must(isRange, "these are not the part's segments");
	must((offer.begin === null) === (offer.first === 0), "a part begins with zeros or with a state, as it is the first");
	const { name, count: method } = terms.method;
	must(name === spec.method.name && method === spec.method.count, "terms and spec name other methods");
	checkChain(offer, chain);
	checkLimits(offer, limits);
}

/** What the owner allows, whoever asks. */
function checkLimits(offer: PartOffer, limits: JobLimits): void {
	const { spec, terms } = offer;
	must(offer.nowMs < offer.untilMs, "the time to take it is over");
	must(
		limits.methods.includes(terms.method.name),
		`this provider takes no jobs that are checked by ${terms.method.name}`,
	);
	must(
		terms.workMs <= limits.minutes * 60_000,
		`a part may take ${terms.workMs} ms, ${limits.minutes} min are allowed here`,
	);
	// An audit locks nothing.
	must(
		offer.audit !== null || terms.bondMicros <= limits.mostBondMicros,
		`the bond is ${terms.bondMicros} micro-units, ${limits.mostBondMicros} are allowed here`,
	);
	must(
		offer.audit !== null || terms.priceMicros >= limits.leastMicros,
		`it brings ${terms.priceMicros} micro-units, ${limits.leastMicros} is the least here`,
	);
	must(spec.program.size <= MOST_PROGRAM, "the program is larger than any that this provider takes");
	const bytes = blobsOf(offer).reduce((sum, { size }) => sum + size, spec.program.size);
	must(bytes <= limits.diskBytes, `it needs ${bytes} bytes of disk, ${limits.diskBytes} are allowed here`);
}

/** The terms that were funded are those of the record, and the job is named by them. */
function checkChain({ id, part, audit, spec, terms, escrow, assignment, nowMs }: PartOffer, chain: OwnChain | null) {
	must(
		(escrow === null) === (chain === null),
		chain === null ? "this provider has no chain" : "nothing is paid on chain",
	);
	if (escrow === null || chain === null) return;
	const isOurs = escrow.chainId === chain.chainId && escrow.contract.toLowerCase() === chain.escrow;
	must(isOurs, "it is paid on another chain or by another contract");
	const told = escrow.terms;
	must(chain.idOf(told) === id, "the terms are not those of this job");
	const amounts = (["price", "fee", "audit", "bond"] as const).every(
		(one) => BigInt(told[one]) === BigInt(terms[`${one}Micros`]) * PER_MICRO,
	);
	const times =
		1000 * told.workSeconds === terms.workMs &&
		1000 * told.windowSeconds === terms.windowMs &&
		1000 * told.checkedSeconds === terms.checkedMs;
	const work =
		told.program === `0x${terms.program}` &&
		told.inputs === `0x${terms.inputs}` &&
		told.seed === `0x${spec.seed}` &&
		told.segments === String(terms.segments) &&
		told.method === METHOD_NUMBERS[terms.method.name] &&
		told.parts === terms.parts;
	must(amounts && times && work, "the terms that were funded are others than those that are told");
	if (audit !== null) return;
	if (assignment === null) throw declined("nobody signed that it is assigned to this provider");
	must(assignment.part === part && assignment.provider.toLowerCase() === chain.account, "it is assigned to another");
	must(1000 * Number(assignment.until) > nowMs, "the assignment has run out");
}

/**
 * A trace stores and hashes all that ops give: on an H200 4.8 and 9.3 times the step's own time
 * (bench/results/h200-2026-11-16-training.json).
 */
const TRACE_TAKES = 10;

/**
 * Before anything is locked: an answer on chain with a segment's trace must come before its clock. Throws
 * JOB_DECLINED.
 */
export function mustTraceInTime(segmentMs: number, traceMs: number): void {
	must(
		TRACE_TAKES * segmentMs <= traceMs,
		`a segment takes ${segmentMs} ms here, and an answer about one on chain must come within ${traceMs} ms`,
	);
}

/** When the program's bytes are there. Throws JOB_DECLINED, PROGRAM_…. */
export function checkProgram(offer: PartOffer, bytes: Uint8Array): Program {
	const { spec, terms, begin, start, first, escrow } = offer;
	const { program } = orThrow(openProgram(bytes));
	const fault = specFault(program, spec, terms) ?? (begin && beginFault(program, first, begin, start));
	if (fault !== null) throw declined(fault);
	const zero = bytesToHex(firstState(program));
	const isS0 = offer.part > 0 || escrow === null || escrow.terms.start === `0x${zero}`;
	must(isS0, "the terms let the first part begin elsewhere than at zero");
	must(begin !== null || start === zero, "the first part begins elsewhere than at zero");
	return program;
}
