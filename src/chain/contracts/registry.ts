// Registry.sol: who takes part, with what stake and which devices. Typed reads, the calls that change it, and what a validator signs of a device; docs/chain.md.
import { type Hex, verifyTypedData } from "viem";
import { assayTokenAbi } from "../abi/assay-token-abi.ts";
import { registryAbi } from "../abi/registry-abi.ts";
import type { ChainClient } from "../node/chain-client.ts";
import { type Call, type ChainAccount, callOf } from "../sending/sign.ts";
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

/** Every account that ever registered, in lower case. */
export async function readRegistered({ viem }: ChainClient, at: ContractAddresses): Promise<readonly Hex[]> {
	const logs = await viem.getContractEvents({
		address: at.registry,
		abi: registryAbi,
		eventName: "Registered",
		fromBlock: BigInt(at.deployedAtBlock),
		strict: true,
	});
	return logs.map(({ args }) => args.account.toLowerCase() as Hex);
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

export const setEndpointCall = (at: ContractAddresses, endpoint: string): Call =>
	callOf(at.registry, { abi: registryAbi, functionName: "setEndpoint", args: [endpoint] });

/** As in Registry.DeviceAttestation: "this provider proved this device in this evidence", by a validator. `issuedAt` in seconds since 1970. */
export interface DeviceAttestation {
	readonly device: Hex;
	readonly provider: Hex;
	readonly evidenceSha256: Hex;
	readonly issuedAt: bigint;
}

const ATTESTATION_TYPES = {
	DeviceAttestation: [
		{ name: "device", type: "bytes32" },
		{ name: "provider", type: "address" },
		{ name: "evidenceSha256", type: "bytes32" },
		{ name: "issuedAt", type: "uint64" },
	],
} as const;

const attested = (at: ContractAddresses, message: DeviceAttestation) =>
	({
		domain: { name: "assay", version: "1", chainId: at.chainId, verifyingContract: at.registry },
		types: ATTESTATION_TYPES,
		primaryType: "DeviceAttestation",
		message,
	}) as const;

export const signAttestation = (account: ChainAccount, at: ContractAddresses, one: DeviceAttestation): Promise<Hex> =>
	account.signTypedData(attested(at, one));

/** False for whatever is no signature of this validator over it. */
export const isAttestation = (at: ContractAddresses, validator: Hex, one: DeviceAttestation, signature: Hex) =>
	verifyTypedData({ address: validator, ...attested(at, one), signature }).catch(() => false);

export const bindDeviceCall = (at: ContractAddresses, one: DeviceAttestation, signature: Hex): Call =>
	callOf(at.registry, { abi: registryAbi, functionName: "bindDevice", args: [one, signature] });

export const releaseDeviceCall = (at: ContractAddresses, device: Hex): Call =>
	callOf(at.registry, { abi: registryAbi, functionName: "releaseDevice", args: [device] });

export interface DeviceBinding {
	readonly device: Hex;
	/** Null: it is free. */
	readonly provider: Hex | null;
	/** Seconds since 1970; 0 when it is free. */
	readonly until: number;
}

export async function readDevice({ viem }: ChainClient, at: ContractAddresses, device: Hex): Promise<DeviceBinding> {
	const [provider, until] = await viem.readContract({
		address: at.registry,
		abi: registryAbi,
		functionName: "deviceOf",
		args: [device],
		// A binding ends by the clock, and the newest block may be old.
		blockTag: "pending",
	});
	const isFree = BigInt(provider) === 0n;
	return { device, provider: isFree ? null : (provider.toLowerCase() as Hex), until: Number(until) };
}

/** Devices that are bound to this provider now: those of its events that still are. */
export async function readDevicesOf(
	client: ChainClient,
	at: ContractAddresses,
	provider: Hex,
): Promise<readonly DeviceBinding[]> {
	const logs = await client.viem.getContractEvents({
		address: at.registry,
		abi: registryAbi,
		eventName: "DeviceBound",
		args: { provider },
		fromBlock: BigInt(at.deployedAtBlock),
		strict: true,
	});
	const devices = [...new Set(logs.map(({ args }) => args.device))].sort();
	const now = await Promise.all(devices.map((device) => readDevice(client, at, device)));
	return now.filter((one) => one.provider === provider.toLowerCase());
}
