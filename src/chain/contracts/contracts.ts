// The contracts of one chain: where they are, and by which client they are reached. A view, a call or
// the events of any of them by name, typed by its ABI. What several values of a view mean is said in the file
// of its contract.
import {
	type Abi,
	BaseError,
	type ContractConstructorArgs,
	type ContractEventName,
	type ContractFunctionArgs,
	type ContractFunctionName,
	type ContractFunctionReturnType,
	type EncodeDeployDataParameters,
	type EncodeFunctionDataParameters,
	encodeDeployData,
	encodeFunctionData,
	type GetContractEventsParameters,
	type GetContractEventsReturnType,
	type Hex,
	type ReadContractParameters,
} from "viem";
import { AssayError } from "../../protocol/assay-error.ts";
import { assayTokenAbi } from "../abi/assay-token-abi.ts";
import { attestationsAbi } from "../abi/attestations-abi.ts";
import { disputesAbi } from "../abi/disputes-abi.ts";
import { jobEscrowAbi } from "../abi/job-escrow-abi.ts";
import { judgeAbi } from "../abi/judge-abi.ts";
import { registryAbi } from "../abi/registry-abi.ts";
import { rentalEscrowAbi } from "../abi/rental-escrow-abi.ts";
import { rewardsAbi } from "../abi/rewards-abi.ts";
import { rollCallAbi } from "../abi/roll-call-abi.ts";
import { scoreboardAbi } from "../abi/scoreboard-abi.ts";
import { segmentProofsAbi } from "../abi/segment-proofs-abi.ts";
import { slashingAbi } from "../abi/slashing-abi.ts";
import { twinJudgeAbi } from "../abi/twin-judge-abi.ts";
import { twinPostsAbi } from "../abi/twin-posts-abi.ts";
import { weightJudgeAbi } from "../abi/weight-judge-abi.ts";
import { wireJudgeAbi } from "../abi/wire-judge-abi.ts";
import { zkJobsAbi } from "../abi/zk-jobs-abi.ts";
import { zkPlansAbi } from "../abi/zk-plans-abi.ts";
import { zkVerifierAbi } from "../abi/zk-verifier-abi.ts";
import type { ChainClient } from "../node/chain-client.ts";
import type { Call } from "../sending/sign.ts";

export interface ContractAddresses {
	readonly chainId: number;
	readonly token: Hex;
	readonly registry: Hex;
	readonly scoreboard: Hex;
	readonly rewards: Hex;
	readonly slashing: Hex;
	readonly rollCall: Hex;
	readonly rentalEscrow: Hex;
	readonly jobEscrow: Hex;
	readonly disputes: Hex;
	readonly judge: Hex;
	readonly wireJudge: Hex;
	readonly attestations: Hex;
	readonly zkPlans: Hex;
	readonly zkVerifier: Hex;
	readonly twinJudge: Hex;
	readonly twinPosts: Hex;
	readonly zkJobs: Hex;
	readonly weightJudge: Hex;
	readonly segmentProofs: Hex;
	/** Events are read from here on. */
	readonly deployedAtBlock: number;
}

export interface Contracts {
	readonly client: ChainClient;
	readonly addresses: ContractAddresses;
}

/** Throws CHAIN_MISSING when the client's chain does not have them, or an earlier version deployed them. */
export async function contractsOn(client: ChainClient, addresses: ContractAddresses): Promise<Contracts> {
	mustBeComplete(addresses);
	const isChain = addresses.chainId === client.chainId;
	if (isChain && (await client.viem.getCode({ address: addresses.scoreboard })) !== undefined)
		return { client, addresses };
	throw new AssayError("CHAIN_MISSING", "the contracts that are named are not on this chain", {
		hint: `The node is of chain ${client.chainId}, the contracts of ${addresses.chainId}. Name others with --contracts.`,
	});
}

/** A deployment of an earlier version lacks contracts, and none can be added. */
export function mustBeComplete(addresses: Partial<ContractAddresses>): asserts addresses is ContractAddresses {
	const absent = Object.keys(ABIS).find((name) => addresses[name as Name] === undefined);
	if (absent !== undefined)
		throw new AssayError("CHAIN_MISSING", `an earlier version deployed these contracts: there is no ${absent}`, {
			hint:
				"Move the folder `chain` of the data folder away: the next start begins a new embedded chain, with new stakes and epochs." +
				" On another chain: `assay chain deploy`, or --contracts FILE of a network that has them.",
		});
}

const ABIS = {
	token: assayTokenAbi,
	registry: registryAbi,
	scoreboard: scoreboardAbi,
	rewards: rewardsAbi,
	slashing: slashingAbi,
	rollCall: rollCallAbi,
	rentalEscrow: rentalEscrowAbi,
	jobEscrow: jobEscrowAbi,
	disputes: disputesAbi,
	judge: judgeAbi,
	wireJudge: wireJudgeAbi,
	attestations: attestationsAbi,
	zkPlans: zkPlansAbi,
	zkVerifier: zkVerifierAbi,
	twinJudge: twinJudgeAbi,
	twinPosts: twinPostsAbi,
	zkJobs: zkJobsAbi,
	weightJudge: weightJudgeAbi,
	segmentProofs: segmentProofsAbi,
} as const;

type Abis = typeof ABIS;
type Name = keyof Abis;
type Reading = "pure" | "view";
type Sending = "nonpayable" | "payable";
type FunctionName<N extends Name, M extends Reading | Sending> = ContractFunctionName<Abis[N], M>;
type Arguments<N extends Name, M extends Reading | Sending, F extends FunctionName<N, M>> =
	ContractFunctionArgs<Abis[N], M, F> extends infer A extends readonly unknown[] ? A : never;

type Read = <const N extends Name, const F extends FunctionName<N, Reading>>(
	contracts: Contracts,
	name: N,
	functionName: F,
	...args: Arguments<N, Reading, F>
) => Promise<ContractFunctionReturnType<Abis[N], Reading, F>>;

const readIn =
	(block: { readonly blockTag: "latest" | "pending" } | { readonly blockNumber: bigint }): Read =>
	async ({ client, addresses }, name, functionName, ...args) => {
		const view = { address: addresses[name], abi: ABIS[name], functionName, args, ...block };
		try {
			return (await client.viem.readContract(view as ReadContractParameters)) as never;
		} catch (error) {
			// viem wraps whatever a node's answer threw; an error of ours has the code and the hint that people
			// need.
			throw (error instanceof BaseError && error.walk((cause) => cause instanceof AssayError)) || error;
		}
	};

/** What a view of a contract gives in the newest block. */
export const read = readIn({ blockTag: "latest" });

/** In this block. */
const readAt = (blockNumber: bigint): Read => readIn({ blockNumber });

/** In the newest block that is deep enough to stay. */
export async function lastingRead({ client: { viem, confirmations } }: Pick<Contracts, "client">): Promise<Read> {
	if (confirmations <= 1) return read;
	const block = (await viem.getBlockNumber()) - BigInt(confirmations) + 1n;
	return readAt(block > 0n ? block : 0n);
}

/**
 * In the pending block: for views that depend on the clock, as the newest block may be minutes old. A node
 * that is behind has another pending block: nothing is concluded from it that is not looked at again.
 */
export const readPending = readIn({ blockTag: "pending" });

export function callOf<const N extends Name, const F extends FunctionName<N, Sending>>(
	{ addresses }: Pick<Contracts, "addresses">,
	name: N,
	functionName: F,
	...args: Arguments<N, Sending, F>
): Call {
	const data = encodeFunctionData({ abi: ABIS[name], functionName, args } as EncodeFunctionDataParameters);
	return { to: addresses[name], data };
}

/** Every event of this name since a block (the deployment), oldest first; `args` narrows the indexed ones. */
export function readEvents<const N extends Name, const E extends ContractEventName<Abis[N]>>(
	{ client, addresses }: Contracts,
	name: N,
	eventName: E,
	args: GetContractEventsParameters<Abis[N], E>["args"] = undefined,
	since: number = addresses.deployedAtBlock,
): Promise<GetContractEventsReturnType<Abis[N], E, true>> {
	const fromBlock = BigInt(since);
	const wanted = { address: addresses[name], abi: ABIS[name], eventName, args, fromBlock, strict: true };
	return client.viem.getContractEvents(wanted as GetContractEventsParameters) as never;
}

/** What creates a contract: its code and the arguments of its constructor. */
export const codeOf = <const A extends Abi>(abi: A, bytecode: Hex, args: ContractConstructorArgs<A>): Hex =>
	encodeDeployData({ abi, bytecode, args } as unknown as EncodeDeployDataParameters<A>);
