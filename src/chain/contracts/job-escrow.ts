// JobEscrow.sol: the funds of a job, the bonds of its parts, and what validators sign of both. docs/chain.md
// §11.
import {
	type ContractFunctionArgs,
	type ContractFunctionReturnType,
	encodeAbiParameters,
	getAbiItem,
	type Hex,
	keccak256,
	parseAbiParameters,
} from "viem";
import { jobEscrowAbi } from "../abi/job-escrow-abi.ts";
import type { Call, ChainAccount } from "../sending/sign.ts";
import { type Contracts, callOf, read, readEvents } from "./contracts.ts";

type Addressed = Pick<Contracts, "addresses">;

/** As Solidity has them; amounts are a part's, of the token's smallest unit. */
export type JobTerms = ContractFunctionArgs<typeof jobEscrowAbi, "nonpayable", "fund">[0];
/** What a claim shows beside its two roots. */
export type ShownClaim = ContractFunctionArgs<typeof jobEscrowAbi, "nonpayable", "claim">[2];
type Audit = ContractFunctionArgs<typeof jobEscrowAbi, "nonpayable", "check">[4][number];
export type Assignment = ContractFunctionArgs<typeof jobEscrowAbi, "nonpayable", "assign">[1];
export type JobDeposit = ContractFunctionReturnType<typeof jobEscrowAbi, "view", "depositOf">;

/** In the order of the contract's. */
const PART_STATES = ["untouched", "open", "assigned", "claimed", "settled", "refunded"] as const;
type PartState = (typeof PART_STATES)[number];

const TERMS = getAbiItem({ abi: jobEscrowAbi, name: "fund" }).inputs;

/** A job's number: the hash of its terms. */
export const jobIdOf = (terms: JobTerms): bigint => BigInt(keccak256(encodeAbiParameters(TERMS, [terms])));

/** What a job was funded with, as the chain tells it to anybody; null: nobody funded such a job. */
export async function fundedTerms(contracts: Contracts, job: bigint): Promise<JobTerms | null> {
	const [funded] = await readEvents(contracts, "jobEscrow", "Funded", { job });
	return funded !== undefined && jobIdOf(funded.args.terms) === job ? funded.args.terms : null;
}

/** What fund takes, and must be approved before. */
export const jobCost = ({ price, fee, audit, parts }: JobTerms): bigint => BigInt(parts) * (price + fee + audit);

export const approveJobsCall = (contracts: Addressed, amount: bigint): Call =>
	callOf(contracts, "token", "approve", contracts.addresses.jobEscrow, amount);

export const fundJobCall = (contracts: Addressed, terms: JobTerms): Call =>
	callOf(contracts, "jobEscrow", "fund", terms);

/** By the customer: parts that were never assigned come back. */
export const cancelJobCall = (contracts: Addressed, terms: JobTerms): Call =>
	callOf(contracts, "jobEscrow", "cancel", terms);

/** By the drawn provider. Signatures in the order of the terms' validators, as many as the quorum. */
export const assignPartCall = (
	contracts: Addressed,
	terms: JobTerms,
	assignment: Assignment,
	signatures: readonly Hex[],
): Call => callOf(contracts, "jobEscrow", "assign", terms, assignment, signatures);

export const claimPartCall = (
	contracts: Addressed,
	terms: JobTerms,
	part: number,
	claim: ShownClaim,
	signatures: readonly Hex[],
): Call => callOf(contracts, "jobEscrow", "claim", terms, part, claim, signatures);

export interface CheckedClaim {
	readonly claim: Hex;
	/** The claim's last state. */
	readonly last: Hex;
	readonly audits: readonly Audit[];
}

export const checkPartCall = (
	contracts: Addressed,
	terms: JobTerms,
	part: number,
	{ claim, last, audits }: CheckedClaim,
	signatures: readonly Hex[],
): Call => callOf(contracts, "jobEscrow", "check", terms, part, claim, last, audits, signatures);

export const settlePartCall = (contracts: Addressed, terms: JobTerms, part: number): Call =>
	callOf(contracts, "jobEscrow", "settle", terms, part);

/** Late, fallen: open again. Open: refunded. */
export const expirePartCall = (contracts: Addressed, terms: JobTerms, part: number): Call =>
	callOf(contracts, "jobEscrow", "expire", terms, part);

/** An assigned part is open again: by its provider without signatures, by anybody with the quorum's word. */
export const releasePartCall = (
	contracts: Addressed,
	terms: JobTerms,
	{ part, attempt }: Pick<AttemptOf, "part" | "attempt">,
	signatures: readonly Hex[],
): Call => callOf(contracts, "jobEscrow", "release", terms, part, attempt, signatures);

/** One attempt of a part, as validators sign it. */
export interface AttemptOf {
	readonly job: bigint;
	readonly part: number;
	readonly attempt: number;
}

const ATTEMPT = [
	{ name: "job", type: "uint256" },
	{ name: "part", type: "uint32" },
	{ name: "attempt", type: "uint16" },
] as const;
const TYPES = {
	Assignment: [
		...ATTEMPT,
		{ name: "provider", type: "address" },
		{ name: "until", type: "uint64" },
		{ name: "draw", type: "bytes32" },
	],
	Released: ATTEMPT,
	Stored: [...ATTEMPT, { name: "claim", type: "bytes32" }],
	Checked: [...ATTEMPT, { name: "claim", type: "bytes32" }, { name: "audits", type: "Audit[]" }],
	Audit: [
		{ name: "auditor", type: "address" },
		{ name: "pay", type: "uint128" },
	],
} as const;

const domainOf = ({ addresses: { chainId, jobEscrow } }: Addressed) =>
	({ name: "assay", version: "1", chainId, verifyingContract: jobEscrow }) as const;

/** This provider was drawn for the attempt. */
export const signAssignment = (
	validator: ChainAccount,
	contracts: Addressed,
	job: bigint,
	provider: Hex,
	assignment: Assignment,
): Promise<Hex> =>
	validator.signTypedData({
		domain: domainOf(contracts),
		types: TYPES,
		primaryType: "Assignment",
		message: { job, provider, ...assignment },
	});

/** Its provider is gone, or gets nowhere: another may have it. */
export const signReleased = (validator: ChainAccount, contracts: Addressed, attempt: AttemptOf): Promise<Hex> =>
	validator.signTypedData({
		domain: domainOf(contracts),
		types: TYPES,
		primaryType: "Released",
		message: { ...attempt },
	});

/** We hold result and segment list of the claim. */
export const signStored = (
	validator: ChainAccount,
	contracts: Addressed,
	attempt: AttemptOf,
	claim: Hex,
): Promise<Hex> =>
	validator.signTypedData({
		domain: domainOf(contracts),
		types: TYPES,
		primaryType: "Stored",
		message: { ...attempt, claim },
	});

/** The method's evidence is there, and these audited it. */
export const signChecked = (
	validator: ChainAccount,
	contracts: Addressed,
	attempt: AttemptOf,
	{ claim, audits }: Omit<CheckedClaim, "last">,
): Promise<Hex> =>
	validator.signTypedData({
		domain: domainOf(contracts),
		types: TYPES,
		primaryType: "Checked",
		message: { ...attempt, claim, audits },
	});

export interface JobPart {
	/** In lower case; zeros while nobody ever had it. */
	readonly provider: Hex;
	readonly attempt: number;
	readonly state: PartState;
	/** Assigned: last second to claim. Claimed: last second of the window. */
	readonly untilS: number;
	readonly isChecked: boolean;
	/** Attempt of the part before, whose end it begins with. */
	readonly base: number;
	/** By another than the part before: paid whatever becomes of that one. */
	readonly isAlone: boolean;
}

export async function readJobPart(
	contracts: Contracts,
	job: bigint,
	part: number,
	reading: typeof read = read,
): Promise<JobPart> {
	const found = await reading(contracts, "jobEscrow", "partOf", job, part);
	return {
		provider: found.provider.toLowerCase() as Hex,
		attempt: found.attempt,
		state: PART_STATES[found.state]!,
		untilS: found.time,
		isChecked: found.isChecked,
		base: found.base,
		isAlone: found.isAlone,
	};
}

/** What the escrow keeps of a claim: its hash with its last state. 64 hex digits each. */
export const claimCommitment = (hash: string, last: string): Hex =>
	keccak256(encodeAbiParameters(parseAbiParameters("bytes32, bytes32"), [`0x${hash}`, `0x${last}`]));

/** What of a provider's deposit is free, locked, on its way out. */
export const readJobDeposit = (contracts: Contracts, account: Hex): Promise<JobDeposit> =>
	read(contracts, "jobEscrow", "depositOf", account);
