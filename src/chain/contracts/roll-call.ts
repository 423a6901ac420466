// RollCall.sol: what a validator commits to at a roll call, which commitments a block has, an account's
// signature under its answer, openings that are demanded. The bytes are src/protocol/roll-call;
// docs/roll-call.md.
import type { ContractFunctionArgs, ContractFunctionReturnType, Hex } from "viem";
import { toHex } from "../../protocol/chain/hex.ts";
import type { SignedAnswer } from "../../protocol/chain/roll-answer.ts";
import { rollCallAbi } from "../abi/roll-call-abi.ts";
import type { Call, ChainAccount } from "../sending/sign.ts";
import { type Contracts, callOf, read, readEvents, readPending } from "./contracts.ts";

/** As set at the deployment. */
export type RollCallParams = Readonly<ContractFunctionReturnType<typeof rollCallAbi, "view", "params">>;

export const readRollCallParams = (contracts: Contracts): Promise<RollCallParams> =>
	read(contracts, "rollCall", "params");

/** Once a call and validator; `call` is the number of the block that called, at most 256 blocks ago. */
export const commitCall = (
	contracts: Pick<Contracts, "addresses">,
	{ call, root, count }: { readonly call: number; readonly root: Uint8Array; readonly count: number },
): Call => callOf(contracts, "rollCall", "commit", BigInt(call), toHex(root), count);

export interface Committed {
	/** In lower case. */
	readonly validator: Hex;
	readonly call: number;
	readonly root: Hex;
	readonly count: number;
	readonly blockNumber: number;
	readonly blockHash: Hex;
	readonly transaction: Hex;
}

/**
 * The commitments of these blocks, both ends included, oldest first; of all validators and calls unless
 * narrowed.
 */
export async function readCommitted(
	{ client, addresses }: Contracts,
	blocks: { readonly from: number; readonly to: number },
	narrowed: { readonly validator?: Hex; readonly call?: number } = {},
): Promise<readonly Committed[]> {
	const { validator, call } = narrowed;
	const logs = await client.viem.getContractEvents({
		address: addresses.rollCall,
		abi: rollCallAbi,
		eventName: "Committed",
		args: { ...(validator && { validator }), ...(call !== undefined && { call: BigInt(call) }) },
		fromBlock: BigInt(blocks.from),
		toBlock: BigInt(blocks.to),
		strict: true,
	});
	return logs.map(({ args, blockNumber, blockHash, transactionHash }) => ({
		validator: args.validator.toLowerCase() as Hex,
		call: Number(args.call),
		root: args.root,
		count: args.count,
		blockNumber: Number(blockNumber),
		blockHash,
		transaction: transactionHash,
	}));
}

/** Whether this validator has committed for the call, in the newest block. */
export const isCommitted = async (contracts: Contracts, validator: Hex, call: number): Promise<boolean> =>
	BigInt(await read(contracts, "rollCall", "commitmentOf", validator, BigInt(call))) !== 0n;

const ANSWER_TYPES = {
	RollAnswer: [
		{ name: "call", type: "uint64" },
		{ name: "beta", type: "bytes32" },
		{ name: "leaf", type: "bytes32" },
	],
} as const;

/** "This is my answer": whoever signs it must open it when that is demanded on chain. */
export const signAnswer = (
	account: ChainAccount,
	{ chainId, contract, call, beta0, leaf }: SignedAnswer,
): Promise<Hex> =>
	account.signTypedData({
		domain: { name: "assay", version: "1", chainId, verifyingContract: contract as Hex },
		types: ANSWER_TYPES,
		primaryType: "RollAnswer",
		message: { call: BigInt(call), beta: toHex(beta0), leaf: toHex(leaf) },
	});

type Args<F extends "demandOpening" | "answerOpening"> = ContractFunctionArgs<
	typeof rollCallAbi,
	"nonpayable" | "payable",
	F
>;
/** Parts of a commitment; the chain has their hash. */
export type RollCommitment = Args<"demandOpening">[0];
/** A leaf, its place in the tree, its account's signature. */
export type RollLeafProof = Args<"demandOpening">[1];
/** One element of one round. */
export type RollPlace = Args<"demandOpening">[2];
/** As its event has it; the chain has the hash. */
export type Demand = Args<"answerOpening">[0];

/**
 * With the deposit as the next block asks for it, and a quarter more: the price of gas may rise until it is
 * mined.
 */
export async function demandCall(
	contracts: Contracts,
	commitment: RollCommitment,
	proof: RollLeafProof,
	place: RollPlace,
): Promise<Call> {
	const { rounds, k } = proof.leaf;
	const least = await readPending(contracts, "rollCall", "depositFor", rounds, k);
	return { ...callOf(contracts, "rollCall", "demandOpening", commitment, proof, place), value: least + least / 4n };
}

/** Every demand of an account's answers that is open in the newest block, oldest first. */
export const readOpenDemands = (contracts: Contracts, account: Hex) => openDemands(contracts, { account });

/** Every demand that an account has made and that is still open. */
export const readOwnDemands = (contracts: Contracts, demander: Hex) => openDemands(contracts, { demander });

async function openDemands(
	contracts: Contracts,
	who: { readonly account: Hex } | { readonly demander: Hex },
): Promise<readonly Demand[]> {
	const [demanded, answered, withheld] = await Promise.all([
		readEvents(contracts, "rollCall", "OpeningDemanded", who),
		readEvents(contracts, "rollCall", "OpeningAnswered", who),
		readEvents(contracts, "rollCall", "OpeningWithheld", who),
	]);
	// One demander has one open demand of an answer at a time: as many as were closed, its oldest, are over.
	const keyOf = ({ answer, demander }: { readonly answer: Hex; readonly demander: Hex }) => `${answer} ${demander}`;
	const closed = new Map<string, number>();
	for (const { args } of [...answered, ...withheld]) closed.set(keyOf(args), (closed.get(keyOf(args)) ?? 0) + 1);
	return demanded.flatMap(({ args }) => {
		const left = closed.get(keyOf(args)) ?? 0;
		closed.set(keyOf(args), left - 1);
		return left > 0 ? [] : [args.demand];
	});
}

/** All roots of the answer, the demanded leaf of its round, and the path from there to the round's root. */
export const answerCall = (
	contracts: Pick<Contracts, "addresses">,
	demand: Demand,
	opening: { readonly roots: readonly Uint8Array[]; readonly leaf: Uint8Array; readonly path: readonly Uint8Array[] },
): Call =>
	callOf(
		contracts,
		"rollCall",
		"answerOpening",
		demand,
		opening.roots.map(toHex),
		toHex(opening.leaf),
		opening.path.map(toHex),
	);

export const expireCall = (contracts: Pick<Contracts, "addresses">, demand: Demand): Call =>
	callOf(contracts, "rollCall", "expire", demand);
