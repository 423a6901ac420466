// Registry.sol: who takes part, with what stake. Typed reads and the calls that change it; docs/chain.md.
import type { Hex } from "viem";
import { assayTokenAbi } from "./abi/assay-token-abi.ts";
import { registryAbi } from "./abi/registry-abi.ts";
import { type Call, type ChainClient, callOf } from "./chain-client.ts";
import type { ContractAddresses } from "./deploy.ts";

export const ROLES = { none: 0, provider: 1, validator: 2 } as const;

export interface RegistryAccount {
	readonly role: number;
	readonly stake: bigint;
	readonly unbonding: bigint;
	/** Seconds since 1970; 0 when nothing is on its way out. */
	readonly unlockAt: number;
	readonly signingKey: Hex;
	readonly endpoint: string;
}

export async function readAccount(
	{ viem }: ChainClient,
	at: ContractAddresses,
	account: Hex,
): Promise<RegistryAccount> {
	const { unlockAt, ...rest } = await viem.readContract({
		address: at.registry,
		abi: registryAbi,
		functionName: "accountOf",
		args: [account],
	});
	return { ...rest, unlockAt: Number(unlockAt) };
}

export const readRegistryParams = ({ viem }: ChainClient, at: ContractAddresses) =>
	viem.readContract({ address: at.registry, abi: registryAbi, functionName: "params" });

/** A validator's weight at a moment of the past, in seconds since 1970. */
export const readVotingStake = ({ viem }: ChainClient, at: ContractAddresses, validator: Hex, timeS: number) =>
	viem.readContract({
		address: at.registry,
		abi: registryAbi,
		functionName: "votingStakeAt",
		args: [validator, BigInt(timeS)],
	});

export const readBalance = ({ viem }: ChainClient, at: ContractAddresses, account: Hex) =>
	viem.readContract({ address: at.token, abi: assayTokenAbi, functionName: "balanceOf", args: [account] });

export const readAllowance = ({ viem }: ChainClient, at: ContractAddresses, owner: Hex) =>
	viem.readContract({ address: at.token, abi: assayTokenAbi, functionName: "allowance", args: [owner, at.registry] });

export const approveCall = (at: ContractAddresses, amount: bigint): Call =>
	callOf(at.token, { abi: assayTokenAbi, functionName: "approve", args: [at.registry, amount] });

export const transferCall = (at: ContractAddresses, to: Hex, amount: bigint): Call =>
	callOf(at.token, { abi: assayTokenAbi, functionName: "transfer", args: [to, amount] });

export function registerCall(
	at: ContractAddresses,
	o: {
		readonly role: "provider" | "validator";
		readonly signingKey: Hex;
		readonly keyProof: Hex;
		readonly endpoint: string;
		readonly amount: bigint;
	},
): Call {
	const args = [ROLES[o.role], o.signingKey, o.keyProof, o.endpoint, o.amount] as const;
	return callOf(at.registry, { abi: registryAbi, functionName: "register", args });
}

export const stakeCall = (at: ContractAddresses, amount: bigint): Call =>
	callOf(at.registry, { abi: registryAbi, functionName: "stake", args: [amount] });

export const unstakeCall = (at: ContractAddresses, amount: bigint): Call =>
	callOf(at.registry, { abi: registryAbi, functionName: "unstake", args: [amount] });

export const withdrawCall = (at: ContractAddresses, to: Hex): Call =>
	callOf(at.registry, { abi: registryAbi, functionName: "withdraw", args: [to] });
